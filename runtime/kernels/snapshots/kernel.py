"""Snapshot aggregates, and canonical intervals, on the worker.

Rows come with equal keys together, in the order of their start. All keys but the last one seen are complete.
Of the last one, all is known up to the last start seen: what ends until then leaves memory, and what is still
valid is carried over. So memory is bounded by the rows that are valid together, and those of one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.columns import LAST_TIME, Ints, key_text, times
from neelc.runtime.failures import UNSORTED, FailureContext, FailureDetails, KernelFailure
from neelc.runtime.kernels.snapshots.aggregating import aggregate, stretches
from neelc.runtime.kernels.snapshots.program import FOREVER, LIST, CoalesceProgram, SnapshotProgram
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import SectionProgress
from neelc.runtime.worker import (
    ROWS_AT_ONCE,
    Batches,
    BatchFunction,
    NeededRows,
    WorkerKernel,
    WorkerLimits,
    WorkerSearch,
    WorkerState,
    in_batches,
)

AnyProgram = SnapshotProgram | CoalesceProgram

ROWS_WITH_LISTS = 10_000
"""Where every result has the list of all valid values."""


def snapshots(program: SnapshotProgram, rows_at_once: int = ROWS_AT_ONCE) -> BatchFunction:
    """The function that aggregates the rows of one of Spark's partitions."""
    if any(one.function == LIST for one in program.aggregates):
        rows_at_once = min(rows_at_once, ROWS_WITH_LISTS)
    return WorkerKernel(
        partial(_begin, program), SectionProgress, WorkerLimits(rows_at_once), _context(program)
    ).function()


def _context(program: AnyProgram) -> FailureContext:
    return FailureContext(program.label or None, held="the events that are valid together")


def _begin(program: SnapshotProgram, state: WorkerState[SectionProgress], is_last: bool) -> SnapshotSearch:
    rows = state.joined()
    high, left = FOREVER, NeededRows(SectionProgress())
    if not is_last:
        start, end = times_of(rows)
        high = int(start[-1])
        tail = int(segments.heads(keys_of(program, rows), len(start))[-1])
        kept = tail + np.flatnonzero(end[tail:] > high)
        if len(kept):
            left = NeededRows(SectionProgress(high), (rows.take(pa.array(kept)),))
    return SnapshotSearch(program, rows, state.facts.low, high, left)


@dataclass(frozen=True, eq=False)
class SnapshotSearch(WorkerSearch[SectionProgress, pa.RecordBatch]):
    """Aggregates for the times of the first key from `low` on, and of the last key before `high`."""

    program: SnapshotProgram
    rows: pa.RecordBatch
    low: int
    high: int
    left: NeededRows[SectionProgress]

    def matches(self) -> Iterator[pa.RecordBatch]:
        yield from _aggregated(self.program, self.rows, self.low, self.high)

    def gather(self, found: pa.RecordBatch) -> Batches:
        return in_batches(found)

    def needed(self) -> NeededRows[SectionProgress]:
        return self.left


def _aggregated(program: SnapshotProgram, rows: pa.RecordBatch, low: int, high: int) -> Batches:
    """The results for the times of the first key from `low` on, and of the last key before `high`."""
    start, end = times_of(rows)
    key = segments.numbers(segments.heads(keys_of(program, rows), len(start)), len(start))
    check_order(program, rows, key, start)
    start = np.where(key == 0, np.maximum(start, np.int64(low)), start)
    end = np.where(key == key[-1], np.minimum(end, np.int64(high)), end)
    if program.chunk is not None:
        start, end = _in_chunks(program, rows, start, end)
    valid = np.flatnonzero(start < end)
    if not len(valid):
        return
    if len(valid) < len(start):
        rows, key, start, end = rows.take(pa.array(valid)), key[valid], start[valid], end[valid]
    found = stretches(key, start, end)
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    arrays = {name: columns[name].take(pa.array(_first_of(key)[found.key])) for name in program.keys}
    arrays |= {"start": pa.array(found.begin), "end": pa.array(found.end)}
    arrays |= {one.name: aggregate(one, columns, found) for one in program.aggregates}
    yield pa.RecordBatch.from_pydict(arrays)


def _first_of(key: Ints) -> Ints:
    """For each number of a key its first row; numbers may be missing."""
    first = np.zeros(int(key[-1]) + 1, dtype=np.int64)
    heads = np.flatnonzero(np.diff(key, prepend=-1))
    first[key[heads]] = heads
    return first


