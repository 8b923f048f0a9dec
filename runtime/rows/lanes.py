"""Matches one after the other in each partition, in all partitions at the same time.

Each partition is a lane. At each step every lane takes a row, ends its match or jumps to where the next one
can begin; so there are about as many steps as the longest partition has rows, if matches do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.matches import Matches, numbered
from neelc.runtime.rows.program import ACCEPT, RowProgram
from neelc.runtime.rows.skipping import leads_nowhere
from neelc.runtime.rows.walking import Ways

SEEKING = -2


@dataclass
class _Lanes:
    """For each lane: the next row and the end of its partition; the place that took the row before, or
    SEEKING; where its match started, and the row that is skipped to, -1 if there is none yet."""

    number: Ints
    row: Ints
    tail: Ints
    place: Ints
    start: Ints
    target: Ints

    def keep(self, which: Ints) -> _Lanes:
        return _Lanes(*(column[which] for column in vars(self).values()))


def matches_in_lanes(program: RowProgram, ways: Ways, heads: Ints, count: int) -> Matches:
    """The matches of all partitions."""
    return _Run(program, ways, heads, count).run()


class _Run:
    def __init__(self, program: RowProgram, ways: Ways, heads: Ints, count: int) -> None:
        self.program, self.ways, self.heads = program, ways, heads
        self.begin = np.full(count, SEEKING, dtype=np.int64)
        self.begin[ways.starts] = ways.begins
        # For each row the next one, itself or later, at which a match can begin.
        following = np.where(self.begin == SEEKING, count, np.arange(count))
        self.next = np.append(np.minimum.accumulate(following[::-1])[::-1], count)
        variables = program.machine.variables
        self.is_target = np.array([program.skip_to >> one & 1 for one in variables], dtype=np.bool_)
        tails, nothing = np.append(heads[1:], count), np.full(len(heads), SEEKING, dtype=np.int64)
        self.lanes = _Lanes(np.arange(len(heads)), heads.copy(), tails, nothing, heads.copy(), nothing.copy())
        self.taken: list[tuple[Ints, Ints]] = []
        self.ended: list[tuple[Ints, Ints, Ints]] = []

    def run(self) -> Matches:
        while len(self.lanes.number):
            self._seek()
            self._advance()
        number, start, length = _joined(self.ended, 3)
        order = np.argsort(number, kind="stable")
        lane, places = _joined(self.taken, 2)
        start = start[order]
        return Matches(
            start, length[order], places[np.argsort(lane, kind="stable")], numbered(start, self.heads)
        )

    def _seek(self) -> None:
        """Lanes without a match go to the row where the next one begins, and take it, or end."""
        lanes = self.lanes
        seeking = lanes.place == SEEKING
        if not seeking.any():
            return
        row = np.where(seeking, self.next[lanes.row], lanes.row)
        there = ~seeking | (row < lanes.tail)
        lanes.row = row
        self.lanes = lanes = lanes.keep(there)
        found = np.flatnonzero(lanes.place == SEEKING)
        begin = self.begin[lanes.row[found]]
        empty, first = found[begin == ACCEPT], found[begin != ACCEPT]
        lanes.start[found] = lanes.row[found]
        lanes.target[found] = -1
        self.ended.append((lanes.number[empty], lanes.row[empty], np.zeros(len(empty), dtype=np.int64)))
        lanes.row[empty] += 1
        self._take(first, begin[begin != ACCEPT])

    def _advance(self) -> None:
        """Lanes with a match take the next row, or end it."""
        lanes = self.lanes
        going = np.flatnonzero((lanes.place != SEEKING) & (lanes.row < lanes.tail))
        choice = np.full(len(lanes.number), ACCEPT, dtype=np.int64)
        choice[going] = self.ways.after(lanes.place[going], lanes.row[going], lanes.start[going])
        self._end(np.flatnonzero((lanes.place != SEEKING) & (choice == ACCEPT)))
        on = np.flatnonzero(choice != ACCEPT)
        self._take(on, choice[on])

    def _take(self, which: Ints, places: Ints) -> None:
        lanes = self.lanes
        lanes.place[which] = places
        self.taken.append((lanes.number[which], places))
        aimed = self.is_target[places]
        if self.program.skip == "FIRST":
            aimed &= lanes.target[which] < 0
        lanes.target[which[aimed]] = lanes.row[which[aimed]]
        lanes.row[which] += 1

    def _end(self, which: Ints) -> None:
        lanes = self.lanes
        row, start = lanes.row[which], lanes.start[which]
        self.ended.append((lanes.number[which], start, row - start))
        lanes.place[which] = SEEKING
        if self.program.skip != "PAST":
            target = lanes.target[which]
            if (wrong := (target < 0) | (target == start)).any():
                raise leads_nowhere(self.program, bool(target[wrong][0] < 0), int(start[wrong][0]))
            lanes.row[which] = target


def _joined(pieces: Sequence[tuple[Ints, ...]], width: int) -> list[Ints]:
    if not pieces:
        return [np.zeros(0, dtype=np.int64)] * width
    return [np.concatenate(column) for column in zip(*pieces, strict=True)]
