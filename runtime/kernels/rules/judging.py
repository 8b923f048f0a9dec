"""An event is judged once: which roles of a set it can play.

Spark has set bits for types and for conditions that only it can evaluate. What is left compares columns with
constants, and is looked up here, attribute by attribute: where many roles test one column, its values are
ranked, so that a test is a range of ranks, found by binary search, and the events of a range lie together.
So a role costs as much as the events that pass its most selective test, not as much as there are events. It
is what a BE+-tree does for one event at a time (JEPC thesis, chapter 11), for all events of a batch at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neelc.runtime.columns import Columns, Ints
from neelc.runtime.kernels.events import Truths
from neelc.runtime.kernels.rules.program import (
    BITS,
    JudgedRole,
    RuleSet,
    ValueRange,
    ValueTest,
    role_name,
    role_number,
    word_name,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Follow, PatternProgram, Take

RANKED = 64
"""From so many different tests of a column on, made of the same events, its values are ranked: fewer are
compared one by one."""


@dataclass(frozen=True, eq=False)
class RangeBounds:
    """Ranges, as arrays of their bounds, for one search: those from which, and up to which, values go. Each
    has the number of its range, and whether the values begin at it or behind it."""

    count: int
    numbers: tuple[Ints, Ints]
    values: tuple[NDArray[Any], NDArray[Any]]
    behind: tuple[Truths, Truths]


def range_bounds(ranges: Sequence[ValueRange]) -> RangeBounds:
    """The bounds of ranges. What lies before a range ends behind its low bound if that is left out, and a
    range ends behind its high bound if that is not."""
    lows = [(n, one.low, not one.has_low) for n, one in enumerate(ranges) if one.low is not None]
    highs = [(n, one.high, one.has_high) for n, one in enumerate(ranges) if one.high is not None]
    sides = []
    for side in (lows, highs):
        numbers = np.array([number for number, *_ in side], np.int64)
        sides.append((numbers, _values([v for _, v, _ in side]), np.array([x for *_, x in side], bool)))
    (low, low_values, after), (high, high_values, up_to) = sides
    return RangeBounds(len(ranges), (low, high), (low_values, high_values), (after, up_to))


def _values(bounds: Sequence[object]) -> NDArray[Any]:
    """Bounds as an array; texts as their bytes."""
    if any(isinstance(bound, str) for bound in bounds):
        texts = np.empty(len(bounds), object)
        texts[:] = [str(bound).encode() for bound in bounds]
        return texts
    return np.array(bounds)


@dataclass(frozen=True, eq=False)
class RankedColumn:
    """The different values of a column, in order, and for each event the place of its own; -1 is NULL."""

    values: NDArray[Any]
    ranks: Ints

    def limits(self, bounds: RangeBounds) -> tuple[Ints, Ints]:
        """The ranks in each range: from the one to before the other."""
        low, high = np.zeros(bounds.count, np.int64), np.full(bounds.count, len(self.values))
        sides = zip((low, high), bounds.numbers, bounds.values, bounds.behind, strict=True)
        for limits, numbers, values, behind in sides:
            for side, which in (("left", ~behind), ("right", behind)):
                if which.any():
                    limits[numbers[which]] = np.searchsorted(self.values, values[which], side=side)  # type: ignore[call-overload]
        return low, np.maximum(low, high)


def ranked(column: pa.Array) -> RankedColumn:
    """
    >>> column = ranked(pa.array(["b", None, "a", "b"]))
    >>> column.values.tolist(), column.ranks.tolist()
    ([b'a', b'b'], [1, -1, 0, 1])
    >>> ranges = range_bounds([ValueRange("a", "b", has_high=False), ValueRange("b")])
    >>> [limits.tolist() for limits in column.limits(ranges)]
    [[0, 1], [1, 2]]
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.dictionary_encode()
    dictionary = encoded.dictionary
    order = pc.sort_indices(dictionary).to_numpy()
    values: NDArray[Any]
    if pa.types.is_string(dictionary.type) or pa.types.is_large_string(dictionary.type):
        values = np.empty(len(dictionary), object)
        values[:] = [text.encode() for text in dictionary.take(pa.array(order)).to_pylist()]
    else:
        values = dictionary.take(pa.array(order)).to_numpy(zero_copy_only=False)
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = -1  # of NULL
    places = encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
    return RankedColumn(values, rank[places])


