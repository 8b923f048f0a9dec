"""Matches where no condition depends on the path: from each row at which one can begin, the preferred choices
that can be completed, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.matches import Matches, listed, numbered
from neelc.runtime.rows.preference import NONE, choice
from neelc.runtime.rows.program import ACCEPT
from neelc.runtime.rows.viability import Viability

NextStart = Callable[[int, list[int]], int]
"""The row at which the next match may start, after one from a row with these places."""

ROWS_AT_ONCE = 2_000_000
"""About so many rows of matches are held at the same time."""
UNKNOWN = -3


class Walk:
    """The way through rows that have these states of `viability`; partitions begin at `heads`."""

    def __init__(self, viability: Viability, states: Ints, heads: Ints) -> None:
        self.machine, self.sets, self.states, self.heads = viability.machine, viability.sets, states, heads
        self.choices: dict[tuple[int, int], int] = {}
        begin = np.array([choice(self.machine.start, places) for places in self.sets])
        begin_first = np.array([choice(self.machine.first, places) for places in self.sets])
        begins = begin[states]
        begins[heads] = begin_first[states[heads]]
        self.starts = np.flatnonzero(begins != NONE)
        self.begins = begins[self.starts]
        self.tails = np.append(heads[1:], len(states))

    def after(self, place: int, state: int) -> int:
        """The choice after a place, at a row with a state."""
        key = (place, state)
        found = self.choices.get(key)
        if found is None:
            found = self.choices[key] = choice(self.machine.after[place], self.sets[state])
        return found

    def one_by_one(self, next_start: NextStart) -> Matches:
        """Each match starts where `next_start` of the one before says, or later."""
        tails, states = self.tails.tolist(), self.states.tolist()
        start: list[int] = []
        length: list[int] = []
        found: list[int] = []
        segment, tail, beyond = -1, 0, 0
        for row, place in zip(self.starts.tolist(), self.begins.tolist(), strict=True):
            while row >= tail:
                segment += 1
                tail = tails[segment]
            if row < beyond:
                continue
            places: list[int] = []
            at = row
            while place != ACCEPT:
                places.append(place)
                at += 1
                if at == tail:
                    break
                place = self.after(place, states[at])
            start.append(row)
            length.append(at - row)
            found += places
            beyond = next_start(row, places) if places else row + 1
        return listed(start, length, found, self.heads)

    def from_every_row(self) -> Iterator[Matches]:
        """A match from every row at which one can begin, some at a time; all of these advance together."""
        number = numbered(self.starts, self.heads)
        lengths = self._lengths()
        piece = np.cumsum(lengths) // ROWS_AT_ONCE
        for part in np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(piece)) + 1):
            offsets = np.cumsum(lengths[part]) - lengths[part]
            places = np.empty(int(lengths[part].sum()), dtype=np.int64)
            for step, matches, at in self._advance(part):
                places[offsets[matches - part[0]] + step] = at
            yield Matches(self.starts[part], lengths[part], places, number[part])

    def _lengths(self) -> Ints:
        lengths = np.zeros(len(self.starts), dtype=np.int64)
        for step, matches, _ in self._advance(np.arange(len(self.starts))):
            lengths[matches] = step + 1
        return lengths

    def _advance(self, matches: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """Row by row: the number of the row in its match, the matches that have so many, and their places."""
        table = np.full((len(self.machine.after), len(self.sets)), UNKNOWN, dtype=np.int64)
        rows, places = self.starts[matches], self.begins[matches]
        tails = self.tails[np.searchsorted(self.heads, rows, side="right") - 1]
        step = 0
        while True:
            going = places != ACCEPT
            matches, rows, places, tails = (column[going] for column in (matches, rows, places, tails))
            if not len(matches):
                return
            yield step, matches, places
            step += 1
            inside = rows + 1 < tails
            matches, rows, places, tails = (column[inside] for column in (matches, rows + 1, places, tails))
            states = self.states[rows]
            after = table[places, states]
            if (after == UNKNOWN).any():
                for one, other in np.unique(
                    np.stack([places, states])[:, after == UNKNOWN], axis=1
                ).T.tolist():
                    table[one, other] = self.after(one, other)
                after = table[places, states]
            places = after
