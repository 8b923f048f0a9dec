"""Values of Spark's types: what fits a type, which comes first, and decimal arithmetic."""

from __future__ import annotations

import calendar
import datetime
import decimal
import math
import re
import struct
from collections.abc import Callable
from fractions import Fraction

from neelc.ir.names import bare
from neelc.ir.types import FLOAT, Array, DataType, Map, SimpleType, Struct
from neelc.ir.types import Decimal as DecimalType
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
    zoned,
)

# A failure while a value is computed (overflow, division by zero, a malformed text, an index out of range)
# gives NULL: how many bindings a condition is judged on depends on the plan, so an error would make
# the result depend on it.
FAILURES = (ArithmeticError, ValueError, LookupError)

BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
DAY_INTERVAL_LIMIT = datetime.timedelta(microseconds=2**63 - 1)

# Wide enough for every sum, product and quotient of two DECIMALs: only `quantized` rounds.
EXACT = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))


def fit(value: object, type: DataType) -> object:
    """The value as one of `type`: rounded to what the type can tell apart, NULL if it is out of range.

    >>> from neelc.ir.types import FLOAT, INT
    >>> fit(2**31, INT), fit(0.1, FLOAT), fit(decimal.Decimal("2.55"), DecimalType(3, 1))
    (None, 0.10000000149011612, Decimal('2.6'))
    """
    match type, value:
        case SimpleType(name), int() if name in BITS and not isinstance(value, bool):
            limit = 1 << (BITS[name] - 1)
            return value if -limit <= value < limit else None
        case SimpleType("FLOAT"), float():
            return single(value)
        case DecimalType(precision, scale), decimal.Decimal():
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


def order(left: object, right: object) -> int:
    """-1, 0 or 1: Spark's order. NaN equals itself and is greater than every number; 0.0 equals -0.0.

    Inside arrays and structs NULL equals itself and comes first.

    >>> nan = float("nan")
    >>> order(nan, nan), order(nan, float("inf")), order([1], [1, None]), order([None], [1])
    (0, 1, -1, -1)
    """
    if left is None or right is None:
        return (left is not None) - (right is not None)
    match left, right:
        case ((list() | tuple()), (list() | tuple())):
            return _order_of_lists(left, right)
        case dict(), dict():
            return _order_of_lists(list(left.values()), list(right.values()))
        case float(), float() if math.isnan(left) or math.isnan(right):
            return math.isnan(left) - math.isnan(right)
    return bool(left > right) - bool(left < right)  # type: ignore[operator]


def _order_of_lists(left: list[object] | tuple[object, ...], right: list[object] | tuple[object, ...]) -> int:
    for one, other in zip(left, right, strict=False):
        difference = order(one, other)
        if difference:
            return difference
    return (len(left) > len(right)) - (len(left) < len(right))


def half_up(numerator: int, denominator: int) -> int:
    """The nearest integer to a fraction, halves away from zero.

    >>> half_up(5, 2), half_up(-5, 2), half_up(-4, -3)
    (3, -3, 1)
    """
    quotient, rest = divmod(abs(numerator), abs(denominator))
    rounded = quotient + (2 * rest >= abs(denominator))
    return rounded if (numerator < 0) == (denominator < 0) else -rounded


# Values as the strings that Spark casts them to.


