"""Aggregates of an Arrow column over the valid rows of each stretch of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neelc.runtime.columns import Bools, Ints
from neelc.runtime.failures import MAX_LISTS, FailureDetails, KernelFailure
from neelc.runtime.kernels.snapshots.program import (
    AVERAGE,
    COUNT,
    DISTINCT,
    FOREVER,
    GREATEST,
    LEAST,
    LIST,
    SUM,
    SnapshotAggregate,
)
from neelc.runtime.late_dataclass import dataclass

# Folds over many ranges of rows at once, in time that grows with the logarithm of the ranges' lengths.
#
# Nothing is ever subtracted: a range's fold is made of values in the range and of no others. So an
# infinity, a NaN or a huge value has no effect on ranges that it is not in.

Array = NDArray[np.generic]
State = tuple[Array, ...]
"""Partial folds, one for each place: arrays of the same length."""


class Monoid(Protocol):
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


def over_ranges(fold: Monoid, values: State, low: Ints, high: Ints) -> State:
    """The folds over `values[low:high]`, of all ranges.

    Level k has the folds over 2^k neighbours; it is made of the level before, and is then forgotten. A range
    is put together of one piece for each bit of its length; or, if values may be folded twice, of the two
    pieces of one level that cover it.

    >>> from neelc.runtime.kernels.snapshots.aggregating import Extreme
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


# Folds over the rows that are valid at an instant, where rows may end in another order than they begin.
#
# A segment tree over the stretches of time, as the thesis' Agg-2-3-tree has it (chapter 12), but built in
# one go: a row is noted at the few nodes that together are exactly its stretches, and a stretch folds the
# nodes above it. That takes O(log n) for each row and each stretch, and nothing is subtracted.


def over_covers(fold: Monoid, values: State, first: Ints, beyond: Ints, count: int) -> State:
    """For each of `count` stretches the fold over the rows with `first` <= stretch < `beyond`.

    >>> from neelc.runtime.kernels.snapshots.aggregating import Extreme
    >>> first, beyond = np.array([0, 1, 1]), np.array([4, 2, 3])
    >>> over_covers(Extreme(1), (np.array([1, 9, 5]),), first, beyond, 4)[0].tolist()
    [1, 9, 5, 1]
    """
    levels: list[State] = []
    rows = np.flatnonzero(first < beyond)
    left, right = first[rows], beyond[rows]
    while len(rows):
        at_left = np.flatnonzero(left & 1)
        odd = left + (left & 1)
        at_right = np.flatnonzero((odd < right) & (right & 1).astype(np.bool_))
        nodes = np.concatenate([left[at_left], right[at_right] - 1])
        noted = np.concatenate([rows[at_left], rows[at_right]])
        levels.append(_noted(fold, values, nodes, noted, count))
        left, right = odd >> 1, right >> 1
        more = np.flatnonzero(left < right)
        rows, left, right = rows[more], left[more], right[more]
        count = (count + 1) >> 1
    if not levels:
        return fold.neutral(count)
    total = levels.pop()
    while levels:
        level = levels.pop()
        total = fold.combine(level, take(total, np.arange(len(level[0])) >> 1))
    return total


def _noted(fold: Monoid, values: State, nodes: Ints, rows: Ints, count: int) -> State:
    """For each of `count` nodes the fold over the rows that are noted there."""
    order = np.argsort(nodes, kind="stable")
    beyond = np.cumsum(np.bincount(nodes, minlength=count))
    first = np.concatenate([np.zeros(1, dtype=np.int64), beyond[:-1]])
    return over_ranges(fold, take(values, rows[order]), first, beyond)


# Stretches of time in which the same events are valid: between two neighbouring starts or ends of a key.


