"""Sums and averages of arrays, from the first value to the last; NULL where the result does not fit its type.

The lambdas speak of their own parameters only, so that no column can be hidden by them.
"""

from __future__ import annotations

from neelc.emit.literals import MICROSECOND, spark_type
from neelc.ir.typeof import INTERVALS
from neelc.ir.types import BIGINT, DAY_INTERVAL, DOUBLE, DataType, Decimal
from neelc.plan.unsupported import Unsupported

# No list is long enough for a sum of 64-bit numbers to need more digits.
_EXACT = Decimal(38, 0)
_COUNT = Decimal(10, 0)
# An average of DECIMALs of so many digits is one quotient, exact enough to be rounded.
_NARROW = 17
# An average of DECIMALs of more places cannot be rounded in the right place.
_MOST_PLACES = 18


def total(array: str, known: str, type: DataType, result: DataType) -> str:
    """The sum of the values of an array; `known` are those that are not NULL.

    >>> from neelc.ir.types import INT
    >>> print(total("b.n", "array_compact(b.n)", INT, BIGINT))
    aggregate(b.n, CAST(NULL AS BIGINT), (s, v) -> coalesce(s + v, s, v))

    A sum of BIGINTs must fit at the end, whatever it was on the way.

    >>> print(total("b.n", "array_compact(b.n)", BIGINT, BIGINT))  # doctest: +NORMALIZE_WHITESPACE
    aggregate(b.n, CAST(NULL AS DECIMAL(38, 0)), (s, v) -> coalesce(s + v, s, v),
      s -> try_cast(s AS BIGINT))
    """
    if type in INTERVALS:
        unit, number = _unit(type)
        return _sum(_in_units(array, unit), _EXACT, "s + v", f"try_cast(s AS {number}) * {unit}")
    if type == BIGINT:
        return _sum(array, _EXACT, "s + v", "try_cast(s AS BIGINT)")
    if not isinstance(type, Decimal):
        return _sum(array, result, "s + v")
    if type.precision + 10 < 38:
        return _sum(array, result, f"CAST(s + v AS {spark_type(result)})")
    held, step = _held(type)
    end = "acc.s" if held == result else f"CAST(acc.s AS {spark_type(result)})"
    return _counted(known, f"CAST(0 AS {spark_type(held)})", step, f"IF(acc.n > 0, {end}, NULL)")


def average(known: str, type: DataType, result: DataType) -> str:
    """The average of values of which none is NULL."""
    if type in INTERVALS:
        unit, number = _unit(type)
        half_up = "(2 * abs(acc.s) + acc.n) DIV (2 * acc.n)"
        end = f"IF(acc.n > 0, try_cast(IF(acc.s < 0, -({half_up}), {half_up}) AS {number}) * {unit}, NULL)"
        return _counted(_in_units(known, unit), f"CAST(0 AS {spark_type(_EXACT)})", "acc.s + v", end)
    if isinstance(type, Decimal):
        assert isinstance(result, Decimal)
        held, step = _held(type)
        end = f"IF(acc.n > 0, {_quotient(type, result)}, NULL)"
        return _counted(known, f"CAST(0 AS {spark_type(held)})", step, end)
    assert result == DOUBLE
    return _counted(known, "-0D", "acc.s + v", "try_divide(acc.s, acc.n)")


def _sum(array: str, held: DataType, plus: str, end: str = "") -> str:
    """A sum that cannot fail on the way: NULL until there is a value, and NULLs add nothing."""
    finish = f", s -> {end}" if end else ""
    return f"aggregate({array}, CAST(NULL AS {spark_type(held)}), (s, v) -> coalesce({plus}, s, v){finish})"


def _counted(known: str, zero: str, step: str, end: str) -> str:
    """A sum beside the number of its values; once it is NULL it remains so."""
    begin = f"named_struct('n', 0L, 's', {zero})"
    return (
        f"aggregate({known}, {begin}, (acc, v) -> named_struct('n', acc.n + 1L, 's', {step}), acc -> {end})"
    )


def _unit(interval: DataType) -> tuple[str, str]:
    """What intervals are counted in, and the type that holds the count of one."""
    return (MICROSECOND, "BIGINT") if interval == DAY_INTERVAL else ("INTERVAL '1' MONTH", "INT")


def _in_units(array: str, unit: str) -> str:
    return f"transform({array}, v -> v DIV {unit})"


def _held(type: Decimal) -> tuple[Decimal, str]:
    """The type of a sum on the way, and how a value is added to it.

    Spark's `+` makes a type of one digit more, and for the 39th it drops a place: the sum, and each value,
    has less than 38 digits if there are places to lose. Once they do not fit, there is NULL; the reference
    interpreter has more digits on the way.
    """
    if type.precision + 10 < 38:
        held = Decimal(type.precision + 10, type.scale)
        return held, f"CAST(acc.s + v AS {spark_type(held)})"
    held = Decimal(38 if type.scale <= 6 else 37, type.scale)
    is_wide = type.precision > 36 and type.scale > 6
    value = f"try_cast(v AS {spark_type(Decimal(36, type.scale))})" if is_wide else "v"
    return held, f"try_cast(try_add(acc.s, {value}) AS {spark_type(held)})"


def _quotient(type: Decimal, result: Decimal) -> str:
    """The average of DECIMALs from their sum and number. Of many digits, Spark's quotient has too few places:
    then it is put together from the whole number and the rest. Of the whole number, the first of 38 digits is
    missing: there is NULL."""
    count = f"CAST(acc.n AS {spark_type(_COUNT)})"
    if type.precision <= _NARROW:
        return f"CAST(acc.s / {count} AS {spark_type(result)})"
    if type.scale > _MOST_PLACES:
        raise Unsupported(f"the average of a list of DECIMALs with more than {_MOST_PLACES} places")
    rest = f"acc.s % {count}"
    whole = f"try_cast(try_divide(acc.s - {rest}, {count}) AS {spark_type(Decimal(37 - result.scale, 0))})"
    part = f"CAST({rest} / {count} AS {spark_type(Decimal(result.scale + 1, result.scale))})"
    return f"try_cast({whole} + {part} AS {spark_type(result)})"
