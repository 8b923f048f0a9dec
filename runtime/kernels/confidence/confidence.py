"""Imprecise timestamps: how likely a list of events is a match.

A list of events is a match in those worlds in which its events come in order, fit into the window, and no
event that a negation excludes is in its gap. The sum of the probabilities of these worlds is computed without
making them: see `confidence_pieces` (order and window) and `confidence_instants` (negations).

All times are in one unit, and so is the window. Who calls has chosen events that fulfil all that does not
depend on times: types, conditions, keys. Pure functions of arrays: lists in, one number for each out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neelc.runtime.failures import KernelError
from neelc.runtime.kernels.confidence.absent import (
    NONE,
    Rivals,
    SpoilingEvents,
    before_or_at,
    clear,
    divided,
    rank_in_row,
    reachable,
    unbound,
)
from neelc.runtime.kernels.confidence.ranges import (
    ENDLESS,
    Chances,
    PossibleTimes,
    Ranges,
    Sequences,
    by_length,
    is_bound,
    is_possible,
    portions,
    ranges,
)
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths
from neelc.runtime.kernels.frontier import Frontier, concerned
from neelc.runtime.kernels.taking import ROW, KernelSearch
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    CONFIDENCE,
    EventName,
    InnerList,
    KernelStep,
    Likely,
    Value,
    Weigh,
    WeighedNegation,
)

# The probability that events come in order and fit into a window, at a cost that does not depend on how
# imprecise their times are.
#
# All `lo` and `hi + 1` cut the time into pieces. Inside a piece of L instants an event that may be there
# may be at each of them, so that k events are there in order in `L over k` ways. What remains is to choose
# how many of the events, from left to right, each piece gets: dynamic programming over events and pieces.
#
# A window adds the time of the first event. The number of ways for the other events is a polynomial in that
# time, of lower degree than there are events, between those times at which it or the end of the window
# passes a `lo` or `hi + 1`. A sum of such a polynomial over m instants is a weighted sum of its values at
# half as many places as its degree (Gauss, for the discrete Chebyshev polynomials), be m ten or a million.
# The places lie between instants: `L over k` is the polynomial there. All is exact but for rounding.

CELLS = 1 << 20
"""How many numbers one table may have, about."""


def in_order(ranges: Ranges) -> Chances:
    """The probability that the events of each row come in order.

    Both at 1 or 2: one of four. Any two of a million instants: half of those that differ.

    >>> def chance(lo, hi):
    ...     share = 1 / (np.array([hi]) - np.array([lo]) + 1.0)
    ...     return in_order(Ranges(np.array([lo]), np.array([hi]), share, np.array([0]))).tolist()
    >>> chance([1, 1], [2, 2]), chance([1, 1], [10**6, 10**6])
    ([0.25], [0.4999995])
    """
    return ordered(ranges.lo.astype(np.float64), (ranges.hi + 1).astype(np.float64), ranges.share)


def in_window(ranges: Ranges, window: int) -> Chances:
    """The same, and that the last event is no later than `window` after the first.

    >>> zero, wide = np.zeros((1, 2), np.int64), np.full((1, 2), 7)
    >>> in_window(Ranges(zero, wide, np.full((1, 2), 1 / 8), np.array([0])), 1).round(12).tolist()
    [0.109375]
    """
    result = np.zeros(len(ranges))
    for rows in portions(np.full(len(ranges), 2 * ranges.lo.shape[1] ** 3), CELLS):
        part = ranges.take(rows)
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


def starts(ranges: Ranges, window: int) -> tuple[Numbers, Chances, Chances]:
    """Times of the first event whose weighted sum is that of all of them: row, time and weight of each."""
    others = np.concatenate((ranges.lo[:, 1:], ranges.hi[:, 1:] + 1), axis=1) - 1
    first, beyond = ranges.lo[:, :1], ranges.hi[:, :1] + 1
    edges = np.concatenate((first, beyond, others, others - window), axis=1)
    edges = np.sort(np.clip(edges, first, beyond), axis=1)
    sizes = np.diff(edges, axis=1)
    row, piece = np.nonzero(sizes)
    begin, size = edges[row, piece], sizes[row, piece]
    order = (ranges.lo.shape[1] + 1) // 2
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


# Negations between two events that have many instants: sums over pairs of instants, without the pairs.
#
# Given the times s and t of its neighbours, an event that must not be between them is there with the
# probability F(t - 1) - F(s), where F is its distribution. So the factor of a pair is a product of sums of
# something of t and something of s. The latter is linear in s between the ends of the ranges of these
# events. In each such piece the product is a polynomial in s whose coefficients depend on t, and of s only
# sums of its powers are needed: running sums. Where s is counted from 0 to 1 in its piece no coefficient is
# negative, and nothing cancels out, unless events that several gaps share make it
# (`confidence_absent.divided`).


@dataclass(frozen=True, eq=False)
class Slots:
    """The rivals of each row, one row for each, with room for as many as any row has."""

    lo: Numbers
    hi: Numbers
    charged: Truths
    used: Truths


def slots(rivals: Rivals, rows: int) -> Slots:
    """
    >>> from neelc.runtime.kernels.confidence.absent import rivals as those
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
    """How many numbers are kept for each instant, given the number of rivals."""
    return (2 * rivals + 1) * (rivals + 1)


