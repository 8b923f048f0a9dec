"""Functions of dates, timestamps and intervals, of values that are not NULL."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

from neelc.ir.moments import UTC, Months, clock, instant, timestamp_of, zoned
from neelc.ir.moments import midnight as start_of
from neelc.ir.typeof import extract_field
from neelc.runtime.reference.arithmetic import MICROSECOND, later, quotient
from neelc.runtime.reference.casts import EPOCH, to_timestamp

Function = Callable[..., object]


def extract(name: str, value: object) -> object:
    """EXTRACT(field FROM value).

    >>> extract("SECOND", datetime.datetime(2020, 1, 1, 0, 0, 5, 250000))
    Decimal('5.250000')
    >>> extract("DOW", datetime.date(2020, 2, 29))
    7
    """
    field = extract_field(name)
    match value:
        case Months(count):
            years = quotient(count, 12)
            return years if field == "YEAR" else count - 12 * years
        case datetime.timedelta():
            return _interval_field(field, value // MICROSECOND)
        case datetime.date() if field in FIELDS:
            return FIELDS[field](_shown(value))
    raise ValueError(name)


def _shown(moment: Any) -> Any:
    """A date or a clock: of an instant, that of the session's time zone."""
    return clock(moment) if isinstance(moment, datetime.datetime) and moment.tzinfo else moment


def _interval_field(field: str | None, microseconds: int) -> object:
    sign, rest = (-1 if microseconds < 0 else 1), abs(microseconds)
    match field:
        case "DAY":
            return sign * (rest // 86_400_000_000)
        case "HOUR":
            return sign * (rest // 3_600_000_000 % 24)
        case "MINUTE":
            return sign * (rest // 60_000_000 % 60)
    return decimal.Decimal(sign * (rest % 60_000_000)).scaleb(-6)


# Each is given a date; the last three a timestamp.
FIELDS: dict[str, Function] = {
    "YEAR": lambda date: date.year,
    "YEAROFWEEK": lambda date: date.isocalendar()[0],
    "QUARTER": lambda date: (date.month + 2) // 3,
    "MONTH": lambda date: date.month,
    "WEEK": lambda date: date.isocalendar()[1],
    "DAY": lambda date: date.day,
    "DAYOFWEEK": lambda date: date.isoweekday() % 7 + 1,
    "DAYOFWEEK_ISO": lambda date: date.isoweekday(),
    "DOY": lambda date: date.timetuple().tm_yday,
    "HOUR": lambda moment: moment.hour,
    "MINUTE": lambda moment: moment.minute,
    "SECOND": lambda moment: decimal.Decimal(moment.second * 1_000_000 + moment.microsecond).scaleb(-6),
}

_UNITS = {
    "YEAR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "MON": "MONTH",
    "MM": "MONTH", "WEEK": "WEEK", "DAY": "DAY", "DD": "DAY", "HOUR": "HOUR", "MINUTE": "MINUTE",
    "SECOND": "SECOND", "MILLISECOND": "MILLISECOND", "MICROSECOND": "MICROSECOND",
}  # fmt: skip
_LENGTHS = {
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}


def date_trunc(name: str, moment: datetime.datetime) -> datetime.datetime | None:
    """The start of the year, week, hour, ... that a timestamp lies in; NULL for a unit there is not.

    >>> print(date_trunc("week", datetime.datetime(2020, 2, 29, 12, 34)))
    2020-02-24 00:00:00
    """
    unit = _UNITS.get(name.upper())
    if unit is None:
        return None
    if moment.tzinfo is None:
        return _truncated(unit, moment)
    found = _truncated(unit, clock(moment))
    if unit == "DAY" or unit in _LENGTHS:
        return instant(found, zoned(moment).utcoffset())
    return start_of(found.date())


def _truncated(unit: str, moment: datetime.datetime) -> datetime.datetime:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit in _LENGTHS:
        passed = (moment - midnight) // MICROSECOND
        return midnight + (passed - passed % _LENGTHS[unit]) * MICROSECOND
    match unit:
        case "YEAR":
            return midnight.replace(month=1, day=1)
        case "QUARTER":
            return midnight.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH":
            return midnight.replace(day=1)
        case "WEEK":
            return midnight - datetime.timedelta(days=moment.weekday())
    return midnight


def microseconds(moment: datetime.datetime) -> int:
    """Microseconds since 1970; of a TIMESTAMP_NTZ, as if it were in UTC: so counts Spark."""
    return (moment.replace(tzinfo=UTC) - EPOCH) // MICROSECOND


_SECONDS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\Z", re.ASCII)


def unix_timestamp(value: object) -> int:
    """Seconds since 1970, cut towards it; a string must be of the form `yyyy-MM-dd HH:mm:ss`."""
    if isinstance(value, str):
        value = timestamp_of(value) if _SECONDS.match(value) else None
    elif isinstance(value, datetime.datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    moment = to_timestamp(value)
    if moment is None:
        raise ValueError(value)
    return quotient(microseconds(moment), 1_000_000)


def timestamp_seconds(value: object) -> datetime.datetime | None:
    """A decimal must not say more than microseconds."""
    if isinstance(value, decimal.Decimal) and value * 1_000_000 != int(value * 1_000_000):
        raise ValueError(value)
    return to_timestamp(value)


def _of_clock(field: str) -> Function:
    return lambda moment: FIELDS[field](_shown(moment))


TIMES: dict[str, Function] = {
    "date_add": later,
    "date_diff": lambda end, start: (end - start).days,
    "date_sub": lambda date, days: later(date, -days),
    "date_trunc": date_trunc,
    "datediff": lambda end, start: (end - start).days,
    "day": FIELDS["DAY"],
    "dayofmonth": FIELDS["DAY"],
    "dayofweek": FIELDS["DAYOFWEEK"],
    "dayofyear": FIELDS["DOY"],
    "hour": _of_clock("HOUR"),
    "minute": _of_clock("MINUTE"),
    "month": FIELDS["MONTH"],
    "quarter": FIELDS["QUARTER"],
    "second": lambda moment: _shown(moment).second,
    "timestamp_millis": lambda value: EPOCH + value * 1_000 * MICROSECOND,
    "timestamp_seconds": timestamp_seconds,
    "to_date": lambda date: date,
    "to_timestamp": lambda moment: moment,
    "unix_micros": microseconds,
    "unix_millis": lambda moment: microseconds(moment) // 1_000,
    "unix_seconds": lambda moment: microseconds(moment) // 1_000_000,
    "unix_timestamp": unix_timestamp,
    "year": FIELDS["YEAR"],
}
