"""Functions of numbers, of values that are not NULL. A failure is an exception; who calls makes it NULL."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable

from neelc.ir.moments import Months
from neelc.runtime.reference.arithmetic import binary
from neelc.runtime.reference.casts import to_decimal
from neelc.runtime.reference.values import EXACT

Function = Callable[..., object]


def _absolute(value: object) -> object:
    match value:
        case Months(count):
            return Months(abs(count))
        case decimal.Decimal():
            return value.copy_abs()
    return abs(value)  # type: ignore[arg-type]


def _rounded(mode: str, value: object, places: int) -> decimal.Decimal:
    exact = to_decimal(value)
    if -places > exact.adjusted() + 2:  # so far left of its first digit that nothing remains
        exact, places = (exact if mode != decimal.ROUND_HALF_UP else decimal.Decimal(0)), max(places, -80)
    return exact.quantize(decimal.Decimal(1).scaleb(-places), mode, EXACT)


def round_half_up(value: object, places: int = 0) -> object:
    """
    >>> round_half_up(2.5), round_half_up(-25, -1), round_half_up(1.005, 2)
    (3.0, -30, 1.01)
    """
    match value:
        case float():
            if not math.isfinite(value) or places > 400:
                return value
            return float(_rounded(decimal.ROUND_HALF_UP, value, places))
        case int():
            return value if places >= 0 else int(_rounded(decimal.ROUND_HALF_UP, value, places))
        case decimal.Decimal():
            return value if -places <= -40 else _rounded(decimal.ROUND_HALF_UP, value, min(places, 38))
    raise ValueError(value)


def _towards(mode: str) -> Function:
    """ceil and floor: a decimal stays one, other numbers become BIGINT; with places, all become decimals."""

    def rounded(value: object, places: int | None = None) -> object:
        if places is not None:
            return _rounded(mode, value, min(places, 38))
        if isinstance(value, float) and math.isnan(value):
            return 0  # as Java makes an integer of NaN
        whole = _rounded(mode, value, 0)
        return whole if isinstance(value, decimal.Decimal) else int(whole)

    return rounded


def _real(function: Callable[..., float], overflow: float = math.inf) -> Function:
    """A function of Java's Math: where Python raises an exception, Java has NaN or an infinity."""

    def real(*values: float) -> float:
        if any(math.isnan(value) for value in values):
            return math.nan
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return overflow

    return real


def _logarithm(function: Callable[[float], float]) -> Function:
    """A logarithm: NULL for what has none."""

    def logarithm(value: float) -> float | None:
        return None if value <= 0 else function(value)

    return logarithm


def logarithm_to_base(base: float, value: float | None = None) -> float | None:
    if value is None:
        return None if base <= 0 else math.log(base)
    if base <= 0 or value <= 0:
        return None
    divisor, dividend = math.log(base), math.log(value)
    return (
        dividend / divisor if divisor else (math.nan if dividend == 0 else math.copysign(math.inf, dividend))
    )


def power(base: float, exponent: float) -> float:
    """Java's Math.pow.

    >>> power(2.0, 10.0), power(10.0, 400.0), power(-8.0, 0.5)
    (1024.0, inf, nan)
    """
    if exponent == 0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    odd = exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return math.nan if base else (-math.inf if math.copysign(1, base) < 0 and odd else math.inf)


def sign(value: object) -> float:
    match value:
        case Months(count):
            return float((count > 0) - (count < 0))
        case float() if value == 0 or math.isnan(value):
            return value
    zero = value - value  # type: ignore[operator]
    return float((value > zero) - (value < zero))


def positive_remainder(left: object, right: object) -> object:
    """pmod: the remainder, made positive by the divisor.

    >>> positive_remainder(-7, 3), positive_remainder(-7, -3)
    (2, -1)
    """
    rest = binary("%", left, right)
    if not rest < 0:  # type: ignore[operator]
        return rest
    return binary("%", binary("+", rest, right), right)


def bit_count(value: int) -> int:
    return (value % 2**64).bit_count()


NUMBERS: dict[str, Function] = {
    "abs": _absolute,
    "acos": _real(math.acos),
    "asin": _real(math.asin),
    "atan": _real(math.atan),
    "atan2": _real(math.atan2),
    "bit_count": bit_count,
    "ceil": _towards(decimal.ROUND_CEILING),
    "ceiling": _towards(decimal.ROUND_CEILING),
    "cos": _real(math.cos),
    "degrees": _real(math.degrees),
    "exp": _real(math.exp),
    "floor": _towards(decimal.ROUND_FLOOR),
    "ln": _logarithm(math.log),
    "log": logarithm_to_base,
    "log10": _logarithm(math.log10),
    "log2": _logarithm(math.log2),
    "mod": lambda left, right: binary("%", left, right),
    "pmod": positive_remainder,
    "pow": power,
    "power": power,
    "radians": _real(math.radians),
    "round": round_half_up,
    "sign": sign,
    "signum": sign,
    "sin": _real(math.sin),
    "sqrt": _real(math.sqrt),
    "tan": _real(math.tan),
}
