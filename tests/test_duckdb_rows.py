"""Queries of Spark's SQL have the rows without Spark that they have on Spark, and the names of its columns;
what Spark refuses, or fails for, fails here (tests/host_rows.txt)."""

from __future__ import annotations

import duckdb
import pytest
from expressions import COLUMNS, ROWS
from host_rows import HostRows, rows_of, rows_text, told
from in_duckdb import DuckRows
from like_spark import same

from neelc.engines.local.functions import reader_of, values_of
from neelc.scalar.duckdb.pieces import UnspelledOperation, shown
from neelc.scalar.duckdb.queries import spelled_query


def found(text: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """The names of the columns, and the rows."""
    rows = DuckRows(COLUMNS, ROWS)
    query = spelled_query(text, {"a": COLUMNS}, {}, rows.calls)
    connection = rows.connection()
    connection.execute("CREATE TEMP VIEW a AS SELECT * FROM events")
    table = connection.sql(query.text).to_arrow_table()
    types = query.types.values()
    columns = [values_of(table.column(place), reader_of(type)) for place, type in enumerate(types)]
    return [shown(name) for name in query.types], list(zip(*columns, strict=True))


@pytest.mark.parametrize("one", told(), ids=lambda one: one.text[:60])
def test_a_query_has_the_rows_of_spark(one: HostRows) -> None:
    if one.outcome == "fails":
        with pytest.raises((UnspelledOperation, duckdb.Error)):
            found(one.text)
        return
    names, rows = found(one.text)
    assert str(names) == one.names
    ours, theirs = rows_of(rows_text(rows)), rows_of(one.rows)
    assert len(ours) == len(theirs), ours
    assert all(same(list(row), list(other)) for row, other in zip(ours, theirs, strict=True)), ours


def test_there_are_queries_of_both_kinds() -> None:
    outcomes = [one.outcome for one in told()]
    assert outcomes.count("rows") > 80 and outcomes.count("fails") > 20
