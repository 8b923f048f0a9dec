"""The probability of a match with negations, by dynamic programming over the instants of its events.

For each event in turn and each instant it may have: the probability that it is there and that all so far is
well. Between two events without a negation that is a running sum. With one it is a product of matrices: given
the times of its neighbours the events it asks for are independent, and the probabilities that they are
outside are multiplied; or what `confidence_gaps` makes of it. Where the window may be too short, or a
negation stands first or last, the instant of the first event is kept as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neelc.runtime.kernels.confidence_absent import Rivals, clear
from neelc.runtime.kernels.confidence_gaps import pieces_cost, through
from neelc.runtime.kernels.confidence_ranges import Chances, Ranges, portions
from neelc.runtime.kernels.errors import KernelError
from neelc.runtime.kernels.events import Numbers, Truths

CELLS = 1 << 20
"""How many numbers one table may have, about, if its rows are not larger."""

PRODUCT = 64
"""How many times faster, about, a product of matrices is than the same numbers one by one."""

MAX_INSTANTS = 1 << 24
"""How many numbers the largest table of one row may have."""


def by_instants(found: Ranges, window: int | None, rivals: Rivals, tracked: bool) -> Chances:
    """The probability of each row; `tracked`: the instant of the first event is kept.

    Something at 0, 1, 2 or 3 is not between 0 and 3 in two of four worlds.

    >>> from neelc.runtime.kernels.confidence_absent import rivals
    >>> at = np.array([[0, 3]])
    >>> found = Ranges(at, at, np.ones((1, 2)), np.array([0]))
    >>> by_instants(found, None, rivals([0], [1], [0], [3]), False).tolist()
    [0.5]
    """
    size = sizes(found, rivals)
    cost = cells(size, tracked)
    if len(cost) and cost.max() > MAX_INSTANTS:
        row = int(cost.argmax())
        message = f"the events of a match with negations have up to {size.widths[row].max()} instants"
        limit = f"the limit MAX_INSTANTS is {MAX_INSTANTS}"
        raise KernelError("MAX_INSTANTS", f"{message}, which asks for {cost[row]} numbers: {limit}")
    result = np.zeros(len(found))
    for portion in portions(cost, CELLS):
        for rows in alike(size, portion, tracked):
            result[rows] = _chances(found.take(rows), window, rivals.of(rows), tracked)
    return result


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many instants the events of each row have, and how many rivals the gap before each event has."""

    widths: Numbers
    rivals: Numbers


def sizes(found: Ranges, rivals: Rivals) -> Sizes:
    widths = found.hi - found.lo + 1
    many = np.zeros_like(widths)
    inner = rivals.gap < widths.shape[1]
    np.add.at(many, (rivals.row[inner], rivals.gap[inner]), 1)
    return Sizes(widths, many)


def cells(size: Sizes, tracked: bool) -> Numbers:
    """How many numbers the largest table of each row has."""
    widths, many = size.widths, size.rivals[:, 1:]
    states: Numbers = widths.max(axis=1) * (widths[:, 0] if tracked else 1)
    each = np.minimum(widths[:, :-1], pieces_cost(many) * (PRODUCT if tracked else 1))
    pairs: Numbers = np.where(many > 0, each * widths[:, 1:], 0).max(axis=1, initial=0)
    return np.maximum(states, pairs)


def alike(size: Sizes, rows: Numbers, tracked: bool) -> Iterator[Numbers]:
    """The rows in portions whose tables are not much larger than needed: all rows of a portion have room for
    the most instants of any.

    >>> size = Sizes(np.array([[1, 9000], [9000, 1], [1, 8000]]), np.array([[0, 3], [0, 3], [0, 3]]))
    >>> [rows.tolist() for rows in alike(size, np.arange(3), True)]
    [[0, 2], [1]]
    """
    widths = size.widths[rows]
    largest = Sizes(widths.max(axis=0, keepdims=True), size.rivals[rows].max(axis=0, keepdims=True))
    if len(rows) == 1 or len(rows) * int(cells(largest, tracked)[0]) <= 2 * CELLS:
        yield rows
        return
    spread = widths.max(axis=0) - widths.min(axis=0)
    order = rows[np.argsort(widths[:, int(spread.argmax())], kind="stable")]
    yield from alike(size, order[: (len(order) + 1) // 2], tracked)
    yield from alike(size, order[(len(order) + 1) // 2 :], tracked)


def _chances(found: Ranges, window: int | None, rivals: Rivals, tracked: bool) -> Chances:
    length = found.lo.shape[1]
    at, there = instants(found, 0)
    state = (there * found.share[:, :1])[:, None, :]
    if tracked:
        state = state * np.eye(at.shape[1])
    first, before = at, at
    for place in range(1, length):
        at, there = instants(found, place)
        state = follow(state, before, at, rivals.between(place))
        state = state * (there * found.share[:, place, None])[:, None, :]
        before = at
    if tracked:
        assert window is not None, "without a window nothing depends on the first event"
        state = state * (at[:, None, :] - first[:, :, None] <= window)
        state *= around(first, at, window, rivals, length)
    return np.asarray(state.sum(axis=(1, 2)))


def instants(found: Ranges, place: int) -> tuple[Numbers, Truths]:
    """The instants of the events at a place, as many for all rows, and which of them are."""
    low, high = found.lo[:, place, None], found.hi[:, place, None]
    at = low + np.arange(max(int((high - low).max()) + 1, 1))
    return at, at <= high


def follow(state: Chances, before: Numbers, at: Numbers, rivals: Rivals) -> Chances:
    """The probability that all is well before each instant: a running sum, read where it is asked for.

    With rivals it is a sum over pairs of instants, or over the pieces of their times if that is less.
    """
    if len(rivals):
        most = int(np.bincount(rivals.row).max())
        if before.shape[1] > pieces_cost(most) * (PRODUCT if state.shape[1] > 1 else 1):
            return through(state, before, at, rivals)
        return np.asarray(state @ pairs(before, at, rivals))
    sums = np.zeros((*state.shape[:2], state.shape[2] + 1))
    np.cumsum(state, axis=2, out=sums[:, :, 1:])
    earlier = np.clip(at - before[:, :1], 0, state.shape[2])
    return np.take_along_axis(sums, earlier[:, None, :], axis=2)


def pairs(before: Numbers, at: Numbers, rivals: Rivals) -> Chances:
    """For each two instants of neighbours, in order: the probability that nothing is between them."""
    left, right = before[:, :, None], at[:, None, :]
    return clear(left + 1, right - 1, rivals) * (left < right)


def around(first: Numbers, last: Numbers, window: int, rivals: Rivals, length: int) -> Chances:
    """For each instant of the first and of the last event: the probability that nothing is before them, or
    after them, that would fit into one window with them."""
    left, right = first[:, :, None], last[:, None, :]
    ahead, behind = rivals.between(0), rivals.between(length)
    return clear(right - window, left - 1, ahead) * clear(right + 1, left + window, behind)
