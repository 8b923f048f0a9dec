"""Aggregates over lists, for many lists at once: element by element, in the order of the lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels import arithmetic
from neelc.runtime.kernels.events import Events, Numbers, Truths, Values
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.kernels.logic import Array, less
from neelc.runtime.program import Fold

Better = Callable[[Array, Array], Truths]


def folded(fold: Fold, lists: Lists, events: Events) -> Values:
    """The fold of each row's list.

    >>> prices = Values(np.array([2.0, 5.0, 4.0]), np.array([True, True, False]))
    >>> nowhere = np.zeros(3, np.int64)
    >>> events = Events(nowhere, nowhere, nowhere, {}, {"price": prices}, (nowhere, nowhere))
    >>> lists = Lists(np.arange(3), np.array([0, 2]), np.array([3, 1]))
    >>> total = folded(Fold("t", "sum", "b", "price"), lists, events)
    >>> total.values.tolist(), total.valid.tolist()
    ([7.0, 0.0], [True, False])
    """
    if fold.column is None:
        return Values(np.maximum(lists.length, 0))
    with np.errstate(all="ignore"):
        result = FUNCTIONS[fold.function](lists, events.columns[fold.column])
        return result if fold.type is None else arithmetic.cast(result, fold.type)


def elements(lists: Lists, column: Values) -> Iterator[tuple[Array, Truths]]:
    """For each place in the lists: the values there, and in which rows there is one that is not NULL."""
    for place in range(int(lists.length.max(initial=0))):
        numbers = lists.at(place)
        known = numbers >= 0
        if column.valid is not None:
            known = known & column.valid[numbers]
        yield column.values[numbers], known


def _count(lists: Lists, column: Values) -> Values:
    count = np.zeros(len(lists), np.int64)
    for _, known in elements(lists, column):
        count += known
    return Values(count)


def _sum(lists: Lists, column: Values) -> Values:
    """A whole number that does not fit into 64 bits is NULL, as Spark's try_sum has it."""
    if column.values.dtype.kind == "f":
        total, count = _float_sum(lists, column)
        return Values(total, count > 0)
    whole, found = np.zeros(len(lists), np.int64), np.zeros(len(lists), bool)
    fits = np.ones(len(lists), bool)
    for values, known in elements(lists, column):
        whole, right = arithmetic.plus(whole, np.where(known, values, 0).astype(np.int64))
        fits &= right
        found |= known
    return Values(whole, found & fits)


def _float_sum(lists: Lists, column: Values) -> tuple[NDArray[np.float64], Numbers]:
    total, count = np.zeros(len(lists)), np.zeros(len(lists), np.int64)
    for values, known in elements(lists, column):
        # The first value itself, not 0 + it: -0.0 stays -0.0.
        more = np.where(count == 0, values, total + values)
        total = np.where(known, more, total)
        count += known
    return total, count


def _average(lists: Lists, column: Values) -> Values:
    total, count = _float_sum(lists, column)
    return Values(total / np.maximum(count, 1), count > 0)


def _best(is_better: Better) -> Callable[[Lists, Values], Values]:
    def fold(lists: Lists, column: Values) -> Values:
        best, found = np.zeros(len(lists), column.values.dtype), np.zeros(len(lists), bool)
        for values, known in elements(lists, column):
            new = known & (~found | is_better(values, best))
            best = np.where(new, values, best)
            found |= known
        return Values(best, found)

    return fold


def _variance(sample: bool, root: bool) -> Callable[[Lists, Values], Values]:
    """Welford's way, as Spark's: one pass, without the difference of two large sums."""

    def fold(lists: Lists, column: Values) -> Values:
        count, mean, squares = (np.zeros(len(lists)) for _ in range(3))
        for values, known in elements(lists, column):
            count += known
            delta = values - mean
            nearer = mean + delta / np.maximum(count, 1)
            squares = np.where(known, squares + delta * (values - nearer), squares)
            mean = np.where(known, nearer, mean)
        result = squares / np.maximum(count - sample, 1)
        return Values(np.sqrt(result) if root else result, count > sample)

    return fold


FUNCTIONS: dict[str, Callable[[Lists, Values], Values]] = {
    "avg": _average,
    "count": _count,
    "first": _best(lambda one, other: np.zeros(len(one), bool)),
    "last": _best(lambda one, other: np.ones(len(one), bool)),
    "max": _best(lambda one, other: less(other, one)),
    "mean": _average,
    "min": _best(less),
    "stddev": _variance(sample=True, root=True),
    "stddev_pop": _variance(sample=False, root=True),
    "stddev_samp": _variance(sample=True, root=True),
    "sum": _sum,
    "var_pop": _variance(sample=False, root=False),
    "var_samp": _variance(sample=True, root=False),
    "variance": _variance(sample=True, root=False),
}
