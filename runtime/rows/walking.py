"""Matches where no condition depends on the path: from each row at which one can begin, the preferred choices
that can be completed, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.matches import Matches, listed, numbered
from neelc.runtime.rows.preference import NONE, UNDECIDED, choice
from neelc.runtime.rows.program import ACCEPT
from neelc.runtime.rows.viability import Viability

NextStart = Callable[[int, list[int]], int]
"""The row at which the next match may start, after one from a row with these places."""

ROWS_AT_ONCE = 2_000_000
"""About so many rows of matches are held at the same time."""


class Ways(Protocol):
    """How matches go through rows: `starts` are the rows at which one can begin, `begins` the places that
    take them, ACCEPT for an empty match, UNDECIDED where that depends on rows that have not come."""

    starts: Ints
    begins: Ints

    def after(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        """The choices after places, at the next rows, of matches from `starts`."""


def limit_starts(ways: Ways, first: int, beyond: int) -> None:
    """Matches begin at the row `first` or later, and before `beyond`."""
    kept = slice(*np.searchsorted(ways.starts, [first, beyond]).tolist())
    ways.starts, ways.begins = ways.starts[kept], ways.begins[kept]


class ViableWays:
    """The ways through rows that have these states of `viability`; partitions begin at `heads`. Matches from
    rows of different kinds go through different states: `offset` says where those of each row begin."""

    def __init__(self, viability: Viability, states: Ints, heads: Ints, offset: Ints | None = None) -> None:
        self.machine, self.sets, self.states, self.offset = viability.machine, viability.sets, states, offset
        begin = np.array([choice(self.machine.start, places) for places in self.sets])
        begin_first = np.array([choice(self.machine.first, places) for places in self.sets])
        own = states if offset is None else states[np.arange(len(offset)) + offset]
        self.count = len(own)
        begins = begin[own]
        begins[heads] = begin_first[own[heads]]
        self.starts = np.flatnonzero(begins != NONE)
        self.begins = begins[self.starts]
        self.choices: dict[tuple[int, int], int] = {}
        self.table = np.zeros(0, dtype=np.int64)

    def after(self, places: Ints, rows: Ints, starts: Ints) -> Ints:
        width = len(self.sets)
        if not len(self.table):
            self.table = np.full(len(self.machine.after) * width, 2 * NONE, dtype=np.int64)
        asked = places * width + self.states[rows if self.offset is None else rows + self.offset[starts]]
        found: Ints = self.table[asked]
        unknown = found == 2 * NONE
        if unknown.any():
            for one in np.unique(asked[unknown]).tolist():
                self.table[one] = self.choice(*divmod(one, width))
            found = self.table[asked]
        return found

    def choice(self, place: int, state: int) -> int:
        """The choice after a place, at a row with a state."""
        key = (place, state)
        found = self.choices.get(key)
        if found is None:
            found = self.choices[key] = choice(self.machine.after[place], self.sets[state])
        return found


def one_by_one(ways: ViableWays, heads: Ints, next_start: NextStart) -> tuple[Matches, int | None]:
    """Each match starts where `next_start` of the one before says, or later. The first row from which it is
    undecided whether one starts; None if there is no such row."""
    tails, states = np.append(heads[1:], ways.count).tolist(), ways.states.tolist()
    offset = np.zeros(ways.count, dtype=np.int64) if ways.offset is None else ways.offset
    start: list[int] = []
    length: list[int] = []
    found: list[int] = []
    segment, tail, beyond, undecided = -1, 0, 0, None
    columns = (ways.starts, ways.begins, offset[ways.starts])
    for row, place, shift in zip(*(column.tolist() for column in columns), strict=True):
        while row >= tail:
            segment += 1
            tail = tails[segment]
        if row < beyond:
            continue
        places: list[int] = []
        at = row
        while place >= 0:
            places.append(place)
            at += 1
            if at == tail:
                break
            place = ways.choice(place, states[at + shift])
        if place == UNDECIDED:
            undecided = row
            break
        start.append(row)
        length.append(at - row)
        found += places
        beyond = next_start(row, places) if places else row + 1
    return listed(start, length, found, heads), undecided


def from_every_row(ways: Ways, heads: Ints, count: int) -> tuple[Iterator[Matches], int | None]:
    """A match from every row at which one can begin, up to the first row from which that is undecided; None
    if there is no such row. All matches advance together."""
    everywhere = np.arange(len(ways.starts))
    lengths = np.zeros(len(ways.starts), dtype=np.int64)
    decided = len(everywhere)
    for step, matches, places in _advance(ways, heads, count, everywhere):
        if places.min() == UNDECIDED:
            decided = min(decided, int(matches[places == UNDECIDED].min()))
        lengths[matches] = step + 1
    undecided = int(ways.starts[decided]) if decided < len(everywhere) else None
    return _in_parts(ways, heads, count, everywhere[:decided], lengths[:decided]), undecided


def _in_parts(ways: Ways, heads: Ints, count: int, everywhere: Ints, lengths: Ints) -> Iterator[Matches]:
    """The matches of these numbers, some at a time."""
    number = numbered(ways.starts, heads)
    piece = np.cumsum(lengths) // ROWS_AT_ONCE
    for part in np.split(everywhere, np.flatnonzero(np.diff(piece)) + 1):
        offsets = np.cumsum(lengths[part]) - lengths[part]
        places = np.empty(int(lengths[part].sum()), dtype=np.int64)
        for step, matches, at in _advance(ways, heads, count, part):
            places[offsets[matches - part[0]] + step] = at
        yield Matches(ways.starts[part], lengths[part], places, number[part])


def _advance(ways: Ways, heads: Ints, count: int, matches: Ints) -> Iterator[tuple[int, Ints, Ints]]:
    """Row by row: the number of the row in its match, the matches that have so many, and their places; those
    that are UNDECIDED go no further."""
    starts, places = ways.starts[matches], ways.begins[matches]
    tails = np.append(heads[1:], count)[np.searchsorted(heads, starts, side="right") - 1]
    step = 0
    while True:
        going = places != ACCEPT
        matches, starts, places, tails = (column[going] for column in (matches, starts, places, tails))
        if not len(matches):
            return
        yield step, matches, places
        step += 1
        inside = (starts + step < tails) & (places != UNDECIDED)
        matches, starts, places, tails = (column[inside] for column in (matches, starts, places, tails))
        places = ways.after(places, starts + step, starts)