@dataclass(frozen=True, eq=False)
class RankIndex:
    """The events with one bit by the rank of a column: `numbers` in the order of `ranks`."""

    numbers: Ints
    ranks: Ints


@dataclass(eq=False)
class RoleLookup(Mapping[str, Ints]):
    """The events that can play each role, by number, in order. Each role is looked up when it is needed."""

    rules: RuleSet
    columns: Columns
    _found: dict[int, Ints] = field(default_factory=dict)
    _bits: dict[int, Ints] = field(default_factory=dict)
    _ranked: dict[str, RankedColumn] = field(default_factory=dict)
    _indexes: dict[tuple[int, str], RankIndex] = field(default_factory=dict)
    _passed: dict[tuple[int, ValueTest], Truths] = field(default_factory=dict)
    _taken: dict[tuple[int, str], pa.Array] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Ints:
        return self.numbers(role_number(name))

    def __iter__(self) -> Iterator[str]:
        return (role_name(number) for number in range(len(self.rules.roles)))

    def __len__(self) -> int:
        return len(self.rules.roles)

    def has_all(self, program: PatternProgram) -> bool:
        """Whether there is an event for each role that every match needs."""
        return all(len(self[role]) for role in needed_roles(program))

    def numbers(self, number: int) -> Ints:
        """The events of a role."""
        if number not in self._found:
            self._found[number] = self._judged(self.rules.roles[number])
        return self._found[number]

    def _judged(self, role: JudgedRole) -> Ints:
        by_rank = [test for test in role.tests if (role.bit, test.column) in self._often]
        if not by_rank:
            numbers = self.with_bit(role.bit)
            passed = [self._passes(role.bit, test) for test in role.tests]
            return numbers[np.logical_and.reduce(passed)] if passed else numbers
        numbers = self._least(role.bit, by_rank)
        for test in role.tests:
            if not len(numbers):
                break
            if test in by_rank:
                numbers = numbers[self._in_ranges(test, numbers)]
            else:
                numbers = numbers[passes(test, self.columns.arrays[test.column].take(pa.array(numbers)))]
        return np.sort(numbers)

    def _least(self, bit: int, tests: Sequence[ValueTest]) -> Ints:
        """The events with a bit that pass the most selective of the tests, in any order."""
        ways = []
        for test in tests:
            index = self.index(bit, test.column)
            low, high = self._limits(test)
            begin, end = np.searchsorted(index.ranks, low), np.searchsorted(index.ranks, high)
            ways.append((int((end - begin).sum()), index, begin, end))
        _, index, begin, end = min(ways, key=lambda way: way[0])
        parts = [index.numbers[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True) if a < b]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])

    def _in_ranges(self, test: ValueTest, numbers: Ints) -> Truths:
        ranks = self.column(test.column).ranks[numbers]
        low, high = self._limits(test)
        # Ranges of a test do not overlap, and are in order.
        place = np.searchsorted(low, ranks, side="right") - 1
        return (place >= 0) & (ranks < high[np.maximum(place, 0)])

    def _limits(self, test: ValueTest) -> tuple[Ints, Ints]:
        return self.column(test.column).limits(_bounds_of(test))

    def index(self, bit: int, column: str) -> RankIndex:
        """The events with a bit, by the values of a column."""
        if (bit, column) not in self._indexes:
            numbers = self.with_bit(bit)
            ranks = self.column(column).ranks[numbers]
            order = np.argsort(ranks, kind="stable")
            self._indexes[bit, column] = RankIndex(numbers[order], ranks[order])
        return self._indexes[bit, column]

    def column(self, name: str) -> RankedColumn:
        """The values of a column, ranked."""
        if name not in self._ranked:
            self._ranked[name] = ranked(self.columns.arrays[name])
        return self._ranked[name]

    @cached_property
    def _often(self) -> frozenset[tuple[int, str]]:
        return often_tested(self.rules)

    def with_bit(self, bit: int) -> Ints:
        """The events that have a bit."""
        if bit not in self._bits:
            word, place = divmod(bit, BITS)
            self._bits[bit] = np.flatnonzero((self.words[word] & np.int64(1 << place)) != 0)
        return self._bits[bit]

    @cached_property
    def words(self) -> list[Ints]:
        """The columns of bits."""
        columns = (self.columns.arrays[word_name(word)] for word in range(self.rules.words))
        return [
            np.asarray(column.fill_null(0)).astype(np.int64, casting="safe", copy=False) for column in columns
        ]

    def _passes(self, bit: int, test: ValueTest) -> Truths:
        """The events with a bit that pass a test, compared one by one: once for all roles."""
        if (bit, test) not in self._passed:
            self._passed[bit, test] = passes(test, self._with_bit(bit, test.column))
        return self._passed[bit, test]

    def _with_bit(self, bit: int, column: str) -> pa.Array:
        """What the events with a bit have in a column."""
        if (bit, column) not in self._taken:
            numbers, whole = self.with_bit(bit), self.columns.arrays[column]
            self._taken[bit, column] = whole if len(numbers) == len(whole) else whole.take(pa.array(numbers))
        return self._taken[bit, column]