def through(state: Chances, before: Numbers, at: Numbers, rivals: Rivals) -> Chances:
    """For each instant of `at`: the sum of `state` over the instants before it, each times the probability
    that nothing is between the two.

    >>> from neelc.runtime.kernels.confidence.absent import rivals as those
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


# The probability of a match with negations, by dynamic programming over the instants of its events.
#
# For each event in turn and each instant it may have: the probability that it is there and that all so far
# is well. Between two events without a negation that is a running sum. With one it is a product of
# matrices: given the times of its neighbours, the events it excludes are independent, and the probabilities
# that they are outside are multiplied; or what `confidence_gaps` makes of it. Where the window may be too
# short, or a negation stands first or last, the instant of the first event is kept as well.


PRODUCT = 64
"""How many times faster, about, a product of matrices is than the same numbers one by one."""

MAX_INSTANTS = 1 << 24
"""How many numbers the largest table of one row may have."""


def by_instants(ranges: Ranges, window: int | None, rivals: Rivals, tracked: bool) -> Chances:
    """The probability of each row; `tracked`: the instant of the first event is kept.

    Something at 0, 1, 2 or 3 is not between 0 and 3 in two of four worlds.

    >>> from neelc.runtime.kernels.confidence.absent import rivals
    >>> at = np.array([[0, 3]])
    >>> ranges = Ranges(at, at, np.ones((1, 2)), np.array([0]))
    >>> by_instants(ranges, None, rivals([0], [1], [0], [3]), False).tolist()
    [0.5]
    """
    size = sizes(ranges, rivals)
    cost = cells(size, tracked)
    if len(cost) and cost.max() > MAX_INSTANTS:
        row = int(cost.argmax())
        message = f"the events of a match with negations have up to {size.widths[row].max()} instants"
        limit = f"the limit MAX_INSTANTS is {MAX_INSTANTS}"
        raise KernelError("MAX_INSTANTS", f"{message}, which asks for {cost[row]} numbers: {limit}")
    result = np.zeros(len(ranges))
    for portion in portions(cost, CELLS):
        for rows in alike(size, portion, tracked):
            result[rows] = _chances(ranges.take(rows), window, rivals.of(rows), tracked)
    return result


@dataclass(frozen=True, eq=False)
class RowSizes:
    """How many instants the events of each row have, and how many rivals the gap before each event has."""

    widths: Numbers
    rivals: Numbers


def sizes(ranges: Ranges, rivals: Rivals) -> RowSizes:
    widths = ranges.hi - ranges.lo + 1
    many = np.zeros_like(widths)
    inner = rivals.gap < widths.shape[1]
    np.add.at(many, (rivals.row[inner], rivals.gap[inner]), 1)
    return RowSizes(widths, many)


def cells(size: RowSizes, tracked: bool) -> Numbers:
    """How many numbers the largest table of each row has."""
    widths, many = size.widths, size.rivals[:, 1:]
    states: Numbers = widths.max(axis=1) * (widths[:, 0] if tracked else 1)
    each = np.minimum(widths[:, :-1], pieces_cost(many) * (PRODUCT if tracked else 1))
    pairs: Numbers = np.where(many > 0, each * widths[:, 1:], 0).max(axis=1, initial=0)
    return np.maximum(states, pairs)


def alike(size: RowSizes, rows: Numbers, tracked: bool) -> Iterator[Numbers]:
    """The rows in portions whose tables are not much larger than needed: all rows of a portion have room for
    the most instants of any.

    >>> size = RowSizes(np.array([[1, 9000], [9000, 1], [1, 8000]]), np.array([[0, 3], [0, 3], [0, 3]]))
    >>> [rows.tolist() for rows in alike(size, np.arange(3), True)]
    [[0, 2], [1]]
    """
    widths = size.widths[rows]
    largest = RowSizes(widths.max(axis=0, keepdims=True), size.rivals[rows].max(axis=0, keepdims=True))
    if len(rows) == 1 or len(rows) * int(cells(largest, tracked)[0]) <= 2 * CELLS:
        yield rows
        return
    spread = widths.max(axis=0) - widths.min(axis=0)
    order = rows[np.argsort(widths[:, int(spread.argmax())], kind="stable")]
    yield from alike(size, order[: (len(order) + 1) // 2], tracked)
    yield from alike(size, order[(len(order) + 1) // 2 :], tracked)


def _chances(ranges: Ranges, window: int | None, rivals: Rivals, tracked: bool) -> Chances:
    length = ranges.lo.shape[1]
    at, there = instants(ranges, 0)
    state = (there * ranges.share[:, :1])[:, None, :]
    if tracked:
        state = state * np.eye(at.shape[1])
    first, before = at, at
    for place in range(1, length):
        at, there = instants(ranges, place)
        state = follow(state, before, at, rivals.between(place))
        state = state * (there * ranges.share[:, place, None])[:, None, :]
        before = at
    if tracked:
        assert window is not None, "without a window nothing depends on the first event"
        state = state * (at[:, None, :] - first[:, :, None] <= window)
        state *= around(first, at, window, rivals, length)
    return np.asarray(state.sum(axis=(1, 2)))


def instants(ranges: Ranges, place: int) -> tuple[Numbers, Truths]:
    """The instants of the events at a place, as many for all rows, and which of them are."""
    low, high = ranges.lo[:, place, None], ranges.hi[:, place, None]
    at = low + np.arange(max(int((high - low).max()) + 1, 1))
    return at, at <= high


def follow(state: Chances, before: Numbers, at: Numbers, rivals: Rivals) -> Chances:
    """The probability that all is well before each instant: a running sum, read where it is needed.

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


