"""Values of Spark's types: what fits a type, which comes first, and decimal arithmetic."""

from __future__ import annotations

import datetime
import decimal
import math
import struct

from neelc.ir.moments import Months
from neelc.ir.types import DataType, Simple
from neelc.ir.types import Decimal as DecimalType

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
        case Simple(name), int() if name in BITS and not isinstance(value, bool):
            limit = 1 << (BITS[name] - 1)
            return value if -limit <= value < limit else None
        case Simple("FLOAT"), float():
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
