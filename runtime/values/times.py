"""Dates, timestamps and intervals as Spark writes and reads them.

Years run from 1 to 9999, which is what Python can count; Spark goes further.

A TIMESTAMP is an instant, here always an aware datetime in UTC. Its clock, that is what `hour`, a cast to
a text or the next day depend on, is that of the session's time zone: `in_zone` says which it is.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

UTC = datetime.UTC
ZERO = datetime.timedelta(0)

# What Spark trims before it reads a value: white space and control characters.
BLANKS = "".join(map(chr, (*range(0x21), *range(0x7F, 0xA0))))

_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\Z", re.ASCII | re.DOTALL)
_CLOCK = r"[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?(.*))?)?"
_TIMESTAMP = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:" + _CLOCK + r")?)?)?\Z", re.ASCII | re.DOTALL
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2}(?!\d)|\d{2})(?::?(\d{2})(?::?(\d{2}))?)?\Z", re.ASCII)
# Java's ZoneId.SHORT_IDS, which Spark takes for zones too.
_SHORT = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "EST": "-05:00", "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
_ZONE: ContextVar[datetime.tzinfo] = ContextVar("zone", default=UTC)


@dataclass(frozen=True, order=True)
class Months:
    """A value of INTERVAL YEAR TO MONTH.

    >>> print(Months(14), Months(-1), sep="; ")
    INTERVAL '1-2' YEAR TO MONTH; INTERVAL '-0-1' YEAR TO MONTH
    """

    count: int

    def __str__(self) -> str:
        years, months = divmod(abs(self.count), 12)
        return f"INTERVAL '{'-' if self.count < 0 else ''}{years}-{months}' YEAR TO MONTH"


@lru_cache(maxsize=4096)
def date_of(text: str) -> datetime.date | None:
    """The date a text stands for, or None.

    >>> date_of("2020-1-31"), date_of("2020"), date_of("2020-02-30")
    (datetime.date(2020, 1, 31), datetime.date(2020, 1, 1), None)
    """
    matched = _DATE.match(text.strip(BLANKS))
    if matched is None:
        return None
    try:
        return datetime.date(int(matched[1]), int(matched[2] or 1), int(matched[3] or 1))
    except ValueError:
        return None


def timestamp_of(text: str) -> datetime.datetime | None:
    """The instant a text stands for, or None; a text without a zone is read in the session's.

    >>> print(timestamp_of("2020-01-31 12:30:00.5+02:00"), timestamp_of("2020-01-31 25:00:00"))
    2020-01-31 10:30:00.500000+00:00 None
    >>> with in_zone("Asia/Kolkata"):
    ...     print(timestamp_of("2020-01-31 12:30:00"))
    2020-01-31 07:00:00+00:00
    """
    return _timestamp(text, _ZONE.get())


@lru_cache(maxsize=4096)
def _timestamp(text: str, session: datetime.tzinfo) -> datetime.datetime | None:
    try:
        local, zone = _local_and_zone(text)
        return local.replace(tzinfo=zone or session).astimezone(UTC)
    except (ValueError, LookupError, OverflowError, OSError):
        return None


def has_zone(text: str) -> bool:
    """Whether the text of a timestamp names a zone: then it is the same instant in every session.

    >>> has_zone("2020-01-31 12:30:00Z"), has_zone("2020-01-31 12:30:00"), has_zone("nothing")
    (True, False, False)
    """
    try:
        return _local_and_zone(text)[1] is not None
    except (ValueError, LookupError, OverflowError, OSError):
        return False


@lru_cache(maxsize=4096)
def timestamp_ntz_of(text: str) -> datetime.datetime | None:
    """The local time a text stands for, or None; a zone is read and dropped, as Spark does.

    >>> print(timestamp_ntz_of("2020-01-31 12:30:00+02:00"))
    2020-01-31 12:30:00
    """
    try:
        return _local_and_zone(text)[0]
    except (ValueError, LookupError, OverflowError, OSError):
        return None


def _local_and_zone(text: str) -> tuple[datetime.datetime, datetime.tzinfo | None]:
    matched = _TIMESTAMP.match(text.strip(BLANKS))
    if matched is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, fraction, zone = matched.groups()
    microsecond = int((fraction or "").ljust(6, "0")[:6])
    date = (int(year), int(month or 1), int(day or 1))
    local = datetime.datetime(*date, int(hour or 0), int(minute or 0), int(second or 0), microsecond)
    name = (zone or "").strip(BLANKS)
    return local, zone_of(name) if name else None


def zone_of(text: str) -> datetime.tzinfo:
    """The zone that Spark knows by this name; raises `ValueError` if there is none.

    >>> print(zone_of("Europe/Berlin"), zone_of("-5:30"), zone_of("PST"))
    Europe/Berlin UTC-05:30 America/Los_Angeles
    >>> zone_of("Mars/Olympus")
    Traceback (most recent call last):
    ValueError: Mars/Olympus
    """
    if text in ("Z", "UTC", "GMT", "UT"):
        return UTC
    offset = _OFFSET.match(text)
    if offset is None:
        try:
            return zone_of(_SHORT[text]) if text in _SHORT else ZoneInfo(text)
        except (LookupError, OSError, ValueError):
            raise ValueError(text) from None
    hours, minutes, seconds = int(offset[2]), int(offset[3] or 0), int(offset[4] or 0)
    span = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or span > datetime.timedelta(hours=18):
        raise ValueError(text)
    return datetime.timezone(span if offset[1] == "+" else -span)


@contextmanager
def in_zone(zone: str | datetime.tzinfo) -> Iterator[None]:
    """What is computed, read and printed inside is so in this time zone; without it, in UTC."""
    token = _ZONE.set(zone_of(zone) if isinstance(zone, str) else zone)
    try:
        yield
    finally:
        _ZONE.reset(token)


def session_zone() -> datetime.tzinfo:
    """The time zone that is in effect."""
    return _ZONE.get()


def zoned(instant: datetime.datetime) -> datetime.datetime:
    """An instant with the offset of the session's time zone.

    >>> with in_zone("Europe/Berlin"):
    ...     print(zoned(datetime.datetime(2024, 3, 31, 1, tzinfo=UTC)))
    2024-03-31 03:00:00+02:00
    """
    return instant.astimezone(_ZONE.get())


def clock(instant: datetime.datetime) -> datetime.datetime:
    """What the clock of the session's time zone shows at an instant: a TIMESTAMP_NTZ."""
    return zoned(instant).replace(tzinfo=None, fold=0)