@lru_cache(maxsize=65536)
def _bounds_of(test: ValueTest) -> RangeBounds:
    return range_bounds(test.ranges)


def passes(test: ValueTest, column: pa.Array) -> Truths:
    """
    >>> numbers = pa.array([1.0, None, float("nan"), 7.0])
    >>> passes(ValueTest("x", (ValueRange(5.0),)), numbers).tolist()
    [False, False, True, True]
    >>> passes(ValueTest("s", (ValueRange("b", "b"),)), pa.array(["a", "b", None])).tolist()
    [False, True, False]
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    found = np.zeros(len(column), bool)
    for one in test.ranges:
        found |= _in_range(one, column)
    return found


def _in_range(one: ValueRange, column: pa.Array) -> Truths:
    """NaN is greater than all numbers; Arrow finds it neither less nor greater."""
    inside = np.ones(len(column), bool)
    if one.low is not None:
        above = pc.greater_equal if one.has_low else pc.greater
        inside &= _truths(above(column, one.low))
        if pa.types.is_floating(column.type):
            inside |= _truths(pc.is_nan(column))
    if one.high is not None:
        below = pc.less_equal if one.has_high else pc.less
        inside &= _truths(below(column, one.high))
    valid: Truths = np.asarray(column.is_valid())
    return inside & valid


def _truths(values: pa.Array) -> Truths:
    filled = values.fill_null(False) if values.null_count else values
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.bool_)


# Rules that ask for one event each, such as filters: all pairs of a rule and an event at once.

MOST_PAIRS = 4_000_000
"""Candidates that are looked at together."""


@dataclass(frozen=True, eq=False)
class FilterTests:
    """The tests of some roles with the same bit, column by column: the places of the roles that test it, and
    the bounds of these tests."""

    roles: Ints
    columns: tuple[tuple[str, Ints, RangeBounds], ...]


@lru_cache(maxsize=64)
def filter_tests(rules: RuleSet, numbers: tuple[int, ...]) -> tuple[dict[int, FilterTests], tuple[int, ...]]:
    """Roles by their bit, with tests of one range each; and the places of all others."""
    by_bit: dict[int, list[int]] = {}
    others: list[int] = []
    for place, number in enumerate(numbers):
        tests = rules.roles[number].tests
        plain = len({test.column for test in tests}) == len(tests) and all(len(t.ranges) == 1 for t in tests)
        if tests and plain:
            by_bit.setdefault(rules.roles[number].bit, []).append(place)
        else:
            others.append(place)
    found = {}
    for bit, places in by_bit.items():
        columns: dict[str, tuple[list[int], list[ValueRange]]] = {}
        for row, place in enumerate(places):
            for test in rules.roles[numbers[place]].tests:
                rows, ranges = columns.setdefault(test.column, ([], []))
                rows.append(row)
                ranges.append(test.ranges[0])
        tested = tuple(
            (name, np.array(rows), range_bounds(ranges)) for name, (rows, ranges) in columns.items()
        )
        found[bit] = FilterTests(np.array(places), tested)
    return found, tuple(others)


def role_pairs(judged: RoleLookup, numbers: tuple[int, ...]) -> Iterator[tuple[Ints, Ints]]:
    """For some roles, pairs of the place of a role and an event that can play it, in pieces. The cost is that
    of the most selective test of each role."""
    by_bit, others = filter_tests(judged.rules, numbers)
    for place in others:
        events = judged.numbers(numbers[place])
        if len(events):
            yield np.full(len(events), place), events
    for bit, tests in by_bit.items():
        yield from _filtered(judged, bit, tests)


def _filtered(judged: RoleLookup, bit: int, tests: FilterTests) -> Iterator[tuple[Ints, Ints]]:
    count = len(tests.roles)
    fewest, best = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    low, high, begins, ends = [], [], [], []
    for number, (name, rows, bounds) in enumerate(tests.columns):
        own_low, own_high = np.full(count, -1), np.full(count, np.iinfo(np.int64).max)
        own_low[rows], own_high[rows] = judged.column(name).limits(bounds)
        index = judged.index(bit, name)
        begin, end = np.zeros(count, np.int64), np.zeros(count, np.int64)
        begin[rows] = np.searchsorted(index.ranks, own_low[rows])
        end[rows] = np.searchsorted(index.ranks, own_high[rows])
        fewer = rows[(end - begin)[rows] < fewest[rows]]
        fewest[fewer], best[fewer] = (end - begin)[fewer], number
        low.append(own_low)
        high.append(own_high)
        begins.append(begin)
        ends.append(end)
    for number, (name, _, _) in enumerate(tests.columns):
        rows = np.flatnonzero((best == number) & (fewest > 0))
        counts = (ends[number] - begins[number])[rows]
        for piece in _pieces(counts):
            row = np.repeat(rows[piece], counts[piece])
            offset = np.repeat(np.cumsum(counts[piece]) - counts[piece], counts[piece])
            place = np.arange(len(row)) - offset + np.repeat(begins[number][rows[piece]], counts[piece])
            event = judged.index(bit, name).numbers[place]
            kept = np.ones(len(row), bool)
            for other, (tested, _, _) in enumerate(tests.columns):
                if other != number:
                    ranks = judged.column(tested).ranks[event]
                    kept &= (ranks >= low[other][row]) & (ranks < high[other][row])
            if kept.any():
                yield tests.roles[row[kept]], event[kept]


def _pieces(counts: Ints) -> Iterator[slice]:
    """Rows whose counts add up to about MOST_PAIRS."""
    total, begin = np.cumsum(counts), 0
    while begin < len(counts):
        before = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, before + MOST_PAIRS, side="right")))
        yield slice(begin, end)
        begin = end


@lru_cache(maxsize=8)
def often_tested(rules: RuleSet) -> frozenset[tuple[int, str]]:
    """The columns that many different tests of the events with a bit are about: those that are ranked."""
    tests = {(role.bit, test) for role in rules.roles for test in role.tests}
    counts = Counter((bit, test.column) for bit, test in tests)
    return frozenset(tested for tested, count in counts.items() if count >= RANKED)


@lru_cache(maxsize=65536)
def needed_roles(program: PatternProgram) -> frozenset[str]:
    """The roles that an event of every match has.

    >>> from neelc.runtime.program import Choose
    >>> steps = (Take("a", "A"), Choose("m", 2), Take("b", "B", when=(("m", 0),)))
    >>> sorted(needed_roles(PatternProgram(steps, (), ("A", "B"))))
    ['A']
    """
    if any(isinstance(step, Follow) for step in program.steps):
        return frozenset()
    return frozenset(step.role for step in program.steps if isinstance(step, Take) and not step.when)


def role_lookup(rules: RuleSet, columns: Columns) -> RoleLookup:
    """The roles of the events of a search."""
    return RoleLookup(rules, columns)
