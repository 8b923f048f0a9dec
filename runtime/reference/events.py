"""From rows to events, and which events are of which type."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from neelc.ir.names import bare, is_quoted
from neelc.ir.program import (
    Clock,
    ConceptColumn,
    EventType,
    LevelColumn,
    Member,
    MemberColumn,
    MembersColumn,
    Stream,
)
from neelc.ir.types import LENGTHS
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent, nanoseconds
from neelc.runtime.values.order import comparable, place_of

Row = Mapping[str, object]


def read_events(stream: Stream, rows: Sequence[Row], clock: Clock | None = None) -> Iterator[ReferenceEvent]:
    """ "An event is a row with attributes, a type, and a valid time `[ts, te]`; for a point event `te = ts`."

    A row without a time, or that ends before it starts, is valid at no instant: it is no event. An imprecise
    event stands here with all its time, from the earliest instant to the latest: see worlds.py. `clock` is
    that of the query.
    """
    last = stream.latest or stream.end or stream.start
    for number, row in enumerate(rows):
        start, end = (nanoseconds(row[name], stream.unit, clock) for name in (stream.start, last))
        if start is not None and end is not None and start <= end:
            count = (end - start) // LENGTHS[stream.unit] + 1 if stream.latest else 1
            weights = time_weights(stream, row, count)
            if weights is not None and not weights:
                continue
            attributes = {column.name: row[column.name] for column in stream.own_columns}
            times = (row[stream.start], row[last])
            order = tuple(row[name] for name in stream.then_by)
            kind = type_of(stream, row)
            yield ReferenceEvent(stream.name, number, kind, start, end, attributes, times, weights, order)


def time_weights(stream: Stream, row: Row, count: int) -> tuple[Fraction, ...] | None:
    """ "How likely each of the times is": None if they are equally likely, as where nothing is known. Empty
    if what the row has is no distribution of `count` times: "then it is no event".

    >>> from neelc.ir.program import Stream
    >>> [str(one) for one in time_weights(Stream("S", (), "lo", latest="hi", shape="TRIANGULAR"), {}, 3)]
    ['1/4', '1/2', '1/4']
    >>> weighed = Stream("S", (), "lo", latest="hi", weights="w")
    >>> [str(one) for one in time_weights(weighed, {"w": [3.0, 1.0]}, 2)]
    ['3/4', '1/4']
    >>> time_weights(weighed, {"w": [1.0, -1.0]}, 2), time_weights(weighed, {"w": None}, 2)
    ((), None)
    """
    if stream.weights is not None:
        given = row[stream.weights]
        return None if given is None else _shares(given, count)
    word = stream.shape if stream.shape_column is None else row[stream.shape_column]
    match None if word is None else str(word).upper():
        case None | "UNIFORM":
            return None
        case "TRIANGULAR":
            return _shares([min(place + 1, count - place) for place in range(count)], count)
    return ()


def _shares(given: object, count: int) -> tuple[Fraction, ...]:
    assert isinstance(given, Sequence), "an array"
    if len(given) != count or any(one is None or not math.isfinite(one) or one < 0 for one in given):
        return ()
    total = sum(map(Fraction, given))
    return tuple(Fraction(one) / total for one in given) if total else ()


def type_of(stream: Stream, row: Row) -> object:
    """ "Without a type column the stream's name is its events' type." """
    return row[stream.type_column] if stream.type_column else stream.name


def is_member(event: ReferenceEvent, member: Member) -> bool:
    """ "A type in a pattern is: a value of a type column, or a stream's name."

    >>> from neelc.ir.program import Member
    >>> event = ReferenceEvent("Trades", 0, "Dell", 1, 1, {}, (1, 1))
    >>> [is_member(event, Member("Trades", value)) for value in ("DELL", "`DELL`", "`Dell`", None)]
    [True, False, True, True]
    """
    if event.stream != member.stream:
        return False
    if member.value is None:
        return True
    if event.type is None:
        return False
    text = str(event.type)
    if is_quoted(member.value):
        return text == bare(member.value)
    return text.lower() == member.value.lower()  # as Spark does: `Maß` is not of the type Mass


def members(
    types: Iterable[EventType], events: Sequence[ReferenceEvent]
) -> dict[str, tuple[ReferenceEvent, ...]]:
    """The events of each type: "a concept declared as a union of types" holds the events of all its
    members."""
    return {
        type.name: tuple(
            event for event in events if any(is_member(event, member) for member in type.members)
        )
        for type in types
    }


def in_order(events: Iterable[ReferenceEvent]) -> tuple[ReferenceEvent, ...]:
    """ "Input order never matters": by time; between simultaneous events any fixed order will do."""
    return tuple(sorted(events, key=lambda event: (event.first, event.last, event.stream, event.row)))


def ranked(events: Iterable[ReferenceEvent]) -> Iterator[ReferenceEvent]:
    """ "Events with equal `ts` are ordered by these columns": each event with the place of its values of
    THEN BY among those of all events. NULL comes first. What has ranks keeps them.

    >>> orders = [(2, "b"), (None, "c"), (2, "a"), (2, "b")]
    >>> made = (ReferenceEvent("S", row, "A", 7, 7, {}, (7, 7), order=one) for row, one in enumerate(orders))
    >>> events = list(made)
    >>> [event.first - 7 * event.ranks for event in ranked(events)]
    [2, 0, 1, 2]
    """
    events = tuple(events)
    places = sorted({place_of(event.order) for event in events})
    if len(places) < 2 or any(event.ranks > 1 for event in events):
        yield from events
        return
    rank = {place: number for number, place in enumerate(places)}
    for event in events:
        yield replace(event, rank=rank[place_of(event.order)], ranks=len(places))


ENDLESS = 10**30
"""The end of what has no end, in nanoseconds: after every time there is."""


def last_time(events: Iterable[ReferenceEvent]) -> float:
    """ "The data end with the last time of their events"; an event without an end has come when it starts."""
    ends = (event.start if event.end == ENDLESS else event.end for event in events)
    return max(ends, default=-math.inf)


# What is known of an event beside its data.


class SeveralValues(Exception):
    """A relation has several values of a level beside one value of a finer one.

    `query` is the place, in its program, of the query that asks for the level, from 0.
    """

    query: int | None = None

    def __init__(self, column: LevelColumn, value: object) -> None:
        super().__init__(column.complaint(str(value)))
        self.column = column


def with_derived(
    stream: Stream, events: Iterable[ReferenceEvent], tables: Mapping[str, Sequence[Row]]
) -> Iterator[ReferenceEvent]:
    """The events with the levels and the concepts of the stream as attributes."""
    looked_up = {
        one.name: _values(one, tables)
        for one in stream.derived
        if isinstance(one, LevelColumn) and one.attribute
    }
    listed = {
        one.name: [row[one.of] for row in tables[one.relation.name]]
        for one in stream.derived
        if isinstance(one, MemberColumn)
    }
    rows = {
        one.name: [[row[name] for name in one.of] for row in tables[one.relation.name]]
        for one in stream.derived
        if isinstance(one, MembersColumn)
    }
    for event in events:
        more = dict(event.attributes)
        for one in stream.derived:
            if isinstance(one, ConceptColumn):
                more[one.name] = concept(event, one)
            elif isinstance(one, LevelColumn):
                key = event.attributes.get(one.attribute)
                more[one.name] = None if key is None else looked_up[one.name].get(key)
            elif isinstance(one, MemberColumn):
                more[one.name] = is_among(event.attributes.get(one.attribute), listed[one.name])
            elif isinstance(one, MembersColumn):
                values = [event.attributes.get(name) for name in one.attributes]
                more[one.name] = are_among(values, rows[one.name])
        yield replace(event, attributes=more)


def is_among(value: object, values: Sequence[object]) -> bool | None:
    """SQL's IN: TRUE if one of the comparisons is, FALSE if all are, else NULL.

    >>> is_among(1, [1, None]), is_among(2, [1]), is_among(2, [1, None]), is_among(None, [1])
    (True, False, None, None)
    >>> is_among(None, [])
    False
    """
    if value is not None and value in values:
        return True
    return None if values and (value is None or None in values) else False


def are_among(values: Sequence[object], rows: Sequence[Sequence[object]]) -> bool | None:
    """The same of several values together.

    >>> are_among([1, 2], [[1, 2]]), are_among([1, 2], [[1, None], [2, 2]]), are_among([None, 2], [[1, 3]])
    (True, None, False)
    """
    found: bool | None = False
    for row in rows:
        pairs = list(zip(values, row, strict=True))
        if all(one is not None and one == other for one, other in pairs):
            return True
        if all(one is None or other is None or one == other for one, other in pairs):
            found = None
    return found


def concept(event: ReferenceEvent, column: ConceptColumn) -> object:
    """ "The value of the type column, or else the stream's name"; of a concept, the first member of it that
    the event is of."""
    if column.below is None:
        return event.type
    found = (bare(one.name) for one in column.below if any(is_member(event, each) for each in one.members))
    return next(found, None)


def _values(column: LevelColumn, tables: Mapping[str, Sequence[Row]]) -> dict[object, object]:
    """ "A value of a finer level has one value of each coarser one." NULL is no value: it is not known."""
    values: dict[object, object] = {}
    for row in tables[column.relation.name]:
        finer, coarser = row[column.of], row[column.level]
        if finer is None or coarser is None:
            continue
        if values.setdefault(finer, coarser) != coarser:
            raise SeveralValues(column, finer)
    return values


# Payloads with the time in which they are valid.

Time = int | float
"""Nanoseconds; only the two ends of all time are no integers."""

ALWAYS, FOREVER = -math.inf, math.inf


@dataclass(frozen=True)
class ValidPayload:
    """A payload, valid in `[start, end)`: what each variable stands for.

    >>> ValidPayload({}, 3, 5).with_other(ValidPayload({}, 4, FOREVER))
    ValidPayload(binding={}, start=4, end=5)
    """

    binding: Mapping[str, ReferenceEvent]
    start: Time
    end: Time

    @property
    def lasts(self) -> bool:
        """Whether there is an instant at which it is valid."""
        return self.start < self.end

    @property
    def context(self) -> EvaluationContext:
        return EvaluationContext(self.binding)

    def with_other(self, other: ValidPayload) -> ValidPayload:
        """Both payloads, as long as both are valid."""
        binding = {**self.binding, **other.binding}
        return ValidPayload(binding, max(self.start, other.start), min(self.end, other.end))


def named(variable: str, attributes: Mapping[str, object]) -> dict[str, ReferenceEvent]:
    """Attributes under the name of a variable."""
    return {variable: ReferenceEvent(variable, 0, variable, 0, 0, attributes, (None, None))}


def payload_key(event: ValidPayload) -> object:
    """Equal for equal payloads."""
    payloads = ((variable, of.attributes) for variable, of in sorted(event.binding.items()))
    return tuple(
        (variable, *((key, comparable(value)) for key, value in of.items())) for variable, of in payloads
    )


def steady(event: ValidPayload) -> tuple[Time, Time, str]:
    """An order of events that depends on what they are only."""
    return event.start, event.end, repr(payload_key(event))
