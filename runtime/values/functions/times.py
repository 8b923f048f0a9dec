"""Functions of dates, timestamps and intervals, of values that are not NULL."""

from __future__ import annotations

import calendar
import datetime
import decimal
import math
import re
from collections.abc import Callable
from typing import Any

from neelc.runtime.values.datetime_patterns import clock_by, timestamp_by, written_by
from neelc.runtime.values.scalars import MICROSECOND, later, quotient
from neelc.runtime.values.times import (
    MICROSECONDS,
    UTC,
    Months,
    clock,
    day_interval,
    in_zone,
    instant,
    session_zone,
    shown,
    timestamp_of,
    zoned,
)
from neelc.runtime.values.times import midnight as start_of
from neelc.runtime.values.types import EPOCH, to_timestamp

Function = Callable[..., object]


def extract(value: object, field: str) -> object:
    """EXTRACT(field FROM value).

    >>> extract(datetime.datetime(2020, 1, 1, 0, 0, 5, 250000), "SECOND")
    Decimal('5.250000')
    >>> extract(datetime.date(2020, 2, 29), "DAYOFWEEK")
    7
    """
    match value:
        case Months(count):
            years = quotient(count, 12)
            return years if field == "YEAR" else count - 12 * years
        case datetime.timedelta():
            return _interval_field(field, value // MICROSECOND)
        case datetime.date() if field in FIELDS:
            return FIELDS[field](shown(value))
    raise ValueError(field)


def _interval_field(field: str, microseconds: int) -> object:
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
    return lambda moment: FIELDS[field](shown(moment))


# Calendars.

_DATE_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK")


def trunc(date: datetime.date, name: str) -> datetime.date | None:
    """The first day of the year, quarter, month or week that a date lies in; NULL for another unit.

    >>> print(trunc(datetime.date(2020, 2, 29), "week"), trunc(datetime.date(2020, 2, 29), "day"))
    2020-02-24 None
    """
    unit = _UNITS.get(name.upper())
    if unit not in _DATE_UNITS:
        return None
    return _truncated(unit, datetime.datetime(date.year, date.month, date.day)).date()


def _length_of_month(date: datetime.date) -> int:
    return calendar.monthrange(date.year, date.month)[1]


def months_between(one: datetime.datetime, other: datetime.datetime, is_rounded: bool = True) -> float:
    """How many months lie between two instants, by the session's clock. A month has 31 days, but from one
    day of a month to the same day of another, or between two last days, there are whole months.

    >>> months_between(timestamp_of("1997-02-28 10:30:00"), timestamp_of("1996-10-30"))
    3.94959677
    """
    seconds = _second_of_day(one) - _second_of_day(other)
    one, other = shown(one), shown(other)
    months = (one.year - other.year) * 12 + one.month - other.month
    both_last = one.day == _length_of_month(one) and other.day == _length_of_month(other)
    if one.day == other.day or both_last:
        return float(months)
    found = months + ((one.day - other.day) * 86_400 + seconds) / (31 * 86_400)
    return _to_8_places(found) if is_rounded else found


def _second_of_day(moment: datetime.datetime) -> int:
    """How many have passed since midnight, which may be another number than the clock shows."""
    return (moment - start_of(shown(moment).date())) // datetime.timedelta(seconds=1)


def _to_8_places(value: float) -> float:
    """As Java's Math.round does it: halves upwards."""
    return math.floor(value * 1e8 + 0.5) / 1e8


_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
DAYS_OF_WEEK = {name[:length]: day for day, name in enumerate(_WEEKDAYS) for length in (2, 3, len(name))}
"""Names of days, whole or their first two or three letters."""


def next_day(date: datetime.date, name: str) -> datetime.date:
    """The first day of that name after a date.

    >>> print(next_day(datetime.date(2020, 2, 29), "tue"))
    2020-03-03
    """
    ahead = (DAYS_OF_WEEK[name.upper()] - date.weekday() - 1) % 7 + 1
    return date + datetime.timedelta(days=ahead)


def _clock_of_parts(
    year: int, month: int, day: int, hour: int, minute: int, second: decimal.Decimal
) -> datetime.datetime:
    """Of seconds from 0 to 60, which are those of the next minute."""
    micros = int(second.scaleb(6))
    if not 0 <= micros <= 60_000_000:
        raise ValueError(second)
    return datetime.datetime(year, month, day, hour, minute) + micros * MICROSECOND


def make_timestamp(*parts: Any) -> datetime.datetime:
    """An instant from year, month, day, hour, minute, second and perhaps a zone."""
    local = _clock_of_parts(*parts[:6])
    if len(parts) == 6:
        return instant(local)
    with in_zone(parts[6]):
        return instant(local)


def from_utc(moment: datetime.datetime, zone: str) -> datetime.datetime:
    """from_utc_timestamp: what the clock of a zone shows, as if it were UTC."""
    with in_zone(zone):
        return clock(moment).replace(tzinfo=UTC)


def to_utc(moment: datetime.datetime, zone: str) -> datetime.datetime:
    """to_utc_timestamp: the instant at which the clock of a zone shows what UTC's does."""
    with in_zone(zone):
        return instant(moment.astimezone(UTC).replace(tzinfo=None))


def convert_timezone(*arguments: Any) -> datetime.datetime:
    """What the clock of a zone shows when that of another, or of the session, shows a time."""
    *source, target, local = arguments
    with in_zone(source[0] if source else session_zone()):
        moment = instant(local)
    with in_zone(target):
        return clock(moment)


def day_interval_of(
    days: int, hours: int = 0, minutes: int = 0, seconds: decimal.Decimal = decimal.Decimal(0)
) -> datetime.timedelta:
    """make_dt_interval."""
    whole = ((days * 24 + hours) * 60 + minutes) * 60_000_000
    return day_interval(whole + int(seconds.scaleb(6)))


_MONTHS_OF = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}


