"""How often and when a condition is judged: what a rewritten condition must have in common with the old one.

A conjunct with `b[i]` is judged for each element of b, and one with `b[i-k]` holds for the first k of them by
definition. Under SKIP TILL NEXT MATCH it also matters *when* a conjunct can be judged: an event that does
not qualify is skipped, one that fails later was taken and is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.node import remembered, walk
from neelc.ir.parts import inner_parts
from neelc.rewrite.constants import TRUE
from neelc.rewrite.facts import Facts

Range = tuple[e.EventRef | None, int]
"""The list that `i` ranges over, None where there is no `i`; and the k of `b[i-k]`."""
NEXT_MATCH = "SKIP TILL NEXT MATCH"


@remembered
def range_of(conjunct: e.Expr) -> Range:
    """What a conjunct ranges over.

    >>> from neelc.rewrite.examples import query
    >>> list, lag = range_of(query("B+ b[] WHERE b[i].x > b[i-1].x").pattern.where)
    >>> print(list, lag)
    b 1
    """
    running = [
        (node.base, place)
        for node in walk(conjunct)
        if isinstance(node, e.At | e.Each) and (place := place_of(node)) and place.anchor == "CURRENT"
    ]
    lag = max((-place.offset for _, place in running), default=0)
    return (running[0][0] if running else None), max(lag, 0)


def place_of(reference: e.At | e.Each) -> e.Index | None:
    return reference.index if isinstance(reference, e.At) else reference.upper


@remembered
def events_of(condition: e.Expr) -> frozenset[e.EventRef]:
    """The events a condition speaks of: it can be judged as soon as it is clear which they are.

    >>> from neelc.rewrite.examples import query
    >>> sorted(map(str, events_of(query("SEQ(A a, B+ b[]) WHERE a.x > b[1].x + a.n").pattern.where)))
    ['a', 'b[1]']
    """
    paths = (node for node in walk(condition) if isinstance(node, e.Attribute | e.EventTime | e.Whole))
    return frozenset(path.event for path in paths)


def is_judged_alike(old: e.Expr, new: e.Expr, timed: bool) -> bool:
    """Whether a conjunct may take the place of one that is TRUE for the same events.

    It must range over the same elements, and, where that matters (`timed`), be judged at the same moment.
    One that is always TRUE may vanish in any case.
    """
    if new == TRUE:
        return True
    return range_of(old) == range_of(new) and not (timed and events_of(old) != events_of(new))


def is_timed(part: p.Pattern, facts: Facts) -> bool:
    """Whether it matters when conditions of a part are judged. Negative parts are judged on complete
    matches."""
    return facts.query.strategy == NEXT_MATCH and any(True for _ in _places(part, facts))


def is_avoidable(part: p.Pattern, facts: Facts) -> bool:
    """Whether a run under SKIP TILL NEXT MATCH could have gone another way where the part fails.

    In the body of an optional part or of a repetition, an early failure leaves the event to what comes after
    it, a late one does not. Elsewhere a part that always fails leaves no match, sooner or later.
    """
    return facts.query.strategy == NEXT_MATCH and any(_places(part, facts))


def _places(part: p.Pattern, facts: Facts) -> Iterator[bool]:
    """For each place outside negations where the part stands: whether a run can do without it. Rules may
    have used one part twice."""
    stack = [(facts.query.pattern, False)]
    while stack:
        node, avoidable = stack.pop()
        if node is part:
            yield avoidable or isinstance(node, p.Optional)
        elif not isinstance(node, p.Not):
            inside = avoidable or isinstance(node, p.Optional | p.Repeat)
            stack.extend((inner, inside) for inner in inner_parts(node))
