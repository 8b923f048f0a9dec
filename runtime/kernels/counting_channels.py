"""What is known of the walks that end at an event: how many there are, what they add up to, their extremes.

Each of these is a channel. A channel that adds is linear: the walks of two events together have the sum of
their numbers. That is all that dynamic programming needs of it; extremes are the same with another sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.counting_chain import AVERAGE, COUNT, MAX, MIN, SUM, Tally
from neelc.runtime.kernels.events import Events, Numbers

Array = NDArray[Any]

WALKS, WEIGHTS, BLANKS, LEAST = "walks", "weights", "blanks", "least"
"""How many walks; the sum of their events' weights; how many have met no value; their least rank."""

NOTHING = np.iinfo(np.int64).max
"""The rank of nothing: greater than all others."""


@dataclass(frozen=True)
class Channel:
    """`kind` is one of the words above. All but WALKS are about the events of `stage` and a column of them,
    none: each event has the value 1. `counts`: its values are 1 where they are not NULL. LEAST of a
    `backwards` column is its greatest; if it `counts`, the least number of values, or the greatest, as a
    number below 0. If it `picks` the FIRST or LAST event of a list, others do not count."""

    kind: str
    stage: str = ""
    column: str | None = None
    counts: bool = False
    backwards: bool = False
    picks: str | None = None


def channels_of(tally: Tally) -> tuple[Channel, ...]:
    """What must be known for a tally, beside WALKS.

    >>> [channel.kind for channel in channels_of(Tally("t", AVERAGE, "c", "x"))]
    ['weights', 'blanks']
    """
    if not tally.stage:
        return ()
    if tally.function in (MIN, MAX):
        backwards = tally.function == MAX
        return (Channel(LEAST, tally.stage, tally.column, tally.counts, backwards, tally.picks),)
    weights = Channel(WEIGHTS, tally.stage, tally.column, tally.counts, picks=tally.picks)
    blanks = Channel(BLANKS, tally.stage, tally.column, picks=tally.picks)
    if tally.counts:  # how many there are is never NULL
        return (weights,) if tally.function != COUNT else ()
    return {COUNT: (blanks,), SUM: (weights, blanks), AVERAGE: (weights, blanks)}[tally.function]


@dataclass(frozen=True, eq=False)
class Material:
    """What a channel reads of each event: its weight, 0 where it is NULL; whether it is NULL; its rank, and
    which value has which rank."""

    weight: Array
    blank: NDArray[np.bool_]
    rank: Numbers
    ranked: Array

    @property
    def is_whole(self) -> bool:
        return self.weight.dtype.kind in "iu"

    @property
    def largest(self) -> float:
        """The greatest of the weights, without their signs."""
        if not self.is_whole or not len(self.weight):
            return 1.0
        return max(1.0, abs(float(self.weight.max())), abs(float(self.weight.min())))


def material(channel: Channel, events: Events) -> Material:
    """
    >>> from neelc.runtime.kernels.events import Values
    >>> prices = Values(np.array([2.0, 5.0, np.nan]), np.array([True, False, True]))
    >>> nowhere = np.zeros(3, np.int64)
    >>> events = Events(nowhere, nowhere, nowhere, {}, {"price": prices}, (nowhere, nowhere))
    >>> found = material(Channel(LEAST, "b", "price"), events)
    >>> found.weight.tolist(), found.blank.tolist(), (found.rank == NOTHING).tolist()
    ([0, 0, 0], [False, True, False], [False, True, False])
    """
    count = len(events.start)
    none = np.zeros(count, np.int64)
    if channel.column is None:
        return Material(np.ones(count, np.int64), np.zeros(count, bool), none, none)
    column = events.columns[channel.column]
    blank = np.zeros(count, bool) if column.valid is None else ~column.valid
    if channel.counts:
        return Material((~blank).astype(np.int64), blank, none, none)
    if channel.kind == LEAST:
        # NaN is the greatest of all numbers, for NumPy's order as for Spark's.
        ranked, rank = np.unique(column.values, return_inverse=True)
        rank = len(ranked) - 1 - rank if channel.backwards else rank
        ranked = ranked[::-1] if channel.backwards else ranked
        return Material(none, blank, np.where(blank, NOTHING, rank), ranked)
    weight = np.where(blank, column.values.dtype.type(0), column.values)
    return Material(weight.astype(np.float64 if weight.dtype.kind == "f" else np.int64), blank, none, none)


def part(found: Material, low: int, high: int) -> Material:
    """The same for the events from number `low` to before `high`."""
    return Material(found.weight[low:high], found.blank[low:high], found.rank[low:high], found.ranked)


def nothing(channel: Channel) -> int:
    """What a channel is where there is no walk."""
    return NOTHING if channel.kind == LEAST else 0


def kind_of(channel: Channel, found: Material | None, whole: Any) -> Any:
    """The type of a channel's numbers, if whole numbers have the type `whole`."""
    if channel.kind == LEAST:
        return np.int64
    return np.float64 if channel.kind == WEIGHTS and found is not None and not found.is_whole else whole


def together(channel: Channel, one: Array, other: Array) -> Array:
    """The walks of both."""
    return np.minimum(one, other) if channel.kind == LEAST else one + other


def accumulated(channel: Channel, rows: Array) -> Array:
    """For each row, the walks of all rows before it; one row more than there are."""
    begin = np.full((1, rows.shape[1]), nothing(channel), rows.dtype)
    whole = np.concatenate((begin, rows))
    add: np.ufunc = np.minimum if channel.kind == LEAST else np.add
    return add.accumulate(whole, axis=0, out=whole) if rows.dtype != object else add.accumulate(whole, axis=0)


def total(channel: Channel, rows: Array) -> Array:
    """The walks of all rows together."""
    add: np.ufunc = np.minimum if channel.kind == LEAST else np.add
    result: Array = add.reduce(rows, axis=0, initial=nothing(channel))
    return result


def unmet(channel: Channel, walks: Array, kind: np.dtype[Any]) -> Array:
    """What the channel has for walks that have met none of its events; its numbers are of a `kind`."""
    return walks if channel.kind == BLANKS else np.full(walks.shape, nothing(channel), kind)


def arrived(
    channel: Channel, found: Material | None, numbers: Numbers, before: Array, walks: Array, fits: Array
) -> Array:
    """The walks that go on to the events `numbers`, of the channel's own stage, where the event `fits`.

    `before` is what the channel has for them before the event, `walks` how many there are."""
    if found is None or channel.kind == WALKS:
        return np.where(fits, before, nothing(channel))
    if channel.kind == BLANKS:
        return np.where(fits & found.blank[numbers], before, 0)
    if channel.kind == LEAST:
        reached = fits & (walks > 0).astype(bool)
        if channel.counts:
            one = -found.weight[numbers] if channel.backwards else found.weight[numbers]
            return np.where(reached, np.where(reached, before, 0) + one, NOTHING)
        return np.where(reached, np.minimum(before, found.rank[numbers]), NOTHING)
    weight = found.weight[numbers]
    if found.is_whole:
        return np.where(fits, before + weight.astype(walks.dtype, copy=False) * walks, 0)
    # Infinity times no walk is nothing, not NaN.
    reached = fits & (walks > 0).astype(bool)
    with np.errstate(all="ignore"):
        return np.where(reached, before + np.where(reached, weight, 0.0) * walks.astype(np.float64), 0.0)
