"""Aggregates over the elements of a list, by Spark's functions of arrays.

Each is given the text of an array of values, NULLs among them, and has the value of the reference
interpreter: NULLs are left out, sums go from the first element to the last, what does not fit is NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from neelc.emit.list_sums import average, total
from neelc.ir.node import walk
from neelc.ir.row_values import BY_ORDER, BY_VALUE
from neelc.ir.types import DataType, Map
from neelc.plan.unsupported import Unsupported


@dataclass(frozen=True)
class Values:
    """An array: its text, the type of its elements, whether they may be NULL and whether it may be."""

    text: str
    type: DataType
    holds_null: bool = True
    may_be_null: bool = False

    @property
    def known(self) -> str:
        """The values that are not NULL."""
        return f"array_compact({self.text})" if self.holds_null else self.text

    def or_empty(self, text: str, empty: str) -> str:
        """Of no list the aggregate is that of an empty one."""
        return f"coalesce({text}, {empty})" if self.may_be_null else text


def over_list(name: str, values: Values, result: DataType, distinct: bool = False) -> str:
    """The text of an aggregate of type `result`.

    >>> from neelc.ir.types import BIGINT, DOUBLE
    >>> prices = Values("b.price", DOUBLE)
    >>> print(over_list("count", prices, BIGINT), over_list("max", prices, DOUBLE, distinct=True))
    CAST(array_size(array_compact(b.price)) AS BIGINT) array_max(array_distinct(b.price))
    """
    if distinct:
        values = _distinct(values)
    return AGGREGATES[name](values, result)


def _distinct(values: Values) -> Values:
    if any(isinstance(part, Map) for part in walk(values.type)):
        raise Unsupported("DISTINCT values of a list that hold a MAP")
    return Values(f"array_distinct({values.text})", values.type, values.holds_null, values.may_be_null)


def _count(values: Values, _: DataType) -> str:
    return _size(values, values.known)


def _count_if(values: Values, _: DataType) -> str:
    return _size(values, f"filter({values.text}, v -> v)")


def _size(values: Values, text: str) -> str:
    return f"CAST({values.or_empty(f'array_size({text})', '0')} AS BIGINT)"


def _list(values: Values, _: DataType) -> str:
    return values.or_empty(values.known, "array()")


def _set(values: Values, result: DataType) -> str:
    return _list(_distinct(values), result)


def _first(values: Values, _: DataType) -> str:
    return f"get({values.known}, 0)"


def _last(values: Values, _: DataType) -> str:
    return f"try_element_at({values.known}, -1)"


def _least(values: Values, _: DataType) -> str:
    """Also whether all are TRUE: FALSE is less."""
    return f"array_min({values.text})"


def _greatest(values: Values, _: DataType) -> str:
    """Also whether one is TRUE."""
    return f"array_max({values.text})"


def _sum(values: Values, result: DataType) -> str:
    return total(values.text, values.known, values.type, result)


def _average(values: Values, result: DataType) -> str:
    return average(values.known, values.type, result)


def _variance(sample: int, root: bool = False) -> Callable[[Values, DataType], str]:
    """Welford's way: one pass, without the difference of two large sums."""
    mean = "acc.mean + (v - acc.mean) / (acc.n + 1D)"
    squares = f"acc.squares + (v - acc.mean) * (v - ({mean}))"
    step = f"named_struct('n', acc.n + 1D, 'mean', {mean}, 'squares', {squares})"
    divisor = f"(acc.n - {sample})" if sample else "acc.n"
    variance = f"IF(acc.n > {sample}, acc.squares / {divisor}, NULL)"
    end = f"sqrt({variance})" if root else variance

    def text(values: Values, _: DataType) -> str:
        zero = "named_struct('n', 0D, 'mean', 0D, 'squares', 0D)"
        return f"aggregate({values.known}, {zero}, (acc, v) -> {step}, acc -> {end})"

    return text


def _by(extreme: str, sign: str) -> Callable[[Values, DataType], str]:
    """max_by and min_by, of structs: of several that are equal, the first one."""

    def text(values: Values, _: DataType) -> str:
        ranked = f"transform({values.known}, (v, i) -> struct(v.{BY_ORDER}, {sign}i AS place))"
        return f"get({values.known}, {sign}{extreme}({ranked}).place).{BY_VALUE}"

    return text


AGGREGATES: dict[str, Callable[[Values, DataType], str]] = {
    "any": _greatest,
    "any_value": _first,
    "avg": _average,
    "bool_and": _least,
    "bool_or": _greatest,
    "collect_list": _list,
    "collect_set": _set,
    "count": _count,
    "count_if": _count_if,
    "every": _least,
    "first": _first,
    "last": _last,
    "max": _greatest,
    "max_by": _by("array_max", "-"),
    "mean": _average,
    "min": _least,
    "min_by": _by("array_min", ""),
    "some": _greatest,
    "stddev": _variance(1, root=True),
    "stddev_pop": _variance(0, root=True),
    "stddev_samp": _variance(1, root=True),
    "sum": _sum,
    "var_pop": _variance(0),
    "var_samp": _variance(1),
    "variance": _variance(1),
}
