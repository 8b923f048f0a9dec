"""Event time as a number: nanoseconds since the epoch, UTC."""

from __future__ import annotations

import datetime

from neelc.ir.logical import Clock
from neelc.ir.types import DATE, TIMESTAMP_NTZ
from neelc.ir.units import LENGTHS

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)


def nanoseconds(value: object, unit: str) -> int | None:
    """ "`ts` is a Spark TIMESTAMP, DATE or an integer of declared unit": as nanoseconds; NULL has none.

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
            zoned = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
            return (zoned - EPOCH) // MICROSECOND * LENGTHS["MICROSECOND"]
        case datetime.date():
            return (value - EPOCH.date()).days * LENGTHS["DAY"]
    raise TypeError(f"{value!r} is not a time: it requires an integer, a date or a datetime")


def moment(instant: int, clock: Clock) -> object:
    """Nanoseconds as a clock writes them: what `nanoseconds` reads.

    >>> from neelc.ir.types import BIGINT
    >>> moment(3_000_000_000, Clock(BIGINT, "SECOND")), moment(86_400_000_000_000, Clock(DATE))
    (3, datetime.date(1970, 1, 2))
    """
    if clock.unit is not None:
        return instant // LENGTHS[clock.unit]
    written = EPOCH + instant // LENGTHS["MICROSECOND"] * MICROSECOND
    if clock.type == DATE:
        return written.date()
    return written.replace(tzinfo=None) if clock.type == TIMESTAMP_NTZ else written