def shown(moment: Any) -> Any:
    """A date or a clock: of an instant, that of the session's time zone."""
    return clock(moment) if isinstance(moment, datetime.datetime) and moment.tzinfo else moment


def instant(clock: datetime.datetime, offset: datetime.timedelta | None = None) -> datetime.datetime:
    """The instant at which the session's clock shows a time.

    A time that the clock leaves out is moved forward by as much as it leaves out; one that it shows twice is
    the first, or that with the given offset from UTC. So do Java and Spark.

    >>> with in_zone("Europe/Berlin"):
    ...     left_out = instant(datetime.datetime(2024, 3, 31, 2, 30))
    ...     print(clock(left_out), instant(datetime.datetime(2024, 10, 27, 2, 30)))
    2024-03-31 03:30:00 2024-10-27 00:30:00+00:00
    """
    first = clock.replace(tzinfo=_ZONE.get(), fold=0)
    second = first.replace(fold=1)
    shown_twice = (first.utcoffset() or ZERO) > (second.utcoffset() or ZERO)
    return (second if shown_twice and second.utcoffset() == offset else first).astimezone(UTC)


def offsets(
    first: datetime.datetime, last: datetime.datetime
) -> list[tuple[datetime.datetime, datetime.timedelta]]:
    """How far the session's clock is ahead of UTC between two instants, and from when on.

    >>> with in_zone("Europe/Berlin"):
    ...     for since, ahead in offsets(*(datetime.datetime(2024, month, 1, tzinfo=UTC) for month in (3, 5))):
    ...         print(since, ahead)
    2024-03-01 00:00:00+00:00 1:00:00
    2024-03-31 01:00:00+00:00 2:00:00
    """
    second = datetime.timedelta(seconds=1)
    step = max(datetime.timedelta(days=1), (last - first) // 20_000)
    found, at = [(first, _ahead(first))], first
    while at < last:
        low, high = at, min(at + step, last)
        at = high
        if _ahead(low) != _ahead(high):
            while high - low > second:
                middle = low + (high - low) // 2
                low, high = (low, middle) if _ahead(middle) == _ahead(at) else (middle, high)
            found.append((high.replace(microsecond=0), _ahead(at)))
    return found


def _ahead(instant: datetime.datetime) -> datetime.timedelta:
    return zoned(instant).utcoffset() or ZERO


def midnight(date: datetime.date) -> datetime.datetime:
    """The instant at which a date begins: if the clock leaves out midnight, the first that it shows then.

    >>> with in_zone("America/Toronto"):  # on this evening, half past eleven was followed by half past twelve
    ...     print(clock(midnight(datetime.date(1919, 3, 31))))
    1919-03-31 00:30:00
    """
    at = datetime.datetime(date.year, date.month, date.day)
    found = instant(at)
    if clock(found) == at:
        return found
    # The clock is set forward between these: where, is the end of a search by halves.
    before, after = found - (clock(found) - at), found
    while after - before > datetime.timedelta(microseconds=1):
        middle = before + (after - before) // 2
        before, after = (before, middle) if clock(middle) >= at else (middle, after)
    return after


def timestamp_text(value: datetime.datetime) -> str:
    """A timestamp as Spark prints it: an instant as the session's clock shows it.

    >>> timestamp_text(datetime.datetime(2020, 1, 31, 12, 30, 0, 500000))
    '2020-01-31 12:30:00.5'
    """
    text = (clock(value) if value.tzinfo else value).isoformat(" ")
    return text.rstrip("0") if value.microsecond else text


def instant_text(value: datetime.datetime) -> str:
    """An instant as a text that is the same instant in every session.

    >>> instant_text(datetime.datetime(2020, 1, 31, 12, 30, tzinfo=UTC))
    '2020-01-31 12:30:00Z'
    """
    return timestamp_text(value.astimezone(UTC).replace(tzinfo=None)) + "Z"


def day_interval_text(value: datetime.timedelta) -> str:
    """An INTERVAL DAY TO SECOND as Spark prints it.

    >>> day_interval_text(datetime.timedelta(days=1, seconds=90))
    "INTERVAL '1 00:01:30' DAY TO SECOND"
    """
    sign, length = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    minutes, seconds = divmod(length.seconds, 60)
    fraction = f".{length.microseconds:06d}".rstrip("0") if length.microseconds else ""
    clock = f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}"
    return f"INTERVAL '{sign}{length.days} {clock}' DAY TO SECOND"


