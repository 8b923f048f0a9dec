"""Kernels over streams without end: events come in micro-batches, and what later matches need is kept between
them.

Events are grouped by bucket, a hash of their key, not by key: one call sees all keys of a bucket, reads one
value of state and writes one. For Spark a bucket's events are a few rows of bytes:

    events -pack-> Arrow bytes for each bucket -bucket_function-> results as Arrow bytes -unpack-> rows

so nothing is lost or slowed down on its way through pandas, which Spark's stateful functions require.

A kernel for streams is a pure function, `StreamKernel.advance`: from what was kept, the new rows and how
far the watermark has moved, to results, what is kept now, and when it must be called again. An event is
late if it starts at the watermark or before when it comes: it takes no part, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neelc.runtime.columns import FIRST_TIME, Ints
from neelc.runtime.failures import MEMORY, NULL_TIME, STATE, FailureDetails, KernelFailure
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.worker import Batches, BatchFunction, arrow_bytes, framed, unframed

# What kernels for streams are.


@dataclass(frozen=True)
class WatermarkMove:
    """How far a stream is known, in numbers of a kernel's clock: all events that start at `before` or earlier
    had come when the kernel was called last, and all that start at `now` or earlier have come now. New events
    start after `now`."""

    before: int
    now: int


@dataclass(frozen=True, eq=False)
class StreamMemory:
    """What a kernel keeps between two calls: `facts` that JSON can write, and `tables` of rows."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, tuple[pa.RecordBatch, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.facts and not self.rows

    @property
    def rows(self) -> int:
        return sum(part.num_rows for parts in self.tables.values() for part in parts)


@dataclass(frozen=True, eq=False)
class StreamStep:
    """What a call gives: results, what is kept, and the watermark at which the kernel must be called even
    if no new rows have come, None if never."""

    results: Sequence[pa.RecordBatch] = ()
    memory: StreamMemory = field(default_factory=StreamMemory)
    wake: int | None = None


class StreamKernel(Protocol):
    """A program that runs over micro-batches: a value, which is pickled to workers."""

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        """Results that are sure now and were not before. `rows` are new, in any order, and none is late; each
        has `start`, its time in numbers of the clock."""


