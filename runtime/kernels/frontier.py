"""Tables of partial matches: values; steps make new ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import EventName, ListName, When
from neelc.runtime.values.arithmetic import is_valid

# Rows that occur more than once.

LARGEST = 2**62


def codes(columns: Sequence[Numbers]) -> tuple[Numbers, int]:
    """A number for each row, the same for the same entries, and what all are less than.

    Entries are -1 or more.
    """
    code, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        choices = int(column.max(initial=-1)) + 2
        if size * choices > LARGEST:
            _, code = np.unique(code, return_inverse=True)
            size = len(code)
        code, size = code * choices + (column + 1), size * choices
    return code, size


def distinct(columns: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """A row for each of the different ones, and which of these each row is like.

    >>> import numpy as np
    >>> rows, like = distinct([np.array([5, -1, 5, 5]), np.array([1, 1, 1, 2])])
    >>> rows.tolist(), like.tolist()
    ([1, 0, 3], [1, 0, 1, 2])
    """
    code, size = codes(columns)
    if not len(code):
        return code, code
    change = code[1:] != code[:-1]
    if (code[1:] >= code[:-1]).all():
        return np.flatnonzero(np.append(True, change)), np.append(0, np.cumsum(change))
    if size <= 4 * len(code):
        where = np.full(size, -1)
        where[code[::-1]] = np.arange(len(code))[::-1]
        rows = where[where >= 0]
        where[code[rows]] = np.arange(len(rows))
        return rows, where[code]
    _, rows, like = np.unique(code, return_index=True, return_inverse=True)
    return rows, like


# Lists of events, one for each row of a table.


@dataclass(frozen=True, eq=False)
class EventLists:
    """Row r has the `length[r]` events of the `pool` from `begin[r]` on; no list at all where that is -1.

    Dropping or repeating rows does not change the pool.

    A list of lists has the events of all of them, one list after the other. Its `groups` are lists of
    numbers: how many events each of the inner lists has, -1 where there is no inner list. Where these are
    lists of lists, the groups are grouped in turn.
    """

    pool: Numbers
    begin: Numbers
    length: Numbers
    groups: EventLists | None = None

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, rows: Numbers | Truths | slice) -> EventLists:
        groups = None if self.groups is None else self.groups.take(rows)
        return EventLists(self.pool, self.begin[rows], self.length[rows], groups)

    @property
    def elements(self) -> EventLists:
        """The lists by what they are lists of: events, or groups of them."""
        return self if self.groups is None else self.groups.elements

    def group(self, row: Numbers, number: Numbers) -> EventLists:
        """For each pair of a row and a number, counted from 0: the inner list, none where there is none.

        >>> lists = EventLists(np.array([7, 8, 9]), np.array([0]), np.array([3]))
        >>> sizes = EventLists(np.array([2, -1, 1]), np.array([0]), np.array([3]))
        >>> inner = replace(lists, groups=sizes).group(np.array([0, 0, 0]), np.array([2, 1, 3]))
        >>> inner.begin.tolist(), inner.length.tolist()
        ([2, 2, 0], [1, -1, -1])
        """
        sizes = self.groups
        assert sizes is not None, "a list of lists"
        before = np.concatenate(([0], np.cumsum(np.maximum(sizes.pool, 0))))
        if sizes.groups is None:
            inner, inside = None, (number >= 0) & (number < sizes.length[row])
            first = np.where(inside, sizes.begin[row] + number, 0)
            size = np.where(inside, sizes.pool[first] if len(sizes.pool) else -1, -1)
        else:
            inner = sizes.group(row, number)
            inside, first = inner.length >= 0, inner.begin
            size = np.where(inside, before[first + np.maximum(inner.length, 0)] - before[first], -1)
        begin = self.begin[row] + before[first] - before[sizes.begin[row]]
        return EventLists(self.pool, np.where(inside, begin, 0), size, inner)

    def until(self, row: Numbers, number: Numbers) -> EventLists:
        """For each pair of a row and a number: as many elements of the row's list, from the first on."""
        if self.groups is None:
            return EventLists(self.pool, self.begin[row], number)
        groups = self.groups.until(row, number)
        before = np.concatenate(([0], np.cumsum(np.maximum(self.groups.pool, 0))))
        size = before[groups.begin + groups.length] - before[groups.begin]
        return EventLists(self.pool, self.begin[row], size, groups)

    def with_group(self, inner: EventLists) -> EventLists:
        """The lists, each with one more inner list."""
        sizes = self.groups
        assert sizes is not None, "a list of lists"
        if inner.groups is None:
            groups = sizes.with_elements(_single(inner.length))
        else:
            groups = sizes.with_group(inner.groups)
        return replace(self.with_elements(inner), groups=groups)

    def with_elements(self, more: EventLists) -> EventLists:
        """The lists, each with more elements at its end.

        >>> one = EventLists(np.array([7, 8]), np.array([0, 2]), np.array([2, 0]))
        >>> both = one.with_elements(EventLists(np.array([5, 6]), np.array([1, 0]), np.array([1, 1])))
        >>> both.pool.tolist(), both.begin.tolist(), both.length.tolist()
        ([7, 8, 6, 5], [0, 3], [3, 1])
        """
        old, new = np.maximum(self.length, 0), np.maximum(more.length, 0)
        length = old + new
        begin = np.cumsum(length) - length
        pool = np.empty(int(length.sum()), np.int64)
        for lists, counts, first in ((self, old, begin), (more, new, begin + old)):
            row, place = lists.row_and_place()
            pool[np.arange(len(row)) + np.repeat(first - np.cumsum(counts) + counts, counts)] = lists.pool[
                place
            ]
        return EventLists(pool, begin, length)

    def shifted(self, offset: int) -> EventLists:
        """With other numbers for the events."""
        return replace(self, pool=np.where(self.pool < 0, self.pool, self.pool + offset))

    def row_and_place(self) -> tuple[Numbers, Numbers]:
        """For each element, row by row: its row, and where it is in the pool.

        >>> lists = EventLists(np.array([7, 8, 9]), np.array([1, 0, 0]), np.array([2, -1, 1]))
        >>> [found.tolist() for found in lists.row_and_place()]
        [[0, 0, 2], [1, 2, 0]]
        """
        counts = np.maximum(self.length, 0)
        row = np.repeat(np.arange(len(counts)), counts)
        return row, np.arange(len(row)) + np.repeat(self.begin - np.cumsum(counts) + counts, counts)

    def appended(self, events: Numbers, count: int) -> EventLists:
        """The lists, all of them of `count` elements, with one more."""
        elements = np.empty((len(self), count + 1), np.int64)
        elements[:, :count] = self.pool[self.begin[:, None] + np.arange(count)]
        elements[:, count] = events
        return EventLists(elements.ravel(), np.arange(len(self)) * (count + 1), self.length + 1)

    def at(self, place: int) -> Numbers:
        """The element at a place of each list, -1 where a list is shorter."""
        inside = place < self.length
        if not len(self.pool):
            return np.full(len(self), -1)
        return np.where(inside, self.pool[np.where(inside, self.begin + place, 0)], -1)

    def at_place(self, place: int) -> Numbers:
        """The element that a name means: 2, or -2 for `last-1`; -1 where there is none.

        >>> lists = EventLists(np.array([7, 8, 9]), np.array([0, 2]), np.array([2, 1]))
        >>> lists.at_place(2).tolist(), lists.at_place(-2).tolist()
        ([8, -1], [7, -1])
        """
        if place > 0:
            return self.at(place - 1)
        number = self.length + place
        if not len(self.pool):
            return np.full(len(self), -1)
        return np.where(number >= 0, self.pool[np.where(number >= 0, self.begin + number, 0)], -1)

    def codes(self) -> Numbers:
        """A number for each row, the same for the same list.

        >>> lists = EventLists(np.array([7, 8, 7, 8]), np.array([0, 1, 2, 0]), np.array([2, 1, 2, 0]))
        >>> lists.codes().tolist()
        [2, 1, 2, 0]
        """
        code = self.length if self.groups is None else self.groups.codes()
        for place in range(int(self.length.max(initial=0))):
            _, code = distinct([code, self.at(place)])
        return code


