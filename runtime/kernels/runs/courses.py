"""The courses of runs: which events each has taken, one after the other.

A run knows only the event it took last, as a node, and each node knows the one before it: to take an event
costs the same however many were taken before. What variables and lists are is read off at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.events import KernelEvents, Numbers, Truths
from neelc.runtime.kernels.frontier import EventLists, Frontier
from neelc.runtime.kernels.nested import Iterations
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    FIRST,
    NEXT,
    SAME,
    Closure,
    ElementName,
    EventName,
    Follow,
    Iteration,
    ListName,
    Value,
    is_composite,
    iteration_of,
    listed_in,
)

KINDS = {FIRST: 0, NEXT: 1, SAME: 2}
LEAST_ROOM = 1024


def _nothing() -> Numbers:
    return np.zeros(LEAST_ROOM, np.int64)


@dataclass(eq=False)
class Courses:
    """Nodes: an event, the node before it or -1, how many nodes that makes, the state and the iteration that
    the event belongs to. Arrays have room for more. `complete` are the last nodes of matches, which have
    `waiting` events together."""

    size: int = 0
    event: Numbers = field(default_factory=_nothing)
    parent: Numbers = field(default_factory=_nothing)
    depth: Numbers = field(default_factory=_nothing)
    state: NDArray[np.int16] = field(default_factory=lambda: np.zeros(LEAST_ROOM, np.int16))
    kind: NDArray[np.int8] = field(default_factory=lambda: np.zeros(LEAST_ROOM, np.int8))
    complete: list[Numbers] = field(default_factory=list)
    waiting: int = 0

    def add(self, event: Numbers, parent: Numbers | None, state: int, iteration: Iteration) -> Numbers:
        """New nodes; returns their numbers."""
        begin, end = self.size, self.size + len(event)
        if end > len(self.event):
            for name in ("event", "parent", "depth", "state", "kind"):
                old = getattr(self, name)
                new = np.zeros(max(2 * len(old), end), old.dtype)
                new[:begin] = old[:begin]
                setattr(self, name, new)
        self.event[begin:end] = event
        self.parent[begin:end] = -1 if parent is None else parent
        self.depth[begin:end] = 1 if parent is None else self.depth[parent] + 1
        self.state[begin:end] = state
        self.kind[begin:end] = KINDS[iteration]
        self.size = end
        return np.arange(begin, end)

    def note(self, nodes: Numbers) -> None:
        """Runs that are matches."""
        self.complete.append(nodes)
        self.waiting += int(self.depth[nodes].sum())

    def noted(self) -> Numbers:
        """The matches that were noted since."""
        found = np.concatenate(self.complete) if self.complete else np.zeros(0, np.int64)
        self.complete, self.waiting = [], 0
        return found


@dataclass(frozen=True, eq=False)
class RunPaths:
    """All events of some runs, run by run and in the order of time."""

    rows: int
    row: Numbers
    event: Numbers
    state: NDArray[np.int16]
    kind: NDArray[np.int8]


def paths(courses: Courses, nodes: Numbers) -> RunPaths:
    """
    >>> courses = Courses()
    >>> first = courses.add(np.array([7]), None, 0, FIRST)
    >>> second = courses.add(np.array([8, 9]), first[[0, 0]], 1, FIRST)
    >>> found = paths(courses, second)
    >>> found.row.tolist(), found.event.tolist()
    ([0, 0, 1, 1], [7, 8, 7, 9])
    """
    depth = courses.depth[nodes]
    beyond = np.cumsum(depth)
    total = int(beyond[-1]) if len(beyond) else 0
    found = np.empty(total, np.int64)
    at, node = beyond - 1, nodes
    while len(node):
        found[at] = node
        node = courses.parent[node]
        left = node >= 0
        if left.all():
            at = at - 1
        else:
            node, at = node[left], at[left] - 1
    row = np.repeat(np.arange(len(nodes)), depth)
    return RunPaths(len(nodes), row, courses.event[found], courses.state[found], courses.kind[found])


def as_frontier(follow: Follow[Value], found: RunPaths, frontier: Frontier, events: KernelEvents) -> Frontier:
    """A row for each run, with all its variables, lists and marks; `frontier` is the one row before."""
    variables: dict[EventName, Numbers] = {}
    lists: dict[ListName, EventLists] = {}
    for number, state in enumerate(follow.states):
        if state.list is None:
            variables[state.variable] = _single(found, found.state == number)
    for closure in follow.closures:
        _add_lists(follow, closure, found, variables, lists, events)
    marks = {mark: np.repeat(column, found.rows) for mark, column in frontier.marks.items()}
    for mark, variable in follow.marks:
        marks[mark] = (variables[variable] >= 0).astype(np.int64)
    firsts = found.event[np.flatnonzero(np.diff(found.row, prepend=-1))]
    return Frontier(variables, marks, events.segment[firsts], frontier.choices, lists, {})


def _single(found: RunPaths, mine: Truths) -> Numbers:
    numbers = np.full(found.rows, -1)
    numbers[found.row[mine]] = found.event[mine]
    return numbers


def _add_lists(
    follow: Follow[Value],
    closure: Closure,
    found: RunPaths,
    variables: dict[EventName, Numbers],
    lists: dict[ListName, EventLists],
    events: KernelEvents,
) -> None:
    """The lists of a closure, and those of their elements that have names."""
    states = [n for n, state in enumerate(follow.states) if state.list == closure.variable]
    mine = np.flatnonzero(np.isin(found.state, states))
    row, begins = found.row[mine], found.kind[mine] != KINDS[SAME]
    length = np.bincount(row[begins], minlength=found.rows)
    begin = np.cumsum(length) - length
    full = length > 0
    iteration = np.cumsum(begins) - 1
    for name in closure.names:
        if name.list != closure.variable:
            of_name = [n for n in states if follow.states[n].variable == name]
            taken = np.isin(found.state[mine], of_name)
            inner = _lists_inside(
                found.event[mine][taken], iteration[taken], length, name in closure.may_be_absent
            )
            if closure.optional:
                inner = _absent_where_empty(inner)
            lists[listed_in(name, closure.variable)] = inner
            continue
        taken = np.isin(found.state[mine], [n for n in states if follow.states[n].variable == name])
        pool = np.full(int(length.sum()), -1)
        pool[iteration[taken]] = found.event[mine][taken]
        known = EventLists(pool, begin, np.where(full, length, -1) if closure.optional else length)
        lists[name.events] = known
        variables[name.at(1)] = _at(pool, begin, full)
        variables[name.at(-1)] = _at(pool, begin + length - 1, full)
        variables |= {name.at(place): known.at_place(place) for place in closure.places}
    for named in closure.elements:
        variables[named] = _inside(named, closure, lists, length, events)
    if is_composite(closure.names, closure.variable):
        counts = np.bincount(row, minlength=found.rows)
        beyond = np.cumsum(counts)
        variables[ElementName(closure.variable, 1)] = _at(found.event[mine], beyond - counts, full)
        variables[ElementName(closure.variable, -1)] = _at(found.event[mine], beyond - 1, full)


def _lists_inside(taken: Numbers, iteration: Numbers, iterations: Numbers, may_be_absent: bool) -> EventLists:
    """The events of lists that iterations have, each with the number of its iteration, for rows with so many
    iterations.

    >>> lists = _lists_inside(np.array([7, 8, 9]), np.array([0, 0, 2]), np.array([2, 1]), False)
    >>> lists.begin.tolist(), lists.length.tolist(), lists.elements.pool.tolist()
    ([0, 2], [2, 1], [2, 0, 1])
    """
    total = int(iterations.sum())
    sizes = np.bincount(iteration, minlength=total)
    row = np.repeat(np.arange(len(iterations)), iterations)
    length = np.bincount(row, weights=sizes, minlength=len(iterations)).astype(np.int64)
    pool = np.where(sizes > 0, sizes, -1) if may_be_absent else sizes
    groups = EventLists(pool, np.cumsum(iterations) - iterations, iterations)
    return EventLists(taken, np.cumsum(length) - length, length, groups)


def _absent_where_empty(lists: EventLists) -> EventLists:
    """No list at all, where there is no iteration."""
    groups = lists.elements
    none = groups.length == 0
    length = np.where(none, -1, lists.length)
    return replace(lists, length=length, groups=replace(groups, length=np.where(none, -1, groups.length)))


def _inside(
    name: EventName,
    closure: Closure,
    lists: dict[ListName, EventLists],
    length: Numbers,
    events: KernelEvents,
) -> Numbers:
    """The event of a name in a list of a certain iteration."""
    return iterations_named(name, closure, lists, length).event(name, events)


def iterations_named(
    name: EventName, closure: Closure, lists: Mapping[ListName, EventLists], length: Numbers
) -> Iterations:
    """The iteration that a name means, for rows with so many of them."""
    meant = iteration_of(name, closure.variable)
    assert isinstance(meant, ElementName), "an iteration that has a place"
    number = np.full(len(length), meant.place - 1) if meant.place > 0 else length + meant.place
    return Iterations(closure.variable, closure.names, lists, np.arange(len(length)), number)


def _at(pool: Numbers, place: Numbers, there: Truths) -> Numbers:
    if not len(pool):
        return np.full(len(place), -1)
    return np.where(there, pool[np.where(there, place, 0)], -1)
