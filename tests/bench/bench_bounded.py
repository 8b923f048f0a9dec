"""Streams without end, with ever new keys: state and memory stay as they are.

Each key has a few events within a second and never comes back. The query ends with a negation: it keeps the
events of its window, and wakes up for keys that get no more events. After each micro-batch the numbers of
its progress report and the memory of Python workers are noted. If nothing is left behind, they are the same
at the end as they were after the first windows.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.data import START
from bench.memory import descendants, resident
from bench.row import Row
from bench.spark import session

import neelc

EVENTS = 50_000_000
BATCH, GAP = 500_000, 40
"""Events of a micro-batch, and the microseconds from one to the next."""
TOGETHER, KEYS = 10_000, 1_000
"""So many events in a row have so many keys between them: a key has 10 events within 0.4 seconds."""
WINDOW = 30
QUERY = f"""PATTERN SEQ(A a, B b, !C c) WHERE [id] WITHIN {WINDOW} SECONDS
RETURN a.id, a.ts AS first, b.ts AS last"""
QUERIES = {"ever new keys": QUERY}
LIMIT = 480.0
GOAL = 1.1


@dataclass(frozen=True)
class Footprint:
    """What there is after a micro-batch: rows and bytes that neelc keeps, values and bytes of Spark's state
    store, and the memory of all Python workers, in bytes."""

    events: int
    kept: int
    kept_bytes: int
    values: int
    state_bytes: int
    workers: int
    late: int
    matches: int


def events(batch: int) -> Any:
    """A stream that is made up as it is read."""
    rate = session().readStream.format("rate-micro-batch").option("rowsPerBatch", batch)
    return (
        rate.option("numPartitions", 2)
        .load()
        .selectExpr(
            f"timestamp_micros({START} + value * {GAP}) AS ts",
            "substring('ABCDEFGH', CAST(pmod(xxhash64(value), 8) AS INT) + 1, 1) AS kind",
            f"(value DIV {TOGETHER}) * {KEYS} + pmod(xxhash64(value, 7), {KEYS}) AS id",
        )
    )


def footprints(most: int, batch: int = BATCH, limit: float = LIMIT) -> tuple[list[Footprint], float]:
    """Run the query over so many events, and note what there is after each micro-batch; and the seconds that
    it took. It is stopped when time is up."""
    spark = session()
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    checkpoint = tempfile.mkdtemp(prefix="neelc-bench-")
    stream = neelc.stream(events(batch), timestamp="ts", type="kind", watermark="5 seconds")
    writer = neelc.sql(spark, QUERY, Events=stream).writeStream.format("noop")
    found: dict[int, Footprint] = {}
    begin = time.monotonic()
    query = writer.option("checkpointLocation", checkpoint).start()
    try:
        while len(found) * batch < most and time.monotonic() < begin + limit:
            time.sleep(0.5)
            if (failure := query.exception()) is not None:
                raise failure
            for progress in query.recentProgress:
                if progress.batchId not in found and progress.numInputRows:
                    found[progress.batchId] = footprint(json.loads(progress.json))
    finally:
        query.stop()
        spark.conf.set("spark.sql.shuffle.partitions", before)
        shutil.rmtree(checkpoint, ignore_errors=True)
    return list(found.values()), time.monotonic() - begin


def footprint(progress: dict[str, Any]) -> Footprint:
    metrics, (operator,) = progress["observedMetrics"]["neelc"], progress["stateOperators"]
    workers = sum(
        resident(pid) for pid, name in descendants(os.getpid()).items() if name.startswith("python")
    )
    return Footprint(
        int(progress["numInputRows"]),
        int(metrics["kept"]),
        int(metrics["kept_bytes"]),
        int(operator["numRowsTotal"]),
        int(operator["customMetrics"]["stateOnCurrentVersionSizeBytes"]),
        workers,
        int(metrics["late"]),
        int(metrics["matches"]),
    )


def growth(values: Sequence[int]) -> tuple[float, float, float]:
    """The median after the first windows, that at the end, and how much more it is.

    >>> growth([1, 5, 9, 10, 10, 10, 10, 10, 10, 10, 10, 11, 11, 11, 11])
    (10, 11, 1.1)
    """
    part = max(1, len(values) // 4)
    first, last = median(values[part : 2 * part]), median(values[-part:])
    return first, last, last / max(first, 1)


def rows(scale: float) -> list[Row]:
    batch = round(BATCH * min(1, 5 * scale))  # a short stream has 20 micro-batches at least
    found, taken = footprints(round(EVENTS * scale), batch)
    total = sum(one.events for one in found)
    made = [
        Row(
            "events, in micro-batches",
            f"{total:,} in {len(found)}, {total * KEYS // TOGETHER:,} keys, {taken:.0f} s",
            numbers={"events": total, "seconds": taken},
        ),
        Row(
            "matches; late events", f"{sum(one.matches for one in found):,}; {sum(one.late for one in found)}"
        ),
    ]
    for what, name, unit, shown in (
        ("events kept", "kept", 1, ""),
        ("bytes kept", "kept_bytes", 1e6, " MB"),
        ("values in Spark's state store", "values", 1, ""),
        ("bytes in Spark's state store", "state_bytes", 1e6, " MB"),
        ("memory of Python workers", "workers", 1e6, " MB"),
    ):
        first, last, ratio = growth([getattr(one, name) for one in found])
        text = f"{ratio:.2f}x: {last / unit:,.0f}{shown} at the end, {first / unit:,.0f}{shown} before"
        numbers = {"first": first, "last": last, "ratio": ratio}
        made.append(Row(what, text, f"<= {GOAL:g}x", ratio <= GOAL, numbers))
    return made
