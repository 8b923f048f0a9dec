"""Partial matches as rows of a table, and what is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from neelc.runtime.failures import COUNT_OVERFLOW, Facts, KernelFailure
from neelc.runtime.sequential.program import SequentialProgram
from neelc.runtime.sequential.timeline import Bools, Ints, Timeline

ABSENT = -1
MOST_TOGETHER = 200_000
"""So many partial matches are followed at the same time; the rest waits."""
ENOUGH = 10_000
HEAVIEST = 2**62


@dataclass(frozen=True, eq=False)
class Ways:
    """Partial matches: the instant that comes next, the state, the instant of the end that is known already,
    how many matches it stands for, and for each of the tracked symbols the row of its event."""

    instant: Ints
    state: Ints
    end: Ints
    weight: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.instant)

    def chosen(self, which: Ints | Bools) -> Ways:
        return Ways(*(getattr(self, one.name)[which] for one in fields(self)))

    def times(self, counts: Ints) -> Ways:
        """Each standing for so many times as many matches."""
        if len(counts) and int(self.weight.max()) > HEAVIEST // int(counts.max()):
            raise KernelFailure(Facts(COUNT_OVERFLOW, "more matches than a BIGINT can count"))
        return replace(self, weight=self.weight * counts)

    def tracking(self, place: int, rows: Ints) -> Ways:
        changed = self.rows.copy()
        changed[:, place] = rows
        return replace(self, rows=changed)


def joined(parts: Sequence[Ways]) -> Ways:
    return Ways(*(np.concatenate([getattr(one, f.name) for one in parts]) for f in fields(Ways)))


def pieces(ways: Ways) -> Iterator[Ways]:
    """Not too many at once."""
    for low in range(0, len(ways), MOST_TOGETHER):
        yield ways.chosen(np.arange(low, min(low + MOST_TOGETHER, len(ways))))


def gathered(found: Iterator[Ways]) -> Iterator[Ways]:
    """Not too few at once, either."""
    waiting: list[Ways] = []
    for ways in found:
        waiting.append(ways)
        if sum(map(len, waiting)) >= ENOUGH:
            yield joined(waiting)
            waiting = []
    if waiting:
        yield joined(waiting)


class Window:
    """Whether the ends of a match are close enough."""

    def __init__(self, program: SequentialProgram, line: Timeline) -> None:
        self.reach, self.rows = program.reach, program.rows
        # Both ends are known to be in order, so that their distance cannot overflow without a sign.
        self.time = line.time.astype(np.int64).view(np.uint64)

    def holds(self, start: Ints, end: Ints) -> Bools:
        """For starts that are not after the ends; there may be none (-1), and then it does not hold."""
        found = start >= 0
        if self.reach is not None:
            found &= self.time[end] - self.time[start] <= np.uint64(self.reach)
        if self.rows is not None:
            found &= end - start < self.rows
        return found

    def lowest(self, low: Ints, end: Ints) -> Ints:
        """For each end the first instant from `low` on, in its key, that is close enough; by halving."""
        if self.reach is None and self.rows is None:
            return low
        low, high = low.copy(), end.copy()
        while (open_ := low < high).any():
            middle = (low + high) // 2
            near = self.holds(middle, end)
            high = np.where(open_ & near, middle, high)
            low = np.where(open_ & ~near, middle + 1, low)
        return low
