"""Spark's types as programs name them: what fits a type, the text of a value, and casts.

A type without parameters is its name in small letters.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import struct
from collections.abc import Callable

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.scalars import EXACT, FAILURES, MICROSECOND, quotient
from neelc.runtime.values.times import (
    BLANKS,
    UTC,
    Months,
    clock,
    date_of,
    day_interval,
    day_interval_text,
    instant,
    interval_of,
    midnight,
    timestamp_ntz_of,
    timestamp_of,
    timestamp_text,
)


@dataclass(frozen=True)
class DecimalOf:
    """DECIMAL(precision, scale)."""

    precision: int
    scale: int


@dataclass(frozen=True)
class ArrayOf:
    """ARRAY<element>."""

    element: ValueType


@dataclass(frozen=True)
class MapOf:
    """MAP<key, value>."""

    key: ValueType
    value: ValueType


@dataclass(frozen=True)
class StructOf:
    """STRUCT<name: type, ...>: the name and the type of each field."""

    fields: tuple[tuple[str, ValueType], ...]


ValueType = str | DecimalOf | ArrayOf | MapOf | StructOf

BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
DAY_INTERVAL_LIMIT = datetime.timedelta(microseconds=2**63 - 1)


def fit(value: object, type: ValueType) -> object:
    """The value as one of `type`: rounded to the precision of the type, NULL if it is out of range.

    >>> fit(2**31, "int"), fit(0.1, "float"), fit(decimal.Decimal("2.55"), DecimalOf(3, 1))
    (None, 0.10000000149011612, Decimal('2.6'))
    """
    match type, value:
        case str(), int() if type in BITS and not isinstance(value, bool):
            limit = 1 << (BITS[type] - 1)
            return value if -limit <= value < limit else None
        case "float", float():
            return single(value)
        case DecimalOf(precision, scale), decimal.Decimal():
            return quantized(value, precision, scale)
        case _, datetime.timedelta():
            return value if -DAY_INTERVAL_LIMIT <= value <= DAY_INTERVAL_LIMIT else None
        case _, Months(count):
            return value if -(2**31) <= count < 2**31 else None
    return value


def single(value: float) -> float:
    """The nearest FLOAT."""
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(rounded)


def quantized(value: decimal.Decimal, precision: int, scale: int) -> decimal.Decimal | None:
    """The value with `scale` digits after the point, None if that makes more than `precision` digits.

    >>> quantized(decimal.Decimal("999.96"), 4, 1) is None
    True
    """
    if value.is_zero():
        return decimal.Decimal(0).scaleb(-scale)
    if value.adjusted() > precision - scale:  # far too large; a huge exponent would take forever below
        return None
    rounded = value.quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_HALF_UP, EXACT)
    if rounded.is_zero():
        return decimal.Decimal(0).scaleb(-scale)
    return rounded if rounded.adjusted() < precision - scale else None


# Values as the strings that Spark casts them to.


def text_of(value: object, type: ValueType) -> str:
    """The string that CAST(value AS STRING) gives.

    >>> text_of(1e10, "double"), text_of(0.1, "double"), text_of([1, None], ArrayOf("int"))
    ('1.0E10', '0.1', '[1, null]')
    """
    if value is None:
        return "null"
    match type, value:
        case ArrayOf(element), list() | tuple():
            return "[" + ", ".join(text_of(item, element) for item in value) + "]"
        case StructOf(fields), dict():
            pairs = zip(value.values(), fields, strict=False)
            return "{" + ", ".join(text_of(item, kind) for item, (_, kind) in pairs) + "}"
        case MapOf(of, to), dict():
            return "{" + ", ".join(f"{text_of(k, of)} -> {text_of(v, to)}" for k, v in value.items()) + "}"
    return _scalar_text(value, type == "float")


def _scalar_text(value: object, is_single: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value, is_single)
        case decimal.Decimal():
            return format(value, "f")
        case bytes():
            return value.decode("utf-8", "replace")
        case datetime.datetime():
            return timestamp_text(value)
        case datetime.timedelta():
            return day_interval_text(value)
    return str(value)  # strings, integers, dates; Months says itself how it is written


def float_text(value: float, is_single: bool = False) -> str:
    """Java's text of a DOUBLE, or of a FLOAT: plain from 0.001 to 10 million, else with an exponent.

    >>> float_text(123456789.0), float_text(0.001), float_text(1e-4), float_text(float("inf"))
    ('1.23456789E8', '0.001', '1.0E-4', 'Infinity')
    >>> float_text(0.10000000149011612, is_single=True), float_text(5e-324)
    ('0.1', '4.9E-324')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = decimal.Decimal(_digits(value, is_single)).normalize().as_tuple()
    assert isinstance(exponent, int)
    figures, point = "".join(map(str, digits)), len(digits) + exponent
    if not 1e-3 <= abs(value) < 1e7:
        text = f"{figures[0]}.{figures[1:] or '0'}E{point - 1}"
    elif point <= 0:
        text = "0." + "0" * -point + figures
    else:
        text = figures[:point].ljust(point, "0") + "." + (figures[point:] or "0")
    return "-" * sign + text


def _digits(value: float, is_single: bool) -> str:
    """The fewest digits that only this value is nearest to; of two, which Java always writes, the nearest.

    >>> _digits(5e-324, False), _digits(0.5, False)
    ('4.9e-324', '5.0e-01')
    """

    def is_exact(text: str) -> bool:
        return (single(float(text)) if is_single else float(text)) == value

    two = f"{value:.1e}"
    if is_exact(two):
        return two
    return (
        next(filter(is_exact, (f"{value:.{digits}g}" for digits in range(3, 10))))
        if is_single
        else repr(value)
    )


# CAST: a value of one type as a value of another, NULL where it cannot be.

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}\Z")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?\Z")
_INFINITY = re.compile(r"([+-]?)(?:inf|infinity)\Z", re.IGNORECASE)
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def cast(value: object, source: ValueType, target: ValueType) -> object:
    """The value as one of type `target`.

    >>> cast(" 12 ", "string", "int"), cast("1.5", "string", "int"), cast(1.9, "double", "int")
    (12, None, 1)
    >>> cast(["1", "x"], ArrayOf("string"), ArrayOf("int"))
    [1, None]
    """
    if value is None or source == target:
        return value
    match source, target, value:
        case ArrayOf(one), ArrayOf(other), list() | tuple():
            return [cast(item, one, other) for item in value]
        case MapOf(key, item), MapOf(other_key, other_item), dict():
            return {cast(k, key, other_key): cast(v, item, other_item) for k, v in value.items()}
        case StructOf(fields), StructOf(others), dict():
            items = zip(value.values(), fields, others, strict=True)
            return {name: cast(item, one, other) for item, (_, one), (name, other) in items}
    try:
        return fit(_converted(value, source, target), target)
    except FAILURES:
        return None


def _converted(value: object, source: ValueType, target: ValueType) -> object:
    match target:
        case "string":
            return text_of(value, source)
        case DecimalOf():
            return to_decimal(value)
        case str() if target in BITS:
            return to_integer(value)
        case str() if target in _CONVERTERS:
            return _CONVERTERS[target](value)
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
            return float((value - EPOCH) // MICROSECOND) / 1_000_000  # two roundings, as in Java
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
    "boolean": to_boolean,
    "float": to_float,
    "double": to_float,
    "binary": _to_binary,
    "date": to_date,
    "timestamp": to_timestamp,
    "timestamp_ntz": _to_timestamp_ntz,
    "interval day to second": _to_day_interval,
    "interval year to month": _to_year_interval,
}
