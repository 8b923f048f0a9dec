"""CAST: a value of one type as a value of another, NULL where it cannot be."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable

from neelc.ir.intervals import day_interval, interval_of
from neelc.ir.moments import (
    BLANKS,
    UTC,
    Months,
    clock,
    date_of,
    instant,
    midnight,
    timestamp_ntz_of,
    timestamp_of,
)
from neelc.ir.names import bare
from neelc.ir.types import Array, DataType, Map, Simple, Struct
from neelc.ir.types import Decimal as DecimalType
from neelc.runtime.reference.arithmetic import MICROSECOND, quotient
from neelc.runtime.reference.printing import text_of
from neelc.runtime.reference.values import BITS, FAILURES, fit

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}\Z")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?\Z")
_INFINITY = re.compile(r"([+-]?)(?:inf|infinity)\Z", re.IGNORECASE)
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def cast(value: object, source: DataType, target: DataType) -> object:
    """The value as one of type `target`.

    >>> from neelc.ir.types import BOOLEAN, DOUBLE, INT, STRING
    >>> cast(" 12 ", STRING, INT), cast("1.5", STRING, INT), cast(1.9, DOUBLE, INT), cast(2, INT, BOOLEAN)
    (12, None, 1, True)
    >>> cast(["1", "x"], Array(STRING), Array(INT))
    [1, None]
    """
    if value is None or source == target:
        return value
    match source, target, value:
        case Array(one), Array(other), list() | tuple():
            return [cast(item, one, other) for item in value]
        case Map(key, item), Map(other_key, other_item), dict():
            return {cast(k, key, other_key): cast(v, item, other_item) for k, v in value.items()}
        case Struct(fields), Struct(others), dict():
            items = zip(value.values(), fields, others, strict=True)
            return {bare(other.name): cast(item, field.type, other.type) for item, field, other in items}
    try:
        return fit(_converted(value, source, target), target)
    except FAILURES:
        return None


def _converted(value: object, source: DataType, target: DataType) -> object:
    match target:
        case Simple("STRING"):
            return text_of(value, source)
        case DecimalType():
            return to_decimal(value)
        case Simple(name) if name in BITS:
            return to_integer(value)
        case Simple(name) if name in _CONVERTERS:
            return _CONVERTERS[name](value)
    raise ValueError(f"no cast to {target}")


def to_integer(value: object) -> int:
    """Cut towards zero; a timestamp counts seconds, downwards."""
    match value:
        case str():
            text = value.strip(BLANKS)
            if _INTEGER.match(text) is None:
                raise ValueError(value)
            return int(text)
        case float() if value == 2.0**63:
            return 2**63 - 1  # no DOUBLE is nearer to the largest BIGINT, and Java makes the one of the other
        case bool() | int() | float() | decimal.Decimal():
            return int(value)
        case datetime.datetime():
            return (value - EPOCH) // datetime.timedelta(seconds=1)
        case Months(count):
            return count
        case datetime.timedelta():
            return quotient(value // MICROSECOND, 1_000_000)
    raise ValueError(value)


def to_decimal(value: object) -> decimal.Decimal:
    match value:
        case str():
            return decimal.Decimal(_number_text(value))
        case float():
            if not math.isfinite(value):
                raise ValueError(value)
            return decimal.Decimal(repr(value))
        case decimal.Decimal():
            return value
        case datetime.datetime():
            return decimal.Decimal((value - EPOCH) // MICROSECOND).scaleb(-6)
        case datetime.timedelta():
            return decimal.Decimal(value // MICROSECOND).scaleb(-6)
    return decimal.Decimal(to_integer(value))


def _number_text(text: str) -> str:
    text = text.strip(BLANKS)
    if _NUMBER.match(text) is None:
        raise ValueError(text)
    return text


def to_float(value: object) -> float:
    match value:
        case str():
            return _float_of_text(value.strip(BLANKS))
        case datetime.datetime():
            return ((value - EPOCH) // MICROSECOND) / 1_000_000
        case bool() | int() | float() | decimal.Decimal():
            return float(value)
    raise ValueError(value)


def _float_of_text(text: str) -> float:
    infinity = _INFINITY.match(text)
    if infinity is not None:
        return -math.inf if infinity[1] == "-" else math.inf
    if text.lower() == "nan":
        return math.nan
    # Java reads 1d and 1f as numbers.
    return float(_number_text(text[:-1] if text[-1:] in ("d", "D", "f", "F") else text))


def to_boolean(value: object) -> bool:
    match value:
        case str():
            word = value.strip(BLANKS).lower()
            if word in _TRUE or word in _FALSE:
                return word in _TRUE
        case int() | float() | decimal.Decimal():
            return value != 0
    raise ValueError(value)


def to_timestamp(value: object) -> datetime.datetime | None:
    """Numbers count seconds since 1970; a time without a zone is one of the session's clock."""
    match value:
        case str():
            return timestamp_of(value)
        case datetime.datetime():
            return value if value.tzinfo else instant(value)
        case datetime.date():
            return midnight(value)
        case bool():
            raise ValueError(value)
        case int() | float() | decimal.Decimal():
            return EPOCH + int(value * 1_000_000) * MICROSECOND
    raise ValueError(value)


def _to_timestamp_ntz(value: object) -> datetime.datetime | None:
    match value:
        case str():
            return timestamp_ntz_of(value)
        case datetime.datetime():
            return clock(value) if value.tzinfo else value
        case datetime.date():
            return datetime.datetime(value.year, value.month, value.day)
    moment = to_timestamp(value)
    return None if moment is None else clock(moment)


def to_date(value: object) -> datetime.date | None:
    match value:
        case str():
            return date_of(value)
        case datetime.datetime():
            return (clock(value) if value.tzinfo else value).date()
        case datetime.date():
            return value
    raise ValueError(value)


def _to_binary(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    raise ValueError(value)


def _to_day_interval(value: object) -> object:
    match value:
        case str():
            return interval_of(value, months=False)
        case int() | decimal.Decimal():
            return day_interval(_nearest(value * 1_000_000))
    raise ValueError(value)


def _to_year_interval(value: object) -> object:
    match value:
        case str():
            return interval_of(value, months=True)
        case int() | decimal.Decimal():
            return Months(_nearest(value))
    raise ValueError(value)


def _nearest(value: int | decimal.Decimal) -> int:
    return int(decimal.Decimal(value).to_integral_value(decimal.ROUND_HALF_UP))


_CONVERTERS: dict[str, Callable[[object], object]] = {
    "BOOLEAN": to_boolean,
    "FLOAT": to_float,
    "DOUBLE": to_float,
    "BINARY": _to_binary,
    "DATE": to_date,
    "TIMESTAMP": to_timestamp,
    "TIMESTAMP_NTZ": _to_timestamp_ntz,
    "INTERVAL DAY TO SECOND": _to_day_interval,
    "INTERVAL YEAR TO MONTH": _to_year_interval,
}
