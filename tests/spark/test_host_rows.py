"""Rows of whole queries: tests/host_rows.txt says what Spark says. `--update` writes it."""

from __future__ import annotations

from typing import Any

from host_rows import PATH, asked, rows_text
from like_spark import events_of
from pyspark.errors import PySparkException

HEAD = "# Written by `pytest tests/spark/test_host_rows.py --update`: query, outcome, names, rows.\n"


def told(spark: Any, text: str) -> str:
    try:
        frame = spark.sql(text)
        rows = [tuple(row) for row in frame.collect()]
    except PySparkException:
        return "fails\t\t"
    return f"rows\t{frame.columns}\t{rows_text(rows)}"


def test_the_file_says_what_spark_says(spark: Any, update: bool) -> None:
    # Spark cannot send a plan with a union to workers if a query inside of another one reads it.
    rows = events_of(spark).drop("ym")  # PySpark does not collect it
    spark.createDataFrame(rows.collect(), rows.schema).createOrReplaceTempView("a")
    lines = [f"{text}\t{told(spark, text)}" for text in asked()]
    spark.catalog.dropTempView("a")
    found = HEAD + "\n".join(lines) + "\n"
    if update:
        PATH.write_text(found)
    assert PATH.read_text() == found
