"""Functions of dates and timestamps, in UTC."""

from __future__ import annotations

from collections.abc import Callable

from neelc.emit import moments
from neelc.emit.literals import constant
from neelc.emit.syntax import Sql, binary, call, cast, raw, rlike, string, try_cast, when
from neelc.emit.written import Written
from neelc.ir.types import BIGINT, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType, Decimal

Arguments = tuple[Written, ...]

_UNITS = {
    "YEAR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "MON": "MONTH",
    "MM": "MONTH", "WEEK": "WEEK", "DAY": "DAY", "DD": "DAY", "HOUR": "HOUR", "MINUTE": "MINUTE",
    "SECOND": "SECOND", "MILLISECOND": "MILLISECOND", "MICROSECOND": "MICROSECOND",
}  # fmt: skip
_MICROSECONDS = {
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}


def _same(_: str, arguments: Arguments, __: DataType) -> Sql:
    """to_date and to_timestamp: the binder's cast of the argument has done it."""
    return arguments[0].sql


def _of_clock(name: str, arguments: Arguments, _: DataType) -> Sql:
    (moment,) = arguments
    return call(name, moments.clock(moment.sql) if moment.type == TIMESTAMP else moment.sql)


def _of_instant(name: str, arguments: Arguments, _: DataType) -> Sql:
    (moment,) = arguments
    return call(name, moments.instant(moment.sql) if moment.type == TIMESTAMP_NTZ else moment.sql)


def _unix_timestamp(name: str, arguments: Arguments, _: DataType) -> Sql:
    (moment,) = arguments
    if moment.type == STRING:
        seconds = rlike(moment.sql, r"\A[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?!(?s:.))")
        return when((seconds, call(name, try_cast(moment.sql, "TIMESTAMP_NTZ"))))
    return call(name, moments.midnight(moment.sql) if moment.type == DATE else moment.sql)


def _timestamp_millis(name: str, arguments: Arguments, _: DataType) -> Sql:
    (count,) = arguments
    if count.type != BIGINT:
        return call(name, count.sql)
    return call("timestamp_micros", call("try_multiply", count.sql, raw("1000L")))


def _timestamp_seconds(name: str, arguments: Arguments, _: DataType) -> Sql:
    (count,) = arguments
    if count.type == BIGINT:
        return call("timestamp_micros", call("try_multiply", count.sql, raw("1000000L")))
    if not isinstance(count.type, Decimal):
        return call(name, count.sql)
    micros = call("timestamp_micros", try_cast(call("try_multiply", count.sql, raw("1000000")), "BIGINT"))
    if count.type.scale <= 6:
        return micros
    return when((binary("=", count.sql, call("round", count.sql, raw("6"))), micros))


def _date_trunc(name: str, arguments: Arguments, type: DataType) -> Sql:
    unit, moment = arguments
    if not isinstance(unit.value, str):
        branches = ((string(word), _truncated(known, moment.sql)) for word, known in _UNITS.items())
        return when(*branches, subject=call("upper", unit.sql))
    known = _UNITS.get(unit.value.upper())
    return constant(None, type) if known is None else _truncated(known, moment.sql)


def _truncated(unit: str, moment: Sql) -> Sql:
    if unit not in _MICROSECONDS:
        return moments.midnight(call("trunc", cast(moments.clock(moment), "DATE"), string(unit)))
    micros = moments.microseconds(moment)
    if _MICROSECONDS[unit] == 1:
        return moment
    passed = call("pmod", micros, raw(f"{_MICROSECONDS[unit]}L"))
    return call("timestamp_micros", binary("-", micros, passed))


TIMES: dict[str, Callable[[str, Arguments, DataType], Sql]] = {
    "date_trunc": _date_trunc,
    "hour": _of_clock,
    "minute": _of_clock,
    "second": _of_clock,
    "timestamp_millis": _timestamp_millis,
    "timestamp_seconds": _timestamp_seconds,
    "to_date": _same,
    "to_timestamp": _same,
    "unix_micros": _of_instant,
    "unix_millis": _of_instant,
    "unix_seconds": _of_instant,
    "unix_timestamp": _unix_timestamp,
}
