"""Runs dbt in a session of Spark with neelc's table function: `python build.py`, or `python build.py run`."""

import sys
from pathlib import Path

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

import neelc

HERE = str(Path(__file__).parent)

# dbt's method `session` takes the session of its process, if there is one.
spark = SparkSession.builder.appName("dbt").getOrCreate()
neelc.register_udtf(spark)
done = dbtRunner().invoke([*(sys.argv[1:] or ["build"]), "--project-dir", HERE, "--profiles-dir", HERE])
if done.success:
    spark.table("alarms_per_account").orderBy("account").show()
sys.exit(0 if done.success else 1)
