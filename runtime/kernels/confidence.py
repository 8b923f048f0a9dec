"""Imprecise timestamps: how likely a list of events is a match.

A list of events is a match in those worlds in which its events come in order, fit into the window, and no
event that a negation asks for is in its gap. The sum of the probabilities of these worlds is computed without
making them: see `confidence_pieces` (order and window) and `confidence_instants` (negations).

All times are in one unit, and so is the window. Who calls has chosen events that fulfil all that does not
depend on times: types, conditions, keys. Pure functions of arrays: lists in, one number for each out.
"""

from __future__ import annotations

import numpy as np

from neelc.runtime.kernels.confidence_absent import NONE, Absent, Rivals, divided, reachable, unbound
from neelc.runtime.kernels.confidence_instants import by_instants, cells, sizes
from neelc.runtime.kernels.confidence_pieces import in_order, in_window
from neelc.runtime.kernels.confidence_ranges import (
    ENDLESS,
    Chances,
    Ranges,
    Sequences,
    Times,
    by_length,
    is_bound,
    is_possible,
    ranges,
)
from neelc.runtime.kernels.events import Numbers, Truths

CLOSE = 1e-9
"""What rounding may do to a confidence, and more: docs/decisions/0035-confidence-in-doubles.md."""

NOTHING = 1e-12
"""Less than that is taken for 0 where a negation may spoil all worlds: it is rounding."""


def confidences(
    times: Times, sequences: Sequences, window: int | None = None, absent: Absent | None = None
) -> Chances:
    """The confidence of each list; `window` None: as long as it likes. Nothing is asked of an empty list.
    Above 0 are those that are a match in some world.

    A at 1 or 2, B at 2 or 3; then the same within 1; then without C, at 2, between them.

    >>> from neelc.runtime.kernels.confidence_ranges import matrix
    >>> times, a_b = Times(np.array([1, 2, 2]), np.array([2, 3, 2])), matrix([[0, 1]])
    >>> confidences(times, a_b).tolist(), confidences(times, a_b, 1).tolist()
    ([0.75], [0.5])
    >>> confidences(times, a_b, None, Absent(np.array([0]), np.array([1]), np.array([2]))).tolist()
    [0.5]
    """
    result: Chances = (np.diff(sequences.first) == 0).astype(np.float64)
    asked = None if absent is None else unbound(absent, sequences)
    width = None if window is None or window >= ENDLESS else window
    for rows, table in by_length(sequences):
        found = ranges(times, table, width)
        possible = is_possible(found, width)
        rows, found = rows[possible], found.take(possible)
        result[rows] = _of_ranges(times, found, width, None if asked is None else _of_rows(asked, rows))
    return np.minimum(result, 1)


def _of_rows(absent: Absent, rows: Numbers) -> Absent:
    """Those of some lists, whose numbers are sorted; they are numbered anew."""
    if not len(rows):
        return absent.take(np.zeros(0, np.int64))
    number = np.minimum(np.searchsorted(rows, absent.row), len(rows) - 1)
    kept = rows[number] == absent.row
    return Absent(number[kept], absent.gap[kept], absent.event[kept])


def _of_ranges(times: Times, found: Ranges, window: int | None, absent: Absent | None) -> Chances:
    """Lists of one length; those that no negation can spoil need no look at instants."""
    result = np.zeros(len(found))
    spoiled = np.zeros(len(found), bool)
    if absent is not None:
        absent = absent.take(reachable(absent, times, found, window))
        spoiled[absent.row] = True
    plain = np.flatnonzero(~spoiled)
    result[plain] = _plain(found.take(plain), window)
    if absent is not None and spoiled.any():
        rows = np.flatnonzero(spoiled)
        result[rows] = _spoiled(times, found.take(rows), window, _of_rows(absent, rows))
    return result


def _plain(found: Ranges, window: int | None) -> Chances:
    """Order and window alone, in the cheaper way: few events or few instants."""
    result = np.zeros(len(found))
    bound = is_bound(found, window)
    length = found.lo.shape[1]
    for tracked in (False, True):
        rows = np.flatnonzero(bound == tracked)
        part = found.take(rows)
        # As measured: tests/bench/bench_confidence.py.
        few = cells(sizes(part, NONE), tracked) < length * length * (min(2 * length, 16) if tracked else 1)
        result[rows[few]] = by_instants(part.take(few), window, NONE, tracked)
        if tracked and window is not None:
            result[rows[~few]] = in_window(part.take(~few), window)
        elif not tracked:
            result[rows[~few]] = in_order(part.take(~few))
    return result


def _spoiled(times: Times, found: Ranges, window: int | None, absent: Absent) -> Chances:
    """Lists that events between, before or after them may spoil."""
    terms = divided(absent, len(found))
    each = found.take(terms.origin)
    row, event = terms.absent.row, terms.absent.event
    zero = each.zero[row]
    rivals = Rivals(row, terms.absent.gap, times.lo[event] - zero, times.hi[event] - zero, terms.charged)
    length = found.lo.shape[1]
    tracked = is_bound(each, window)
    tracked[row[(rivals.gap == 0) | (rivals.gap == length)]] = True
    chance = np.zeros(len(each))
    for kind in (False, True):
        rows = np.flatnonzero(tracked == kind)
        chance[rows] = by_instants(each.take(rows), window, rivals.of(rows), kind)
    result = np.zeros(len(found))
    np.add.at(result, terms.origin, terms.sign * chance)
    return np.where(result < NOTHING, 0, result)


def reaches(confidence: Chances, threshold: float, strictly: bool = False) -> Truths:
    """WITH CONFIDENCE >= threshold; `strictly`: >.

    Three times a tenth is three tenths:

    >>> reaches(np.array([0.1 + 0.2, 0.3, 0.3001]), 0.3, strictly=True).tolist()
    [False, False, True]
    >>> reaches(np.array([0.3, 0.2999]), 0.1 + 0.2).tolist()
    [True, False]
    """
    if strictly:
        return np.asarray(confidence > threshold + CLOSE)
    return np.asarray(confidence >= threshold - CLOSE)
