"""Streams without end: against the floor, Spark's per-key state, and Flink SQL; latency, keys and buckets.

All Spark sides read the same files, one in each micro-batch, and discard what they find. The floor is what no
streaming query can go without: read, keep the types of the pattern, bring the events of a bucket together,
hand them to Python. Spark's own way keeps the events of each key in a state of its own, with
`applyInPandasWithState`. The first micro-batches are left out: Java compiles what it runs often. Flink reads
one CSV file in the order of time, in streaming mode; its time has the start of the job in it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from bench.bench_flink import statement
from bench.data import Recipe, csv, parts
from bench.flink import Flink, install
from bench.row import Row
from bench.sides import Aborted, Measured, agree, faster, seconds, slower
from bench.spark import session

import neelc

KINDS = tuple("ABCDEFGH")
WINDOW = 59_999
QUERY = f"""PATTERN SEQ(A a, B b, F f) WHERE [id] WITHIN {WINDOW} MILLISECONDS
RETURN a.id, a.ts AS first, f.ts AS last"""
QUERIES = {"sequence": QUERY}
BATCH, BATCHES, WARM = 400_000, 6, 2
"""Events of a micro-batch; micro-batches; those of them that are not measured."""
LARGE = 4
"""How many times as many events the largest micro-batches have."""
KEYS, MANY_KEYS = 5_000, 100_000
BUCKETS = 16
FLOOR_GOAL, FLINK_GOAL, KEY_GOAL = 1.5, 3.0, 15.0
LIMIT = 300.0
FIGURE = "streams without end"


def recipe(scale: float, keys: int = KEYS, batches: int = BATCHES) -> Recipe:
    """A key has an event every 10 seconds on average: 6 in a window."""
    return Recipe(round(BATCH * scale) * batches, KINDS, keys, gap=max(10_000_000 // keys, 2))


# Sides: a streaming DataFrame each.


def events(asked: Recipe, batches: int = BATCHES) -> Any:
    """The stream, a file for each micro-batch."""
    reader = session().readStream.schema("ts TIMESTAMP, kind STRING, id BIGINT, amount INT")
    return reader.option("maxFilesPerTrigger", "1").parquet(str(parts(asked, batches)))


def floor(frame: Any) -> Any:
    """No state: what is left is reading, the shuffle, and the way to Python and back."""
    kept = frame.where(frame.kind.isin("A", "B", "F")).select("id", "ts", "kind")
    bucketed = kept.selectExpr("*", f"CAST(pmod(xxhash64(id), {BUCKETS}) AS INT) AS bucket")
    return bucketed.repartition("bucket").mapInArrow(_counted, "rows BIGINT")


def _counted(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64())})


def ours(frame: Any, buckets: int | None = None, query: str = QUERY) -> Any:
    stream = neelc.stream(frame, timestamp="ts", type="kind", watermark="5 seconds")
    return neelc.sql(session(), query, buckets=buckets, Events=stream)


def by_key(frame: Any) -> Any:
    """The same query as one writes it by hand: the events of the last minute are the state of their key."""
    kept = frame.where(frame.kind.isin("A", "B", "F")).selectExpr("id", "unix_micros(ts) AS ts", "kind")
    found, kept_of_key = "id BIGINT, first BIGINT, last BIGINT", "times BINARY, kinds STRING"
    return kept.groupBy("id").applyInPandasWithState(_of_key, found, kept_of_key, "append", "NoTimeout")


def _of_key(key: tuple[int], frames: Iterator[Any], state: Any) -> Iterator[Any]:
    import pandas as pd  # type: ignore[import-untyped]

    times, kinds = state.get if state.exists else (b"", "")
    known = list(zip(np.frombuffer(times, np.int64), kinds, strict=True))
    new = [pair for frame in frames for pair in zip(frame["ts"], frame["kind"], strict=True)]
    since = {kind: [time for time, one in known + new if one == kind] for kind in "AB"}
    found = [
        (key[0], a, f)
        for f, kind in new
        if kind == "F"
        for a in since["A"]
        if f - WINDOW * 1000 <= a < f
        for b in since["B"]
        if a < b < f
    ]
    last = max(time for time, _ in known + new)
    kept = [(time, kind) for time, kind in known + new if time >= last - WINDOW * 1000]
    times = np.array([time for time, _ in kept], np.int64).tobytes()
    state.update((times, "".join(kind for _, kind in kept)))
    yield pd.DataFrame(found, columns=["id", "first", "last"])


# Measuring.


@dataclass
class StreamTimes:
    """The micro-batches of a query: seconds and events of each, rows found, and bytes of state at the end."""

    batches: list[tuple[float, int]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    state: int = 0

    def measured(self, warm: int = WARM) -> Measured:
        """Seconds for a million events, of each micro-batch."""
        return Measured(tuple(taken / count * 1e6 for taken, count in self.batches[warm:]))

    def speed(self, warm: int = WARM) -> float:
        return 1e6 / self.measured(warm).seconds


def run_stream(frame: Any, most: int = BATCHES) -> StreamTimes:
    """Run a query over `most` micro-batches with events, and discard its rows."""
    from pyspark.sql import functions as F

    spark = session()
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")  # as many as cores: each costs time in every batch
    checkpoint = tempfile.mkdtemp(prefix="neelc-bench-")
    observed = frame.observe("rows", F.expr("count(1)").alias("rows"))
    found = StreamTimes()
    writer = observed.writeStream.format("noop").option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    try:
        end = time.monotonic() + LIMIT
        while query.isActive and len(query.recentProgress) < most and time.monotonic() < end:
            time.sleep(0.1)
        progress = [json.loads(one.json) for one in query.recentProgress]
        if (failure := query.exception()) is not None:
            raise failure
    finally:
        query.stop()
        spark.conf.set("spark.sql.shuffle.partitions", before)
        shutil.rmtree(checkpoint, ignore_errors=True)
    for one in progress[:most]:
        if not one["numInputRows"]:
            continue
        found.batches.append((one["durationMs"]["triggerExecution"] / 1000, one["numInputRows"]))
        found.rows.append(int(one["observedMetrics"]["rows"]["rows"]))
        operators = one["stateOperators"]
        found.state = sum(_state(operator) for operator in operators)
    if not found.batches:
        raise Aborted
    return found


def _state(operator: dict[str, Any]) -> int:
    known = operator.get("customMetrics", {})
    return int(known.get("stateOnCurrentVersionSizeBytes") or operator["memoryUsedBytes"])


# Latency: events come at a steady rate. A key has 2 a second, and a match about every 40 seconds.

RATE, RATE_KEYS = 10_000, 5_000
WARM_SECONDS, LATENCY_SECONDS = 15.0, 15.0
"""Java compiles what runs in the first seconds, and what came in them is still waiting in the next ones."""


def latency(trigger: str | None) -> tuple[np.ndarray[Any, Any], int]:
    """Seconds from the last event of each match to its row, at RATE events a second, and rows seen."""
    spark = session()
    rate = spark.readStream.format("rate").option("rowsPerSecond", RATE).load()
    kinds = "element_at(array('A','B','C','D','E','F','G','H'), CAST(pmod(xxhash64(value), 8) AS INT) + 1)"
    frame = rate.selectExpr(
        "timestamp AS ts", f"{kinds} AS kind", f"pmod(xxhash64(value, 7), {RATE_KEYS}) AS id"
    )
    found = ours(frame.where("kind IN ('A', 'B', 'F')"), query=QUERY.replace(str(WINDOW), "1000"))
    taken: list[np.ndarray[Any, Any]] = []
    begun = time.time()

    def keep(batch: Any, _: int) -> None:
        times = [row.at for row in batch.selectExpr("unix_millis(last) / 1000 AS at").collect()]
        if time.time() > begun + WARM_SECONDS:
            taken.append(time.time() - np.array(times, float))

    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    checkpoint = tempfile.mkdtemp(prefix="neelc-bench-")
    writer = found.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
    query = (writer if trigger is None else writer.trigger(processingTime=trigger)).start()
    try:
        query.awaitTermination(WARM_SECONDS + LATENCY_SECONDS)
    finally:
        query.stop()
        spark.conf.set("spark.sql.shuffle.partitions", before)
        shutil.rmtree(checkpoint, ignore_errors=True)
    all_taken = np.concatenate(taken) if taken else np.array([])
    return all_taken, len(all_taken)


# The report.


def against_spark(scale: float) -> list[Row]:
    """The floor, by the size of micro-batches, and Spark's way by key, in turn with neelc."""
    rows = [*_against_floor(scale)]
    for keys in (KEYS, MANY_KEYS):
        asked = recipe(scale, keys)
        found, keyed = run_stream(ours(events(asked))), run_stream(by_key(events(asked)), most=2)
        both = {"neelc": found.measured(), "by key": keyed.measured(warm=1)}
        rows.append(faster(f"{_size(scale, keys)}: Spark's state by key", both, KEY_GOAL, FIGURE, "by key"))
        answers = {"neelc": sum(found.rows[:2]), "by key": sum(keyed.rows)}
        rows.append(agree("matches of two micro-batches", answers))
    return rows


