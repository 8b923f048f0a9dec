"""Take: each row with each event that may be next, or with one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.bounds import Room, rooms
from neelc.runtime.kernels.equality import narrowed
from neelc.runtime.kernels.events import Numbers, Truths, Values
from neelc.runtime.kernels.frontier import Frontier, chosen
from neelc.runtime.kernels.lists import contains
from neelc.runtime.kernels.operations import holds
from neelc.runtime.kernels.players import Players, Search, is_own
from neelc.runtime.kernels.timeline import FAR
from neelc.runtime.program import ALL, LATEST, Take, Value

# The mark that holds which row a row of an inner table comes from. No name of a pattern is like it.
ROW = "#row"

# How many candidates of a row are tried at first where one is enough.
FIRST_TRIED = 4


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each row of the frontier the players from `left` to before `right`; not all of them may fit."""

    search: Search
    step: Take
    frontier: Frontier
    players: Players
    time: Room
    place: Room | None
    joint: tuple[Value, ...]
    left: Numbers
    right: Numbers
    order: Numbers | None = None

    def places(self, numbers: Numbers) -> Numbers:
        """Where among the players candidates are: they may be numbered in another order."""
        return numbers if self.order is None else self.order[numbers]

    @property
    def are_exact(self) -> bool:
        """Do all candidates fit?"""
        return not (self.search.events.lasting or self.step.differs or self.joint)

    def bound(self, row: Numbers, place: Numbers) -> Frontier:
        """The rows with the players at these places."""
        numbers = self.players.numbers[place]
        segment = self.search.events.segment[numbers]
        return self.frontier.take(row).bound(self.step.variable, numbers, segment)

    def fitting(self, row: Numbers, place: Numbers) -> tuple[Numbers, Numbers]:
        """Those of the pairs of a row and a player that go together."""
        if self.search.events.lasting:
            row, place = _kept(row, place, self.players.end[place] <= self.time.end[row])
            if self.place is not None and self.players.beyond is not None:
                row, place = _kept(row, place, self.players.beyond[place] <= self.place.end[row])
        for name in self.step.differs:
            if name in self.frontier.variables:
                other = self.frontier.variables[name][row]
                row, place = _kept(row, place, other != self.players.numbers[place])
            if name in self.frontier.lists:
                used = contains(self.frontier.lists[name], row, self.players.numbers[place])
                row, place = _kept(row, place, ~used)
        for condition in self.joint:
            row, place = _kept(row, place, self._holds(condition, row, place))
        return row, place

    def _holds(self, condition: Value, row: Numbers, place: Numbers) -> Truths:
        def lookup(name: str) -> Numbers | Values | None:
            if name == self.step.variable:
                return self.players.numbers[place]
            if name in self.frontier.totals:
                return chosen(self.frontier.totals[name], row)
            column = self.frontier.variables.get(name)
            return None if column is None else column[row]

        return holds(condition, lookup, self.search.events, len(row))


def _kept(row: Numbers, place: Numbers, which: Truths) -> tuple[Numbers, Numbers]:
    return row[which], place[which]


def candidates(search: Search, step: Take, frontier: Frontier) -> Candidates:
    players = search.players(step)
    time, place = rooms(step.bounds, frontier, search.timeline)
    # What ends too late may lie before what does not: a lasting event is looked at again.
    left = np.searchsorted(players.start, time.start, "left")
    right = np.searchsorted(players.ends_from, time.end, "right")
    if step.until:
        latest = limits(search, step, frontier)
        right = np.minimum(right, np.searchsorted(players.start, latest, "right"))
    if place is not None and players.first is not None and players.beyond is not None:
        upper = players.first if search.events.lasting else players.beyond
        left = np.maximum(left, np.searchsorted(players.first, place.start, "left"))
        right = np.minimum(right, np.searchsorted(upper, place.end, "right"))
    joint = tuple(condition for condition in step.where if not is_own(condition, step))
    right = np.maximum(left, right)
    these = Candidates(search, step, frontier, players, time, place, joint, left, right)
    narrow = narrowed(step, frontier, search.events, players, left, right) if joint else None
    if narrow is None:
        return these
    order, left, right = narrow
    return replace(these, order=order, left=left, right=right)


def limits(search: Search, step: Take, frontier: Frontier) -> Numbers:
    """For each row, when the event must have started at the latest: as soon as one of `until` has come to
    its end."""
    end = search.timeline.time.end
    found = np.full(len(frontier), FAR)
    for chain in step.until:
        rows = frontier.only(mentions.of_steps(chain)).marked(ROW, np.arange(len(frontier)))
        for inner in chain:
            (rows,) = take(search.unowned(), inner, rows)
        ends = np.full(len(rows), -FAR)
        for inner in chain:
            np.maximum(ends, end[rows.variables[inner.variable]], out=ends)
        row = rows.marks[ROW]
        found[row] = np.minimum(found[row], ends)
    return found


