"""The local engine and the reference agree on random queries; `make fuzz` has more of them."""

from __future__ import annotations

import duckdb
import pytest
from fuzz_runner import checked
from local_fuzz import FAMILIES

from neelc.engines.local.plan import with_tables
from neelc.engines.local.program import LocalView


@pytest.mark.parametrize("family", FAMILIES)
def test_random_queries(family: str) -> None:
    findings = checked(FAMILIES[family], first=7_000, size=14)
    assert findings.broken == []
    assert findings.seen["pairs"] > 6 and findings.seen["with rows"] > 0


def test_views_that_name_each_other_often_become_tables() -> None:
    """DuckDB would read the first view 2^40 times: sample 1901002894 was such a query."""
    first = LocalView("view 0", "SELECT 7 AS a")
    joins = (
        LocalView(f"view {n + 1}", f'SELECT a FROM "view {n}" JOIN "view {n}" AS again USING (a)')
        for n in range(40)
    )
    steps = with_tables([first, *joins])
    connection = duckdb.connect()
    for step in steps:
        assert isinstance(step, LocalView)
        connection.execute(step.statement)
    assert connection.execute('SELECT * FROM "view 40"').fetchall() == [(7,)]
    assert 0 < sum(step.is_stored for step in steps if isinstance(step, LocalView)) < 20