@dataclass(frozen=True)
class StreamProgram:
    """A kernel, and how Spark runs it. A unit of the kernel's clock has `nanos` nanoseconds. `identity`
    is what the state depends on, part by part: state that another query has written is not read."""

    kernel: StreamKernel
    nanos: int = 1000
    identity: tuple[tuple[str, str], ...] = ()

    def watermark(self, milliseconds: int) -> int:
        """Spark's watermark as a number of the clock: whatever starts then or before has come. Spark's first
        watermark is 0: then nothing is known yet.

        >>> StreamProgram(None, nanos=1_000_000_000).watermark(2_999)
        2
        >>> StreamProgram(None).watermark(0) == FIRST_TIME
        True
        """
        return FIRST_TIME if milliseconds <= 0 else milliseconds * 1_000_000 // self.nanos

    def timeout(self, wake: int) -> int:
        """The time, in milliseconds, that Spark's watermark must have passed for the kernel's to reach
        `wake`."""
        return -(-wake * self.nanos // 1_000_000) - 1


# One bucket, one micro-batch.


@dataclass(frozen=True, eq=False)
class BucketCall:
    """What became of a bucket's micro-batch: the numbers are for people."""

    step: StreamStep
    watermark: int
    events: int
    late: int

    @property
    def matches(self) -> int:
        return sum(batch.num_rows for batch in self.step.results)


def called(
    program: StreamProgram, memory: StreamMemory, before: int, rows: Iterable[pa.RecordBatch], now: int
) -> BucketCall:
    """Call the kernel with rows as they come, late ones among them. Watermarks do not fall."""
    now = max(before, now)
    batches = [batch for batch in rows if batch.num_rows]
    if any(batch["start"].null_count for batch in batches):  # it would be counted as late
        raise KernelFailure(FailureDetails(NULL_TIME, "an event has no start"))
    on_time = [batch.filter(pc.greater(batch["start"], now)) for batch in batches]
    on_time = [batch for batch in on_time if batch.num_rows]
    step = program.kernel.advance(memory, on_time, WatermarkMove(before, now))
    events = sum(batch.num_rows for batch in batches)
    return BucketCall(step, now, events, events - sum(batch.num_rows for batch in on_time))


# State as bytes.

FORMAT = 2
"""Of the state of a bucket."""
MOST_BYTES = (1 << 31) - (1 << 20)
"""Of one value that Spark can hold."""


def memory_to_bytes(
    memory: StreamMemory, watermark: int, identity: tuple[tuple[str, str], ...] = ()
) -> bytes:
    """What is kept, for `memory_from_bytes`."""
    written = {name: arrow_bytes(parts) for name, parts in memory.tables.items() if parts}
    header = {
        "watermark": watermark,
        "identity": identity,
        "facts": memory.facts,
        "tables": {name: len(data) for name, data in written.items()},
    }
    data = framed(FORMAT, header, written.values())
    if len(data) > MOST_BYTES:
        message = f"the state of one bucket has {len(data):,} bytes, more than 2 GiB: use more buckets"
        raise KernelFailure(FailureDetails(MEMORY, message))
    return data


def memory_from_bytes(data: bytes, identity: tuple[tuple[str, str], ...] = ()) -> tuple[StreamMemory, int]:
    """What was kept, and the watermark of that time; `identity` is that of the query that reads it."""
    header, rows = unframed(FORMAT, data)
    if changed := another_query(header["identity"], identity):
        raise KernelFailure(FailureDetails(STATE, changed))
    tables, begin = {}, 0
    for name, size in header["tables"].items():
        tables[name] = tuple(pa.ipc.open_stream(rows[begin : begin + size]))
        begin += size
    return StreamMemory(header["facts"], tables), header["watermark"]


def another_query(written: Iterable[tuple[str, str]], read: Iterable[tuple[str, str]]) -> str | None:
    """Why state that a query has written cannot be read by another, by what the state of each depends on;
    None if it can.

    >>> another_query([("window", "1 MINUTE")], [("window", "2 MINUTES")]).split(". ")[1]
    'window: was 1 MINUTE, is 2 MINUTES'
    >>> another_query([("window", "1 MINUTE")], [("window", "1 MINUTE")]) is None
    True
    """
    was, now = dict(written), dict(read)
    changed = [part for part in {**was, **now} if was.get(part) != now.get(part)]
    if not changed:
        return None
    what = "; ".join(f"{part}: was {was.get(part, 'none')}, is {now.get(part, 'none')}" for part in changed)
    way_out = "Start with a new checkpoint and a new output, or restore the query"
    return f"the checkpoint was written by another query. {what}. {way_out}"


# On Spark.

PACKED = "bucket INT, until TIMESTAMP, data BINARY"
CALLED = "data BINARY, events BIGINT, late BIGINT, matches BIGINT, kept BIGINT, kept_bytes BIGINT"
KEPT = "memory BINARY"
"""The columns of packed events, of what calls give, and of the state."""
NUMBERS = ("events", "late", "matches", "kept", "kept_bytes")
METRICS = tuple(f"coalesce(sum({name}), 0) AS {name}" for name in NUMBERS)
"""The numbers of each micro-batch, for `StreamingQueryProgress`."""
WATERMARK = "spark.watermarkDelayMs"
WATERMARKED = {WATERMARK: 0}
"""Metadata of a column that the watermark is of. Python code makes Spark forget which one that is, though the
watermark is still tracked where it was declared."""
UNTIL = 9_214_646_400_000_000
"""In the year 2262, the last that pandas knows: Spark never takes a packed row for late."""
ROWS_IN_PACK = 200_000
BYTES_IN_PACK = 1 << 26


def pack(buckets: int) -> BatchFunction:
    """The function that makes bytes of the events of each bucket. Each batch has `bucket`, a number below
    `buckets`."""
    return partial(_pack, bucket_labels(buckets))


def bucket_labels(buckets: int) -> Ints:
    """A number for each bucket, such that Spark spreads them evenly over its partitions: their hashes, modulo
    the number of buckets, are all different. Over as many partitions, or a divisor of that, each gets the
    same number of buckets; the buckets' own numbers would leave some partitions without any.

    >>> bucket_labels(4).tolist()
    [12, 6, 2, 0]
    """
    labels = np.full(buckets, -1, dtype=np.int64)
    first = 0
    while (labels < 0).any():
        numbers = np.arange(first, first + 16 * buckets, dtype=np.int64)
        rest, place = np.unique(spark_hash(numbers) % buckets, return_index=True)
        labels[rest] = np.where(labels[rest] < 0, numbers[place], labels[rest])
        first += len(numbers)
    return labels


def spark_hash(numbers: Ints) -> Ints:
    """Spark's hash of 32-bit integers (Murmur 3), by which it partitions.

    >>> spark_hash(np.array([0, 1, 42])).tolist()
    [933211791, -559580957, 29417773]
    """
    mask = np.uint64(0xFFFFFFFF)

    def rotated(value: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
        return (value << np.uint64(by) | value >> np.uint64(32 - by)) & mask

    mixed = numbers.astype(np.uint64) * np.uint64(0xCC9E2D51) & mask
    mixed = rotated(mixed, 15) * np.uint64(0x1B873593) & mask
    found = (rotated(mixed ^ np.uint64(42), 13) * np.uint64(5) + np.uint64(0xE6546B64)) & mask
    found ^= np.uint64(4)  # the length of an integer
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ found >> np.uint64(shift)) * np.uint64(factor) & mask
    found ^= found >> np.uint64(16)
    return found.astype(np.uint32).view(np.int32).astype(np.int64)


def _pack(labels: Ints, batches: Batches) -> Batches:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        is_many = sum(one.num_rows for one in waiting) >= ROWS_IN_PACK
        if is_many or sum(one.nbytes for one in waiting) >= BYTES_IN_PACK:
            yield from _packed(labels, waiting)
            waiting = []
    yield from _packed(labels, waiting)


def _packed(labels: Ints, batches: Sequence[pa.RecordBatch]) -> Batches:
    rows = pa.Table.from_batches(batches).combine_chunks() if batches else None
    if rows is None or not rows.num_rows:
        return
    bucket = rows["bucket"].to_numpy()
    order = np.argsort(bucket, kind="stable")
    rows, bucket = rows.drop_columns(["bucket"]).take(pa.array(order)), bucket[order]
    heads = np.flatnonzero(np.diff(bucket, prepend=bucket[0] - 1))
    sizes = np.diff(heads, append=len(bucket))
    for head, size in zip(heads.tolist(), sizes.tolist(), strict=True):
        data = arrow_bytes(rows.slice(head, size).combine_chunks().to_batches())
        arrays = [
            pa.array([labels[bucket[head]]], pa.int32()),
            pa.array([UNTIL], pa.timestamp("us", tz="UTC")),
            pa.array([data], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=["bucket", "until", "data"])


def unpack(batches: Batches) -> Batches:
    """The results that calls gave, as rows."""
    for batch in batches:
        for data in batch["data"]:
            yield from pa.ipc.open_stream(data.as_buffer())


def watermarked(frame: Any, column: str) -> Any:
    """The DataFrame, if its watermark is of this column: else the watermark says nothing about the order of
    its rows."""
    known = {field.name: field.metadata for field in frame.schema}
    if WATERMARK not in known.get(column, {}):
        of = [name for name, metadata in known.items() if WATERMARK in metadata]
        found = f"it is of {', '.join(of)}" if of else "there is none"
        raise ValueError(
            f"MATCH_RECOGNIZE orders rows by {column}, which must be the column of the watermark: {found}. "
            f"Select {column} as the stream has it"
        )
    return frame


def bucket_function(program: StreamProgram) -> Callable[[Any, Iterator[Any], Any], Iterator[Any]]:
    """What `applyInPandasWithState` calls with the packed events of a bucket and its state."""

    def call(_: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        rows = (batch for frame in frames for data in frame["data"] for batch in pa.ipc.open_stream(data))
        memory, before = StreamMemory(), FIRST_TIME
        if state.exists:
            memory, before = memory_from_bytes(bytes(state.get[0]), program.identity)
        result = called(program, memory, before, rows, program.watermark(state.getCurrentWatermarkMs()))
        size = _stored(program, result, state)
        yield from _frames(result, size)

    return call


def _stored(program: StreamProgram, result: BucketCall, state: Any) -> int:
    """Write what is kept into Spark's state; its size."""
    memory = result.step.memory
    if memory.is_empty:
        if state.exists:
            state.remove()
        return 0
    data = memory_to_bytes(memory, result.watermark, program.identity)
    state.update((data,))
    if result.step.wake is not None:
        # Spark refuses a time that has passed already, and calls when the watermark is after it.
        state.setTimeoutTimestamp(max(program.timeout(result.step.wake), state.getCurrentWatermarkMs(), 1))
    return len(data)


def _frames(result: BucketCall, size: int) -> Iterator[Any]:
    """Results as bytes; the numbers are in the first row."""
    import pandas as pd  # type: ignore[import-untyped]

    batches = result.step.results
    data: list[bytes | None] = [arrow_bytes([batch]) for batch in batches] or [None]
    numbers = (result.events, result.late, result.matches, result.step.memory.rows, size)
    for place, one in enumerate(data):
        yield pd.DataFrame(
            [(one, *(numbers if place == 0 else (0,) * len(numbers)))], columns=["data", *NUMBERS]
        )
