"""Spark sessions for the command line: started quietly, stopped cleanly."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from neelc.api.schemas import TIME_ZONE
from neelc.api.streams import Frame

# Spark 4 requires this version of Java, or a later one.
JAVA = 17


class NoSpark(Exception):
    """Spark cannot be started; the text says why."""


@contextmanager
def session(
    master: str | None = None, remote: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Frame]:
    """A session that is stopped at the end, with all that runs in it cancelled if the end is an exception."""
    with tempfile.TemporaryDirectory(prefix="neelc-") as scratch, _unannotated():
        known = settings or {}
        spark = _connected(remote, known) if remote else _started(master or "local[*]", known, scratch)
        # PySpark's own handler talks to Java in the middle of another talk. Jobs are cancelled below.
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield spark
        except BaseException:
            cancel(spark)
            raise
        finally:
            with suppress(Exception), quiet(None):
                spark.stop()


@contextmanager
def _unannotated() -> Iterator[None]:
    """Without the logs and warnings of Spark's Python side: exceptions say the same, and what PySpark will do
    in its next version is nothing that a query can change."""
    before = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(before)


def cancel(spark: Frame) -> None:
    """End the jobs that run: what was written so far would grow while it is removed."""
    with suppress(Exception):
        if hasattr(spark, "interruptAll"):
            spark.interruptAll()
    with suppress(Exception):
        spark.sparkContext.cancelAllJobs()


def _connected(remote: str, settings: Mapping[str, str]) -> Frame:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        spark = SparkSession.builder.remote(remote).getOrCreate()
        if TIME_ZONE in settings:
            spark.conf.set(TIME_ZONE, settings[TIME_ZONE])
        return spark
    except ImportError as error:
        raise NoSpark(
            f"Spark Connect requires more packages: pip install 'pyspark[connect]' ({error})"
        ) from None
    except (PySparkException, RuntimeError) as error:
        raise NoSpark(f"{remote} cannot be reached: {first_line(error)}") from None


def _started(master: str, settings: Mapping[str, str], scratch: str) -> Frame:
    if java() is None:
        raise NoSpark(f"no Java was found; Spark requires Java {JAVA} or later")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("neelc")
    for key, value in {**_settings(master, scratch), **settings}.items():
        builder = builder.config(key, value)
    with tempfile.TemporaryFile("w+") as log:
        try:
            with quiet(log):
                return builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            raise NoSpark("\n  ".join([first_line(error), *reasons(log.read())])) from None


def reasons(log: str) -> list[str]:
    r"""What Java says about why it ended: its exceptions without their stacks, else its last lines.

    >>> reasons('a\nException in thread "main" x.Y: [unresolved dependency: a#b;1: not found]\n\tat z.Z\n')
    ['[unresolved dependency: a#b;1: not found]']
    >>> reasons("a\nb\n\nc\nd\n")
    ['b', 'c', 'd']
    """
    found = re.findall(r'^Exception in thread "\w+" [\w.$]+: (.+)$', log, re.MULTILINE)
    return found or [line for line in log.splitlines() if line.strip()][-3:]


def _settings(master: str, scratch: str) -> dict[str, str]:
    """What suits a run of one script. Its result must not depend on the machine: times are in UTC, unless
    another zone is requested."""
    settings = {
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        TIME_ZONE: "UTC",
        # Batches to the workers: with ten times Spark's default, handing over events takes half the time.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
            "spark.driver.memory": f"{driver_memory()}m",
            # Otherwise Spark leaves a directory where the command is called.
            "spark.sql.warehouse.dir": str(Path(scratch) / "warehouse"),
        }
    return settings


def driver_memory() -> int:
    """Megabytes for the JVM, which does all of Spark's work in local mode: a third of what there is, 1 to
    16 GB. The Python workers need the rest."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, ValueError, OSError):
        return 2048
    return max(1024, min(16 * 1024, whole // 3))


@contextmanager
def quiet(log: IO[str] | None) -> Iterator[None]:
    """Processes that are started here write to `log` or nowhere: Java's warnings are not the query's."""
    target = log.fileno() if log is not None else os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for place, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, place)
            os.close(copy)
        if log is None:
            os.close(target)


def java() -> str | None:
    """The Java that Spark would start: that of JAVA_HOME, else the first in the path."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which("java", path=os.path.join(home, "bin"))
    return shutil.which("java")


def java_version() -> str | None:
    """The version that this Java reports."""
    path = java()
    if path is None:
        return None
    done = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    words = (done.stderr + done.stdout).split('"')
    return words[1] if len(words) > 2 else None


def counting(frame: Frame, condition: str = "true") -> tuple[Frame, Callable[[], int]]:
    """The DataFrame, and a function that returns, after an action, how many of its rows met a condition."""
    observed, counts = counting_all(frame, [condition])
    return observed, lambda: counts()[0]


def counting_all(frame: Frame, conditions: Sequence[str]) -> tuple[Frame, Callable[[], list[int]]]:
    """As `counting`, for several conditions."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import expr

    observation = Observation()
    names = [f"rows_{number}" for number in range(len(conditions))]
    counts = [expr(f"count_if({text})").alias(name) for name, text in zip(names, conditions, strict=True)]
    return frame.observe(observation, *counts), lambda: [int(observation.get[name]) for name in names]


def first_line(error: BaseException) -> str:
    """The first line of an exception that says something."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
