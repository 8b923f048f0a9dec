"""Dates, timestamps and clocks: what DuckDB computes of them in the time zone of the session.

A day is not always 24 hours long, a clock shows some times twice and leaves others out. DuckDB has its own
rules there; here it is asked only where the clock runs evenly, which the text itself checks. All else is for
the runtime.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from zoneinfo import ZoneInfo

from neelc.files import CallError
from neelc.ir.types import (
    BIGINT,
    DATE,
    DAY_INTERVAL,
    INT,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    YEAR_INTERVAL,
    DataType,
    Decimal,
)
from neelc.runtime.values.times import date_of, has_zone, in_zone, timestamp_ntz_of, timestamp_of, zone_of
from neelc.runtime.values.types import EPOCH
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import DuckText, NameScope, safely, text_literal

MICROSECOND = datetime.timedelta(microseconds=1)
SECOND = 1_000_000
DAY = 86_400 * SECOND
NEAR = 26 * 3_600 * SECOND
"""Further than a clock is ever set forward or back."""


def offset_of(scope: NameScope) -> int | None:
    """How many microseconds the clock is always ahead of UTC; None if that varies, or is not known."""
    if not scope.zone:
        return None
    zone = zone_of(scope.zone)
    return zone.utcoffset(None) // MICROSECOND if isinstance(zone, datetime.timezone) else None


def zone_in_duckdb(name: str) -> str:
    """What DuckDB calls a time zone of Spark's; raises `CallError` if it has no such zone.

    >>> zone_in_duckdb("Europe/Berlin"), zone_in_duckdb("+02:00"), zone_in_duckdb("PST"), zone_in_duckdb("Z")
    ('Europe/Berlin', 'Etc/GMT-2', 'America/Los_Angeles', 'UTC')
    >>> zone_in_duckdb("+05:30")
    Traceback (most recent call last):
    neelc.files.CallError: timezone +05:30: the local engine has whole hours, -12 to +14, and names of zones
    """
    zone = zone_of(name)
    if isinstance(zone, ZoneInfo):
        return zone.key
    hours, rest = divmod(zone.utcoffset(None) or datetime.timedelta(), datetime.timedelta(hours=1))
    if rest or not -12 <= hours <= 14:
        raise CallError(f"timezone {name}: the local engine has whole hours, -12 to +14, and names of zones")
    return f"Etc/GMT{-hours:+}" if hours else "UTC"  # east of Greenwich is negative there


def plus(text: str, micros: int) -> str:
    """
    >>> plus("x", -1), plus("x", 0)
    ('x - 1', 'x')
    """
    return f"{text} {'-' if micros < 0 else '+'} {abs(micros)}" if micros else text


def clock_of(moment: str, scope: NameScope) -> str:
    """What the clock of the session shows at an instant.

    >>> clock_of("ts", NameScope({}))
    'CAST(ts AS TIMESTAMP)'
    >>> clock_of("ts", NameScope({}, zone="+01:00"))
    'make_timestamp(epoch_us(ts) + 3600000000)'
    """
    offset = offset_of(scope)
    if offset is None:
        return f"CAST({moment} AS TIMESTAMP)"
    return f"make_timestamp({plus(f'epoch_us({moment})', offset)})"


def instant_of(clock: str, slow: str, scope: NameScope) -> str:
    """The instant at which the clock of the session shows a time; `slow` computes it where the clock is set
    forward or back nearby."""
    offset = offset_of(scope)
    if offset is not None:
        return f"make_timestamptz({plus(f'epoch_us({clock})', -offset)})"
    at = f"CAST({clock} AS TIMESTAMP WITH TIME ZONE)"
    tests = (
        f"epoch_us(CAST(make_timestamptz(epoch_us({at}) {sign} {NEAR}) AS TIMESTAMP))"
        f" = epoch_us({clock}) {sign} {NEAR}"
        for sign in "+-"
    )
    return f"CASE WHEN {clock} IS NULL THEN NULL WHEN {' AND '.join(tests)} THEN {at} ELSE {slow} END"


def moved(moment: str, clock: str, slow: str, scope: NameScope) -> str:
    """The instant at which the clock of the session shows `clock`, by the offset from UTC that it has at the
    instant `moment`; `slow` computes it where the offset is another one by then."""
    now = clock_of(moment, scope)
    at = f"make_timestamptz(epoch_us({moment}) + (epoch_us({clock}) - epoch_us({now})))"
    if offset_of(scope) is not None:
        return at
    even = f"CAST({at} AS TIMESTAMP) = {clock}"
    return f"CASE WHEN {moment} IS NULL THEN NULL WHEN {even} THEN {at} ELSE {slow} END"


# Constants.


def constant_time(text: str, target: DataType, scope: NameScope) -> str | None:
    """The time that a text stands for, as a constant: NULL if it is none, None if that is known only to the
    session.

    >>> constant_time("2020-01-31 12:00:00+02:00", TIMESTAMP, NameScope({}))
    'make_timestamptz(1580464800000000)'
    >>> constant_time("2020-1-31", DATE, NameScope({})), constant_time("2020", TIMESTAMP, NameScope({}))
    ("DATE '2020-01-31'", None)
    """
    if target == DATE:
        date = date_of(text)
        return "CAST(NULL AS DATE)" if date is None else f"DATE '{date}'"
    local = timestamp_ntz_of(text)
    if target == TIMESTAMP_NTZ:
        return "CAST(NULL AS TIMESTAMP)" if local is None else f"TIMESTAMP '{local}'"
    if local is not None and not has_zone(text) and not scope.zone:
        return None
    with in_zone(scope.zone or "UTC"):
        instant = timestamp_of(text)
    if instant is None:
        return "CAST(NULL AS TIMESTAMP WITH TIME ZONE)"
    return f"make_timestamptz({(instant - EPOCH) // MICROSECOND})"


# Parts of times.

_FIELDS = {
    "YEAR": "year",
    "YEAROFWEEK": "isoyear",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "day",
    "DAYOFWEEK": "dayofweek",
    "DAYOFWEEK_ISO": "isodow",
    "DOY": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
}
FIELD_OF = {
    "day": "DAY",
    "dayofmonth": "DAY",
    "dayofweek": "DAYOFWEEK",
    "dayofyear": "DOY",
    "hour": "HOUR",
    "minute": "MINUTE",
    "month": "MONTH",
    "quarter": "QUARTER",
    "second": "SECOND",
    "year": "YEAR",
}
"""Functions that are parts of times."""


def part_of(field: str, moment: DuckText, scope: NameScope) -> str:
    """A part of a date or of what a clock shows, as an INTEGER."""
    shown = clock_of(moment.text, scope) if moment.type == TIMESTAMP else moment.text
    number = f"{_FIELDS[field]}({shown})"
    return f"CAST({number}{' + 1' if field == 'DAYOFWEEK' else ''} AS INTEGER)"


def seconds_of(moment: DuckText, scope: NameScope) -> str:
    """EXTRACT(SECOND FROM a timestamp): with its fraction."""
    shown = clock_of(moment.text, scope) if moment.type == TIMESTAMP else moment.text
    return f"CAST(CAST(microsecond({shown}) AS DECIMAL(18, 0)) * 0.000001 AS DECIMAL(8, 6))"


_UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MON", "MM"), "month"),
    "WEEK": "week",
    **dict.fromkeys(("DAY", "DD"), "day"),
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
    "MILLISECOND": "milliseconds",
    "MICROSECOND": "microseconds",
}
_LONG = ("year", "quarter", "month", "week")
LONG_UNITS = {name: unit for name, unit in _UNITS.items() if unit in _LONG}
"""Those that have days."""


def truncated(unit: DuckText, moment: DuckText, scope: NameScope) -> str | None:
    """date_trunc, if the unit is written down."""
    if not isinstance(unit.value, str) or not moment.is_short:
        return None
    name = _UNITS.get(unit.value.upper())
    if name is None:
        return "CAST(NULL AS TIMESTAMP WITH TIME ZONE)"
    slow = evaluated("date_trunc", [unit, moment], TIMESTAMP, scope).text
    clock = f"date_trunc({text_literal(name)}, {clock_of(moment.text, scope)})"
    if name in _LONG:
        return instant_of(clock, slow, scope)
    return moved(moment.text, clock, slow, scope)


def floored(number: str, by: int) -> str:
    """Division that rounds down, below zero too."""
    return f"(({number} - (({number} % {by} + {by}) % {by})) // {by})"


# Arithmetic.


def between(left: DuckText, right: DuckText) -> str:
    """The time from one date, or clock, to another, in microseconds."""
    if left.type == DATE:
        return f"(({left.text} - {right.text}) * {DAY})"
    return f"(epoch_us({left.text}) - epoch_us({right.text}))"


def later(op: str, moment: DuckText, span: DuckText, scope: NameScope) -> str | None:
    """A while after (`+`) or before (`-`) a date or a timestamp; NULL where there is no such time."""
    add = _addition(op, moment, span, scope)
    return (
        None
        if add is None or not (moment.is_short and span.is_short)
        else safely(add, moment, span, scope=scope)
    )


Addition = Callable[[DuckText, DuckText], str]


def _addition(op: str, moment: DuckText, span: DuckText, scope: NameScope) -> Addition | None:
    if moment.type == DATE and span.type in (TINYINT, SMALLINT, INT):
        return lambda date, days: f"{date.text} {op} CAST({days.text} AS INTEGER)"
    if moment.type == DATE and span.type == DAY_INTERVAL:
        return lambda date, days: f"{date.text} {op} CAST({days.text} // {DAY} AS INTEGER)"
    if span.type == YEAR_INTERVAL:
        return lambda time, months: _months_later(op, time, months, scope)
    if span.type != DAY_INTERVAL:
        return None
    if moment.type == TIMESTAMP_NTZ:
        return lambda time, micros: f"make_timestamp(epoch_us({time.text}) {op} {micros.text})"
    if isinstance(span.value, datetime.timedelta) and abs(span.value) < datetime.timedelta(days=1):
        return lambda time, micros: f"make_timestamptz(epoch_us({time.text}) {op} {micros.text})"
    return lambda time, micros: _days_later(op, time, micros, scope)


def _months_later(op: str, moment: DuckText, months: DuckText, scope: NameScope) -> str:
    added = f"to_months(CAST({'' if op == '+' else '-'}({months.text}) AS INTEGER))"
    if moment.type == TIMESTAMP:
        clock = f"({clock_of(moment.text, scope)} + {added})"
        return moved(moment.text, clock, _slow(op, moment, months, scope), scope)
    return f"CAST({moment.text} + {added} AS {'DATE' if moment.type == DATE else 'TIMESTAMP'})"


def _days_later(op: str, moment: DuckText, span: DuckText, scope: NameScope) -> str:
    """Whole days after an instant are days of the clock; the rest of an interval is time that passes."""
    whole = f"({span.text} // {DAY} * {DAY})"
    clock = f"make_timestamp(epoch_us({clock_of(moment.text, scope)}) {op} {whole})"
    days = moved(moment.text, clock, _slow(op, moment, DuckText(whole, DAY_INTERVAL), scope), scope)
    return f"make_timestamptz(epoch_us({days}) {op} ({span.text} % {DAY}))"


def _slow(op: str, moment: DuckText, span: DuckText, scope: NameScope) -> str:
    return evaluated(op, [moment, span], moment.type, scope).text


def of_seconds(number: DuckText, scope: NameScope) -> str | None:
    """The instant that many seconds after 1970."""
    match number.type:
        case Decimal(precision, scale):
            if scale > 6 or precision > 18:
                return None
            micros = f"CAST({number.text} AS DECIMAL(38, 6)) * CAST({SECOND} AS DECIMAL(7, 0))"
            counted = DuckText(f"CAST({micros} AS BIGINT)", BIGINT)
            return safely(lambda one: f"make_timestamptz({one.text})", counted, scope=scope)
        case kind if kind in (TINYINT, SMALLINT, INT, BIGINT):
            made = "make_timestamptz(CAST({} AS BIGINT) * {})"
            return safely(lambda one: made.format(one.text, SECOND), number, scope=scope)
    return None
