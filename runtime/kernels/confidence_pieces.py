"""The probability that events come in order and fit into a window, at a cost that does not depend on how
imprecise their times are.

All `lo` and `hi + 1` cut the time into pieces. Inside a piece of L instants an event that may be there may be
at each of them, so that k events are there in order in `L over k` ways. What remains is to choose how many of
the events, from left to right, each piece gets: dynamic programming over events and pieces.

A window adds the time of the first event. The number of ways for the other events is a polynomial in that
time, of lower degree than there are events, between those times at which it or the end of the window passes a
`lo` or `hi + 1`. A sum of such a polynomial over m instants is a weighted sum of its values at half as many
places as its degree (Gauss, for the discrete Chebyshev polynomials), be m ten or a million. The places lie
between instants: `L over k` is the polynomial there. All is exact but for rounding.
"""

from __future__ import annotations

import numpy as np

from neelc.runtime.kernels.confidence_ranges import Chances, Ranges, portions
from neelc.runtime.kernels.events import Numbers

CELLS = 1 << 20
"""How many numbers one table may have, about."""


def in_order(found: Ranges) -> Chances:
    """The probability that the events of each row come in order.

    Both at 1 or 2: one of four. Any two of a million instants: half of those that differ.

    >>> def chance(lo, hi):
    ...     share = 1 / (np.array([hi]) - np.array([lo]) + 1.0)
    ...     return in_order(Ranges(np.array([lo]), np.array([hi]), share, np.array([0]))).tolist()
    >>> chance([1, 1], [2, 2]), chance([1, 1], [10**6, 10**6])
    ([0.25], [0.4999995])
    """
    return ordered(found.lo.astype(np.float64), (found.hi + 1).astype(np.float64), found.share)


def in_window(found: Ranges, window: int) -> Chances:
    """The same, and that the last event is no later than `window` after the first.

    >>> zero, wide = np.zeros((1, 2), np.int64), np.full((1, 2), 7)
    >>> in_window(Ranges(zero, wide, np.full((1, 2), 1 / 8), np.array([0])), 1).round(12).tolist()
    [0.109375]
    """
    result = np.zeros(len(found))
    for rows in portions(np.full(len(found), 2 * found.lo.shape[1] ** 3), CELLS):
        part = found.take(rows)
        row, time, weight = starts(part, window)
        low = np.maximum(part.lo[row, 1:], time[:, None] + 1)
        high = np.minimum(part.hi[row, 1:] + 1.0, time[:, None] + window + 1)
        chance = ordered(low, high, part.share[row, 1:]) * weight * part.share[row, 0]
        result[rows] = np.bincount(row, chance, len(rows))
    return result


def ordered(low: Chances, high: Chances, share: Chances) -> Chances:
    """The probability of order for events at `low` to before `high`, at the shares given."""
    rows, length = low.shape
    many = max(CELLS // (2 * length * length), 1)
    parts = [slice(begin, begin + many) for begin in range(0, rows, many)]
    return np.concatenate([np.zeros(0), *(_ordered(low[part], high[part], share[part]) for part in parts)])


def _ordered(low: Chances, high: Chances, share: Chances) -> Chances:
    edges = np.sort(np.concatenate((low, high), axis=1), axis=1)
    size = np.diff(edges, axis=1)
    before, ways = np.ones_like(size), np.zeros((*size.shape, 0))
    for place in range(low.shape[1]):
        inside = (low[:, place, None] <= edges[:, :-1]) & (edges[:, 1:] <= high[:, place, None])
        scale = np.where(inside, share[:, place, None], 0)
        # ways[row, piece, k]: this event is the one after k others in its piece.
        k = np.arange(1, ways.shape[2] + 1)
        longer = ways * ((size[:, :, None] - k) / (k + 1))
        ways = np.concatenate(((before * size)[:, :, None], longer), axis=2) * scale[:, :, None]
        while ways.shape[2] > 1 and not ways[:, :, -1].any():
            ways = ways[:, :, :-1]
        total = ways.sum(axis=2)
        before = np.zeros_like(total)
        np.cumsum(total[:, :-1], axis=1, out=before[:, 1:])
    return np.asarray(total.sum(axis=1))


def starts(found: Ranges, window: int) -> tuple[Numbers, Chances, Chances]:
    """Times of the first event whose weighted sum is that of all of them: row, time and weight of each."""
    others = np.concatenate((found.lo[:, 1:], found.hi[:, 1:] + 1), axis=1) - 1
    first, beyond = found.lo[:, :1], found.hi[:, :1] + 1
    edges = np.concatenate((first, beyond, others, others - window), axis=1)
    edges = np.sort(np.clip(edges, first, beyond), axis=1)
    sizes = np.diff(edges, axis=1)
    row, piece = np.nonzero(sizes)
    begin, size = edges[row, piece], sizes[row, piece]
    order = (found.lo.shape[1] + 1) // 2
    each, times, weights = [], [], []
    for few in range(1, order + 1):
        which = np.flatnonzero(size == few if few < order else size >= few)
        place, weight = quadrature(size[which], few)
        each.append(np.repeat(row[which], few))
        times.append((begin[which, None] + place).ravel())
        weights.append(weight.ravel())
    return np.concatenate(each), np.concatenate(times), np.concatenate(weights)


def quadrature(count: Numbers, order: int) -> tuple[Chances, Chances]:
    """`order` places and weights for the sum of a polynomial of a degree below `2 * order` over the integers
    0..count - 1, for each count, by Golub and Welsch. With `order == count` all integers, at weight 1.

    >>> place, weight = quadrature(np.array([1000]), 2)
    >>> round((weight * place**3).sum()) == sum(x**3 for x in range(1000))
    True
    """
    counts, like = np.unique(count, return_inverse=True)
    k = np.arange(1, order)
    squares = (k * k * (counts[:, None].astype(float) ** 2 - k * k)) / (4 * (4 * k * k - 1))
    beside = np.zeros((len(counts), order, order))
    # `eigh` reads the lower triangle.
    beside[:, k, k - 1] = np.sqrt(squares)
    middle, vectors = np.linalg.eigh(beside)
    place, weight = middle + (counts[:, None] - 1) / 2, counts[:, None] * vectors[:, 0] ** 2
    return place[like], weight[like]
