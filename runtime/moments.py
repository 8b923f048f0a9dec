"""Moments: the order of events where columns order those of the same time (THEN BY).

Events of a key are compared by their time and then by these columns. A *moment* is a number in that order:
events with the same one are simultaneous. The *rank* of a moment is its number among those of its time. A
time and a rank make one whole number, `time * ranks + rank`, by which kernels compare events; where they
measure a window, they leave out the rank.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neelc.runtime.late_dataclass import dataclass

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EventMoments:
    """For each event the moments at which it starts and ends, and their ranks, which are less than `ranks`.
    Point events have one array as `first` and `last`."""

    first: Ints
    last: Ints
    first_rank: Ints
    last_rank: Ints
    ranks: int

    def part(self, low: int, high: int) -> EventMoments:
        """Those of the events from number `low` to before `high`."""
        first, rank = self.first[low:high], self.first_rank[low:high]
        if self.last is self.first:
            return EventMoments(first, first, rank, rank, self.ranks)
        return EventMoments(first, self.last[low:high], rank, self.last_rank[low:high], self.ranks)


def order_codes(columns: Sequence[pa.Array]) -> Ints:
    """For each row a number, in the order of the values that the columns have; NULL comes first.

    >>> order_codes([pa.array([7, None, 7, 5]), pa.array(["b", "a", "a", "b"])]).tolist()
    [3, 0, 2, 1]
    >>> order_codes([pa.array([70, 50, 50])]).tolist()
    [70, 50, 50]
    """
    if len(columns) == 1 and pa.types.is_integer(columns[0].type) and not columns[0].null_count:
        return np.asarray(columns[0].to_numpy(zero_copy_only=False), dtype=np.int64)
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        own = _codes(column)
        codes = codes * (int(own.max(initial=0)) + 1) + own
        _, codes = np.unique(codes, return_inverse=True)
    return codes.astype(np.int64, copy=False)


def _codes(column: pa.Array) -> Ints:
    """Numbers from 0 on, no more than there are rows; NULL is 0."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    codes = np.zeros(len(column), dtype=np.int64)
    if column.null_count < len(column):
        known = column.drop_null()
        import pyarrow.compute as pc  # slow to load, and few streams have an order within a time

        ranks = pc.rank(known, sort_keys="ascending", tiebreaker="dense").to_numpy(zero_copy_only=False)
        codes[np.asarray(column.is_valid())] = ranks.astype(np.int64)
    return codes


def order_of_ties(segment: Ints, start: Ints, codes: Ints) -> Ints | None:
    """Rows are in the order of their segments and times. How to sort those of the same time by their codes;
    None if they are in order.

    >>> order_of_ties(np.array([0, 0, 0, 1]), np.array([5, 5, 9, 9]), np.array([2, 1, 8, 3])).tolist()
    [1, 0, 2, 3]
    """
    if len(start) < 2:
        return None
    tied = (segment[1:] == segment[:-1]) & (start[1:] == start[:-1])
    if not (tied & (codes[1:] < codes[:-1])).any():
        return None
    concerned = np.zeros(len(start), dtype=np.bool_)
    concerned[1:] |= tied
    concerned[:-1] |= tied
    rows = np.flatnonzero(concerned)
    order = np.arange(len(start))
    order[rows] = rows[np.lexsort((codes[rows], start[rows], segment[rows]))]
    return order


def moments_of(segment: Ints, start: Ints, end: Ints, codes: Ints) -> EventMoments:
    """Of events in the order of their segments, times and codes. Those that last have `end` as another array.

    >>> at = np.array([5, 5, 5, 9])
    >>> found = moments_of(at * 0, at, at, np.array([1, 2, 2, 0]))
    >>> found.first.tolist(), found.first_rank.tolist(), found.ranks
    ([0, 1, 1, 2], [0, 1, 1, 0], 2)

    The end of an event and the start of another, at the same time, are compared by the codes of both:

    >>> found = moments_of(at[:2] * 0, np.array([1, 5]), np.array([5, 5]), np.array([3, 2]))
    >>> found.first.tolist(), found.last.tolist()
    ([0, 1], [2, 1])
    """
    if end is start:
        first, rank = _numbered(segment, start, codes)
        return EventMoments(first, first, rank, rank, _count(rank))
    both = np.tile(segment, 2), np.concatenate((start, end)), np.tile(codes, 2)
    order = np.lexsort(both[::-1])
    moment, rank = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    moment[order], rank[order] = _numbered(*(column[order] for column in both))
    count = len(start)
    return EventMoments(moment[:count], moment[count:], rank[:count], rank[count:], _count(rank))


def _numbered(segment: Ints, time: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """The moment of each row, and its rank; rows are in order."""
    begins = np.ones(len(time), dtype=np.bool_)
    begins[1:] = (segment[1:] != segment[:-1]) | (time[1:] != time[:-1])
    new = begins.copy()
    new[1:] |= codes[1:] != codes[:-1]
    moment = np.cumsum(new, dtype=np.int64) - 1
    return moment, moment - np.maximum.accumulate(np.where(begins, moment, 0))


def _count(rank: Ints) -> int:
    return int(rank.max(initial=0)) + 1
