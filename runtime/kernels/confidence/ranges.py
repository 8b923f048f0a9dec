"""Sequences of events whose times are imprecise, as tables of ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.events import Numbers, Truths

Chances = NDArray[np.float64]

# A wider window is no different from none: times and their sums fit into 64 bits.
ENDLESS = 2**61


@dataclass(frozen=True, eq=False)
class PossibleTimes:
    """When each event may be: at one of the integers `lo`..`hi`, each as likely as the others."""

    lo: Numbers
    hi: Numbers


@dataclass(frozen=True, eq=False)
class Sequences:
    """Lists of events, by number: list `i` has those at `first[i]` to before `first[i + 1]` of `events`.

    A list has the events of a match, or some of them, in the order that their times must have.
    """

    events: Numbers
    first: Numbers

    def __len__(self) -> int:
        return len(self.first) - 1

    def take(self, rows: Numbers) -> Sequences:
        """
        >>> found = Sequences(np.array([7, 8, 9]), np.array([0, 2, 3])).take(np.array([1, 0, 1]))
        >>> found.events.tolist(), found.first.tolist()
        ([9, 7, 8, 9], [0, 1, 3, 4])
        """
        first, beyond = self.first[rows], self.first[rows + 1]
        return Sequences(self.events[within(first, beyond)], np.concatenate(([0], np.cumsum(beyond - first))))


@dataclass(frozen=True, eq=False)
class Ranges:
    """Lists of equally many events: where each may be, one row for each list, and how likely each of the
    instants is: `share`. Instants that no match can have are left out, the shares stay as they were.

    Times count from the `zero` of their row.
    """

    lo: Numbers
    hi: Numbers
    share: Chances
    zero: Numbers

    def __len__(self) -> int:
        return len(self.zero)

    def take(self, rows: Numbers | Truths | slice) -> Ranges:
        return Ranges(self.lo[rows], self.hi[rows], self.share[rows], self.zero[rows])


def within(first: Numbers, beyond: Numbers) -> Numbers:
    """All numbers of some ranges.

    >>> within(np.array([3, 9, 1]), np.array([5, 9, 2])).tolist()
    [3, 4, 1]
    """
    lengths = beyond - first
    ends = np.cumsum(lengths)
    return np.repeat(beyond - ends, lengths) + np.arange(int(lengths.sum()))


def matrix(rows: list[list[int]]) -> Sequences:
    """The lists of a literal.

    >>> matrix([[4, 5], [6]]).first.tolist()
    [0, 2, 3]
    """
    first = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Sequences(np.array([event for row in rows for event in row], np.int64), first)


def by_length(sequences: Sequences) -> Iterator[tuple[Numbers, Numbers]]:
    """The lists of each length that occurs, but 0: their numbers, and their events as a table.

    >>> [(rows.tolist(), table.tolist()) for rows, table in by_length(matrix([[4, 5], [6], [7, 8]]))]
    [([1], [[6]]), ([0, 2], [[4, 5], [7, 8]])]
    """
    lengths = np.diff(sequences.first)
    for length in np.unique(lengths[lengths > 0]).tolist():
        rows = np.flatnonzero(lengths == length)
        yield rows, sequences.events[sequences.first[rows, None] + np.arange(length)]


def ranges(times: PossibleTimes, table: Numbers, window: int | None) -> Ranges:
    """Where the events of a table may be in a match no longer than `window`.

    >>> found = ranges(PossibleTimes(np.array([0, 0, 5]), np.array([9, 2, 40])), np.array([[0, 1, 2]]), 10)
    >>> found.lo.tolist(), found.hi.tolist()
    ([[0, 1, 5]], [[1, 2, 11]])
    """
    lo, hi = times.lo[table], times.hi[table]
    share = 1 / (hi - lo + 1)
    zero = lo[:, 0]
    place = np.arange(table.shape[1])
    # Each event costs those beside it an instant: what is left of that is a running maximum.
    lo, hi = lo - zero[:, None] - place, hi - zero[:, None] - place
    width = min(ENDLESS if window is None else window, ENDLESS)
    for _ in range(2):
        lo = np.maximum.accumulate(lo, axis=1)
        hi = np.minimum.accumulate(hi[:, ::-1], axis=1)[:, ::-1].copy()
        hi[:, -1] = np.minimum(hi[:, -1], hi[:, 0] + width - place[-1])
        lo[:, 0] = np.maximum(lo[:, 0], lo[:, -1] + place[-1] - width)
    return Ranges(lo + place, hi + place, share, zero)


def is_possible(ranges: Ranges, window: int | None) -> Truths:
    """The rows that are in order and fit into the window in some world: with all events at their `lo`."""
    room = window is None or window >= ranges.lo.shape[1] - 1
    return np.asarray((ranges.lo <= ranges.hi).all(axis=1) & room)


def is_bound(ranges: Ranges, window: int | None) -> Truths:
    """The rows that the window may still exclude; it holds for all others, whenever their events are."""
    if window is None or ranges.lo.shape[1] == 1:
        return np.zeros(len(ranges), bool)
    return np.asarray(ranges.hi[:, -1] - ranges.lo[:, 0] > window)


def portions(cost: Numbers, budget: int) -> Iterator[Numbers]:
    """All rows, in portions of rows that cost about the same, and hardly more than the budget together.

    >>> [rows.tolist() for rows in portions(np.array([5, 1, 1, 9]), 6)]
    [[1, 2], [0], [3]]
    """
    order = np.argsort(cost, kind="stable")
    beyond = np.cumsum(cost[order]) // budget
    yield from (rows for rows in np.split(order, np.flatnonzero(np.diff(beyond)) + 1) if len(rows))
