"""A share of the cases on Spark Connect: a program of its own, as one process cannot have both kinds of
session. Workers have no neelc of their own: what they run was shipped. It prints what came out as JSON.

    PYTHONPATH=tests python tests/spark/connect_share.py 14 kernel join      every 14th case
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from asked_cases import PATHS, ask_cases
from faults import python_without_neelc
from on_spark import Asking
from pyspark.sql import SparkSession

import neelc


def main(share: int, strategies: Sequence[str]) -> None:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    scratch = tempfile.TemporaryDirectory()
    os.environ["PYSPARK_PYTHON"] = str(python_without_neelc(Path(scratch.name) / "python"))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings: dict[str, bool | float | int | str | None] = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # less to compile
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    spark = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
    found: dict[str, object] = {"session": type(spark).__module__}
    found["shipped"] = [worker.place for worker in neelc.ship(spark).workers]
    for strategy in strategies:
        asked = ask_cases(spark, PATHS[::share], Asking(strategy, shuffled=1))
        found[strategy] = {"answered": asked.answered, "problems": asked.problems}
    found["match_recognize"] = recognized(spark)
    found["notes"] = noticed(spark)
    found["counted"] = counted(spark)
    spark.stop()
    scratch.cleanup()
    print(json.dumps(found))


def noticed(spark: SparkSession) -> list[str]:
    """What an observation tells after an action."""
    events = spark.createDataFrame([(1, "Login"), (2, "Transfer")], "ts BIGINT, kind STRING")
    session = neelc.Session(spark)
    session.register("E", events, type="kind", unit="s")
    query = session.compile("PATTERN SEQ(Login l, Tranfser t) WITHIN 10 SECONDS")
    assert isinstance(query, neelc.Query)
    assert query.to_df(observe=True).count() == 0
    return list(query.notes())


def counted(spark: SparkSession) -> list[object]:
    """What is counted in a run: events of a stream, rows of a query, and those of a kernel's steps."""
    from neelc.api.gathering import RunObservations, measures_of
    from neelc.api.query import run_source
    from neelc.engines.spark.observing import observed_script

    events = spark.createDataFrame([(n, "AB"[n % 2]) for n in range(8)], "ts BIGINT, kind STRING")
    session = neelc.Session(spark)
    session.register("E", events, type="kind", unit="s")
    query = session.compile("PATTERN SEQ(A a, B b) WITHIN 2 SECONDS RETURN a.ts AS a", strategy="kernel")
    assert isinstance(query, neelc.Query)
    assert query.to_df(observe=True).count() == 4
    observed = RunObservations(observed_script(query.compiled, {}, [2]), {})
    frame = run_source(observed.compiled.source, spark, {"E": events}, observations=observed.by_key)
    frame.write.format("noop").mode("overwrite").save()
    steps = measures_of(observed, 0, 2, {}).steps
    return [query.statistics(), None if steps is None else steps.rows_out]


def recognized(spark: SparkSession) -> list[list[object]]:
    """A query of Spark's around MATCH_RECOGNIZE: with a parameter, braces and a definition of WITH."""
    given = spark.createDataFrame([(1, 3.0), (2, 1.0), (3, 2.0)], "n INT, x DOUBLE")
    text = """WITH c AS (SELECT * FROM given WHERE n > :least)
        SELECT m.*, '{}' AS braces FROM c MATCH_RECOGNIZE (
          ORDER BY n MEASURES FIRST(n) AS f, LAST(x) AS l PATTERN (A B+) DEFINE B AS x > PREV(x)) AS m"""
    return [list(row) for row in neelc.sql(spark, text, {"least": 0}, given=given).collect()]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
