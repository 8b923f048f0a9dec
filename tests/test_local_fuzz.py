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
