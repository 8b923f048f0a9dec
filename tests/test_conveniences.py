"""Values looked up in relations, ORDER BY, and functions of users: random queries find what they must."""

from __future__ import annotations

from collections import Counter

import pytest
from conveniences_fuzz import FAMILIES

PAIRS = {"lookups": 40, "ordered": 50, "functions": 30}
"""Least number of pairs of each family."""


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_random_queries(family: str) -> None:
    seen = Counter[str]()
    problems = [one for number in range(40) for one in FAMILIES[family](number, seen) or ()]
    assert problems == []
    assert seen["pairs"] >= PAIRS[family] and seen["with rows"] >= PAIRS[family] // 12, seen


FOUND = {
    "a function of the elements before one": 2_024_002_506,
    "a function of other events, in a list that may be empty": 2_024_004_144,
}


@pytest.mark.parametrize("number", FOUND.values(), ids=FOUND)
def test_what_was_found(number: int) -> None:
    assert list(FAMILIES["functions"](number, Counter()) or ()) == []
