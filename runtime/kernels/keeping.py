"""Which of many matches are kept, one after the other: AFTER MATCH SKIP and SUPPRESS on whole columns.

Each match has a value, and says from which value on the next one may be kept: `free`. The first match of a
key is kept; after it the first whose value is free; and so on. No match is looked at by itself: every match
knows the one that would follow it, and the steps from the first one are doubled until they reach the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from neelc.runtime.columns import FIRST_TIME, LAST_TIME
from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.moments import EventMoments


def following(key: Numbers, value: Numbers, free: Numbers, least: Numbers) -> Numbers:
    """The matches that are kept, by number, if for each key none with a value less than `least` can be; which
    is changed to what the last of them leaves free.

    >>> key, value, least = np.array([0, 0, 0, 1]), np.array([1, 2, 4, 6]), np.array([2, 7])
    >>> following(key, value, value + 3, least).tolist(), least.tolist()
    ([1], [5, 7])
    """
    rows = np.flatnonzero(value >= least[key])
    rows = rows[chained(key[rows], value[rows], free[rows])]
    least[key[rows]] = free[rows]  # the last one of a key counts
    return rows


def chained(key: Numbers, value: Numbers, free: Numbers) -> Truths:
    """The matches that are kept; they come by key, and for each key in the order of their values, which all
    differ. `free` is greater than `value`.

    >>> key, value = np.array([0, 0, 0, 0, 1, 1]), np.array([1, 2, 4, 6, 1, 3])
    >>> chained(key, value, value + 3).tolist()
    [True, False, True, False, True, False]

    Proof. After k rounds, `found` has the matches less than 2^k steps from the first of their key, and `jump`
    leads 2^k steps on: the matches that are less than twice as far are these, and those that they lead to.
    """
    count = len(key)
    found = np.zeros(count + 1, dtype=np.bool_)
    found[:count] = np.diff(key, prepend=-1) != 0
    jump = _followers(key, value, free)
    while True:
        targets = jump[found]
        if not (targets < count).any():
            return found[:count]
        found[targets] = True
        jump = jump[jump]


def _followers(key: Numbers, value: Numbers, free: Numbers) -> Numbers:
    """For each match the one that would be kept after it; behind the last one if there is none."""
    count = len(key)
    values = np.unique(value)
    # Places among the values are small numbers: with the number of the key they fit into one.
    line = key * (count + 1) + np.searchsorted(values, value)
    follower = np.searchsorted(line, key * (count + 1) + np.searchsorted(values, free))
    inside = follower < count
    inside[inside] = key[follower[inside]] == key[inside]
    return np.append(np.where(inside, follower, count), count)


def ends_after_earlier(key: Numbers, instant: Numbers, end: Numbers) -> Truths:
    """The matches that end later than all of their key that start earlier. `instant` numbers the starts of
    all keys, those of a key together and in the order of time.

    >>> key, instant = np.array([0, 0, 0, 0, 1]), np.array([0, 0, 1, 2, 3])
    >>> ends_after_earlier(key, instant, np.array([3, 5, 4, 6, 1])).tolist()
    [True, True, False, True, True]
    """
    if not len(instant):
        return np.zeros(0, dtype=np.bool_)
    count = int(instant.max()) + 1
    latest = np.full(count, FIRST_TIME)
    np.maximum.at(latest, instant, end)
    of_key = np.full(count, -1)
    of_key[instant] = key
    present = np.flatnonzero(of_key >= 0)
    values, rank = np.unique(latest[present], return_inverse=True)
    # The numbers of a key are greater than those of the keys before it, so the greatest so far is of the key.
    line = np.maximum.accumulate(of_key[present] * len(values) + rank)
    same = np.diff(of_key[present], prepend=-1) == 0
    before = np.concatenate([[0], line[:-1]]) % len(values)
    earlier = np.full(count, FIRST_TIME)
    earlier[present] = np.where(same, values[before], FIRST_TIME)
    found: Truths = end > earlier[instant]
    return found


def later(times: Numbers, width: int) -> Numbers:
    """The first instant that is more than `width` after each time.

    >>> later(np.array([5, LAST_TIME - 1]), 2).tolist() == [8, LAST_TIME]
    True
    """
    beyond = times >= LAST_TIME - width
    found: Numbers = np.where(beyond, LAST_TIME, np.where(beyond, 0, times) + width + 1)
    return found


# Where columns order events of the same time (THEN BY).
#
# Numbers of moments are those of one search, and what was kept must be known to the next one. So a bound is a
# time, and how many of the moments at which events start at that time come before it: all events of a time
# are known when its matches are decided, and again as long as one of them may start a match.


@dataclass(frozen=True, eq=False)
class MomentPlaces:
    """Places in the order of starts: each a time, and so many of the moments of that time before it."""

    time: Numbers
    rank: Numbers

    def greatest(self, other: MomentPlaces) -> MomentPlaces:
        """The later of two places, each."""
        is_later = (self.time > other.time) | ((self.time == other.time) & (self.rank >= other.rank))
        return MomentPlaces(
            np.where(is_later, self.time, other.time), np.where(is_later, self.rank, other.rank)
        )


@dataclass(frozen=True, eq=False)
class StartMoments:
    """The moments of events, and their times."""

    moments: EventMoments
    start: Numbers
    end: Numbers

    def places(self, at: Numbers, before: Numbers) -> MomentPlaces:
        """The places behind the moments up to `before`, at the times of the moments `at`."""
        low = at - self._ranks[at]
        rank = np.searchsorted(self._starts, before, side="right") - np.searchsorted(self._starts, low)
        return MomentPlaces(self._times[at], rank.astype(np.int64))

    @cached_property
    def _starts(self) -> Numbers:
        """All moments at which events start, once."""
        return np.unique(self.moments.first)

    @cached_property
    def _ranks(self) -> Numbers:
        return self._of_moments(self.moments.first_rank, self.moments.last_rank)

    @cached_property
    def _times(self) -> Numbers:
        return self._of_moments(self.start, self.end)

    def _of_moments(self, of_first: Numbers, of_last: Numbers) -> Numbers:
        """Values of starts and ends, by the numbers of their moments."""
        count = int(max(self.moments.first.max(initial=-1), self.moments.last.max(initial=-1))) + 1
        found = np.zeros(count, dtype=np.int64)
        found[self.moments.first] = of_first
        found[self.moments.last] = of_last
        return found


class MomentLine:
    """Numbers in the order of places."""

    def __init__(self, places: Sequence[MomentPlaces]) -> None:
        self.times = np.unique(np.concatenate([one.time for one in places]))
        self.ranks = 1 + max(int(one.rank.max(initial=0)) for one in places)

    def numbers(self, places: MomentPlaces) -> Numbers:
        found: Numbers = np.searchsorted(self.times, places.time) * self.ranks + places.rank
        return found

    def places(self, numbers: Numbers) -> MomentPlaces:
        """The places that have these numbers.

        >>> line = MomentLine([MomentPlaces(np.array([5, 5, 9]), np.array([0, 2, 1]))])
        >>> line.places(line.numbers(MomentPlaces(np.array([9, 5]), np.array([1, 2])))).time.tolist()
        [9, 5]
        """
        return MomentPlaces(self.times[numbers // self.ranks], numbers % self.ranks)
