"""Matches that may not reach further than a window, if no condition depends on the path.

What counts is no longer whether a match can be completed, but how early: `earliest[row, place]` is the first
row with which a match that takes a row in a place can end. It follows from the row after it, so partitions
are read from their ends, all of them at the same time. Where windows are short, so are the pieces that long
partitions are cut into: a window more is read behind each, as nothing further matters to its rows.
"""

from __future__ import annotations

from functools import reduce
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.letters import Reading
from neelc.runtime.rows.preference import NONE
from neelc.runtime.rows.program import ACCEPT, Choices, Machine

NEVER = np.iinfo(np.int32).max

PIECES = 24
"""Windows are short if all rows could be cut into so many pieces of one window."""


class WindowedWays:
    """The ways through rows that can be read so. A match from row s ends at row `limit[s]` or before."""

    def __init__(self, machine: Machine, read: Reading, heads: Ints, limit: Ints) -> None:
        self.machine, self.limit = machine, limit
        if are_short(limit):
            found = earliest_in_pieces(machine, read.masks, read.heads, widest(limit))
        else:
            found = earliest(machine, read.masks, read.heads)
        count = len(limit)
        for number in range(1, read.kinds):
            part = found[number * count : (number + 1) * count]
            part[part != NEVER] -= number * count
        self.earliest = found
        self.offset = None if read.kind is None else read.kind * count
        most = max((len(ways) for ways in machine.after), default=0)
        padded = [[*ways, *[NONE] * (most - len(ways))] for ways in machine.after]
        self.choices = np.array(padded, dtype=np.int64).reshape(len(machine.after), most)
        rows = np.arange(count)
        begins = self._first(machine.start, rows)
        begins[heads] = self._first(machine.first, heads)
        self.starts = np.flatnonzero(begins != NONE)
        self.begins = begins[self.starts]

    def _first(self, choices: Choices, rows: Ints) -> Ints:
        """The preferred choice at each row for a match that begins there."""
        found, limit, read = (
            np.full(len(rows), NONE, dtype=np.int64),
            self.limit[rows],
            self._read(rows, rows),
        )
        for one in reversed(choices):
            found[self._is_possible(np.full(len(rows), one), read, limit)] = one
        return found

    def after(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        found, limit = np.full(len(places), ACCEPT, dtype=np.int64), self.limit[starts]
        read = self._read(rows, starts)
        for column in reversed(range(self.choices.shape[1])):
            one = self.choices[places, column]
            possible = self._is_possible(one, read, limit)
            found[possible] = one[possible]
        return found

    def _read(self, rows: Ints, starts: Ints) -> Ints:
        """Where rows are read, by matches from `starts`."""
        return rows if self.offset is None else rows + self.offset[starts]

    def _is_possible(self, choice: Ints, read: Ints, limit: Ints) -> NDArray[np.bool_]:
        reached: NDArray[np.bool_] = self.earliest[read, np.maximum(choice, 0)] <= limit
        possible: NDArray[np.bool_] = (choice == ACCEPT) | ((choice >= 0) & reached)
        return possible


def earliest(machine: Machine, masks: Ints, heads: Ints) -> NDArray[np.int32]:
    """For each row and place the first row that can end the match, NEVER if there is none.

    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((0, 1), (ACCEPT,)), (False, True))  # A+ B
    >>> earliest(machine, np.array([0b01, 0b01, 0b11]), np.array([0])).tolist()
    [[2, 2147483647], [2, 2147483647], [2147483647, 2]]
    """
    count = len(masks)
    found = np.full((count, max(len(machine.after), 1)), NEVER, dtype=np.int32)
    if not machine.after:  # all matches are empty
        return found
    tails = np.append(heads[1:], count)
    order = np.argsort(heads - tails, kind="stable")
    active = len(heads) - np.cumsum(np.bincount(tails - heads))
    rows, beyond = tails[order] - 1, None
    for lanes in active[active > 0].tolist():
        rows = rows[:lanes]
        letters, own = masks[rows], rows.astype(np.int32)
        ends = [_ends(machine, place, own, beyond) for place in range(len(machine.after))]
        beyond = [
            np.where(letters >> machine.variables[place] & 1, end, NEVER) for place, end in enumerate(ends)
        ]
        found[rows] = np.stack(beyond, axis=1)
        rows = rows - 1
    return found


def widest(limit: Ints) -> int:
    """The rows of the longest window."""
    return int((limit - np.arange(len(limit))).max(initial=0)) + 1


def are_short(limit: Ints) -> bool:
    return PIECES * widest(limit) <= len(limit)


def earliest_in_pieces(machine: Machine, masks: Ints, heads: Ints, window: int) -> NDArray[np.int32]:
    """`earliest`, as far as it is inside of a window of so many rows; behind that it may be anything later.

    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((0, 1), (ACCEPT,)), (False, True))  # A+ B
    >>> earliest_in_pieces(machine, np.array([0b01, 0b10, 0b01, 0b10]), np.array([0]), 2)[:, 0].tolist()
    [1, 2147483647, 3, 2147483647]
    """
    count = len(masks)
    length = max(window, isqrt(count))
    tails = np.append(heads[1:], count)
    cuts = [np.arange(head, tail, length) for head, tail in zip(heads.tolist(), tails.tolist(), strict=True)]
    begins = np.concatenate(cuts)
    last = np.repeat(tails, [len(one) for one in cuts])
    sizes = np.minimum(begins + length + window, last) - begins
    first = np.cumsum(sizes) - sizes
    moved = np.repeat(begins - first, sizes)
    rows = np.arange(len(moved)) + moved
    own = rows < np.repeat(np.minimum(begins + length, last), sizes)
    found = earliest(machine, masks[rows], first)[own]
    return np.where(found == NEVER, NEVER, found + moved[own, None]).astype(np.int32)


def _ends(
    machine: Machine, place: int, rows: NDArray[np.int32], beyond: list[NDArray[np.int32]] | None
) -> NDArray[np.int32]:
    """The first end of a match that has taken rows in a place; `beyond` has those of the rows after them."""
    ways = machine.after[place]
    if machine.ends[place] if beyond is None else ACCEPT in ways:
        return rows
    then = [] if beyond is None else [beyond[one][: len(rows)] for one in ways]
    return reduce(np.minimum, then) if then else np.full(len(rows), NEVER, dtype=np.int32)


def row_limits(heads: Ints, count: int, most: int) -> Ints:
    """The last row of each match that has at most so many rows.

    >>> row_limits(np.array([0, 3]), 5, 2).tolist()
    [1, 2, 2, 4, 4]
    """
    return np.minimum(np.arange(count) + (most - 1), _tails(heads, count) - 1)


def time_limits(times: Ints, valid: NDArray[np.bool_], heads: Ints, reach: int) -> Ints:
    """The last row whose time differs by at most `reach` from each row's, the row before it if it has none.
    Times rise, or fall; those that are NULL come first or last.

    >>> times, valid = np.array([1, 3, 9, 5, 6]), np.array([True, True, True, True, False])
    >>> time_limits(times, valid, np.array([0, 3]), 2).tolist()
    [1, 1, 2, 3, 3]
    """
    count = len(times)
    low = np.arange(count) - 1
    high = np.where(valid, _tails(heads, count) - 1, low)
    while (low < high).any():
        middle = (low + high + 1) // 2
        later, own = times[middle], times
        apart = np.where(later >= own, later - own, own - later).view(np.uint64)
        inside = valid[middle] & (apart <= np.uint64(reach))
        low, high = np.where(inside, middle, low), np.where(inside, high, middle - 1)
        low = np.minimum(low, high)
    return low


def _tails(heads: Ints, count: int) -> Ints:
    return np.repeat(np.append(heads[1:], count), np.diff(heads, append=count))
