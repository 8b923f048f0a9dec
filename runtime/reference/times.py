"""Event time as a number: nanoseconds since the epoch, UTC."""

from __future__ import annotations

import datetime

UNITS = {
    "NANOSECOND": 1,
    "MICROSECOND": 1_000,
    "MILLISECOND": 1_000_000,
    "SECOND": 1_000_000_000,
    "MINUTE": 60_000_000_000,
    "HOUR": 3_600_000_000_000,
    "DAY": 86_400_000_000_000,
    "WEEK": 604_800_000_000_000,
}
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
            return value * UNITS[unit]
        case datetime.datetime():
            zoned = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
            return (zoned - EPOCH) // MICROSECOND * UNITS["MICROSECOND"]
        case datetime.date():
            return (value - EPOCH.date()).days * UNITS["DAY"]
    raise TypeError(f"{value!r} is not a time: it requires an integer, a date or a datetime")
