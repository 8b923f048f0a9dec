"""Queries that read queries over streams without end, on Spark: as many rows, and the same, as over the same
events in a batch."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import neelc

SCHEMA = "t TIMESTAMP, kind STRING, id INT, x INT, price DECIMAL(9, 2), s STRING"
DECLARED = f"CREATE STREAM S ({SCHEMA}) TIMESTAMP BY t TYPE BY kind WATERMARK 5 SECONDS;\n"
END = ("2024-03-31 12:00:00Z", "Z", 0, 0, "0", "")
"""An event of no type that is asked for: with it, all others are known."""


def events(count: int, seed: int) -> list[tuple[object, ...]]:
    """Events of an hour in which clocks are set forward in Berlin, nearly in the order of time."""
    chance = Random(seed)
    times = sorted(range(count), key=lambda second: second + chance.uniform(0, 4))
    begin = datetime.datetime(2024, 3, 31, 0, 58)
    return [
        (f"{begin + datetime.timedelta(seconds=second)}Z", chance.choice("ABCD"), chance.randint(1, 3),
         chance.randint(0, 9), f"{chance.randint(0, 999) / 100:.2f}", chance.choice(("u", "v", None)))
        for second in times
    ]  # fmt: skip


def frame(spark: Any, rows: Sequence[tuple[object, ...]]) -> Any:
    names = [column.split()[0] for column in SCHEMA.replace("(9, 2)", "").split(", ")]
    texts = spark.createDataFrame(rows, "t STRING, kind STRING, id INT, x INT, price STRING, s STRING")
    casts = {"t": "CAST(t AS TIMESTAMP) AS t", "price": "CAST(price AS DECIMAL(9, 2)) AS price"}
    return texts.selectExpr(*(casts.get(name, name) for name in names))


def written(spark: Any, rows: Sequence[tuple[object, ...]], directory: Path, batches: int) -> Path:
    """The rows in as many files; the last has the event that ends all."""
    size = -(-len(rows) // batches)
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    for number, part in enumerate([*parts, [END]]):
        single = directory / f"part{number}"
        frame(spark, part).coalesce(1).write.parquet(str(single))
        (found,) = single.glob("*.parquet")
        (directory / "in").mkdir(exist_ok=True)
        found.rename(directory / "in" / f"{number:03}.parquet")
    return directory / "in"


def streamed(spark: Any, text: str, data: Path, checkpoint: Path) -> Counter[tuple[object, ...]]:
    """The rows that a streaming query gives, one file in each micro-batch."""
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(data))
    result = neelc.sql(spark, text, S=source)
    assert result.isStreaming
    out = checkpoint.parent / "out"
    query = (
        result.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(240), "the query does not end"
    return counted(spark.read.schema(result.schema).parquet(str(out)))


def counted(result: Any) -> Counter[tuple[object, ...]]:
    return Counter(map(tuple, result.collect()))


@contextmanager
def set_to(spark: Any, **settings: str) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


SETTINGS = {"spark.sql.session.timeZone": "Europe/Berlin", "spark.sql.shuffle.partitions": "2"}


def check_rows(
    spark: Any, directory: Path, text: str, rows: Sequence[tuple[object, ...]], least: int
) -> None:
    """Over a stream, a query gives the rows that it gives over bounded data; these are more than `least`."""
    with set_to(spark, **SETTINGS):
        expected = counted(neelc.sql(spark, text, S=frame(spark, rows)))
        assert sum(expected.values()) > least
        data = written(spark, rows, directory, 3)
        assert streamed(spark, text, data, directory / "checkpoint") == expected


KEYED = f"""{DECLARED}
CREATE QUERY Run AS PATTERN SEQ(A a, B+ b[], !C c) WHERE [id] WITHIN 8 SECONDS
RETURN a.id AS id, a.t AS since, b[last].t AS until, sum(b[].price) AS total, b[].s AS texts, a AS first,
  date_trunc('HOUR', a.t) AS hour, concat(a.s, CAST(a.t AS STRING)) AS shown, match_end AS ended;
CREATE QUERY Two AS PATTERN SEQ(Run p, !D d, Run q) WHERE p.id = q.id AND p.id = d.id WITHIN 40 SECONDS
RETURN p.id AS id, p.total + q.total AS total, p.first.price AS price, q.shown AS shown, q.hour AS hour,
  size(q.texts) AS n, p.ts AS since;