# Interval constants: `INTERVAL '1' DAY '2' HOUR`, `INTERVAL '1 10:00' DAY TO MINUTE`.

MICROSECONDS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
MONTHS = {"YEAR": 12, "MONTH": 1}

IntervalQuantity = tuple[str, str, str | None]
"""A quantity, its unit, and the last unit of `DAY TO SECOND`, if it is of this form."""

# The fields of `x TO y`, what stands between them, and the most a field may be when it is not the first.
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_MOST = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}
_WHOLE = re.compile(r"[+-]?\d+\Z", re.ASCII)
_SECONDS = re.compile(r"([+-]?)(\d*)(?:\.(\d{0,9}))?\Z", re.ASCII)
_YEAR_TO_MONTH = re.compile(r"([+-]?)(\d+)-(\d+)\Z", re.ASCII)
_CONSTANT = re.compile(r"INTERVAL\s*([+-]?)\s*'([^']*)'\s*(\w+)\s+TO\s+(\w+)\Z", re.ASCII | re.IGNORECASE)


def interval_of_parts(parts: Sequence[IntervalQuantity]) -> datetime.timedelta | Months:
    """The value of an interval constant; `ValueError` says what is wrong with it.

    >>> interval_of_parts([("1", "DAY", None), ("2", "HOUR", None)])
    datetime.timedelta(days=1, seconds=7200)
    >>> interval_of_parts([("1-2", "YEAR", "MONTH")])
    Months(count=14)
    >>> interval_of_parts([("1", "MONTH", None), ("2", "DAY", None)])
    Traceback (most recent call last):
    ValueError: an interval counts either years and months, or days and smaller units
    """
    if len({unit in MONTHS for _, unit, _ in parts}) > 1:
        raise ValueError("an interval counts either years and months, or days and smaller units")
    total = sum(_part(*part) for part in parts)
    if parts[0][1] not in MONTHS:
        return day_interval(total)
    if not -(2**31) <= total < 2**31:
        raise ValueError("the interval is too long")
    return Months(total)


