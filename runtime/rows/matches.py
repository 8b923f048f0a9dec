"""Matches as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neelc.runtime.rows.automaton import Ints


@dataclass(frozen=True)
class Matches:
    """Matches, one after the other: each takes `length` rows from `start` on, none if it is empty. `places`
    are those of all their rows, `number` the number of each in its partition."""

    start: Ints
    length: Ints
    places: Ints
    number: Ints


def numbered(starts: Ints, heads: Ints) -> Ints:
    """The number of each match in its partition, from 1; they are in order.

    >>> numbered(np.array([1, 4, 7, 9]), np.array([0, 6])).tolist()
    [1, 2, 1, 2]
    """
    before = np.searchsorted(starts, heads)
    segment = np.searchsorted(heads, starts, side="right") - 1
    return np.arange(1, len(starts) + 1) - before[segment]


def listed(starts: Sequence[int], lengths: Sequence[int], places: Sequence[int], heads: Ints) -> Matches:
    """Matches that were found one by one."""
    start, length, flat = (np.array(values, dtype=np.int64) for values in (starts, lengths, places))
    return Matches(start, length, flat, numbered(start, heads))
