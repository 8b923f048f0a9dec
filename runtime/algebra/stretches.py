"""Stretches of time in which the same events are valid: between two neighbouring starts or ends of a key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neelc.runtime.algebra.covers import over_covers
from neelc.runtime.algebra.program import FOREVER
from neelc.runtime.algebra.ranges import Fold, State, over_ranges, take
from neelc.runtime.segments import Ints


@dataclass(frozen=True)
class Stretches:
    """The stretches that have a valid event, in the order of keys and of time.

    `begin` and `end` are times, `key` the numbers of keys. Of the rows, in the order of keys and starts,
    `started` have begun when a stretch does; of the rows in the order of ends, `by_end`, `ended` are over.
    `instants` are all starts and ends as single numbers, `place` those of the stretches among them.
    """

    begin: Ints
    end: Ints
    key: Ints
    started: Ints
    ended: Ints
    by_end: Ints | None
    instants: Ints
    place: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.begin)

    def fold(self, fold: Fold, values: State) -> State:
        """For each stretch the fold over the values of the rows that are valid in it."""
        if self.by_end is None:
            # Who begins first ends first: the valid rows are neighbours.
            return over_ranges(fold, values, self.ended, self.started)
        first, beyond = self.covered
        return take(over_covers(fold, values, first, beyond, len(self.instants)), self.place)

    @cached_property
    def covered(self) -> tuple[Ints, Ints]:
        """For each row the places, among the instants, of its start and of its end."""
        return np.searchsorted(self.instants, self.starts), np.searchsorted(self.instants, self.ends)

    def difference(self, values: Ints) -> Ints:
        """For each stretch the sum over its valid rows: what has begun without what is over. That is exact
        for whole numbers, as long as sums over all rows fit into 64 bits."""
        over = values if self.by_end is None else values[self.by_end]
        return _prefix(values)[self.started] - _prefix(over)[self.ended]


def _prefix(values: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values, dtype=np.int64)])


def stretches(key: Ints, start: Ints, end: Ints) -> Stretches:
    """The stretches of rows that are sorted by the number of their key and their start. Each row has its
    start before its end.

    >>> found = stretches(np.array([0, 0, 1]), np.array([1, 3, 3]), np.array([5, 6, 4]))
    >>> list(zip(found.key.tolist(), found.begin.tolist(), found.end.tolist()))
    [(0, 1, 3), (0, 3, 5), (0, 5, 6), (1, 3, 4)]
    >>> found.difference(np.array([10, 1, 7])).tolist()
    [10, 11, 1, 7]
    """
    starts, ends = _codes(key, start, end)
    is_queue = bool(np.all(ends[1:] >= ends[:-1]))
    by_end = None if is_queue else np.argsort(ends, kind="stable")
    sorted_ends = ends if by_end is None else ends[by_end]
    # Two sorted runs: a stable sort only merges them.
    instants = np.sort(np.concatenate([starts, sorted_ends]), kind="stable")
    instants = instants[np.concatenate([np.ones(min(1, len(instants)), bool), instants[1:] != instants[:-1]])]
    started = np.searchsorted(starts, instants, side="right")
    ended = np.searchsorted(sorted_ends, instants, side="right")
    place = np.flatnonzero(started > ended)
    started, ended = started[place], ended[place]
    some_row = np.searchsorted(starts, instants[place], side="right") - 1
    begin, finish = _times(
        starts, sorted_ends, start, end if by_end is None else end[by_end], instants, place
    )
    return Stretches(
        begin, finish, key[some_row], started, ended, by_end, instants, place, starts, ends
    )  # fmt: skip


def _times(
    starts: Ints, ends: Ints, start: Ints, end: Ints, instants: Ints, place: Ints
) -> tuple[Ints, Ints]:
    """When stretches begin and end: `starts` and `ends` are sorted codes of `start` and `end`."""

    def time(codes: Ints) -> Ints:
        row = np.searchsorted(starts, codes)
        row = np.where(row < len(starts), row, 0)
        other = np.minimum(np.searchsorted(ends, codes), len(ends) - 1)
        return np.where(starts[row] == codes, start[row], end[other]) if len(codes) else codes

    # A valid event ends later, so there is a next instant, and it is of the same key.
    return time(instants[place]), time(instants[place + 1])


def _codes(key: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Starts and ends as numbers that are ordered like (key, time)."""
    if not len(key):
        return start, end
    known = end[end != FOREVER]
    low = int(start.min())
    high = max(int(start.max()), int(known.max(initial=low)))
    span = high - low + 2
    if (int(key.max()) + 1) * span < FOREVER:
        before = key * np.int64(span)
        finite = np.where(end == FOREVER, np.int64(high + 1), end)
        return start - np.int64(low) + before, finite - np.int64(low) + before
    times, numbers = np.unique(np.concatenate([start, end]), return_inverse=True)
    both = np.tile(key, 2) * np.int64(len(times)) + numbers
    return both[: len(start)], both[len(start) :]
