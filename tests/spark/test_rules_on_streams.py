"""Many rules over Spark's streams: one operator with one state, and the rows that they give in a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from on_streams import StreamedFiles

import neelc

BANK = """CREATE STREAM Bank (ts TIMESTAMP, kind STRING, account INT, amount INT)
  TIMESTAMP BY ts TYPE BY kind;"""
RULES = {
    "Burst": "CREATE QUERY Burst AS PATTERN SEQ(Deposit d, Withdraw w) WHERE [account] AND d.amount > 50 "
    "WITHIN 10 MINUTES RETURN d.amount AS put, w.ts AS at",
    "Again": "PATTERN SEQ(Deposit d, Withdraw w, Deposit e) WHERE [account] AND d.amount > 50 "
    "WITHIN 10 MINUTES RETURN e.amount AS again",
    "Silent": "PATTERN SEQ(Deposit d, !Withdraw w) WHERE [account] AND d.amount > 80 WITHIN 2 MINUTES "
    "RETURN d.amount AS put",
    "Either": "PATTERN OR(SEQ(Deposit d, Deposit e), Withdraw w) WHERE [account] AND w.amount > 90 "
    "WITHIN 1 MINUTE RETURN d.amount, w.amount AS got",
    "Anyone": "PATTERN SEQ(Withdraw a, Withdraw b) WHERE a.amount > 90 AND b.amount > 80 WITHIN 1 MINUTE "
    "RETURN a.account AS one, b.account AS other",
    "Next": "PATTERN SEQ(Deposit d, Withdraw+ w[], Deposit e) WHERE [account] WITHIN 10 MINUTES "
    "USING STRICT CONTIGUITY RETURN count(w[]) AS n",
    "Large": "PATTERN Withdraw w WHERE w.amount > 95 RETURN w.account, w.amount",
}
REFUSED = {
    "Once": "PATTERN SEQ(Deposit d, Withdraw w) WHERE [account] WITHIN 5 MINUTES RETURN DISTINCT d.ts",
    "Counted": "PATTERN SEQ(Deposit d, Withdraw w) WHERE [account] WITHIN 5 MINUTES RETURN d.ts, count(*)",
    "Totals": "SELECT account, sum(amount) AS total FROM Bank WINDOW(TIME 5 MINUTES) GROUP BY account",
    "Over": "PATTERN SEQ(Burst a, Withdraw x) WITHIN 10 MINUTES RETURN a.put, x.amount AS later",
    "Endless": "PATTERN SEQ(Deposit d, Withdraw w) WHERE [account] RETURN d.amount",
}
AS_TEXT = ("rule", "to_json(key) AS key", "match_start", "match_end", "to_json(columns) AS columns")


def events(count: int) -> Iterator[tuple[datetime, str, int, int]]:
    chance, time = Random(1), datetime(2026, 1, 1)
    for _ in range(count):
        time += timedelta(seconds=chance.choice([0, 1, 5, 20, 60]))
        yield time, chance.choice(["Deposit", "Withdraw"]), chance.randrange(4), chance.randrange(100)


@pytest.fixture(scope="module")
def bank(spark: Any) -> Any:
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    return spark.createDataFrame(list(events(150)), "ts TIMESTAMP, kind STRING, account INT, amount INT")


def test_rules_give_what_they_give_in_a_batch(spark: Any, bank: Any) -> None:
    """Rules with different keys share an operator; those that cannot are told, and stop no others."""
    texts = {"streams": BANK, **RULES, **REFUSED}
    stream = neelc.replay(bank, batches=3, shuffle_within="30 seconds")
    found = neelc.rules(spark, texts, Bank=stream, buckets=3)
    assert found.names == tuple(RULES)
    told = {error.source.name: error.diagnostics[0].code for error in found.errors}
    assert told == {**dict.fromkeys(REFUSED, "NEEL4130"), "Endless": "NEEL4131"}
    assert "7 of them in one operator over the streams" in found.explain()
    query = found.df.selectExpr(*AS_TEXT).writeStream.format("memory").queryName("ruled").start()
    try:
        query.processAllAvailable()
        progress: Any = query.lastProgress
        assert len(progress.stateOperators) == 1
        assert progress.observedMetrics["neelc"]["kept"] == 0
    finally:
        query.stop()
    rows = Counter(map(tuple, spark.table("ruled").collect()))
    batch = neelc.rules(spark, {"streams": BANK, **RULES}, Bank=bank).df.selectExpr(*AS_TEXT)
    assert rows == Counter(map(tuple, batch.collect()))
    assert {rule for rule, *_ in rows} == {*RULES}


CLICKS = """CREATE STREAM Clicks (ts BIGINT, page STRING, user INT)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY page WATERMARK 10 SECONDS;"""
PAIR = "PATTERN SEQ(Home h, Cart c) WHERE [user] WITHIN 1 MINUTE RETURN h.ts, c.ts AS until"
LEFT = "PATTERN SEQ(Home h, !Cart c) WHERE [user] WITHIN 1 MINUTE RETURN h.ts"


@pytest.fixture
def clicks(spark: Any, tmp_path: Path) -> Iterator[StreamedFiles]:
    found = StreamedFiles(spark, tmp_path, "Clicks", "ts BIGINT, page STRING, user INT")
    yield found
    found.stop()


def test_a_restart_between_two_events(spark: Any, clicks: StreamedFiles) -> None:
    """State is written and read by Spark. Other rules cannot read it."""

    def rules(**texts: str) -> neelc.Rules:
        return neelc.rules(spark, {"streams": CLICKS, **texts}, Clicks=clicks.frame(), buckets=2)

    clicks.run(rules(Pair=PAIR, Left=LEFT)["Pair"])
    assert clicks.come((100, "Home", 1), (101, "Home", 2)) == []
    clicks.stop()
    clicks.run(rules(Pair=PAIR, Left=LEFT)["Pair"])
    assert clicks.come((110, "Cart", 1)) == [(100, 110)]
    assert clicks.come((111, "Cart", 2), (150, "Cart", 1)) == [(100, 150), (101, 111)]
    clicks.stop()
    clicks.run(rules(Pair=PAIR, Left=LEFT, Third=PAIR.replace("Cart", "Help"))["Pair"])
    with pytest.raises(Exception, match="the checkpoint was written by another query"):
        clicks.come((151, "Cart", 1))


def test_bounded_data_beside_streams(spark: Any) -> None:
    """Spark cannot put their rows together: the rule is left out."""
    taps = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    calls = spark.sql("SELECT timestamp_seconds(id) AS ts, id AS value FROM range(3)")
    given = {"Taps": taps.withWatermark("ts", "10 seconds"), "Calls": calls}
    rule = "PATTERN SEQ({0} a, {0} b) WHERE [value] WITHIN 5 SECONDS RETURN a.value"
    texts = {"Tapped": rule.format("Taps"), "Called": rule.format("Calls")}
    found = neelc.rules(spark, texts, **given)
    assert found.names == ("Tapped",) and found.df.isStreaming
    [error] = found.errors
    assert (error.source.name, error.diagnostics[0].code) == ("Called", "NEEL4143")
    with pytest.raises(neelc.NeelQueryError, match="NEEL4143"):
        neelc.rules(spark, texts, strict=True, **given)
    with pytest.raises(neelc.NeelQueryError, match="NEEL4140"):
        neelc.rules(spark, texts, Taps=taps, Calls=calls)


def test_random_rules_over_streams(spark: Any) -> None:
    """Each has the rows that the reference finds for it alone, among events that are not late."""
    from rules_spark_fuzz import check_stream, checked  # workers import this module, and have no such one

    seen = Counter[str]()
    numbers = (6003, 6007, 6008)
    assert [wrong for number in numbers for wrong in checked(check_stream, spark, number, seen)] == []
    assert seen["rules with matches"] > 5, seen
    assert seen["sets with late events"] and seen["sets with restarts"], seen
