"""The rule `order_conjunction`."""

from __future__ import annotations

from itertools import combinations, permutations
from math import factorial

from neelc.ir.expressions import Binary, Disjunction, EventTime, Expr, Variable, conjuncts
from neelc.ir.patterns import And, Event, Or, Pattern, Seq
from neelc.ir.program import Clock
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import branches, put, region, too_many
from neelc.pattern.rules.rule import RefusalReason


def order_conjunction(part: Pattern, facts: QueryFacts) -> Pattern | RefusalReason | None:
    """Events in any order: in one of the orders there are, or two of them at the same time.

    A choice, not a simplification: n events make n! sequences and one AND for ties. If no two of the events
    are simultaneous, exactly one of the sequences has them in their order; SEQ is strict, so if two are, none
    has.

    >>> from pattern_examples import LASTING, after
    >>> print(after(order_conjunction, "AND(A a, B b WHERE [id])"))
    OR(SEQ(A a, B b), SEQ(B b, A a), AND(A a, B b WHERE a.ts = b.ts) WHERE [id])

    Not with other parts than events: a negation looks at the scope of the AND, and would see only a gap of
    the SEQ. Not with events that last, which can overlap without starting together. Not for events of
    streams that write their times differently, for which there is no `a.ts = b.ts`. Not where THEN BY orders
    events of the same time: `a.ts = b.ts` would hold for events in sequence. Not beyond MAX_BRANCHES.

    >>> after(order_conjunction, "AND(A a, !N n, B b) WITHIN 5")
    >>> print(after(order_conjunction, "AND(A a, B b)", LASTING))
    refused: A events may last, and need not come one after the other
    >>> print(after(order_conjunction, "AND(A a, B b, C c, D d, E e, F f)"))
    refused: it would have 721 branches, and the limit MAX_BRANCHES is 256
    """
    if not isinstance(part, And) or len(part.parts) < 2:
        return None
    events = tuple(event for event in part.parts if isinstance(event, Event))
    if len(events) < len(part.parts):
        return None
    if lasting := next((event for event in events if facts.may_last(event.type)), None):
        return RefusalReason(f"{lasting.type} events may last, and need not come one after the other")
    if facts.query.order_types:
        return RefusalReason(
            "THEN BY orders its events, and no condition says which of them are simultaneous"
        )
    clocks = {clock for event in events for clock in _clocks(event, facts)}
    if len(clocks) > 1:
        return RefusalReason("its events come from streams that write their times in different ways")
    tie = _tie(events, clocks.pop())
    if tie in conjuncts(part.where):
        return None
    if reason := too_many(factorial(len(events)) + 1):
        return RefusalReason(reason)
    orders = [Seq(order) for order in permutations(events)]
    changed = Or((*orders, And(events, where=tie)), where=part.where, within=part.within, span=part.span)
    whole = region(facts.query.pattern, part)
    reason = too_many(branches(put(whole, part, changed)))
    return RefusalReason(reason) if reason else changed


def _clocks(event: Event, facts: QueryFacts) -> set[Clock]:
    """How the streams of a type write their times."""
    names = {member.stream for member in facts.type(event.type).members}
    streams = [stream for stream in facts.query.streams if stream.name in names]
    return {
        Clock(column.type, stream.unit)
        for stream in streams
        for column in stream.columns
        if column.name == stream.start
    }


def _tie(events: tuple[Event, ...], clock: Clock) -> Expr:
    """Two of the events have the same time."""
    times = [EventTime(Variable(event.variable or ""), "ts", clock.type) for event in events]
    pairs = tuple(Binary("=", left, right) for left, right in combinations(times, 2))
    return pairs[0] if len(pairs) == 1 else Disjunction(pairs)
