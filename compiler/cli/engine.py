"""Which engine runs a script: `--engine`, and how `auto` decides.

Data on this machine need no JVM: the local engine takes them. Spark runs what the call asks it for, what lies
elsewhere, what is larger than the limits here, and what only Spark can execute.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from neelc.catalog.data_files import is_url
from neelc.catalog.inputs import Inputs, location_of
from neelc.errors import NeelError
from neelc.explain.engine import SPARK, Engine, kernels_run_in, local_engine
from neelc.files import CallError

if TYPE_CHECKING:
    from neelc.catalog.statistics.numbers import Statistics
    from neelc.engines.local.tables import LocalTable
    from neelc.ir.program import Program

AUTO = "auto"
ENGINES = (AUTO, "local", "spark", "reference")

MOST_BYTES = 64 * 10**9
MOST_ROWS = 1_000_000_000
"""Up to so much data, `auto` takes the local engine."""

LIMITS = f"{MOST_BYTES // 10**9} GB of files and {MOST_ROWS:,} rows"

NOT_LOCAL = "NEEL4150"
"""What the local engine cannot execute."""

KNOWN_TO_SPARK = "NEEL2220"
"""Columns that are not known here: Spark is started to ask it."""

OF_SPARK = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")
"""Variables of a process that has a Spark: that of spark-submit, or a server of Spark Connect."""


class SparkNeeded(Exception):
    """Why the local engine does not take a script, in a few words."""


def add_engine(parser: argparse.ArgumentParser, engines: Sequence[str] = ENGINES) -> None:
    """Declare `--engine`."""
    small = " reference, for small data." if "reference" in engines else ""
    parser.add_argument(
        "--engine",
        choices=engines,
        default=AUTO,
        help=f"local: data on this machine, no Java; spark;{small} auto: local where possible, "
        "otherwise spark, and say why (default: auto)",
    )


T = TypeVar("T")


def on_local_or_spark(options: argparse.Namespace, local: Callable[[], T], spark: Callable[[], T]) -> T:
    """What `auto` does. `local` calls `settle_on_local` before it writes anything, or raises."""
    if not asks_for_spark(options):
        reason = reason_of_process()
        if reason is None:
            try:
                return local()
            except SparkNeeded as needed:
                reason = str(needed)
            except NeelError as error:
                reason = only_for_spark(error)
                if reason is None:
                    raise
        print(f"engine: Spark ({reason})", file=sys.stderr)
    options.engine = "spark"
    return spark()


def reason_of_process() -> str | None:
    """Why a process uses Spark, whatever it runs."""
    return next((f"{name} is set" for name in OF_SPARK if os.environ.get(name)), None)


def asks_for_spark(options: argparse.Namespace) -> bool:
    """Whether a call has settings of Spark, or wants its rows where only Spark can write."""
    settings = (getattr(options, name, None) for name in ("master", "remote", "conf", "ship"))
    return any(settings) or is_url(getattr(options, "output", None) or "")


def only_for_spark(error: NeelError) -> str | None:
    """What the local engine lacks, if that is all that an error says."""
    each = [one for found in getattr(error, "errors", [error]) for one in found.diagnostics]
    if not each or any(one.code not in (NOT_LOCAL, KNOWN_TO_SPARK) for one in each):
        return None
    return str(each[0].message)


def check_is_here(inputs: Inputs, streams: Iterable[str]) -> None:
    """Raises `NeelError` with the code of what only Spark can, if data are not on this machine."""
    for name in streams:
        location = location_of(inputs, name)
        if location is not None and location.is_elsewhere:
            location.check_ends()
            message = f"{location.name} is not on this machine"
            location.fail(NOT_LOCAL, message, "choose the spark engine, or copy the data here")


def settle_on_local(
    options: argparse.Namespace, tables: Mapping[str, LocalTable], errors: Iterable[NeelError] = ()
) -> None:
    """Raises `SparkNeeded` if there are too many data, rules whose `errors` are none on Spark, or a time zone
    that DuckDB does not know, else says that the local engine is taken. Of a call that names its engine,
    nothing is said."""
    from neelc.scalar.duckdb.times import zone_in_duckdb

    if options.engine != AUTO:
        return
    try:
        zone_in_duckdb(getattr(options, "timezone", None) or "UTC")
    except CallError as problem:
        raise SparkNeeded(str(problem)) from None
    reason = next((why for why in map(only_for_spark, errors) if why is not None), None)
    if reason is not None:
        raise SparkNeeded(reason)
    print(f"engine: local ({size_here(tables)})", file=sys.stderr)


def size_here(tables: Mapping[str, LocalTable]) -> str:
    """How many data there are on this machine; raises `SparkNeeded` if they are too many."""
    from neelc.engines.local.tables import DataSize

    size = sum((table.size for table in tables.values()), DataSize())
    if size.bytes > MOST_BYTES or (size.rows or 0) > MOST_ROWS:
        raise SparkNeeded(f"{size}; the local engine takes up to {LIMITS}, or more with --engine local")
    return f"{size} on this machine"


# What an explanation is about.


def engine_for(
    inputs: Inputs, program: Program, places: Sequence[int], statistics: Statistics, asked: str = AUTO
) -> Engine:
    """The engine that `neelc run --engine` takes for these queries, and why. Without data to run over, none
    is known: the plan is told as Spark executes it. Raises `NeelError`."""
    from neelc.arguments import Options
    from neelc.cli.run_local import LocalJob, planned_job
    from neelc.scalar.duckdb.evaluated import operations_of

    jobs: list[LocalJob] = []

    def planned() -> Mapping[str, LocalTable]:
        jobs.append(planned_job(inputs, program, places, Options(), statistics, "UTC"))
        return jobs[0].tables

    engine = engine_over(planned, asked)
    calls = (call for job in jobs for _, _, made in job.queries for call in made.evaluated)
    return replace(engine, evaluated=operations_of(calls)) if engine.is_local else engine


def engine_over(planned: Callable[[], Mapping[str, LocalTable]], asked: str) -> Engine:
    """The engine for data that a plan for the local engine reads; `planned` raises if there is none."""
    reason = None if asked != AUTO else reason_of_process()
    if asked == "spark" or reason is not None:
        return replace(SPARK, why=None if reason is None else f"Spark: {reason}.")
    try:
        tables = planned()
        size = size_here(tables) if asked == AUTO else None
    except SparkNeeded as needed:
        if asked != AUTO:
            raise CallError(f"explain --engine {asked}: {needed}") from None
        return replace(SPARK, why=f"Spark: {needed}.")
    except NeelError as error:
        reason = only_for_spark(error)
        if reason is not None and asked != AUTO:
            raise
        without_data = SPARK if asked == AUTO else local_engine()
        return without_data if reason is None else replace(SPARK, why=f"Spark: {reason}.")
    return _local_engine(tables, size)


def _local_engine(tables: Mapping[str, LocalTable], size: str | None) -> Engine:
    from neelc.engines.local.tables import is_worth_splitting

    processes = len(os.sched_getaffinity(0)) if is_worth_splitting(tables.values()) else 1
    taken = "" if size is None else f" Up to {LIMITS}, `neelc run` takes it; beyond that, Spark."
    return local_engine(processes, f"local: {size or 'as asked'}.{taken} {kernels_run_in(processes)}")
