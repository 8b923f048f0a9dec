"""Deterministic automata over the rows of partitions, with tables that are computed as far as rows need them.

Many partitions are read at the same time, one row of each: a step is one look into the table for all of them.
A long partition is read as if it was many. Each piece begins in a state that is a guess; once the state
before it is known, its rows are read again from there, until a state is what it was: from then on the guess
was right. Row patterns forget after a few rows what was before, mostly; where one does not, all its rows are
read again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.failures import FailureDetails, KernelFailure
from neelc.runtime.kernels.rows.program import ACCEPT, Machine
from neelc.runtime.late_dataclass import dataclass

Ints = NDArray[np.int64]

FEW = 24
"""Up to this many partitions are read one after the other."""
LONG = 20_000
"""A partition with at least this many rows is read in pieces."""
PATIENCE = 50
"""How many rows are compared with a guess before the guess is given up for the rest of the piece."""
UNKNOWN = -1


class RowAutomaton(ABC):
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


# From which rows, and in which places of the pattern, a match can still be completed.
#
# Read from the last row of a partition to its first, that is a deterministic automaton: its states are sets
# of places, those that can take the row and lead to the end of the pattern. So no attempt to match ever has
# to be given up, and the time is linear in the number of rows.
#
# A partition that may get more rows is *open*. There are two sets then: the places that lead to the
# end of the pattern whatever comes, and those that may. Where both are the same, as they are a few rows
# before the last one mostly, what comes makes no difference.


class ViablePlaces(NamedTuple):
    """Places, as masks: those that can be completed for certain, and those that can be, perhaps."""

    sure: int
    possible: int


class Viability(RowAutomaton):
    """Reads masks of variables, which `alphabet` numbers. `sets` are its states; state 0 is the one behind
    the last row: nothing comes there, or anything if the partition is open.

    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((1,), (1, ACCEPT)), (False, True))  # A B+
    >>> viability = Viability(machine, [0b01, 0b10])
    >>> [tuple(viability.sets[state]) for state in (viability.step(0, 1), viability.step(1, 0))]
    [(2, 2), (1, 1)]
    >>> viability = Viability(machine, [0b01, 0b10], is_open=True)
    >>> [tuple(viability.sets[state]) for state in (viability.step(0, 1), viability.step(0, 0))]
    [(2, 2), (0, 1)]
    """

    def __init__(self, machine: Machine, alphabet: list[int], is_open: bool = False) -> None:
        super().__init__(8, len(alphabet))
        self.machine = machine
        self.is_open = is_open
        self.follows = [sum(1 << choice for choice in set(ways) - {ACCEPT}) for ways in machine.after]
        self.accepts = [ACCEPT in ways for ways in machine.after]
        self.takers = [
            [place for place, variable in enumerate(machine.variables) if letter >> variable & 1]
            for letter in alphabet
        ]
        self.sets = [ViablePlaces(0, (1 << len(machine.after)) - 1 if is_open else 0)]
        self.numbers: dict[ViablePlaces, int] = {}

    def computed(self, state: int, letter: int) -> int:
        places = self._places(state, letter)
        known = self.numbers.get(places)
        if known is None:
            known = self.numbers[places] = len(self.sets)
            self.sets.append(places)
            self.grow(len(self.sets))
        return known

    def _places(self, beyond: int, letter: int) -> ViablePlaces:
        """The places that can take a row, if those of the row after it are in the state `beyond`."""
        sure, possible = self.sets[beyond]
        found = self._takers(letter, sure, beyond == 0 and not self.is_open)
        if sure == possible:
            return ViablePlaces(found, found)
        return ViablePlaces(found, self._takers(letter, possible, beyond == 0))

    def _takers(self, letter: int, viable: int, may_end: bool) -> int:
        """The places that can take a row, if these can take the next one; or if there is none (`may_end`)."""
        ends = self.machine.ends
        found = (
            place
            for place in self.takers[letter]
            if self.accepts[place] or self.follows[place] & viable or (may_end and ends[place])
        )
        return sum(1 << place for place in found)


# Matches as columns.


@dataclass(frozen=True)
class RowMatches:
    """Matches, one after the other: each takes `length` rows from `start` on, none if it is empty. `places`
    are those of all their rows, `number` the number of each in its partition."""

    start: Ints
    length: Ints
    places: Ints
    number: Ints


def numbered(starts: Ints, heads: Ints) -> Ints:
    """The number of each match in its partition, from 1; they are in order.

    >>> numbered(np.array([1, 4, 7, 9]), np.array([0, 6])).tolist()
    [1, 2, 1, 2]
    """
    before = np.searchsorted(starts, heads)
    segment = np.searchsorted(heads, starts, side="right") - 1
    return np.arange(1, len(starts) + 1) - before[segment]


def listed(starts: Sequence[int], lengths: Sequence[int], places: Sequence[int], heads: Ints) -> RowMatches:
    """Matches that were found one by one."""
    start, length, flat = (np.array(values, dtype=np.int64) for values in (starts, lengths, places))
    return RowMatches(start, length, flat, numbered(start, heads))


# Failures that belong to a row: whoever has the columns adds its key.


class RowFailure(KernelFailure):
    """A failure in the partition of a row."""

    def __init__(self, facts: FailureDetails, row: int) -> None:
        super().__init__(facts)
        self.row = row
