"""Levels, concepts and roll-ups on Spark: the case files, random tables, data that are no hierarchy, streams
without end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from asked_cases import CASES, ask_cases
from hierarchies import pairs
from on_spark import Asking, Question, ask

import neelc
from neelc.runtime.reference import Result, run
from neelc.runtime.values.order import comparable

PATHS = sorted((CASES / "hierarchy").glob("*.case"))
PLACES = [("Rue", "Paris"), ("Quai", "Paris"), ("Via", "Roma"), ("Via", "Roma"), ("Weg", None)]
REPORTS = [(1, "Car", "Rue"), (2, "Bus", "Via"), (3, "Bus", "Quai"), (4, "Car", "Weg"), (5, "Bus", "Weg")]
SCRIPT = """
CREATE RELATION Places (street STRING, city STRING);
CREATE STREAM Reports (ts BIGINT, kind STRING, street STRING)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind WATERMARK 10 SECONDS;
CREATE HIERARCHY Place (street, city) FROM Places;
CREATE QUERY Fine AS
  PATTERN SEQ(Car a, Bus b) WHERE [street] WITHIN 9 SECONDS RETURN a.ts AS a, b.ts AS b, a.street;
ROLL UP Fine (street TO Place.city);
"""


@pytest.mark.parametrize("strategy", [None, "join"])
def test_cases(spark: Any, strategy: str | None) -> None:
    asked = ask_cases(spark, PATHS, Asking(strategy, shuffled=2))
    assert asked.problems == []
    assert asked.answered >= (len(PATHS) if strategy is None else 4), asked.refused


def test_random_tables(spark: Any) -> None:
    """Spark finds what the reference finds."""
    drawn = [one for seed in (1, 2) for one in pairs(Random(seed))]
    questions = [Question(one.text, one.asked, one.tables) for one in drawn]
    found = list(ask(spark, questions, Asking(seed=3, partitions=2)))
    assert len(found) == len(drawn)
    for question, result in found:
        assert isinstance(result, Result), (question.name, result)
        [(_, expected)] = run(question.program, question.tables)
        rows, there = (Counter(map(comparable, one.rows)) for one in (result, expected))
        assert rows == there, question.name


@pytest.fixture
def reports(spark: Any) -> Any:
    return spark.createDataFrame(REPORTS, "ts BIGINT, kind STRING, street STRING")


def test_a_street_in_two_cities_is_a_failure(spark: Any, reports: Any) -> None:
    places = spark.createDataFrame([*PLACES, ("Rue", "Lyon")], "street STRING, city STRING")
    found = neelc.Session(spark).compile(SCRIPT, Places=places, Reports=reports).to_df()
    with pytest.raises(Exception, match=r"NEEL5060: .*: street `Rue` has several values of `city` in Places"):
        found.collect()


def test_over_a_stream_without_end(spark: Any, reports: Any, tmp_path: Path) -> None:
    """Each micro-batch is joined with the relation, which is bounded."""
    places = spark.createDataFrame(PLACES, "street STRING, city STRING")
    reports.write.parquet(str(tmp_path / "reports"))
    endless = spark.readStream.schema(reports.schema).parquet(str(tmp_path / "reports"))
    found = neelc.Session(spark).compile(SCRIPT, Places=places, Reports=endless).to_df()
    assert found.isStreaming
    running = (
        found.writeStream.format("memory")
        .queryName("rolled_up")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    assert [tuple(row) for row in spark.table("rolled_up").collect()] == [(1, 3, "Paris")]