def _single(numbers: Numbers) -> EventLists:
    """Lists of one element each."""
    return EventLists(numbers, np.arange(len(numbers)), np.ones(len(numbers), np.int64))


def empty(rows: int, depth: int = 0) -> EventLists:
    """A list without elements in each row. Lists of lists, and so on, have a `depth`."""
    groups = empty(rows, depth - 1) if depth else None
    return EventLists(np.zeros(0, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64), groups)


def none(rows: int, depth: int = 0) -> EventLists:
    """No list in any row."""
    groups = none(rows, depth - 1) if depth else None
    return EventLists(np.zeros(0, np.int64), np.zeros(rows, np.int64), np.full(rows, -1), groups)


def _depth(lists: EventLists) -> int:
    return 0 if lists.groups is None else 1 + _depth(lists.groups)


def joined(one: EventLists | None, count: int, other: EventLists | None, others: int) -> EventLists:
    """The lists of `count` rows, and then those of `others`."""
    depth = max((_depth(lists) for lists in (one, other) if lists), default=0)
    first, second = one or none(count, depth), other or none(others, depth)
    return EventLists(
        np.concatenate((first.pool, second.pool)),
        np.concatenate((first.begin, second.begin + len(first.pool))),
        np.concatenate((first.length, second.length)),
        joined(first.groups, count, second.groups, others) if depth else None,
    )


def contains(lists: EventLists, row: Numbers, event: Numbers) -> Truths:
    """For each pair of a row and an event: whether the row's list has the event.

    >>> lists = EventLists(np.array([7, 8, 9]), np.array([0, 2]), np.array([2, 1]))
    >>> contains(lists, np.array([0, 0, 1]), np.array([8, 9, 9])).tolist()
    [True, False, True]
    """
    found = np.zeros(len(row), bool)
    for place in range(int(lists.length.max(initial=0))):
        found |= lists.at(place)[row] == event
    return found


