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

from neelc.runtime.buffer import BYTES_AT_ONCE, Buffer, SearchRows, short
from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Bools, Columns, Ints, combine
from neelc.runtime.failures import too_many_matches
from neelc.runtime.kernels.confidence.ranges import Chances
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers
from neelc.runtime.kernels.frontier import EventLists, root
from neelc.runtime.kernels.matching import Piece, columns_of, event_of
from neelc.runtime.kernels.pattern_kernel import (
    MOST_MATCHES,
    ROWS_AT_ONCE,
    Batches,
    Counting,
    Kernel,
    count_of,
    events_of,
    explained,
    gather,
    output_schema,
)
from neelc.runtime.kernels.running import run
from neelc.runtime.kernels.taking import KernelSearch, groups
from neelc.runtime.order import sections
from neelc.runtime.program import CHUNK, CHUNK_WIDTH, CONFIDENCE, ImpreciseProgram, PatternProgram
from neelc.runtime.values.operations import check

# Imprecise events as kernels search them, and the matches with their confidence.
#
# An event that is at one of lo..hi starts at hi here, and ends at lo. Then "one ends before the other
# starts" is "one can be before the other", and "they start and end within a window" is "they can be within
# it": what a step binds an event to is a superset of what is right in any world, and `Likely` and `Weigh`
# do the rest.


def weighed_matches(
    program: PatternProgram, events: KernelEvents, most_rows: int = 2_000_000
) -> Iterator[tuple[Piece, Chances]]:
    """The matches in pieces, each with its confidence. `events` start at their earliest time and end at their
    latest; a match belongs to the range in which the first of the latest times of its events is."""
    check(program)
    relaxed_events, order = relaxed(events)
    for begin, group, line in groups(relaxed_events):
        search = KernelSearch(program, group, line, most_rows)
        numbers = order[begin : begin + len(group.start)]
        for frontier in run(search, program.steps, root()):
            piece = dict(columns_of(program.outputs, frontier))
            confidence = np.asarray(frontier.totals[CONFIDENCE].values, np.float64)
            yield {name: _moved(column, numbers) for name, column in piece.items()}, confidence


def _moved(column: Numbers | EventLists, numbers: Numbers) -> Numbers | EventLists:
    """With the numbers that the events had before."""
    if isinstance(column, EventLists):
        return replace(column, pool=numbers[column.pool])
    return np.where(column < 0, column, numbers[column])


def relaxed(events: KernelEvents) -> tuple[KernelEvents, Numbers]:
    """The events by their latest time, with the number that each had.

    >>> at = np.array([1, 2, 3])
    >>> given = KernelEvents(at, np.array([9, 4, 3]), at * 0, {"A": np.array([0, 2])}, {}, (at[:1], at[:1]))
    >>> found, order = relaxed(given)
    >>> found.start.tolist(), found.end.tolist(), order.tolist(), found.roles["A"].tolist()
    ([3, 4, 9], [3, 2, 1], [2, 1, 0], [0, 2])
    """
    order = np.lexsort((events.end, events.segment))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))

    def ordered(column: NullableArray) -> NullableArray:
        return NullableArray(column.values[order], None if column.valid is None else column.valid[order])

    changed = replace(
        events,
        start=events.end[order],
        end=events.start[order],
        segment=events.segment[order],
        roles={role: np.sort(place[numbers]) for role, numbers in events.roles.items()},
        columns={name: ordered(column) for name, column in events.columns.items()},
    )
    return changed, order


COLUMN = "confidence"


def imprecise(
    program: ImpreciseProgram, rows_at_once: int = ROWS_AT_ONCE, most_matches: int = MOST_MATCHES
) -> Kernel:
    """The function that finds the matches of one partition, with their confidence."""
    return partial(_run, program, max(1, rows_at_once), most_matches)


def _run(program: ImpreciseProgram, rows_at_once: int, most_matches: int, batches: Batches) -> Batches:
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


def _rest(program: ImpreciseProgram, buffer: Buffer) -> SearchRows:
    """What is left when no more rows will come."""
    columns = combine(program, buffer.parts)
    return _wanted(columns, sections(program, columns, columns.start), buffer.low, LAST_TIME)


def _cut(program: ImpreciseProgram, buffer: Buffer) -> tuple[Buffer, SearchRows | None]:
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


def _final(program: ImpreciseProgram, last: int) -> int:
    return FIRST_TIME if program.reach is None else max(FIRST_TIME, last - program.reach)


def _needed(program: ImpreciseProgram, columns: Columns, tail: int, high: int) -> Bools:
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


def _wanted(columns: Columns, heads: Ints, low: int, high: int) -> SearchRows:
    """Of the first key the matches from `low` on, and of the last one those before `high`."""
    lows, highs = np.full(len(heads), FIRST_TIME), np.full(len(heads), LAST_TIME)
    lows[0], highs[-1] = low, high
    return SearchRows(columns, heads, lows, highs)


def _search(program: ImpreciseProgram, run: SearchRows, found: int, most_matches: int) -> Counting:
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


def _events(program: ImpreciseProgram, run: SearchRows) -> KernelEvents:
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
