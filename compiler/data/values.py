"""From what a file holds to a value of a Spark type.

Integers, DOUBLE and so on are Python's; TIMESTAMP is an aware datetime in UTC, TIMESTAMP_NTZ a naive one; a
struct is a dict. A text without a time zone is read in that of the session, and so is a date or a time
without one in a column that holds a TIMESTAMP.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import re
import struct
from collections.abc import Callable, Mapping

from neelc.ir.datetime_patterns import timestamp_by
from neelc.ir.intervals import interval_of
from neelc.ir.moments import UTC, date_of, instant, midnight, timestamp_ntz_of, timestamp_of
from neelc.ir.names import bare
from neelc.ir.types import Array, DataType, Decimal, Formatted, Map, Simple, Struct


class Misfit(ValueError):
    """A value that its column's type cannot hold."""


INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
INTEGER = re.compile(r"[+-]?[0-9]{1,40}\Z")  # int() refuses texts of thousands of digits
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
WORDS_OF_DOUBLE = {
    "nan": float("nan"),
    "inf": float("inf"),
    "infinity": float("inf"),
    "+inf": float("inf"),
    "+infinity": float("inf"),
    "-inf": float("-inf"),
    "-infinity": float("-inf"),
}


def from_text(text: str, type: DataType) -> object:
    """The value of a plain text.

    >>> from neelc.ir.types import BIGINT, DATE, DOUBLE, TIMESTAMP
    >>> from_text("42", BIGINT), from_text("42", DOUBLE), from_text("2024-05-01", DATE)
    (42, 42.0, datetime.date(2024, 5, 1))
    >>> print(from_text("2024-05-01T10:00:00+02:00", TIMESTAMP))
    2024-05-01 08:00:00+00:00
    >>> from_text("4.2", BIGINT)
    Traceback (most recent call last):
    neelc.data.values.Misfit
    """
    match type:
        case Decimal(precision, scale):
            return _decimal(text.strip(), precision, scale)
        case Simple("STRING"):
            return text
        case Formatted(pattern):
            return _found(timestamp_by(pattern, text))
        case Simple("BINARY"):
            return text.encode()
        case Simple(name) if name in INTEGER_BITS and INTEGER.match(text.strip()):
            return _in_range(int(text), name)
        case Simple(name) if name in _SCALARS:
            return _SCALARS[name](text.strip())
        case Array() | Map() | Struct():
            try:
                return from_value(json.loads(text, parse_float=decimal.Decimal), type)
            except (json.JSONDecodeError, RecursionError):
                raise Misfit from None
    raise Misfit


def from_value(value: object, type: DataType) -> object:
    """The value of what a JSON or Parquet reader gives.

    >>> from neelc.ir.types import BIGINT, DOUBLE, STRING, Array, Struct, StructField
    >>> from_value({"x": 1, "Y": [2]}, Struct((StructField("x", STRING), StructField("y", Array(DOUBLE)))))
    {'x': '1', 'y': [2.0]}
    """
    if value is None:
        return None
    match type, value:
        case Array(element), list() | tuple():
            return [from_value(item, element) for item in value]
        case Map(of, to), dict():
            return {from_value(k, of): from_value(v, to) for k, v in value.items()}
        case Map(of, to), list() | tuple():  # Parquet's readers give pairs
            return {from_value(k, of): from_value(v, to) for k, v in value}
        case Struct(fields), dict():
            given = {key.casefold(): item for key, item in value.items()}
            return {bare(f.name): from_value(given.get(bare(f.name).casefold()), f.type) for f in fields}
        case ((Array() | Map() | Struct()), _):
            raise Misfit
        case Simple("BINARY"), str():
            try:
                return base64.b64decode(value, validate=True)
            except ValueError:
                raise Misfit from None
        case _, str():
            return from_text(value, type)
    return _from_scalar(value, type)


def _from_scalar(value: object, type: DataType) -> object:
    match type, value:
        case Simple("STRING"), _:
            return as_string(value)
        case Formatted(), int():
            return from_text(str(value), type)
        case Formatted(), datetime.datetime():
            return _zoned(value)
        case (Simple("BOOLEAN"), bool()) | (Simple("BINARY"), bytes()):
            return value
        case Simple("INTERVAL DAY TO SECOND"), datetime.timedelta():
            return value
        case Simple("TIMESTAMP"), datetime.datetime():
            return _zoned(value)
        case Simple("TIMESTAMP_NTZ"), datetime.datetime() if value.tzinfo is None:
            return value
        case Simple("TIMESTAMP"), datetime.date() if not isinstance(value, datetime.datetime):
            return midnight(value)
        case Simple("DATE"), datetime.date() if not isinstance(value, datetime.datetime):
            return value
        case _, bool():
            raise Misfit
        case ((Decimal() | Simple("FLOAT" | "DOUBLE")), int() | float() | decimal.Decimal()):
            return from_text(str(value), type)
        case Simple(name), int() if name in INTEGER_BITS:
            return _in_range(value, name)
    raise Misfit


def as_string(value: object) -> str:
    """Spark's text of a value that is read as a STRING."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict() | list() | tuple():
            return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _in_range(value: int, name: str) -> int:
    limit = 1 << (INTEGER_BITS[name] - 1)
    if not -limit <= value < limit:
        raise Misfit
    return value


def _decimal(text: str, precision: int, scale: int) -> decimal.Decimal:
    if not NUMBER.match(text):
        raise Misfit
    with decimal.localcontext() as context:
        context.prec = 80  # twice what DECIMAL(38, 38) can hold, so that only the quantize rounds
        try:
            value = decimal.Decimal(text).quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_HALF_UP)
        except decimal.InvalidOperation:
            raise Misfit from None
    if value.adjusted() >= precision - scale and value:
        raise Misfit
    return value


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise Misfit
    return text.lower() == "true"


def _double(text: str) -> float:
    if text.lower() in WORDS_OF_DOUBLE:
        return WORDS_OF_DOUBLE[text.lower()]
    if not NUMBER.match(text):
        raise Misfit
    return float(text)


def _float(text: str) -> float:
    value = _double(text)
    try:
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return float(single)


def _zoned(value: datetime.datetime) -> datetime.datetime:
    try:
        return instant(value) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:  # the first or last day that Python can count, in another zone
        raise Misfit from None


def _interval(text: str, months: bool) -> object:
    try:
        return interval_of(text, months)
    except ValueError:
        raise Misfit from None


def _found(value: object | None) -> object:
    if value is None:
        raise Misfit
    return value


_SCALARS: Mapping[str, Callable[[str], object]] = {
    "BOOLEAN": _boolean,
    "FLOAT": _float,
    "DOUBLE": _double,
    "DATE": lambda text: _found(date_of(text)),
    "TIMESTAMP": lambda text: _found(timestamp_of(text)),
    "TIMESTAMP_NTZ": lambda text: _found(timestamp_ntz_of(text)),
    "INTERVAL DAY TO SECOND": lambda text: _interval(text, False),
    "INTERVAL YEAR TO MONTH": lambda text: _interval(text, True),
}
