"""What is assumed where nothing is known. Every number has its reason, and explain tells which were used.

The numbers need not be right; they must rank plans sensibly. So they err towards much data: a plan that was
chosen for few events and meets many is worse than one that was chosen for many and meets few.
"""

from __future__ import annotations

from neelc.ir.logical import Stream
from neelc.ir.types import DATE, DataType, Simple
from neelc.ir.units import LENGTHS

EVENTS = 1_000_000.0
"""Enough that the plans of a query differ, and what one machine still holds."""

EVENTS_PER_TICK = 10.0
"""With ticks of a second, a window of 10 seconds holds 100 events and one of an hour 36,000: neither is
empty, and neither is the whole input, which is a bit more than a day long."""

SHORTEST_TICK = LENGTHS["SECOND"]
"""Clocks that count milliseconds or finer do so to be exact, not because an event happens at every tick.
Clocks that count days do it because windows are days long."""

QUERY_SHARE = 0.01
"""A named query finds what is rare: one match for a hundred events."""

TYPES = 10
"""Types in a type column, or as many as the query names if these are more: a pattern speaks of some of the
types, seldom of all."""

DISTINCT = 1_000.0
"""Identifiers, names, symbols, places: a million events are then 1,000 of each."""

MEASURED_SHARE = 0.1
"""Distinct values of a measured quantity, a price or a temperature, by event: some repeat."""

DAYS = 365.0
"""Distinct dates: a year."""

BOOLEANS = 2.0

TINY = 100.0
"""Distinct values of a TINYINT: a code, out of 256 at most."""

NULLS = 0.0
"""Events are mostly complete; and a plan that counts on NULLs to drop out would be the daring one."""

_BY_NAME = {"BOOLEAN": BOOLEANS, "TINYINT": TINY, "DATE": DAYS}
_MEASURED = ("FLOAT", "DOUBLE")
_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ")


def rate(stream: Stream) -> float:
    """Events per second of a stream.

    >>> from neelc.ir.logical import Column
    >>> from neelc.ir.types import BIGINT
    >>> rate(Stream("S", (Column("ts", BIGINT),), "ts", unit="MILLISECOND"))
    10.0
    >>> day = rate(Stream("S", (Column("day", DATE),), "day")) * 86_400
    >>> round(day, 6)
    10.0
    """
    share = 1.0 if stream.query is None else QUERY_SHARE
    return share * EVENTS_PER_TICK * LENGTHS["SECOND"] / _tick(stream)


def events(stream: Stream) -> float:
    """Events of a stream."""
    return EVENTS if stream.query is None else EVENTS * QUERY_SHARE


def distinct(kind: DataType, total: float) -> float:
    """Distinct values of a column, by its type, among `total` events.

    >>> from neelc.ir.types import BOOLEAN, DOUBLE, STRING
    >>> distinct(STRING, 1e6), distinct(BOOLEAN, 1e6), distinct(DOUBLE, 1e6)
    (1000.0, 2.0, 100000.0)
    """
    name = kind.name if isinstance(kind, Simple) else ""
    if name in _TIMES:
        return total
    return total * MEASURED_SHARE if name in _MEASURED else _BY_NAME.get(name, DISTINCT)


def _tick(stream: Stream) -> int:
    """Nanoseconds from one tick of the stream's clock to the next, but not less than `SHORTEST_TICK`."""
    kind = next((column.type for column in stream.columns if column.name == stream.start), None)
    if kind == DATE:
        return LENGTHS["DAY"]
    # A TIMESTAMP has no unit that counts; `unit` then is the default of CREATE STREAM, milliseconds.
    return max(LENGTHS[stream.unit], SHORTEST_TICK)
