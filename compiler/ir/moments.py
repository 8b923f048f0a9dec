"""Dates, timestamps and intervals as Spark writes and reads them.

Years run from 1 to 9999, which is what Python can count; Spark goes further.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo

UTC = datetime.UTC

# What Spark trims before it reads a value: white space and control characters.
BLANKS = "".join(map(chr, (*range(0x21), *range(0x7F, 0xA0))))

_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\Z", re.ASCII | re.DOTALL)
_CLOCK = r"[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?(.*))?)?"
_TIMESTAMP = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:" + _CLOCK + r")?)?)?\Z", re.ASCII | re.DOTALL
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?\Z", re.ASCII)


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


@lru_cache(maxsize=4096)
def timestamp_of(text: str) -> datetime.datetime | None:
    """The instant a text stands for, or None; UTC where the text names no zone.

    >>> print(timestamp_of("2020-01-31 12:30:00.5+02:00"), timestamp_of("2020-01-31 25:00:00"))
    2020-01-31 10:30:00.500000+00:00 None
    """
    try:
        local, zone = _local_and_zone(text)
        return local.replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, LookupError, OverflowError, OSError):
        return None


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


def _local_and_zone(text: str) -> tuple[datetime.datetime, datetime.tzinfo]:
    matched = _TIMESTAMP.match(text.strip(BLANKS))
    if matched is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, fraction, zone = matched.groups()
    microsecond = int((fraction or "").ljust(6, "0")[:6])
    date = (int(year), int(month or 1), int(day or 1))
    local = datetime.datetime(*date, int(hour or 0), int(minute or 0), int(second or 0), microsecond)
    return local, _zone((zone or "").strip(BLANKS))


def _zone(text: str) -> datetime.tzinfo:
    if text in ("", "Z", "UTC", "GMT", "UT"):
        return UTC
    offset = _OFFSET.match(text)
    if offset is None:
        return ZoneInfo(text)
    hours, minutes, seconds = int(offset[2]), int(offset[3] or 0), int(offset[4] or 0)
    span = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or span > datetime.timedelta(hours=18):
        raise ValueError(text)
    return datetime.timezone(span if offset[1] == "+" else -span)


def timestamp_text(value: datetime.datetime) -> str:
    """A timestamp as Spark prints it.

    >>> timestamp_text(datetime.datetime(2020, 1, 31, 12, 30, 0, 500000))
    '2020-01-31 12:30:00.5'
    """
    text = value.replace(tzinfo=None).isoformat(" ")
    return text.rstrip("0") if value.microsecond else text


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
