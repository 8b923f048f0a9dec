"""Patterns over imprecise times on the worker: matches with their confidence.

Rows come by key and then by their earliest time. A match belongs to where the first of the latest times of
its events is: not before any of them may begin, and no later than the window after it begins what concerns
it. So of a key that goes on, those matches are final for which that is more than a window before the last
row. A row stays as long as a match that is not final may need it, which may be long if times are wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Bools, Columns, Ints, combine
from neelc.runtime.kernels.confidence.ranges import Chances
from neelc.runtime.kernels.confidence.shapes import time_shapes, with_shapes
from neelc.runtime.kernels.confidence.worlds import weigh_times
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers
from neelc.runtime.kernels.frontier import EventLists, Frontier, root
from neelc.runtime.kernels.gathering import count_of, gather, output_schema
from neelc.runtime.kernels.matching import Piece, columns_of, event_of
from neelc.runtime.kernels.pattern_kernel import (
    SearchRows,
    SectionSearch,
    context_of,
    events_of,
    functions_called,
)
from neelc.runtime.kernels.running import run
from neelc.runtime.kernels.taking import KernelSearch, firsts, groups
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import SectionProgress, sections
from neelc.runtime.program import (
    CHUNK,
    CHUNK_WIDTH,
    CONFIDENCE,
    ImpreciseProgram,
    PatternProgram,
    WeighTimes,
)
from neelc.runtime.user_functions import Function
from neelc.runtime.values.operations import check
from neelc.runtime.worker import (
    MOST_MATCHES,
    ROWS_AT_ONCE,
    Batches,
    BatchFunction,
    NeededRows,
    WorkerKernel,
    WorkerLimits,
    WorkerState,
)

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
        for frontier in _weighed(search):
            piece = dict(columns_of(program.outputs, frontier))
            confidence = np.asarray(frontier.totals[CONFIDENCE].values, np.float64)
            yield {name: _moved(column, numbers) for name, column in piece.items()}, confidence


def _weighed(search: KernelSearch) -> Iterator[Frontier]:
    """The table after all steps. Some matches are weighed only when all rows are there."""
    *steps, last = search.program.steps
    if isinstance(last, WeighTimes):
        return weigh_times(search, last, run(search, tuple(steps), root()), run)
    return run(search, search.program.steps, root())


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
        shapes=None if events.shapes is None else events.shapes.take(order),
        calls={name: call.ordered(order) for name, call in events.calls.items()},
        values=None if events.values is None else partial(_values_of, events.values, order),
    )
    if events.first is None:
        return changed, order
    first, beyond = relaxed_places(changed)
    return replace(changed, first=first, beyond=beyond), order


def _values_of(
    values: Callable[[str, Numbers], Sequence[object]], order: Numbers, name: str, numbers: Numbers
) -> Sequence[object]:
    return values(name, order[numbers])


def relaxed_places(events: KernelEvents) -> tuple[Numbers, Numbers]:
    """For windows that count: how many events of its key may be before the latest time of each event, and how
    many surely are not after its earliest time. From the first of these for one event to the second for
    another, there are no more events than between the two in any world.

    >>> hi, lo = np.array([1, 5, 6]), np.array([1, 2, 6])
    >>> found = relaxed_places(KernelEvents(hi, lo, hi * 0, {}, {}, (hi[:1], hi[:1])))
    >>> [places.tolist() for places in found]
    [[0, 2, 2], [1, 1, 3]]
    """
    first, beyond = np.zeros_like(events.start), np.zeros_like(events.start)
    heads = firsts(events) if len(events.start) else np.zeros(0, np.int64)
    for begin, end in zip(heads.tolist(), [*heads[1:].tolist(), len(events.start)], strict=True):
        latest, earliest = events.start[begin:end], events.end[begin:end]
        first[begin:end] = np.searchsorted(np.sort(earliest), latest, "left")
        beyond[begin:end] = np.searchsorted(latest, earliest, "right")
    return first, beyond


COLUMN = "confidence"


def imprecise(
    program: ImpreciseProgram,
    rows_at_once: int = ROWS_AT_ONCE,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> BatchFunction:
    """The function that finds the matches of one partition, with their confidence. `aggregates` are the
    functions of users that conditions call."""
    functions, limits = functions_called([program], aggregates), WorkerLimits(rows_at_once, most_matches)
    begin = partial(_begin, program, functions)
    function = WorkerKernel(begin, SectionProgress, limits, context_of(program)).function()
    if not program.shapes:
        return function
    return lambda batches: function(map(with_shapes, batches))


def _begin(
    program: ImpreciseProgram,
    functions: Mapping[str, Function],
    state: WorkerState[SectionProgress],
    is_last: bool,
) -> ImpreciseSearch:
    return ImpreciseSearch(program, *_cut(program, state, is_last), functions)


def _cut(
    program: ImpreciseProgram, state: WorkerState[SectionProgress], is_last: bool
) -> tuple[SearchRows | None, NeededRows[SectionProgress]]:
    """What is to be searched now, and what waits: of the last key the matches are final that belong to a time
    more than a window before its last row."""
    columns, before = combine(program, state.parts), state.facts.low
    heads = sections(program, columns, columns.start)
    if is_last:
        return _search_rows(columns, heads, before, LAST_TIME), NeededRows(SectionProgress())
    tail = int(heads[-1])
    low = before if tail == 0 else FIRST_TIME
    high = _final(program, int(columns.start[-1]))
    if high <= max(low, int(columns.end[tail:].min())):
        kept = NeededRows(SectionProgress(low), state.without(tail))
        return (_search_rows(columns.first(tail), heads[:-1], before, LAST_TIME) if tail else None), kept
    needed = _is_needed(program, columns, tail, high)
    rows = pa.Table.from_batches(state.without(tail))
    if not needed.all():
        rows = rows.filter(pa.array(needed))
    kept = NeededRows(SectionProgress(high), tuple(rows.to_batches()))
    return _search_rows(columns, heads, before, high), kept


def _final(program: ImpreciseProgram, last: int) -> int:
    return FIRST_TIME if program.reach is None else max(FIRST_TIME, last - program.reach)


def _is_needed(program: ImpreciseProgram, columns: Columns, tail: int, high: int) -> Bools:
    """The rows, from `tail` on, that a match may need which belongs to `high` or a later time: its own events
    are there then or later, and what may spoil it not before the earliest of them, or a window before."""
    earliest, latest = columns.start[tail:], columns.end[tail:]
    first = min(high, int(earliest[latest >= high].min(initial=high)))
    if program.looks_back:
        first = max(FIRST_TIME, first - (program.reach or 0))
    return np.asarray(latest >= first)


def _search_rows(columns: Columns, heads: Ints, low: int, high: int) -> SearchRows:
    """Of the first key the matches from `low` on, and of the last one those before `high`."""
    lows, highs = np.full(len(heads), FIRST_TIME), np.full(len(heads), LAST_TIME)
    lows[0], highs[-1] = low, high
    return SearchRows(columns, heads, lows, highs)


WeighedPiece = tuple[Piece, Chances]
"""Matches, and the confidence of each."""


@dataclass(eq=False)
class ImpreciseSearch(SectionSearch[SectionProgress, WeighedPiece]):
    """A search for matches with their confidence."""

    program: ImpreciseProgram
    functions: Mapping[str, Function]

    @cached_property
    def events(self) -> KernelEvents:
        assert self.rows is not None, "there are rows to search"
        return _events(self.program, self.rows, self.functions)

    def matches(self) -> Iterator[WeighedPiece]:
        return iter(()) if self.rows is None else weighed_matches(self.program, self.events)

    def gather(self, weighed: WeighedPiece) -> Batches:
        assert self.rows is not None, "there is a match"
        piece, confidence = weighed
        columns = self.rows.columns
        schema = output_schema(self.program, columns.schema)
        return with_confidence(gather(schema, self.program, columns, piece), confidence)

    def count(self, weighed: WeighedPiece) -> int:
        return count_of(weighed[0])

    def location(self, weighed: WeighedPiece, number: int) -> Mapping[str, object]:
        assert self.rows is not None, "there is a match"
        segment = int(self.events.segment[event_of(weighed[0], number)])
        return {"key": self.rows.key_text(self.program, segment)}


def _events(program: ImpreciseProgram, rows: SearchRows, functions: Mapping[str, Function]) -> KernelEvents:
    events = events_of(program, rows, functions)
    if program.shapes:
        events = replace(events, shapes=time_shapes(rows.columns))
    if not program.is_cut:
        return events
    chunk, width = (rows.columns.arrays[name].take(pa.array(rows.heads)) for name in (CHUNK, CHUNK_WIDTH))
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


def with_confidence(batches: Iterator[pa.RecordBatch], confidence: Chances) -> Batches:
    """The batches of one piece, each with its share of the confidences."""
    begin = 0
    for batch in batches:
        beyond = begin + batch.num_rows
        arrays = [*batch.columns, pa.array(confidence[begin:beyond])]
        yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, COLUMN])
        begin = beyond
