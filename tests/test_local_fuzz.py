"""The local engine and the reference agree on random queries; `make fuzz` has more of them."""

from __future__ import annotations

import pytest
from fuzz_runner import checked
from local_fuzz import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_random_queries(family: str) -> None:
    findings = checked(FAMILIES[family], first=7_000, size=14)
    assert findings.broken == []
    assert findings.seen["pairs"] > 6 and findings.seen["with rows"] > 0


def test_views_that_name_each_other_often_are_read_once() -> None:
    """The anti joins of this query name the same relations again and again: DuckDB took gigabytes to bind it."""
    findings = checked(FAMILIES["pattern"], first=1_901_002_894, size=1)
    assert findings.broken == [] and findings.seen["with rows"] > 0
