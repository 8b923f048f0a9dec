"""The Spark session that the benchmarks share, and how they ask it."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any

from bench.sides import Aborted

from neelc.pipeline import Planner, compile_program

LIMIT = 300.0
"""Seconds after which a job is stopped."""


@cache
def session() -> Any:
    """A local session with two cores. The same settings for both sides of each comparison."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers load neelc.runtime from this environment
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.master(f"local[{os.environ.get('NEELC_BENCH_CORES', '2')}]")
    return (
        builder.appName("neelc benchmarks")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100000")  # as neelc run has it
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )


def stop() -> None:
    if session.cache_info().currsize:
        session().stop()
        session.cache_clear()


def read(path: Path) -> Any:
    return session().read.parquet(str(path))


def execute(frame: Any, limit: float = LIMIT) -> None:
    """Compute all rows and discard them."""
    stopped = []

    def abort() -> None:
        stopped.append(True)
        session().sparkContext.cancelAllJobs()

    timer = Timer(limit, abort)
    timer.start()
    try:
        frame.write.format("noop").mode("overwrite").save()
    except Exception as problem:
        if stopped:
            raise Aborted from problem
        raise
    finally:
        timer.cancel()


def matches(
    query: str,
    frame: Any,
    strategy: str | None = None,
    switches: dict[str, bool] | None = None,
    type: str | None = "kind",
    planner: Planner | None = None,
    **more: object,
) -> Any:
    """The matches of a query over the stream `Events`: what each benchmark compares with something else.

    `switches` turn single optimisations off, such as `shortcuts`; a `planner` is one of `bench.baselines`.
    """
    import neelc

    if switches:
        more["options"] = switches
    more["Events"] = neelc.stream(frame, timestamp="ts", type=type)
    found: Any = neelc.Session(session()).compile(query, strategy=strategy, **more)  # type: ignore[arg-type]
    if planner is not None:
        found = replace(found, compiled=compile_program(found.bound.program, planner=planner))
    return found.to_df()
