"""Confidence without possible worlds, compared with the enumeration of worlds.

With the reference interpreter: test_confidence_reference.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest

from neelc.runtime.failures import KernelError
from neelc.runtime.kernels.confidence import confidence as confidence_instants
from neelc.runtime.kernels.confidence.absent import NONE, SpoilingEvents
from neelc.runtime.kernels.confidence.confidence import (
    CLOSE,
    by_instants,
    can_reach,
    confidences,
    in_order,
    in_window,
    quick_bounds,
    reaches,
)
from neelc.runtime.kernels.confidence.ranges import PossibleTimes, is_bound, is_possible, matrix, ranges

Range = tuple[int, int]


@dataclass(frozen=True)
class Sample:
    """Events, lists of them, and for each list pairs: a gap, and an event that must not be in it."""

    events: list[Range]
    lists: list[list[int]]
    gaps: list[list[tuple[int, int]]]
    window: int | None


@dataclass(frozen=True)
class Rules:
    """When a list is a match in a world; the variants are wrong."""

    ties: bool = False
    longer: int = 0
    open: int = 1


def is_match(
    events: Sequence[int], spoilers: Sequence[tuple[int, int]], sample: Sample, rules: Rules
) -> bool:
    """`events` are the times of a list, `spoilers` gaps and times."""
    window = sample.window
    if any(not (left < right or (rules.ties and left == right)) for left, right in pairwise(events)):
        return False
    if window is not None and events[-1] - events[0] > window + rules.longer:
        return False
    for gap, time in spoilers:
        low = events[-1] - (window or 0) if gap == 0 else events[gap - 1] + rules.open
        high = events[0] + (window or 0) if gap == len(events) else events[gap] - rules.open
        if low <= time <= high:
            return False
    return True


def enumerated(sample: Sample, number: int, rules: Rules = Rules()) -> Fraction:
    """The share of the worlds in which list `number` is a match."""
    events, spoilers = sample.lists[number], sample.gaps[number]
    concerned = sorted({*events, *(event for _, event in spoilers)})
    worlds = list(product(*(range(lo, hi + 1) for lo, hi in (sample.events[event] for event in concerned))))
    good = 0
    for world in worlds:
        at = dict(zip(concerned, world, strict=True))
        spoiled = [(gap, at[event]) for gap, event in spoilers]
        good += is_match([at[event] for event in events], spoiled, sample, rules)
    return Fraction(good, len(worlds))


def sample(random: Random, negations: int) -> Sample:
    """Up to 6 events, most of which overlap; four lists of up to 4 of them."""
    events = [(lo, lo + random.choice((0, 1, 2, 3, 5))) for lo in random.choices(range(-3, 7), k=6)]
    window = random.choice((None, 0, 2, 3, 5, 20))
    lists, gaps = [], []
    for _ in range(4):
        chosen = random.sample(range(6), random.randint(1, 4))
        chosen.sort(key=lambda event: events[event][0] + 4 * random.random())
        inner = range(1, len(chosen)) if window is None else range(len(chosen) + 1)
        count = random.randint(0, negations) if inner else 0
        lists.append(chosen)
        gaps.append([(random.choice(inner), random.randrange(6)) for _ in range(count)])
    return Sample(events, lists, gaps, window)


def times(events: Sequence[Range]) -> PossibleTimes:
    lo, hi = np.array(events, np.int64).reshape(-1, 2).T
    return PossibleTimes(lo, hi)


def absent(gaps: Sequence[Sequence[tuple[int, int]]]) -> SpoilingEvents:
    found = [(row, gap, event) for row, those in enumerate(gaps) for gap, event in those]
    return SpoilingEvents(*np.array(found, np.int64).reshape(-1, 3).T)


def computed(sample: Sample) -> Any:
    return confidences(times(sample.events), matrix(sample.lists), sample.window, absent(sample.gaps))


@pytest.mark.parametrize("gaps", ["by pairs", "by pieces"])
@pytest.mark.parametrize("negations", [0, 1, 3])
def test_confidence_is_the_share_of_worlds(
    negations: int, gaps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if gaps == "by pieces":
        monkeypatch.setattr(confidence_instants, "pieces_cost", lambda rivals: 0 * rivals)
    random = Random(negations)
    between = 0
    for _ in range(400):
        given = sample(random, negations)
        expected = [enumerated(given, number) for number in range(4)]
        assert computed(given) == pytest.approx([float(share) for share in expected], rel=0, abs=1e-12), given
        assert (computed(given) > 0).tolist() == [share > 0 for share in expected]
        between += sum(0 < share < 1 for share in expected)
    assert between > 300


@pytest.mark.parametrize("wrong", [Rules(ties=True), Rules(longer=1), Rules(open=0)], ids=repr)
def test_the_samples_tell_wrong_rules_apart(wrong: Rules) -> None:
    random = Random(5)
    given = [sample(random, 2) for _ in range(100)]
    different = [
        abs(float(enumerated(each, number, wrong)) - found) > 1e-3
        for each in given
        for number, found in enumerate(computed(each))
    ]
    assert sum(different) > 5


def test_lists_of_all_lengths_in_one_call() -> None:
    events = [(0, 4), (1, 6), (2, 2), (3, 9), (2, 5)]
    lists = [[0], [3, 2], [0, 1, 3], [0, 2], [1, 3]]
    spoilers = [[(0, 4), (1, 3)], [], [(1, 4), (2, 4), (3, 2)], [(1, 4)], [(1, 0), (1, 2)]]
    given = Sample(events, lists, spoilers, 6)
    assert computed(given) == pytest.approx([float(enumerated(given, number)) for number in range(5)])
    assert len(set(computed(given).tolist())) == 5
    assert computed(replace(given, lists=[[], *lists], gaps=[[], *spoilers]))[0] == 1


class TestLargeRanges:
    """A million instants: worlds can be counted where all ranges are the same."""

    MILLION = 10**6

    @pytest.mark.parametrize("count", [2, 3, 7, 12])
    def test_order(self, count: int) -> None:
        events = [(5, self.MILLION + 4)] * count
        expected = Fraction(comb(self.MILLION, count), self.MILLION**count)
        found = confidences(times(events), matrix([[*range(count)]]))
        assert found[0] == pytest.approx(float(expected), rel=1e-12)

    @pytest.mark.parametrize("count", [2, 3, 7, 12])
    @pytest.mark.parametrize("window", [1, 20, 40_000])
    def test_window(self, count: int, window: int) -> None:
        events = [(5, self.MILLION + 4)] * count
        # By the distance of first and last: the others are chosen between them.
        ways = sum((self.MILLION - far) * comb(far - 1, count - 2) for far in range(1, window + 1))
        found = confidences(times(events), matrix([[*range(count)]]), window)
        assert found[0] == pytest.approx(float(Fraction(ways, self.MILLION**count)), rel=1e-11)

    def test_negation(self) -> None:
        # In order with probability 1/2, and of three in order each is the middle one equally often.
        events = [(0, self.MILLION - 1)] * 3
        found = confidences(times(events), matrix([[0, 1]]), None, absent([[(1, 2)]]))
        between = Fraction(comb(self.MILLION, 3), self.MILLION**3)
        ordered = Fraction(comb(self.MILLION, 2), self.MILLION**2)
        assert found[0] == pytest.approx(float(ordered - between), rel=1e-12)

    def test_times_far_from_zero(self) -> None:
        now = 1_790_000_000_000_000_000
        found = confidences(times([(now, now + 1), (now + 1, now + 2)]), matrix([[0, 1]]), 1)
        assert found.tolist() == pytest.approx([0.5])

    def test_pairs_of_instants_have_a_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(confidence_instants, "MAX_INSTANTS", 10)
        given = Sample([(0, 10), (5, 14), (7, 8)], [[0, 1]], [[(1, 2)]], None)
        with pytest.raises(KernelError, match=r"11 instants.* for \d+ numbers: the limit MAX_INSTANTS is 10"):
            computed(given)
        assert computed(replace(given, gaps=[[]]))[0] > 0, "without negations there is no limit"


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("length", [2, 3, 5, 9])
def test_pieces_and_instants_agree(length: int, bound: bool) -> None:
    random = np.random.default_rng(3)
    lo = np.sort(random.integers(0, 12 * length, (60, length)), axis=1)
    given = PossibleTimes(lo.ravel(), (lo + random.integers(0, 50, lo.shape)).ravel())
    window = 8 * length if bound else None
    found = ranges(given, np.arange(lo.size).reshape(lo.shape), window)
    found = found.take(is_possible(found, window) & (is_bound(found, window) == bound))
    pieces = in_order(found) if window is None else in_window(found, window)
    assert len(found) > 10 and pieces.max() > 0
    assert pieces == pytest.approx(by_instants(found, window, NONE, bound), rel=1e-12)


@pytest.mark.parametrize("window", [None, 90])
def test_gaps_by_pairs_and_by_pieces_agree(window: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(4)
    events = [(lo, lo + random.randint(0, 60)) for lo in (random.randint(0, 120) for _ in range(40))]
    lists = [sorted(random.sample(range(40), 3), key=lambda event: events[event]) for _ in range(50)]
    gaps = [[(random.choice((1, 2)), random.randrange(40)) for _ in range(5)] for _ in lists]
    given = Sample(events, lists, gaps, window)
    found = {}
    for way, cost in (("pairs", 10**6), ("pieces", 0)):
        monkeypatch.setattr(confidence_instants, "pieces_cost", lambda rivals, cost=cost: cost + 0 * rivals)
        found[way] = computed(given)
    assert found["pairs"] == pytest.approx(found["pieces"], rel=0, abs=1e-14)
    assert ((found["pairs"] > 0.01) & (found["pairs"] < 0.99)).sum() > 20


def test_events_of_many_negations_have_a_limit() -> None:
    events = [(0, 9), (2, 12), (4, 14), *((1, 13) for _ in range(8))]
    both = [(gap, event) for event in range(3, 11) for gap in (1, 2)]
    given = Sample(events, [[0, 1, 2]], [both], None)
    with pytest.raises(KernelError, match=r"the limit MAX_SHARED is 4096"):
        computed(given)


def test_a_negation_that_stands_first_requires_a_window() -> None:
    with pytest.raises(ValueError, match="requires a window"):
        computed(Sample([(0, 1), (0, 1)], [[0]], [[(0, 1)]], None))


class TestThreshold:
    def test_no_part_of_a_match_is_less_likely(self) -> None:
        random = Random(11)
        smaller = 0
        for _ in range(300):
            given = sample(random, 0)
            parts = [
                sorted(random.sample(range(len(one)), random.randint(0, len(one)))) for one in given.lists
            ]
            some = matrix([[one[at] for at in part] for one, part in zip(given.lists, parts, strict=True)])
            whole, part = computed(given), confidences(times(given.events), some, given.window)
            assert (part >= whole - CLOSE).all()
            assert (quick_bounds(times(given.events), some, given.window) >= part - CLOSE).all()
            smaller += int((part > whole + CLOSE).sum())
        assert smaller > 100

    def test_what_cannot_reach_it_is_dropped(self) -> None:
        random = Random(12)
        kept = dropped = 0
        for _ in range(200):
            given = sample(random, 2)
            inner = [
                [(gap, event) for gap, event in gaps if 0 < gap < len(one)]
                for one, gaps in zip(given.lists, given.gaps, strict=True)
            ]
            expected = reaches(computed(replace(given, gaps=inner)), 0.4)
            lists = matrix(given.lists)
            found = can_reach(times(given.events), lists, 0.4, given.window, absent(inner))
            assert found.tolist() == expected.tolist()
            kept, dropped = kept + int(found.sum()), dropped + int((~found).sum())
        assert min(kept, dropped) > 50
