"""The how-to pages on streams: what they show is executed here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import neelc

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (PAGES / page).read_text(), re.DOTALL)


@pytest.fixture
def bank(spark: Any) -> Any:
    """Two withdrawals of a card within ten minutes, over and over; some with a call between them."""
    kind = "element_at(array('Withdrawal', 'Withdrawal', 'Call', 'Deposit'), CAST(1 + id * 5 % 7 % 4 AS INT))"
    time = "timestamp_seconds(1700000000 + id * 40) AS ts"
    return spark.sql(f"SELECT {time}, {kind} AS kind, string(id % 2) AS card, 600 AS amount FROM range(60)")


def test_a_replay_of_history(spark: Any, bank: Any, tmp_path: Path) -> None:
    bank.write.parquet(os.fspath(tmp_path / "bank.parquet"))
    [script] = blocks("watermarks-and-late-events.md", "neel")
    text = script[script.index("PATTERN") :]
    [code] = blocks("test-a-streaming-query.md", "python")
    path = repr(os.fspath(tmp_path / "bank.parquet"))  # Spark has a working directory of its own
    code = code.replace('"bank.parquet"', path).replace("batches=20", "batches=2")
    scope: dict[str, Any] = {"spark": spark, "neelc": neelc, "text": text}
    exec(code, scope)
    assert scope["expected"].count() > 3
    spark.catalog.dropTempView("found")
    # The whole script, with its own watermark; and late events where the replay's is too short.
    streaming = neelc.replay(bank, batches=3, shuffle_within="5 minutes", watermark="10 seconds")
    query = neelc.sql(spark, script, Bank=streaming, buckets=1).writeStream.format("noop").start()
    query.processAllAvailable()
    late = [progress["observedMetrics"]["neelc"]["late"] for progress in query.recentProgress]
    query.stop()
    assert sum(late) > 0


def test_watermarks_of_the_page(spark: Any) -> None:
    [script] = blocks("watermarks-and-late-events.md", "neel")
    calls = blocks("watermarks-and-late-events.md", "python")[0].strip().split("\n")
    rate = spark.readStream.format("rate").load()
    endless = rate.selectExpr("timestamp AS ts", "'Call' AS kind", "'1' AS card", "1 AS amount")
    for call in calls:
        found = eval(call, {"spark": spark, "neelc": neelc, "text": script, "bank": endless})
        assert found.isStreaming
