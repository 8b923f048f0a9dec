"""How many different values are valid in each stretch of time."""

from __future__ import annotations

import numpy as np

from neelc.runtime.algebra.stretches import Stretches
from neelc.runtime.segments import Bools, Ints


def count_distinct(stretches: Stretches, values: Ints, known: Bools) -> Ints:
    """Of the rows that are `known`, the number of different `values` in each stretch.

    A value is there as long as one of its rows is: the valid times of its rows, put together, are a few
    intervals that do not overlap, and each of them counts one. That takes a sort, O(log n) for each row.

    >>> from neelc.runtime.algebra.stretches import stretches
    >>> found = stretches(np.array([0, 0, 0]), np.array([1, 2, 3]), np.array([4, 5, 6]))
    >>> count_distinct(found, np.array([7, 8, 7]), np.ones(3, bool)).tolist()
    [1, 2, 2, 2, 1]
    """
    first, beyond = stretches.covered
    rows = np.flatnonzero(known & (first < beyond))
    _, group = np.unique(values[rows], return_inverse=True)
    order = np.lexsort((first[rows], group))
    count = len(stretches.instants)
    # Instants of different values lie apart, so that one running maximum does for all of them.
    apart = group[order].astype(np.int64) * np.int64(count + 1)
    begin, end = first[rows][order] + apart, beyond[rows][order] + apart
    until = np.maximum.accumulate(end) if len(end) else end
    heads = np.flatnonzero(np.concatenate([np.ones(min(1, len(begin)), bool), begin[1:] > until[:-1]]))
    tails = np.concatenate([heads[1:], [len(begin)]]) - 1 if len(heads) else heads
    opened = np.bincount(begin[heads] - apart[heads], minlength=count + 1)
    closed = np.bincount(until[tails] - apart[tails], minlength=count + 1)
    found: Ints = np.cumsum(opened - closed)[stretches.place]
    return found
