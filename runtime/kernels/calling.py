"""Aggregates that users register, for many lists at once: one call of Python for each list that is new.

A list is known by the numbers of its events, and one list is part of many partial matches: what a function
gave for it is kept for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from neelc.runtime.kernels import arithmetic
from neelc.runtime.kernels.events import Numbers, Values
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.kernels.logic import Array
from neelc.runtime.program import Fold
from neelc.runtime.registered import Function, called

MOST_KNOWN = 100_000
"""So many lists are remembered."""

Members = tuple[int, ...]
"""The numbers of a list's events; -1 where an iteration has none."""


@dataclass(frozen=True, eq=False)
class Call:
    """A function and the values that events have for it, which are looked at when the first list is.

    `offset` is the number of the first event: events may be cut into groups."""

    fold: Fold
    function: Function
    column: Callable[[], Sequence[object]]
    offset: int = 0
    known: dict[Members, object] = field(default_factory=dict)

    @cached_property
    def values(self) -> Sequence[object]:
        return self.column()

    def moved(self, offset: int) -> Call:
        """For events whose numbers begin that much later."""
        return replace(self, column=lambda: self.values, offset=self.offset + offset, known={})

    def of(self, members: Members) -> object:
        """What the function gives for a list."""
        if members not in self.known:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            values = [None if number < 0 else self.values[number + self.offset] for number in members]
            type = self.fold.type or ""
            self.known[members] = called(self.fold.function, self.function, type, values)
        return self.known[members]


def nothing(rows: int) -> Array:
    """So many empty lists, to be grown: an array of tuples, whose parts go where their rows do."""
    return np.fromiter((() for _ in range(rows)), object, rows)


def grown(lists: Array, numbers: Numbers) -> Array:
    """With one more event in each list.

    >>> grown(grown(nothing(2), np.array([7, 8])), np.array([9, 9])).tolist()
    [(7, 9), (8, 9)]
    """
    pairs = zip(lists, numbers.tolist(), strict=True)
    # Where there was no list, there may be a 0: what `Frontier` fills columns with.
    return np.fromiter(((*(one or ()), number) for one, number in pairs), object, len(numbers))


def members(lists: Lists) -> Iterable[Members]:
    """The events of each row's list; none, if there is no list."""
    for begin, length in zip(lists.begin.tolist(), lists.length.tolist(), strict=True):
        yield tuple(lists.pool[begin : begin + max(length, 0)].tolist())


def results(call: Call, lists: Iterable[Members]) -> Values:
    """What the function gives for each of the lists, as numbers or truth values."""
    found = [call.of(tuple(one or ())) for one in lists]
    valid = np.array([value is not None for value in found], bool)
    type = call.fold.type
    kind = np.bool_ if type == "boolean" else np.float64 if type in ("float", "double") else np.int64
    values = np.array([kind() if value is None else value for value in found], kind)
    return arithmetic.cast(Values(values, valid), type)
