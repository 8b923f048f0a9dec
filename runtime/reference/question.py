"""A pattern query, its events, and the facts about each part of its pattern."""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from neelc.ir import patterns as p
from neelc.ir.expressions import (
    EventRef,
    EveryElement,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    Literal,
    SameAttributes,
    Variable,
    conjuncts,
)
from neelc.ir.node import walk
from neelc.ir.patterns import Window
from neelc.ir.program import Clock, CompleteColumn, Match, Stream
from neelc.ir.types import LENGTHS, TIMESTAMP
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import in_order, last_time, members, ranked
from neelc.runtime.reference.model import (
    Binding,
    EvaluationContext,
    ReferenceEvent,
    attribute,
    bound_events,
    nanoseconds,
)
from neelc.runtime.values.order import comparable

# Scopes: the intervals of time that parts are checked in, and how far a window reaches.
#
# They are measured in moments: `"before", "after", "strictly between", next and contiguity use (ts, seqno,
# ...)`. Without THEN BY a moment is a time.


@dataclass(frozen=True)
class Scope:
    """An interval of moments, both ends included.

    Moments are whole numbers, so an open end is the closed one that is one further in: after `t` is from `t
    + 1`.
    """

    low: float = -math.inf
    high: float = math.inf

    def __and__(self, other: Scope) -> Scope:
        return Scope(max(self.low, other.low), min(self.high, other.high))

    def contains(self, event: ReferenceEvent) -> bool:
        """An event is inside when all of its valid time is."""
        return self.low <= event.first and event.last <= self.high


EVERYWHERE = Scope()
NOWHERE = Scope(math.inf, -math.inf)


@dataclass(frozen=True)
class Extent:
    """ "The start (end) of a match is the least `ts` (greatest `te`) of all events bound in it"; so of a
    part, in moments."""

    start: int
    end: int


def extent(events: Sequence[ReferenceEvent]) -> Extent | None:
    """The extent of some events; a part that binds none takes no room."""
    if not events:
        return None
    return Extent(min(event.first for event in events), max(event.last for event in events))


def in_sequence(extents: Sequence[Extent | None]) -> bool:
    """ "Each ends strictly before the next one starts"; what takes no room is skipped.

    >>> in_sequence([Extent(1, 2), None, Extent(3, 3)]), in_sequence([Extent(1, 2), Extent(2, 3)])
    (True, False)
    """
    solid = [extent for extent in extents if extent]
    return all(left.end < right.start for left, right in pairwise(solid))


def room(extents: Sequence[Extent | None], place: int, scope: Scope) -> Scope:
    """ "A part's scope runs, open, from the end of the positive part before it to the start of the positive
    part after it; the first (last) part's scope begins (ends) where the SEQ's own scope does."

    >>> room([Extent(1, 2), None, Extent(9, 9)], 1, Scope())
    Scope(low=3, high=8)
    """
    low = max((extent.end + 1 for extent in extents[:place] if extent), default=scope.low)
    high = min((extent.start - 1 for extent in extents[place + 1 :] if extent), default=scope.high)
    return Scope(low, high)


def between(left: Extent | None, right: Extent | None) -> Scope:
    """AND_NEG: "strictly between a and b, whichever comes first"; nothing lies between parts that overlap, or
    beside one that is absent.

    >>> between(Extent(7, 8), Extent(1, 2)), between(Extent(1, 5), Extent(3, 6)) == NOWHERE
    (Scope(low=3, high=6), True)
    """
    if left is None or right is None:
        return NOWHERE
    first, second = sorted((left, right), key=lambda extent: extent.start)
    return Scope(first.end + 1, second.start - 1) if first.end < second.start else NOWHERE


# Conditions: what each conjunct refers to, and whether it holds.


@dataclass(frozen=True)
class ReferenceCondition:
    """One conjunct: the variables it names, and the list, `ranged`, that `i` ranges over, if it holds an `i`.

    `lag` is the k of `b[i-k]` or `b[..i-k]`. A condition with `grows` refers to the list of that name only up
    to its element i, so it can be checked for each element while the list still grows.
    """

    expression: Expr
    names: frozenset[str]
    ranged: EventRef | None
    lag: int
    grows: str | None


def conditions(where: Expr | None) -> tuple[ReferenceCondition, ...]:
    """The conjuncts that are checked by evaluating them."""
    return tuple(
        condition(conjunct) for conjunct in conjuncts(where) if not isinstance(conjunct, SameAttributes)
    )


