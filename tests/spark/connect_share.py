"""A share of the cases on Spark Connect: a program of its own, as one process cannot have both kinds of
session. Prints what came out as JSON.

    python tests/spark/connect_share.py 0 12 kernel join      every 12th case, from the first on
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from asked_cases import PATHS, ask_cases  # noqa: E402
from on_spark import Asking  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

TOGETHER = 10


def main(first: str, share: str, strategies: Sequence[str]) -> None:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "OFF")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    found = {"session": type(spark).__module__}
    for strategy in strategies:
        asked = ask_cases(spark, PATHS[int(first) :: int(share)], Asking(strategy, shuffled=1))
        found[strategy] = {"answered": asked.answered, "problems": asked.problems}  # type: ignore[assignment]
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