@dataclass(frozen=True, eq=False)
class Frontier:
    """One row for each partial match: the event of each variable, or -1; the choice of each mark, or -1; the
    segment, -1 for a row that has no event yet. A column that is not there is -1 everywhere.

    Where all rows have the same choice, `choices` has it instead of `marks`. `lists` are the lists of events
    that closures bind, `totals` what was computed of them.
    """

    variables: Mapping[EventName, Numbers]
    marks: Mapping[str, Numbers]
    segment: Numbers
    choices: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[ListName, EventLists] = field(default_factory=dict)
    totals: Mapping[str, NullableArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.segment)

    def take(self, rows: Numbers | Truths | slice) -> Frontier:
        return Frontier(
            {name: column[rows] for name, column in self.variables.items()},
            {name: column[rows] for name, column in self.marks.items()},
            self.segment[rows],
            self.choices,
            {name: column.take(rows) for name, column in self.lists.items()},
            {name: chosen(column, rows) for name, column in self.totals.items()},
        )

    def only(self, names: Collection[EventName]) -> Frontier:
        """Without the other variables, lists and marks."""
        return Frontier(
            {name: column for name, column in self.variables.items() if name in names},
            {name: column for name, column in self.marks.items() if name in names},
            self.segment,
            {name: choice for name, choice in self.choices.items() if name in names},
            {name: column for name, column in self.lists.items() if name in names},
            {name: column for name, column in self.totals.items() if name in names},
        )

    def bound(self, variable: EventName, numbers: Numbers, segment: Numbers) -> Frontier:
        return replace(self, variables={**self.variables, variable: numbers}, segment=segment)

    def renamed(self, variable: EventName, new: EventName) -> Frontier:
        numbers = {name: column for name, column in self.variables.items() if name not in (variable, new)}
        found = self.variables.get(variable)
        return replace(self, variables=numbers if found is None else {**numbers, new: found})

    def marked(self, mark: str, choices: Numbers) -> Frontier:
        return replace(self, marks={**self.marks, mark: choices})

    def chosen(self, mark: str, choice: int) -> Frontier:
        return replace(self, choices={**self.choices, mark: choice})

    def mark(self, name: str) -> Numbers:
        column = self.marks.get(name)
        return np.full(len(self), self.choices.get(name, -1)) if column is None else column


def chosen(values: NullableArray, rows: Numbers | Truths | slice) -> NullableArray:
    return NullableArray(values.values[rows], None if values.valid is None else values.valid[rows])


def root() -> Frontier:
    """One row that has nothing."""
    return Frontier({}, {}, np.array([-1]))


def both(one: Frontier, other: Frontier) -> Frontier:
    """The rows of two tables."""
    if not len(one) or not len(other):
        return one if len(one) else other
    none, nothing = np.full(len(one), -1), np.full(len(other), -1)
    variables = dict.fromkeys((*one.variables, *other.variables))
    same = dict(one.choices.items() & other.choices.items())
    marks = dict.fromkeys((*one.marks, *other.marks, *one.choices, *other.choices))
    return Frontier(
        {
            name: np.concatenate((one.variables.get(name, none), other.variables.get(name, nothing)))
            for name in variables
        },
        {name: np.concatenate((one.mark(name), other.mark(name))) for name in marks if name not in same},
        np.concatenate((one.segment, other.segment)),
        same,
        {
            name: joined(one.lists.get(name), len(one), other.lists.get(name), len(other))
            for name in dict.fromkeys((*one.lists, *other.lists))
        },
        {
            name: _both_totals(one.totals.get(name), len(one), other.totals.get(name), len(other))
            for name in dict.fromkeys((*one.totals, *other.totals))
        },
    )


def _both_totals(
    one: NullableArray | None, count: int, other: NullableArray | None, others: int
) -> NullableArray:
    sides = (_or_null(one, count), _or_null(other, others))
    kind = next(side.values.dtype for side in (one, other) if side is not None)
    return NullableArray(
        np.concatenate([side.values.astype(kind, copy=False) for side in sides]),
        np.concatenate([np.broadcast_to(is_valid(side), len(side.values)) for side in sides]),
    )


def _or_null(values: NullableArray | None, count: int) -> NullableArray:
    return NullableArray(np.zeros(count), np.zeros(count, bool)) if values is None else values


def concerned(frontier: Frontier, when: When) -> Truths | bool:
    """The rows with these choices; True or False: all or none."""
    rows: Truths | bool = True
    for mark, choice in when:
        if mark in frontier.marks:
            rows = rows & (frontier.marks[mark] == choice)
        elif frontier.choices.get(mark) != choice:
            return False
    return rows


def any_bound(frontier: Frontier, variables: Iterable[EventName]) -> Truths:
    """The rows in which one of the variables has an event."""
    rows = np.zeros(len(frontier), bool)
    for variable in variables:
        if variable in frontier.variables:
            rows |= frontier.variables[variable] >= 0
    return rows


def place_of(frontier: Frontier, events: KernelEvents) -> tuple[int, int | None]:
    """Where the first row is: its key, and when its first event starts."""
    numbers = (int(column[0]) for column in frontier.variables.values())
    starts = (int(events.start[number]) for number in numbers if number >= 0)
    return int(frontier.segment[0]), min(starts, default=None)
