"""SELECT over streams without end, on Spark: the same rows as over bounded data."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import neelc
from neelc.runtime.reference.snapshots import snapshots_equal

STREAMS = """
CREATE STREAM S (k STRING, ts BIGINT, x INT, y DOUBLE) TIMESTAMP BY ts UNIT SECONDS WATERMARK 4 SECONDS;
CREATE STREAM T (k STRING, ts BIGINT, x INT, y DOUBLE) TIMESTAMP BY ts UNIT SECONDS WATERMARK 4 SECONDS;
CREATE RELATION R (k STRING, name STRING);
"""
COLUMNS = "k STRING, ts BIGINT, x INT, y DOUBLE"
FILES = 6
LAST = 10_000
"""With it, all windows are over."""

Events = list[dict[str, object]]


def events(seed: int) -> Events:
    """Events up to 3 seconds out of order, so that none is late, and one at the end."""
    random = Random(seed)
    times = sorted(range(1, 61), key=lambda time: time + random.uniform(0, 3))
    found: Events = [
        {
            "k": random.choice(["a", "b", "c", None]),
            "ts": time,
            "x": random.choice([None, 0, 1, 2]),
            "y": 0.25 * time,
        }
        for time in times
        for _ in range(random.choice([0, 1, 1, 2]))
    ]
    return [
        *found,
        {"k": "last", "ts": LAST, "x": 0, "y": 0.0},
        {"k": "last", "ts": 2 * LAST, "x": 0, "y": 0.0},
    ]


def written(directory: Path, found: Events, numbers: range) -> None:
    """The events in six files, one for each micro-batch; of these, some."""
    directory.mkdir(exist_ok=True)
    size = -(-len(found) // FILES)
    for number in numbers:
        lines = "".join(f"{json.dumps(one)}\n" for one in found[number * size : (number + 1) * size])
        path = directory / f"{number:03}.json"
        path.write_text(lines)
        # Spark reads files in the order of their times.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def streamed(
    spark: Any, directory: Path, text: str, given: Mapping[str, Events], runs: Sequence[range], **more: Any
) -> Sequence[Any]:
    """What the query gives over streams, stopped and started again between runs."""
    for numbers in runs:
        for name, found in given.items():
            written(directory / name, found, numbers)
        frames = {
            name: spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(directory / name))
            for name in given
        }
        result = neelc.sql(spark, STREAMS + text, **frames, **more)
        assert result.isStreaming
        query = (
            result.writeStream.format("parquet")
            .option("path", str(directory / "out"))
            .option("checkpointLocation", str(directory / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(200)
        finally:
            query.stop()
    return [tuple(row) for row in spark.read.parquet(str(directory / "out")).collect()]


def bounded(spark: Any, text: str, given: Mapping[str, Events], **more: Any) -> Sequence[Any]:
    rows = {name: [tuple(one.values()) for one in found] for name, found in given.items()}
    frames = {name: spark.createDataFrame(several, COLUMNS) for name, several in rows.items()}
    return [tuple(row) for row in neelc.sql(spark, STREAMS + text, **frames, **more).collect()]


AVERAGES = (
    "SELECT s.k AS k, avg(s.y) AS y, count(*) AS n FROM S WINDOW(TIME 10 SECONDS) AS s WHERE s.x > 0 "
    "GROUP BY s.k"
)


TEXTS = [
    AVERAGES,
    f"CREATE QUERY N AS {AVERAGES};\nSELECT t.k AS k, t.x AS x, n.y + 1 AS y FROM T AS t, N AS n "
    "WHERE t.k = n.k AND t.y > n.y",
    "SELECT s.k AS k, max(s.x) AS x FROM S WINDOW(TIME 7 SECONDS JUMP 5 SECONDS) AS s, T AS t "
    "WHERE s.k = t.k GROUP BY s.k HAVING count(*) > 0",
    "SELECT s.k AS k, r.name AS name, s.y + 1 AS y FROM S AS s, R AS r WHERE s.k = r.k AND s.x > 0",
    "SELECT s.k AS k, t.y AS y, r.name AS name FROM S WINDOW(TIME 5 SECONDS) AS s, T AS t, R AS r "
    "WHERE s.k = t.k AND s.k = r.k AND s.x < t.x",
    "SELECT sum(s.y) AS y FROM S WINDOW(TIME 3 SECONDS) AS s",
    "SELECT m.k AS k, m.n AS n FROM S MATCH_RECOGNIZE_SEQUENTIAL (MEASURES a.k AS k, b.x + 1 AS n "
    "WITHIN 20 SECONDS PARTITION BY k PATTERN ab DEFINE a AS x > 0, b AS x >= a.x) AS m",
    "SELECT m.k AS k, m.n AS n FROM S MATCH_RECOGNIZE_SEQUENTIAL (FROM T PARTITION BY k MEASURES a.k AS k, "
    "b.y AS n WITHIN 9 SECONDS PATTERN a !c b USING EVENTUALLY FOLLOWED BY "
    "DEFINE a AS S.x > 0, b AS T.x > 1, c AS T.x = 0 AND T.y > a.y) AS m",
    "SELECT m.k AS k, m.n AS n FROM S MATCH_RECOGNIZE_SEQUENTIAL (PARTITION BY k MEASURES a.k AS k, b.x AS n "
    "WITHIN 9 SECONDS PATTERN a (b, !c) DEFINE b AS S.x >= PREV(1).x, c AS PREV(2).x = 0) AS m",
    "SELECT count(*) AS n, w.k AS k FROM (SELECT m.k AS k FROM S MATCH_RECOGNIZE_SEQUENTIAL ("
    "MEASURES a.k AS k PARTITION BY k PATTERN ab DEFINE a AS x > 0) AS m) "
    "WINDOW(TIME 9 SECONDS) AS w GROUP BY w.k",
]
"""Most of them take long, and run in process too."""
NAMES = [
    "averages",
    "compared",
    "jumping",
    "relation",
    "pairs and a relation",
    "no key",
    "matches",
    "matches of two streams",
    "matches that look back",
    "matches counted",
]
ALWAYS = ("compared", "matches counted")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=() if name in ALWAYS else pytest.mark.thorough)
        for text, name in zip(TEXTS, NAMES, strict=True)
    ],
)
def test_the_rows_are_those_over_bounded_data(spark: Any, tmp_path: Path, text: str) -> None:
    given = {name: events(seed) for seed, name in enumerate("ST") if f" {name} " in text}
    names = spark.createDataFrame([("a", "first"), ("b", "second")], "k STRING, name STRING")
    more = {"R": names} if " R " in text else {}
    agree(spark, text, given, streamed(spark, tmp_path, text, given, [range(FILES)], **more), **more)


def agree(spark: Any, text: str, given: Mapping[str, Events], found: Sequence[Any], **more: Any) -> None:
    expected = bounded(spark, text, given, **more)
    over = [row for row in expected if row[-1] is not None and row[-1] < LAST]
    rows = [row for row in found if row[-1] < LAST]
    assert rows and snapshots_equal(rows, over)


def test_a_query_goes_on_after_it_was_stopped(spark: Any, tmp_path: Path) -> None:
    text = (
        "SELECT s.k AS k, CAST(t.x AS DECIMAL(9, 2)) AS d, timestamp_seconds(s.ts) AS at, "
        "n.y AS y, n.x AS x FROM S WINDOW(TIME 4 SECONDS) AS s, T AS t, "
        "(SELECT q.k AS k, stddev(q.y) AS y, max(CAST(q.x AS DECIMAL(5, 1))) AS x "
        "FROM S WINDOW(COUNT 3 EVENTS PARTITION BY k) AS q GROUP BY q.k) AS n WHERE s.k = t.k AND n.k = s.k"
    )
    given = {name: events(seed) for seed, name in enumerate("ST")}
    found = streamed(spark, tmp_path, text, given, [range(3), range(3, FILES)])
    agree(spark, text, given, found)


def _spread(values: list[Any]) -> float:
    return float(max(values) - min(values))


@pytest.mark.thorough
def test_a_function_of_a_user(spark: Any, tmp_path: Path) -> None:
    text = "SELECT s.k AS k, spread(s.y) AS y FROM S WINDOW(TIME 4 SECONDS) AS s GROUP BY s.k"
    spread = neelc.aggregate(_spread, returns="DOUBLE")
    given = {"S": events(3)}
    more = {"aggregates": {"spread": spread}}
    agree(spark, text, given, streamed(spark, tmp_path, text, given, [range(FILES)], **more), **more)