def _against_floor(scale: float) -> Iterator[Row]:
    for factor in (1, LARGE):
        asked = recipe(scale * factor)
        floors, founds = [], []
        for _ in range(2):
            floors.append(run_stream(floor(events(asked))))
            founds.append(run_stream(ours(events(asked))))
        measured = {
            "neelc": Measured(tuple(run for one in founds for run in one.measured().runs)),
            "floor": Measured(tuple(run for one in floors for run in one.measured().runs)),
        }
        yield slower(f"{_size(scale * factor)}: floor", measured, FLOOR_GOAL, FIGURE, "floor")
        for name, side in measured.items():
            yield Row(f"events per second of {name}", f"{1e6 / side.seconds:,.0f}")
        yield Row("state", f"{founds[-1].state / 1e6:.1f} MB")


def _size(scale: float, keys: int = KEYS) -> str:
    return f"a million events in micro-batches of {round(BATCH * scale):,}, {keys:,} keys"


def against_flink(scale: float) -> list[Row]:
    """Flink counts the first events that have a match; neelc finds all matches, in large micro-batches."""
    install()
    asked = recipe(scale)
    found = run_stream(ours(events(recipe(scale * LARGE))))
    answered: list[int] = []
    with Flink(csv(asked, files=1), "streaming") as flink:
        ask = partial(flink.ask, statement("sequence"), LIMIT)
        runs = []
        for _ in range(3):
            taken, is_stopped = seconds(lambda: answered.append(ask()[0]))
            runs.append(taken / asked.events * 1e6)
            if is_stopped:
                break
    theirs = Measured(tuple(runs[1:] or runs), is_bound=len(runs) == 1)
    both = {"neelc": found.measured(), "Flink": theirs}
    rows = [faster("a million events: Flink SQL", both, FLINK_GOAL, FIGURE, "Flink")]
    return [*rows, Row("events per second of Flink", f"{1e6 / theirs.seconds:,.0f}")]


