"""Every case file that a strategy claims: Spark finds what the case expects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asked_cases import PATHS, ask_cases
from on_spark import Asking

PARTS = {"kernel": 8, "join": 16, "window": 2, "nested": 4}
"""In how many parts the cases are asked."""
SHARES = {"kernel": 1, "join": 1, "window": 1, "nested": 4}
"""One of how many cases is asked: nested execution runs on the kernel, which answers all of them."""
LEAST = {"kernel": 40, "join": 7, "window": 8, "nested": 20}
"""How many cases of a part must be answered, at least."""
HALVED = ("kernel", "join", "nested")
"""Every other part of these takes its turn with --thorough only. tests/test_local_cases.py executes the same
relations and kernels for every case, and the kernel has asked the cases of the other two."""


def parts() -> Iterator[Any]:
    for strategy, count in PARTS.items():
        for part in range(count):
            is_long = strategy in HALVED and part % 2
            yield pytest.param(strategy, part, marks=[pytest.mark.thorough] if is_long else [])


@pytest.mark.parametrize(("strategy", "part"), list(parts()))
def test_cases(spark: Any, strategy: str, part: int) -> None:
    paths = PATHS[:: SHARES[strategy]][part :: PARTS[strategy]]
    asked = ask_cases(spark, paths, Asking(strategy, shuffled=1))
    assert asked.problems == []
    assert asked.answered >= LEAST[strategy], asked.refused
