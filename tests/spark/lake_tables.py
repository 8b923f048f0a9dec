"""The fraud query over tables of Delta or Iceberg, into tables of the same format: a program of its own, as
its session has other jars. It prints JSON.

    PYTHONPATH=tests python tests/spark/lake_tables.py delta 4.1 DIRECTORY
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from kafka_broker import spark_jars
from pyspark.sql import DataFrame, SparkSession
from repository import ROOT

import neelc

FRAUD = ROOT / "docs" / "examples" / "fraud"
QUERY = (FRAUD / "fraud.neel").read_text()
ACCOUNTS = 400

SETTINGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
}

DATABASE = {"delta": "spark_catalog.lake", "iceberg": "lake.db"}


def main(format: str, version: str, directory: Path) -> None:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    spark = session(format, version, directory)
    database = DATABASE[format]
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
    generate = example("generate")
    rows = generate.events(ACCOUNTS)
    halves = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    for number, half in enumerate(halves):
        generate.write(half, directory / f"{number}.parquet")
    found: dict[str, Any] = {"wanted": local(directory, generate, rows)}

    # A table that gets its events in two versions; a stream reads one after the other.
    files = spark.read.parquet(str(directory / "0.parquet"))
    files.writeTo(f"{database}.bank").using(format).create()
    watch(spark, format, directory)
    spark.read.parquet(str(directory / "1.parquet")).writeTo(f"{database}.bank").append()
    watch(spark, format, directory)
    found["streamed"] = listed(spark.table(f"{database}.watched"))

    alarms = neelc.sql(spark, QUERY, Bank=spark.table(f"{database}.bank"))
    alarms.writeTo(f"{database}.alarms").using(format).create()
    found["found"] = listed(spark.table(f"{database}.alarms"))
    spark.stop()
    print(json.dumps(found))


def session(format: str, version: str, directory: Path) -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    settings = {
        **SETTINGS[format],
        "spark.jars": spark_jars(f"{format} for Spark {version}"),
        "spark.sql.catalog.lake.warehouse": str(directory / "warehouse"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory} -XX:TieredStopAtLevel=1",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fraud_{name}", FRAUD / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def watch(spark: SparkSession, format: str, directory: Path) -> None:
    """Read what is new of the table, and write its alarms; the next call continues."""
    database = DATABASE[format]
    events = spark.readStream.format(format).table(f"{database}.bank")
    alarms = neelc.sql(spark, QUERY, Bank=neelc.stream(events, watermark="1 minute"))
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {database}.watched (d_account STRING, device TIMESTAMP, "
        f"alarm TIMESTAMP, transfers BIGINT, total DOUBLE) USING {format}"
    )
    writer = alarms.writeStream.format(format).option("checkpointLocation", str(directory / "state"))
    writer.trigger(availableNow=True).toTable(f"{database}.watched").awaitTermination()


def local(directory: Path, generate: ModuleType, rows: list[Any]) -> list[list[Any]]:
    """What the local engine finds."""
    path = directory / "all.parquet"
    generate.write(rows, path)
    found = neelc.local(timezone="UTC").sql(QUERY, Bank=str(path)).df()
    return sorted(
        [one.d_account, str(one.alarm)[:19], one.transfers, one.total] for one in found.itertuples()
    )


def listed(frame: DataFrame) -> list[list[Any]]:
    columns = ("d_account", "date_format(alarm, 'yyyy-MM-dd HH:mm:ss') AS alarm", "transfers", "total")
    return sorted(list(row) for row in frame.selectExpr(*columns).collect())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
