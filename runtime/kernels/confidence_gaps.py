"""Negations between two events that have many instants: sums over pairs of instants, without the pairs.

Given the times s and t of its neighbours, an event that must not be between them is there with the
probability F(t - 1) - F(s), where F is its distribution. So the factor of a pair is a product of sums of
something of t and something of s. The latter is linear in s between the ends of the ranges of these events.
In each such piece the product is a polynomial in s whose coefficients depend on t, and of s only sums of its
powers are needed: running sums. Where s is counted from 0 to 1 in its piece no coefficient is negative, and
nothing cancels out, unless events that several gaps share make it (`confidence_absent.divided`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neelc.runtime.kernels.confidence_absent import Rivals, before_or_at, rank_in_row
from neelc.runtime.kernels.confidence_ranges import Chances
from neelc.runtime.kernels.events import Numbers, Truths


@dataclass(frozen=True, eq=False)
class Slots:
    """The rivals of each row, one row for each, with room for as many as any row has."""

    lo: Numbers
    hi: Numbers
    charged: Truths
    used: Truths


def slots(rivals: Rivals, rows: int) -> Slots:
    """
    >>> from neelc.runtime.kernels.confidence_absent import rivals as those
    >>> found = slots(those([1, 0, 1], [1, 1, 1], [4, 5, 6], [9, 9, 9]), 2)
    >>> found.lo.tolist(), found.used.tolist()
    ([[5, 0], [4, 6]], [[True, False], [True, True]])
    """
    rank = rank_in_row(rivals.row)
    shape = rows, int(rank.max(initial=-1)) + 1
    lo, hi = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    charged, used = np.zeros(shape, bool), np.zeros(shape, bool)
    place = rivals.row, rank
    lo[place], hi[place], charged[place], used[place] = rivals.lo, rivals.hi, rivals.charged, True
    return Slots(lo, hi, charged, used)


def pieces_cost(rivals: Any) -> Any:
    """How many numbers are kept for each instant, for so many rivals."""
    return (2 * rivals + 1) * (rivals + 1)


def through(state: Chances, before: Numbers, at: Numbers, rivals: Rivals) -> Chances:
    """For each instant of `at`: the sum of `state` over the instants before it, each times the probability
    that nothing is between the two.

    >>> from neelc.runtime.kernels.confidence_absent import rivals as those
    >>> two, later = np.array([[0, 1]]), np.array([[2, 3]])
    >>> through(np.ones((1, 1, 2)), two, later, those([0], [1], [1], [2])).tolist()
    [[[1.5, 0.5]]]
    """
    slotted = slots(rivals, len(state))
    ends = before[:, :1], before[:, -1:] + 1
    edges = np.clip(np.concatenate((*ends, slotted.lo - 1, slotted.hi), axis=1), *ends)
    edges = np.sort(edges, axis=1)
    factors = [coefficients(slotted, edges[:, place : place + 2], at) for place in range(edges.shape[1] - 1)]
    cuts = [np.clip(np.minimum(edge[:, None], at) - ends[0], 0, before.shape[1]) for edge in edges.T]
    share = within_piece(before, edges)
    result = np.zeros((*state.shape[:2], at.shape[1]))
    sums = np.zeros((*state.shape[:2], before.shape[1] + 1))
    power = state
    for degree in range(factors[0].shape[0]):
        np.cumsum(power, axis=2, out=sums[:, :, 1:])
        low = np.take_along_axis(sums, cuts[0][:, None, :], axis=2)
        for factor, cut in zip(factors, cuts[1:], strict=True):
            high = np.take_along_axis(sums, cut[:, None, :], axis=2)
            result += factor[degree][:, None, :] * (high - low)
            low = high
        power = power * share[:, None, :]
    return result


def within_piece(times: Numbers, edges: Numbers) -> Chances:
    """Where each time is in its piece: from 0 to less than 1."""
    share = np.zeros(times.shape)
    for low, high in zip(edges.T[:, :, None], edges.T[1:, :, None], strict=False):
        inside = (low <= times) & (times < high)
        np.copyto(share, (times - low) / np.maximum(high - low, 1), where=inside)
    return share


def coefficients(slotted: Slots, piece: Numbers, at: Numbers) -> Chances:
    """The polynomial in s, from 0 to 1 in its piece, for each instant of `at`: by degree, row and instant."""
    count = slotted.lo.shape[1]
    result = np.zeros((count + 1, *at.shape))
    result[0] = 1
    for rival in range(count):
        lo, hi = slotted.lo[:, rival, None], slotted.hi[:, rival, None]
        earlier, rise = before_or_at(piece[:, :1], lo, hi), before_or_at(piece[:, 1:], lo, hi)
        inside, slope = before_or_at(at - 1, lo, hi) - earlier, earlier - rise
        charged, used = slotted.charged[:, rival, None], slotted.used[:, rival, None]
        base = np.where(used, np.where(charged, inside, 1 - inside), 1)
        slope = np.where(used, np.where(charged, slope, -slope), 0)
        result[1 : rival + 2] = result[1 : rival + 2] * base + result[: rival + 1] * slope
        result[0] *= base
    return result
