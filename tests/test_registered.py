"""Users' own aggregates: what the kernel finds with them is what the reference finds, under each strategy."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import islice
from typing import Any

import pytest
from in_kernel import planned_for
from kernel_fuzz import Tally, check_pair, ways_to_write
from registered import sample

from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime.reference import LimitReached

QUERIES = 50
PAIRS = 70
"""Least number of pairs for each strategy: some of the queries have no list, and some are refused."""


@pytest.mark.parametrize("strategy", SelectionStrategy)
def test_random_queries(strategy: str) -> None:
    tally = compared(strategy, range(QUERIES))
    assert tally.pairs >= PAIRS, tally.refused
    assert tally.with_matches >= PAIRS // 6


@pytest.mark.parametrize("strategy", SelectionStrategy)
def test_statistics(strategy: str) -> None:
    """They are functions of whole lists, as those of users are."""
    functions = ("median", "bit_or", "bit_xor", "skewness")
    tally = compared(strategy, range(QUERIES), drawn=partial(sample, functions=functions))
    assert tally.pairs >= PAIRS // 2, tally.refused
    assert tally.with_matches >= PAIRS // 12


def compared(strategy: str, numbers: range, forms: int = 1, drawn: Any = sample) -> Tally:
    """What was compared of the queries with these numbers, each in so many `forms`."""
    tally = Tally(refused=Counter())
    for number in numbers:
        found = drawn(number, strategy)
        if found is None:
            continue
        original, streams = found
        for _, match in islice(ways_to_write(original), forms):
            try:
                planned = planned_for(match)
                for tables in streams:
                    check_pair(match, tables, tally, number + tally.pairs, planned)
            except (UnsupportedQuery, LimitReached) as refusal:
                tally.refused[str(refusal).partition("`")[0]] += 1
            except Exception as problem:
                raise AssertionError(f"{number}: {match.pattern}\n{tables}\n{problem}") from problem
    return tally