Order = tuple[tuple[int, ...], ...]
"""Places of events, in groups that come one after the other; the events of a group are simultaneous."""

CLOSE = 1e-9
"""What rounding may do to a confidence, and more: docs/decisions/0035-confidence-in-doubles.md."""

NOTHING = 1e-12
"""Less than that is taken for 0 where a negation may spoil all worlds: it is rounding."""


def confidences(
    times: PossibleTimes,
    sequences: Sequences,
    window: int | None = None,
    absent: SpoilingEvents | None = None,
) -> Chances:
    """The confidence of each list; `window` None: of any length. An empty list is certain.
    Above 0 are those that are a match in some world.

    A at 1 or 2, B at 2 or 3; then the same within 1; then without C, at 2, between them.

    >>> from neelc.runtime.kernels.confidence.ranges import matrix
    >>> times, a_b = PossibleTimes(np.array([1, 2, 2]), np.array([2, 3, 2])), matrix([[0, 1]])
    >>> confidences(times, a_b).tolist(), confidences(times, a_b, 1).tolist()
    ([0.75], [0.5])
    >>> confidences(times, a_b, None, SpoilingEvents(np.array([0]), np.array([1]), np.array([2]))).tolist()
    [0.5]
    """
    result: Chances = (np.diff(sequences.first) == 0).astype(np.float64)
    spoilers = None if absent is None else unbound(absent, sequences)
    width = None if window is None or window >= ENDLESS else window
    for rows, table in by_length(sequences):
        each = ranges(times, table, width)
        possible = is_possible(each, width)
        rows, each = rows[possible], each.take(possible)
        result[rows] = _of_ranges(times, each, width, None if spoilers is None else _of_rows(spoilers, rows))
    return np.minimum(result, 1)


