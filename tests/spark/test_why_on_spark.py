"""`neelc.why` on Spark: it reads the events of the key, and tells of them what is told without Spark."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from whying import rows, whys

import neelc

QUERY = "SEQ(A a, !C c, B b) WHERE [id] AND b.x > 2 WITHIN 10 SECONDS"
STREAM = "A1@7 B5=3@7 A6@7 B20=3@7 A1@8 B2=1@8 A1@NULL"
COLUMNS = "ts BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE"


def stream(spark: Any, text: str = STREAM) -> Any:
    values = [tuple(row[name.split()[0]] for name in COLUMNS.split(", ")) for row in rows(text)]
    return neelc.stream(spark.createDataFrame(values, COLUMNS), timestamp="ts", type="kind", unit="s")


def test_a_key_is_explained_as_without_spark(spark: Any) -> None:
    found = neelc.why(spark, f"PATTERN {QUERY}", key=7, S=stream(spark))
    assert found.text == whys(QUERY, STREAM, key=["7"]).text
    assert "would match WITHIN 14 SECONDS" in found.text


def test_starts_between_two_times(spark: Any) -> None:
    session = neelc.Session(spark)
    session.register("S", stream(spark).data, timestamp="ts", type="kind", unit="s")
    query = session.compile(f"PATTERN {QUERY}")
    assert [one.start.time for one in query.why(key={"id": [7, 8]}, between=(2, 30)).explanations] == ["6"]
    with pytest.raises(ValueError, match=r"key: no event has id = 9; there are: 7, 8, NULL"):
        session.why(f"PATTERN {QUERY}", key=9)


def test_times_of_days(spark: Any) -> None:
    times = [datetime.datetime(2024, 3, 1, 8, minute) for minute in (0, 5, 40)]
    values = list(zip(times, ["A", "A", "B"], strict=True))
    frame = spark.createDataFrame(values, "ts TIMESTAMP_NTZ, kind STRING")
    given = neelc.stream(frame, type="kind")
    between = ("2024-03-01 08:00:00", "2024-03-01 08:04:59")
    found = neelc.why(spark, "PATTERN SEQ(A a, B b) WITHIN 30 MINUTES", between=between, S=given)
    assert [one.lines[-1] for one in found.explanations] == ["  would match WITHIN 40 MINUTES"]


def test_a_number_has_several_texts(spark: Any) -> None:
    """Spark writes 1.0E10 where we write 10000000000.0: numbers are compared, not their texts."""
    given = stream(spark, "A1=10000000000 B2=10000000000 A3=1 B4=0.00001 A5=0.00001")
    found = neelc.why(spark, "PATTERN SEQ(A a, B b) WHERE [x]", key=[1e10, 0.00001], S=given)
    assert [one.matches for one in found.explanations] == [True, False]


def test_rows_of_match_recognize(spark: Any) -> None:
    """Of a key that is requested, or of all; and what is there where there is no such key."""
    rows_of = [(n, key, price) for key in ("a", "b") for n, price in enumerate([5.0, 4.0, 6.0, 5.0, 7.0])]
    ticks = spark.createDataFrame(rows_of, "n BIGINT, sym STRING, price DOUBLE")
    clause = (
        "PARTITION BY sym ORDER BY n PATTERN (s d u) DEFINE d AS price < PREV(price), u AS price > s.price"
    )
    text = f"SELECT * FROM T MATCH_RECOGNIZE ({clause})"
    found = neelc.why(spark, text, key="b", between=(0, 2), T=ticks)
    assert [(dict(one.key), one.matches) for one in found.explanations] == [
        ({"sym": "'b'"}, True), ({"sym": "'b'"}, False), ({"sym": "'b'"}, False),
    ]  # fmt: skip
    assert len(neelc.why(spark, text, T=ticks).explanations) == 10
    with pytest.raises(ValueError, match="no event has sym = c; there are: a, b"):
        neelc.why(spark, text, key="c", T=ticks)
    with pytest.raises(neelc.NeelQueryError, match=r"NEEL4001.*does not run GROUP BY"):
        neelc.why(spark, text.replace("*", "sym") + " GROUP BY sym", T=ticks)
