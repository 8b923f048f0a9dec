"""Alarms as a materialized view of a declarative pipeline, over another one of the same pipeline."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import neelc

spark = SparkSession.active()

BANK = "ts TIMESTAMP, kind STRING, account STRING, amount DOUBLE"
ALARMS = """
    PATTERN SEQ(NewDevice d, !Confirm c, Transfer+ t[])
    WHERE [account] AND sum(t[].amount) > 2000
    WITHIN 30 MINUTES
    USING SKIP TILL NEXT MATCH
    RETURN d.account AS account, d.ts AS device, t[last].ts AS alarm, sum(t[].amount) AS total
"""

# Spark analyses nothing inside of the functions below, so that a table function has to find the matches.
neelc.register_udtf(spark, "alarms_of", query=ALARMS, table=spark.createDataFrame([], BANK), type="kind")


@dp.materialized_view
def bank() -> DataFrame:
    return spark.read.schema(BANK).option("header", "true").csv("data/bank.csv")


@dp.materialized_view
def alarms() -> DataFrame:
    return spark.sql("SELECT * FROM alarms_of(TABLE(bank) PARTITION BY account)")


@dp.materialized_view
def alarms_per_account() -> DataFrame:
    return spark.table("alarms").groupBy("account").count()