def _of_rows(absent: SpoilingEvents, rows: Numbers) -> SpoilingEvents:
    """Those of some lists, whose numbers are sorted; they are numbered anew."""
    if not len(rows):
        return absent.take(np.zeros(0, np.int64))
    number = np.minimum(np.searchsorted(rows, absent.row), len(rows) - 1)
    kept = rows[number] == absent.row
    return SpoilingEvents(number[kept], absent.gap[kept], absent.event[kept])


def _of_ranges(
    times: PossibleTimes, ranges: Ranges, window: int | None, absent: SpoilingEvents | None
) -> Chances:
    """Lists of one length; those that no negation can spoil need no look at instants."""
    result = np.zeros(len(ranges))
    spoiled = np.zeros(len(ranges), bool)
    if absent is not None:
        absent = absent.take(reachable(absent, times, ranges, window))
        spoiled[absent.row] = True
    plain = np.flatnonzero(~spoiled)
    result[plain] = _plain(ranges.take(plain), window)
    if absent is not None and spoiled.any():
        rows = np.flatnonzero(spoiled)
        result[rows] = _spoiled(times, ranges.take(rows), window, _of_rows(absent, rows))
    return result


def _plain(ranges: Ranges, window: int | None) -> Chances:
    """Order and window alone, in the cheaper way: few events or few instants."""
    result = np.zeros(len(ranges))
    bound = is_bound(ranges, window)
    length = ranges.lo.shape[1]
    for tracked in (False, True):
        rows = np.flatnonzero(bound == tracked)
        part = ranges.take(rows)
        # As measured: tests/bench/bench_confidence.py.
        few = cells(sizes(part, NONE), tracked) < length * length * (min(2 * length, 16) if tracked else 1)
        result[rows[few]] = by_instants(part.take(few), window, NONE, tracked)
        if tracked and window is not None:
            result[rows[~few]] = in_window(part.take(~few), window)
        elif not tracked:
            result[rows[~few]] = in_order(part.take(~few))
    return result


def in_any_order(
    times: PossibleTimes, table: Numbers, orders: Sequence[Order], window: int | None
) -> Chances:
    """The probability that the events of each row come in one of some orders, each of which says which events
    are first, together, then which are next, and so on; and that they fit into the window.

    Events that are together are one event, at the times that all of them may have.

    >>> times = PossibleTimes(np.array([1, 1]), np.array([2, 2]))
    >>> in_any_order(times, np.array([[0, 1]]), [((0,), (1,)), ((0, 1),)], None).tolist()
    [0.75]
    """
    width = None if window is None or window >= ENDLESS else window
    share = 1 / (times.hi[table] - times.lo[table] + 1)
    result = np.zeros(len(table))
    for order in orders:
        lo = np.stack([times.lo[table[:, group]].max(axis=1) for group in map(list, order)], axis=1)
        hi = np.stack([times.hi[table[:, group]].min(axis=1) for group in map(list, order)], axis=1)
        rows = np.flatnonzero((lo <= hi).all(axis=1))
        together = PossibleTimes(lo[rows].ravel(), hi[rows].ravel())
        each = ranges(together, np.arange(len(rows) * len(order)).reshape(len(rows), len(order)), width)
        shares = [share[rows][:, group].prod(axis=1) for group in map(list, order)]
        each = replace(each, share=np.stack(shares, axis=1))
        possible = is_possible(each, width)
        result[rows[possible]] += _plain(each.take(possible), width)
    return result


def _spoiled(times: PossibleTimes, ranges: Ranges, window: int | None, absent: SpoilingEvents) -> Chances:
    """Lists that events between, before or after them may spoil."""
    terms = divided(absent, len(ranges))
    each = ranges.take(terms.origin)
    row, event = terms.absent.row, terms.absent.event
    zero = each.zero[row]
    rivals = Rivals(row, terms.absent.gap, times.lo[event] - zero, times.hi[event] - zero, terms.charged)
    length = ranges.lo.shape[1]
    tracked = is_bound(each, window)
    tracked[row[(rivals.gap == 0) | (rivals.gap == length)]] = True
    chance = np.zeros(len(each))
    for kind in (False, True):
        rows = np.flatnonzero(tracked == kind)
        chance[rows] = by_instants(each.take(rows), window, rivals.of(rows), kind)
    result = np.zeros(len(ranges))
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


