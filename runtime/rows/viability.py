"""From which rows, and in which places of the pattern, a match can still be completed.

Read from the last row of a partition to its first, that is a deterministic automaton: its states are sets of
places, those that can take the row and lead to the end of the pattern. So no attempt to match ever has to be
given up, and the time is linear in the number of rows.
"""

from __future__ import annotations

from neelc.runtime.rows.automaton import Automaton
from neelc.runtime.rows.program import ACCEPT, Machine


class Viability(Automaton):
    """Reads masks of variables, which `alphabet` numbers. `sets` are its states as masks of places; state 0
    is the one behind the last row, which is not a set.

    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((1,), (1, ACCEPT)), (False, True))  # A B+
    >>> viability = Viability(machine, [0b01, 0b10])
    >>> viability.sets[viability.step(0, 1)], viability.sets[viability.step(viability.step(0, 1), 0)]
    (2, 1)
    """

    def __init__(self, machine: Machine, alphabet: list[int]) -> None:
        super().__init__(8, len(alphabet))
        self.machine = machine
        self.follows = [sum(1 << choice for choice in set(ways) - {ACCEPT}) for ways in machine.after]
        self.accepts = [ACCEPT in ways for ways in machine.after]
        self.takers = [
            [place for place, variable in enumerate(machine.variables) if letter >> variable & 1]
            for letter in alphabet
        ]
        self.sets = [0]
        self.numbers: dict[int, int] = {}

    def computed(self, state: int, letter: int) -> int:
        places = self._places(state, letter)
        known = self.numbers.get(places)
        if known is None:
            known = self.numbers[places] = len(self.sets)
            self.sets.append(places)
            self.grow(len(self.sets))
        return known

    def _places(self, beyond: int, letter: int) -> int:
        """The places that can take a row, if those of the row after it are in the state `beyond`."""
        if beyond == 0:
            ends = self.machine.ends
            return sum(1 << place for place in self.takers[letter] if ends[place])
        viable = self.sets[beyond]
        found = (p for p in self.takers[letter] if self.accepts[p] or self.follows[p] & viable)
        return sum(1 << place for place in found)