def timestampdiff(unit: str, start: datetime.datetime, end: datetime.datetime) -> int:
    """How many whole units the clock shows from one time to another.

    >>> timestampdiff("MONTH", datetime.datetime(2020, 1, 31), datetime.datetime(2020, 2, 29))
    0
    """
    one, other = shown(start), shown(end)
    word = {"DAYOFYEAR": "DAY"}.get(unit.upper(), unit.upper())
    if word in MICROSECONDS:
        return quotient((other - one) // MICROSECOND, MICROSECONDS[word])
    months = (other.year - one.year) * 12 + other.month - one.month
    rest = (one.day, one.time()), (other.day, other.time())
    if months > 0 and rest[1] < rest[0]:
        months -= 1
    elif months < 0 and rest[1] > rest[0]:
        months += 1
    return quotient(months, _MONTHS_OF[word])


TIMES: dict[str, Function] = {
    "convert_timezone": convert_timezone,
    "date_add": later,
    "date_diff": lambda end, start: (end - start).days,
    "date_format": lambda moment, pattern: written_by(pattern, moment),
    "date_from_unix_date": lambda days: EPOCH.date() + datetime.timedelta(days=days),
    "date_sub": lambda date, days: later(date, -days),
    "date_trunc": date_trunc,
    "datediff": lambda end, start: (end - start).days,
    "day": FIELDS["DAY"],
    "dayname": lambda date: _WEEKDAYS[date.weekday()][:3].title(),
    "dayofmonth": FIELDS["DAY"],
    "dayofweek": FIELDS["DAYOFWEEK"],
    "dayofyear": FIELDS["DOY"],
    "from_utc_timestamp": from_utc,
    "hour": _of_clock("HOUR"),
    "last_day": lambda date: date.replace(day=_length_of_month(date)),
    "make_date": datetime.date,
    "make_dt_interval": day_interval_of,
    "make_timestamp": make_timestamp,
    "make_timestamp_ltz": make_timestamp,
    "make_timestamp_ntz": _clock_of_parts,
    "make_ym_interval": lambda years, months=0: Months(12 * years + months),
    "minute": _of_clock("MINUTE"),
    "month": FIELDS["MONTH"],
    "monthname": lambda date: calendar.month_abbr[date.month],
    "months_between": months_between,
    "next_day": next_day,
    "quarter": FIELDS["QUARTER"],
    "second": lambda moment: shown(moment).second,
    "timestamp_micros": lambda count: EPOCH + count * MICROSECOND,
    "timestamp_millis": lambda value: EPOCH + value * 1_000 * MICROSECOND,
    "timestamp_seconds": timestamp_seconds,
    "timestampdiff": timestampdiff,
    "to_date": lambda date: date,
    "to_timestamp": lambda moment: moment,
    "to_timestamp_ntz": lambda text, pattern: clock_by(pattern, text),
    "to_utc_timestamp": to_utc,
    "trunc": trunc,
    "try_make_timestamp": make_timestamp,
    "try_make_timestamp_ltz": make_timestamp,
    "try_make_timestamp_ntz": _clock_of_parts,
    "try_to_timestamp": lambda text, pattern: timestamp_by(pattern, text),
    "unix_date": lambda date: (date - EPOCH.date()).days,
    "unix_micros": microseconds,
    "unix_millis": lambda moment: microseconds(moment) // 1_000,
    "unix_seconds": lambda moment: microseconds(moment) // 1_000_000,
    "unix_timestamp": unix_timestamp,
    "weekday": lambda date: date.weekday(),
    "weekofyear": FIELDS["WEEK"],
    "year": FIELDS["YEAR"],
}
