"""PATTERN, SELECT and MATCH_RECOGNIZE in one script on Spark: the case files, and what a session can do."""

from __future__ import annotations

from typing import Any

import pytest
from asked_cases import CASES, ask_cases
from on_spark import Asking

import neelc

PATHS = sorted((CASES / "mixed").glob("*.case"))


@pytest.mark.parametrize("strategy", [None, "join"])
def test_cases(spark: Any, strategy: str | None) -> None:
    asked = ask_cases(spark, PATHS, Asking(strategy, shuffled=2))
    assert asked.problems == []
    assert asked.answered >= (len(PATHS) if strategy is None else 4), asked.refused


@pytest.fixture(scope="module")
def ticks(spark: Any) -> Any:
    rows = [(1, "A", 10), (2, "A", 8), (3, "A", 11), (4, "A", 9), (5, "A", 12), (9, "B", 5)]
    return spark.createDataFrame(rows, "ts INT, sym STRING, price INT")


VS = """
CREATE QUERY Vs TIMESTAMP BY first_ts UNIT SECONDS END BY last_ts AS
SELECT {} FROM {} MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts
  MEASURES FIRST(ts) AS first_ts, LAST(UP.ts) AS last_ts, LAST(UP.price) AS top
  AFTER MATCH SKIP TO LAST UP
  PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
) AS m {};
PATTERN SEQ(Vs a, Vs b) WITHIN 9 SECONDS RETURN a.top AS a, b.top AS b, match_start, match_end
"""


def rows(frame: Any) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


LATER = [(11, 12, 1, 4)]
EARLIER = "sym, first_ts, last_ts - 1 AS last_ts, top"


@pytest.mark.parametrize(
    ("items", "source", "rest", "found"),
    [
        ("*", "ticks", "", []),  # they share an instant: one does not follow the other
        (EARLIER, "ticks", "", LATER),
        # Only Spark knows these columns: they are described when the script is bound.
        (EARLIER.replace("sym", "m.sym"), "(SELECT * FROM range(1), ticks)", "", LATER),
        (EARLIER, "ticks", "JOIN VALUES 'A' v(s) ON s = m.sym", LATER),
    ],
)
def test_a_pattern_over_rows(
    spark: Any, ticks: Any, items: str, source: str, rest: str, found: list[tuple[object, ...]]
) -> None:
    text = VS.format(items, source, rest)
    assert rows(neelc.sql(spark, text, ticks=neelc.stream(ticks, timestamp="ts", unit="s"))) == found


def test_a_result_is_read_by_sql_of_spark(spark: Any, ticks: Any) -> None:
    """The columns of a PATTERN, with a join and GROUP BY around the clause."""
    text = """
    CREATE QUERY P AS PATTERN SEQ(ticks a, ticks b) WHERE a.sym = b.sym AND b.price < a.price WITHIN 1 SECOND
      RETURN a.sym AS sym, a.price - b.price AS fall, match_start;
    SELECT m.n, max(P.fall) AS most FROM P MATCH_RECOGNIZE (
      ORDER BY match_start MEASURES COUNT(*) AS n PATTERN (A+)) AS m, P GROUP BY m.n
    """
    session = neelc.Session(spark)
    query = session.compile(text, ticks=neelc.stream(ticks, timestamp="ts", unit="s"))
    assert rows(query.to_df()) == [(2, 2)]
    assert "MATCH_RECOGNIZE over P" in query.explain()
    assert query.explain(format="html").startswith("<!doctype html>")


def test_spark_refuses_a_named_query_where_it_is_bound(spark: Any, ticks: Any) -> None:
    text = VS.format("sym, nothing AS first_ts, last_ts", "ticks", "")
    with pytest.raises(neelc.NeelQueryError) as caught:
        neelc.sql(spark, text, ticks=neelc.stream(ticks, timestamp="ts", unit="s"))
    assert caught.value.getCondition() == "NEEL2221"


def test_columns_of_types_that_neelc_does_not_know(spark: Any) -> None:
    """They come through: of a query whose columns are described, to one that reads it by name."""
    frame = spark.sql("SELECT 1 AS ts, INTERVAL '1' DAY AS d, parse_json('{\"a\": 1}') AS v")
    text = """
    CREATE QUERY M AS SELECT m.ts, t.v FROM t MATCH_RECOGNIZE (
      ORDER BY ts MEASURES A.ts AS ts PATTERN (A)) AS m JOIN t ON t.ts = m.ts;
    CREATE QUERY N AS SELECT * FROM M WHERE v IS NOT NULL;
    SELECT v:a::INT AS a FROM N
    """
    assert rows(neelc.sql(spark, text, t=frame)) == [(1,)]


def test_why_and_timeline(spark: Any, ticks: Any) -> None:
    text = VS.format("sym, first_ts, last_ts - 1 AS last_ts, top", "ticks", "")
    query = neelc.Session(spark).compile(text, ticks=neelc.stream(ticks, timestamp="ts", unit="s"))
    assert "match" in str(query.why())
    assert "Vs" in query.timeline()._repr_html_()


def test_what_why_does_not_do(spark: Any, ticks: Any) -> None:
    text = VS.format("first_ts, last_ts, top", "ticks", "GROUP BY ALL")
    query = neelc.Session(spark).compile(text, ticks=neelc.stream(ticks, timestamp="ts", unit="s"))
    with pytest.raises(neelc.NeelQueryError, match="requires a simple query"):
        query.why()


def test_untrusted_text_may_read_its_own_queries(spark: Any, ticks: Any) -> None:
    given = neelc.stream(ticks, timestamp="ts", unit="s")
    text = (
        "CREATE QUERY P AS PATTERN ticks a RETURN a.price AS p; SELECT max(p) FROM P MATCH_RECOGNIZE ({}) m{}"
    )
    clause = "ORDER BY p MEASURES A.p AS p PATTERN (A)"
    assert rows(neelc.sql(spark, text.format(clause, ""), untrusted=True, ticks=given)) == [(12,)]
    with pytest.raises(neelc.NeelQueryError) as caught:
        neelc.sql(spark, text.format(clause, ", secret"), untrusted=True, ticks=given)
    assert caught.value.getCondition() == "NEEL4062"
