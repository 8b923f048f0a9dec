"""From which rows, and in which places of the pattern, a match can still be completed.

Read from the last row of a partition to its first, that is a deterministic automaton: its states are sets of
places, those that can take the row and lead to the end of the pattern. So no attempt to match ever has to be
given up, and the time is linear in the number of rows.

A partition of which more rows may come is *open*. There are two sets then: the places that lead to the end of
the pattern whatever comes, and those that may. Where both are the same, as they are a few rows before the
last one mostly, what comes makes no difference.
"""

from __future__ import annotations

from typing import NamedTuple

from neelc.runtime.rows.automaton import Automaton
from neelc.runtime.rows.program import ACCEPT, Machine


class Viable(NamedTuple):
    """Places, as masks: those that can be completed for certain, and those that can be, perhaps."""

    sure: int
    possible: int


class Viability(Automaton):
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
        self.sets = [Viable(0, (1 << len(machine.after)) - 1 if is_open else 0)]
        self.numbers: dict[Viable, int] = {}

    def computed(self, state: int, letter: int) -> int:
        places = self._places(state, letter)
        known = self.numbers.get(places)
        if known is None:
            known = self.numbers[places] = len(self.sets)
            self.sets.append(places)
            self.grow(len(self.sets))
        return known

    def _places(self, beyond: int, letter: int) -> Viable:
        """The places that can take a row, if those of the row after it are in the state `beyond`."""
        sure, possible = self.sets[beyond]
        found = self._takers(letter, sure, beyond == 0 and not self.is_open)
        if sure == possible:
            return Viable(found, found)
        return Viable(found, self._takers(letter, possible, beyond == 0))

    def _takers(self, letter: int, viable: int, may_end: bool) -> int:
        """The places that can take a row, if these can take the next one; or if there is none (`may_end`)."""
        ends = self.machine.ends
        found = (
            place
            for place in self.takers[letter]
            if self.accepts[place] or self.follows[place] & viable or (may_end and ends[place])
        )
        return sum(1 << place for place in found)
