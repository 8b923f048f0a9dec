"""The alarms of a bank as a job for Spark: `spark-submit job.py EVENTS ALARMS`, both Parquet."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import neelc

QUERY = Path(__file__).with_name("fraud.neel").read_text()


def main(events: str, alarms: str) -> None:
    spark = SparkSession.builder.appName("fraud").getOrCreate()
    neelc.ship(spark)  # the workers of a cluster need its runtime
    found = neelc.sql(spark, QUERY, Bank=spark.read.parquet(events))
    found.write.mode("overwrite").parquet(alarms)
    print(f"{alarms}: {spark.read.parquet(alarms).count()} alarms")


if __name__ == "__main__":
    main(*sys.argv[1:])
