"""A cluster on one machine: master, worker and driver are processes of their own, and the worker's Python has
no neelc. A program of its own, as it needs another session; `make dist` runs it. It prints JSON.

    PYTHONPATH=tests python tests/spark/ship_to_cluster.py DIRECTORY
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyspark
from faults import PAIRS, ROOMS, SCHEMA, python_without_neelc

import neelc
from neelc.api.spark_session import session

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # less to compile
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def main(scratch: Path) -> None:
    os.environ["SPARK_HOME"] = str(home(scratch / "spark"))
    os.environ["PYSPARK_PYTHON"] = str(python_without_neelc(scratch / "python"))
    with session("local-cluster[1,1,1024]", None, SETTINGS) as spark:
        rooms = neelc.stream(spark.createDataFrame(ROOMS, SCHEMA), type="sym", unit="s")
        matches = neelc.sql(spark, PAIRS, strategy="kernel", Rooms=rooms)
        shipment = neelc.ship(spark)
        again = neelc.ship(spark)
        found = sorted(map(tuple, matches.collect()))
    told = {"text": repr(shipment), "places": [one.place for one in shipment.workers]}
    print(json.dumps({**told, "again": again == shipment, "found": found}))


def home(place: Path) -> Path:
    """Spark as it is installed, by links: a worker of a cluster keeps its files below Spark's home."""
    place.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (place / entry.name).symlink_to(entry)
    return place


if __name__ == "__main__":
    main(Path(sys.argv[1]))
