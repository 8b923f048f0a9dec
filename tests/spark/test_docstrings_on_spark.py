"""The examples of docstrings that ask Spark run, as in PySpark's own: with a session called `spark`."""

from __future__ import annotations

import doctest
import warnings
from typing import Any

import pytest
from docstrings import asks_spark, examples
from repository import is_generated, modules

import neelc

# What is shipped stays in the session, which other tests share: tests/spark/ship_to_cluster.py runs it.
SHIPS = ("neelc.api.shipping.ship",)
FOUND = [
    test.name
    for module in modules()
    if module.startswith("neelc.api") and not is_generated(module)
    for test in examples(module)
    if asks_spark(test) and test.name not in SHIPS
]


@pytest.mark.parametrize("name", FOUND)
def test_docstrings(name: str, spark: Any) -> None:
    module = next(one for one in sorted(modules(), reverse=True) if name.startswith(f"{one}."))
    (found,) = [one for one in examples(module, {"spark": spark, "neelc": neelc}) if one.name == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", neelc.NeelWarning)
        assert doctest.DocTestRunner().run(found).failed == 0


def test_columns_of_match_recognize(spark: Any) -> None:
    """They give the rows that texts give."""
    from pyspark.sql import functions as F

    rows = [(1, "a", 3), (2, "a", 2), (3, "A", 4), (1, "b", 1), (2, "b", 2)]
    prices = spark.createDataFrame(rows, "ts INT, ticker STRING, price INT")

    def falls(**columns: Any) -> list[Any]:
        found = neelc.match_recognize(
            prices,
            pattern="DOWN UP",
            define={"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"},
            measures={"lowest": "DOWN.price"},
            **columns,
        )
        return sorted(map(tuple, found.collect()))

    assert falls(partition_by=F.col("ticker"), order_by=F.col("ts")) == []
    assert falls(partition_by=[F.lower("ticker").alias("low")], order_by=["ts"]) == [("a", 2)]
    assert falls(partition_by=F.lower("ticker"), order_by=F.expr("ts + 1")) == [("a", 2)]
    backwards = falls(partition_by="ticker", order_by=F.col("ts").desc())
    assert backwards == falls(partition_by="ticker", order_by="ts DESC") == []
    every: dict[str, Any] = {
        "rows": "ALL ROWS PER MATCH",
        "order_by": [F.col("ts").asc_nulls_last(), -F.col("price")],
    }
    found = neelc.match_recognize(prices, pattern="R", partition_by="ticker", define={"R": "TRUE"}, **every)
    assert found.columns == ["ticker", "ts", "price"] and found.count() == 5


@pytest.mark.parametrize(
    "argument, value, message",
    [
        ("partition_by", lambda F: F.col("ts").desc(), "only in order_by"),
        ("order_by", lambda F: F.lower("ticker").desc(), "only of a column of the DataFrame"),
        ("order_by", lambda F: 7, "names of columns, as texts, or Columns, not 7"),
        ("define", lambda F: {"A": F.col("ts") > 1}, "is a text of SQL, not a Column"),
    ],
)
def test_columns_that_do_not_fit(spark: Any, argument: str, value: Any, message: str) -> None:
    from pyspark.sql import functions as F

    given = {"order_by": "ts", argument: value(F)}
    with pytest.raises(TypeError, match=message):
        neelc.match_recognize(spark.range(3).withColumnRenamed("id", "ts"), pattern="A", **given)


def test_there_are_such() -> None:
    assert "neelc.api.session.sql" in FOUND
