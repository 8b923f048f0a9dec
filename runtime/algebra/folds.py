"""The operations that aggregates are made of: sums, extremes and moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.algebra.ranges import State

Floats = NDArray[np.float64]

_LEAST = np.iinfo(np.int64).min
_GREATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Sum:
    """Sums of DOUBLEs with what rounding lost of them: Knuth's exact sum of two, again and again.

    >>> huge, one = (np.array([1e16]), np.zeros(1)), (np.array([1.0]), np.zeros(1))
    >>> total = Sum().combine(Sum().combine(huge, one), one)
    >>> float(total[0][0] - 1e16)
    2.0
    """

    is_idempotent = False

    def neutral(self, count: int) -> State:
        return np.zeros(count), np.zeros(count)

    def combine(self, one: State, other: State) -> State:
        first: Floats
        second: Floats
        (first, first_lost), (second, second_lost) = one, other  # type: ignore[assignment]
        with np.errstate(invalid="ignore", over="ignore"):
            total = first + second
            of_second = total - first
            lost = (first - (total - of_second)) + (second - of_second) + (first_lost + second_lost)  # type: ignore[operator]
            # An infinity has lost nothing.
            lost = np.where(np.isfinite(total), lost, 0.0)
            whole = total + lost
            rest = np.where(np.isfinite(whole), lost - (whole - total), 0.0)
        return whole, rest


@dataclass(frozen=True)
class Extreme:
    """The greatest (`sign` 1) or the least (-1) of whole numbers."""

    sign: int

    is_idempotent = True

    def neutral(self, count: int) -> State:
        return (np.full(count, _LEAST if self.sign > 0 else _GREATEST, dtype=np.int64),)

    def combine(self, one: State, other: State) -> State:
        return ((np.maximum if self.sign > 0 else np.minimum)(one[0], other[0]),)


@dataclass(frozen=True)
class Moments:
    """How many values there are, their mean, and the sum of the squares of their distances to it.

    Two sets are joined as Chan, Golub and LeVeque do it: no difference of two large sums.

    >>> values = [(np.ones(1), np.array([1e9 + x]), np.zeros(1)) for x in (4.0, 7.0, 13.0, 16.0)]
    >>> whole = Moments().neutral(1)
    >>> for value in values: whole = Moments().combine(whole, value)
    >>> float(whole[2][0] / 3)
    30.0
    """

    is_idempotent = False

    def neutral(self, count: int) -> State:
        return np.zeros(count), np.zeros(count), np.zeros(count)

    def combine(self, one: State, other: State) -> State:
        n, mean, squares = (part.astype(np.float64, copy=False) for part in one)
        m, other_mean, other_squares = (part.astype(np.float64, copy=False) for part in other)
        both = n + m
        with np.errstate(invalid="ignore", over="ignore"):
            share = m / np.maximum(both, 1.0)
            apart = other_mean - mean
            # Without a value the mean of a side says nothing.
            joined_mean = np.where(n == 0, other_mean, np.where(m == 0, mean, mean + apart * share))
            extra = np.where((n == 0) | (m == 0), 0.0, apart * apart * n * share)
            return both, joined_mean, squares + other_squares + extra
