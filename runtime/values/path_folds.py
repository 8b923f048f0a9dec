"""Aggregates of values as Python has them: along a path that grows and shrinks, and of whole lists."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.order import comparable, order
from neelc.runtime.values.scalars import FAILURES, binary
from neelc.runtime.values.statistics import STATISTICS
from neelc.runtime.values.types import ValueType, fit

# Aggregates over the rows of a match that grows and shrinks, row by row.
#
# The state after each row is kept: to give a row back is to look at the state before it. Nothing is
# subtracted, so a value is what adding up all values from the first to the last gives, whatever has been
# tried in between.

FAILED = object()
"""The state after a value that cannot be added; the aggregate is NULL from there on."""


@dataclass(frozen=True)
class PathFold:
    """An aggregate as a state that takes one value after the other. NULLs are left out before."""

    empty: Any
    step: Callable[[Any, Any], Any]
    result: Callable[[Any], Any] = lambda state: state


class PathAggregate:
    """An aggregate along a path: the state after each row.

    >>> total = PathAggregate(FOLDS["sum"], None)
    >>> for value in (0.1, 0.2, None, 1e16):
    ...     total.push(value)
    >>> total.value(), total.pop(), total.value(), len(total)
    (1e+16, None, 0.30000000000000004, 3)
    """

    def __init__(self, fold: PathFold, type: ValueType | None, distinct: bool = False) -> None:
        self.fold, self.type, self.distinct = fold, type, distinct
        self.states = [fold.empty]
        self.known: set[object] = set()
        self.added: list[tuple[int, object]] = []

    def __len__(self) -> int:
        return len(self.states) - 1

    def push(self, value: Any) -> None:
        """One more row, with this value."""
        if self.distinct and value is not None:
            value = self._if_new(value)
        state = self.states[-1]
        if value is not None and state is not FAILED:
            try:
                state = self.fold.step(state, value)
            except FAILURES:
                state = FAILED
        self.states.append(state)

    def _if_new(self, value: object) -> object:
        key = comparable(value)
        if key in self.known:
            return None
        self.known.add(key)
        self.added.append((len(self.states), key))
        return value

    def pop(self) -> None:
        """The last row is given back."""
        self.states.pop()
        if self.added and self.added[-1][0] == len(self.states):
            self.known.remove(self.added.pop()[1])

    def value(self) -> Any:
        state = self.states[-1]
        if state is FAILED:
            return None
        try:
            found = self.fold.result(state)
            return found if self.type is None else fit(found, self.type)
        except FAILURES:
            return None


def _added(total: Any, value: Any) -> Any:
    if total is None:
        return value
    if type(total) is type(value) and type(total) in (int, float):
        return total + value
    return binary("+", total, value)


def _average(state: tuple[int, Any]) -> Any:
    count, total = state
    if not count:
        return None
    return total / count if isinstance(total, float) else binary("/", total, decimal.Decimal(count))


def _counted(state: tuple[int, Any], value: Any) -> tuple[int, Any]:
    """How many values there are, and their sum. That of an average is a DOUBLE or a DECIMAL."""
    count, total = state
    return count + 1, _added(total, float(value) if isinstance(value, int) else value)


def _extreme(sign: int) -> PathFold:
    return PathFold(None, lambda best, value: value if best is None or order(value, best) == sign else best)


def _moved(state: tuple[int, float, float], value: float) -> tuple[int, float, float]:
    """Welford's way: the number of values, their mean, and the squares of their distances to it."""
    count, mean, squares = state
    delta = value - mean
    moved = mean + delta / (count + 1)
    return count + 1, moved, squares + delta * (value - moved)


def _variance(sample: bool, root: bool) -> PathFold:
    def result(state: tuple[int, float, float]) -> float | None:
        count, _, squares = state
        if count - sample <= 0:
            return None
        variance = squares / (count - sample)
        return math.sqrt(variance) if root and not math.isnan(variance) else variance

    return PathFold((0, 0.0, 0.0), _moved, result)


def _by(sign: int) -> PathFold:
    """max_by and min_by: of values that are equal, the first one is chosen."""

    def better(best: Any, value: Any) -> Any:
        return value if best is None or order(_by_what(value), _by_what(best)) == sign else best

    return PathFold(None, better, lambda best: None if best is None else next(iter(best.values())))


def _by_what(value: Mapping[str, object]) -> object:
    """The argument is a struct: the value, and what it is chosen by."""
    _, by = value.values()
    return by


_ALL = PathFold(None, lambda state, value: value if state is None else state and value)
_ANY = PathFold(None, lambda state, value: value if state is None else state or value)

FOLDS: Mapping[str, PathFold] = {
    "any": _ANY,
    "any_value": PathFold(None, lambda first, value: value if first is None else first),
    "avg": PathFold((0, None), _counted, _average),
    "bool_and": _ALL,
    "bool_or": _ANY,
    "count": PathFold(0, lambda state, value: state + 1),
    "count_if": PathFold(0, lambda state, value: state + (value is True)),
    "every": _ALL,
    "max": _extreme(1),
    "max_by": _by(1),
    "mean": PathFold((0, None), _counted, _average),
    "min": _extreme(-1),
    "min_by": _by(-1),
    "some": _ANY,
    "stddev": _variance(sample=True, root=True),
    "stddev_pop": _variance(sample=False, root=True),
    "stddev_samp": _variance(sample=True, root=True),
    "sum": PathFold(None, _added),
    "var_pop": _variance(sample=False, root=False),
    "var_samp": _variance(sample=True, root=False),
    "variance": _variance(sample=True, root=False),
}
"""The aggregates that are folded."""

LISTS: Mapping[str, Callable[[list[Any]], object]] = {
    **STATISTICS,
    "collect_list": list,
    "collect_set": list,
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
}
"""The aggregates that are computed again at each row."""


def aggregate_of(name: str, type: ValueType | None, distinct: bool, values: Iterable[object]) -> object:
    """The aggregate of the values of a whole list that are not NULL.

    >>> aggregate_of("max", "string", False, ["a", None, "b"])
    'b'
    >>> aggregate_of("collect_set", None, False, [2, 2])
    [2]
    """
    known = [value for value in values if value is not None]
    if name in LISTS:
        if distinct or name == "collect_set":
            known = list({comparable(value): value for value in known}.values())
        return LISTS[name](known)
    total = PathAggregate(FOLDS[name], type, distinct)
    for value in known:
        total.push(value)
    return total.value()
