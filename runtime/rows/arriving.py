"""Rows as they come from Spark, in pieces of whole partitions.

Rows come sorted, those of one key together. They are collected until a key is complete. If they were sorted
by one number instead, they are collected until a section is, and put in order then.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from neelc.runtime import segments
from neelc.runtime.failures import MEMORY, Facts, KernelFailure
from neelc.runtime.mending import mended, section_heads
from neelc.runtime.rows.program import Order, RowProgram
from neelc.runtime.segments import FIRST_TIME, LAST_TIME, Bools, Ints

Batches = Iterator[pa.RecordBatch]


def complete_keys(
    program: RowProgram, rows_at_once: int, batches: Batches
) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Rows in pieces of which no key is in two, and the rows at which keys begin."""
    waiting: list[pa.RecordBatch] = []
    wanted = rows_at_once
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) < wanted:
            continue
        table = _joined(waiting)
        end = _end_of_complete(program, table)
        if end:
            yield _in_order(program, table.slice(0, end))
        waiting = [table.slice(end)]
        # A long key is joined each time it has doubled: its rows are copied a few times, not for each batch.
        wanted = max(rows_at_once, 2 * waiting[0].num_rows)
    if waiting:
        yield _in_order(program, _joined(waiting))


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches).combine_chunks()
    joined = table.to_batches()
    if len(joined) > 1:
        raise KernelFailure(Facts(MEMORY, "a column of the rows of one partition is larger than 2 GiB"))
    return joined[0]


def _end_of_complete(program: RowProgram, rows: pa.RecordBatch) -> int:
    """The row at which the last key begins, or the last section: it may go on in the next batch."""
    if program.order is None:
        return int(_key_heads(program, rows)[-1])
    return int(section_heads(_ticks(program.order, rows))[-1])


def _in_order(program: RowProgram, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
    """The rows of each key together and in their order, and the rows at which keys begin."""
    if program.order is None:
        return rows, _key_heads(program, rows)
    ticks = _ticks(program.order, rows)
    keys = [rows.column(name) for name in program.keys]
    order, heads = mended(keys, _places(program.order, rows), ticks, section_heads(ticks))
    return (rows if order is None else rows.take(pa.array(order))), heads


def _key_heads(program: RowProgram, rows: pa.RecordBatch) -> Ints:
    return segments.heads([rows.column(name) for name in program.keys], rows.num_rows)


def _ticks(order: Order, rows: pa.RecordBatch) -> Ints:
    """The beginning of each row's tick."""
    nothing = LAST_TIME if order.nulls_last else FIRST_TIME
    ticks: Ints = np.where(_is_null(order, rows), nothing, _numbers(order, rows)) & -order.grain
    return ticks


def _places(order: Order, rows: pa.RecordBatch) -> Ints:
    """Numbers in the order of rows; NULL is before or after all others, the least and greatest too.

    >>> rows = pa.record_batch({"n": pa.array([FIRST_TIME, None, 7, 7])})
    >>> _places(Order("n", 1), rows).tolist(), _places(Order("n", 1, nulls_last=True), rows).tolist()
    ([1, 0, 2, 2], [0, 2, 1, 1])
    """
    numbers = _numbers(order, rows)
    is_null = _is_null(order, rows)
    if not is_null.any():
        return numbers
    _, ranks = np.unique(numbers, return_inverse=True)
    found: Ints = np.where(is_null, len(numbers) if order.nulls_last else -1, ranks)
    _, places = np.unique(found, return_inverse=True)
    return places.astype(np.int64, copy=False)


def _is_null(order: Order, rows: pa.RecordBatch) -> Bools:
    return np.asarray(rows.column(order.column).is_null())


def _numbers(order: Order, rows: pa.RecordBatch) -> Ints:
    """The column as whole numbers that rise; of NULL, any."""
    column = rows.column(order.column)
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    numbers: Ints = np.asarray(column.cast(pa.int64()).fill_null(0))
    return ~numbers if order.descending else numbers