_LONGEST = 100
"""Characters of a quantity: a BIGINT of microseconds has 19 digits, and its parts have no more than that."""


def day_interval(microseconds: int) -> datetime.timedelta:
    """That many microseconds, if INTERVAL DAY TO SECOND can hold them."""
    if not -(2**63) <= microseconds < 2**63:
        raise ValueError("the interval is too long")
    return datetime.timedelta(microseconds=microseconds)


def _part(quantity: str, unit: str, to: str | None) -> int:
    """Months or microseconds."""
    text = quantity.strip(BLANKS)
    if len(text) > _LONGEST:
        raise ValueError(f"the interval is too long: a quantity of {len(text):,} characters")
    if to is not None:
        return _range(text, unit, to)
    if unit == "SECOND":
        return _seconds(text)
    factor = MONTHS.get(unit) or MICROSECONDS.get(unit)
    if factor is None:
        raise ValueError(f"an interval cannot count in {unit}S")
    if _WHOLE.match(text) is None:
        raise ValueError(f"`{quantity}` is not a whole number of {unit}S")
    return int(text) * factor


def _seconds(text: str) -> int:
    matched = _SECONDS.match(text)
    if matched is None or not (matched[2] or matched[3]):
        raise ValueError(f"`{text}` is not a number of SECONDS")
    count = int(matched[2] or 0) * 1_000_000 + int((matched[3] or "").ljust(6, "0")[:6])
    return -count if matched[1] == "-" else count


def _range(text: str, first: str, last: str) -> int:
    if (first, last) == ("YEAR", "MONTH"):
        years = _YEAR_TO_MONTH.match(text)
        if years is None or int(years[3]) > 11:
            raise ValueError(f"`{text}` is not of the form 'years-months'")
        return (int(years[2]) * 12 + int(years[3])) * (-1 if years[1] == "-" else 1)
    if first not in _FIELDS or last not in _FIELDS or _FIELDS.index(first) >= _FIELDS.index(last):
        raise ValueError(f"there are no intervals of {first} TO {last}")
    fields = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]
    form = "".join(f"(?P<{f}>\\d+)" + ("" if f == last else " " if f == "DAY" else ":") for f in fields)
    matched = re.match(rf"(?P<sign>[+-]?){form}(?:\.(?P<fraction>\d{{0,9}}))?\Z", text, re.ASCII)
    if matched is None or (matched["fraction"] is not None and last != "SECOND"):
        raise ValueError(f"`{text}` is not of the form {first} TO {last}")
    for field in fields[1:]:
        if int(matched[field]) > _MOST[field]:
            raise ValueError(f"{matched[field]} is too many for the {field}S of `{text}`")
    total = sum(int(matched[field]) * MICROSECONDS[field] for field in fields)
    total += int((matched["fraction"] or "").ljust(6, "0")[:6])
    return -total if matched["sign"] == "-" else total


def interval_of(text: str, months: bool) -> datetime.timedelta | Months:
    """The interval a STRING is cast to; `ValueError` if it is none.

    >>> interval_of("1-2", True), interval_of("INTERVAL '1 00:00:00' DAY TO SECOND", False)
    (Months(count=14), datetime.timedelta(days=1))
    """
    first, last = ("YEAR", "MONTH") if months else ("DAY", "SECOND")
    text = text.strip(BLANKS)
    constant = _CONSTANT.match(text)
    if constant is not None:
        if (constant[3].upper(), constant[4].upper()) != (first, last):
            raise ValueError(f"`{text}` is not of the form {first} TO {last}")
        text = constant[2].strip(BLANKS)
        if constant[1] == "-":
            text = text[1:] if text.startswith("-") else "-" + text
    return interval_of_parts([(text, first, last)])