# Pruning by the threshold: what a list of events cannot become, however it goes on.
#
# A match meets the requirements on any of its events. So the confidence of some of its events, in their
# order, is never less than its own: not only of the first ones. Negations count if both neighbours are
# among these.


def can_reach(
    times: PossibleTimes,
    partial: Sequences,
    threshold: float,
    window: int | None = None,
    absent: SpoilingEvents | None = None,
) -> Truths:
    """The partial matches that may become matches with that confidence: the others can be dropped.

    `absent` has what spoils gaps between two events that stay neighbours; none before or after all of them. A
    quick look first, the confidence itself only of those that pass.

    >>> from neelc.runtime.kernels.confidence.ranges import matrix
    >>> times = PossibleTimes(np.array([1, 1, 4]), np.array([2, 2, 4]))
    >>> can_reach(times, matrix([[0, 1], [0, 2]]), 0.3).tolist()
    [False, True]
    """
    result = reaches(quick_bounds(times, partial, window), threshold)
    rows = np.flatnonzero(result)
    those = None if absent is None else _renumbered(absent, result)
    result[rows] = reaches(confidences(times, partial.take(rows), window, those), threshold)
    return result


def _renumbered(absent: SpoilingEvents, kept: Truths) -> SpoilingEvents:
    found = absent.take(kept[absent.row])
    return SpoilingEvents((np.cumsum(kept) - 1)[found.row], found.gap, found.event)


