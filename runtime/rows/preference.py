"""Matches with AFTER MATCH SKIP PAST LAST ROW where no condition depends on the path, in one pass.

At each row the preferred choice that can be completed is the right one. Which it is depends on the place that
took the row before, if any, and on what is viable: again a deterministic automaton, which reads forwards what
the other one found backwards.
"""

from __future__ import annotations

import numpy as np

from neelc.runtime.rows.automaton import Automaton, Ints
from neelc.runtime.rows.matches import Matches, numbered
from neelc.runtime.rows.program import ACCEPT, Choices
from neelc.runtime.rows.viability import Viability

NONE = -2
"""No choice can be completed."""

HEAD, IDLE, EMPTY, PLACES = 0, 1, 2, 4
"""States: before the first row; a row without a match; one with an empty match. From PLACES on, place p that
goes on with a match is PLACES + 2 p, and that begins one is PLACES + 2 p + 1, so the last bit tells which."""


class Preference(Automaton):
    """Reads the states of `Viability`."""

    def __init__(self, viability: Viability) -> None:
        self.machine, self.sets = viability.machine, viability.sets
        super().__init__(PLACES + 2 * len(self.machine.after), len(self.sets))

    def computed(self, state: int, letter: int) -> int:
        viable = self.sets[letter]
        if state >= PLACES:
            place = choice(self.machine.after[(state - PLACES) // 2], viable)
            if place != ACCEPT:
                return PLACES + 2 * place
        place = choice(self.machine.first if state == HEAD else self.machine.start, viable)
        return {NONE: IDLE, ACCEPT: EMPTY}.get(place, PLACES + 2 * place + 1)


def choice(choices: Choices, viable: int) -> int:
    """The preferred choice that can be completed.

    >>> choice((0, 1, ACCEPT), 0b10), choice((0, ACCEPT), 0b10), choice((0,), 0b10) == NONE
    (1, -1, True)
    """
    for one in choices:
        if one == ACCEPT or viable >> one & 1:
            return one
    return NONE


def matches_past_last_row(viability: Viability, states: Ints, heads: Ints) -> Matches:
    """The matches in rows that have these states of `viability`."""
    found = Preference(viability).states(states, heads, backwards=False)
    taken = found >= PLACES
    begins = np.flatnonzero((taken & (found & 1 == 1)) | (found == EMPTY))
    before = np.concatenate([[0], np.cumsum(taken)])
    lengths = np.diff(before[begins], append=before[-1])
    return Matches(begins, lengths, (found[taken] - PLACES) >> 1, numbered(begins, heads))