PATTERN SEQ(Two w, A a) WHERE w.id = a.id AND w.total > a.price AND hour(w.hour) < 9 WITHIN 60 SECONDS
RETURN w.id, w.total, w.price, w.shown, w.hour, w.n, w.since, w.te, a.t, a.x
"""


def test_three_queries_with_a_key(spark: Any, tmp_path: Path) -> None:
    check_rows(spark, tmp_path, KEYED, events(320, 1), least=8)


ONE_BUCKET = f"""{DECLARED}
CREATE QUERY Lonely AS PATTERN SEQ(A a, !B b) WITHIN 2 SECONDS RETURN a.x AS x, a.s AS s;
PATTERN SEQ(C c, Lonely l, !D d) WHERE d.x > 7 AND upper(l.s) IN ('U', 'V') WITHIN 9 SECONDS
RETURN c.x, l.x AS y, l.te
"""


@pytest.mark.thorough
def test_a_restart_in_one_bucket(spark: Any, tmp_path: Path) -> None:
    """Half of the files come when the query has stopped; it goes on where it was."""
    rows = events(160, 2)
    with set_to(spark, **{"spark.sql.shuffle.partitions": "2"}):
        expected = counted(neelc.sql(spark, ONE_BUCKET, S=frame(spark, rows)))
        assert sum(expected.values()) > 3
        data = written(spark, rows, tmp_path, 2)
        later = sorted(data.glob("*.parquet"))[1:]
        for path in later:
            path.rename(tmp_path / path.name)
        first = streamed(spark, ONE_BUCKET, data, tmp_path / "checkpoint")
        assert sum(first.values()) < sum(expected.values())
        for path in later:
            (tmp_path / path.name).rename(path)
        assert streamed(spark, ONE_BUCKET, data, tmp_path / "checkpoint") == expected


# PATTERN and SELECT.

PATTERN_OF_SELECT = f"""{DECLARED}
CREATE QUERY Load AS SELECT s.id AS id, sum(s.price) AS total, count(*) AS n, max(s.t) AS latest
FROM S WINDOW(TIME 6 SECONDS) AS s WHERE s.x > 0 GROUP BY s.id;
PATTERN SEQ(Load p, !D d, A a) WHERE [id] AND p.total > 9 WITHIN 12 SECONDS
RETURN p.id, p.total, p.n, p.latest, p.ts, p.te, a.t, a.x
"""

SELECT_OF_PATTERN = f"""{DECLARED}
CREATE QUERY Pair AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 SECONDS
RETURN a.id AS id, a.price + b.price AS total, b.s AS s;
SELECT p.id AS id, count(*) AS n, sum(p.total) AS total, max(c.x) AS x
FROM Pair WINDOW(TIME 8 SECONDS) AS p, S WINDOW(TIME 4 SECONDS) AS c
WHERE p.id = c.id AND c.kind = 'C' AND p.total > 2 GROUP BY p.id
"""


def test_a_pattern_reads_a_select(spark: Any, tmp_path: Path) -> None:
    check_rows(spark, tmp_path, PATTERN_OF_SELECT, events(240, 3), least=8)


@pytest.mark.thorough
def test_a_select_reads_a_pattern(spark: Any, tmp_path: Path) -> None:
    check_rows(spark, tmp_path, SELECT_OF_PATTERN, events(240, 4), least=8)


OF_ROWS = f"""{DECLARED}
CREATE QUERY Falls TIMESTAMP BY since END BY until AS
SELECT id, since, until, total, bottom + 1 AS above FROM S MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY t
  MEASURES FIRST(A.t) AS since, LAST(t) AS until, sum(B.price) AS total, LAST(B.x) AS bottom
  ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+) WITHIN 6 SECONDS DEFINE B AS B.x < PREV(B.x)
) WHERE total > 3;
CREATE QUERY Load AS SELECT f.id AS id, count(*) AS n FROM Falls WINDOW(TIME 3 SECONDS) AS f GROUP BY f.id;
PATTERN SEQ(Falls f, !D d, Load p) WHERE [id] WITHIN 20 SECONDS
RETURN f.id, f.since, f.until, f.total, f.above, f.te, p.n, p.ts AS began
"""


def test_queries_read_match_recognize(spark: Any, tmp_path: Path) -> None:
    check_rows(spark, tmp_path, OF_ROWS, events(240, 5), least=8)


# MATCH_RECOGNIZE of other queries, and queries whose rows stand for several matches.

ROWS_OF_GROUPS = f"""{DECLARED}
CREATE QUERY Burst AS PATTERN SEQ(A a, B+ k[], C b) WHERE [id] WITHIN 15 SECONDS
RETURN a.id AS id, a.t AS at, count(*) AS n, max(b.x) AS most, avg(b.x) AS mean;
SELECT id, since, until, rows, greatest(total, 1) AS total, most, date_trunc('HOUR', since) AS hour FROM Burst
MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY at
  MEASURES FIRST(at) AS since, LAST(at) AS until, count(*) AS rows, sum(n) AS total, max(Y.most) AS most
  PATTERN (X Y+) WITHIN 60 SECONDS DEFINE Y AS Y.most <= PREV(Y.most) OR Y.mean > 3 AND hour(Y.at) < 9
)
"""

OF_DISTINCT_ROWS = f"""{DECLARED}
CREATE QUERY Pair AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9 SECONDS
RETURN DISTINCT a.id AS id, a.t AS at, a.price AS price, a.s AS s;
CREATE QUERY Rise TIMESTAMP BY since END BY until AS SELECT id, since, until, top FROM Pair MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY at
  MEASURES FIRST(at) AS since, LAST(at) AS until, LAST(Y.price) AS top
  AFTER MATCH SKIP TO NEXT ROW PATTERN (X Y) WITHIN 20 SECONDS DEFINE Y AS Y.price > X.price
);
PATTERN SEQ(Pair p, Rise r, !D d) WHERE [id] AND d.x > 7 WITHIN 40 SECONDS
RETURN p.id, p.at, p.s, p.te, r.since, r.until, r.top
"""

ROWS_OF_SELECT = f"""{DECLARED}
CREATE QUERY Load AS SELECT s.id AS id, sum(s.price) AS total, count(*) AS n
FROM S WINDOW(TIME 6 SECONDS) AS s WHERE s.x > 0 GROUP BY s.id;
SELECT id, n, total, since FROM Load MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY te MEASURES FIRST(X.ts) AS since, LAST(Y.total) AS total, count(*) AS n
  PATTERN (X Y+ Z) WITHIN 30 SECONDS DEFINE Y AS Y.n > PREV(Y.n), Z AS Z.n < PREV(Z.n)
)
"""


@pytest.mark.parametrize(
    "text",
    [
        ROWS_OF_GROUPS,
        pytest.param(OF_DISTINCT_ROWS, marks=pytest.mark.thorough),
        pytest.param(ROWS_OF_SELECT, marks=pytest.mark.thorough),
    ],
)
def test_match_recognize_reads_queries(spark: Any, tmp_path: Path, text: str) -> None:
    check_rows(spark, tmp_path, text, events(240, 6), least=5)
