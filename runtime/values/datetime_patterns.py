"""Spark's datetime patterns, `dd/MM/yyyy HH:mm` and the like: what texts say by them. The common letters.

Spark reads with Java's DateTimeFormatter: letters are fields, letters between quotes and all other characters
stand for themselves, and what stands between brackets may be missing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.times import UTC, instant, zone_of, zoned

_TOKENS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_MONTHS = "January February March April May June July August September October November December".split()
_FIELDS = {
    "y": "year", "M": "month", "d": "day", "H": "hour", "h": "clock", "m": "minute", "s": "second",
    "S": "fraction", "a": "half", "X": "offset", "V": "zone",
}  # fmt: skip
_LONGEST = {"y": 4, "M": 4, "d": 2, "H": 2, "h": 2, "m": 2, "s": 2, "S": 9, "a": 1, "X": 3, "V": 2}
_OFFSETS = {
    "X": r"Z|[+-]\d{2}(?:\d{2})?",
    "XX": r"Z|[+-]\d{4}",
    "XXX": r"Z|[+-]\d{2}:\d{2}",
}
EXAMPLE = "dd/MM/yyyy HH:mm"
LETTERS = "y M d H h m s S a X VV"


class MalformedPattern(ValueError):
    """A pattern that cannot be read by; the text says why."""


@dataclass(frozen=True)
class DatetimePattern:
    """A pattern as a regular expression with a group for each field."""

    expression: re.Pattern[str]
    months: tuple[str, ...] = ()
    century: int = 0
    """What is added to a year."""


@lru_cache(maxsize=64)
def pattern_of(text: str) -> DatetimePattern:
    """The pattern of a text; raises `MalformedPattern`.

    >>> pattern_of("dd/MM/yyyy HH:mm").expression.pattern
    '(?P<day>\\\\d{2})/(?P<month>\\\\d{2})/(?P<year>\\\\d{4})\\\\ (?P<hour>\\\\d{2}):(?P<minute>\\\\d{2})'
    >>> pattern_of("yyyy-QQ")
    Traceback (most recent call last):
    neelc.runtime.values.datetime_patterns.MalformedPattern: no letter `Q`
    """
    tokens = [match[0] for match in _TOKENS.finditer(text)]
    fields = [token[0] for token in tokens if token[0].isalpha()]
    _check(text, tokens, fields)
    written = "".join(_parts(tokens))
    months = next((token for token in tokens if token.startswith("MMM")), "")
    names = tuple(name if len(months) == 4 else name[:3] for name in _MONTHS) if months else ()
    try:
        return DatetimePattern(
            re.compile(written, re.IGNORECASE | re.ASCII), names, 2000 if "yy" in tokens else 0
        )
    except re.error:
        raise MalformedPattern("a bracket without its other one") from None


def _check(text: str, tokens: list[str], fields: list[str]) -> None:
    for token in tokens:
        if token[0].isalpha() and token[0] not in _FIELDS:
            raise MalformedPattern(f"no letter `{token[0]}`")
        if token[0].isalpha() and (len(token) > _LONGEST[token[0]] or token in ("yyy", "V")):
            raise MalformedPattern(f"`{token}` is not known")
        if token in ("{", "}", "#", "'"):
            raise MalformedPattern(
                "a quote without its other one" if token == "'" else f"`{token}` has no meaning"
            )
    for before, token in pairwise(tokens):
        if token[0] == "S" and before[0] in "yMdHhms":
            raise MalformedPattern(f"`{token}` right after digits, where Spark does not find its beginning")
    twice = next((field for field in fields if fields.count(field) > 1), None)
    if twice is not None:
        raise MalformedPattern(f"`{twice}` twice")
    if not fields:
        raise MalformedPattern("no letter at all" if text else "it is empty")
    if "H" in fields and ("h" in fields or "a" in fields):
        raise MalformedPattern("the hour twice: `H` counts to 23, `h` with `a` to 12")


def _parts(tokens: list[str]) -> Iterator[str]:
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if token in "[]":
            yield "(?:" if token == "[" else ")?"
        elif token[0].isalpha():
            yield f"(?P<{_FIELDS[token[0]]}>{_field(token, following)})"
        else:
            plain = token[1:-1].replace("''", "'") or "'" if len(token) > 1 else token
            yield re.escape(plain)


def _field(token: str, following: str) -> str:
    match token[0]:
        case "M" if len(token) > 2:
            return "|".join(name if len(token) == 4 else name[:3] for name in _MONTHS)
        case "S":
            return rf"\d{{1,{len(token)}}}+"
        case "a":
            return "AM|PM"
        case "X":
            return _OFFSETS[token]
        case "V":
            return r"[A-Za-z0-9_/+:~-]+"
    if len(token) > 1:
        return rf"\d{{{len(token)}}}"
    # Before a field of fixed width, a number leaves as many digits as that has.
    return r"\d{1,19}" if _is_fixed(following) else r"\d{1,19}+"


def _is_fixed(token: str) -> bool:
    return len(token) > 1 and token[0] in "yMdHhms" and not token.startswith("MMM")


def timestamp_by(pattern: str, text: str) -> datetime.datetime | None:
    """The instant that a text stands for by a pattern, or None; without a zone, by the session's clock.

    >>> print(timestamp_by("dd/MM/yyyy HH:mm", "31/12/2024 23:59"))
    2024-12-31 23:59:00+00:00
    >>> print(timestamp_by("d MMM yyyy h:mm a", "1 feb 2024 1:05 PM"))
    2024-02-01 13:05:00+00:00
    >>> print(timestamp_by("dd/MM/yyyy", "31/02/2024"))
    None
    """
    known = pattern_of(pattern)
    found = known.expression.fullmatch(text)
    if found is None:
        return None
    fields = {name: value for name, value in found.groupdict().items() if value is not None}
    try:
        local = _local(fields, known)
        zone = fields.get("zone") or fields.get("offset")
        return instant(local) if zone is None else local.replace(tzinfo=_zone(zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _local(fields: dict[str, str], pattern: DatetimePattern) -> datetime.datetime:
    month, fraction = fields.get("month", "1"), fields.get("fraction", "").ljust(6, "0")[:6]
    names = [name.lower() for name in pattern.months]
    return datetime.datetime(
        pattern.century + int(fields["year"]) if "year" in fields else 1970,
        int(month) if month.isdigit() else names.index(month.lower()) + 1,
        int(fields.get("day", "1")),
        _hour(fields),
        int(fields.get("minute", "0")),
        int(fields.get("second", "0")),
        int(fraction),
    )


def _hour(fields: dict[str, str]) -> int:
    if "clock" not in fields:
        return int(fields.get("hour", "12" if fields.get("half", "").upper() == "PM" else "0"))
    hour = int(fields["clock"])
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if fields.get("half", "").upper() == "PM" else 0)


def _zone(text: str) -> datetime.tzinfo:
    if re.fullmatch(r"[+-]\d{2}", text):
        text += ":00"
    return UTC if text.upper() == "Z" else zone_of(text)


# Writing: the letters that mean the same in every session, whatever its language.

_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
_WRITTEN = {
    "y": 6, "M": 4, "L": 4, "d": 2, "D": 3, "E": 4, "Q": 4, "q": 4, "a": 1, "H": 2, "h": 2, "K": 2, "k": 2,
    "m": 2, "s": 2, "S": 9, "X": 3, "x": 3, "Z": 3,
}  # fmt: skip


@lru_cache(maxsize=64)
def form_of(text: str) -> tuple[str, ...]:
    """The parts of a pattern to write times by; raises `MalformedPattern`.

    >>> form_of("d.M.yyyy 'at' H")
    ('d', '.', 'M', '.', 'yyyy', ' ', "'at'", ' ', 'H')
    >>> form_of("ww")
    Traceback (most recent call last):
    neelc.runtime.values.datetime_patterns.MalformedPattern: no letter `w`
    """
    tokens = tuple(match[0] for match in _TOKENS.finditer(text))
    for token in tokens:
        if token[0].isalpha() and token[0] not in _WRITTEN:
            raise MalformedPattern(f"no letter `{token[0]}`")
        if token[0].isalpha() and len(token) > _WRITTEN[token[0]]:
            raise MalformedPattern(f"`{token}` is not known")
        if token in ("{", "}", "#", "'"):
            raise MalformedPattern(
                "a quote without its other one" if token == "'" else f"`{token}` has no meaning"
            )
    if tokens.count("[") != tokens.count("]"):
        raise MalformedPattern("a bracket without its other one")
    return tokens


def written_by(pattern: str, moment: datetime.datetime) -> str:
    """An instant as a text, by the session's clock.

    >>> noon = datetime.datetime(2020, 2, 9, 12, 5, 0, 678901, tzinfo=UTC)
    >>> written_by("EEE, d MMM yyyy h:mm a", noon), written_by("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", noon)
    ('Sun, 9 Feb 2020 12:05 PM', '2020-02-09T12:05:00.678Z')
    """
    local = zoned(moment)
    return "".join(_written(token, local) for token in form_of(pattern) if token not in ("[", "]"))


def _written(token: str, local: datetime.datetime) -> str:
    letter, length = token[0], len(token)
    if letter in _NAMED and length > 2:
        return _NAMED[letter](local, length > 3)
    if letter in _COUNTED:
        return str(_COUNTED[letter](local)).rjust(length, "0")
    match letter:
        case "y":
            return f"{local.year % 100:02d}" if length == 2 else str(local.year).rjust(length, "0")
        case "E":
            return _day(local, False)
        case "S":
            return f"{local.microsecond:06d}000"[:length]
        case "a":
            return "AM" if local.hour < 12 else "PM"
        case "X" | "x" | "Z":
            return _offset(token, local.utcoffset() or datetime.timedelta())
    return token[1:-1].replace("''", "'") or "'" if length > 1 else token


def _day(local: datetime.datetime, is_long: bool) -> str:
    name = _DAYS[local.weekday()]
    return name if is_long else name[:3]


def _month(local: datetime.datetime, is_long: bool) -> str:
    name = _MONTHS[local.month - 1]
    return name if is_long else name[:3]


def _quarter(local: datetime.datetime, is_long: bool) -> str:
    number = (local.month - 1) // 3
    return _QUARTERS[number] if is_long else f"Q{number + 1}"


_NAMED: dict[str, Callable[[datetime.datetime, bool], str]] = {
    "E": _day,
    "L": _month,
    "M": _month,
    "Q": _quarter,
    "q": _quarter,
}
_COUNTED: dict[str, Callable[[datetime.datetime], int]] = {
    "D": lambda local: local.timetuple().tm_yday,
    "H": lambda local: local.hour,
    "K": lambda local: local.hour % 12,
    "L": lambda local: local.month,
    "M": lambda local: local.month,
    "Q": lambda local: (local.month + 2) // 3,
    "d": lambda local: local.day,
    "h": lambda local: local.hour % 12 or 12,
    "k": lambda local: local.hour or 24,
    "m": lambda local: local.minute,
    "q": lambda local: (local.month + 2) // 3,
    "s": lambda local: local.second,
}


def _offset(token: str, offset: datetime.timedelta) -> str:
    """How far the clock is ahead of UTC: in whole minutes."""
    if token[0] == "X" and not offset:
        return "Z"
    seconds = offset // datetime.timedelta(seconds=1)
    hours, minutes = divmod(abs(seconds) // 60, 60)
    sign = "-" if seconds < 0 and (hours or minutes) else "+"
    if token in ("X", "x"):
        return f"{sign}{hours:02d}{minutes:02d}" if minutes else f"{sign}{hours:02d}"
    return (
        f"{sign}{hours:02d}:{minutes:02d}" if token in ("XXX", "xxx") else f"{sign}{hours:02d}{minutes:02d}"
    )


def clock_by(pattern: str, text: str) -> datetime.datetime | None:
    """The local time that a text stands for by a pattern without a zone, or None."""
    known = pattern_of(pattern)
    found = known.expression.fullmatch(text)
    if found is None:
        return None
    try:
        return _local({name: value for name, value in found.groupdict().items() if value is not None}, known)
    except (ValueError, OverflowError):
        return None
