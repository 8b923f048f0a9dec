"""The rule `negated_closure_to_event`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.expressions import EveryElement, Expr, Index, ListElement, Variable, conjoin, conjuncts
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import Event, Not, Pattern, Repeat, Window, all_parts, renamed
from neelc.pattern.analysis.regions import QueryFacts


def negated_closure_to_event(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """No list of Bs: no B. `!B+ b[]` is `!B b`, and so are `!B* b[]` and `!B{1,3} b[]`.

    If a list satisfies all conditions, its first element alone does too, provided that the conditions look
    only from b[i] back: for i = 1 they concern that element alone. A condition with `b[i-1]` or
    `b[..i-1]` holds for a first element by definition, so it vanishes; in the others `b[i]` and `b[1]` are b.

    >>> from pattern_examples import LASTING, after
    >>> print(after(negated_closure_to_event, "SEQ(A a, !(B+ b[] : b[i].x > 1 AND b[i].x > b[i-1].x), C c)"))
    SEQ(A a, !(B b : b.x > 1), C c)

    Not when two elements must be there, or when a condition is about the list as a whole:

    >>> after(negated_closure_to_event, "SEQ(A a, !B{2,3} b[], C c)")
    >>> after(negated_closure_to_event, "SEQ(A a, !(B+ b[] : b[last].x > b[1].x), C c)")
    >>> after(negated_closure_to_event, "SEQ(A a, !(B+ b[] : sum(b[].x) > 5), C c)")

    A window of time holds for any one event that has no length; others stay with the list.

    >>> print(after(negated_closure_to_event, "SEQ(A a, !((B+ b[]) WITHIN 5), C c)"))
    SEQ(A a, !B b, C c)
    >>> after(negated_closure_to_event, "SEQ(A a, !((B+ b[]) WITHIN 5), C c)", LASTING)
    >>> after(negated_closure_to_event, "SEQ(A a, !((B+ b[]) WITHIN 5 EVENTS), C c)")
    """
    match part:
        case Not(Repeat(Event() as event, 0 | 1, _, str() as name, gaps=()) as closure):
            if not _holds_for_one(closure.within, event, facts):
                return None
            required = [c for c in conjuncts(closure.where) if not _is_later(c, name)]
            conditions = [_of_one(condition, name) for condition in required]
            if None in conditions:
                return None
            one = replace(event, variable=name, where=conjoin([event.where, *conditions]), span=closure.span)
            return replace(part, part=renamed(one, {name: _name(name, facts)}))
    return None


def _name(name: str, facts: QueryFacts) -> str:
    """The name of the list, unless lists in other branches have it too: a name is an event's or a list's."""
    lists = [node for node in all_parts(facts.query.pattern) if isinstance(node, Repeat)]
    return name if sum(node.variable == name for node in lists) == 1 else facts.fresh(name)


def _holds_for_one(window: Window | None, event: Event, facts: QueryFacts) -> bool:
    return window is None or (window.unit != "EVENT" and not facts.may_last(event.type))


def _is_later(condition: Expr, name: str) -> bool:
    """Whether the condition applies to later elements only: it contains `b[i-1]` or `b[..i-1]`."""
    references = (node for node in walk(condition) if isinstance(node, ListElement | EveryElement))
    return any(node.base == Variable(name) and _lags(node) for node in references)


def _lags(reference: ListElement | EveryElement) -> bool:
    index = reference.index if isinstance(reference, ListElement) else reference.upper
    return index is not None and index.anchor == "CURRENT" and index.offset < 0


def _of_one(condition: Expr, name: str) -> Expr | None:
    """The condition with the event itself for `b[i]` and `b[1]`; None when it says more about the list."""

    def change(node: Node) -> Node | None:
        match node:
            case ListElement(Variable(base) as event, Index("CURRENT" | "FIRST", 0)) if base == name:
                return event
        return None

    elements = [ListElement(Variable(name), Index(anchor)) for anchor in ("CURRENT", "FIRST")]
    nodes = list(walk(condition))
    if nodes.count(Variable(name)) > sum(map(nodes.count, elements)):
        return None
    changed = transform(condition, change)
    assert isinstance(changed, Expr)
    return changed
