"""Pruning by the threshold: what a list of events cannot become, however it goes on.

A match fulfils what is asked of any of its events. So the confidence of some of its events, in their order,
is never less than its own: not only of the first ones. Negations count if both neighbours are among these.
"""

from __future__ import annotations

import numpy as np

from neelc.runtime.kernels.confidence import confidences, reaches
from neelc.runtime.kernels.confidence_absent import Absent
from neelc.runtime.kernels.confidence_ranges import Chances, Sequences, Times, by_length
from neelc.runtime.kernels.events import Numbers, Truths


def can_reach(
    times: Times,
    partial: Sequences,
    threshold: float,
    window: int | None = None,
    absent: Absent | None = None,
) -> Truths:
    """The partial matches that may become matches with that confidence: the others can be dropped.

    `absent` has what spoils gaps between two events that stay neighbours; none before or after all of them. A
    quick look first, the confidence itself only of those that pass.

    >>> from neelc.runtime.kernels.confidence_ranges import matrix
    >>> times = Times(np.array([1, 1, 4]), np.array([2, 2, 4]))
    >>> can_reach(times, matrix([[0, 1], [0, 2]]), 0.3).tolist()
    [False, True]
    """
    result = reaches(quick_bounds(times, partial, window), threshold)
    rows = np.flatnonzero(result)
    those = None if absent is None else _renumbered(absent, result)
    result[rows] = reaches(confidences(times, partial.take(rows), window, those), threshold)
    return result


def _renumbered(absent: Absent, kept: Truths) -> Absent:
    found = absent.take(kept[absent.row])
    return Absent((np.cumsum(kept) - 1)[found.row], found.gap, found.event)


def quick_bounds(times: Times, partial: Sequences, window: int | None = None) -> Chances:
    """At least the confidence, from pairs alone, at the cost of a few operations for each event.

    The probabilities that each event precedes the next may be multiplied. Given the time t of an event, order
    among those up to it is the likelier the later t is, and order among those from it on the less likely; of
    two such functions of t the mean of the product is at most the product of the means (Chebyshev). The first
    and the last event must also fit into the window: that is a bound of its own.

    >>> from neelc.runtime.kernels.confidence_ranges import matrix
    >>> times = Times(np.ones(4, np.int64), np.full(4, 2))
    >>> quick_bounds(times, matrix([[0, 1, 2, 3], [2, 1]])).tolist()
    [0.015625, 0.25]
    """
    result = np.ones(len(partial))
    for rows, table in by_length(partial):
        lo, hi = times.lo[table], times.hi[table]
        chance = precedes(lo[:, :-1], hi[:, :-1], lo[:, 1:], hi[:, 1:])
        bound = chance.prod(axis=1)
        if window is not None and table.shape[1] > 1:
            ends = lo[:, 0], hi[:, 0], lo[:, -1], hi[:, -1]
            late = precedes(ends[0] + window, ends[1] + window, ends[2], ends[3])
            bound = np.minimum(bound, precedes(*ends) - late)
        result[rows] = bound
    return result


def precedes(lo: Numbers, hi: Numbers, low: Numbers, high: Numbers) -> Chances:
    """The probability that a time in lo..hi is less than one in low..high.

    >>> precedes(*(np.array([number]) for number in (1, 3, 2, 3))).tolist()
    [0.5]
    """
    certain = np.maximum(np.minimum(hi, low - 1) - lo + 1, 0)
    first, last = np.maximum(lo, low), np.minimum(hi, high - 1)
    count = np.maximum(last - first + 1, 0)
    # `high - t` of the other's instants are after t; these fall in steps of one from first to last.
    mean = ((high - first) + (high - last)) / 2
    share = certain + count * mean / (high - low + 1)
    return np.asarray(share / (hi - lo + 1))
