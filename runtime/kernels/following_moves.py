"""Which events the next one of a run can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from neelc.runtime.kernels.bounds import rooms
from neelc.runtime.kernels.equality import equation, narrowed
from neelc.runtime.kernels.events import Events, Numbers, Truths, Values
from neelc.runtime.kernels.folding import Parts, added, begun, ended
from neelc.runtime.kernels.following_checks import Run, passing
from neelc.runtime.kernels.following_courses import KINDS, Courses
from neelc.runtime.kernels.following_needs import Leg, Route
from neelc.runtime.kernels.following_places import first_places, last_places
from neelc.runtime.kernels.frontier import Frontier, chosen
from neelc.runtime.kernels.operations import Lookup, holds
from neelc.runtime.kernels.players import Search, is_own
from neelc.runtime.kernels.taking import Candidates
from neelc.runtime.moves import FIRST, Judged, Move
from neelc.runtime.program import Fold, Follow

NODE, COUNT = "#node", "#count"
"""Columns of a table of runs: the node of the event taken last, the iterations of the list that it is in."""

Pairs = tuple[Numbers, Numbers]
"""Rows, and for each the place of a player."""


@dataclass(frozen=True, eq=False)
class Option:
    """What runs can do next: one of their moves, for those `rows` that may make it; None: for all."""

    route: Route
    leg: Leg
    rows: Numbers | None
    these: Candidates
    courses: Courses
    run: Run

    @property
    def move(self) -> Move:
        return self.leg.move

    @property
    def is_exact(self) -> bool:
        """Does every candidate that starts in time qualify?"""
        return self.these.are_exact and not self.move.judged and not self.move.checks

    def fitting(self, row: Numbers, place: Numbers) -> Pairs:
        """Those of the pairs that qualify."""
        row, place = self.these.fitting(row, place)
        for judged in self.move.judged:
            which = _judged(self, judged, row, place)
            row, place = row[which], place[which]
        if self.move.checks and len(row):
            which = self._passing(row, place)
            row, place = row[which], place[which]
        return row, place

    def _passing(self, row: Numbers, place: Numbers) -> Truths:
        node = None if self.move.source < 0 else self.these.frontier.marks[NODE][row]
        event, follow = self.these.players.numbers[place], self.route.follow
        return passing(self.these.search, follow, self.move, self.courses, node, event, self.run)


def option(
    search: Search, route: Route, leg: Leg, frontier: Frontier, courses: Courses, run: Run
) -> Option | None:
    """A move of runs that are all in its source; None if none of them may make it."""
    move, rows = leg.move, None
    if move.least > 1 or move.most is not None:
        count = frontier.marks[COUNT]
        may = count >= move.least
        if move.most is not None:
            may &= count <= move.most
        rows = None if may.all() else np.flatnonzero(may)
    if rows is not None:
        if not len(rows):
            return None
        frontier = frontier.take(rows)
    for old, new in move.renames:
        frontier = frontier.renamed(old, new)
    if leg.asked:
        totals = {fold.name: _total(fold, frontier, search.events) for fold in leg.asked}
        frontier = replace(frontier, totals={**frontier.totals, **totals})
    return Option(route, leg, rows, _candidates(search, route.follow, move, frontier), courses, run)


def _total(fold: Fold, frontier: Frontier, events: Events) -> Values:
    return ended(fold, parts_of(fold, frontier, events), events)


def parts_of(fold: Fold, frontier: Frontier, events: Events) -> Parts:
    """What a table of runs knows of the lists of a fold."""
    names = [name for name in frontier.totals if name.startswith(f"{fold.name}#")]
    parts = tuple(frontier.totals[f"{fold.name}#{number}"].values for number in range(len(names)))
    return parts or begun(fold, len(frontier), events)


def _candidates(search: Search, follow: Follow, move: Move, frontier: Frontier) -> Candidates:
    """The players that are late enough, and not too late."""
    take, players = move.take, search.players(move.take)
    time, place = rooms(take.bounds, frontier, search.timeline)
    is_neighbour = follow.contiguous and move.source >= 0
    left = first_places(search, take, players, frontier, time, is_neighbour)
    joint = tuple(condition for condition in take.where if not is_own(condition, take))
    is_equal = bool(joint) and equation(take, frontier, search.events) is not None
    if not (follow.contiguous or place is not None or is_equal):
        # Runs look at few candidates: each of these is compared with `time.end`.
        right = np.full(len(left), len(players.start))
        return Candidates(search, take, frontier, players, time, place, joint, left, right)
    right = last_places(search, take, players, frontier, time, is_neighbour)
    if place is not None and players.first is not None and players.beyond is not None:
        upper = players.first if search.events.lasting else players.beyond
        right = np.minimum(right, np.searchsorted(upper, place.end, "right"))
    right = np.maximum(left, right)
    these = Candidates(search, take, frontier, players, time, place, joint, left, right)
    found = None
    if is_equal and not follow.contiguous:
        found = narrowed(take, frontier, search.events, players, left, right)
    return these if found is None else replace(these, order=found[0], left=found[1], right=found[2])


def _judged(option: Option, judged: Judged, row: Numbers, place: Numbers) -> Truths:
    """The pairs for which a condition holds, or is not asked."""
    frontier = option.these.frontier
    which = np.ones(len(row), bool)
    for name in judged.present:
        numbers = frontier.variables.get(name)
        which &= False if numbers is None else numbers[row] >= 0
    asked = np.flatnonzero(which)
    row, place = row[asked], place[asked]
    if judged.each is not None:
        found = _holds_for_each(option, judged, row, place)
    else:
        found = holds(judged.condition, _lookup(option, row, place), option.these.search.events, len(row))
    which[:] = True
    which[asked] = found
    return which


def _lookup(option: Option, row: Numbers, place: Numbers) -> Lookup:
    """What conditions see of a run and the event that it may take."""
    these, grown = option.these, option.leg.grown
    numbers, events = these.players.numbers[place], these.search.events

    def lookup(name: str) -> Numbers | Values | None:
        if name == these.step.variable:
            return numbers
        if name in grown:
            parts = tuple(part[row] for part in parts_of(grown[name], these.frontier, events))
            return ended(grown[name], added(grown[name], parts, numbers, events), events)
        if name in these.frontier.totals:
            return chosen(these.frontier.totals[name], row)
        column = these.frontier.variables.get(name)
        return None if column is None else column[row]

    return lookup


def _holds_for_each(option: Option, judged: Judged, row: Numbers, place: Numbers) -> Truths:
    """Whether a condition holds for each element of a list: from the last one on, back to the first."""
    courses, which = option.courses, np.ones(len(row), bool)
    nodes = option.these.frontier.marks.get(f"#{judged.each}")
    if nodes is None:
        return which
    pairs = np.flatnonzero(nodes[row] >= 0)
    node = nodes[row[pairs]]
    while len(pairs):
        is_first = courses.kind[node] == KINDS[FIRST]
        before = np.where(is_first, -1, courses.parent[node])
        inner = _lookup(option, row[pairs], place[pairs])
        own = {
            f"{judged.each}[i]": courses.event[node],
            f"{judged.each}[i-1]": np.where(is_first, -1, courses.event[before]),
        }
        found = holds(judged.condition, _either(own, inner), option.these.search.events, len(pairs))
        if judged.looks_back:
            found = found | is_first
        which[pairs[~found]] = False
        going = found & ~is_first
        pairs, node = pairs[going], before[going]
    return which


def _either(own: Mapping[str, Numbers], others: Lookup) -> Lookup:
    return lambda name: own[name] if name in own else others(name)
