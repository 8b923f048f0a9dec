"""Random pairs with Kleene closure: Spark finds what the reference finds, under each selection strategy and
where matches are counted. Many streams are asked at once, and many queries in one job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from random import Random
from typing import Any

import pytest
from generate.counted import events, query_text
from generate.repeated import kleene_sample
from in_counting import bound, differing, expected_rows, planned
from kleene_fuzz import has_list
from many_streams import Combined, Seen, differences, together
from on_spark import Asking, Question, ask

from neelc.ir.program import NamedQuery, Program
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.kernel_plan import kernel_plan
from neelc.runtime.reference import Result

QUERIES = 18
STREAMS = 6
LEAST = 55
"""Pairs for each strategy; some queries are asked of one stream only."""
FIRST = 70_000
ASKINGS = (
    Asking("kernel", partitions=3, seed=1, shuffled=2, batch=7),
    Asking("kernel", partitions=2, seed=2, shuffled=3, batch=2, chunks=True),
    Asking("kernel", partitions=1, seed=3, shuffled=1, batch=1),
    Asking("kernel", partitions=5, seed=4, shuffled=2),
)


def asked(strategy: str) -> Iterator[Combined]:
    """Queries that the kernel executes."""
    for number in count(FIRST):
        found = kleene_sample(number, strategy, STREAMS)
        if found is None:
            continue
        try:
            kernel_plan(found.match, partition_keys(found.match), unit_of(found.match))
        except UnsupportedQuery:
            continue
        if one := together(found, number):
            yield one


@pytest.mark.parametrize(
    ("strategy", "asking"), list(zip(SelectionStrategy, ASKINGS, strict=True)), ids=list(SelectionStrategy)
)
def test_pairs(spark: Any, strategy: str, asking: Asking) -> None:
    seen = Seen()
    questions = list(islice(asked(strategy), QUERIES))
    assert list(differences(spark, questions, asking, seen)) == []
    assert seen.pairs >= LEAST
    assert seen.with_matches >= LEAST // 6


def counted() -> Iterator[Question]:
    """Queries with lists whose matches are counted."""
    for number in count(FIRST):
        chance = Random(number)
        match = bound(query_text(chance))
        if match is not None and has_list(match) and planned(match) is not None:
            tables = {"S": [row for _ in range(3) for row in events(chance)]}
            yield Question(str(match.pattern), Program(match.streams, (NamedQuery(None, match),)), tables)


def test_counted(spark: Any) -> None:
    wrong = []
    asking = Asking("counting", partitions=2, seed=1, shuffled=2, batch=4)
    for one, result in ask(spark, list(islice(counted(), QUERIES)), asking):
        rows = result.rows if isinstance(result, Result) else []
        difference = differing(rows, expected_rows(one.program.queries[0].match, one.tables))
        if difference or not isinstance(result, Result):
            wrong.append(f"{one.name}\n{one.tables}\n{difference or result}")
    assert wrong == []
