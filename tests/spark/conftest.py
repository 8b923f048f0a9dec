"""One Spark session for all tests that ask Spark itself."""

from __future__ import annotations

import logging
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_broker import Broker, Unavailable, broker, spark_jars

pyspark_sql = pytest.importorskip("pyspark.sql")
PySparkLogger = pytest.importorskip("pyspark.logger").PySparkLogger
find_spark_home = pytest.importorskip("pyspark.find_spark_home")


HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run in several processes, those that ask Spark run in two, each with a session. The streams
    and the case files take about as long as all others."""
    for item in items:
        if item.path.is_relative_to(HERE):
            is_other = any(word in item.path.name for word in ("stream", "replay", "cases"))
            item.add_marker(pytest.mark.xdist_group("streams and cases" if is_other else "spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A local session: two cores, no user interface, time in UTC."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers need neelc, too
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # it prints every refusal
    try:
        jars = spark_jars("kafka", "avro")
    except Unavailable:
        jars = ""  # tests that need them are skipped, see `kafka`
    session = (
        pyspark_sql.SparkSession.builder.master("local[2]")
        .appName("neelc tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.log.level", "OFF")
        .config("spark.jars", jars)
        # Each test runs another small plan once: interpreting it is faster than compiling it, and so it is
        # for most of Spark's own code.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config(map=dict(checkpoint_settings()))
        .getOrCreate()
    )
    yield session
    session.stop()


def checkpoint_settings() -> Iterator[tuple[str, str]]:
    """Else Spark starts two programs for each file of a checkpoint, `chmod` and `readlink`, and writes
    its checksum to a second one. Queries that are killed run in processes of their own, where it does.

    Spark 4.0 has the class in another package than Spark 4.1.
    """
    (jar,) = Path(find_spark_home._find_spark_home(), "jars").glob("spark-sql_*.jar")
    with zipfile.ZipFile(jar) as classes:
        names = classes.namelist()
    for name in names:
        if name.endswith("/FileSystemBasedCheckpointFileManager.class"):
            yield "spark.sql.streaming.checkpointFileManagerClass", name[:-6].replace("/", ".")
            yield "spark.sql.streaming.checkpoint.fileChecksum.enabled", "false"


@pytest.fixture(scope="session")
def kafka(spark: object) -> Iterator[Broker]:
    """A Kafka broker that the session can reach."""
    try:
        spark_jars("kafka", "avro")
        with broker() as found:
            yield found
    except Unavailable as reason:
        pytest.skip(f"never: {reason}")
