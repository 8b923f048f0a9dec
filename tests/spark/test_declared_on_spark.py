"""Functions that scripts and callers declare, on Spark: with Python code, and of the session."""

from __future__ import annotations

from typing import Any

import pytest
from asked_cases import CASES, ask_cases
from on_spark import Asking

import neelc

ROWS = [(1, "A", 10.0), (2, "B", 11.0), (3, "B", 15.0), (4, "B", None)]
SCHEMA = "ts BIGINT, kind STRING, price DOUBLE"


@pytest.fixture
def neel(spark: Any) -> neelc.Session:
    session = neelc.Session(spark)
    session.register("S", spark.createDataFrame(ROWS, SCHEMA), timestamp="ts", type="kind", unit="s")
    return session


def test_cases(spark: Any) -> None:
    asked = ask_cases(spark, sorted((CASES / "declared").glob("*.case")), Asking())
    assert asked.problems == []
    assert asked.answered >= 3, asked.refused


def test_a_function_of_the_session(neel: neelc.Session) -> None:
    # Spark calls it for NULL, too, although neelc does not use what it gives.
    neel.spark.udf.register("is_close", lambda x, y: x is None or abs(x - y) <= 2, "BOOLEAN")
    found = neel.sql(
        "CREATE FUNCTION is_close(DOUBLE, DOUBLE) RETURNS BOOLEAN;"
        "PATTERN B b WHERE is_close(b.price, 10) RETURN b.ts AS time, is_close(b.price, 11) AS same"
    )
    assert [tuple(row) for row in found.collect()] == [(2, True)]


def test_a_function_of_spark_that_neelc_lacks(neel: neelc.Session) -> None:
    found = neel.sql(
        "CREATE FUNCTION is_valid_utf8(STRING) RETURNS BOOLEAN;"
        "PATTERN A a RETURN is_valid_utf8(a.kind) AS valid"
    )
    assert [tuple(row) for row in found.collect()] == [(True,)]


def test_a_function_of_constants(neel: neelc.Session) -> None:
    """It is called by Spark, not while the query is planned."""
    found = neel.sql(
        "CREATE FUNCTION is_valid_utf8(STRING) RETURNS BOOLEAN;"
        "PATTERN SEQ(A a, B b) WHERE is_valid_utf8('x') WITHIN 1 SECOND RETURN b.ts AS time",
        strategy="kernel",
    )
    assert [tuple(row) for row in found.collect()] == [(2,)]


@pytest.mark.parametrize("strategy", ["kernel", None])
def test_python_code(neel: neelc.Session, strategy: str | None) -> None:
    near = neelc.function(
        "near", returns="BOOLEAN", takes=["DOUBLE", "DOUBLE"], python=lambda x, y: abs(x - y) <= 2
    )
    neel.register_function(near)
    found = neel.sql(
        "PATTERN SEQ(A a, B b) WHERE near(a.price, b.price) AND near(b.price, 11) WITHIN 10 SECONDS "
        "RETURN b.ts AS time, near(b.price, a.price + 9) AS far",
        strategy=strategy,
    )
    assert [tuple(row) for row in found.collect()] == [(2, False)]


def test_what_it_raises_has_its_name(neel: neelc.Session) -> None:
    def half(x: Any) -> Any:
        raise ValueError("no half")

    neel.register_function(neelc.function("half", returns="DOUBLE", takes="DOUBLE", python=half))
    with pytest.raises(Exception, match="function `half` raised ValueError: no half"):
        neel.sql("PATTERN A a RETURN half(a.price) AS h").collect()