def text_of(value: object, type: DataType) -> str:
    """The string that CAST(value AS STRING) gives.

    >>> from neelc.ir.types import DOUBLE, INT
    >>> text_of(1e10, DOUBLE), text_of(0.1, DOUBLE), text_of([1, None], Array(INT))
    ('1.0E10', '0.1', '[1, null]')
    """
    if value is None:
        return "null"
    match type, value:
        case Array(element), list() | tuple():
            return "[" + ", ".join(text_of(item, element) for item in value) + "]"
        case Struct(fields), dict():
            pairs = zip(value.values(), fields, strict=False)
            return "{" + ", ".join(text_of(item, field.type) for item, field in pairs) + "}"
        case Map(of, to), dict():
            return "{" + ", ".join(f"{text_of(k, of)} -> {text_of(v, to)}" for k, v in value.items()) + "}"
    return _scalar_text(value, type == FLOAT)


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
    >>> float_text(0.10000000149011612, is_single=True)
    '0.1'
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = (
        decimal.Decimal(_shortest(value) if is_single else repr(value)).normalize().as_tuple()
    )
    assert isinstance(exponent, int)
    figures, point = "".join(map(str, digits)), len(digits) + exponent
    if not 1e-3 <= abs(value) < 1e7:
        text = f"{figures[0]}.{figures[1:] or '0'}E{point - 1}"
    elif point <= 0:
        text = "0." + "0" * -point + figures
    else:
        text = figures[:point].ljust(point, "0") + "." + (figures[point:] or "0")
    return "-" * sign + text


def _shortest(value: float) -> str:
    """The fewest digits that only this FLOAT is nearest to."""
    return next(text for digits in range(1, 10) if single(float(text := f"{value:.{digits}g}")) == value)


# Arithmetic on values, after all implicit casts. A failure is an exception; who calls makes it NULL.

MICROSECOND = datetime.timedelta(microseconds=1)


def binary(op: str, left: object, right: object) -> object:
    """`left op right` for two values of which none is NULL; not yet fitted to the result's type.

    >>> binary("DIV", -7, 2), binary("%", -7, 3), binary("/", 1.0, 4.0)
    (-3, -1, 0.25)
    """
    match left, right:
        case bool(), _:
            raise ValueError(f"{op} on BOOLEAN")
        case int(), int():
            return _integers(op, left, right)
        case float(), float():
            return _floats(op, left, right)
        case decimal.Decimal(), decimal.Decimal():
            return _decimals(op, left, right)
        case (str(), str()) | (bytes(), bytes()):
            return left + right  # type: ignore[operator]
        case ((list() | tuple()), (list() | tuple())):
            return [*left, *right]
        case ((int() | float() | decimal.Decimal()), (datetime.timedelta() | Months())):
            return scaled(right, op, left)
        case ((datetime.timedelta() | Months()), (int() | float() | decimal.Decimal())):
            return scaled(left, op, right)
    return _times(op, left, right)


def _integers(op: str, left: int, right: int) -> int:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "DIV":
            return quotient(left, right)
        case "%":
            return left - right * quotient(left, right)
    raise ValueError(op)


def quotient(left: int, right: int) -> int:
    """Division that cuts towards zero."""
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _floats(op: str, left: float, right: float) -> float:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "%":
            return remainder(left, right)
    raise ValueError(op)


def remainder(left: float, right: float) -> float:
    """Java's `%`: the sign is the dividend's; NaN where there is none."""
    if right == 0:
        raise ZeroDivisionError
    return math.nan if math.isinf(left) or math.isnan(left) or math.isnan(right) else math.fmod(left, right)


def _decimals(op: str, left: decimal.Decimal, right: decimal.Decimal) -> object:
    match op:
        case "+":
            return EXACT.add(left, right)
        case "-":
            return EXACT.subtract(left, right)
        case "*":
            return EXACT.multiply(left, right)
        case "/":
            # Spark keeps 39 digits after the point before it rounds to the result's scale.
            return EXACT.divide(left, right).quantize(decimal.Decimal("1e-39"), decimal.ROUND_HALF_UP, EXACT)
        case "%":
            return EXACT.remainder(left, right)
        case "DIV":
            return int(EXACT.divide_int(left, right))
    raise ValueError(op)


