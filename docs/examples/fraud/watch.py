"""The alarms of a bank as a streaming job: `spark-submit watch.py EVENTS STATE ALARMS`.

Parquet files are added to the directory EVENTS. STATE keeps the progress for the next run. ALARMS gets each
alarm once. The job reads what is there, then ends; without `availableNow` it would run until it is stopped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import neelc

QUERY = Path(__file__).with_name("fraud.neel").read_text()
COLUMNS = "ts TIMESTAMP, kind STRING, account STRING, amount DOUBLE"


def main(events: str, state: str, alarms: str) -> None:
    spark = SparkSession.builder.appName("fraud watch").getOrCreate()
    neelc.ship(spark)  # the workers of a cluster need its runtime
    files = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(events)
    found = neelc.sql(spark, QUERY, Bank=neelc.stream(files, watermark="1 minute"))
    writer = found.writeStream.option("checkpointLocation", state).trigger(availableNow=True)
    writer.start(alarms).awaitTermination()
    print(f"{alarms}: {spark.read.parquet(alarms).count()} alarms")


if __name__ == "__main__":
    main(*sys.argv[1:])
