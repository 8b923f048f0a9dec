"""Lists in the iterations of a list, for closures inside of closures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from neelc.runtime.kernels.events import KernelEvents, Numbers
from neelc.runtime.kernels.frontier import EventLists
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ElementName,
    EventName,
    IterationName,
    ListName,
    around_of,
    in_place_of,
    inner_of,
    iteration_of,
    list_of,
    listed_in,
)

Lists = Mapping[ListName, EventLists]


def depth_in(name: IterationName, of: ListName) -> int:
    """How many lists there are from a list down to an event, but for itself.

    >>> depth_in(IterationName("k", "a"), "k"), depth_in(IterationName(IterationName("k", "b")), "k")
    (0, 1)
    """
    if name.list == of:
        return 0
    assert isinstance(name.list, IterationName), f"{name} is no event of {of}"
    return 1 + depth_in(name.list, of)


def inner_names(names: Sequence[IterationName], of: ListName) -> list[tuple[IterationName, IterationName]]:
    """Of the events that lists in an iteration have, the list and the event."""
    pairs = ((iteration_of(name, of), name) for name in names if name.list != of)
    return [(inner, name) for inner, name in pairs if isinstance(inner, IterationName)]


def outermost(bound: Sequence[Numbers], times: Numbers, is_better: np.ufunc) -> Numbers:
    """Of the events of an iteration the one that starts first, or that ends last; -1 where it has none."""
    best = bound[0]
    for numbers in bound[1:]:
        better = (best < 0) | ((numbers >= 0) & is_better(times[numbers], times[best]))
        best = np.where(better, numbers, best)
    return best


@dataclass(frozen=True, eq=False)
class Iterations:
    """Some iterations of the list `of`, whose events have `names`: those with some numbers, counted from 0,
    of some rows."""

    of: ListName
    names: tuple[IterationName, ...]
    lists: Lists
    row: Numbers
    number: Numbers
    found: dict[ListName, EventLists] = field(default_factory=dict)

    def inner_lists(self) -> Iterator[tuple[ListName, EventLists]]:
        """The lists that the iterations have, by their names in one: `k[i].b`."""
        for inner, name in inner_names(self.names, self.of):
            yield listed_in(name, inner), self._group(name)

    def inner_list(self, name: ListName) -> EventLists:
        """The list of that name, whichever iteration it names; of a list of iterations, any that has as many
        elements as there are."""
        iteration = iteration_of(name, self.of)
        assert iteration is not None, f"{name} is no list of an iteration of {self.of}"
        own = IterationName(self.of, iteration.inner)
        return listed(dict(self.inner_lists()), self.names, own, in_place_of(name, iteration, own))

    def ends(self, place: int) -> Iterator[Numbers]:
        """The first events, or the last ones if `place` is -1, of the lists that the iterations have."""
        return (lists.at_place(place) for _, lists in self.inner_lists())

    def event(self, name: EventName, events: KernelEvents) -> Numbers:
        """The event of a name inside of an iteration, whichever iteration it names: `k[i].b[last]`. Of an
        element that is more than an event, the first one, or the last if it is counted from the end."""
        places = [one.place for one in self._path(name)]
        found = [_at(self._group(leaf), places) for leaf in self.leaves(name)]
        times, is_better = (events.start, np.less) if places[-1] > 0 else (events.end, np.greater)
        return outermost(found, times, is_better)

    def leaves(self, name: EventName) -> list[IterationName]:
        """Which events of the iterations a name inside of one is about: none, if it is that of what EXISTS
        looks for in an iteration, which is bound where it is looked for."""
        path = self._path(name)
        exact = IterationName(self.of, inner_of(path[0].list))
        for one in path:
            exact = IterationName(exact, one.inner)
        return [leaf for leaf in self.names if leaf == exact] or [
            leaf for leaf in self.names if iteration_of(leaf, exact.list) is not None
        ]

    def _path(self, name: EventName) -> list[ElementName]:
        """The elements of lists that a name goes through inside of an iteration, the outermost first."""
        path: list[ElementName] = []
        while list_of(name) != self.of:
            assert isinstance(name, ElementName), f"{name} is no event of an iteration of {self.of}"
            path.append(name)
            name = name.list
        return path[::-1]

    def _group(self, name: IterationName) -> EventLists:
        whole = listed_in(name, self.of)
        if whole not in self.found:
            self.found[whole] = self.lists[whole].group(self.row, self.number)
        return self.found[whole]


def listed(lists: Lists, names: Sequence[IterationName], of: ListName, name: ListName) -> EventLists:
    """The list of a name in the list `of`; of a list of iterations, any that has an element for each."""
    if name in lists:
        return lists[name]
    inside = [leaf for leaf in names if iteration_of(leaf, of) is not None]
    for leaf in inside:
        for one in around_of(leaf):
            if iteration_of(one, of) and isinstance(one, IterationName) and listed_in(one, of) == name:
                found: EventLists | None = lists[listed_in(leaf, of)]
                for _ in range(depth_in(leaf, one)):
                    found = None if found is None else found.groups
                assert found is not None, "as deep as the name"
                return found
    return lists[listed_in(inside[0], of)].elements


def number_of(iteration: ElementName | IterationName, count: int) -> int:
    """The number, from 0, of an iteration of a list that has so many; the next one is the one at hand."""
    if isinstance(iteration, IterationName):
        return count - iteration.lag
    return iteration.place - 1 if iteration.place > 0 else count + iteration.place


def _at(lists: EventLists, places: Sequence[int]) -> Numbers:
    """The element at the last of the places, of the list at the one before, and so on."""
    rows = np.arange(len(lists))
    for place in places:
        if lists.groups is None:
            return lists.at_place(place)
        number = np.full(len(lists), place - 1) if place > 0 else lists.elements.length + place
        lists = lists.group(rows, number)
    return lists.at_place(1 if places[-1] > 0 else -1)


def names_in_lists(names: Sequence[EventName], of: ListName) -> Iterator[EventName]:
    """Those of some names that are elements of a list in an iteration of a list."""
    return (name for name in names if list_of(name) not in (None, of) and iteration_of(name, of) is not None)
