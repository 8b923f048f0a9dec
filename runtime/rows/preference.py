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
from neelc.runtime.rows.viability import Viability, Viable

NONE = -2
"""No choice can be completed."""

UNDECIDED = -3
"""Which choice is the preferred one depends on rows that have not come yet."""

HEAD, IDLE, EMPTY, WAITS, PLACES = 0, 1, 2, 3, 4
"""States: before the first row; a row without a match; one with an empty match; one at which it is undecided
what happens. From PLACES on, place p that goes on with a match is PLACES + 2 p, and that begins one is
PLACES + 2 p + 1, so the last bit tells which."""


class Preference(Automaton):
    """Reads the states of `Viability`."""

    def __init__(self, viability: Viability) -> None:
        self.machine, self.sets = viability.machine, viability.sets
        super().__init__(PLACES + 2 * len(self.machine.after), len(self.sets))

    def computed(self, state: int, letter: int) -> int:
        viable = self.sets[letter]
        if state >= PLACES:
            place = choice(self.machine.after[(state - PLACES) // 2], viable)
            if place == UNDECIDED:
                return WAITS
            if place != ACCEPT:
                return PLACES + 2 * place
        place = choice(self.machine.first if state == HEAD else self.machine.start, viable)
        return {NONE: IDLE, ACCEPT: EMPTY, UNDECIDED: WAITS}.get(place, PLACES + 2 * place + 1)

    def decided(self, states: Ints, found: Ints) -> int:
        """How many rows of an open partition are decided: those before the first that is not, or before the
        match that it may belong to. Behind the last row anything may come."""
        end = len(states) - 1
        waits = np.flatnonzero(found == WAITS)
        at = int(waits[0]) if len(waits) else end
        if at == 0 or found[at - 1] < PLACES:
            return at
        after = self.machine.after[(int(found[at - 1]) - PLACES) // 2]
        if choice(after, self.sets[int(states[at])]) == ACCEPT:
            return at
        begun = np.flatnonzero(found[:at] & 1 == 1)
        return int(begun[found[begun] >= PLACES][-1])


def choice(choices: Choices, viable: Viable) -> int:
    """The preferred choice that can be completed.

    >>> ends = Viable(0b10, 0b10)
    >>> choice((0, 1, ACCEPT), ends), choice((0, ACCEPT), ends), choice((0,), ends) == NONE
    (1, -1, True)
    >>> choice((0, ACCEPT), Viable(0, 0b1)) == UNDECIDED, choice((ACCEPT, 0), Viable(0, 0b1))
    (True, -1)
    """
    for one in choices:
        if one == ACCEPT or viable.sure >> one & 1:
            return one
        if viable.possible >> one & 1:
            return UNDECIDED
    return NONE


def matches_past_last_row(viability: Viability, states: Ints, heads: Ints) -> tuple[Matches, int]:
    """The matches in rows that have these states of `viability`, and how many rows are decided. An open
    partition has one state more, for the row that comes next."""
    preference = Preference(viability)
    found = preference.states(states, heads, backwards=False)
    decided = len(states)
    if viability.is_open:
        decided = preference.decided(states, found)
        found = found[:decided]
    taken = found >= PLACES
    begins = np.flatnonzero((taken & (found & 1 == 1)) | (found == EMPTY))
    before = np.concatenate([[0], np.cumsum(taken)])
    lengths = np.diff(before[begins], append=before[-1])
    return Matches(begins, lengths, (found[taken] - PLACES) >> 1, numbered(begins, heads)), decided
