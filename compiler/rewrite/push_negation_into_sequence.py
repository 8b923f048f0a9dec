"""The rule `push_negation_into_sequence`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjoin, conjuncts, has_same, names_in
from neelc.rewrite.facts import Facts
from neelc.rewrite.names import renamed
from neelc.rewrite.rule import Refused


def push_negation_into_sequence(part: p.Pattern, facts: Facts) -> p.Pattern | Refused | None:
    """No B, C in order: there is no C; or there is a C, and before the latest one there is no B.

    NEEL's table IV, made sound. There the second case reads "there is a C with no B before it", which also
    holds where a later C does have a B before it: in a c b c' d the first c has none, and a, d would be
    a match of SEQ(A a, !SEQ(B b, C c), D d) although b c' lies between. So the existential takes the
    latest candidate, which the language can say itself: `C c, !C c_2` is a C with no other C after it.

    >>> from neelc.rewrite.examples import LASTING, after
    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(B b, C c), D d)"))
    OR(SEQ(A a, !C c, D d), SEQ(A a, EXISTS c : SEQ(!B b, C c, !C c_2), D d))

    Proof. Let the scope be fixed and q1 .. qn be the negated components, all of them point events. Choose
    from the right: tn is the latest qn in the scope, and t(k) the latest q(k) before t(k+1). By induction
    from the right, t(k) is at least as late as the k-th event of any occurrence s1 < .. < sn in the scope:
    s(k) < s(k+1) <= t(k+1), so s(k) is among the candidates of which t(k) is the latest. Hence there is an
    occurrence exactly if the choice succeeds down to t1; and if it fails, it fails at exactly one k: t(k+1)
    .. tn exist and there is no q(k) before t(k+1). That is the k-th case. Of several latest candidates, all
    simultaneous, any will do. The chosen events are dropped again by EXISTS, which takes no room in the
    list, so the scopes of other negations stay as they were.

    The argument needs that whether an event is a candidate does not depend on the other candidates. So not
    with a condition, an `[id]`, a window or a negation that ties the negated events to each other:

    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(B b, C c WHERE b.id = c.id), D d)"))
    refused: b.id = c.id ties the negated events together, so the latest need not be the right one
    >>> print(after(push_negation_into_sequence, "SEQ(A a, !(SEQ(B b, C c) WITHIN 5), D d)"))
    refused: its window ties the negated events together

    Conditions that compare a negated event with the match are no obstacle, and an `[id]` around all of it is
    of that kind. Events that last would need the latest start, which `!C c_2` does not ask for:

    >>> print(after(push_negation_into_sequence, "SEQ(A a, !SEQ(B b, C c), D d)", LASTING))
    refused: B events may last, and the latest to end need not be the latest to start

    Under a strategy other than SKIP TILL ANY MATCH there is no EXISTS.
    """
    if not isinstance(part, p.Seq | p.And):
        return None
    refused = None
    for place, negative in enumerate(part.parts):
        match negative:
            case p.Not(p.Seq(parts) as inner) if len(parts) > 1:
                if reason := _obstacle(inner, facts):
                    refused = Refused(reason, negative)
                    continue
                cases = [_replaced(part.parts, place, case) for case in _cases(inner, facts)]
                branches = tuple(replace(part, parts=parts, where=None, within=None) for parts in cases)
                return p.Or(branches, where=part.where, within=part.within, span=part.span)
    return refused


def _replaced(parts: tuple[p.Pattern, ...], place: int, new: p.Pattern) -> tuple[p.Pattern, ...]:
    return (*parts[:place], new, *parts[place + 1 :])


def _obstacle(inner: p.Seq, facts: Facts) -> str | None:
    """Why the latest candidates of a negated SEQ do not decide whether it occurs."""
    if not facts.any_match:
        return f"EXISTS has no meaning under {facts.query.strategy}"
    if inner.within is not None:
        return "its window ties the negated events together"
    own = {event.variable for event in inner.parts if isinstance(event, p.Event)}
    for event in inner.parts:
        if not isinstance(event, p.Event):
            return f"{event} is not a single event"
        if event.within is not None:
            return f"{event} has a window"
        if facts.may_last(event.type):
            return f"{event.type} events may last, and the latest to end need not be the latest to start"
    if has_same(inner.where):
        return "its [id] ties the negated events together"
    for condition in (c for node in (inner, *inner.parts) for c in conjuncts(node.where)):
        if len(names_in(condition) & own) > 1:
            return f"{condition} ties the negated events together, so the latest need not be the right one"
    return None


def _cases(inner: p.Seq, facts: Facts) -> Iterator[p.Pattern]:
    """How a negated SEQ of events can fail to occur: the case k is that the k-th event is missing."""
    events = [_with_own_conditions(event, inner) for event in inner.parts if isinstance(event, p.Event)]
    later: list[p.Pattern] = []
    dropped: list[str] = []
    for event in reversed(events):
        missing = p.Not(event)
        yield p.Exists(tuple(dropped), p.Seq((missing, *later))) if later else missing
        another = facts.fresh(event.variable or event.type, dropped)
        later = [event, p.Not(renamed(event, {event.variable or "": another})), *later]
        dropped = [event.variable or event.type, *dropped]


def _with_own_conditions(event: p.Event, inner: p.Seq) -> p.Event:
    """The event with the conditions of the SEQ that are about it. One that names no negated event at all
    decides whether the negation applies: it may stand at any of them, so it stands at all."""
    own = {other.variable for other in inner.parts if isinstance(other, p.Event)}
    mine = [c for c in conjuncts(inner.where) if names_in(c) & own <= {event.variable}]
    return replace(event, where=conjoin([event.where, *mine]))
