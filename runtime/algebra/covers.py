"""Folds over the rows that are valid at an instant, where rows may end in another order than they begin.

A segment tree over the stretches of time, as the thesis' Agg-2-3-tree has it (chapter 12), but built in one
go: a row is noted at the few nodes that together are exactly its stretches, and a stretch folds the nodes
above it. That takes O(log n) for each row and each stretch, and nothing is subtracted.
"""

from __future__ import annotations

import numpy as np

from neelc.runtime.algebra.ranges import Fold, State, over_ranges, take
from neelc.runtime.segments import Ints


def over_covers(fold: Fold, values: State, first: Ints, beyond: Ints, count: int) -> State:
    """For each of `count` stretches the fold over the rows with `first` <= stretch < `beyond`.

    >>> from neelc.runtime.algebra.folds import Extreme
    >>> first, beyond = np.array([0, 1, 1]), np.array([4, 2, 3])
    >>> over_covers(Extreme(1), (np.array([1, 9, 5]),), first, beyond, 4)[0].tolist()
    [1, 9, 5, 1]
    """
    levels: list[State] = []
    rows = np.flatnonzero(first < beyond)
    left, right = first[rows], beyond[rows]
    while len(rows):
        at_left = np.flatnonzero(left & 1)
        odd = left + (left & 1)
        at_right = np.flatnonzero((odd < right) & (right & 1).astype(np.bool_))
        nodes = np.concatenate([left[at_left], right[at_right] - 1])
        noted = np.concatenate([rows[at_left], rows[at_right]])
        levels.append(_noted(fold, values, nodes, noted, count))
        left, right = odd >> 1, right >> 1
        more = np.flatnonzero(left < right)
        rows, left, right = rows[more], left[more], right[more]
        count = (count + 1) >> 1
    if not levels:
        return fold.neutral(count)
    total = levels.pop()
    while levels:
        level = levels.pop()
        total = fold.combine(level, take(total, np.arange(len(level[0])) >> 1))
    return total


def _noted(fold: Fold, values: State, nodes: Ints, rows: Ints, count: int) -> State:
    """For each of `count` nodes the fold over the rows that are noted there."""
    order = np.argsort(nodes, kind="stable")
    beyond = np.cumsum(np.bincount(nodes, minlength=count))
    first = np.concatenate([np.zeros(1, dtype=np.int64), beyond[:-1]])
    return over_ranges(fold, take(values, rows[order]), first, beyond)
