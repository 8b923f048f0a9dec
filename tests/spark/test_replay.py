"""`neelc.replay`: a query over a replay gives what the same query gives over the events."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import neelc

NEGATION = "PATTERN SEQ(A a, B b, !C c) WHERE [id] WITHIN 20 SECONDS RETURN a.ts AS a, b.ts AS b, b.id"
ALONE = "PATTERN T t WITHIN 1 SECOND RETURN t.*"

COLUMNS: dict[str, tuple[str, dict[str, Any]]] = {
    "TIMESTAMP": ("timestamp_seconds(1700000000 + id * 3)", {}),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ '2024-01-01' + make_dt_interval(0, 0, 0, id * 3)", {}),
    "BIGINT": ("1700000000 + id * 3", {"unit": "s"}),
    "INT": ("CAST(1700000000 + id * 3 AS INT)", {"unit": "s"}),
}


def events(spark: Any, time: str) -> Any:
    kinds = "element_at(array('A', 'B', 'C', 'D'), CAST(1 + id * 7 % 11 % 4 AS INT))"
    return spark.range(60).selectExpr(f"{time} AS ts", f"{kinds} AS kind", "id % 3 AS id")


def results(frame: Any) -> Counter[Any]:
    """The rows that a streaming query gives."""
    name = f"found_{uuid4().hex}"
    query = frame.writeStream.format("memory").queryName(name).outputMode("append").start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    rows = Counter(map(repr, frame.sparkSession.table(name).collect()))
    frame.sparkSession.catalog.dropTempView(name)
    return rows


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.thorough if place else ()) for place, kind in enumerate(COLUMNS)],
)
def test_a_replay_gives_what_the_events_give(spark: Any, kind: str) -> None:
    """Matches at the end, which wait for the end of a negation's scope, too."""
    expression, settings = COLUMNS[kind]
    bounded = neelc.stream(events(spark, expression), type="kind", **settings)
    expected = Counter(map(repr, neelc.sql(spark, NEGATION, T=bounded).collect()))
    assert len(expected) >= 5
    streaming = neelc.replay(bounded, batches=3, shuffle_within="30 seconds")
    assert results(neelc.sql(spark, NEGATION, T=streaming, buckets=2)) == expected


@pytest.mark.thorough
def test_a_replay_without_an_end(spark: Any) -> None:
    """The last matches wait for later events."""
    until = events(spark, COLUMNS["TIMESTAMP"][0]).where("ts <= timestamp_seconds(1700000150)")
    bounded = neelc.stream(until, type="kind")
    streaming = neelc.replay(bounded, batches=1, flush=False)
    found = results(neelc.sql(spark, NEGATION, T=streaming, buckets=2))
    expected = Counter(map(repr, neelc.sql(spark, NEGATION, T=bounded).collect()))
    assert 0 < sum(found.values()) < sum(expected.values()) and found <= expected


@pytest.mark.thorough
def test_no_query_sees_the_row_that_ends_a_replay(spark: Any) -> None:
    for expression, settings in (COLUMNS["TIMESTAMP"], COLUMNS["BIGINT"]):
        bounded = neelc.stream(events(spark, expression).drop("kind"), **settings)
        expected = Counter(map(repr, neelc.sql(spark, ALONE, T=bounded).collect()))
        assert sum(expected.values()) == 60
        assert results(neelc.sql(spark, ALONE, T=neelc.replay(bounded, batches=2), buckets=1)) == expected


