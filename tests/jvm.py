"""How tests start a JVM: with an archive of Spark's classes, from which it starts in two thirds of the time.

`python tests/jvm.py` writes the archive to build/, once for each version of Spark. Where there is none, or
none for this Java, the JVM reads the jars.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from repository import ROOT

# A JVM that a test starts, itself or by a command, runs for seconds: to compile its code well, to collect
# garbage with several threads, or to verify the classes of Spark takes longer than it saves. There is little
# room for compiled code without the second compiler: where it is full, the JVM throws code away and compiles
# it again. And where room for classes grows step by step, each step costs a collection of everything.
SHORT = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:MetaspaceSize=256m",
    "-XX:NewRatio=1",
)

LIMIT = 300.0
"""Seconds in which the JVM must have written the archive."""


def archive() -> Path:
    """Where it is, or would be."""
    return ROOT / "build" / f"spark-{version('pyspark')}.jsa"


def options() -> str:
    """The options of a JVM. One that cannot use the archive says nothing, and goes on without."""
    path = archive()
    can_be_given = path.is_file() and " " not in str(path)  # Spark's scripts divide the options at spaces
    shared = (f"-XX:SharedArchiveFile={path}", "-Xlog:cds*=off") if can_be_given else ()
    return " ".join((*SHORT, *shared))


def write(path: Path) -> None:
    """Run a query, and let the JVM write down at its end which classes it has loaded."""
    path.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        written = Path(scratch) / path.name
        os.environ["SPARK_SUBMIT_OPTS"] = " ".join((*SHORT, f"-XX:ArchiveClassesAtExit={written}"))
        os.environ["PYSPARK_PYTHON"] = sys.executable
        _query(Path(scratch) / "rows.parquet")
        written.rename(path)


def _query(path: Path) -> None:
    """What most tests do: data of Python, files, an aggregate, Python workers."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.createDataFrame([(1, "a"), (2, "b")], "n INT, name STRING").write.parquet(str(path))
    rows = spark.read.parquet(str(path)).groupBy("name").sum("n").orderBy("name")
    assert rows.mapInArrow(lambda batches: batches, rows.schema).collect()
    spark.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(LIMIT)


if __name__ == "__main__":
    if not archive().is_file():  # make calls this before each run of all tests
        try:
            write(archive())
        except Exception as problem:
            print(
                f"no archive of Spark's classes, so the tests start Spark more slowly: {problem}",
                file=sys.stderr,
            )
