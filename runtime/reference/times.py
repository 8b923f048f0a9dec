"""Event time as a number: nanoseconds since the epoch.

A query whose clock is a TIMESTAMP counts instants, since 1970 in UTC; then a DATE or a TIMESTAMP_NTZ of one
of its streams is a time of the session's clock. Where no TIMESTAMP takes part, clocks count, whatever the
zone.
"""

from __future__ import annotations

import datetime

from neelc.ir.logical import Clock
from neelc.ir.moments import clock as shown
from neelc.ir.moments import instant, midnight
from neelc.ir.types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from neelc.ir.units import LENGTHS

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
    found = nanoseconds(moment(time, own), "", clock)
    assert found is not None
    return found
