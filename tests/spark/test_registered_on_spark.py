"""Users' own aggregates on Spark: in WHERE and in RETURN, of values of all types, and what fails."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest
from asked_cases import CASES, ask_cases
from on_spark import Asking

import neelc

SCHEMA = """ts BIGINT, kind STRING, x DOUBLE, n INT, d DECIMAL(10, 3), t TIMESTAMP, s STRING,
  a ARRAY<DATE>, m MAP<STRING, INT>, f FLOAT"""
NOON = datetime.datetime(2024, 3, 31, 12)
LATER = NOON + datetime.timedelta(seconds=1)
ROWS = [
    (1, "A", 1.0, 1, decimal.Decimal("1.5"), NOON, "é", [NOON.date()], {"k": 1}, 0.1),
    (2, "B", float("nan"), 2, decimal.Decimal("2.25"), NOON, "b", None, {}, 0.1),
    (3, "B", None, None, None, None, None, [], None, None),
    (4, "B", -0.0, 7, decimal.Decimal("-1"), LATER, "", [None], {"z": None}, 2.0),
    (5, "C", 1.0, 1, decimal.Decimal("1.5"), NOON, "c", None, None, None),
]
LONG = "PATTERN SEQ(A a, B{3} b[], C c) WITHIN 10 SECONDS"


@pytest.fixture(scope="module")
def neel(spark: Any) -> neelc.Session:
    # Inside of a function: a module of tests is none that workers could import.
    def spread(values: list[Any]) -> Any:
        known = [value for value in values if value is not None]
        return max(known) - min(known) if known else None

    def exactly(values: list[Any]) -> Any:
        return sum(filter(None, values))

    session = neelc.Session(spark)
    session.register("S", spark.createDataFrame(ROWS, SCHEMA), type="kind", unit="s")
    session.register_aggregate("spread", spread, returns="DOUBLE")
    session.register_aggregate("shown", repr, returns="STRING")
    session.register_aggregate("latest", lambda values: values[-1], returns="TIMESTAMP")
    session.register_aggregate("exactly", exactly, returns="DECIMAL(12, 2)")
    session.register_aggregate("kept", lambda values: values, returns="ARRAY<INT>")
    session.register_aggregate("inverse", lambda values: 1 / (len(values) - 3), returns="DOUBLE")
    session.register_aggregate("text", lambda values: "x", returns="BIGINT")
    return session


def where(condition: str) -> str:
    return LONG.replace(" WITHIN", f" WHERE {condition} WITHIN")


def test_cases(spark: Any) -> None:
    asked = ask_cases(spark, sorted((CASES / "registered").glob("*.case")), Asking())
    assert asked.problems == []
    assert asked.answered >= 3, asked.refused


def test_values_are_those_of_the_reference(neel: neelc.Session) -> None:
    items = ", ".join(f"shown(b[].{name}) AS {name}" for name in "x n d t s a m f".split())
    (row,) = neel.sql(f"{LONG} RETURN {items}").collect()
    utc = "tzinfo=datetime.timezone.utc"
    assert row.asDict() == {
        "x": "[nan, None, -0.0]",
        "n": "[2, None, 7]",
        "d": "[Decimal('2.250'), None, Decimal('-1.000')]",
        "t": f"[datetime.datetime(2024, 3, 31, 12, 0, {utc}), None, "
        f"datetime.datetime(2024, 3, 31, 12, 0, 1, {utc})]",
        "s": "['b', None, '']",
        "a": "[None, [], [None]]",
        "m": "[{}, None, {'z': None}]",
        "f": "[0.10000000149011612, None, 2.0]",
    }


def test_results_have_their_types(neel: neelc.Session) -> None:
    items = "latest(b[].t) AS t, exactly(b[].d) AS d, kept(b[].n) AS k, spread(b[].n - a.n) AS s"
    frame = neel.sql(f"{LONG} RETURN {items}")
    types = [field.dataType.simpleString() for field in frame.schema]
    assert types == ["timestamp", "decimal(12,2)", "array<int>", "double"]
    assert [tuple(row) for row in frame.collect()] == [(LATER, decimal.Decimal("1.25"), [2, None, 7], 5.0)]


def test_conditions_in_the_kernel_and_on_complete_matches(neel: neelc.Session) -> None:
    query = neel.compile(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE spread(b[].n) >= 5 AND exactly(b[].d) > 1 "
        "AND spread(b[].n + a.n) < 9 WITHIN 10 SECONDS RETURN a.ts, b[].ts AS times, spread(b[].n) AS spread"
    )
    assert "kernel(MATCHES_PROGRAM, aggregates=aggregates)" in query.source
    assert "def query(\n    spark: SparkSession,\n    streams:" in query.source
    assert sorted(tuple(row) for row in query.to_df().collect()) == [(1, [2, 3, 4], 5.0), (1, [2, 4], 5.0)]


def test_over_all_matches(neel: neelc.Session) -> None:
    text = LONG.replace("{3}", "+")
    (row,) = neel.sql(f"{text} RETURN max(spread(b[].n)) AS most, count(*) AS n").collect()
    assert tuple(row) == (5.0, 7)


def test_the_call_of_one_query(spark: Any) -> None:
    worth = 3  # the function reaches the workers with what it needs
    frame = neelc.sql(
        spark,
        "PATTERN SEQ(A a, B+ b[]) WHERE above(b[..i-1].n) WITHIN 10 SECONDS "
        "USING SKIP TILL NEXT MATCH RETURN b[].ts AS times",
        aggregates={"Above": neelc.aggregate(lambda values: len(values) < worth, returns="BOOLEAN")},
        S=neelc.stream(spark.createDataFrame(ROWS, SCHEMA), type="kind", unit="s"),
    )
    assert sorted(row.times for row in frame.collect()) == [[2], [2, 3], [2, 3, 4]]


@pytest.mark.parametrize("text", [f"{LONG} RETURN inverse(b[].x)", where("inverse(b[].x) > 1")])
def test_a_function_that_raises(text: str, neel: neelc.Session) -> None:
    with pytest.raises(Exception) as raised:
        neel.sql(text).collect()
    failure = neelc.explain_failure(raised.value)
    assert failure is not None and failure.getCondition() == "NEEL5008"
    said = "aggregate `inverse` raised ZeroDivisionError: division by zero for [nan, None, -0.0]"
    assert failure.diagnostics[0].message == said


def test_a_result_of_another_type(neel: neelc.Session) -> None:
    with pytest.raises(Exception) as raised:
        neel.sql(f"{LONG} RETURN text(b[].n)").collect()
    failure = neelc.explain_failure(raised.value)
    assert failure is not None
    assert failure.diagnostics[0].message == "aggregate `text` gave 'x', which is no BIGINT, for [2, None, 7]"


def test_what_is_refused(neel: neelc.Session) -> None:
    with pytest.raises(neelc.NeelQueryError, match="while a run is looking for its next event"):
        neel.sql(where("shown(b[].x) = 'x'") + " USING SKIP TILL NEXT MATCH")
    with pytest.raises(neelc.NeelQueryError, match="in a condition that is checked on complete matches"):
        neel.sql(where("shown(b[..i-1].x) <> b[i].s"))
