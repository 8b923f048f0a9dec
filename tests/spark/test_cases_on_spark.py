"""Every case file that a strategy claims: Spark finds what the case expects."""

from __future__ import annotations

from typing import Any

import pytest
from asked_cases import PATHS, ask_cases
from on_spark import Asking

PARTS = {"kernel": 8, "join": 8, "window": 2, "nested": 2}
"""In how many parts the cases are asked."""
SHARES = {"kernel": 1, "join": 1, "window": 1, "nested": 4}
"""One of how many cases is asked: nested execution runs on the kernel, which answers all of them."""
LEAST = {"kernel": 40, "join": 15, "window": 8, "nested": 40}
"""How many cases of a part must be answered, at least."""


@pytest.mark.parametrize(
    ("strategy", "part"), [(strategy, part) for strategy, parts in PARTS.items() for part in range(parts)]
)
def test_cases(spark: Any, strategy: str, part: int) -> None:
    paths = PATHS[:: SHARES[strategy]][part :: PARTS[strategy]]
    asked = ask_cases(spark, paths, Asking(strategy, shuffled=1))
    assert asked.problems == []
    assert asked.answered >= LEAST[strategy], asked.refused
