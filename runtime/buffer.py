"""Rows that wait until their matches can be found: a value, and the step that a batch makes.

Rows come in sections (`ordering.py`): in the plainest order, each is a key, in the order of time. All
sections but the last one seen are complete. Of the last one, with a window of `reach`, the matches that start
before `last start seen - reach` are complete as well: whatever concerns them has been seen. The rows that a
later match may need stay in the buffer; all others leave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Columns, Ints, combine, times
from neelc.runtime.order import floors, in_order, sections
from neelc.runtime.program import PatternProgram

# Arrow counts the bytes of a string column with 32 bits, so a run should stay below 2 GiB.
BYTES_AT_ONCE = 1 << 30


@dataclass(frozen=True)
class Buffer:
    """Rows that wait. The first `tried` of them are of one section and were there when it was last looked at;
    the matches in this section that start before `low` are done."""

    parts: tuple[pa.RecordBatch, ...] = ()
    rows: int = 0
    bytes: int = 0
    tried: int = 0
    low: int = FIRST_TIME


@dataclass(frozen=True)
class SearchRows:
    """Rows to find matches in: `heads` are the rows at which keys begin. Wanted are the matches that start in
    the range of their key, from `low` to before `high`."""

    columns: Columns
    heads: Ints
    low: Ints
    high: Ints

    def key_text(self, program: PatternProgram, segment: int) -> dict[str, str | None]:
        """The key with this number, for messages."""
        return self.columns.key_text(program, int(self.heads[segment]))


def short(batches: Iterator[pa.RecordBatch], rows_at_once: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are not too long."""
    for batch in batches:
        for first in range(0, batch.num_rows, rows_at_once):
            yield batch.slice(first, rows_at_once)


def step(
    program: PatternProgram, rows_at_once: int, buffer: Buffer, batch: pa.RecordBatch
) -> tuple[Buffer, SearchRows | None]:
    """The buffer with the rows of a batch, and what is to be run now."""
    if batch.num_rows == 0:
        return buffer, None
    buffer = replace(
        buffer,
        parts=(*buffer.parts, batch),
        rows=buffer.rows + batch.num_rows,
        bytes=buffer.bytes + batch.nbytes,
    )
    is_full = buffer.rows >= rows_at_once or buffer.bytes >= BYTES_AT_ONCE
    return _cut(program, buffer) if is_full and _is_worth_it(program, buffer) else (buffer, None)


def rest(program: PatternProgram, buffer: Buffer) -> SearchRows | None:
    """What is to be run when no more rows will come."""
    if buffer.rows == 0:
        return None
    columns = combine(program, buffer.parts)
    floor = floors(program, columns.start)
    return _run(program, columns, sections(program, columns, floor), floor, buffer.low, LAST_TIME)


def _is_worth_it(program: PatternProgram, buffer: Buffer) -> bool:
    """Whether a key is complete; or the rows have doubled since they were last looked at, and the window has
    moved: so a long key is not looked at again for every batch, and the work stays linear."""
    if program.grain is not None:
        return buffer.rows >= 2 * buffer.tried
    if _is_many_keys(program, buffer):
        return True
    if not _is_windowed(program) or buffer.rows < 2 * buffer.tried:
        return False
    first, last = (int(times(row.column("start"), "start")[0]) for row in _ends(buffer))
    return last - _reach(program) > max(buffer.low, first)


def _is_many_keys(program: PatternProgram, buffer: Buffer) -> bool:
    first, last = _ends(buffer)
    pairs = (pa.chunked_array([first.column(key), last.column(key)]).combine_chunks() for key in program.keys)
    return any(segments.changes(pair).any() for pair in pairs)


def _ends(buffer: Buffer) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The first row and the last one."""
    last = buffer.parts[-1]
    return buffer.parts[0].slice(0, 1), last.slice(last.num_rows - 1)


def _cut(program: PatternProgram, buffer: Buffer) -> tuple[Buffer, SearchRows | None]:
    columns = combine(program, buffer.parts)
    floor = floors(program, columns.start)
    begins = sections(program, columns, floor)
    tail = int(begins[-1])
    low = buffer.low if tail == 0 else FIRST_TIME
    last = floor[tail:]
    high = int(last[-1]) - _reach(program) if _is_windowed(program) else FIRST_TIME
    if high <= max(low, int(last[0])):
        # Nothing of the last section is complete: it waits as it is.
        kept = _without(buffer, tail, low)
        if tail == 0:
            return kept, None
        return kept, _run(program, columns.first(tail), begins[:-1], floor[:tail], buffer.low, LAST_TIME)
    grain = program.grain or 1
    next_start = int(last[np.searchsorted(last, high - grain, side="right")])
    needed = max(next_start - _reach(program), FIRST_TIME) if program.looks_back else next_start
    kept = _without(buffer, tail + int(np.searchsorted(last, needed - grain, side="right")), high)
    return kept, _run(program, columns, begins, floor, buffer.low, high)


def _run(
    program: PatternProgram, columns: Columns, begins: Ints, floor: Ints, low: int, high: int
) -> SearchRows:
    """What is wanted of the first section starts at `low` or later, and of the last one before `high`."""
    columns, heads = in_order(program, columns, begins, floor)
    second = begins[1] if len(begins) > 1 else len(floor)
    lows = np.where(heads < second, np.int64(low), FIRST_TIME)
    highs = np.where(heads >= begins[-1], np.int64(high), LAST_TIME)
    return SearchRows(columns, heads, lows, highs)


def _without(buffer: Buffer, count: int, low: int) -> Buffer:
    """The buffer without its first `count` rows. Slices of the batches as they came: nothing is copied, and
    of one batch at most more is kept alive than is needed."""
    parts: list[pa.RecordBatch] = []
    skipped = 0
    for part in buffer.parts:
        if count < skipped + part.num_rows:
            parts.append(part.slice(max(0, count - skipped)))
        skipped += part.num_rows
    rows = buffer.rows - count
    return Buffer(tuple(parts), rows, sum(part.nbytes for part in parts), rows, low)


def _is_windowed(program: PatternProgram) -> bool:
    return program.reach is not None and not program.counted


def _reach(program: PatternProgram) -> int:
    return program.reach or 0