@dataclass(frozen=True)
class SnapshotStretches:
    """The stretches that have a valid event, in the order of keys and of time.

    `begin` and `end` are times, `key` the numbers of keys. Of the rows, in the order of keys and starts,
    `started` have begun when a stretch does; of the rows in the order of ends, `by_end`, `ended` are over.
    `instants` are all starts and ends as single numbers, `place` those of the stretches among them.
    """

    begin: Ints
    end: Ints
    key: Ints
    started: Ints
    ended: Ints
    by_end: Ints | None
    instants: Ints
    place: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.begin)

    def fold(self, fold: Monoid, values: State) -> State:
        """For each stretch the fold over the values of the rows that are valid in it."""
        if self.by_end is None:
            # Who begins first ends first: the valid rows are neighbours.
            return over_ranges(fold, values, self.ended, self.started)
        first, beyond = self.covered
        return take(over_covers(fold, values, first, beyond, len(self.instants)), self.place)

    @cached_property
    def covered(self) -> tuple[Ints, Ints]:
        """For each row the places, among the instants, of its start and of its end."""
        return np.searchsorted(self.instants, self.starts), np.searchsorted(self.instants, self.ends)

    def difference(self, values: Ints) -> Ints:
        """For each stretch the sum over its valid rows: what has begun without what is over. That is exact
        for whole numbers, as long as sums over all rows fit into 64 bits."""
        over = values if self.by_end is None else values[self.by_end]
        return _prefix(values)[self.started] - _prefix(over)[self.ended]


def _prefix(values: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values, dtype=np.int64)])


def stretches(key: Ints, start: Ints, end: Ints) -> SnapshotStretches:
    """The stretches of rows that are sorted by the number of their key and their start. Each row has its
    start before its end.

    >>> found = stretches(np.array([0, 0, 1]), np.array([1, 3, 3]), np.array([5, 6, 4]))
    >>> list(zip(found.key.tolist(), found.begin.tolist(), found.end.tolist()))
    [(0, 1, 3), (0, 3, 5), (0, 5, 6), (1, 3, 4)]
    >>> found.difference(np.array([10, 1, 7])).tolist()
    [10, 11, 1, 7]
    """
    starts, ends = _codes(key, start, end)
    is_queue = bool(np.all(ends[1:] >= ends[:-1]))
    by_end = None if is_queue else np.argsort(ends, kind="stable")
    sorted_ends = ends if by_end is None else ends[by_end]
    # Two sorted runs: a stable sort only merges them.
    instants = np.sort(np.concatenate([starts, sorted_ends]), kind="stable")
    instants = instants[np.concatenate([np.ones(min(1, len(instants)), bool), instants[1:] != instants[:-1]])]
    started = np.searchsorted(starts, instants, side="right")
    ended = np.searchsorted(sorted_ends, instants, side="right")
    place = np.flatnonzero(started > ended)
    started, ended = started[place], ended[place]
    some_row = np.searchsorted(starts, instants[place], side="right") - 1
    begin, finish = _times(
        starts, sorted_ends, start, end if by_end is None else end[by_end], instants, place
    )
    return SnapshotStretches(
        begin, finish, key[some_row], started, ended, by_end, instants, place, starts, ends
    )  # fmt: skip


def _times(
    starts: Ints, ends: Ints, start: Ints, end: Ints, instants: Ints, place: Ints
) -> tuple[Ints, Ints]:
    """When stretches begin and end: `starts` and `ends` are sorted codes of `start` and `end`."""

    def time(codes: Ints) -> Ints:
        row = np.searchsorted(starts, codes)
        row = np.where(row < len(starts), row, 0)
        other = np.minimum(np.searchsorted(ends, codes), len(ends) - 1)
        return np.where(starts[row] == codes, start[row], end[other]) if len(codes) else codes

    # A valid event ends later, so there is a next instant, and it is of the same key.
    return time(instants[place]), time(instants[place + 1])


