"""The data of the reference interpreter: events, bindings and the context an expression is evaluated in."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction

from neelc.ir.names import find
from neelc.ir.program import Clock
from neelc.ir.types import DATE, LENGTHS, TIMESTAMP, TIMESTAMP_NTZ
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.times import clock as shown
from neelc.runtime.values.times import instant, midnight

Binding = Mapping[str, object]
"""A variable's name, in source form, and what it stands for: an event; None where its OR branch was not taken
or its optional part is absent; a tuple of events (`B+ b[]`); a tuple of bindings, one for each iteration of a
composite closure (`SEQ(A a, B b)+ k[]`)."""


@dataclass(frozen=True)
class ReferenceEvent:
    """A row with attributes (by bare name), a type, and a valid time `[start, end]` in nanoseconds.

    `order` are the values of THEN BY, which order events of the same time. A query gives each event a `rank`
    by them, less than `ranks`, and compares *moments*: a time and a rank as one whole number. Windows compare
    times alone.

    Two events are equal when they are the same row of the same stream, whatever their attributes.

    >>> one, other = (ReferenceEvent("Trades", 0, "A", t, t, {}, (t, t)) for t in (1, 5))
    >>> one == other
    True
    """

    stream: str
    row: int
    type: object = field(compare=False)
    start: int = field(compare=False)
    end: int = field(compare=False)
    attributes: Mapping[str, object] = field(compare=False, repr=False)
    times: tuple[object, object] = field(compare=False, repr=False)
    """`ts` and `te` as values of the timestamp column's type."""
    weights: Sequence[Fraction] | None = field(default=None, compare=False, repr=False)
    """Of an imprecise time: how likely each instant from the first to the last is; None: equally likely."""
    order: tuple[object, ...] = field(default=(), compare=False, repr=False)
    rank: int = field(default=0, compare=False, repr=False)
    ranks: int = field(default=1, compare=False, repr=False)

    @property
    def first(self) -> int:
        """The moment at which it starts."""
        return self.start * self.ranks + self.rank

    @property
    def last(self) -> int:
        """The moment at which it ends."""
        return self.end * self.ranks + self.rank


@dataclass(frozen=True)
class EvaluationContext:
    """What an expression is evaluated with.

    `current` is the place, from 0, of the Kleene element that `i` stands for; `properties` are `match_start`,
    `match_end` and `confidence`; `matches` is the group that aggregates over matches range over; `parameters`
    are those of lambdas.
    """

    binding: Binding
    current: int | None = None
    properties: Mapping[str, object] = field(default_factory=dict)
    matches: Sequence[EvaluationContext] | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)


def bound_events(value: object) -> Iterator[ReferenceEvent]:
    """Every event in a binding, or in what one variable is bound to.

    >>> a, b = (ReferenceEvent("S", row, "A", row, row, {}, (row, row)) for row in (1, 2))
    >>> [event.row for event in bound_events({"a": a, "k": ({"b": b, "c": None},)})]
    [1, 2]
    """
    if isinstance(value, ReferenceEvent):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from bound_events(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from bound_events(inner)


def binding_key(value: object) -> object:
    """A binding as a value that sets can hold.

    >>> binding_key({"b": (), "a": None})
    (('a', None), ('b', ()))
    """
    if isinstance(value, Mapping):
        return tuple((name, binding_key(value[name])) for name in sorted(value))
    if isinstance(value, tuple):
        return tuple(binding_key(inner) for inner in value)
    return value


def attribute(event: ReferenceEvent, name: str) -> object:
    """The value of the attribute `name`, in source form; NULL where the event has none of that name.

    >>> attribute(ReferenceEvent("S", 0, "A", 1, 1, {"Price": 5}, (1, 1)), "price")
    5
    """
    if name in event.attributes:
        return event.attributes[name]
    return event.attributes.get(find(name, event.attributes) or "")


class LimitReached(Exception):
    """A query needs more work than the reference interpreter is made for; nothing is cut off silently.

    `query` is the query's place in its program, from 0.
    """

    query: int | None = None

    def __init__(self, name: str, limit: int, detail: str) -> None:
        self.name = name
        self.limit = limit
        self.detail = detail
        super().__init__(f"{detail}: the limit {name} is {limit}")


# Event time as a number: nanoseconds since the epoch.
#
# A query whose clock is a TIMESTAMP counts instants, since 1970 in UTC; then a DATE or a TIMESTAMP_NTZ of
# one of its streams is a time of the session's clock. Where no TIMESTAMP takes part, clocks count, whatever
# the zone.

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)


def nanoseconds(value: object, unit: str, clock: Clock | None = None) -> int | None:
    """ "`ts` is a Spark TIMESTAMP, DATE or an integer of declared unit": as nanoseconds; NULL has none.

    `clock` is that of the query.

    >>> nanoseconds(3, "SECOND"), nanoseconds(datetime.date(1970, 1, 2), "DAY"), nanoseconds(None, "DAY")
    (3000000000, 86400000000000, None)
    """
    match value:
        case None:
            return None
        case bool():
            pass
        case int():
            return value * LENGTHS[unit]
        case datetime.datetime():
            zoned = value if value.tzinfo else _counted(value, clock)
            return (zoned - EPOCH) // MICROSECOND * LENGTHS["MICROSECOND"]
        case datetime.date() if clock is not None and clock.type == TIMESTAMP:
            return nanoseconds(midnight(value), unit)
        case datetime.date():
            return (value - EPOCH.date()).days * LENGTHS["DAY"]
    raise TypeError(f"{value!r} is not a time: it requires an integer, a date or a datetime")


def _counted(value: datetime.datetime, clock: Clock | None) -> datetime.datetime:
    counts_instants = clock is not None and clock.type == TIMESTAMP
    return instant(value) if counts_instants else value.replace(tzinfo=datetime.UTC)


def moment(time: int, clock: Clock, counted: Clock | None = None) -> object:
    """Nanoseconds as a clock writes them: what `nanoseconds` reads. `counted` is the clock of the query.

    >>> from neelc.ir.types import BIGINT
    >>> moment(3_000_000_000, Clock(BIGINT, "SECOND")), moment(86_400_000_000_000, Clock(DATE))
    (3, datetime.date(1970, 1, 2))
    """
    if clock.unit is not None:
        return time // LENGTHS[clock.unit]
    written = EPOCH + time // LENGTHS["MICROSECOND"] * MICROSECOND
    if counted is not None and counted.type == TIMESTAMP != clock.type:
        written = shown(written).replace(tzinfo=datetime.UTC)
    if clock.type == DATE:
        return written.date()
    return written.replace(tzinfo=None) if clock.type == TIMESTAMP_NTZ else written


def by_clock(time: int, own: Clock, clock: Clock) -> int:
    """A time of an earlier query, which counts by its `own` clock, as one of a query with another."""
    if clock.type != TIMESTAMP or own.type not in (DATE, TIMESTAMP_NTZ):
        return time
    time_by_clock = nanoseconds(moment(time, own), "", clock)
    assert time_by_clock is not None
    return time_by_clock
