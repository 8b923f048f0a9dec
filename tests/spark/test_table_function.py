"""`neelc.register_udtf`: the table function has the rows that `neelc.sql` has, however rows are divided."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

import neelc

FRAUD = ROOT / "docs" / "examples" / "fraud"
TEXT = (
    "PATTERN SEQ(Login a, !Logout x, Login b) WHERE [user] AND b.price > a.price WITHIN 1 MINUTE "
    "RETURN a.user, a.at AS began, b.at AS ended, b.price - a.price AS rise, a.day, b.amount"
)


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    """Events of all types that a table function is given, with NULLs."""
    chance = random.Random(22)
    rows = [
        (n * 7 % 500, chance.choice(["Login", "Logout", "Login"]), chance.choice(["a", "b", "c", "d", None]))
        for n in range(300)
    ]
    frame = spark.createDataFrame(rows, "s INT, kind STRING, user STRING").selectExpr(
        "kind",
        "user",
        "timestamp_seconds(s) AS at",
        "CAST(s % 17 AS DOUBLE) AS price",
        "CAST(timestamp_seconds(s * 86400) AS DATE) AS day",
        "IF(s % 5 = 0, NULL, CAST(s AS DECIMAL(10, 2))) AS amount",
        "named_struct('x', s) AS unused",
    )
    frame.createOrReplaceTempView("table_events")
    yield frame
    spark.catalog.dropTempView("table_events")


@pytest.fixture(scope="module", autouse=True)
def function(spark: Any) -> None:
    neelc.register_udtf(spark, buckets=3)


def bag(frame: Any) -> list[str]:
    return sorted(map(repr, map(tuple, frame.collect())))


def called(spark: Any, text: str, table: str, more: str = "") -> Any:
    return spark.sql(f"SELECT * FROM neel(:text, {table}{more})", args={"text": text})


def test_the_rows_are_those_of_sql(spark: Any, events: Any) -> None:
    found = called(spark, TEXT, "TABLE(table_events)", ", timestamp => 'at', type => 'kind'")
    expected = neelc.sql(spark, TEXT, Events=neelc.stream(events, timestamp="at", type="kind"))
    assert found.schema.simpleString() == expected.schema.simpleString()
    assert bag(found) == bag(expected) and found.count() > 20


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(Login a, Login b) WHERE b.price = a.price + 1 WITHIN 20 SECONDS RETURN a.at, b.at",
        "PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 9 SECONDS RETURN DISTINCT b.price",
        "PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 9 SECONDS RETURN count(*) AS n",
        "PATTERN SEQ(Login a, Login+ b[]) WHERE [user] WITHIN 9 SECONDS RETURN a.user, b[].price AS prices",
        "SELECT price, count(*) AS n FROM Login WINDOW(TIME 10 SECONDS) GROUP BY price",
    ],
    ids=["no key", "distinct", "aggregate", "lists", "select"],
)
def test_queries_that_look_at_more_than_a_key(spark: Any, events: Any, text: str) -> None:
    logins = events.where("kind = 'Login'").drop("unused")
    logins.createOrReplaceTempView("table_logins")
    found = called(spark, text, "TABLE(table_logins)", ", timestamp => 'at'")
    assert bag(found) == bag(neelc.sql(spark, text, Login=neelc.stream(logins, timestamp="at")))


def test_a_partition_by_of_the_call(spark: Any, events: Any) -> None:
    table, settings = "TABLE(table_events) PARTITION BY user", ", timestamp => 'at', type => 'kind'"
    found = called(spark, TEXT, table, settings + ", partitioned => true")
    assert bag(found) == bag(called(spark, TEXT, "TABLE(table_events)", settings))
    with pytest.raises(Exception, match="PARTITION BY"):
        called(spark, TEXT, table, settings).collect()
    with pytest.raises(Exception, match="requires PARTITION BY"):
        called(
            spark, TEXT, "TABLE(SELECT * FROM table_events)", settings + ", partitioned => true"
        ).repartition(3).collect()


def test_a_query_in_a_file(spark: Any, events: Any, tmp_path: Path) -> None:
    file = tmp_path / "rules.neel"
    file.write_text(f"CREATE STREAM Entries TIMESTAMP BY at TYPE BY kind;\n{TEXT};")
    found = called(spark, str(file), "TABLE(table_events)")
    settings = ", timestamp => 'at', type => 'kind'"
    assert bag(found) == bag(called(spark, TEXT, "TABLE(table_events)", settings))


@pytest.mark.parametrize(
    "text, more, message",
    [
        ("PATTERN SEQ(Login a, Login b) WHERE c.price > 1", "", "unknown pattern variable `c`"),
        ("PATTERN SEQ(Login a, Logout b)", "", "say which is the table"),
        ("PATTERN Login a", ", tipe => 'kind'", "tipe"),
        ("no-such-file.neel", "", "no-such-file.neel"),
    ],
)
def test_what_is_wrong_with_a_call(spark: Any, events: Any, text: str, more: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        called(spark, text, "TABLE(table_events)", ", timestamp => 'at'" + more)


def test_a_function_for_one_query(spark: Any, events: Any) -> None:
    """It takes batches of Arrow."""
    if not hasattr(pytest.importorskip("pyspark.sql.functions"), "arrow_udtf"):
        pytest.skip("never: this Spark has no table functions over batches of Arrow")
    neelc.register_udtf(spark, "rises", query=TEXT, table=events, timestamp="at", type="kind")
    expected = bag(neelc.sql(spark, TEXT, Events=neelc.stream(events, timestamp="at", type="kind")))
    for by in ("PARTITION BY user", "PARTITION BY pmod(hash(user), 3)", "PARTITION BY 1"):
        assert bag(spark.sql(f"SELECT * FROM rises(TABLE(table_events) {by})")) == expected, by
    spread = "TABLE(SELECT /*+ REPARTITION(3) */ * FROM table_events)"
    with pytest.raises(Exception, match="requires PARTITION BY"):
        spark.sql(f"SELECT * FROM rises({spread})").collect()


def test_wrong_registrations(spark: Any) -> None:
    with pytest.raises(ValueError, match="buckets: a number of at least 1, not 0"):
        neelc.register_udtf(spark, buckets=0)
    with pytest.raises(TypeError, match="query and table belong together"):
        neelc.register_udtf(spark, query="PATTERN A a")
    with pytest.raises(TypeError, match="unit is for the function of a query"):
        neelc.register_udtf(spark, unit="s")
