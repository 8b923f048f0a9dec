"""Events that negations exclude: which of them can spoil a match, and how likely it is that they do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neelc.runtime.failures import KernelError
from neelc.runtime.kernels.confidence.ranges import Chances, PossibleTimes, Ranges, Sequences, within
from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.frontier import distinct
from neelc.runtime.late_dataclass import dataclass

MAX_SHARED = 4096
"""In how many ways events may be divided among several negations of one match."""


@dataclass(frozen=True, eq=False)
class SpoilingEvents:
    """Event `event` spoils match `row` if it is in gap `gap`: between the elements `gap - 1` and `gap` of the
    match, before all if `gap` is 0, after all if `gap` is their number.

    Before and after all only what fits into one window with the match is looked at.
    """

    row: Numbers
    gap: Numbers
    event: Numbers

    def take(self, which: Numbers | Truths) -> SpoilingEvents:
        return SpoilingEvents(self.row[which], self.gap[which], self.event[which])


@dataclass(frozen=True, eq=False)
class Rivals:
    """The same for rows of `Ranges`, by time. Of a `charged` one the probability counts that it is inside."""

    row: Numbers
    gap: Numbers
    lo: Numbers
    hi: Numbers
    charged: Truths

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: Numbers | Truths) -> Rivals:
        return Rivals(self.row[which], self.gap[which], self.lo[which], self.hi[which], self.charged[which])

    def between(self, gap: int) -> Rivals:
        return self.take(self.gap == gap)

    def of(self, rows: Numbers) -> Rivals:
        """Those of some rows, which are numbered anew."""
        number = np.full(max(int(rows.max(initial=-1)), int(self.row.max(initial=-1))) + 1, -1)
        number[rows] = np.arange(len(rows))
        kept = self.take(number[self.row] >= 0)
        return Rivals(number[kept.row], kept.gap, kept.lo, kept.hi, kept.charged)


def rivals(row: Sequence[int], gap: Sequence[int], lo: Sequence[int], hi: Sequence[int]) -> Rivals:
    """The rivals of literals."""
    rows, gaps, lows, highs = (np.array(column, np.int64) for column in (row, gap, lo, hi))
    return Rivals(rows, gaps, lows, highs, np.zeros(len(row), bool))


NONE = rivals((), (), (), ())


def unbound(absent: SpoilingEvents, sequences: Sequences) -> SpoilingEvents:
    """Each once, and without the events of the match: "one event is never bound to two variables of the same
    match, nor used again by a binding of a negative part that extends it".

    >>> from neelc.runtime.kernels.confidence.ranges import matrix
    >>> one, two = np.array([1, 1]), np.array([4, 6])
    >>> unbound(SpoilingEvents(one, one, two), matrix([[6], [4, 5]])).event.tolist()
    [6]
    """
    row = np.repeat(np.arange(len(sequences)), np.diff(sequences.first))
    span = int(max(sequences.events.max(initial=0), absent.event.max(initial=0))) + 1
    once, _ = distinct([absent.row, absent.gap, absent.event])
    absent = absent.take(once)
    return absent.take(~np.isin(absent.row * span + absent.event, row * span + sequences.events))


def reachable(absent: SpoilingEvents, times: PossibleTimes, ranges: Ranges, window: int | None) -> Truths:
    """Those that are in their gap in some world; `row` is one of `ranges`."""
    length = ranges.lo.shape[1]
    row, zero = absent.row, ranges.zero[absent.row]
    lo, hi = times.lo[absent.event] - zero, times.hi[absent.event] - zero
    outer = (absent.gap == 0) | (absent.gap == length)
    if window is None and outer.any():
        raise ValueError("a negation that stands first or last requires a window")
    width = window or 0
    before, after = np.maximum(absent.gap - 1, 0), np.minimum(absent.gap, length - 1)
    low = np.where(absent.gap == 0, ranges.lo[row, -1] - width, ranges.lo[row, before] + 1)
    high = np.where(absent.gap == length, ranges.hi[row, 0] + width, ranges.hi[row, after] - 1)
    return np.asarray((lo <= high) & (hi >= low))


def clear(low: Numbers, high: Numbers, rivals: Rivals) -> Chances:
    """The probability that no rival of a row is in low..high, for tables of such, one for each row.

    Where `low` is more than one above `high` it may be anything.

    >>> low, high = np.array([[[1]], [[5]]]), np.array([[[3]], [[5]]])
    >>> clear(low, high, rivals([0, 0], [1, 1], [1, 2], [4, 5])).ravel().tolist()
    [0.125, 1.0]
    """
    result = np.ones(np.broadcast_shapes(low.shape, high.shape))
    rank = rank_in_row(rivals.row)
    for number in range(int(rank.max(initial=-1)) + 1):
        rival = rivals.take(rank == number)
        row, (lo, hi) = rival.row, (rival.lo[:, None, None], rival.hi[:, None, None])
        # Columns of one side each: the table is only added to and multiplied.
        until, since = before_or_at(high[row], lo, hi), before_or_at(low[row] - 1, lo, hi)
        charged = rival.charged[:, None, None]
        result[row] *= np.where(charged, until, 1 - until) + np.where(charged, -since, since)
    return result


def before_or_at(time: Numbers, lo: Numbers, hi: Numbers) -> Chances:
    """The probability that something at one of lo..hi is no later than that.

    >>> before_or_at(np.array([0, 1, 4, 7]), np.array(1), np.array(4)).tolist()
    [0.0, 0.25, 1.0, 1.0]
    """
    count = hi - lo + 1
    return np.asarray(np.clip(time - lo + 1, 0, count) / count)


def rank_in_row(row: Numbers) -> Numbers:
    """How many have the same row and stand before each.

    >>> rank_in_row(np.array([5, 3, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(row, kind="stable")
    rank = np.empty(len(row), np.int64)
    rank[order] = np.arange(len(row)) - np.searchsorted(row[order], row[order])
    return rank


@dataclass(frozen=True, eq=False)
class ProbabilityTerms:
    """What is added up for each row: `sign` times a probability, for the row `origin` and these events."""

    origin: Numbers
    sign: Chances
    absent: SpoilingEvents
    charged: Truths


def divided(absent: SpoilingEvents, rows: int) -> ProbabilityTerms:
    """An event may be in one of several gaps, and they are not independent: it is in at most one.

    1 - (in the first) - (in the second) is the probability that it is in neither. So a row with such an event
    is the same row without it, minus one for each of the gaps in which it is there. Such rows are multiplied
    until no event is left in two gaps of one row.

    >>> twice, four = np.array([0, 0]), np.array([4, 4])
    >>> found = divided(SpoilingEvents(twice, np.array([1, 2]), four), 1)
    >>> found.sign.tolist(), found.absent.row.tolist(), found.absent.gap.tolist(), found.charged.tolist()
    ([1.0, -1.0, -1.0], [1, 2], [1, 2], [True, True])
    """
    terms = ProbabilityTerms(np.arange(rows), np.ones(rows), absent, np.zeros(len(absent.row), bool))
    while len(which := _shared(terms)):
        terms = _divided_once(terms, which)
        most = int(np.bincount(terms.origin).max())
        if most > MAX_SHARED:
            message = f"the events that several negations of one match ask for can be divided in {most} ways"
            raise KernelError("MAX_SHARED", f"{message}: the limit MAX_SHARED is {MAX_SHARED}")
    return terms


def _shared(terms: ProbabilityTerms) -> Numbers:
    """For each row that has an event in several gaps, all places of one such event."""
    absent = terms.absent
    order = np.lexsort((absent.event, absent.row))
    row, event = absent.row[order], absent.event[order]
    again = np.flatnonzero((row[1:] == row[:-1]) & (event[1:] == event[:-1]))
    chosen = again[np.unique(row[again], return_index=True)[1]]
    shared = np.full(len(terms.origin), -1)
    shared[row[chosen]] = event[chosen]
    return np.flatnonzero(shared[absent.row] == absent.event)


def _divided_once(terms: ProbabilityTerms, which: Numbers) -> ProbabilityTerms:
    absent, rows = terms.absent, len(terms.origin)
    rest = np.ones(len(absent.row), bool)
    rest[which] = False
    # The row itself loses the event; each of its places becomes a new row that keeps the others.
    source = absent.row[which]
    new = rows + np.arange(len(which))
    kept = np.flatnonzero(rest)
    kept = kept[np.argsort(absent.row[kept], kind="stable")]
    first, beyond = (np.searchsorted(absent.row[kept], source, side) for side in ("left", "right"))
    copies = kept[within(first, beyond)]
    taken = np.concatenate((kept, which, copies))
    row = np.concatenate((absent.row[kept], new, np.repeat(new, beyond - first)))
    charged = np.concatenate((terms.charged[kept], np.ones(len(which), bool), terms.charged[copies]))
    return ProbabilityTerms(
        np.concatenate((terms.origin, terms.origin[source])),
        np.concatenate((terms.sign, -terms.sign[source])),
        SpoilingEvents(row, absent.gap[taken], absent.event[taken]),
        charged,
    )
