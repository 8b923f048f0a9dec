"""Matches where conditions depend on the path: the choices are tried one by one, the preferred ones first.

What can be known of a row without its path is known: no choice is tried that could not be completed even if
all other conditions held.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neelc.runtime.failures import BACKTRACKING, Facts
from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.failing import RowFailure
from neelc.runtime.rows.judging import Judge, Path
from neelc.runtime.rows.matches import Matches, listed
from neelc.runtime.rows.program import ACCEPT, Choices, RowProgram, depends_on_start_only
from neelc.runtime.rows.viability import Viability
from neelc.runtime.rows.walking import NextStart

MOST_STEPS = 1_000_000
"""So many rows may be tried for a match from one row."""

MOST_TRIED, MOST_TRIED_EACH = 5_000_000, 100
"""So many rows may be tried in vain in a partition, or in a piece of a long one, and so many more for each of
its rows."""

UNDECIDED = [-1]
"""In place of a match's places: what the preferred match is depends on rows that have not come."""

Match = tuple[int, list[int]]
"""The row at which a match starts, and the places of its rows."""

START, FIRST = -1, -2
"""Where choices are made besides after places: at the first row of a match, and at that of a partition."""


class Search:
    """Looks for matches in rows whose states are known. In an open partition, more rows may come after them.
    `before` says how many rows of the partition came before them, `offset` where the states of matches from
    each row begin, if there are several kinds."""

    def __init__(
        self,
        program: RowProgram,
        viability: Viability,
        states: Ints,
        judge: Judge,
        times: Sequence[int] | None,
        before: int = 0,
        offset: Ints | None = None,
    ) -> None:
        self.program = program
        self.before = before
        self.offset = None if offset is None else offset.tolist()
        self.shift = 0
        self.is_open = viability.is_open
        self.machine = viability.machine
        self.sets = viability.sets
        self.states = states.tolist()
        self.judge = judge
        self.times = times
        self.known: dict[tuple[int, int], list[int]] = {}
        self.remembers = depends_on_start_only(program)
        self.tried = 0

    def matches(self, heads: Ints, next_start: NextStart) -> Matches:
        """The matches of all partitions."""
        found: list[Match] = []
        count = len(self.states) if self.offset is None else len(self.offset)
        tails = np.append(heads[1:], count).tolist()
        for head, tail in zip(heads.tolist(), tails, strict=True):
            self._collect(Path(head, tail, 1, tail), range(head, tail), next_start, found)
        return _listed(found, heads)

    def matches_from(self, path: Path, rows: range, next_start: NextStart) -> tuple[Matches, int]:
        """The matches of one partition that start at some rows; and the row from which on it is yet to be
        decided where matches start."""
        found: list[Match] = []
        decided = self._collect(path, rows, next_start, found)
        return _listed(found, np.array([path.head])), decided

    def _collect(self, path: Path, rows: range, next_start: NextStart, found: list[Match]) -> int:
        row = rows.start
        while row < rows.stop:
            self.shift = 0 if self.offset is None else self.offset[row]
            can_begin = self._viable(FIRST if row == path.head else START, row)
            places = self._first(path, row) if can_begin else None
            if places is UNDECIDED:
                return row
            if self.tried > MOST_TRIED + MOST_TRIED_EACH * (row - rows.start):
                raise RowFailure(_tried_in_vain(row - rows.start, row - path.head + self.before), row)
            if places is None:
                row += 1
                continue
            path.number += 1
            found.append((row, places))
            row = next_start(row, places) if places else row + 1
        return row

    def _first(self, path: Path, row: int) -> list[int] | None:
        """The places of the preferred match from a row; None if there is none; or UNDECIDED."""
        machine, judge = self.machine, self.judge
        judge.begin(path, row)
        places: list[int] = []
        waiting = [iter(self._viable(FIRST if row == path.head else START, row))]
        failed: set[tuple[int, int]] = set()
        steps = 0
        while waiting:
            choice = next(waiting[-1], None)
            if choice is None:
                waiting.pop()
                if places:
                    failed.add((places.pop(), row + len(places)))
                    judge.pop(path)
                continue
            if choice == ACCEPT:
                break
            at = row + len(places)
            if self.remembers and (choice, at) in failed:
                continue
            steps += 1
            if steps > MOST_STEPS:
                if self.is_open:
                    return UNDECIDED  # rows to come may show that nothing had to be tried
                raise RowFailure(_hard_to_find(row - path.head + self.before), row)
            judge.push(path, at, machine.variables[choice])
            if not self._reaches(row, at) or not judge.holds(path):
                judge.pop(path)
                continue
            places.append(choice)
            if at + 1 < path.known:
                waiting.append(iter(self._viable(choice, at + 1)))
            elif self.is_open:
                return places if machine.after[choice][:1] == (ACCEPT,) else UNDECIDED
            elif machine.ends[choice]:
                break
            else:
                places.pop()
                judge.pop(path)
        self.tried += steps - len(places)
        return places if waiting else None

    def _viable(self, place: int, row: int) -> list[int]:
        """The choices after a place that can be completed, if they take a row."""
        key = (place, self.states[row + self.shift])
        found = self.known.get(key)
        if found is None:
            viable, choices = self.sets[key[1]].possible, self._choices(place)
            found = [choice for choice in choices if choice == ACCEPT or viable >> choice & 1]
            self.known[key] = found
        return found

    def _choices(self, place: int) -> Choices:
        machine = self.machine
        return {START: machine.start, FIRST: machine.first}[place] if place < 0 else machine.after[place]

    def _reaches(self, row: int, at: int) -> bool:
        program = self.program
        if program.rows is not None and at - row >= program.rows:
            return False
        if program.reach is None or self.times is None:
            return True
        first, last = self.times[row], self.times[at]
        return first is not None and last is not None and abs(last - first) <= program.reach


def _listed(found: list[Match], heads: Ints) -> Matches:
    starts, lengths = [row for row, _ in found], [len(places) for _, places in found]
    return listed(starts, lengths, [place for _, places in found for place in places], heads)


def _hard_to_find(row: int) -> Facts:
    message = (
        f"more than {MOST_STEPS} attempts to match from row {row + 1} of a partition: conditions "
        "of this pattern depend on the path, so that each way is tried"
    )
    return Facts(BACKTRACKING, message, limit=MOST_STEPS, number=MOST_STEPS + 1)


def _tried_in_vain(rows: int, row: int) -> Facts:
    limit = MOST_TRIED + MOST_TRIED_EACH * rows
    message = (
        f"more than {limit} attempts to match in vain, up to row {row + 1} of a partition: conditions of "
        "this pattern depend on the path, so that the rows behind each row are tried again"
    )
    return Facts(BACKTRACKING, message, limit=limit, number=limit + 1)
