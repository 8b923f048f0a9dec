"""Tables of partial matches: values; steps make new ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from neelc.runtime.kernels.events import Events, Numbers, Truths, Values
from neelc.runtime.kernels.lists import Lists, joined
from neelc.runtime.kernels.logic import is_valid
from neelc.runtime.program import When


@dataclass(frozen=True, eq=False)
class Frontier:
    """One row for each partial match: the event of each variable, or -1; the choice of each mark, or -1; the
    segment, -1 for a row that has no event yet. A column that is not there is -1 everywhere.

    Where all rows have the same choice, `choices` has it instead of `marks`. `lists` are the lists of events
    that closures bind, `totals` what was computed of them.
    """

    variables: Mapping[str, Numbers]
    marks: Mapping[str, Numbers]
    segment: Numbers
    choices: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[str, Lists] = field(default_factory=dict)
    totals: Mapping[str, Values] = field(default_factory=dict)

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

    def only(self, names: Collection[str]) -> Frontier:
        """Without the other variables, lists and marks."""
        return Frontier(
            {name: column for name, column in self.variables.items() if name in names},
            {name: column for name, column in self.marks.items() if name in names},
            self.segment,
            {name: choice for name, choice in self.choices.items() if name in names},
            {name: column for name, column in self.lists.items() if name in names},
            {name: column for name, column in self.totals.items() if name in names},
        )

    def bound(self, variable: str, numbers: Numbers, segment: Numbers) -> Frontier:
        return replace(self, variables={**self.variables, variable: numbers}, segment=segment)

    def renamed(self, variable: str, new: str) -> Frontier:
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


def chosen(values: Values, rows: Numbers | Truths | slice) -> Values:
    return Values(values.values[rows], None if values.valid is None else values.valid[rows])


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


def _both_totals(one: Values | None, count: int, other: Values | None, others: int) -> Values:
    sides = (_or_null(one, count), _or_null(other, others))
    kind = next(side.values.dtype for side in (one, other) if side is not None)
    return Values(
        np.concatenate([side.values.astype(kind, copy=False) for side in sides]),
        np.concatenate([np.broadcast_to(is_valid(side), len(side.values)) for side in sides]),
    )


def _or_null(values: Values | None, count: int) -> Values:
    return Values(np.zeros(count), np.zeros(count, bool)) if values is None else values


def concerned(frontier: Frontier, when: When) -> Truths | bool:
    """The rows with these choices; True or False: all or none."""
    rows: Truths | bool = True
    for mark, choice in when:
        if mark in frontier.marks:
            rows = rows & (frontier.marks[mark] == choice)
        elif frontier.choices.get(mark) != choice:
            return False
    return rows


def any_bound(frontier: Frontier, variables: Iterable[str]) -> Truths:
    """The rows in which one of the variables has an event."""
    rows = np.zeros(len(frontier), bool)
    for variable in variables:
        if variable in frontier.variables:
            rows |= frontier.variables[variable] >= 0
    return rows


def place_of(frontier: Frontier, events: Events) -> tuple[int, int | None]:
    """Where the first row is: its key, and when its first event starts."""
    numbers = (int(column[0]) for column in frontier.variables.values())
    starts = (int(events.start[number]) for number in numbers if number >= 0)
    return int(frontier.segment[0]), min(starts, default=None)
