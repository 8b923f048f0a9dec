"""Which of several matches is preferred: the one that ends first, then by the times of its events, variable
by variable, then by values. It is the order of `runtime/reference/furthest.py`, a column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from neelc.runtime.kernels.collapsing import Piece
from neelc.runtime.kernels.events import Events, Numbers, Truths
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.levels import Furthest
from neelc.runtime.program import Output
from neelc.runtime.value_order import Place, place_of

# No time is as early as that of an event that is not there, and of one behind the end of a list.
ABSENT, BEYOND = np.iinfo(np.int64).min + 1, np.iinfo(np.int64).min


@dataclass(frozen=True)
class Leaf:
    """A column of matches, and the columns of its events whose values are compared."""

    variable: str
    compared: tuple[str, ...] = ()


def leaves_of(outputs: Sequence[Output], asked: Furthest) -> tuple[Leaf, ...]:
    """All columns of matches; those of a closure of a composite by the names of its variables."""
    compared = dict(asked.compared)
    inner = (sorted(output.inner, key=lambda one: one.variable) or [output] for output in outputs)
    return tuple(Leaf(one.variable, compared.get(one.variable, ())) for ones in inner for one in ones)


def preferred(group: Numbers, piece: Piece, leaves: Sequence[Leaf], events: Events) -> Numbers:
    """A row of each group: the one that is preferred."""
    _, group = np.unique(group, return_inverse=True)
    alone, rows = _split(group, np.arange(len(group)))
    done = [alone]
    for key in _keys(piece, leaves, events):
        if not len(rows):
            break
        values = key(rows)
        least = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, group[rows], values)
        alone, rows = _split(group, rows[values == least[group[rows]]])
        done.append(alone)
    done.append(_by_values(group, rows, piece, leaves, events))
    return np.sort(np.concatenate(done))


def _split(group: Numbers, rows: Numbers) -> tuple[Numbers, Numbers]:
    """The rows that are the only one of their group, and the others."""
    alone = np.bincount(group[rows])[group[rows]] == 1 if len(rows) else np.zeros(0, bool)
    return rows[alone], rows[~alone]


Key = Callable[[Numbers], Numbers]
"""A number for each of some rows: the least is preferred."""


def _keys(piece: Piece, leaves: Sequence[Leaf], events: Events) -> Iterator[Key]:
    yield lambda rows: _end(rows, piece, events)
    for leaf in leaves:
        column = piece[leaf.variable]
        if not isinstance(column, Lists):
            yield from _times(column, events)
            continue
        yield partial(_take, (column.length >= 0).astype(np.int64))
        for place in range(int(column.length.max(initial=0))):
            beyond = column.length <= place
            for key in _times(column.at(place), events):
                yield partial(_take_unless, beyond, key)


def _take(values: Numbers, rows: Numbers) -> Numbers:
    return values[rows]


def _take_unless(beyond: Truths, key: Key, rows: Numbers) -> Numbers:
    return np.where(beyond[rows], BEYOND, key(rows))


def _times(numbers: Numbers, events: Events) -> Iterator[Key]:
    for times in (events.start, events.end) if events.lasting else (events.start,):
        yield partial(_time, numbers, times)


def _time(numbers: Numbers, times: Numbers, rows: Numbers) -> Numbers:
    return np.where(numbers[rows] < 0, ABSENT, times[numbers[rows]])


def _end(rows: Numbers, piece: Piece, events: Events) -> Numbers:
    """When the last event of each row ends."""
    end = np.full(len(rows), ABSENT)
    for column in piece.values():
        if isinstance(column, Lists):
            lists = column.take(rows)
            row, place = lists.row_and_place()
            numbers = lists.pool[place]
            np.maximum.at(end, row[numbers >= 0], events.end[numbers[numbers >= 0]])
        else:
            end = np.maximum(end, _time(column, events.end, rows))
    return end


def _by_values(
    group: Numbers, rows: Numbers, piece: Piece, leaves: Sequence[Leaf], events: Events
) -> Numbers:
    """One of the rows of each group, which differ in values only. These are rare: ties of all times."""
    columns = [_values(piece[leaf.variable], rows, leaf, events) for leaf in leaves if leaf.compared]
    best: dict[int, tuple[Place, int]] = {}
    for place, row in enumerate(rows.tolist()):
        found = (place_of([column[place] for column in columns]), row)
        number = int(group[row])
        best[number] = min(found, best.get(number, found), key=lambda one: one[0])
    return np.array([row for _, row in best.values()], np.int64)


def _values(column: Numbers | Lists, rows: Numbers, leaf: Leaf, events: Events) -> list[list[object]]:
    """Of each row, the values of each of its events."""
    if isinstance(column, Lists):
        row, place = column.take(rows).row_and_place()
        numbers = column.pool[place]
    else:
        row, numbers = np.arange(len(rows)), column[rows]
    known, like = np.unique(numbers, return_inverse=True)
    assert events.values is not None, "values are compared"
    present = known[known >= 0]
    values = list(zip(*(events.values(name, present) for name in leaf.compared), strict=True))
    missing = len(known) - len(present)
    found: list[list[object]] = [[] for _ in rows]
    for at, one in zip(row.tolist(), like.tolist(), strict=True):
        found[at].append([None] * len(leaf.compared) if one < missing else values[one - missing])
    return found
