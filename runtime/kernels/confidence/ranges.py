"""Sequences of events whose times are imprecise, as tables of ranges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.events import TRIANGULAR, WEIGHTED, Numbers, TimeShapes, Truths
from neelc.runtime.late_dataclass import dataclass

Chances = NDArray[np.float64]

# A wider window is no different from none: times and their sums fit into 64 bits.
ENDLESS = 2**61


@dataclass(frozen=True, eq=False)
class PossibleTimes:
    """When each event may be: at one of the integers `lo`..`hi`, each as likely as the others, unless
    `shapes` says how likely each is."""

    lo: Numbers
    hi: Numbers
    shapes: TimeShapes | None = None

    def mass(self, event: Numbers, time: Numbers) -> Chances:
        """The probability that each event is at that time, which must be one of its times.

        >>> times = PossibleTimes(np.array([1]), np.array([4]))
        >>> times.mass(np.array([0]), np.array([4])).tolist()
        [0.25]
        """
        count = self.hi[event] - self.lo[event] + 1
        result = 1 / count
        if self.shapes is not None:
            place = time - self.lo[event] + 1
            kind = self.shapes.kind[event]
            peak = np.minimum(place, count + 1 - place) / _triangle(count)
            result = np.where(kind == TRIANGULAR, peak, result)
            result = np.where(kind == WEIGHTED, self._weighed(event, place, place - 1), result)
        return np.asarray(result)

    def until(self, event: Numbers, time: Numbers) -> Chances:
        """The probability that each event is no later than that.

        >>> times = PossibleTimes(np.array([1]), np.array([4]))
        >>> times.until(np.zeros(4, np.int64), np.array([0, 1, 4, 7])).tolist()
        [0.0, 0.25, 1.0, 1.0]
        """
        count = self.hi[event] - self.lo[event] + 1
        place = np.clip(time - self.lo[event] + 1, 0, count)
        result = place / count
        if self.shapes is not None:
            kind = self.shapes.kind[event]
            result = np.where(kind == TRIANGULAR, _up_to(place, count) / _triangle(count), result)
            result = np.where(kind == WEIGHTED, self._weighed(event, place, 0 * place), result)
        return np.asarray(result)

    def after(self, event: Numbers, time: Numbers) -> Chances:
        """The probability that each event is later than that; not rounded twice, as 1 less `until` would be.

        >>> times = PossibleTimes(np.array([1]), np.array([3]))
        >>> times.after(np.zeros(2, np.int64), np.array([0, 2])).tolist()
        [1.0, 0.3333333333333333]
        """
        count = self.hi[event] - self.lo[event] + 1
        left = np.clip(self.hi[event] - time, 0, count)
        result = left / count
        if self.shapes is not None:
            kind = self.shapes.kind[event]
            # The triangle is the same from both sides.
            result = np.where(kind == TRIANGULAR, _up_to(left, count) / _triangle(count), result)
            result = np.where(kind == WEIGHTED, self._weighed(event, count, count - left), result)
        return np.asarray(result)

    def _weighed(self, event: Numbers, place: Numbers, before: Numbers) -> Chances:
        """Of weighted events, the probability of the times from after place `before` up to `place`."""
        assert self.shapes is not None, "some events have a shape"
        weighted = self.shapes.kind[event] == WEIGHTED
        first = np.where(weighted, self.shapes.first[event], 0)
        until = self.shapes.until if len(self.shapes.until) else np.zeros(1)
        upper, lower = np.where(weighted, place, 0), np.where(weighted, before, 0)
        return np.asarray(until[first + upper] - until[first + lower])


def _triangle(count: Numbers) -> Numbers:
    """The sum of the weights 1, 2, ... up to the middle, and down again to 1.

    >>> _triangle(np.array([1, 2, 3, 4])).tolist()
    [1, 2, 4, 6]
    """
    return np.asarray((count + 1) * (count + 1) // 4)


def _up_to(place: Numbers, count: Numbers) -> Numbers:
    """The sum of the first of these weights.

    >>> _up_to(np.arange(5), np.array(4)).tolist()
    [0, 1, 3, 5, 6]
    """
    left = count - place
    rising, falling = place * (place + 1) // 2, _triangle(count) - left * (left + 1) // 2
    return np.asarray(np.where(2 * place <= count, rising, falling))


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
