"""How many digits decimal arithmetic keeps: Spark's rules."""

from __future__ import annotations

from neelc.ir.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, DataType, Decimal

MAX_PRECISION = 38
# A result too long for 38 digits gives up digits after the point, but keeps this many if it had them.
MINIMUM_SCALE = 6

# The DECIMAL that holds every value of a type (or, for FLOAT and DOUBLE, that stands for it).
EXACT: dict[DataType, Decimal] = {
    TINYINT: Decimal(3, 0),
    SMALLINT: Decimal(5, 0),
    INT: Decimal(10, 0),
    BIGINT: Decimal(20, 0),
    FLOAT: Decimal(14, 7),
    DOUBLE: Decimal(30, 15),
}


def adjusted(precision: int, scale: int) -> Decimal:
    """A decimal type that gives up scale, not whole digits, to fit.

    >>> adjusted(50, 20)
    Decimal(precision=38, scale=8)
    """
    if precision <= MAX_PRECISION:
        return Decimal(precision, scale)
    whole = precision - scale
    return Decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, MINIMUM_SCALE)))


def bounded(precision: int, scale: int) -> Decimal:
    """A decimal type with both numbers cut to 38.

    >>> bounded(40, 10)
    Decimal(precision=38, scale=10)
    """
    return Decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def arithmetic(op: str, left: Decimal, right: Decimal) -> Decimal:
    """The type of `left op right`.

    >>> arithmetic("+", Decimal(10, 2), Decimal(10, 0)), arithmetic("/", Decimal(10, 2), Decimal(10, 0))
    (Decimal(precision=13, scale=2), Decimal(precision=21, scale=13))
    """
    scale = max(left.scale, right.scale)
    wholes = (left.precision - left.scale, right.precision - right.scale)
    match op:
        case "+" | "-":
            return adjusted(max(wholes) + scale + 1, scale)
        case "*":
            return adjusted(left.precision + right.precision + 1, left.scale + right.scale)
        case "/":
            scale = max(MINIMUM_SCALE, left.scale + right.precision + 1)
            return adjusted(wholes[0] + right.scale + scale, scale)
        case _:
            return adjusted(min(wholes) + scale, scale)


def wider(left: Decimal, right: Decimal) -> Decimal:
    """The type that holds values of both, if need be with fewer digits after the point.

    >>> wider(Decimal(10, 2), Decimal(5, 4)), wider(Decimal(38, 10), Decimal(38, 20))
    (Decimal(precision=12, scale=4), Decimal(precision=38, scale=10))
    """
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return Decimal(min(whole + scale, MAX_PRECISION), min(scale, MAX_PRECISION - whole))


def rounded(type: Decimal, scale: int) -> Decimal:
    """The type of a decimal rounded to `scale` digits after the point.

    >>> rounded(Decimal(10, 2), 1), rounded(Decimal(10, 2), -3)
    (Decimal(precision=10, scale=1), Decimal(precision=9, scale=0))
    """
    # One more whole digit: 9.9 becomes 10.
    whole = type.precision - type.scale + 1
    if scale < 0:
        return bounded(max(whole, 1 - scale), 0)
    kept = min(scale, type.scale)
    return bounded(whole + kept, kept)


def as_decimal(type: DataType) -> Decimal | None:
    """The decimal type that stands for a number type, None if it is none."""
    return type if isinstance(type, Decimal) else EXACT.get(type)
