"""Functions of users on texts, in conditions on several events: what the kernel and streams find with them is
what the reference finds, under each selection strategy, with words and of kept matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest
from generate.declared import with_functions
from generate.kept import kept_sample
from generate.repeated import kleene_sample
from generate.rewritable import Sample
from generate.words import worded_sample
from in_kernel import planned_for
from kept_fuzz import answers, by_reference
from kernel_fuzz import Tally, check_pair, ways_to_write
from stream_fuzz import check_pair as check_stream

from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime.reference import LimitReached
from neelc.runtime.vector_functions import Array, values_of_call, vector_results

PAIRS = 40
"""Least number of pairs of a family: some of the queries compare no two events, and some are refused."""


def drawn(numbers: range, sample: Callable[[int], Sample | None]) -> Iterator[tuple[int, Match, Sample]]:
    """The queries that call a function, with their numbers."""
    for number in numbers:
        found = sample(number)
        if found is not None and (match := with_functions(found.match)) != found.match:
            yield number, match, found


def compared(
    numbers: range,
    sample: Callable[[int], Sample | None],
    forms: int = 1,
    check: Callable[..., bool] = check_pair,
) -> Tally:
    tally = Tally(refused=Counter())
    for number, original, found in drawn(numbers, sample):
        for _, match in islice(ways_to_write(original), forms):
            try:
                planned = planned_for(match)
                for tables in found.tables:
                    if check is check_pair:
                        check_pair(match, tables, tally, number + tally.pairs, planned)
                    else:
                        tally.with_matches += check(match, tables, number + tally.pairs, planned)
                        tally.pairs += 1
            except (UnsupportedQuery, LimitReached) as refusal:
                tally.refused[str(refusal).partition("`")[0]] += 1
            except Exception as problem:
                raise AssertionError(f"{number}: {match.pattern}\n{tables}\n{problem}") from problem
    return tally


def of_strategy(strategy: str) -> Callable[[int], Sample | None]:
    return lambda number: kleene_sample(number, strategy)


@pytest.mark.long
@pytest.mark.parametrize("strategy", SelectionStrategy)
def test_strategies(strategy: str) -> None:
    tally = compared(range(60), of_strategy(strategy), forms=2)
    assert tally.pairs >= PAIRS and tally.with_matches >= PAIRS // 6, tally


def test_words() -> None:
    tally = compared(range(80), worded_sample, forms=2)
    assert tally.pairs >= PAIRS and tally.with_matches >= PAIRS // 6, tally


@pytest.mark.long
def test_kept_matches() -> None:
    pairs, seen = 0, Counter[str]()
    for number, match, found in drawn(range(60), kept_sample):
        for tables in found.tables:
            try:
                expected = by_reference(match, tables)
                for way, rows in answers(match, tables, number, seen):
                    assert rows == expected, f"{number}, {way}: {match.pattern}"
            except LimitReached:
                continue
            pairs += 1
    assert pairs >= PAIRS, seen


@pytest.mark.parametrize("strategy", [SelectionStrategy.ANY_MATCH, SelectionStrategy.NEXT_MATCH])
def test_streams(strategy: str) -> None:
    tally = compared(range(60), of_strategy(strategy), check=check_stream)
    assert tally.pairs >= PAIRS // 2 and tally.with_matches >= PAIRS // 12, tally


def test_words_over_streams() -> None:
    tally = compared(range(80), worded_sample, check=check_stream)
    assert tally.pairs >= PAIRS // 2 and tally.with_matches >= PAIRS // 12, tally


def test_all_rows_are_given_at_once() -> None:
    calls: list[int] = []

    def first(texts: Array) -> Array:
        calls.append(len(texts))
        return np.array([text[0] for text in texts], object)

    texts = [["ann", None, "bob"]]
    assert values_of_call("first", first, ["STRING"], "STRING", texts) == ["a", None, "b"]
    assert calls == [2]
    assert vector_results("first", first, "STRING", [np.array([], object)]).tolist() == []