def quick_bounds(times: PossibleTimes, partial: Sequences, window: int | None = None) -> Chances:
    """At least the confidence, from pairs alone, at the cost of a few operations for each event.

    The probabilities that each event precedes the next may be multiplied. Given the time t of an event, order
    among those up to it is the likelier the later t is, and order among those from it on the less likely; of
    two such functions of t the mean of the product is at most the product of the means (Chebyshev). The first
    and the last event must also fit into the window: that is a bound of its own.

    >>> from neelc.runtime.kernels.confidence.ranges import matrix
    >>> times = PossibleTimes(np.ones(4, np.int64), np.full(4, 2))
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


# Likely and Weigh: partial matches whose times are imprecise, as lists of events with a probability.
#
# Here events are relaxed (`relaxed.py`): they start when they are at the latest, and end when they are at
# the earliest.

Run = Callable[[KernelSearch, tuple[KernelStep, ...], Frontier], Iterator[Frontier]]

ROWS = 50_000
"""How many rows are weighed at once: each may have many events that spoil it."""


@dataclass(frozen=True, eq=False)
class BoundEvents:
    """The events that rows have, in the order of time, and how many each row has of the first n names."""

    sequences: Sequences
    counts: Numbers

    @property
    def row(self) -> Numbers:
        """The row of each event."""
        return np.repeat(np.arange(len(self.sequences)), np.diff(self.sequences.first))


def times_of(events: KernelEvents) -> PossibleTimes:
    """When relaxed events may be."""
    return PossibleTimes(events.end, events.start, events.shapes)


def bound(frontier: Frontier, names: tuple[EventName, ...]) -> BoundEvents:
    """
    >>> from neelc.runtime.kernels.frontier import EventLists
    >>> lists = {"b": EventLists(np.array([5, 6]), np.array([0, 0]), np.array([0, 2]))}
    >>> table = Frontier({"a": np.array([3, 4]), "c": np.array([-1, 7])}, {}, np.zeros(2), lists=lists)
    >>> found = bound(table, ("a", "b", "c"))
    >>> found.sequences.events.tolist(), found.sequences.first.tolist(), found.counts.tolist()
    ([3, 4, 5, 6, 7], [0, 1, 5], [[0, 1, 1, 1], [0, 1, 3, 4]])
    """
    rows, events = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    counts = np.zeros((len(frontier), len(names) + 1), np.int64)
    for place, name in enumerate(names, 1):
        lists = frontier.lists.get(name) if isinstance(name, str | InnerList) else None
        if lists is not None:
            row, at = lists.row_and_place()
            event = lists.pool[at]
        else:
            column = frontier.variables.get(name, np.full(len(frontier), -1))
            row = np.flatnonzero(column >= 0)
            event = column[row]
        rows.append(row)
        events.append(event)
        counts[:, place] = np.bincount(row, minlength=len(frontier))
    # Stable: the events of a row stay in the order of the names, those of a list in its own.
    order = np.argsort(np.concatenate(rows), kind="stable")
    counts = np.cumsum(counts, axis=1)
    first = np.concatenate(([0], np.cumsum(counts[:, -1])))
    return BoundEvents(Sequences(np.concatenate(events)[order], first), counts)


def likely(search: KernelSearch, step: Likely, frontier: Frontier) -> Iterator[Frontier]:
    """The rows that may become matches."""
    listed = bound(frontier, step.events)
    kept = np.flatnonzero(are_different(listed))
    kept = kept[_are_possible(search.events, listed.sequences.take(kept), step.width)]
    if step.least > 0:
        kept = kept[_can_reach(search.events, listed.sequences.take(kept), step)]
    yield frontier if len(kept) == len(frontier) else frontier.take(kept)


def _can_reach(events: KernelEvents, sequences: Sequences, step: Likely) -> Truths:
    times = times_of(events)
    if int(np.diff(sequences.first).max(initial=0)) <= 2:
        # Of two events the bound is the confidence.
        return reaches(quick_bounds(times, sequences, step.width), step.least)
    return can_reach(times, sequences, step.least, step.width)


def are_different(listed: BoundEvents) -> Truths:
    """The rows that have no event twice: one at several instants can be before itself, in relaxed times."""
    row, events = listed.row, listed.sequences.events
    order = np.lexsort((events, row))
    again = (row[order][1:] == row[order][:-1]) & (events[order][1:] == events[order][:-1])
    result = np.ones(len(listed.sequences), bool)
    result[row[order][1:][again]] = False
    return result


def _are_possible(events: KernelEvents, sequences: Sequences, width: int | None) -> Truths:
    """The lists that are in order and fit into the window in some world."""
    result = np.ones(len(sequences), bool)
    for rows, table in by_length(sequences):
        result[rows] = is_possible(ranges(times_of(events), table, width), width)
    return result


def weigh(search: KernelSearch, step: Weigh[Value], frontier: Frontier, run: Run) -> Iterator[Frontier]:
    """The rows with their confidence."""
    for begin in range(0, len(frontier), ROWS):
        rows = frontier.take(slice(begin, begin + ROWS))
        listed = bound(rows, step.events)
        if search.is_cut:
            rows = rows.take(owned(search.events, listed, rows.segment))
            listed = bound(rows, step.events)
        spoilers = _spoilers(search, step.negations, rows, listed, run)
        chances = confidences(times_of(search.events), listed.sequences, step.width, spoilers)
        kept = (chances > 0) & reaches(chances, step.least, step.strictly)
        weighed = replace(rows, totals={**rows.totals, CONFIDENCE: NullableArray(chances)})
        yield weighed.take(kept)


def owned(events: KernelEvents, listed: BoundEvents, segment: Numbers) -> Truths:
    """Matches belong to where the first of the latest times of their events is."""
    least = np.full(len(segment), np.iinfo(np.int64).max)
    np.minimum.at(least, listed.row, events.start[listed.sequences.events])
    low, high = (limit[segment] for limit in events.owned)
    return np.asarray((least >= low) & (least < high))


def _spoilers(
    search: KernelSearch,
    negations: tuple[WeighedNegation[Value], ...],
    rows: Frontier,
    listed: BoundEvents,
    run: Run,
) -> SpoilingEvents | None:
    """The events that may spoil rows, with the gap in which they do."""
    if not negations:
        return None
    looking = replace(search.unowned(), prunes=False)
    marked = rows.marked(ROW, np.arange(len(rows)))
    parts = [(np.zeros(0, np.int64),) * 3]
    for negation in negations:
        which = concerned(marked, negation.when)
        checked = marked.take(which) if not isinstance(which, bool) else marked if which else None
        if checked is not None and len(checked):
            for piece in run(looking, negation.steps, checked):
                row = piece.marks[ROW]
                parts.append((row, listed.counts[row, negation.place], piece.variables[negation.variable]))
    return SpoilingEvents(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
