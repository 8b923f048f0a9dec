"""Interval constants: `INTERVAL '1' DAY '2' HOUR`, `INTERVAL '1 10:00' DAY TO MINUTE`."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache

from neelc.ir.expr import Interval, IntervalPart
from neelc.ir.moments import BLANKS, Months

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

# The fields of `x TO y`, what stands between them, and the most a field may be when it is not the first.
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_MOST = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}
_WHOLE = re.compile(r"[+-]?\d+\Z", re.ASCII)
_SECONDS = re.compile(r"([+-]?)(\d*)(?:\.(\d{0,9}))?\Z", re.ASCII)
_YEAR_TO_MONTH = re.compile(r"([+-]?)(\d+)-(\d+)\Z", re.ASCII)
_CONSTANT = re.compile(r"INTERVAL\s*([+-]?)\s*'([^']*)'\s*(\w+)\s+TO\s+(\w+)\Z", re.ASCII | re.IGNORECASE)


def counts_months(interval: Interval) -> bool:
    """Whether the interval is one of years and months, by its first unit."""
    return interval.parts[0].unit in MONTHS


def is_whole_days(interval: Interval) -> bool:
    """Whether only days and weeks are named: a DATE plus such an interval is a DATE."""
    return all(part.unit in ("DAY", "WEEK") and part.to is None for part in interval.parts)


@lru_cache(maxsize=4096)
def interval_value(interval: Interval) -> datetime.timedelta | Months:
    """The value of an interval constant; `ValueError` says what is wrong with it.

    >>> interval_value(Interval((IntervalPart("1", "DAY"), IntervalPart("2", "HOUR"))))
    datetime.timedelta(days=1, seconds=7200)
    >>> interval_value(Interval((IntervalPart("1-2", "YEAR", "MONTH"),)))
    Months(count=14)
    >>> interval_value(Interval((IntervalPart("1", "MONTH"), IntervalPart("2", "DAY"))))
    Traceback (most recent call last):
    ValueError: an interval counts either years and months, or days and smaller units
    """
    if len({part.unit in MONTHS for part in interval.parts}) > 1:
        raise ValueError("an interval counts either years and months, or days and smaller units")
    total = sum(_part(part) for part in interval.parts)
    if counts_months(interval):
        if not -(2**31) <= total < 2**31:
            raise ValueError("the interval is too long")
        return Months(total)
    return day_interval(total)


_LONGEST = 100
"""Characters of a quantity: a BIGINT of microseconds has 19 digits, and its parts have no more than that."""


def day_interval(microseconds: int) -> datetime.timedelta:
    """That many microseconds, if INTERVAL DAY TO SECOND can hold them."""
    if not -(2**63) <= microseconds < 2**63:
        raise ValueError("the interval is too long")
    return datetime.timedelta(microseconds=microseconds)


def _part(part: IntervalPart) -> int:
    """Months or microseconds."""
    text = part.quantity.strip(BLANKS)
    if len(text) > _LONGEST:
        raise ValueError(f"the interval is too long: a quantity of {len(text):,} characters")
    if part.to is not None:
        return _range(text, part.unit, part.to)
    if part.unit == "SECOND":
        return _seconds(text)
    factor = MONTHS.get(part.unit) or MICROSECONDS.get(part.unit)
    if factor is None:
        raise ValueError(f"an interval cannot count in {part.unit}S")
    if _WHOLE.match(text) is None:
        raise ValueError(f"`{part.quantity}` is not a whole number of {part.unit}S")
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
    return interval_value(Interval((IntervalPart(text, first, last),)))
