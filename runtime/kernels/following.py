"""Follow: runs that take one event after the other. All runs of all keys take their next event together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from neelc.runtime.failures import MAX_LISTS
from neelc.runtime.kernels.errors import KernelError
from neelc.runtime.kernels.events import Events, Numbers, Truths, Values
from neelc.runtime.kernels.folding import added
from neelc.runtime.kernels.following_checks import Run, with_totals
from neelc.runtime.kernels.following_courses import Courses, as_frontier, paths
from neelc.runtime.kernels.following_moves import COUNT, NODE, Option, option, parts_of
from neelc.runtime.kernels.following_needs import Route, route
from neelc.runtime.kernels.following_next import next_pairs
from neelc.runtime.kernels.frontier import Frontier, both, place_of, root
from neelc.runtime.kernels.players import Search
from neelc.runtime.moves import FIRST, LAST, NEXT, SAME
from neelc.runtime.program import Follow, Move

MOST_TAKEN = 500_000_000
"""So many events are taken by the runs of one run of rows."""

Front = Mapping[int, Frontier]
"""Runs, by the state that they are in."""


def follow(search: Search, step: Follow, frontier: Frontier, run: Run) -> Iterator[Frontier]:
    """The matches, in pieces. `frontier` is one row, which has made choices and nothing else."""
    assert len(frontier) == 1 and not frontier.variables, "a run begins with nothing"
    search = search.unowned()
    for leg in route(step).begin:
        start = option(search, route(step), leg, root(), Courses(), run)
        assert start is not None, "every run may begin"
        count = len(start.these.players.numbers)
        for begin in range(0, count, search.most_rows):
            places = np.arange(begin, min(begin + search.most_rows, count))
            yield from _followed(search, replace(start, courses=Courses()), places, frontier)


def _followed(search: Search, start: Option, places: Numbers, frontier: Frontier) -> Iterator[Frontier]:
    """The matches of the runs that start with some of the players."""
    step = start.route.follow
    places = places[_owned(search, start.these.players.numbers[places])]
    row, place = start.fitting(np.zeros(len(places), np.int64), places)
    courses = start.courses
    fronts: list[Front] = [{start.move.target: _longer(search, start, row, place)}]
    while fronts:
        front = fronts.pop()
        for state, runs in front.items():
            _note(courses, step, state, runs)
        if courses.waiting > search.most_rows:
            yield _matches(search, step, courses, frontier)
        fronts += _pieces(_advanced(search, start.route, front, courses, start.run), search.most_rows)
    yield _matches(search, step, courses, frontier)


def _owned(search: Search, numbers: Numbers) -> Truths:
    """A match belongs to where its first event is."""
    low, high = search.events.owned
    start, segment = search.events.start[numbers], search.events.segment[numbers]
    owned: Truths = (start >= low[segment]) & (start < high[segment])
    return owned


def _note(courses: Courses, step: Follow, state: int, runs: Frontier) -> None:
    """Runs that are complete as they are."""
    least = step.states[state].accepts
    if least is not None and len(runs):
        node = runs.marks[NODE]
        courses.note(node if least <= 1 else node[runs.marks[COUNT] >= least])


def _matches(search: Search, step: Follow, courses: Courses, frontier: Frontier) -> Frontier:
    found = as_frontier(step, paths(courses, courses.noted()), frontier, search.events)
    return with_totals(step, search.program.steps, found, search.events)


def _advanced(search: Search, way: Route, front: Front, courses: Courses, run: Run) -> Front:
    """The runs with one more event, in every way that there is."""
    found: dict[int, Frontier] = {}
    for state, runs in front.items():
        made = (option(search, way, leg, runs, courses, run) for leg in way.legs[state])
        options = [one for one in made if one is not None]
        pairs = next_pairs(options, len(runs), way.follow.contiguous)
        for one, (row, place) in zip(options, pairs, strict=True):
            if len(row):
                longer = _longer(search, one, row, place)
                target = one.move.target
                found[target] = both(found[target], longer) if target in found else longer
    taken = sum(map(len, found.values()))
    search.tried[0] += taken
    if search.tried[0] > MOST_TAKEN:
        number, runs = search.tried[0], next(runs for runs in found.values() if len(runs))
        message = f"{number} events were taken by runs of the pattern, {MOST_TAKEN} is the most"
        raise KernelError(MAX_LISTS, message, *place_of(runs, search.events), number, MOST_TAKEN)
    return found


def _pieces(front: Front, most: int) -> list[Front]:
    """The runs, in parts that are not too large."""
    if sum(map(len, front.values())) <= most:
        return [front] if front else []
    return [
        {state: runs.take(slice(begin, begin + most))}
        for state, runs in front.items()
        for begin in range(0, len(runs), most)
    ]


def _longer(search: Search, one: Option, row: Numbers, place: Numbers) -> Frontier:
    """The runs of some rows with the players at these places."""
    way, move, before, courses = one.route, one.move, one.these.frontier, one.courses
    numbers = one.these.players.numbers[place]
    begins = move.source < 0
    node = courses.add(numbers, None if begins else before.marks[NODE][row], move.target, move.iteration)
    state, needed = way.follow.states[move.target], way.needs[move.target]
    count = _count(move, before, row)
    variables = {
        name: before.variables[name][row] if name in before.variables else np.full(len(row), -1)
        for name in needed.variables
    }
    for name, number in needed.numbered:
        if number > 1 or move.iteration != NEXT:
            old = np.full(len(row), -1) if move.iteration == FIRST else variables[name]
            variables[name] = np.where((count == number) & (old < 0), numbers, old)
    if state.variable in variables:
        variables[state.variable] = numbers
    variables[LAST] = numbers
    marks = {f"#{name}": _list_node(name, before, row) for name in needed.lists}
    if state.list in needed.lists:
        marks[f"#{state.list}"] = node
    marks |= {NODE: node, COUNT: count}
    totals = _totals(way, move, before, row, numbers, search.events) if way.folds else {}
    return Frontier(variables, marks, search.events.segment[numbers], {}, {}, totals)


def _count(move: Move, before: Frontier, row: Numbers) -> Numbers:
    if move.iteration == FIRST:
        return np.ones(len(row), np.int64)
    return before.marks[COUNT][row] + (move.iteration != SAME)


def _list_node(name: str, before: Frontier, row: Numbers) -> Numbers:
    column = before.marks.get(f"#{name}")
    return np.full(len(row), -1) if column is None else column[row]


def _totals(
    way: Route, move: Move, before: Frontier, row: Numbers, numbers: Numbers, events: Events
) -> dict[str, Values]:
    """What is known of lists after a move."""
    state, found = way.follow.states[move.target], dict[str, Values]()
    own = (state.list or "") + state.variable.removeprefix(f"{state.list}[i]")
    for fold in way.folds:
        mine = tuple(part[row] for part in parts_of(fold, before, events))
        begins = fold.column is None and fold.list == state.list and move.iteration != SAME
        if begins or (fold.column is not None and fold.list == own):
            mine = added(fold, mine, numbers, events)
        found |= {f"{fold.name}#{number}": Values(part) for number, part in enumerate(mine)}
    return found
