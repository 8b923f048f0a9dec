"""MATCH_RECOGNIZE over Spark's streams: matches leave when they are decided, whatever the query around is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from on_streams import StreamedFiles

import neelc

TICKS = """CREATE STREAM Ticks (ts TIMESTAMP, symbol STRING, price INT) TIMESTAMP BY ts WATERMARK 5 SECONDS;
"""
FALLS = """MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(price) AS top, LAST(DOWN.price) AS bottom, SUM(DOWN.price) AS total, COUNT(*) AS n
  PATTERN (STRT DOWN+ UP) WITHIN 1 MINUTE
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
)"""


class Ticks(StreamedFiles):
    """Prices at seconds of an hour."""

    def come(self, *values: tuple[Any, ...]) -> list[tuple[object, ...]]:
        times = [None if ts is None else f"2024-01-01T00:{ts // 60:02}:{ts % 60:02}Z" for ts, *_ in values]
        return super().come(*((time, *rest) for time, (_, *rest) in zip(times, values, strict=True)))


@pytest.fixture
def ticks(spark: Any, tmp_path: Path) -> Iterator[Ticks]:
    found = Ticks(spark, tmp_path, "Ticks", "ts TIMESTAMP, symbol STRING, price INT")
    yield found
    found.stop()


def test_a_match_leaves_when_it_is_decided(ticks: Ticks) -> None:
    ticks.start(f"{TICKS}SELECT symbol, top, bottom, total FROM Ticks {FALLS} WHERE n > 2;")
    assert ticks.come((1, "A", 10), (2, "A", 8), (4, "A", 9), (3, "A", 7), (2, "B", 5)) == []
    assert ticks.come((8, "B", 1)) == []  # the watermark is at 3
    assert ticks.come((9, "C", 1)) == [("A", 10, 7, 15)]
    ticks.query.stop()
    ticks.start(f"{TICKS}SELECT symbol, top, bottom, total FROM Ticks {FALLS} WHERE n > 2;")
    assert ticks.come((10, "B", 2), (30, "C", 1)) == [("B", 5, 1, 1)]


def test_a_clause_over_a_subquery(ticks: Ticks) -> None:
    names = ticks.spark.createDataFrame([("A", "Ann"), ("B", "Bob")], "symbol STRING, name STRING")
    joined = "(SELECT t.ts, n.name AS symbol, t.price FROM Ticks t JOIN Names n ON t.symbol = n.symbol)"
    ticks.start(f"{TICKS}SELECT symbol, bottom FROM {joined} {FALLS};", Names=names)
    assert ticks.come((1, "A", 10), (2, "A", 8), (3, "A", 9), (9, "Z", 1)) == [("Ann", 8)]


def test_a_subquery_must_keep_the_time(ticks: Ticks) -> None:
    moved = "(SELECT ts + INTERVAL 1 HOUR AS ts, symbol, price FROM Ticks)"
    with pytest.raises(Exception, match="must be the column of the watermark: there is none"):
        ticks.start(f"{TICKS}SELECT * FROM {moved} {FALLS};")


def test_a_row_without_a_time_stops_the_query(ticks: Ticks) -> None:
    ticks.start(f"{TICKS}SELECT * FROM Ticks {FALLS};")
    with pytest.raises(Exception, match="NEEL5071: a row of a stream has no event time"):
        ticks.come((None, "A", 10))


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (
            "SELECT * FROM Ticks MATCH_RECOGNIZE (ORDER BY price PATTERN (A) DEFINE A AS price > 1)",
            "NEEL4134",
        ),
        (
            "SELECT * FROM Ticks MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B* C) DEFINE A AS price > 1)",
            "NEEL4131",
        ),
        ("SELECT * FROM Ticks MATCH_RECOGNIZE (ORDER BY ts PATTERN (A $) DEFINE A AS price > 1)", "NEEL4135"),
    ],
)
def test_what_cannot_run_over_streams(ticks: Ticks, query: str, code: str) -> None:
    with pytest.raises(neelc.NeelQueryError, match=code):
        ticks.start(f"{TICKS}{query};")
