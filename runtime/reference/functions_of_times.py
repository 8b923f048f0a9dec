"""Functions of dates, timestamps and intervals, of values that are not NULL."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable

from neelc.ir.moments import UTC, Months, timestamp_of
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
            return FIELDS[field](value)
    raise ValueError(name)


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
    """Microseconds since 1970, in UTC."""
    return (moment.replace(tzinfo=UTC) - EPOCH) // MICROSECOND


_SECONDS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\Z", re.ASCII)


def unix_timestamp(value: object) -> int:
    """Seconds since 1970, cut towards it; a string must be of the form `yyyy-MM-dd HH:mm:ss`."""
    if isinstance(value, str):
        value = timestamp_of(value) if _SECONDS.match(value) else None
    moment = to_timestamp(value)
    if moment is None:
        raise ValueError(value)
    return quotient(microseconds(moment), 1_000_000)


def timestamp_seconds(value: object) -> datetime.datetime | None:
    """A decimal must not say more than microseconds."""
    if isinstance(value, decimal.Decimal) and value * 1_000_000 != int(value * 1_000_000):
        raise ValueError(value)
    return to_timestamp(value)


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
    "hour": FIELDS["HOUR"],
    "minute": FIELDS["MINUTE"],
    "month": FIELDS["MONTH"],
    "quarter": FIELDS["QUARTER"],
    "second": lambda moment: moment.second,
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
