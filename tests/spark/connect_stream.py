"""A query over a streaming DataFrame on Spark Connect: a program of its own, as one process cannot have both
kinds of session. It prints the rows as JSON.

    PYTHONPATH=tests python tests/spark/connect_stream.py DIRECTORY
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import neelc

BATCHES = ("1 Login ann\n2 Login bob", "3 Transfer ann", "900 Other ann")


def main(directory: Path) -> None:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings: dict[str, bool | float | int | str | None] = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    spark = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
    assert type(spark).__module__ == "pyspark.sql.connect.session"
    write(directory / "in")
    reader = spark.readStream.schema("ts BIGINT, kind STRING, user STRING").option("maxFilesPerTrigger", 1)
    frame = reader.json(str(directory / "in"))
    events = neelc.stream(frame, timestamp="ts", type="kind", unit="s", watermark="1 second")
    text = "PATTERN SEQ(Login l, !Transfer t) WHERE [user] WITHIN 10 SECONDS RETURN l.user, l.ts"
    result = neelc.sql(spark, text, Events=events, buckets=2)
    writer = result.writeStream.format("json").option("path", str(directory / "out"))
    writer = writer.option("checkpointLocation", str(directory / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()
    rows = spark.read.schema(result.schema).json(str(directory / "out")).collect()
    spark.stop()
    print(json.dumps([list(row) for row in rows]))


def write(directory: Path) -> None:
    """A file for each micro-batch."""
    directory.mkdir(parents=True)
    for number, text in enumerate(BATCHES):
        rows = [line.split() for line in text.splitlines()]
        lines = [json.dumps({"ts": int(ts), "kind": kind, "user": user}) for ts, kind, user in rows]
        path = directory / f"{number}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (number + 1, number + 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
