"""MATCH_RECOGNIZE on Spark: the case files, and what only a session can do."""

from __future__ import annotations

import logging
import logging.handlers
from pathlib import Path
from typing import Any

import pytest
from asked_cases import ask_cases
from on_spark import Asking
from pyspark.errors import PySparkException
from repository import ROOT

import neelc
from neelc.api.query import run_source
from neelc.tools import cases

CASES = ROOT / "tests" / "cases" / "recognize"
PATHS = sorted(CASES.glob("*.case"))
PARTS = 2
SHARE = 3
"""One of how many cases is asked here. The reference and the kernel, in process, answer all of them."""


@pytest.mark.parametrize("part", range(PARTS))
def test_cases(spark: Any, part: int) -> None:
    asked = ask_cases(spark, PATHS[::SHARE][part::PARTS], Asking(shuffled=1))
    assert asked.problems == []
    assert asked.answered > 20 and not asked.refused


def test_cases_in_time_zones(spark: Any) -> None:
    some = [path for path in PATHS if cases.load(path).timezone]
    assert some
    assert ask_cases(spark, some, Asking(shuffled=1)).problems == []


V = """MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES A.price AS start, LAST(C.price) AS top
  PATTERN (A B+ C+)
  DEFINE B AS price < PREV(price), C AS price > PREV(price))"""
CONSTANT = "MATCH_RECOGNIZE (ORDER BY price MEASURES 'foo' AS foo PATTERN (Y) DEFINE Y AS true)"
ROWS = [("A", 1, 10.0), ("A", 2, 9.0), ("A", 3, 12.0), ("B", 1, 5.0), ("B", 2, 4.0), ("B", 3, 6.0)]


@pytest.fixture(scope="module")
def trades(spark: Any) -> Any:
    frame = spark.createDataFrame(ROWS, "symbol STRING, ts INT, price DOUBLE").coalesce(1)
    frame.createOrReplaceTempView("ticks")
    return frame


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (f"SELECT * FROM ticks {V}", [("A", 10.0, 12.0), ("B", 5.0, 6.0)]),
        (f"SELECT m.symbol, '{{x}}' AS b FROM ticks {V} AS m WHERE start > :least", [("A", "{x}")]),
        (
            f"WITH c AS (SELECT * FROM given WHERE symbol = 'A') SELECT c.symbol, count(*) AS n FROM c {V} m "
            "JOIN c ON c.symbol = m.symbol WHERE start > :least GROUP BY ALL",
            [("A", 3)],
        ),
        (
            f"SELECT * FROM (SELECT start, row_number() OVER (ORDER BY start) AS r FROM given {V}) "
            "MATCH_RECOGNIZE (ORDER BY r MEASURES count(*) AS n, LAST(start) AS s PATTERN (X+)) "
            "WHERE s > :least",
            [(2, 10.0)],
        ),
        (
            f"SELECT given.symbol FROM given {V} WHERE EXISTS "
            f"(SELECT 1 FROM ticks {V} z WHERE z.start = given.start AND z.start > :least)",
            [("A",)],
        ),
        (
            "SELECT y FROM VALUES (1, 'it\\'s {}'), (2, 'b; --') AS t(x, y) "
            "MATCH_RECOGNIZE (ORDER BY x MEASURES FIRST(y) AS y PATTERN (X+)) -- WHERE {",
            [("it's {}",)],
        ),
        (f"CREATE QUERY v AS SELECT * FROM ticks {V}; SELECT count(*) AS n FROM v", [(2,)]),
        (
            f"CREATE STREAM given (symbol STRING, ts INT, price DOUBLE); SELECT start FROM given {V}",
            [(5.0,), (10.0,)],
        ),
        (f"SELECT * FROM ticks {CONSTANT}", [("foo",)] * 6),
        (f"SELECT count(*) AS n FROM ticks {CONSTANT}", [(6,)]),
        (f"SELECT 1 AS one WHERE EXISTS (SELECT * FROM ticks {CONSTANT} WHERE foo = 'foo')", [(1,)]),
        ("SELECT count(*) AS n FROM ticks MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))", [(6,)]),
        ("SELECT count(*) AS n FROM ticks MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A))", [(6,)]),
        ("SELECT 1 AS one FROM ticks MATCH_RECOGNIZE (PATTERN (()))", [(1,)] * 6),
        (
            "WITH c AS (SELECT * FROM ticks WHERE price > :least) SELECT * FROM ticks MATCH_RECOGNIZE ("
            "PARTITION BY symbol ORDER BY ts "
            "MEASURES (SELECT max(c.price) FROM c JOIN given USING (symbol, ts)) AS m, (SELECT '{') AS b, "
            "array_contains((SELECT collect_list(price) FROM c), sum(X.price)) AS among "
            "PATTERN (X+) DEFINE X AS price IN (SELECT price FROM c WHERE price < :least + 4 ORDER BY 1))",
            [("A", 12.0, "{", False)],
        ),
        (
            f"CREATE QUERY v AS SELECT * FROM ticks {V}; WITH w AS (SELECT start FROM ticks {V} z) "
            "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY price DESC "
            "MEASURES (SELECT max(start) FROM v) AS m "
            "PATTERN (^ X) DEFINE X AS price > (SELECT min(start) FROM w))",
            [(10.0,)],
        ),
        (
            "SELECT k.symbol, m.top FROM (VALUES ('A'), ('B')) k(symbol), LATERAL (SELECT * FROM ticks "
            "MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES max(price) AS top PATTERN (X+)) r "
            "WHERE r.symbol = k.symbol) m WHERE m.top > :least",
            [("A", 12.0)],
        ),
        (
            "SELECT pattern, `m.m`, `n.n` "
            "FROM (SELECT ts AS `n.n`, ts AS n_n, symbol AS `order`, price AS seq FROM ticks) "
            "MATCH_RECOGNIZE (PARTITION BY order ORDER BY `n.n` "
            "MEASURES A.seq AS pattern, LAST(seq) AS `m.m` ALL ROWS PER MATCH "
            "PATTERN (A define) DEFINE define AS seq > PREV(seq) AND n_n = `n.n`)",
            [(4.0, 4.0, 2), (4.0, 6.0, 3), (9.0, 9.0, 2), (9.0, 12.0, 3)],
        ),
        (f"SELECT MR.start FROM ticks {V}MR WHERE MR.start > 7", [(10.0,)]),
        (f"SELECT MR.start FROM ticks {V}AS MR WHERE MR.start > 7", [(10.0,)]),
        (f"SELECT `m r`.start FROM ticks {V}`m r`WHERE `m r`.start > 7", [(10.0,)]),
        (f"SELECT start FROM ticks {V}WHERE start > 7", [(10.0,)]),
        (f"SELECT b.start FROM ticks {V}AS a JOIN(SELECT * FROM ticks){V}b ON a.start < b.start", [(10.0,)]),
        (
            f"SELECT n, ticks.start FROM ticks {V}JOIN(SELECT 1 AS n) ON n < start UNION ALL "
            "SELECT*FROM(SELECT 2 AS n)MATCH_RECOGNIZE(ORDER BY n MEASURES n AS n, 1.5 AS x PATTERN(A))",
            [(1, 5.0), (1, 10.0), (2, 1.5)],
        ),
    ],
)
def test_host_queries(spark: Any, trades: Any, text: str, rows: list[tuple[object, ...]]) -> None:
    streams = {"given": trades} if "FROM given" in text or "FROM c " in text else {}
    args = {"least": 7.5} if ":least" in text else None
    found = neelc.sql(spark, text, args, **streams)
    assert sorted(map(tuple, found.collect())) == rows


