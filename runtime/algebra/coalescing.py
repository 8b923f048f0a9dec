"""Events with the same payload in canonical intervals, the longest that tell the same snapshots.

Where k of them are valid, k levels are open: an event more opens a level, an event less closes the one that
was opened last. A level from its opening to its closing is an interval of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime import segments
from neelc.runtime.algebra.bridge import (
    ROWS_AT_ONCE,
    ROWS_IN_BATCH,
    check_order,
    explained,
    joined,
    keys_of,
    times_of,
)
from neelc.runtime.algebra.program import CoalesceProgram
from neelc.runtime.segments import LAST_TIME, Ints

Batches = Iterator[pa.RecordBatch]


def coalescing(program: CoalesceProgram, rows_at_once: int = ROWS_AT_ONCE) -> Callable[[Batches], Batches]:
    """The function that coalesces the rows of one of Spark's partitions."""
    return partial(_run, program, max(1, rows_at_once))


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


def _run(program: CoalesceProgram, rows_at_once: int, batches: Batches) -> Batches:
    waiting: list[pa.RecordBatch] = []
    tried = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= max(rows_at_once, 2 * tried):
            with explained(program):
                kept, found = _cut(program, joined(tuple(waiting)), last=False)
            waiting, tried = ([kept] if kept.num_rows else []), kept.num_rows
            yield from found
    if waiting:
        with explained(program):
            _, found = _cut(program, joined(tuple(waiting)), last=True)
        yield from found


def _cut(
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
