"""Functions of dates and timestamps whose text is not a plain call."""

from __future__ import annotations

from collections.abc import Callable

from neelc.emit.literals import MICROSECOND, NTZ_EPOCH
from neelc.emit.syntax import Sql, binary, call, raw, rlike, try_cast, when
from neelc.emit.written import Written
from neelc.ir.types import BIGINT, STRING, TIMESTAMP_NTZ, DataType, Decimal

Arguments = tuple[Written, ...]


def _same(_: str, arguments: Arguments, __: DataType) -> Sql:
    """to_date and to_timestamp: the binder's cast of the argument has done it."""
    return arguments[0].sql


def _unix(name: str, arguments: Arguments, _: DataType) -> Sql:
    """unix_seconds and its kin: before 4.3, Spark does not count those of a TIMESTAMP_NTZ, as if in UTC."""
    (moment,) = arguments
    if moment.type != TIMESTAMP_NTZ:
        return call(name, moment.sql)
    since = binary("-", moment.sql, raw(NTZ_EPOCH))
    return call(name, call("timestamp_micros", binary("DIV", since, raw(MICROSECOND))))


def _unix_timestamp(name: str, arguments: Arguments, _: DataType) -> Sql:
    (moment,) = arguments
    if moment.type == STRING:
        seconds = rlike(moment.sql, r"\A[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?!(?s:.))")
        return when((seconds, call(name, try_cast(moment.sql, "TIMESTAMP"))))
    return call(name, moment.sql)


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


TIMES: dict[str, Callable[[str, Arguments, DataType], Sql]] = {
    "timestamp_millis": _timestamp_millis,
    "timestamp_seconds": _timestamp_seconds,
    "to_date": _same,
    "to_timestamp": _same,
    "unix_micros": _unix,
    "unix_millis": _unix,
    "unix_seconds": _unix,
    "unix_timestamp": _unix_timestamp,
}
