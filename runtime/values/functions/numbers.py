"""Functions of numbers, of values that are not NULL. A failure is an exception; who calls makes it NULL."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable

from neelc.runtime.values.scalars import binary
from neelc.runtime.values.times import Months
from neelc.runtime.values.types import to_decimal

Function = Callable[..., object]


def _absolute(value: object) -> object:
    match value:
        case Months(count):
            return Months(abs(count))
        case decimal.Decimal():
            return value.copy_abs()
    return abs(value)  # type: ignore[arg-type]


WIDE = decimal.Context(prec=1000, Emax=10**6, Emin=-(10**6))
"""For all digits of a DOUBLE, and the places behind them that it may be rounded to."""


NEAREST = (decimal.ROUND_HALF_UP, decimal.ROUND_HALF_EVEN)


def _rounded(mode: str, value: object, places: int) -> decimal.Decimal:
    exact = to_decimal(value)
    if -places > exact.adjusted() + 2:  # so far left of its first digit that nothing remains
        exact, places = (decimal.Decimal(0) if mode in NEAREST else exact), max(places, -80)
    return exact.quantize(decimal.Decimal(1).scaleb(-places), mode, WIDE)


def round_half_up(value: object, places: int = 0) -> object:
    """
    >>> round_half_up(2.5), round_half_up(-25, -1), round_half_up(1.005, 2), round_half_up(-0.4)
    (3.0, -30, 1.01, 0.0)
    """
    return _nearest(decimal.ROUND_HALF_UP, value, places)


def round_half_even(value: object, places: int = 0) -> object:
    """
    >>> round_half_even(2.5), round_half_even(-25, -1), round_half_even(1.005, 2), round_half_even(-0.4)
    (2.0, -20, 1.0, 0.0)
    """
    return _nearest(decimal.ROUND_HALF_EVEN, value, places)


def _nearest(mode: str, value: object, places: int) -> object:
    match value:
        case float():
            if not math.isfinite(value) or places > 400:
                return value
            return float(_rounded(mode, value, places)) + 0.0  # the decimals on the way know no -0.0
        case int():
            return value if places >= 0 else int(_rounded(mode, value, places))
        case decimal.Decimal():
            return value if -places <= -40 else _rounded(mode, value, min(places, 38))
    raise ValueError(value)


def _towards(mode: str, exact: Callable[[float], int]) -> Function:
    """ceil and floor: a decimal stays one, other numbers become BIGINT; with places, all become decimals."""

    def rounded(value: object, places: int | None = None) -> object:
        if places is not None:
            return _rounded(mode, value, min(places, 38))
        if isinstance(value, float):  # not of its digits: a large one has more than it shows
            return 0 if math.isnan(value) else exact(value)  # as Java makes an integer of NaN
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
        case float():
            return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)
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


def _even(value: float) -> float:
    """rint: the nearest integer as a DOUBLE, the even one of two; -0.4 is -0.0."""
    return math.copysign(round(value), value) if math.isfinite(value) else value


def factorial(value: int) -> int | None:
    """NULL below 0, and above 20, where BIGINT ends."""
    return math.factorial(value) if 0 <= value <= 20 else None


def _quotient(dividend: float, divisor: float) -> float:
    """Java's division."""
    if divisor == 0:
        return math.copysign(math.inf, divisor) * dividend
    return dividend / divisor


def _hyperbolic(function: Callable[[float], float], is_odd: bool) -> Function:
    return lambda value: _real(function, -math.inf if is_odd and value < 0 else math.inf)(value)


def _area_tangent(value: float) -> float:
    """atanh, which Python has not at the ends of its range."""
    return math.copysign(math.inf, value) if abs(value) == 1 else _real(math.atanh)(value)  # type: ignore[return-value]


