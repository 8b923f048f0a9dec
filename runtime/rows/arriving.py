"""Rows as they come from Spark: those of complete partitions, and pieces of a long one.

Rows come sorted, those of one key together. They are collected until a key is complete. If they were sorted
by one number instead, they are collected until a section is, and put in order then. A long key is searched
before it is complete: what is decided is forgotten, and the rest waits for the rows that decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from neelc.runtime import segments
from neelc.runtime.failures import MEMORY, Facts, KernelFailure
from neelc.runtime.mending import mended, section_heads
from neelc.runtime.rows.program import Order, RowProgram, sight
from neelc.runtime.segments import FIRST_TIME, LAST_TIME, Bools, Ints

Batches = Iterator[pa.RecordBatch]
Batch = TypeVar("Batch")

SHORT = 4
"""A key with less than this part of the rows that are searched at once waits for its end."""

HEAD = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Progress:
    """How far a partition has been searched whose end has not come: `before` of its rows are forgotten. Of
    those kept, matches start at the row `begin` or later. `number` matches were found, and they took all rows
    before `matched`."""

    before: int = 0
    begin: int = 0
    number: int = 0
    matched: int = 0

    def without(self, rows: int) -> Progress:
        """The same, once so many rows are forgotten."""
        return Progress(self.before + rows, self.begin - rows, self.number, self.matched - rows)


@dataclass(frozen=True)
class Arrived:
    """Rows in order, and the rows at which keys begin. With `progress` they are of one key, whose first rows
    came before; it may go on if it is open."""

    rows: pa.RecordBatch
    heads: Ints
    progress: Progress | None = None
    is_open: bool = False


class Waiting:
    """Rows that have come, but were not searched, or may be needed by matches that start later.

    `progress` has those of long keys that were searched before their end came, by the number of the first row
    that is kept of each.
    """

    def __init__(self, program: RowProgram, rows_at_once: int) -> None:
        self.program, self.rows_at_once = program, rows_at_once
        self.behind, _ = sight(program)
        self.batches: list[pa.RecordBatch] = []
        self.count, self.wanted = 0, rows_at_once
        self.progress: dict[int, Progress] = {}

    def add(self, batch: pa.RecordBatch) -> bool:
        """Whether there are enough rows now to search them."""
        if batch.num_rows:
            self.batches.append(batch)
            self.count += batch.num_rows
        return self.count >= self.wanted

    def complete(self, is_last: bool) -> Iterator[Arrived]:
        """Takes the keys whose rows have all come; if no more come, all."""
        if not self.count:
            return
        rows = _joined(self.batches)
        end = rows.num_rows if is_last else _end_of_complete(self.program, rows)
        self._wait(rows.slice(end))
        if end:
            progress, self.progress = self.progress, {}
            rows, heads, order = _in_order(self.program, rows.slice(0, end))
            first = heads if order is None else order[heads]
            yield from _apart(rows, heads, [progress.get(row) for row in first.tolist()] if progress else [])

    def search_open(self, search: Callable[[Arrived], Generator[Batch, None, Progress]]) -> Iterator[Batch]:
        """Searches the long keys whose end has not come, as far as that can be decided, and forgets the rows
        that are done with."""
        # A key of few rows is not worth it: what is found is what could have been found a little later.
        least = max(1, self.rows_at_once // SHORT)
        if self.count < least:
            return
        (rows,) = self.batches
        settled = _settled(self.program, rows)
        if settled < least:
            return
        ordered, heads, order = _in_order(self.program, rows.slice(0, settled))
        if order is None:
            order = np.arange(ordered.num_rows)
        kept = np.ones(rows.num_rows, dtype=np.bool_)
        progress = dict(self.progress)
        for head, tail in zip(heads.tolist(), [*heads[1:].tolist(), ordered.num_rows], strict=True):
            if tail - head < least:
                continue
            before = progress.pop(int(order[head]), Progress())
            after = yield from search(Arrived(ordered.slice(head, tail - head), HEAD, before, True))
            # One row at least stays, to know the key again.
            forgotten = min(max(0, after.begin - self.behind), tail - head - 1)
            kept[order[head : head + forgotten]] = False
            progress[int(order[head + forgotten])] = after.without(forgotten)
        place = np.cumsum(kept) - 1
        self.progress = {int(place[row]): one for row, one in progress.items()}
        self._wait(rows if kept.all() else rows.filter(pa.array(kept)))
        # Rows are searched again each time they have doubled: a few times, not for each batch. Where nothing
        # at all could be decided, it is not likely to be soon.
        self.wanted = max(self.rows_at_once, (4 if kept.all() else 2) * self.count)

    def _wait(self, rows: pa.RecordBatch) -> None:
        self.batches, self.count = ([rows] if rows.num_rows else []), rows.num_rows
        self.wanted = max(self.rows_at_once, 2 * self.count)


def _apart(rows: pa.RecordBatch, heads: Ints, progress: Sequence[Progress | None]) -> Iterator[Arrived]:
    """Complete keys: each that was searched in part alone, all others together."""
    if not any(progress):
        yield Arrived(rows, heads)
        return
    lengths = np.diff(heads, append=rows.num_rows)
    for head, length, one in zip(heads.tolist(), lengths.tolist(), progress, strict=True):
        if one is not None:
            yield Arrived(rows.slice(head, length), HEAD, one)
    new = np.array([one is None for one in progress])
    if new.any():
        fresh = rows.filter(pa.array(np.repeat(new, lengths)))
        yield Arrived(fresh, np.cumsum(lengths[new]) - lengths[new])


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


def _settled(program: RowProgram, rows: pa.RecordBatch) -> int:
    """How many rows of an open section have their place: rows of the last tick may come in any order."""
    if program.order is None:
        return int(rows.num_rows)
    ticks = _ticks(program.order, rows)
    return len(ticks) - int(np.count_nonzero(ticks == ticks[-1]))


def _in_order(program: RowProgram, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints, Ints | None]:
    """The rows of each key together and in their order, and the rows at which keys begin; and where they were
    before, if they were not in this order."""
    if program.order is None:
        return rows, _key_heads(program, rows), None
    ticks = _ticks(program.order, rows)
    keys = [rows.column(name) for name in program.keys]
    order, heads = mended(keys, _places(program.order, rows), ticks, section_heads(ticks))
    return (rows if order is None else rows.take(pa.array(order))), heads, order


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