def _in_chunks(program: SnapshotProgram, rows: pa.RecordBatch, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The times of rows that lie in the chunk of time that they stand in."""
    assert program.chunk is not None
    chunk = times(rows.column(program.keys[-1]), "chunk")
    begin = chunk * np.int64(program.chunk)
    return np.maximum(start, begin), np.minimum(end, begin + np.int64(program.chunk))


def times_of(rows: pa.RecordBatch) -> tuple[Ints, Ints]:
    return times(rows.column("start"), "start"), times(rows.column("end"), "end")


def keys_of(program: AnyProgram, rows: pa.RecordBatch) -> list[pa.Array]:
    return [rows.column(name) for name in program.keys]


def check_order(program: AnyProgram, rows: pa.RecordBatch, key: Ints, start: Ints) -> None:
    falls = np.flatnonzero((key[1:] == key[:-1]) & (start[1:] < start[:-1]))
    if len(falls):
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        key_of = key_text(program.keys, columns, int(falls[0]))
        raise KernelFailure(
            FailureDetails(UNSORTED, "the rows of a key are not in the order of their start", key=key_of)
        )


# Events with the same payload in canonical intervals, the longest with the same snapshots.
#
# Where k of them are valid, k levels are open: an event more opens a level, an event less closes the one
# that was opened last. A level from its opening to its closing is an interval of the result.


def coalescing(program: CoalesceProgram, rows_at_once: int = ROWS_AT_ONCE) -> BatchFunction:
    """The function that coalesces the rows of one of Spark's partitions."""
    return WorkerKernel(
        partial(_begin_coalescing, program), OpenLevels, WorkerLimits(rows_at_once), _context(program)
    ).function()


@dataclass(frozen=True)
class OpenLevels:
    """What is known of the rows that wait is in them: they begin when their levels were opened."""


def _begin_coalescing(
    program: CoalesceProgram, state: WorkerState[OpenLevels], is_last: bool
) -> CoalesceSearch:
    return CoalesceSearch(*_cut_coalesced(program, state.joined(), is_last))


@dataclass(frozen=True, eq=False)
class CoalesceSearch(WorkerSearch[OpenLevels, pa.RecordBatch]):
    """The intervals that are complete, and rows for those that are `open`."""

    open: pa.RecordBatch
    complete: pa.RecordBatch

    def matches(self) -> Iterator[pa.RecordBatch]:
        yield self.complete

    def gather(self, found: pa.RecordBatch) -> Batches:
        return in_batches(found)

    def needed(self) -> NeededRows[OpenLevels]:
        return NeededRows(OpenLevels(), (self.open,) if self.open.num_rows else ())


def levels(key: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """The intervals of each key: their keys, starts and ends. Rows have their start before their end.

    >>> found = levels(np.array([0, 0, 0]), np.array([1, 3, 5]), np.array([3, 9, 7]))
    >>> [column.tolist() for column in found]
    [[0, 0], [1, 5], [9, 7]]
    """
    keys, times = np.tile(key, 2), np.concatenate([start, end])
    sign = np.repeat(np.array([1, -1]), len(key))
    order = np.lexsort((times, keys))
    keys, times, sign = keys[order], times[order], sign[order]
    new = np.flatnonzero((np.diff(keys, prepend=-1) != 0) | (np.diff(times, prepend=times[:1] - 1) != 0))
    net = np.add.reduceat(sign, new) if len(new) else sign
    count = np.abs(net)
    key_of, time_of = np.repeat(keys[new], count), np.repeat(times[new], count)
    step = np.repeat(np.sign(net), count)
    depth = np.cumsum(step)
    level = np.where(step > 0, depth, depth + 1)
    # In each level of a key openings and closings take turns.
    turns = np.lexsort((np.arange(len(level)), level, key_of))
    opened, closed = turns[0::2], turns[1::2]
    return key_of[opened], time_of[opened], time_of[closed]


def _cut_coalesced(
    program: CoalesceProgram, rows: pa.RecordBatch, is_last: bool
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows that are still needed, and the intervals that are complete: all but those of the last key that
    end at its last start or later. Those wait, as rows that begin when their levels were opened."""
    start, end = times_of(rows)
    heads = segments.heads(keys_of(program, rows), rows.num_rows)
    key = segments.numbers(heads, rows.num_rows)
    check_order(program, rows, key, start)
    valid = np.flatnonzero(start < end)
    found_key, found_start, found_end = levels(key[valid], start[valid], end[valid])
    high = LAST_TIME if is_last else int(start[-1])
    open_ = np.zeros(len(found_key), dtype=np.bool_)
    if not is_last:
        open_ = (found_key == key[-1]) & (found_end >= high)
    done = np.flatnonzero(~open_)
    waiting = np.flatnonzero(open_)
    waiting = waiting[np.argsort(found_start[waiting], kind="stable")]
    kept = _rows(rows, heads[found_key[waiting]], found_start[waiting], found_end[waiting])
    made = _rows(rows, heads[found_key[done]], found_start[done], found_end[done])
    return kept, made.select([*program.keys, "start", "end"])


def _rows(rows: pa.RecordBatch, places: Ints, start: Ints, end: Ints) -> pa.RecordBatch:
    """The rows at these places, with other times."""
    taken = rows.take(pa.array(places))
    times = {"start": pa.array(start), "end": pa.array(end)}
    columns = [times.get(name, taken.column(name)) for name in rows.schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