def by_size(scale: float) -> list[Row]:
    """Keys, buckets, and the size of a micro-batch."""
    rows = []
    for keys in (1_000, 20_000, 1_000_000):
        found = run_stream(ours(events(recipe(scale, keys))))
        rows.append(_speed(f"{keys:,} keys", found))
    for buckets in (2, 16, 128):
        found = run_stream(ours(events(recipe(scale)), buckets))
        rows.append(_speed(f"{buckets} buckets", found))
    for part in (0.1, 0.02):
        found = run_stream(ours(events(recipe(scale * part))))
        rows.append(_speed(f"micro-batches of {round(BATCH * scale * part):,}", found))
    return rows


def _speed(what: str, found: StreamTimes) -> Row:
    taken = np.median([one for one, _ in found.batches[WARM:]])
    return Row(
        what,
        f"{found.speed():,.0f} events/s, {taken:.2f} s a micro-batch, state {found.state / 1e6:.1f} MB",
        numbers={"events/s": found.speed(), "seconds": float(taken), "state": float(found.state)},
    )


def latencies() -> list[Row]:
    rows = []
    for trigger in (None, "1 second", "5 seconds"):
        taken, count = latency(trigger)
        if not count:
            rows.append(Row(f"latency, trigger {trigger}", "no match was seen"))
            continue
        middle, far = np.percentile(taken, [50, 99])
        shown = f"p50 {middle:.2f} s, p99 {far:.2f} s, {count:,} matches"
        what = f"latency at {RATE:,} events/s, trigger {trigger or 'at once'}"
        rows.append(Row(what, shown, numbers={"p50": float(middle), "p99": float(far)}))
    return rows


def rows(scale: float) -> list[Row]:
    found: list[Row] = []
    parts_of: list[Callable[[], list[Row]]] = [
        partial(against_spark, scale),
        partial(against_flink, scale),
        latencies,
        partial(by_size, scale),
    ]
    for part in parts_of:
        found += part()
    return found
