"""From Spark to the kernel for imprecise times, and back: matches with their confidence.

Rows come by key and then by their earliest time. A match belongs to where the first of the latest times of
its events is: not before any of them may begin, and no later than the window after it begins what concerns
it. So of a key that goes on, those matches are final for which that is more than a window before the last
row. A row stays as long as a match that is not final may need it, which may be long if times are wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime.bridge import MOST_MATCHES, ROWS_AT_ONCE, Batches, Counting, Kernel, events_of, explained
from neelc.runtime.buffer import BYTES_AT_ONCE, Buffer, Run, short
from neelc.runtime.columns import Columns, combine
from neelc.runtime.failures import too_many_matches
from neelc.runtime.gathering import count_of, gather, output_schema
from neelc.runtime.imprecise_program import CHUNK, CHUNK_WIDTH, Imprecise
from neelc.runtime.kernels.confidence_ranges import Chances
from neelc.runtime.kernels.events import Events
from neelc.runtime.kernels.matching import event_of
from neelc.runtime.kernels.relaxed import weighed_matches
from neelc.runtime.ordering import sections
from neelc.runtime.segments import FIRST_TIME, LAST_TIME, Bools, Ints

COLUMN = "confidence"


def imprecise(
    program: Imprecise, rows_at_once: int = ROWS_AT_ONCE, most_matches: int = MOST_MATCHES
) -> Kernel:
    """The function that finds the matches of one partition, with their confidence."""
    return partial(_run, program, max(1, rows_at_once), most_matches)


def _run(program: Imprecise, rows_at_once: int, most_matches: int, batches: Batches) -> Batches:
    rows, found = Buffer(), 0
    for batch in short(batches, rows_at_once):
        with explained(program):
            rows = _with(rows, batch)
            run = None
            if (rows.rows >= rows_at_once or rows.bytes >= BYTES_AT_ONCE) and rows.rows >= 2 * rows.tried:
                rows, run = _cut(program, rows)
        if run is not None:
            found = yield from _search(program, run, found, most_matches)
    if rows.rows:
        with explained(program):
            run = _rest(program, rows)
        yield from _search(program, run, found, most_matches)


def _with(buffer: Buffer, batch: pa.RecordBatch) -> Buffer:
    if batch.num_rows == 0:
        return buffer
    parts = (*buffer.parts, batch)
    return replace(buffer, parts=parts, rows=buffer.rows + batch.num_rows, bytes=buffer.bytes + batch.nbytes)


def _rest(program: Imprecise, buffer: Buffer) -> Run:
    """What is left when no more rows will come."""
    columns = combine(program, buffer.parts)
    return _wanted(columns, sections(program, columns, columns.start), buffer.low, LAST_TIME)


def _cut(program: Imprecise, buffer: Buffer) -> tuple[Buffer, Run | None]:
    """What is to be run now, and what waits: of the last key the matches are final that belong to a time more
    than a window before its last row."""
    columns = combine(program, buffer.parts)
    heads = sections(program, columns, columns.start)
    tail = int(heads[-1])
    low = buffer.low if tail == 0 else FIRST_TIME
    high = _final(program, int(columns.start[-1]))
    if high <= max(low, int(columns.end[tail:].min())):
        kept = _kept(buffer, tail, np.ones(len(columns.start) - tail, bool), low)
        run = _wanted(columns.first(tail), heads[:-1], buffer.low, LAST_TIME) if tail else None
        return kept, run
    needed = _needed(program, columns, tail, high)
    return _kept(buffer, tail, needed, high), _wanted(columns, heads, buffer.low, high)


def _final(program: Imprecise, last: int) -> int:
    return FIRST_TIME if program.reach is None else max(FIRST_TIME, last - program.reach)


def _needed(program: Imprecise, columns: Columns, tail: int, high: int) -> Bools:
    """The rows, from `tail` on, that a match may need which belongs to `high` or a later time: its own events
    are there then or later, and what may spoil it not before the earliest of them, or a window before."""
    earliest, latest = columns.start[tail:], columns.end[tail:]
    first = min(high, int(earliest[latest >= high].min(initial=high)))
    if program.looks_back:
        first = max(FIRST_TIME, first - (program.reach or 0))
    return np.asarray(latest >= first)


def _kept(buffer: Buffer, tail: int, needed: Bools, low: int) -> Buffer:
    table = pa.Table.from_batches(buffer.parts).slice(tail)
    parts = tuple((table if needed.all() else table.filter(pa.array(needed))).to_batches())
    rows = sum(part.num_rows for part in parts)
    return Buffer(parts, rows, sum(part.nbytes for part in parts), rows, low)


def _wanted(columns: Columns, heads: Ints, low: int, high: int) -> Run:
    """Of the first key the matches from `low` on, and of the last one those before `high`."""
    lows, highs = np.full(len(heads), FIRST_TIME), np.full(len(heads), LAST_TIME)
    lows[0], highs[-1] = low, high
    return Run(columns, heads, lows, highs)


def _search(program: Imprecise, run: Run, found: int, most_matches: int) -> Counting:
    """The matches of a run, if `found` were found before."""
    with explained(program, run):
        events = _events(program, run)
        schema = output_schema(program, run.columns.schema)
        for piece, confidence in weighed_matches(program, events):
            count = found + count_of(piece)
            if count > most_matches:
                segment = int(events.segment[event_of(piece, most_matches - found)])
                raise too_many_matches(count, most_matches).about(key=run.key_text(program, segment))
            found = count
            yield from _with_confidence(gather(schema, program, run.columns, piece), confidence)
    return found


def _events(program: Imprecise, run: Run) -> Events:
    events = events_of(program, run)
    if not program.is_cut:
        return events
    chunk, width = (run.columns.arrays[name].take(pa.array(run.heads)) for name in (CHUNK, CHUNK_WIDTH))
    return replace(events, owned=in_chunks(*events.owned, chunk.to_numpy(), width.to_numpy()))


def in_chunks(low: Ints, high: Ints, chunk: Ints, width: Ints) -> tuple[Ints, Ints]:
    """For each key the times from `low` to before `high` that lie in its chunk.

    >>> ten = np.array([10, 10])
    >>> lows, highs = in_chunks(np.array([25, -9]), np.array([99, 38]), np.array([2, 3]), ten)
    >>> lows.tolist(), highs.tolist()
    ([25, 30], [30, 38])
    """
    begin = chunk * width
    end = np.where(begin > LAST_TIME - width, LAST_TIME, begin + width)
    return np.maximum(low, begin), np.minimum(high, end)


def _with_confidence(batches: Iterator[pa.RecordBatch], confidence: Chances) -> Batches:
    """The batches of one piece, each with its share of the confidences."""
    begin = 0
    for batch in batches:
        beyond = begin + batch.num_rows
        arrays = [*batch.columns, pa.array(confidence[begin:beyond])]
        yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, COLUMN])
        begin = beyond