def same_attributes(where: Expr | None) -> tuple[tuple[str, ...], ...]:
    """The attributes of each `[id]` among the conjuncts."""
    return tuple(conjunct.attributes for conjunct in conjuncts(where) if isinstance(conjunct, SameAttributes))


def condition(expression: Expr) -> ReferenceCondition:
    """An expression with the variables and lists that it refers to."""
    nodes = list(walk(expression))
    names = frozenset(node.name for node in nodes if isinstance(node, Variable))
    places = [
        (node.base, place)
        for node in nodes
        if isinstance(node, ListElement | EveryElement) and (place := place_of(node))
    ]
    running = [(base, place) for base, place in places if place.anchor == "CURRENT"]
    lag = max((-place.offset for _, place in running), default=0)
    ranged = running[0][0] if running else None
    grows = ranged.name if isinstance(ranged, Variable) else None
    if grows is not None:
        uses = sum(isinstance(node, Variable) and node.name == grows for node in nodes)
        backward = sum(base == ranged and is_backward(place) for base, place in places)
        grows = grows if uses == backward else None
    return ReferenceCondition(expression, names, ranged, max(lag, 0), grows)


def place_of(reference: ListElement | EveryElement) -> Index | None:
    return reference.index if isinstance(reference, ListElement) else reference.upper


def is_backward(place: Index) -> bool:
    """Whether the place is known as soon as element i is: `b[i-1]` and `b[1]` are, `b[last]` is not."""
    return place.offset <= 0 if place.anchor == "CURRENT" else (place.anchor == "FIRST" and place.offset == 0)


def holds(condition: ReferenceCondition, binding: Binding) -> bool:
    """ "... for which the condition is TRUE (SQL's three-valued logic)"; one with `i`, for every i.

    "A condition with `b[i-1]` or `b[..i-1]` holds for the first element by definition." Where there is no
    list, because its OR branch was not taken, there is no i either.
    """
    return all(holds_at(condition, binding, current) for current in places_of(condition, binding))


def places_of(condition: ReferenceCondition, binding: Binding) -> Sequence[int | None]:
    """What i stands for, one after the other; None, once, if there is no i."""
    if condition.ranged is None:
        return (None,)
    elements = referred(condition.ranged, binding)
    return range(len(elements)) if isinstance(elements, tuple) else ()


def holds_at(condition: ReferenceCondition, binding: Binding, current: int | None) -> bool:
    """Whether the condition holds for one i."""
    if current is not None and current < condition.lag:
        return True
    return evaluate(condition.expression, EvaluationContext(binding, current)) is True


def referred(reference: EventRef, binding: Binding) -> object:
    """What a reference without `i` stands for: `k`, or `k[last].c`."""
    match reference:
        case Variable(name):
            return binding.get(name)
        case InnerVariable(base, name):
            iteration = referred(base, binding)
            return iteration.get(name) if isinstance(iteration, Mapping) else None
        case ListElement(base, Index(anchor, offset)):
            elements = referred(base, binding)
            if not isinstance(elements, tuple):
                return None
            place = offset if anchor == "FIRST" else len(elements) - 1 + offset
            return elements[place] if 0 <= place < len(elements) else None
    return None


def agree(attributes: Iterable[str], events: Iterable[ReferenceEvent]) -> bool:
    """ "`[id]` means: equal `id` on every event, the negative parts' included. NULL equals nothing."

    >>> numbers = enumerate([7, 7, None])
    >>> one, two, no = (ReferenceEvent("S", row, "A", 0, 0, {"id": id}, (0, 0)) for row, id in numbers)
    >>> agree(["id"], [one, two]), agree(["id"], [no]), agree(["id"], [])
    (True, False, True)
    """
    events = tuple(events)
    for name in attributes:
        values = set(map(comparable, as_numbers([attribute(event, name) for event in events])))
        if None in values or len(values) > 1:
            return False
    return True


def as_numbers(values: Sequence[object]) -> list[object]:
    """A DATE equals the TIMESTAMP of its midnight, a TIMESTAMP_NTZ that of the session's clock: events of
    different streams may have either."""
    zoned = any(isinstance(value, datetime.datetime) and value.tzinfo for value in values)
    clock = Clock(TIMESTAMP) if zoned else None
    return [
        nanoseconds(value, "DAY", clock) if isinstance(value, datetime.date) else value for value in values
    ]


ELEMENT = ""
"""The variable of the body of `B+ b[]`, which has no name of its own."""