def test_types_are_kept(spark: Any) -> None:
    bounded = spark.sql(
        "SELECT timestamp_micros(id * 7) AS ts, CAST(id AS DECIMAL(38, 3)) AS d, map('k', array(id)) AS m, "
        "named_struct('a b', id, 'n', IF(id = 1, NULL, 'x')) AS s, X'00FF' AS b, DATE '2024-02-29' AS day, "
        "TIMESTAMP_NTZ '2024-02-29 12:00:00.000001' AS ntz, INTERVAL '1' DAY AS i, CAST(NULL AS INT) AS no, "
        "IF(id = 2, NULL, id) AS `odd, name` FROM range(5) "
        "UNION ALL SELECT NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    )
    streaming = neelc.replay(bounded, batches=6)
    assert streaming.isStreaming
    assert streaming.dtypes == bounded.dtypes
    assert results(streaming) == Counter(map(repr, bounded.collect()))


@pytest.mark.thorough
def test_batches_and_order(spark: Any) -> None:
    """In order, a micro-batch has no event before one of an earlier micro-batch; shuffled, some have."""
    bounded = events(spark, COLUMNS["TIMESTAMP"][0])
    for shuffle, is_ordered in ((None, True), ("1 minute", False)):
        seen: list[tuple[int, list[datetime]]] = []
        streaming = neelc.replay(bounded, batches=7, shuffle_within=shuffle)
        query = streaming.writeStream.foreachBatch(
            lambda frame, number, seen=seen: seen.append((number, [row.ts for row in frame.collect()]))
        ).start()
        query.processAllAvailable()
        query.stop()
        batches = [times for _, times in sorted(seen) if times]
        assert [len(times) for times in batches] == [9, 9, 8, 9, 8, 9, 8]
        firsts = [min(later) >= max(earlier) for earlier, later in pairwise(batches)]
        assert all(firsts) is is_ordered


@pytest.mark.thorough
def test_late_events(spark: Any) -> None:
    """A watermark that is shorter than the delays makes events late; Spark counts what neelc dropped."""
    bounded = events(spark, COLUMNS["TIMESTAMP"][0])
    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 20 SECONDS RETURN a.ts AS a, b.ts AS b"
    given = neelc.stream(bounded, type="kind")
    expected = neelc.sql(spark, text, T=given).count()
    streaming = neelc.replay(given, batches=8, shuffle_within="1 minute", watermark="1 second")
    assert sum(results(neelc.sql(spark, text, T=streaming, buckets=1)).values()) < expected


@pytest.mark.thorough
def test_speed(spark: Any) -> None:
    """Three minutes in three seconds, a micro-batch for each."""
    bounded = events(spark, COLUMNS["TIMESTAMP"][0])
    began, arrived = time.monotonic(), list[tuple[float, int]]()
    streaming = neelc.replay(bounded, speed=59)
    query = streaming.writeStream.foreachBatch(
        lambda frame, _: arrived.append((time.monotonic() - began, frame.count()))
    ).start()
    try:
        while sum(count for _, count in arrived) < 60 and time.monotonic() - began < 60:
            time.sleep(0.1)
    finally:
        query.stop()
    assert [count for _, count in arrived if count] == [20, 20, 20]
    assert arrived[-1][0] >= 3


def test_paths_and_what_is_refused(spark: Any, tmp_path: Path) -> None:
    events(spark, COLUMNS["TIMESTAMP"][0]).write.parquet(str(tmp_path / "events.parquet"))
    streaming = neelc.replay(str(tmp_path / "events.parquet"), directory=str(tmp_path))
    assert sum(results(streaming).values()) == 60
    [files] = tmp_path.glob("neelc-replay-*")
    assert len(list((files / "live").glob("*.parquet"))) == 11
    empty = neelc.replay(events(spark, COLUMNS["TIMESTAMP"][0]).where("false"))
    assert not results(empty)
    frame = spark.sql("SELECT 1 AS n, 'x' AS ts")
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: neelc.replay(streaming), "replay: takes bounded data"),
        (lambda: neelc.replay(frame), "replay: column ts is of type STRING, which is not a time"),
        (lambda: neelc.replay(frame.drop("ts")), r"replay: which column is the timestamp\? Say timestamp="),
        (lambda: neelc.replay(frame, timestamp="m"), "replay: no column m; columns: n, ts"),
        (lambda: neelc.replay(frame, timestamp="n", batches=0), "replay: batches is a number from 1 to"),
        (lambda: neelc.replay(frame, timestamp="n", speed=0), "replay: speed is a number above 0, not 0"),
        (lambda: neelc.replay(frame, timestamp="n", shuffle_within="soon"), "`soon` is not a length of time"),
    )
    for call, why in calls:
        with pytest.raises(ValueError, match=why):
            call()
