"""Deterministic automata over the rows of partitions, with tables that are computed as far as rows need them.

Many partitions are read at the same time, one row of each: a step is one look into the table for all of them.
A long partition is read as if it was many. Each piece begins in a state that is a guess; once the state
before it is known, its rows are read again from there, until a state is what it was: from then on the guess
was right. Row patterns forget after a few rows what was before, mostly; where one does not, all its rows are
read again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

FEW = 24
"""So many partitions or fewer are read one after the other."""
LONG = 20_000
"""From so many rows on, a partition is read in pieces."""
PATIENCE = 50
"""So many rows are compared with a guess before the rest of the piece is read without hope."""
UNKNOWN = -1


class Automaton(ABC):
    """Its states are numbers from 0 on; it begins each partition in state 0."""

    def __init__(self, states: int, letters: int) -> None:
        self.table = np.full((states, letters), UNKNOWN, dtype=np.int64)

    @abstractmethod
    def computed(self, state: int, letter: int) -> int:
        """The state after a letter; `grow` makes room for new ones."""

    def grow(self, states: int) -> None:
        while states > len(self.table):
            self.table = np.concatenate([self.table, np.full_like(self.table, UNKNOWN)])

    def step(self, state: int, letter: int) -> int:
        found = int(self.table[state, letter])
        if found == UNKNOWN:
            found = self.computed(state, letter)
            self.table[state, letter] = found
        return found

    def states(self, letters: Ints, heads: Ints, backwards: bool) -> Ints:
        """The state at each row, in which it has been read; partitions begin at `heads`."""
        states = np.empty(len(letters), dtype=np.int64)
        tails = np.append(heads[1:], len(letters))
        first, beyond, way = (tails - 1, heads - 1, -1) if backwards else (heads, tails, 1)
        for row, end, begun in self._few(letters, first, beyond, way, states):
            if abs(end - row) >= LONG:
                self._in_pieces(letters, row, end, begun, states)
            else:
                self._one(letters, _rows(row, end), begun, states)
        return states

    def _few(
        self, letters: Ints, first: Ints, beyond: Ints, way: int, states: Ints
    ) -> Iterator[tuple[int, int, int]]:
        """Reads many partitions at the same time. What is left of a few: their next rows, ends and states."""
        state = np.zeros(len(first), dtype=np.int64)
        if len(first) > FEW:
            first, beyond, state = self._together(letters, first, beyond, way, states)
        return zip(first.tolist(), beyond.tolist(), state.tolist(), strict=True)

    def _in_pieces(self, letters: Ints, row: int, end: int, state: int, states: Ints) -> None:
        way = 1 if row < end else -1
        pieces = np.arange(row, end, way * isqrt(abs(end - row)))
        ends = np.append(pieces[1:], end)
        for left, stop, begun in self._few(letters, pieces, ends, way, states):
            self._one(letters, _rows(left, stop), begun, states)
        for begin, stop in zip(pieces.tolist(), ends.tolist(), strict=True):
            self._mend(letters, begin, stop, state, states)
            state = int(states[stop - way])

    def _mend(self, letters: Ints, row: int, end: int, state: int, states: Ints) -> None:
        """Reads the rows of a piece again, from the state that was before it, as far as that is another."""
        way = 1 if row < end else -1
        patience = min(abs(end - row), PATIENCE)
        for at in range(row, row + way * patience, way):
            state = self.step(state, int(letters[at]))
            if state == states[at]:
                return
            states[at] = state
        if patience < abs(end - row):
            self._one(letters, _rows(row + way * patience, end), state, states)

    def _together(
        self, letters: Ints, first: Ints, beyond: Ints, way: int, states: Ints
    ) -> tuple[Ints, Ints, Ints]:
        """Reads all partitions until few are left: the next row of these, their ends, their states."""
        lengths = (beyond - first) * way
        order = np.argsort(-lengths, kind="stable")  # the longest first: the others fall off the end
        # How many partitions have a row at each step.
        active = len(lengths) - np.cumsum(np.bincount(lengths))
        rows, state = first[order], np.zeros(len(lengths), dtype=np.int64)
        width = self.table.shape[1]
        steps = 0
        for count in active[active > FEW].tolist():
            rows, state = rows[:count], state[:count]
            letter = letters.take(rows)
            after = self.table.ravel().take(state * width + letter)
            if after.min() == UNKNOWN:
                missing = after == UNKNOWN
                for place in np.unique(state[missing] * width + letter[missing]).tolist():
                    self.step(*divmod(place, width))
                after = self.table.ravel().take(state * width + letter)
            states[rows] = state = after
            rows = rows + way
            steps += 1
        left = order[: int(active[steps])] if steps < len(active) else order[:0]
        return rows[: len(left)], beyond[left], state[: len(left)]

    def _one(self, letters: Ints, rows: slice, state: int, states: Ints) -> None:
        """Reads the rows of one partition."""
        table: dict[int, list[int]] = {}
        found = []
        known = table[state] = self.table[state].tolist()
        for letter in letters[rows].tolist():
            after = known[letter]
            if after == UNKNOWN:
                after = known[letter] = self.step(state, letter)
            if after != state:
                state = after
                if state not in table:
                    table[state] = self.table[state].tolist()
                known = table[state]
            found.append(after)
        states[rows] = found


def _rows(first: int, beyond: int) -> slice:
    """The rows from one to another, which is not among them; forwards or backwards."""
    return slice(first, None if beyond < 0 else beyond, 1 if first < beyond else -1)
