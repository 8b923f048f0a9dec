"""Events as instants: which symbols the events of each instant emit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def spread(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Several numbers from each first one on: which they belong to, and the numbers.

    >>> spread(np.array([5, 9]), np.array([2, 1]))
    (array([0, 0, 1]), array([5, 6, 9]))
    """
    which = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    return which, first[which] + within


@dataclass(frozen=True, eq=False)
class Emitters:
    """The events that emit one symbol: `rows`, in order. Of instant i they are the `count[i]` from `begin[i]`
    on."""

    rows: Ints
    begin: Ints
    count: Ints

    def of(self, instants: Ints) -> tuple[Ints, Ints]:
        """For each of the instants all its events: which of the instants, and the row."""
        which, places = spread(self.begin[instants], self.count[instants])
        return which, self.rows[places]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Instants of events that are sorted by key and time. `begin` are their first rows, `time` their times;
    `first` says which are the first of their key."""

    begin: Ints
    time: Ints
    first: Bools
    emitters: tuple[Emitters, ...]

    @property
    def size(self) -> int:
        return len(self.begin)

    @cached_property
    def last(self) -> Bools:
        """Which instants are the last of their key."""
        return np.append(self.first[1:], True)[: self.size]

    @cached_property
    def is_emitted(self) -> tuple[Bools, ...]:
        """For each symbol, the instants at which an event emits it."""
        return tuple(one.count > 0 for one in self.emitters)


def timeline(time: Ints, bits: Ints, heads: Ints, symbols: int) -> Timeline:
    """The instants of events whose keys begin at the rows `heads`.

    >>> rows = np.array([5, 5, 7, 5]), np.array([1, 3, 2, 1]), np.array([0, 3])
    >>> found = timeline(*rows, symbols=2)
    >>> found.begin.tolist(), found.first.tolist(), [one.count.tolist() for one in found.emitters]
    ([0, 2, 3], [True, False, True], [[2, 0, 1], [1, 1, 0]])
    """
    is_head = np.zeros(len(time), dtype=np.bool_)
    is_head[heads] = True
    changes = is_head.copy()
    changes[1:] |= time[1:] != time[:-1]
    begin = np.flatnonzero(changes)
    instant = np.cumsum(changes) - 1
    emitters = []
    for symbol in range(symbols):
        rows = np.flatnonzero(bits >> symbol & 1)
        count = np.bincount(instant[rows], minlength=len(begin))
        emitters.append(Emitters(rows, np.cumsum(count) - count, count))
    return Timeline(begin, time[begin], is_head[begin], tuple(emitters))


def reversed_in_time(line: Timeline) -> tuple[Bools, tuple[Bools, ...]]:
    """The first instants of keys and the instants of symbols, read from the end."""
    return line.last[::-1], tuple(one[::-1] for one in line.is_emitted)
