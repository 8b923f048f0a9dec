"""Lists of events, one for each row of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neelc.runtime.kernels.distinct import distinct
from neelc.runtime.kernels.events import Numbers, Truths


@dataclass(frozen=True, eq=False)
class Lists:
    """Row r has the `length[r]` events of the `pool` from `begin[r]` on; no list at all where that is -1.

    Rows that are dropped or repeated leave the pool as it is.
    """

    pool: Numbers
    begin: Numbers
    length: Numbers

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, rows: Numbers | Truths | slice) -> Lists:
        return Lists(self.pool, self.begin[rows], self.length[rows])

    def shifted(self, offset: int) -> Lists:
        """With other numbers for the events."""
        return replace(self, pool=np.where(self.pool < 0, self.pool, self.pool + offset))

    def row_and_place(self) -> tuple[Numbers, Numbers]:
        """For each element, row by row: its row, and where it is in the pool.

        >>> lists = Lists(np.array([7, 8, 9]), np.array([1, 0, 0]), np.array([2, -1, 1]))
        >>> [found.tolist() for found in lists.row_and_place()]
        [[0, 0, 2], [1, 2, 0]]
        """
        counts = np.maximum(self.length, 0)
        row = np.repeat(np.arange(len(counts)), counts)
        return row, np.arange(len(row)) + np.repeat(self.begin - np.cumsum(counts) + counts, counts)

    def appended(self, events: Numbers, count: int) -> Lists:
        """The lists, all of them of `count` elements, with one more."""
        elements = np.empty((len(self), count + 1), np.int64)
        elements[:, :count] = self.pool[self.begin[:, None] + np.arange(count)]
        elements[:, count] = events
        return Lists(elements.ravel(), np.arange(len(self)) * (count + 1), self.length + 1)

    def at(self, place: int) -> Numbers:
        """The element at a place of each list, -1 where a list is shorter."""
        inside = place < self.length
        if not len(self.pool):
            return np.full(len(self), -1)
        return np.where(inside, self.pool[np.where(inside, self.begin + place, 0)], -1)

    def at_place(self, place: str) -> Numbers:
        """The element that a name means: 2, `last-1`; -1 where there is none.

        >>> lists = Lists(np.array([7, 8, 9]), np.array([0, 2]), np.array([2, 1]))
        >>> lists.at_place("2").tolist(), lists.at_place("last-1").tolist()
        ([8, -1], [7, -1])
        """
        if place.isdigit():
            return self.at(int(place) - 1)
        number = self.length - 1 - int(place.removeprefix("last-"))
        if not len(self.pool):
            return np.full(len(self), -1)
        return np.where(number >= 0, self.pool[np.where(number >= 0, self.begin + number, 0)], -1)

    def codes(self) -> Numbers:
        """A number for each row, the same for the same list.

        >>> lists = Lists(np.array([7, 8, 7, 8]), np.array([0, 1, 2, 0]), np.array([2, 1, 2, 0]))
        >>> lists.codes().tolist()
        [2, 1, 2, 0]
        """
        code = self.length
        for place in range(int(self.length.max(initial=0))):
            _, code = distinct([code, self.at(place)])
        return code


def empty(rows: int) -> Lists:
    return Lists(np.zeros(0, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64))


def none(rows: int) -> Lists:
    """No list in any row."""
    return Lists(np.zeros(0, np.int64), np.zeros(rows, np.int64), np.full(rows, -1))


def joined(one: Lists | None, count: int, other: Lists | None, others: int) -> Lists:
    """The lists of `count` rows, and then those of `others`."""
    first, second = one or none(count), other or none(others)
    return Lists(
        np.concatenate((first.pool, second.pool)),
        np.concatenate((first.begin, second.begin + len(first.pool))),
        np.concatenate((first.length, second.length)),
    )


def contains(lists: Lists, row: Numbers, event: Numbers) -> Truths:
    """For each pair of a row and an event: whether the row's list has the event.

    >>> lists = Lists(np.array([7, 8, 9]), np.array([0, 2]), np.array([2, 1]))
    >>> contains(lists, np.array([0, 0, 1]), np.array([8, 9, 9])).tolist()
    [True, False, True]
    """
    found = np.zeros(len(row), bool)
    for place in range(int(lists.length.max(initial=0))):
        found |= lists.at(place)[row] == event
    return found
