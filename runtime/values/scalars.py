"""Arithmetic on single values, none of them NULL, after all implicit casts.

A failure is an exception; who calls makes it NULL.
"""

from __future__ import annotations

import calendar
import datetime
import decimal
import math
from fractions import Fraction

from neelc.runtime.values.times import Months, clock, day_interval, instant, shown, zoned

# A failure while a value is computed (overflow, division by zero, a malformed text, an index out of range)
# gives NULL: how many bindings a condition is evaluated on depends on the plan, so an error would make
# the result depend on it.
FAILURES = (ArithmeticError, ValueError, LookupError)

# Wide enough for every sum, product and quotient of two DECIMALs: only `quantized` rounds.
EXACT = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))

MICROSECOND = datetime.timedelta(microseconds=1)


def binary(op: str, left: object, right: object) -> object:
    """`left op right` for two values, neither of them NULL; not yet fitted to the result's type.

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
            # Of instants, as in Spark, what the session's clock shows.
            return shown(left) - shown(right)
    raise ValueError(op)


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


def half_up(numerator: int, denominator: int) -> int:
    """The nearest integer to a fraction, halves away from zero.

    >>> half_up(5, 2), half_up(-5, 2), half_up(-4, -3)
    (3, -3, 1)
    """
    quotient, rest = divmod(abs(numerator), abs(denominator))
    rounded = quotient + (2 * rest >= abs(denominator))
    return rounded if (numerator < 0) == (denominator < 0) else -rounded
