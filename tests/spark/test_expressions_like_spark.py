"""Types and values of expressions are Spark's: each line of expressions.txt is asked of both."""

from __future__ import annotations

from typing import Any

import pytest
from expressions import COLUMNS, check, context
from like_spark import (
    AGGREGATES,
    AGREED,
    FAILING,
    REFUSED,
    REFUSED_AGGREGATES,
    events_of,
    like_ours,
    same,
    spark_type,
    widest,
)
from pyspark.errors import PySparkException

from neelc.runtime.reference.evaluate import evaluate

CHUNK = 120  # a plan of all expressions takes longer to compile than several of some


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    """The events of tests/expressions.py as the view `a`, in order."""
    spark.conf.set(
        "spark.sql.parser.escapedStringLiterals", "true"
    )  # a backslash is a backslash, as in neelc
    rows = events_of(spark)
    rows.createOrReplaceTempView("a")
    # Where only types are asked for, a table without rows is analysed faster.
    spark.createDataFrame([], rows.schema).createOrReplaceTempView("types")
    yield spark
    spark.catalog.dropTempView("a")
    spark.catalog.dropTempView("types")
    spark.conf.unset("spark.sql.parser.escapedStringLiterals")


def differences(text: str, theirs: list[Any], their_type: str) -> list[str]:
    """What is wrong with an expression, on each of the events that Spark has values for."""
    checked = check(text)
    if checked.reports:
        return [f"{text}: {checked.reports}"]
    if spark_type(checked.type) != widest(their_type):
        return [f"{text}: {spark_type(checked.type)}, but Spark has {their_type}"]
    pairs = [
        (evaluate(checked.expression, context(row)), like_ours(value, checked.type))
        for row, value in enumerate(theirs)
    ]
    return [f"{text}: {one!r}, but Spark has {other!r}" for one, other in pairs if not same(one, other)]


def all_differences(spark: Any, lines: list[tuple[str, str]]) -> list[str]:
    columns = (
        f"{theirs or ours.replace('b[]', 'a')} AS c{number}" for number, (ours, theirs) in enumerate(lines)
    )
    frame = spark.sql(f"SELECT {', '.join(columns)} FROM a")
    values = list(zip(*frame.collect(), strict=True))
    found = (
        differences(text, list(values[number]), frame.schema[number].dataType.simpleString())
        for number, (text, _) in enumerate(lines)
    )
    return [difference for one in found for difference in one]


@pytest.mark.parametrize("start", range(0, len(AGREED), CHUNK))
def test_types_and_values_agree(events: Any, start: int) -> None:
    assert all_differences(events, AGREED[start : start + CHUNK]) == []


def test_aggregates_agree(events: Any) -> None:
    assert all_differences(events, AGGREGATES) == []


@pytest.mark.parametrize("text", FAILING)
def test_what_fails_in_spark_is_null(events: Any, text: str) -> None:
    checked = check(text)
    assert checked.reports == ()
    assert evaluate(checked.expression, context(0)) is None
    frame = events.sql(f"SELECT {text} FROM a WHERE i = 3")
    assert spark_type(checked.type) == widest(frame.schema[0].dataType.simpleString())
    with pytest.raises(PySparkException):
        frame.collect()


@pytest.mark.parametrize("text", REFUSED + REFUSED_AGGREGATES)
def test_what_spark_refuses_is_refused(events: Any, text: str) -> None:
    assert len(check(text).reports) == 1
    with pytest.raises(PySparkException):
        events.sql(f"SELECT {text.replace('b[]', 'a')} FROM types AS a")


SAMPLES = {spark_type(type): f"a.{name}" for name, type in COLUMNS.items() if name != "n"}


def test_the_same_casts_are_possible(events: Any) -> None:
    casts = [f"TRY_CAST({text} AS {target})" for text in SAMPLES.values() for target in SAMPLES]
    possible = [cast for cast in casts if not check(cast).reports]
    events.sql(f"SELECT {', '.join(possible)} FROM types AS a")
    for cast in casts:
        if cast not in possible:
            with pytest.raises(PySparkException):
                events.sql(f"SELECT {cast} FROM types AS a")
