"""The checks of moves: runs with the event that they may take, seen as a whole.

To look at all events of a run takes as long as the run is. Only what cannot be told by the event that is
taken and by what a run remembers is judged in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.events import Events, Numbers, Truths
from neelc.runtime.kernels.folding import folded
from neelc.runtime.kernels.following_courses import Courses, Paths, as_frontier, paths
from neelc.runtime.kernels.frontier import Frontier, root
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.kernels.players import Search
from neelc.runtime.program import Fold, Follow, Move, Step

Run = Callable[[Search, tuple[Step, ...], Frontier], Iterator[Frontier]]

PAIR = "#pair"
"""A mark that no pattern has."""


def passing(
    search: Search,
    follow: Follow,
    move: Move,
    courses: Courses,
    node: Numbers | None,
    event: Numbers,
    run: Run,
) -> Truths:
    """Which runs, each known by its last node, pass the checks of a move with an event; None: there is
    nothing before it."""
    passed = np.zeros(len(event), bool)
    for begin, end in _pieces(courses, node, len(event), search.most_rows):
        before = None if node is None else node[begin:end]
        longer = _longer(courses, before, event[begin:end], move)
        found = as_frontier(follow, longer, root(), search.events)
        rows = with_totals(follow, move.checks, found, search.events).marked(PAIR, np.arange(begin, end))
        for piece in run(replace(search, prunes=False), move.checks, rows):
            passed[piece.mark(PAIR)] = True
    return passed


def _pieces(courses: Courses, node: Numbers | None, count: int, most: int) -> Iterator[tuple[int, int]]:
    """Runs that have about `most` events together, one after the other."""
    size = np.ones(count, np.int64) if node is None else courses.depth[node] + 1
    beyond = np.cumsum(size)
    begin = 0
    while begin < count:
        before = beyond[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(beyond, before + most, "right")))
        yield begin, end
        begin = end


def _longer(courses: Courses, node: Numbers | None, event: Numbers, move: Move) -> Paths:
    """All events of the runs, the new one included."""
    alone = Courses()
    last = paths(alone, alone.add(event, None, move.target, move.iteration))
    if node is None:
        return last
    before = paths(courses, node)
    ends = np.cumsum(courses.depth[node])
    return Paths(
        len(event),
        np.insert(before.row, ends, last.row),
        np.insert(before.event, ends, last.event),
        np.insert(before.state, ends, last.state),
        np.insert(before.kind, ends, last.kind),
    )


def with_totals(follow: Follow, steps: tuple[Step, ...], found: Frontier, events: Events) -> Frontier:
    """The runs with all that steps ask for of their lists."""
    asked = mentions.of_steps(steps)
    final = (fold for fold in follow.final if fold.name in asked)
    totals = {fold.name: folded(fold, _list_of(fold, found), events) for fold in final}
    return replace(found, totals=totals)


def _list_of(fold: Fold, found: Frontier) -> Lists:
    """The list of a fold; to count iterations, that of any of their variables."""
    named = found.lists.get(fold.list)
    first = (lists for name, lists in found.lists.items() if name.startswith(f"{fold.list}."))
    return next(first) if named is None else named
