"""Folds over many ranges of rows at once, in time that grows with the logarithm of the ranges' lengths.

Nothing is ever subtracted: a range's fold is made of values in the range and of no others. So an infinity, a
NaN or a huge value has no effect on ranges that it is not in.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.segments import Ints

Array = NDArray[np.generic]
State = tuple[Array, ...]
"""Partial folds, one for each place: arrays of the same length."""


class Fold(Protocol):
    """An associative operation with a neutral element."""

    @property
    def is_idempotent(self) -> bool:
        """Whether a value may be folded twice."""
        ...

    def neutral(self, count: int) -> State: ...

    def combine(self, one: State, other: State) -> State:
        """`one` and `other` place by place."""
        ...


def take(state: State, places: Ints) -> State:
    return tuple(part[places] for part in state)


def over_ranges(fold: Fold, values: State, low: Ints, high: Ints) -> State:
    """The folds over `values[low:high]`, of all ranges.

    Level k has the folds over 2^k neighbours; it is made of the level before, and is then forgotten. A range
    is put together of one piece for each bit of its length; or, if values may be folded twice, of the two
    pieces of one level that cover it.

    >>> from neelc.runtime.algebra.folds import Extreme
    >>> low, high = np.array([0, 1, 2]), np.array([3, 5, 2])
    >>> over_ranges(Extreme(1), (np.array([5, 7, 1, 2, 9]),), low, high)[0].tolist()[:2]
    [7, 9]
    """
    total = fold.neutral(len(low))
    length = high - low
    longest = int(length.max(initial=0))
    place, width, level = low.copy(), 1, values
    while width <= longest:
        if fold.is_idempotent:
            chosen = np.flatnonzero((length >= width) & (length < 2 * width))
            if len(chosen):
                pieces = take(level, low[chosen]), take(level, high[chosen] - width)
                _put(total, chosen, fold.combine(*pieces))
        else:
            chosen = np.flatnonzero(length & width)
            if len(chosen):
                _put(total, chosen, fold.combine(take(total, chosen), take(level, place[chosen])))
                place[chosen] += width
        if 2 * width <= longest:
            level = fold.combine(tuple(p[:-width] for p in level), tuple(p[width:] for p in level))
        width *= 2
    return total


def _put(state: State, places: Ints, new: State) -> None:
    for part, values in zip(state, new, strict=True):
        part[places] = values
