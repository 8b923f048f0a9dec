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
from neelc.runtime.rows.program import ACCEPT, Choices, RowProgram
from neelc.runtime.rows.viability import Viability
from neelc.runtime.rows.walking import NextStart

MOST_STEPS = 1_000_000
"""So many rows may be tried for a match from one row."""

START, FIRST = -1, -2
"""Where choices are made besides after places: at the first row of a match, and at that of a partition."""


class Search:
    """Looks for matches in rows whose states are known. `within(row, at)` says whether a match from a row may
    reach another one."""

    def __init__(
        self,
        program: RowProgram,
        viability: Viability,
        states: Ints,
        judge: Judge,
        times: Sequence[int] | None,
    ) -> None:
        self.program = program
        self.machine = viability.machine
        self.sets = viability.sets
        self.states = states.tolist()
        self.judge = judge
        self.times = times
        self.known: dict[tuple[int, int], list[int]] = {}

    def matches(self, heads: Ints, next_start: NextStart) -> Matches:
        """The matches of all partitions."""
        start: list[int] = []
        found: list[list[int]] = []
        tails = np.append(heads[1:], len(self.states)).tolist()
        for head, tail in zip(heads.tolist(), tails, strict=True):
            row, count = head, 0
            while row < tail:
                can_begin = self._viable(FIRST if row == head else START, row)
                places = self._first(Path(head, tail, count + 1), row) if can_begin else None
                if places is None:
                    row += 1
                    continue
                count += 1
                start.append(row)
                found.append(places)
                row = next_start(row, places) if places else row + 1
        return listed(start, list(map(len, found)), [place for places in found for place in places], heads)

    def _first(self, path: Path, row: int) -> list[int] | None:
        """The places of the preferred match from a row; None if there is none."""
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
                return places
            steps += 1
            if steps > MOST_STEPS:
                raise RowFailure(_hard_to_find(path, row), row)
            at = row + len(places)
            if not self.program.conditions and (choice, at) in failed:
                continue  # without conditions, only the window tells ways apart, and it is the same for all
            judge.push(path, at, machine.variables[choice])
            if not self._reaches(row, at) or not judge.holds(path):
                judge.pop(path)
                continue
            places.append(choice)
            if at + 1 < path.tail:
                waiting.append(iter(self._viable(choice, at + 1)))
            elif machine.ends[choice]:
                return places
            else:
                places.pop()
                judge.pop(path)
        return None

    def _viable(self, place: int, row: int) -> list[int]:
        """The choices after a place that can be completed, if they take a row."""
        key = (place, self.states[row])
        found = self.known.get(key)
        if found is None:
            viable, choices = self.sets[key[1]], self._choices(place)
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


def _hard_to_find(path: Path, row: int) -> Facts:
    message = (
        f"more than {MOST_STEPS} attempts to match from row {row - path.head + 1} of a partition: conditions "
        "of this pattern depend on the path, so that each way is tried"
    )
    return Facts(BACKTRACKING, message, limit=MOST_STEPS, number=MOST_STEPS + 1)
