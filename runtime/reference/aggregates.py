"""Aggregates over values; NULLs have been left out."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from neelc.ir.expressions import BY_ORDER, BY_VALUE
from neelc.ir.names import bare
from neelc.ir.types import DOUBLE, Array, DataType, Map, Struct
from neelc.ir.types import Decimal as DecimalType
from neelc.runtime.values.order import comparable, extreme, order
from neelc.runtime.values.scalars import FAILURES, MICROSECOND, binary, half_up
from neelc.runtime.values.statistics import STATISTICS
from neelc.runtime.values.times import Months, day_interval
from neelc.runtime.values.types import fit
from neelc.scalar.type_of import value_type

Values = Sequence[object]


def aggregate(name: str, values: Values, type: DataType, distinct: bool = False) -> object:
    """The aggregate of values, none of them NULL.

    >>> from neelc.ir.types import BIGINT
    >>> aggregate("sum", [1, 2, 2], BIGINT), aggregate("count", [1, 2, 2], BIGINT, distinct=True)
    (5, 2)
    >>> aggregate("avg", [1, 2], DOUBLE), aggregate("max", [], BIGINT)
    (1.5, None)
    """
    if distinct:
        values = list({comparable(value): value for value in values}.values())
    try:
        return fit(AGGREGATES[name](values, type), value_type(type))
    except FAILURES:
        return None


def as_python(value: object, type: DataType) -> object:
    """A value as functions of users get it: DECIMALs with all digits of their scale, arrays as lists, structs
    and maps as dictionaries.

    >>> as_python((decimal.Decimal("1.5"), None), Array(DecimalType(5, 2)))
    [Decimal('1.50'), None]
    """
    match type, value:
        case Array(element), list() | tuple():
            return [as_python(one, element) for one in value]
        case Map(key, held), Mapping():
            return {as_python(one, key): as_python(other, held) for one, other in value.items()}
        case Struct(fields), Mapping():
            return {bare(one.name): as_python(value.get(bare(one.name)), one.type) for one in fields}
    return fit(value, value_type(type))


def _sum(values: Values, type: DataType) -> object:
    if not values:
        return None
    total = float(values[0]) if type == DOUBLE else values[0]  # type: ignore[arg-type]
    for value in values[1:]:
        total = binary("+", total, float(value) if type == DOUBLE else value)  # type: ignore[arg-type]
    return total


def _average(values: Values, type: DataType) -> object:
    if not values:
        return None
    total = _sum(values, type)
    match total:
        case Months(count):
            return Months(half_up(count, len(values)))
        case datetime.timedelta():
            return day_interval(half_up(total // MICROSECOND, len(values)))
        case decimal.Decimal() if isinstance(type, DecimalType):
            return binary("/", total, decimal.Decimal(len(values)))
        case float():
            return total / len(values)
    raise ValueError(total)


def _variance(values: Values, sample: bool) -> float | None:
    """Welford's way, as Spark's: one pass, without the difference of two large sums."""
    count, mean, squares = 0, 0.0, 0.0
    for value in values:
        assert isinstance(value, float)
        count += 1
        delta = value - mean
        mean += delta / count
        squares += delta * (value - mean)
    if count - sample <= 0:
        return None
    return squares / (count - sample)


def _deviation(values: Values, sample: bool) -> float | None:
    variance = _variance(values, sample)
    return None if variance is None else variance if math.isnan(variance) else math.sqrt(variance)


def _set(values: Values) -> list[object]:
    return list({comparable(value): value for value in values}.values())


def _all(values: Values, _: DataType) -> bool | None:
    return all(values) if values else None


def _any(values: Values, _: DataType) -> bool | None:
    return any(values) if values else None


def better(best: Any, value: Any, sign: int) -> Any:
    """Of two arguments of max_by or min_by the one that is chosen: the first one, if they are equal."""
    return value if best is None or order(value[BY_ORDER], best[BY_ORDER]) == sign else best


def chosen(best: Any) -> Any:
    return None if best is None else best[BY_VALUE]


def _by(values: Values, sign: int) -> object:
    return chosen(reduce(lambda best, value: better(best, value, sign), values, None))


def _statistic(compute: Callable[[Sequence[Any]], object]) -> Callable[[Values, DataType], object]:
    return lambda values, _: compute(values)


AGGREGATES: dict[str, Callable[[Values, DataType], object]] = {
    **{name: _statistic(compute) for name, compute in STATISTICS.items()},
    "any": _any,
    "any_value": lambda values, _: values[0] if values else None,
    "avg": _average,
    "bool_and": _all,
    "bool_or": _any,
    "collect_list": lambda values, _: list(values),
    "collect_set": lambda values, _: _set(values),
    "count": lambda values, _: len(values),
    "count_if": lambda values, _: sum(value is True for value in values),
    "every": _all,
    "first": lambda values, _: values[0] if values else None,
    "last": lambda values, _: values[-1] if values else None,
    "max": lambda values, _: extreme(values, 1),
    "max_by": lambda values, _: _by(values, 1),
    "mean": _average,
    "min": lambda values, _: extreme(values, -1),
    "min_by": lambda values, _: _by(values, -1),
    "some": _any,
    "stddev": lambda values, _: _deviation(values, sample=True),
    "stddev_pop": lambda values, _: _deviation(values, sample=False),
    "stddev_samp": lambda values, _: _deviation(values, sample=True),
    "sum": _sum,
    "var_pop": lambda values, _: _variance(values, sample=False),
    "var_samp": lambda values, _: _variance(values, sample=True),
    "variance": lambda values, _: _variance(values, sample=True),
}
