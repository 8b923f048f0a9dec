"""Streaming DataFrames given to queries: where their watermarks come from, and what is refused on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import neelc

PATTERN = "PATTERN SEQ(T a, T b) WHERE [value] WITHIN 5 SECONDS RETURN a.ts, b.ts AS until"
DECLARED = "CREATE STREAM T (ts TIMESTAMP, value BIGINT) TIMESTAMP BY ts{};\n"


@pytest.fixture(scope="module")
def endless(spark: Any) -> Any:
    return spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")


@pytest.fixture
def bounded(spark: Any) -> Any:
    return spark.sql("SELECT timestamp_seconds(id) AS ts, id AS value FROM range(3)")


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(neelc.NeelQueryError) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize("declared", ["", DECLARED.format(" WATERMARK 10 SECONDS")])
def test_the_watermark_of_a_dataframe(spark: Any, endless: Any, declared: str) -> None:
    query = neelc.Session(spark).compile(declared + PATTERN, T=endless.withWatermark("ts", "10 seconds"))
    [stream] = query.bound.program.queries[0].match.streams
    assert (stream.is_streaming, stream.watermarked, stream.watermark) == (True, True, 10_000_000)
    assert query.to_df().isStreaming


def test_the_watermark_of_the_script_or_the_call(spark: Any, endless: Any) -> None:
    session = neelc.Session(spark)
    session.register("T", endless, watermark="1 minute 30 seconds")
    for query, delay in (
        (session.compile(PATTERN), 90_000_000),
        (session.compile(PATTERN, T=neelc.stream(endless, watermark="0 seconds")), 0),
        (
            session.compile(DECLARED.format(" WATERMARK :late") + PATTERN, {"late": "2 HOURS"}, T=endless),
            7.2e9,
        ),
    ):
        [stream] = query.bound.program.queries[0].match.streams
        assert (stream.is_streaming, stream.watermarked, stream.watermark) == (True, False, delay)
    with pytest.raises(ValueError, match="the script says WATERMARK 2 SECONDS, the call says 90 SECONDS"):
        session.compile(DECLARED.format(" WATERMARK 2 SECONDS") + PATTERN)
    with pytest.raises(
        ValueError, match=r"watermark: `soon` is not a length of time; for example 10 seconds"
    ):
        neelc.stream(endless, watermark="soon")


def test_the_column_of_the_watermark_is_the_timestamp(spark: Any, endless: Any) -> None:
    """Nobody has to say so, whatever its name."""
    named = endless.withColumnRenamed("ts", "happened at").withWatermark("`happened at`", "1 second")
    text = "PATTERN SEQ(T a, T b) WHERE [value] WITHIN 5 SECONDS RETURN a.value"
    query = neelc.Session(spark).compile(text, T=named)
    [stream] = query.bound.program.queries[0].match.streams
    assert (stream.start, stream.watermarked) == ("happened at", True)


def test_bounded_data_ignore_watermarks(spark: Any, bounded: Any) -> None:
    twice = bounded.unionAll(bounded.selectExpr("ts + INTERVAL 1 SECOND", "value"))
    for text, given in (
        (DECLARED.format(" WATERMARK 0 SECONDS") + PATTERN, twice),
        (PATTERN, neelc.stream(twice, watermark="1 day")),
        (PATTERN, twice.withWatermark("ts", "1 second")),
    ):
        frame = neelc.sql(spark, text, T=given)
        assert not frame.isStreaming and frame.count() == 3


def test_a_stream_without_a_watermark(spark: Any, endless: Any) -> None:
    assert refusal(lambda: neelc.sql(spark, PATTERN, T=endless)) == (
        "error[NEEL4140]: stream `T` is a streaming DataFrame without a watermark: it is not known how "
        "long to wait for late events\n"
        " --> stream T:1:1\n"
        "  |\n"
        "1 | ts, value\n"
        "  | ^^\n"
        '  = hint: add .withWatermark("ts", "10 seconds") to the DataFrame, or say WATERMARK 10 SECONDS in '
        'CREATE STREAM, or neelc.stream(..., watermark="10 seconds")'
    )
    text = DECLARED.format("") + PATTERN
    pointed = " " * text.index("TIMESTAMP BY") + "^" * len("TIMESTAMP BY ts") + "\n"
    assert f"\n  | {pointed}" in refusal(lambda: neelc.sql(spark, text, T=endless))


def test_a_watermark_on_another_column(spark: Any, endless: Any) -> None:
    other = endless.selectExpr("*", "ts AS received").withWatermark("received", "10 seconds")
    found = refusal(lambda: neelc.sql(spark, PATTERN, T=neelc.stream(other, timestamp="ts")))
    assert found.startswith(
        "error[NEEL4141]: the watermark of stream `T` is on column `received`, not on `ts`\n"
    )
    assert 'add .withWatermark("ts", "10 seconds") to the DataFrame' in found
    text = "CREATE STREAM T (value BIGINT) TIMESTAMP BY value UNIT SECONDS;\nPATTERN SEQ(T a, T b) WITHIN 5"
    found = refusal(lambda: neelc.sql(spark, text, T=other))
    assert "hint: say WATERMARK 10 SECONDS in CREATE STREAM" in found  # Spark has none on integers
    assert "instead of the watermark on `received`" in found and "withWatermark" not in found


def test_two_watermarks(spark: Any, endless: Any) -> None:
    text = DECLARED.format(" WATERMARK 5 SECONDS") + PATTERN
    found = refusal(lambda: neelc.sql(spark, text, T=endless.withWatermark("ts", "1 minute")))
    sentence = "stream `T` has two watermarks: 5 SECONDS by declaration, 1 MINUTE by its DataFrame\n"
    assert found.startswith(f"error[NEEL4142]: {sentence}")
    pointed = " " * text.index("5 SECONDS") + "^" * len("5 SECONDS") + "\n"
    assert f"\n  | {pointed}  = hint: leave one of them out" in found


def test_streaming_and_bounded_data(spark: Any, endless: Any, bounded: Any) -> None:
    streaming = endless.withWatermark("ts", "1 second")
    found = refusal(
        lambda: neelc.sql(spark, "PATTERN SEQ(T a, U b) WITHIN 5 SECONDS", T=streaming, U=bounded)
    )
    assert found.startswith("error[NEEL4143]: stream `T` is a streaming DataFrame, and `U` is not\n")
    assert "CREATE RELATION U" in found
    text = "CREATE RELATION R (value BIGINT); SELECT t.value FROM T t WINDOW(TIME 5 SECONDS), R r;"
    found = refusal(lambda: neelc.sql(spark, text, T=bounded, R=streaming))
    assert found.startswith("error[NEEL4143]: relation `R` is a streaming DataFrame")


@pytest.fixture
def view(spark: Any, endless: Any) -> Iterator[str]:
    endless.createOrReplaceTempView("Endless")
    yield "Endless"
    spark.catalog.dropTempView("Endless")


ROWS = (
    "SELECT * FROM {} MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(A.ts) AS at PATTERN (A) DEFINE A AS TRUE)"
)


def test_views_of_streaming_dataframes(spark: Any, endless: Any, view: str) -> None:
    assert "NEEL4140" in refusal(lambda: neelc.sql(spark, "PATTERN Endless t"))
    found = refusal(lambda: neelc.sql(spark, ROWS.format(view)))
    assert found.startswith(
        "error[NEEL4130]: the query reads a streaming DataFrame that is not given to it\n"
    )


def test_rows_in_order(spark: Any, endless: Any) -> None:
    streaming = endless.withWatermark("ts", "1 second")
    found = refusal(lambda: neelc.sql(spark, ROWS.format("T") + " ORDER BY at", T=streaming))
    assert found.startswith(
        "error[NEEL4130]: ORDER BY over a stream without end: its rows have no last one\n"
    )
    found = refusal(lambda: neelc.match_recognize(endless, pattern="A", order_by="ts"))
    assert "NEEL4140" in found


def test_what_reads_bounded_data_only(spark: Any, endless: Any) -> None:
    streaming = endless.withWatermark("ts", "1 second")
    query = neelc.Session(spark).compile(PATTERN, T=streaming)
    for what, call in (
        ("why", lambda: neelc.why(spark, PATTERN, key=1, T=streaming)),
        ("why", lambda: query.why(key=1)),
        ("a time line", lambda: query.timeline()),
        ("to_df(observe=True)", lambda: query.to_df(observe=True)),
    ):
        sentence = f"error[NEEL4130]: {what} reads bounded data, and stream `T` is a streaming DataFrame\n"
        assert refusal(call).startswith(sentence)
    for options, why in (
        ({"strategy": "join"}, "strategy: join is for bounded data"),
        ({"buckets": 0}, "buckets: a number of at least 1, not 0"),
    ):
        with pytest.raises(ValueError, match=why):
            neelc.sql(spark, PATTERN, **options, T=streaming)
    with pytest.raises(ValueError, match="buckets: for queries over streaming DataFrames"):
        neelc.sql(spark, PATTERN, buckets=3, T=spark.sql("SELECT now() AS ts, 1L AS value"))
    assert "pmod(xxhash64(value), 3)" in neelc.Session(spark).compile(PATTERN, buckets=3, T=streaming).source
    assert "query 1\n" in neelc.Session(spark).explain(PATTERN, T=streaming)
