"""From which rows, and in which places of the pattern, a match can still be completed.

Read from the last row of a partition to its first, that is a deterministic automaton: its states are sets of
places, `viable[row]` is the set of the places that can take the row and lead to the end of the pattern. It
is computed as far as the rows need it. So no attempt to match ever has to be given up, and the time is linear
in the number of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.rows.program import ACCEPT, Machine

Ints = NDArray[np.int64]

FEW = 48
"""So many partitions or fewer are read one after the other; more, all at the same time."""


class Viability:
    """The automaton that reads backwards. `sets` are its states as masks of places; state 0 is the one behind
    the last row."""

    def __init__(self, machine: Machine, alphabet: list[int]) -> None:
        self.machine = machine
        self.follows = [sum(1 << choice for choice in set(ways) - {ACCEPT}) for ways in machine.after]
        self.accepts = [ACCEPT in ways for ways in machine.after]
        self.takers = [
            [place for place, variable in enumerate(machine.variables) if letter >> variable & 1]
            for letter in alphabet
        ]
        self.sets = [0]
        self.numbers = {}  # type: dict[int, int]
        self.table = np.full((8, len(alphabet)), -1, dtype=np.int64)

    def step(self, beyond: int, letter: int) -> int:
        """The state at a row with a letter, if the state of the row after it is `beyond`."""
        if self.table[beyond, letter] < 0:
            self.table[beyond, letter] = self._number(self._places(beyond, letter))
        return int(self.table[beyond, letter])

    def _places(self, beyond: int, letter: int) -> int:
        if beyond == 0:
            ends = self.machine.ends
            return sum(1 << place for place in self.takers[letter] if ends[place])
        viable = self.sets[beyond]
        found = (p for p in self.takers[letter] if self.accepts[p] or self.follows[p] & viable)
        return sum(1 << place for place in found)

    def _number(self, places: int) -> int:
        known = self.numbers.get(places)
        if known is None:
            known = self.numbers[places] = len(self.sets)
            self.sets.append(places)
            if known >= len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, -1)])
        return known

    def states(self, letters: Ints, heads: Ints) -> Ints:
        """The state at each row; partitions begin at `heads`."""
        states = np.empty(len(letters), dtype=np.int64)
        tails = np.append(heads[1:], len(letters))
        if len(heads) > FEW:
            few = self._together(letters, heads, tails, states)
        else:
            few = np.arange(len(heads)), tails.copy(), np.zeros(len(heads), dtype=np.int64)
        for number, tail, state in zip(*few, strict=True):
            self._one(letters, int(heads[number]), int(tail), int(state), states)
        return states

    def _together(self, letters: Ints, heads: Ints, tails: Ints, states: Ints) -> tuple[Ints, Ints, Ints]:
        """Read all partitions at the same time, until few are left: those, how far they are, their states."""
        numbers = np.argsort(heads - tails, kind="stable")  # the longest first: the others fall off the end
        lengths = (tails - heads)[numbers]
        rows = tails[numbers]
        state = np.zeros(len(numbers), dtype=np.int64)
        done = 0
        active = len(numbers)
        while active > FEW:
            rows, state = rows[:active] - 1, state[:active]
            letter = letters[rows]
            after = self.table[state, letter]
            if (after < 0).any():
                missing = np.unique(np.stack([state, letter])[:, after < 0], axis=1)
                for one, other in missing.T.tolist():
                    self.step(one, other)
                after = self.table[state, letter]
            states[rows] = state = after
            done += 1
            active = int(np.searchsorted(-lengths, -done, side="left"))
        return numbers[:active], rows[:active], state[:active]

    def _one(self, letters: Ints, head: int, tail: int, state: int, states: Ints) -> None:
        """Read one partition from the row before `tail` to the one at `head`."""
        table = self.table.tolist()
        found = []
        for letter in letters[head:tail][::-1].tolist():
            after = table[state][letter]
            if after < 0:
                after = self.step(state, letter)
                table = self.table.tolist() if len(self.table) > len(table) else table
                table[state][letter] = after
            found.append(after)
            state = after
        states[head:tail] = found[::-1]