def take(search: Search, step: Take, frontier: Frontier) -> Iterator[Frontier]:
    """The frontier after the step, in pieces."""
    these = candidates(search, step, frontier)
    if step.pick != ALL:
        yield _picked(these)
        return
    counts = these.right - these.left
    beyond = np.cumsum(counts)
    total = int(beyond[-1]) if len(beyond) else 0
    # A piece may begin and end in the midst of a row's candidates.
    for begin in range(0, total, search.most_rows):
        end = min(begin + search.most_rows, total)
        row, number = _pairs(these.left, counts, beyond, begin, end)
        yield these.bound(*these.fitting(row, these.places(number)))


def _pairs(left: Numbers, counts: Numbers, beyond: Numbers, begin: int, end: int) -> tuple[Numbers, Numbers]:
    """Of all pairs of a row and one of its candidates, those from number `begin` to before `end`.

    >>> import numpy as np
    >>> row, place = _pairs(np.array([7, 0, 4]), np.array([2, 0, 3]), np.array([2, 2, 5]), 1, 4)
    >>> row.tolist(), place.tolist()
    ([0, 2, 2], [8, 4, 5])
    """
    if begin == 0 and end == beyond[-1]:
        row = np.repeat(np.arange(len(counts)), counts)
        return row, np.arange(end) + np.repeat(left - beyond + counts, counts)
    low, high = np.searchsorted(beyond, begin, "right"), np.searchsorted(beyond, end, "left") + 1
    cut = np.minimum(beyond[low:high], end) - np.maximum(beyond[low:high] - counts[low:high], begin)
    row = np.repeat(np.arange(low, high), cut)
    return row, np.arange(begin, end) + (left - beyond + counts)[row]


def _picked(these: Candidates) -> Frontier:
    """One candidate for each row that has one."""
    lasting, is_latest = these.search.events.lasting, these.step.pick == LATEST
    if these.are_exact:
        row = np.flatnonzero(these.left < these.right)
        return these.bound(row, these.right[row] - 1 if is_latest else these.left[row])
    if lasting and not (is_latest or these.step.differs or these.joint):
        return _soonest(these)
    best = _scanned(these, backwards=is_latest, through=lasting and not is_latest)
    row = np.flatnonzero(best >= 0)
    return these.bound(row, best[row])


def _soonest(these: Candidates) -> Frontier:
    """Of all that start late enough, the one that ends first: if it ends too late, all do."""
    row = np.flatnonzero(these.left < these.right)
    return these.bound(*these.fitting(row, these.players.soonest[these.left[row]]))


def _scanned(these: Candidates, backwards: bool, through: bool) -> Numbers:
    """The place of the best candidate for each row, -1 where there is none.

    Candidates are tried in their order, a few at first: rows that have one are done. If the order is not that
    of ends, `through`, all are tried, and the one that ends first is the best.
    """
    left, right = these.left.copy(), these.right.copy()
    best = np.full(len(left), -1)
    rows = np.flatnonzero(left < right)
    tried = FIRST_TRIED
    while len(rows):
        tried = max(1, min(tried, these.search.most_rows // len(rows)))
        counts = np.minimum(right[rows] - left[rows], tried)
        begins = right[rows] - counts if backwards else left[rows]
        beyond = np.cumsum(counts)
        index, number = _pairs(begins, counts, beyond, 0, int(beyond[-1]))
        row, place = these.fitting(rows[index], these.places(number))
        _improve(best, row, place, these.players.end if through else None, backwards)
        (right if backwards else left)[rows] += -counts if backwards else counts
        rows = rows[(left[rows] < right[rows]) & (through | (best[rows] < 0))]
        tried *= 4
    return best


def _improve(best: Numbers, row: Numbers, place: Numbers, ends: Numbers | None, backwards: bool) -> None:
    """Note the first candidate of each row, the last if `backwards`; with `ends` the one that ends first."""
    if ends is not None:
        order = np.lexsort((place, ends[place], row))
        row, place = row[order], place[order]
    if not len(row):
        return
    new = row[1:] != row[:-1]
    which = np.append(new, True) if backwards else np.append(True, new)
    row, place = row[which], place[which]
    if ends is not None:
        better = (best[row] < 0) | (ends[place] < ends[best[row]])
        row, place = row[better], place[better]
    best[row] = place