def test_what_is_read_is_alone(spark: Any, trades: Any) -> None:
    """A clause after LATERAL reads nothing of the query around it; the hint says what to write."""
    inner = "SELECT * FROM (SELECT * FROM ticks WHERE symbol = k.symbol) MATCH_RECOGNIZE (PATTERN (A))"
    with pytest.raises(neelc.NeelQueryError) as caught:
        neelc.sql(spark, f"SELECT * FROM (VALUES ('A')) k(symbol), LATERAL ({inner})")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, "PARTITION BY the key" in str(diagnostic.hint)) == ("NEEL2221", True)


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        (f"SELECT * FROM nowhere {V}", "NEEL2221", "nowhere"),
        (f"SELECT nope FROM ticks {V}", "NEEL2221", "nope"),
        (
            "SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS ts > (SELECT A.ts FROM ticks))",
            "NEEL2221",
            "A.ts",
        ),
        (
            "SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS EXISTS (SELECT * FROM nowhere))",
            "NEEL2221",
            "nowhere",
        ),
        ("SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY tss PATTERN (A))", "NEEL2003", "tss"),
        (
            "SELECT * FROM (SELECT *, 1 AS ts FROM ticks) MATCH_RECOGNIZE (ORDER BY price PATTERN (A))",
            "NEEL2222",
            "(SELECT *, 1 AS ts FROM ticks)",
        ),
        (
            "SELECT * FROM (SELECT 1 AS n, parse_json('1') AS v) MATCH_RECOGNIZE "
            "(ORDER BY n ALL ROWS PER MATCH PATTERN (A))",
            "NEEL4001",
            "(SELECT 1 AS n, parse_json('1') AS v)",
        ),
    ],
)
def test_what_is_wrong(spark: Any, trades: Any, text: str, code: str, marked: str) -> None:
    with pytest.raises(neelc.NeelQueryError) as caught:
        neelc.sql(spark, text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert text[diagnostic.span.start : diagnostic.span.end] == marked


def test_pyspark_prints_nothing_of_what_is_an_error_of_ours(
    spark: Any, trades: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would print Java's stack, as a line of 10,000 characters."""
    logger, printed = logging.getLogger("SQLQueryContextLogger"), logging.handlers.BufferingHandler(100)
    monkeypatch.setattr(logger, "handlers", [printed])
    logger.setLevel(logging.ERROR)
    try:
        with pytest.raises(neelc.NeelQueryError):
            neelc.sql(spark, f"SELECT * FROM nowhere {V}")
        assert printed.buffer == []
        with pytest.raises(PySparkException):
            spark.sql("SELECT * FROM nowhere")
        assert len(printed.buffer) == 1, "queries of others are as loud as before"
    finally:
        logger.setLevel(logging.CRITICAL)


def test_a_query_that_spark_has_no_stack_for(spark: Any, trades: Any) -> None:
    with pytest.raises(neelc.NeelQueryError, match=r"nested too deeply|too complex") as caught:
        neelc.sql(spark, f"SELECT {'NOT ' * 5000} true FROM ticks {V}")
    assert caught.value.getCondition() == "NEEL2221"


WRITING = [
    f"FROM ticks {V} INSERT INTO written SELECT symbol",
    f"WITH c AS (SELECT * FROM ticks {V}) INSERT INTO written SELECT symbol FROM c",
    f"WITH c (SELECT 1) INSERT INTO written SELECT 'a' AS (a), * FROM ticks {V}",
    f"INSERT OVERWRITE DIRECTORY '{{directory}}' USING csv SELECT * FROM ticks {V}",
    f"FROM ticks {V} INSERT OVERWRITE DIRECTORY '{{directory}}' USING csv SELECT *",
    f"CREATE QUERY c AS SELECT * FROM ticks {V}; INSERT INTO written SELECT symbol FROM c",
]


@pytest.mark.parametrize("text", WRITING)
def test_nothing_is_written_by_a_text(spark: Any, trades: Any, text: str, tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    spark.sql("CREATE OR REPLACE TEMP VIEW written AS SELECT 'never' AS symbol")
    session = neelc.Session(spark)
    for call in (session.sql, session.compile, session.explain):
        with pytest.raises(neelc.NeelQueryError) as caught:
            call(text.replace("{directory}", str(tmp_path)))
        assert caught.value.getCondition() == "NEEL4060"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("text", WRITING[:2])
def test_spark_itself_takes_a_host_statement_for_nothing_but_a_query(
    spark: Any, trades: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the guard of neelc it is refused all the same, by Spark's parser."""
    monkeypatch.setattr("neelc.rows.bind.host.is_query", lambda *_: True)
    with pytest.raises(neelc.NeelQueryError, match="PARSE_SYNTAX_ERROR"):
        neelc.sql(spark, text)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("NEEL4063", f"SELECT reflect('java.lang.System', 'lineSeparator') FROM given {V}"),
        ("NEEL4063", f"SELECT registered(start) FROM given {V}"),
        ("NEEL4064", "SELECT * FROM given MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS (SELECT true))"),
        ("NEEL4062", f"SELECT * FROM given {V}, text.`{__file__}`"),
        ("NEEL4062", f"SELECT * FROM ticks {V}, given"),
        ("NEEL4064", f"SELECT TRANSFORM(symbol) USING 'cat' AS (s) FROM given {V}"),
        ("NEEL4061", f"CREATE STREAM f (v STRING) TIMESTAMP BY v FROM '{__file__}'; SELECT * FROM given {V}"),
        ("NEEL2004", "PATTERN A a FROM ticks"),
        ("NEEL4061", f"CREATE STREAM f (v BIGINT) TIMESTAMP BY v FROM '{__file__}'; PATTERN f a"),
    ],
)
def test_untrusted_text(spark: Any, trades: Any, code: str, text: str) -> None:
    spark.udf.register("registered", str)
    given = {"given": trades} if "given" in text else {}
    for call in (
        lambda: neelc.sql(spark, text, untrusted=True, **given),
        lambda: neelc.Session(spark, untrusted=True).explain(text, **given),
        lambda: neelc.Session(spark).compile(text, untrusted=True, **given),
    ):
        with pytest.raises(neelc.NeelQueryError) as caught:
            call()
        assert caught.value.getCondition() == code


def test_untrusted_text_reads_what_it_is_given(spark: Any, trades: Any) -> None:
    text = f"SELECT upper(symbol) AS s /* hidden */ FROM given {V} -- , secret\nWHERE start > 7.5"
    assert [tuple(row) for row in neelc.sql(spark, text, untrusted=True, given=trades).collect()] == [("A",)]


def test_untrusted_text_requires_names_in_any_case(spark: Any, trades: Any) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(ValueError, match="caseSensitive"):
            neelc.sql(spark, f"SELECT * FROM given {V}", untrusted=True, given=trades)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_the_list_of_functions_has_those_of_spark(spark: Any) -> None:
    from neelc.rows.bind.untrusted import ALLOWED

    known = {function.name for function in spark.catalog.listFunctions()}
    assert sorted(ALLOWED - known - {"cast", "try_cast", "extract", "timestampadd", "timestampdiff"}) == []


def test_the_source_can_be_called_without_the_compiler(spark: Any, trades: Any) -> None:
    query = neelc.Session(spark).compile(f"SELECT * FROM given {V} AS m", given=trades)
    assert "linear" in query.explain()
    found = run_source(query.source, spark, {"given": trades})
    assert found.columns == ["symbol", "start", "top"]
    assert found.count() == 2


RISING: dict[str, Any] = {
    "pattern": "A B+",
    "define": {"B": "price > PREV(price)"},
    "order_by": "ts",
    "partition_by": "symbol",
}


@pytest.mark.parametrize("argument", ["order_by", "after_match", "within"])
def test_an_argument_cannot_end_the_clause(trades: Any, argument: str) -> None:
    more = {"order_by": "ts", "after_match": "SKIP PAST LAST ROW", "within": "5"}[argument]
    given = RISING | {argument: f"{more} PATTERN (A)) m, text.`{__file__}` t MATCH_RECOGNIZE (ORDER BY value"}
    with pytest.raises(neelc.NeelQueryError, match="ends the clause"):
        neelc.match_recognize(trades, **given)


def test_the_function(trades: Any) -> None:
    found = neelc.match_recognize(trades, **RISING, measures={"top price": "LAST(B.price)"})
    assert found.columns == ["symbol", "top price"]
    assert sorted(map(tuple, found.collect())) == [("A", 12.0), ("B", 6.0)]


def test_the_function_with_a_measure_that_needs_no_column(trades: Any) -> None:
    found = neelc.match_recognize(trades, order_by="ts", pattern="A", measures={"m": "'spike'"})
    assert list(map(tuple, found.collect())) == [("spike",)] * 6


def test_the_function_with_all_its_arguments(trades: Any) -> None:
    found = neelc.match_recognize(
        trades,
        partition_by=["symbol"],
        order_by=["ts DESC"],
        pattern="A B",
        define={"B": "price < :most"},
        measures={"part": "CLASSIFIER()", "mean": "avg(S.price)"},
        rows="all rows per match with unmatched rows",
        after_match="SKIP TO NEXT ROW",
        subset={"S": ["A", "B"]},
        within="1 SECOND",
        unit="s",
        args={"most": 9.5},
    )
    assert found.columns == ["symbol", "ts", "part", "mean", "price"]
    rows = [("A", 1, None, None, 10.0), ("A", 2, "B", 10.5, 9.0), ("A", 3, "A", 12.0, 12.0)]
    assert sorted(map(tuple, found.where("symbol = 'A'").collect())) == rows


@pytest.mark.parametrize(
    ("change", "name", "marked"),
    [
        ({"define": {"B": "prize > 1"}}, "define['B']", "prize"),
        ({"define": {"B": "price <"}}, "define['B']", ""),
        ({"pattern": "A (B+"}, "pattern", ""),
        ({"pattern": "A) DEFINE B AS (TRUE"}, "pattern", "A) DEFINE B AS (TRUE"),
        ({"order_by": "tz"}, "order_by", "tz"),
        ({"measures": {"m": "LAST(C.price)"}}, "measures['m']", "C"),
        ({"after_match": "SKIP TO C"}, "after_match", "C"),
    ],
)
def test_errors_point_into_the_argument(trades: Any, change: dict[str, Any], name: str, marked: str) -> None:
    with pytest.raises(neelc.NeelQueryError) as caught:
        neelc.match_recognize(trades, **{**RISING, **change})
    (diagnostic,) = caught.value.diagnostics
    assert caught.value.source.name == name
    assert caught.value.source.text[diagnostic.span.start : diagnostic.span.end] == marked


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"define": ["B"]}, TypeError),
        ({"pattern": None}, TypeError),
        ({"rows": "SOME ROWS"}, ValueError),
        ({"subset": {"S": "AB"}}, TypeError),
    ],
)
def test_wrong_calls(trades: Any, change: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        neelc.match_recognize(trades, **{**RISING, **change})


def test_a_skip_that_leads_nowhere(trades: Any) -> None:
    found = neelc.match_recognize(trades, pattern="A B", order_by="ts", after_match="SKIP TO FIRST A")
    with pytest.raises(Exception, match="neelc-kernel-failure") as caught:
        found.collect()
    failure = neelc.explain_failure(caught.value)
    assert failure is not None
    assert failure.getCondition() == "NEEL5009"
