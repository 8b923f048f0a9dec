"""Names of columns, and what fails: tests/host_columns.txt says what Spark says. `--update` writes it."""

from __future__ import annotations

from typing import Any

from host_columns import CORPUS, PATH, asked
from like_spark import FAILING, events_of
from pyspark.errors import PySparkException

HEAD = "# Written by `pytest tests/spark/test_host_columns.py --update`: expression, outcome, name.\n"


def told(spark: Any, text: str) -> str:
    try:
        frame = spark.sql(f"SELECT {text} FROM a")
    except PySparkException:
        return "refused\t"
    (name, *_) = frame.columns
    try:
        if text in FAILING:
            return f"fails\t{name}"
        if text not in CORPUS:  # their values are compared elsewhere
            frame.collect()
    except PySparkException:
        return f"fails\t{name}"
    return f"value\t{name}"


def test_the_file_says_what_spark_says(spark: Any, update: bool) -> None:
    events_of(spark).limit(1).createOrReplaceTempView("a")
    lines = [f"{text}\t{told(spark, text)}" for text in asked()]
    spark.catalog.dropTempView("a")
    found = HEAD + "\n".join(line for line in lines if line.replace("\t", "").isprintable()) + "\n"
    if update:
        PATH.write_text(found)
    assert PATH.read_text() == found