@dataclass(frozen=True)
class PartFacts:
    """The facts about a part: the variables it binds, all names in it (those inside closures and those
    that EXISTS drops too), its conditions, and the attributes of its `[id]`s."""

    variables: frozenset[str]
    names: frozenset[str]
    conditions: tuple[ReferenceCondition, ...]
    same: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class ReferenceQuery:
    """A query and the events of its FROM streams, in order of time."""

    whole: p.And
    """The query's pattern as the only part of an AND, which carries the query's window and partition."""
    match: Match
    events: tuple[ReferenceEvent, ...]
    members: Mapping[str, tuple[ReferenceEvent, ...]]
    facts_by_part: Mapping[int, PartFacts]
    """By the `id` of the part."""
    data_end: float | None = None
    """When the data end, if these are not all of their events."""

    def facts(self, part: p.Pattern) -> PartFacts:
        return self.facts_by_part[id(part)]

    def events_in(self, part: p.Pattern, binding: Binding) -> tuple[ReferenceEvent, ...]:
        """The events bound in a part."""
        bound = (bound_events(binding[name]) for name in self.facts(part).names if name in binding)
        return tuple(dict.fromkeys(event for events in bound for event in events))

    def is_of_type(self, event: ReferenceEvent, type: str) -> bool:
        return event in self.sets[type]

    def events_of_type(self, type: str, scope: Scope) -> Iterator[ReferenceEvent]:
        """The events of a type that lie inside a scope, in order of time."""
        events = self.members[type]
        for place in range(bisect_left(events, scope.low, key=lambda event: event.first), len(events)):
            if events[place].first > scope.high:
                return
            if scope.contains(events[place]):
                yield events[place]

    def partition(self, event: ReferenceEvent) -> tuple[ReferenceEvent, ...]:
        """The events of the FROM streams in the partition of `event`: all, when there is no partition."""
        return self._partitions.get(partition_key(self.match, event), ())

    def starts(self, event: ReferenceEvent) -> tuple[int, ...]:
        """When the events in the partition of `event` start."""
        return self._starts.get(partition_key(self.match, event), ())

    @cached_property
    def last_time(self) -> float:
        """When the data end."""
        if self.data_end is not None:
            return self.data_end
        return end_of_data(self.match.complete_until, self.match.clock, self.events)

    @cached_property
    def sets(self) -> dict[str, frozenset[ReferenceEvent]]:
        return {type: frozenset(events) for type, events in self.members.items()}

    @cached_property
    def _partitions(self) -> dict[object, tuple[ReferenceEvent, ...]]:
        partitions: dict[object, list[ReferenceEvent]] = {}
        for event in self.events:
            partitions.setdefault(partition_key(self.match, event), []).append(event)
        return {key: tuple(events) for key, events in partitions.items()}

    @cached_property
    def _starts(self) -> dict[object, tuple[int, ...]]:
        return {key: tuple(event.start for event in events) for key, events in self._partitions.items()}


def partition_key(match: Match, event: ReferenceEvent) -> object:
    return tuple(comparable(attribute(event, name)) for name in match.partition)


def question(match: Match, events: Iterable[ReferenceEvent]) -> ReferenceQuery:
    """The query of `match` over `events`.

    "The scope of the whole pattern is [end - w, start + w]" of the complete match, and PARTITION BY a means
    `[a]`: both are put on an AND around the pattern.
    """
    where: Expr | None = SameAttributes(match.partition) if match.partition else None
    whole = p.And((match.pattern,), where=where, within=match.within)
    ordered = in_order(ranked(events))
    facts_by_part = {id(part): facts(part) for part in walk(whole) if isinstance(part, p.Pattern)}
    return ReferenceQuery(whole, match, ordered, members(match.types, ordered), facts_by_part)


def again(question: ReferenceQuery, events: Iterable[ReferenceEvent]) -> ReferenceQuery:
    """The same query over some of its events at other times."""
    ordered = in_order(events)
    types = {type: tuple(event for event in ordered if event in old) for type, old in question.sets.items()}
    return ReferenceQuery(question.whole, question.match, ordered, types, question.facts_by_part)


def facts(part: p.Pattern) -> PartFacts:
    return PartFacts(variables(part), names(part), conditions(part.where), same_attributes(part.where))


def variables(part: p.Pattern) -> frozenset[str]:
    """ "A match is a binding of the pattern's positive variables to events": those of a part.

    >>> parts = (p.Event("A", "a"), p.Not(p.Event("B", "b")), p.Repeat(p.Event("C"), 1, None, "c"))
    >>> sorted(variables(p.Seq(parts)))
    ['a', 'c']
    """
    match part:
        case p.Event():
            return frozenset([part.variable or ELEMENT])
        case p.Repeat():
            return frozenset([part.variable or ELEMENT])
        case p.Exists():
            return variables(part.part) - set(part.variables)
        case p.Optional():
            return variables(part.part)
        case p.Listing():
            return frozenset(name for inner in part.parts for name in variables(inner))
    return frozenset()