def _codes(key: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Starts and ends as numbers that are ordered like (key, time)."""
    if not len(key):
        return start, end
    known = end[end != FOREVER]
    low = int(start.min())
    high = max(int(start.max()), int(known.max(initial=low)))
    span = high - low + 2
    if (int(key.max()) + 1) * span < FOREVER:
        before = key * np.int64(span)
        finite = np.where(end == FOREVER, np.int64(high + 1), end)
        return start - np.int64(low) + before, finite - np.int64(low) + before
    times, numbers = np.unique(np.concatenate([start, end]), return_inverse=True)
    both = np.tile(key, 2) * np.int64(len(times)) + numbers
    return both[: len(start)], both[len(start) :]


# How many different values are valid in each stretch of time.


def count_distinct(stretches: SnapshotStretches, values: Ints, known: Bools) -> Ints:
    """Of the rows that are `known`, the number of different `values` in each stretch.

    A value is there as long as one of its rows is: the valid times of its rows, put together, are a few
    intervals that do not overlap, and each of them counts one. That takes a sort, O(log n) for each row.

    >>> from neelc.runtime.kernels.snapshots.aggregating import stretches
    >>> found = stretches(np.array([0, 0, 0]), np.array([1, 2, 3]), np.array([4, 5, 6]))
    >>> count_distinct(found, np.array([7, 8, 7]), np.ones(3, bool)).tolist()
    [1, 2, 2, 2, 1]
    """
    first, beyond = stretches.covered
    rows = np.flatnonzero(known & (first < beyond))
    _, group = np.unique(values[rows], return_inverse=True)
    order = np.lexsort((first[rows], group))
    count = len(stretches.instants)
    # Instants of different values lie apart, so that one running maximum does for all of them.
    apart = group[order].astype(np.int64) * np.int64(count + 1)
    begin, end = first[rows][order] + apart, beyond[rows][order] + apart
    until = np.maximum.accumulate(end) if len(end) else end
    heads = np.flatnonzero(np.concatenate([np.ones(min(1, len(begin)), bool), begin[1:] > until[:-1]]))
    tails = np.concatenate([heads[1:], [len(begin)]]) - 1 if len(heads) else heads
    opened = np.bincount(begin[heads] - apart[heads], minlength=count + 1)
    closed = np.bincount(until[tails] - apart[tails], minlength=count + 1)
    found: Ints = np.cumsum(opened - closed)[stretches.place]
    return found


# The values that are valid in each stretch of time, for functions of users: these see all of them anew.

MOST_LISTED = 20_000_000
"""Values in the lists of one call. A window of n events has n for each of them."""


def listed(stretches: SnapshotStretches, column: pa.Array) -> pa.Array:
    """For each stretch the list of the values of its valid rows, NULLs included.

    >>> from neelc.runtime.kernels.snapshots.aggregating import stretches
    >>> found = stretches(np.array([0, 0]), np.array([1, 2]), np.array([4, 5]))
    >>> listed(found, pa.array(["a", None])).to_pylist()
    [['a'], ['a', None], [None]]
    """
    first, beyond = stretches.covered
    lengths = np.maximum(beyond - first, 0)
    total = int(lengths.sum())
    if total > MOST_LISTED:
        message = (
            f"functions of users are given {total} values, those of all valid events at every instant, "
            f"which is more than {MOST_LISTED}; a shorter window has fewer"
        )
        raise KernelFailure(FailureDetails(MAX_LISTS, message, limit=MOST_LISTED, number=total))
    rows = np.repeat(np.arange(len(first)), lengths)
    within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    instant = first[rows] + within
    if len(stretches) < len(stretches.instants) - 1:
        # Some of the stretches only.
        chosen = np.zeros(len(stretches.instants), dtype=np.bool_)
        chosen[stretches.place] = True
        rows, instant = rows[chosen[instant]], instant[chosen[instant]]
    values = column.take(pa.array(rows[np.argsort(instant, kind="stable")]))
    counts = np.bincount(instant, minlength=len(stretches.instants))[stretches.place]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


# Values of any type that has an order as whole numbers of the same order, and back.

_SIGN = np.int64(np.iinfo(np.int64).max)

Back = Callable[[Ints], pa.Array]
"""From such numbers to values."""


def ordered(column: pa.Array) -> tuple[Ints, Back]:
    """Numbers in the order of a column's values; those of NULLs say nothing. NaN is the greatest.

    >>> numbers, back = ordered(pa.array([0.5, float("nan"), -0.0, 0.0, float("-inf")]))
    >>> np.argsort(numbers, kind="stable").tolist(), back(numbers).to_pylist()
    ([4, 2, 3, 0, 1], [0.5, nan, 0.0, 0.0, -inf])
    >>> numbers, back = ordered(pa.array(["é", None, "z"]))
    >>> numbers[0] > numbers[2], back(numbers[[0]]).to_pylist()
    (np.True_, ['é'])
    """
    kind = column.type
    if pa.types.is_floating(kind):
        return _of_floats(column), lambda found: pa.array(_to_floats(found)).cast(kind)
    if pa.types.is_boolean(kind):
        values = np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), dtype=np.int64)
        return values, lambda found: pa.array(found != 0)
    if pa.types.is_integer(kind) or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind)):
        bits = pa.int32() if kind.bit_width == 32 and not pa.types.is_integer(kind) else pa.int64()
        numbers = column.cast(bits) if pa.types.is_integer(kind) else column.view(bits)
        return np.asarray(numbers.fill_null(0)).astype(np.int64), lambda found: _narrowed(found, bits, kind)
    return _ranked(column)


def _narrowed(found: Ints, bits: pa.DataType, kind: pa.DataType) -> pa.Array:
    numbers = pa.array(found).cast(bits, safe=False)
    return numbers.cast(kind, safe=False) if pa.types.is_integer(kind) else numbers.view(kind)


def _ranked(column: pa.Array) -> tuple[Ints, Back]:
    """Text, DECIMALs and whatever else Arrow can sort: their places among the different values."""
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    distinct = values.drop_null().unique()
    distinct = distinct.take(pc.sort_indices(distinct))
    places = pc.index_in(values, value_set=distinct)
    numbers = np.asarray(places.fill_null(0)).astype(np.int64)
    last = max(0, len(distinct) - 1)
    # Numbers without a value are hidden by the caller; here they only must not be out of range.
    nothing = pa.nulls(1, column.type)
    source = distinct if len(distinct) else nothing
    return numbers, lambda found: source.take(pa.array(np.clip(found, 0, last)))


def _of_floats(column: pa.Array) -> Ints:
    values = np.asarray(column.cast(pa.float64()).fill_null(0.0), dtype=np.float64) + 0.0
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
    return np.where(bits < 0, bits ^ _SIGN, bits)


def _to_floats(numbers: Ints) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(numbers < 0, numbers ^ _SIGN, numbers).view(np.float64)


# Exact sums of whole numbers and of DECIMALs: in limbs of 32 bits, which can be summed over 2^31 rows.

_MASK = np.int64(0xFFFFFFFF)
_EXACT = Context(prec=80)


def limbs_of(column: pa.Array) -> list[Ints]:
    """The values, NULL as zero, as limbs of 32 bits, the least first; all but the last are not negative.

    >>> [limb.tolist() for limb in limbs_of(pa.array([-1, 2**33 + 5, None]))]
    [[4294967295, 5, 0], [-1, 2, 0]]
    """
    if not pa.types.is_decimal(column.type):
        values = np.asarray(column.cast(pa.int64()).fill_null(0), dtype=np.int64)
        return [values & _MASK, values >> 32]
    filled = column.fill_null(Decimal(0)).cast(pa.decimal128(38, column.type.scale))
    words = np.frombuffer(filled.buffers()[1], dtype=np.int64).reshape(-1, 2)
    words = words[filled.offset : filled.offset + len(filled)]
    low, high = words[:, 0], words[:, 1]
    return [low & _MASK, (low >> 32) & _MASK, high & _MASK, high >> 32]


def sums_of(stretches: SnapshotStretches, column: pa.Array) -> list[Ints]:
    """The sums of a column over the valid rows of each stretch, as limbs that have not been carried."""
    return [stretches.difference(limb) for limb in limbs_of(column)]


def as_bigint(limbs: Sequence[Ints], empty: Bools) -> pa.Array:
    """Sums of two limbs as BIGINT; NULL where there is no value, or where it does not fit.

    >>> limbs = np.array([2**32 + 1, 0]), np.array([1, 2**31])
    >>> as_bigint(limbs, np.array([False, False])).to_pylist()
    [8589934593, None]
    """
    low, high = limbs
    high = high + (low >> 32)
    fits = (high >= -(1 << 31)) & (high < (1 << 31))
    return pa.array((high << 32) | (low & _MASK), mask=empty | ~fits)


def as_double(limbs: Sequence[Ints]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Sums of two limbs as the nearest DOUBLE, or a neighbour of that."""
    low, high = limbs
    return (high + (low >> 32)).astype(np.float64) * 2.0**32 + (low & _MASK).astype(np.float64)


def as_decimal(
    limbs: Sequence[Ints], empty: Bools, scale: int, result: tuple[int, int], count: Ints | None = None
) -> pa.Array:
    """Sums of unscaled values as DECIMAL, divided by `count` if it is given, rounded half up; NULL where
    there is no value, or where it does not fit."""
    precision, result_scale = result
    found: list[Decimal | None] = []
    counts = [1] * len(empty) if count is None else count.tolist()
    rows = zip(empty.tolist(), counts, *(limb.tolist() for limb in limbs), strict=True)
    for is_empty, number, *parts in rows:
        total = sum(part << (32 * place) for place, part in enumerate(parts)) * 10 ** (result_scale - scale)
        rounded = 0 if is_empty else (2 * abs(total) + number) // (2 * number)
        if is_empty or rounded >= 10**precision:
            found.append(None)
        else:
            found.append(Decimal(-rounded if total < 0 else rounded).scaleb(-result_scale, _EXACT))
    return pa.array(found, type=pa.decimal128(precision, result_scale))


# The operations that aggregates are made of: sums, extremes and moments.

Floats = NDArray[np.float64]

_LEAST = np.iinfo(np.int64).min
_GREATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class ExactSum:
    """Sums of DOUBLEs with what rounding lost of them: Knuth's exact sum of two, again and again.

    >>> huge, one = (np.array([1e16]), np.zeros(1)), (np.array([1.0]), np.zeros(1))
    >>> total = ExactSum().combine(ExactSum().combine(huge, one), one)
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


def aggregate(
    folded: SnapshotAggregate, columns: Mapping[str, pa.Array], stretches: SnapshotStretches
) -> pa.Array:
    """The results of an aggregate, one for each stretch. NULLs do not count; functions of users see them."""
    if folded.column is None:
        return pa.array(stretches.started - stretches.ended)
    column = columns[folded.column]
    if folded.function == LIST:
        return listed(stretches, column)
    known = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    count = stretches.difference(known.astype(np.int64))
    match folded.function:
        case name if name == COUNT:
            return pa.array(count)
        case name if name == DISTINCT:
            return pa.array(count_distinct(stretches, ordered(column)[0], known))
        case name if name in (LEAST, GREATEST):
            return _extreme(1 if name == GREATEST else -1, column, known, count, stretches)
        case name if name in (SUM, AVERAGE) and pa.types.is_floating(column.type):
            total = _sum(column, known, stretches)
            return _doubles(total if name == SUM else _divided(total, count), count == 0)
        case name if name in (SUM, AVERAGE):
            return _exact(folded, column, count, stretches)
        case name:
            return _deviation(name, column, known, count, stretches)


def _doubles(values: Floats, empty: Bools) -> pa.Array:
    return pa.array(values, mask=empty)


def _divided(values: Floats, count: Ints) -> Floats:
    return values / np.maximum(count, 1)


def _floats(column: pa.Array, known: Bools) -> Floats:
    values = np.asarray(column.cast(pa.float64()).fill_null(0.0), dtype=np.float64)
    return np.where(known, values, 0.0)


def _sum(column: pa.Array, known: Bools, stretches: SnapshotStretches) -> Floats:
    values = _floats(column, known)
    total, _ = stretches.fold(ExactSum(), (values, np.zeros_like(values)))
    found: Floats = total  # type: ignore[assignment]
    return found


def _exact(
    folded: SnapshotAggregate, column: pa.Array, count: Ints, stretches: SnapshotStretches
) -> pa.Array:
    limbs, empty = sums_of(stretches, column), count == 0
    divisor = count if folded.function == AVERAGE else None
    if pa.types.is_decimal(column.type):
        assert folded.decimal is not None, "a DECIMAL has a DECIMAL for its sum and its average"
        return as_decimal(limbs, empty, column.type.scale, folded.decimal, divisor)
    if divisor is None:
        return as_bigint(limbs, empty)
    return _doubles(_divided(as_double(limbs), count), empty)


def _extreme(
    sign: int, column: pa.Array, known: Bools, count: Ints, stretches: SnapshotStretches
) -> pa.Array:
    numbers, back = ordered(column)
    fold = Extreme(sign)
    (neutral,) = fold.neutral(1)
    (found,) = stretches.fold(fold, (np.where(known, numbers, neutral),))
    values = back(found.astype(np.int64, copy=False))
    empty = count == 0
    return pa.compute.if_else(pa.array(~empty), values, None) if empty.any() else values


def _deviation(
    name: str, column: pa.Array, known: Bools, count: Ints, stretches: SnapshotStretches
) -> pa.Array:  # fmt: skip
    values = _floats(column, known)
    alone = known.astype(np.float64)
    # The square of the distance of an infinity, or of NaN, to itself is unknown, whatever it is joined with.
    own = np.where(np.isfinite(values), 0.0, np.nan)
    _, _, squares = stretches.fold(Moments(), (alone, values, own))
    divisor = count - 1 if name.endswith("_samp") else count
    variance = squares.astype(np.float64, copy=False) / np.maximum(divisor, 1)
    with np.errstate(invalid="ignore"):
        return _doubles(np.sqrt(variance) if name.startswith("stddev") else variance, divisor <= 0)
