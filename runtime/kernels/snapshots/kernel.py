"""From Spark to snapshot aggregates and back: what `DataFrame.mapInArrow` runs on each partition.

Rows come with equal keys together, in the order of their start. All keys but the last one seen are complete.
Of the last one, all is known up to the last start seen: what ends until then leaves memory, and what is still
valid is carried over. So memory is bounded by the rows that are valid together, and those of one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Ints, times
from neelc.runtime.failures import INTERNAL, MEMORY, UNSORTED, FailureDetails, KernelFailure
from neelc.runtime.kernels.snapshots.aggregating import aggregate, stretches
from neelc.runtime.kernels.snapshots.program import FOREVER, LIST, CoalesceProgram, SnapshotProgram

Batches = Iterator[pa.RecordBatch]
AnyProgram = SnapshotProgram | CoalesceProgram

ROWS_AT_ONCE = 250_000
ROWS_WITH_LISTS = 10_000
"""Where every result has the list of all valid values."""
ROWS_IN_BATCH = 50_000


def snapshots(program: SnapshotProgram, rows_at_once: int = ROWS_AT_ONCE) -> Callable[[Batches], Batches]:
    """The function that aggregates the rows of one of Spark's partitions."""
    if any(one.function == LIST for one in program.aggregates):
        rows_at_once = min(rows_at_once, ROWS_WITH_LISTS)
    return partial(_run, program, max(1, rows_at_once))


@dataclass(frozen=True)
class _Waiting:
    """Rows that wait: of the first key, all before `low` is done, and `carried` rows are known from then."""

    parts: tuple[pa.RecordBatch, ...] = ()
    rows: int = 0
    carried: int = 0
    low: int = FIRST_TIME


def _run(program: SnapshotProgram, rows_at_once: int, batches: Batches) -> Batches:
    waiting = _Waiting()
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting = _Waiting(
            (*waiting.parts, batch), waiting.rows + batch.num_rows, waiting.carried, waiting.low
        )
        # Twice what was carried: so the work stays linear, however long a window is.
        if waiting.rows >= max(rows_at_once, 2 * waiting.carried):
            with explained(program):
                waiting, found = _cut(program, waiting)
            yield from found
    if waiting.rows:
        with explained(program):
            found = _aggregated(program, joined(waiting.parts), waiting.low, FOREVER)
        yield from found


def _cut(program: SnapshotProgram, waiting: _Waiting) -> tuple[_Waiting, list[pa.RecordBatch]]:
    """What is still needed, and the results of all that is known."""
    rows = joined(waiting.parts)
    start, end = times_of(rows)
    tail = int(segments.heads(keys_of(program, rows), len(start))[-1])
    high = int(start[-1])
    found = _aggregated(program, rows, waiting.low, high)
    kept = tail + np.flatnonzero(end[tail:] > high)
    low = high if len(kept) else FIRST_TIME
    left = rows.take(pa.array(kept))
    return _Waiting((left,) if len(kept) else (), len(kept), len(kept), low), found


def _aggregated(program: SnapshotProgram, rows: pa.RecordBatch, low: int, high: int) -> list[pa.RecordBatch]:
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
        return []
    if len(valid) < len(start):
        rows, key, start, end = rows.take(pa.array(valid)), key[valid], start[valid], end[valid]
    found = stretches(key, start, end)
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    arrays = {name: columns[name].take(pa.array(_first_of(key)[found.key])) for name in program.keys}
    arrays |= {"start": pa.array(found.begin), "end": pa.array(found.end)}
    arrays |= {one.name: aggregate(one, columns, found) for one in program.aggregates}
    batch = pa.RecordBatch.from_pydict(arrays)
    return [batch.slice(first, ROWS_IN_BATCH) for first in range(0, batch.num_rows, ROWS_IN_BATCH)]


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
        row = int(falls[0])
        text = {name: str(rows.column(name)[row].as_py())[:200] for name in program.keys}
        raise KernelFailure(
            FailureDetails(UNSORTED, "the rows of a key are not in the order of their start", key=text)
        )


def joined(parts: tuple[pa.RecordBatch, ...]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    (batch,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
    return batch


@contextmanager
def explained(program: AnyProgram) -> Iterator[None]:
    try:
        yield
    except KernelFailure as failure:
        raise failure.about(part=program.label or None) from failure
    except MemoryError as error:
        message = "a worker has not enough memory for the events that are valid together"
        raise KernelFailure(FailureDetails(MEMORY, message, program.label or None)) from error
    except Exception as error:
        facts = FailureDetails(INTERNAL, f"{type(error).__name__}: {error}", program.label or None)
        raise KernelFailure(facts) from error


# Events with the same payload in canonical intervals, the longest that tell the same snapshots.
#
# Where k of them are valid, k levels are open: an event more opens a level, an event less closes the one
# that was opened last. A level from its opening to its closing is an interval of the result.


def coalescing(program: CoalesceProgram, rows_at_once: int = ROWS_AT_ONCE) -> Callable[[Batches], Batches]:
    """The function that coalesces the rows of one of Spark's partitions."""
    return partial(_run_coalescing, program, max(1, rows_at_once))


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


def _run_coalescing(program: CoalesceProgram, rows_at_once: int, batches: Batches) -> Batches:
    waiting: list[pa.RecordBatch] = []
    tried = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= max(rows_at_once, 2 * tried):
            with explained(program):
                kept, found = _cut_coalesced(program, joined(tuple(waiting)), last=False)
            waiting, tried = ([kept] if kept.num_rows else []), kept.num_rows
            yield from found
    if waiting:
        with explained(program):
            _, found = _cut_coalesced(program, joined(tuple(waiting)), last=True)
        yield from found


def _cut_coalesced(
    program: CoalesceProgram, rows: pa.RecordBatch, last: bool
) -> tuple[pa.RecordBatch, list[pa.RecordBatch]]:
    """The rows that are still needed, and the intervals that are complete: all but those of the last key that
    end at its last start or later. Those wait, as rows that begin when their levels were opened."""
    start, end = times_of(rows)
    heads = segments.heads(keys_of(program, rows), rows.num_rows)
    key = segments.numbers(heads, rows.num_rows)
    check_order(program, rows, key, start)
    valid = np.flatnonzero(start < end)
    found_key, found_start, found_end = levels(key[valid], start[valid], end[valid])
    high = LAST_TIME if last else int(start[-1])
    open_ = np.zeros(len(found_key), dtype=np.bool_)
    if not last:
        open_ = (found_key == key[-1]) & (found_end >= high)
    done = np.flatnonzero(~open_)
    waiting = np.flatnonzero(open_)
    waiting = waiting[np.argsort(found_start[waiting], kind="stable")]
    kept = _rows(rows, heads[found_key[waiting]], found_start[waiting], found_end[waiting])
    made = _rows(rows, heads[found_key[done]], found_start[done], found_end[done])
    wanted = made.select([*program.keys, "start", "end"])
    pieces = range(0, wanted.num_rows, ROWS_IN_BATCH)
    return kept, [wanted.slice(first, ROWS_IN_BATCH) for first in pieces]


def _rows(rows: pa.RecordBatch, places: Ints, start: Ints, end: Ints) -> pa.RecordBatch:
    """The rows at these places, with other times."""
    taken = rows.take(pa.array(places))
    times = {"start": pa.array(start), "end": pa.array(end)}
    columns = [times.get(name, taken.column(name)) for name in rows.schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