def names(part: p.Pattern) -> frozenset[str]:
    """Every positive name in a part. The element of a list has none: its name is every list's."""
    match part:
        case p.Repeat():
            return variables(part) | (names(part.part) - {ELEMENT})
        case p.Exists() | p.Optional():
            return names(part.part)
        case p.Listing():
            return frozenset(name for inner in part.parts for name in names(inner))
    return variables(part)


def iteration(part: p.Repeat, element: object) -> Binding:
    """What the variables of a closure's body stand for in one of its elements."""
    if isinstance(part.part, p.Event):
        return {part.part.variable or ELEMENT: element}
    assert isinstance(element, Mapping), "an element of a composite closure is a binding"
    return element


def element(part: p.Repeat, binding: Binding) -> object:
    """The element of a closure that stands for these values of its body's variables."""
    if isinstance(part.part, p.Event):
        return binding[part.part.variable or ELEMENT]
    return {name: binding[name] for name in sorted(variables(part.part))}


# WITHIN: whether a window holds for some events, and how far it reaches around them.


def reach(question: ReferenceQuery, window: Window | None, events: Sequence[ReferenceEvent]) -> Scope | None:
    """The scope that a window leaves around the events of a part; None when the window does not hold for
    them.

    Without a window, or without an event to measure from, nothing is bounded. "Windows use ts alone": a scope
    that reaches to a time holds all moments of that time.
    """
    if window is None or not events:
        return EVERYWHERE
    bounds = Extent(min(event.start for event in events), max(event.end for event in events))
    if window.unit == "EVENT":
        times = reach_of_count(question, size(window), events[0], bounds)
    else:
        times = reach_of_time(length(window), bounds)
    ranks = events[0].ranks
    return None if times is None else Scope(times.low * ranks, times.high * ranks + ranks - 1)


def reach_of_time(width: int, bounds: Extent) -> Scope | None:
    """ "`WITHIN w` holds when end - start <= w, the end included"; the scope is "[end - w, start + w], both
    included".

    >>> reach_of_time(10, Extent(3, 13)), reach_of_time(9, Extent(3, 13))
    (Scope(low=3, high=13), None)
    """
    if bounds.end - bounds.start > width:
        return None
    return Scope(bounds.end - width, bounds.start + width)


def reach_of_count(
    question: ReferenceQuery, count: int, event: ReferenceEvent, bounds: Extent
) -> Scope | None:
    """ "`WITHIN n EVENTS` holds when at most n events of the FROM streams (of the partition, if any) have a
    `ts` in [start, end]"; the scope is "as far as the extended match would still hold at most n"."""
    starts = question.starts(event)
    first, beyond = bisect_left(starts, bounds.start), bisect_right(starts, bounds.end)
    if beyond - first > count:
        return None
    low = starts[beyond - count - 1] + 1 if beyond > count else EVERYWHERE.low
    high = starts[first + count] - 1 if first + count < len(starts) else EVERYWHERE.high
    return Scope(low, high)


def end_of_data(until: Expr | None, clock: Clock, events: Iterable[ReferenceEvent]) -> float:
    """The last time of the events, or the one that is given, if that is later: data with an event at a time
    go on until then."""
    last = last_time(events)
    if until is None:
        return last
    given = nanoseconds(evaluate(until, EvaluationContext({})), clock.unit or "MILLISECOND", clock)
    return last if given is None else max(last, given)


def with_completeness(
    stream: Stream, events: Iterable[ReferenceEvent], last: float
) -> Iterator[ReferenceEvent]:
    """The events of a stream with what a rewritten query asks of them: whether the data, which end at `last`,
    go on for as long as a window after they start."""
    asked = [one for one in stream.derived if isinstance(one, CompleteColumn)]
    for event in events:
        more = {one.name: event.start + length(one.within) <= last for one in asked}
        yield replace(event, attributes={**event.attributes, **more}) if more else event


def size(window: Window) -> int:
    """The count of a bound window."""
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), (
        "a bound window has a count"
    )
    return window.count.value


def length(window: Window) -> int:
    """A window of time in nanoseconds.

    >>> from neelc.ir.types import INT
    >>> length(Window(Literal(2, INT), "SECOND"))
    2000000000
    """
    assert window.unit in LENGTHS, f"a window of {window.unit} has no fixed length"
    return size(window) * LENGTHS[window.unit]
