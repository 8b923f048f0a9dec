"""Expressions around MATCH_RECOGNIZE mean without Spark what they mean for Spark: the names of their columns,
their values, and what fails (tests/host_columns.txt)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from expressions import COLUMNS, ROWS, check, context
from host_columns import HostColumn, columns
from in_duckdb import DuckRows
from like_spark import AGREED, FAILING, same

from neelc.engines.local.functions import reader_of, values_of
from neelc.runtime.reference.evaluate import evaluate
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation, shown
from neelc.scalar.duckdb.queries import SpelledQuery, spelled_query

TOLD = columns()


def query(text: str, calls: dict[str, EvaluatedCall] | None = None) -> SpelledQuery:
    found = {} if calls is None else calls
    return spelled_query(f"SELECT {text} FROM a", {"a": COLUMNS}, {}, found)


def name(one: HostColumn) -> str | None:
    """The name that DuckDB's query has; None if there is none without Spark."""
    try:
        return shown(next(iter(query(one.text).types)))
    except UnspelledOperation:
        return None


UNLIKE = re.compile(
    r"^\(st\)|TIMESTAMP '[^']*(Z|\+02:00)'|lpad\(a.bin|0\.0000001|9223372036854774784D"
    r"|DAY '2' HOUR|AS STRUCT"
)
"""What sqlglot drops, instants whose text the session's zone makes, and rare ways to write numbers."""


def test_columns_have_the_names_that_spark_gives() -> None:
    known = [one for one in TOLD if one.outcome != "refused" and not UNLIKE.search(one.text)]
    found = {one.text: (name(one), one.name) for one in known}
    assert [f"{text}: {own}, not {of}" for text, (own, of) in found.items() if own not in (None, of)] == []
    assert sum(own is not None for own, _ in found.values()) > 2000


# Values: those of the reference, but where Spark fails.


def results(texts: Sequence[str], count: int) -> dict[str, Any]:
    """The values of expressions over the first rows, or what fails."""
    rows = DuckRows(COLUMNS, ROWS[:count])
    queries = {text: query(f"({text}) AS c", rows.calls) for text in texts}
    connection = rows.connection()

    found: dict[str, Any] = {}
    for one, made in queries.items():
        try:
            table = connection.sql(made.text.replace('FROM "a"', "FROM events")).to_arrow_table()
        except (duckdb.Error, OSError) as error:
            found[one] = error
        else:
            (type,) = made.types.values()
            found[one] = values_of(table.column(0), reader_of(type))
    return found


LENIENT = (
    "conv('FFFFFFFFFFFFFFFFF', 16, 10)",
    "regexp_substr(a.s, '[')",
    "map(CAST(NULL AS STRING), 1)",
)
"""What is NULL: of these functions, nobody tells NULL from a failure."""


def is_spelled(text: str) -> bool:
    try:
        query(text)
    except UnspelledOperation:
        return False
    return True


@pytest.mark.long
def test_values_are_those_of_the_reference() -> None:
    ours = {theirs or text: text for text, theirs in AGREED if "\\" not in text + theirs}
    known = [text for text in ours if is_spelled(text)]
    assert len(known) > 1500
    wrong = []
    for text, found in results(known, len(ROWS)).items():
        wanted = [evaluate(check(ours[text]).expression, context(row)) for row in range(len(ROWS))]
        if not isinstance(found, list) or not all(map(same, wanted, found)):
            wrong.append(f"{text}: {found} instead of {wanted}")
    assert wrong == []


def test_what_fails_for_spark_fails() -> None:
    known = [text for text in FAILING if "\\" not in text and text not in LENIENT and is_spelled(text)]
    found = results(known, 1)
    assert [text for text, value in found.items() if isinstance(value, list)] == []
