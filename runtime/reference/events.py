"""From rows to events, and which events are of which type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from neelc.ir.logical import Clock, EventType, Member, Stream
from neelc.ir.names import bare, is_quoted
from neelc.runtime.reference.model import Event
from neelc.runtime.reference.times import nanoseconds

Row = Mapping[str, object]


def read_events(stream: Stream, rows: Sequence[Row], clock: Clock | None = None) -> Iterator[Event]:
    """ "An event is a row with attributes, a type, and a valid time `[ts, te]`; for a point event `te = ts`."

    A row without a time, or that ends before it starts, is valid at no instant: it is no event. An imprecise
    event stands here with all its time, from the earliest instant to the latest: see worlds.py. `clock` is
    that of the query.
    """
    last = stream.latest or stream.end or stream.start
    for number, row in enumerate(rows):
        start, end = (nanoseconds(row[name], stream.unit, clock) for name in (stream.start, last))
        if start is not None and end is not None and start <= end:
            attributes = {column.name: row[column.name] for column in stream.columns}
            times = (row[stream.start], row[last])
            yield Event(stream.name, number, type_of(stream, row), start, end, attributes, times)


def type_of(stream: Stream, row: Row) -> object:
    """ "Without a type column the stream's name is its events' type." """
    return row[stream.type_column] if stream.type_column else stream.name


def is_member(event: Event, member: Member) -> bool:
    """ "A type in a pattern is: a value of a type column, or a stream's name."

    >>> from neelc.ir.logical import Member
    >>> event = Event("Trades", 0, "Dell", 1, 1, {}, (1, 1))
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


def members(types: Iterable[EventType], events: Sequence[Event]) -> dict[str, tuple[Event, ...]]:
    """The events of each type: "a concept declared as a union of types" holds the events of all its
    members."""
    return {
        type.name: tuple(
            event for event in events if any(is_member(event, member) for member in type.members)
        )
        for type in types
    }


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """ "Input order never matters": by time; between simultaneous events any fixed order will do."""
    return tuple(sorted(events, key=lambda event: (event.start, event.end, event.stream, event.row)))