def scaled(span: datetime.timedelta | Months, op: str, factor: float | decimal.Decimal) -> object:
    """An interval times or divided by a number, rounded to its own unit, halves away from zero.

    >>> scaled(Months(12), "/", 7), scaled(datetime.timedelta(seconds=1), "*", decimal.Decimal("0.5"))
    (Months(count=2), datetime.timedelta(microseconds=500000))
    """
    units = span.count if isinstance(span, Months) else span // MICROSECOND
    if isinstance(factor, float):
        exact = Fraction(units * factor if op == "*" else units / factor)  # as Java: in a double
    else:
        exact = Fraction(units) * Fraction(factor) if op == "*" else Fraction(units) / Fraction(factor)
    rounded = half_up(exact.numerator, exact.denominator)
    return Months(rounded) if isinstance(span, Months) else day_interval(rounded)


def _times(op: str, left: object, right: object) -> object:
    match op, left, right:
        case "DIV", datetime.timedelta(), datetime.timedelta():
            return quotient(left // MICROSECOND, right // MICROSECOND)
        case "DIV", Months(one), Months(other):
            return quotient(one, other)
        case "+", Months(one), Months(other):
            return Months(one + other)
        case "-", Months(one), Months(other):
            return Months(one - other)
        case "+", (datetime.timedelta() | Months() | int()), datetime.date():
            return later(right, left)
        case "+", (datetime.date() | datetime.timedelta()), (datetime.timedelta() | Months() | int()):
            return later(left, right)
        case "-", (datetime.date() | datetime.timedelta()), (datetime.timedelta() | Months() | int()):
            return later(left, negative(right))
        case "-", datetime.date(), datetime.date():
            return _clock(left) - _clock(right)
    raise ValueError(op)


def _clock(moment: datetime.date) -> datetime.date:
    """What is subtracted from each other: of instants, as in Spark, what the session's clock shows."""
    return clock(moment) if isinstance(moment, datetime.datetime) and moment.tzinfo else moment


def later(moment: datetime.date | datetime.timedelta, span: object) -> object:
    """What comes `span` after a date, a timestamp or an interval; an integer counts days.

    The last day of a month stands for days it does not have. Months and whole days after an instant are those
    of the session's clock, which shows the same time then; the rest of an interval is time that passes.

    >>> later(datetime.date(2020, 1, 31), Months(1))
    datetime.date(2020, 2, 29)
    """
    if isinstance(moment, datetime.datetime) and moment.tzinfo:
        return _later_instant(moment, span)
    match span:
        case Months(count) if isinstance(moment, datetime.date):
            months = moment.year * 12 + moment.month - 1 + count
            year, month = months // 12, months % 12 + 1
            day = min(moment.day, calendar.monthrange(year, month)[1])
            return moment.replace(year=year, month=month, day=day)
        case int():
            return moment + datetime.timedelta(days=span)
        case datetime.timedelta():
            return moment + span
    raise ValueError("no such sum")


def _later_instant(moment: datetime.datetime, span: object) -> datetime.datetime:
    whole, rest = span, datetime.timedelta(0)
    if isinstance(span, datetime.timedelta):
        whole = quotient(span // MICROSECOND, 86_400_000_000)
        rest = span - datetime.timedelta(days=whole)
    # No whole days: an instant in the hour that the clock shows twice stays what it is.
    shown = later(clock(moment), whole) if whole != 0 else None
    assert shown is None or isinstance(shown, datetime.datetime)
    return (moment if shown is None else instant(shown, zoned(moment).utcoffset())) + rest


def negative(value: object) -> object:
    """
    >>> negative(5), negative(Months(3))
    (-5, Months(count=-3))
    """
    match value:
        case Months(count):
            return Months(-count)
        case decimal.Decimal():
            return value.copy_negate() if value else value
        case int() | float() | datetime.timedelta():
            return -value
    raise ValueError("no negative")


# CAST: a value of one type as a value of another, NULL where it cannot be.

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
        case SimpleType("STRING"):
            return text_of(value, source)
        case DecimalType():
            return to_decimal(value)
        case SimpleType(name) if name in BITS:
            return to_integer(value)
        case SimpleType(name) if name in _CONVERTERS:
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