def _bits(value: int) -> str:
    """bin: of a negative number, that of its 64 bits."""
    return format(value % 2**64, "b")


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def converted(text: str, base: int, target: int) -> str | None:
    """conv: a number written in one base as one of another; as signed if the target is negative.

    >>> converted("100", 2, 10), converted("-15", 10, 16), converted("-15", 10, -16), converted("1z", 10, 2)
    ('4', 'FFFFFFFFFFFFFFF1', '-F', '1')
    """
    text = text.strip(" ")
    if not 2 <= base <= 36 or not 2 <= abs(target) <= 36 or not text:
        return None
    minus = text.startswith("-")
    number = 0
    for character in text[minus:].upper():
        digit = DIGITS.find(character)
        if not 0 <= digit < base:
            break
        number = number * base + digit
    if number >= 2**64:
        raise OverflowError
    signed = (number + 2**63) % 2**64 - 2**63
    if target < 0:
        minus = minus or signed < 0
        return ("-" if minus else "") + _in_base(abs(signed), -target)
    return _in_base((-1 if signed < 0 else -signed) % 2**64 if minus else number, target)


def _in_base(number: int, base: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = DIGITS[digit] + digits
    return digits or "0"


def _cut(value: float) -> int:
    """As Java makes a BIGINT of a DOUBLE."""
    return 0 if math.isnan(value) else int(max(min(value, 2.0**63), -(2.0**63)))


def width_bucket(value: float, low: float, high: float, count: int) -> int | None:
    """The number of the bucket that a value falls into, of equally wide ones from `low` to `high`.

    >>> width_bucket(5.3, 0.2, 10.6, 5), width_bucket(-1.0, 0.0, 10.0, 5), width_bucket(11.0, 10.0, 0.0, 5)
    (3, 0, 0)
    """
    is_range = math.isfinite(low) and math.isfinite(high) and low != high
    if not 0 < count < 2**63 - 1 or math.isnan(value) or not is_range:
        return None
    if low < high:
        is_below, is_above, passed = value < low, value >= high, value - low
    else:
        is_below, is_above, passed = value > low, value <= high, low - value
    return 0 if is_below else count + 1 if is_above else _cut(count * passed / abs(high - low)) + 1


NUMBERS: dict[str, Function] = {
    "abs": _absolute,
    "acos": _real(math.acos),
    "acosh": _real(math.acosh),
    "asin": _real(math.asin),
    "asinh": _real(math.asinh),
    "atan": _real(math.atan),
    "atan2": _real(lambda y, x: math.atan2(y + 0.0, x + 0.0)),  # of -0.0 as of 0.0
    "atanh": _area_tangent,
    "bin": _bits,
    "bit_count": bit_count,
    "bround": round_half_even,
    "cbrt": _real(math.cbrt),
    "ceil": _towards(decimal.ROUND_CEILING, math.ceil),
    "ceiling": _towards(decimal.ROUND_CEILING, math.ceil),
    "conv": converted,
    "cos": _real(math.cos),
    "cosh": _hyperbolic(math.cosh, is_odd=False),
    "cot": _real(lambda value: _quotient(1.0, math.tan(value))),
    "csc": _real(lambda value: _quotient(1.0, math.sin(value))),
    "degrees": _real(math.degrees),
    "exp": _real(math.exp),
    "expm1": _real(math.expm1),
    "factorial": factorial,
    "floor": _towards(decimal.ROUND_FLOOR, math.floor),
    "hypot": math.hypot,
    "ln": _logarithm(math.log),
    "log": logarithm_to_base,
    "log10": _logarithm(math.log10),
    "log1p": lambda value: None if value <= -1 else math.log1p(value),
    "log2": _logarithm(math.log2),
    "mod": lambda left, right: binary("%", left, right),
    "pmod": positive_remainder,
    "pow": power,
    "power": power,
    "radians": _real(math.radians),
    "rint": _even,
    "round": round_half_up,
    "sec": _real(lambda value: _quotient(1.0, math.cos(value))),
    "sign": sign,
    "signum": sign,
    "sin": _real(math.sin),
    "sinh": _hyperbolic(math.sinh, is_odd=True),
    "sqrt": _real(math.sqrt),
    "tan": _real(math.tan),
    "tanh": _real(math.tanh),
    "width_bucket": width_bucket,
}
