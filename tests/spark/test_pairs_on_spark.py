"""Random queries over random streams: under every strategy, Spark finds what the reference finds, however
the events are split and ordered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pytest
from many_streams import Combined, Seen, combined, differences
from on_spark import Asking

STREAMS = 6
WAYS: Sequence[tuple[int, Asking]] = (
    (12, Asking(partitions=1, shuffled=1, batch=1)),
    (12, Asking(partitions=3, shuffled=7, batch=2, chunks=True)),
    (2, Asking(partitions=5, shuffled=200, batch=3)),
    (12, Asking(partitions=16, shuffled=3, batch=7)),
    (2, Asking(partitions=200, shuffled=2, batch=7, chunks=True)),
    (12, Asking(shuffled=4, batch=10_000)),
)
"""How many queries are asked in a way; 200 partitions take a while."""


@dataclass(frozen=True)
class Part:
    """The queries that a strategy is asked, and how many pairs it must answer at least."""

    strategy: str
    queries: Sequence[int]
    least: int


BY_WINDOWS = [
    4,
    71,
    85,
    87,
    151,
    162,
    186,
    216,
    219,
    227,
    235,
    289,
    420,
    447,
    448,
    460,
    471,
    501,
    503,
    529,
    532,
    555,
    562,
    575,
    582,
    633,
    640,
    676,
    684,
    688,
    708,
    718,
    731,
    735,
    747,
    849,
    876,
    901,
    915,
    952,
    1032,
    1045,
]
"""Queries that window functions can answer: contiguous ones and those of a single event are not frequent."""
PARTS = (
    Part("kernel", range(52), 150),
    Part("join", range(100, 152), 110),
    Part("window", BY_WINDOWS, 90),
    Part("nested", range(200, 226), 50),
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.strategy)
def test_pairs(spark: Any, part: Part) -> None:
    seen = Seen()
    problems = []
    for asking, questions in batches(part):
        problems += list(differences(spark, questions, asking, seen))
    assert problems == []
    assert seen.pairs >= part.least
    assert seen.with_matches >= part.least // 3


def batches(part: Part) -> Iterator[tuple[Asking, list[Combined]]]:
    """The queries of a part, some in each way."""
    numbers = iter(part.queries)
    for many, asking in WAYS:
        found = [combined(number, STREAMS) for number in islice(numbers, many)]
        yield replace(asking, strategy=part.strategy, seed=many), [one for one in found if one]
