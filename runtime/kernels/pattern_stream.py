"""Patterns over streams without end: the kernel that finds matches in batches finds them here too, among the
events that are kept and the new ones; what is emitted are the matches that are sure now and were not before.

A match is sure when no event that has yet to come can take it back. A match of a pattern without a negation
is sure at once; others when the watermark has passed their scopes: `Emission` says which. Since all events
up to the watermark are known, a match that was sure at an earlier call was found by that call, and is not
emitted again:

    sure(now) and not (all its events had come before, and sure(before))

Kept are the events that a match may have, or be spoiled by, that is not sure yet: those that start less
than a window before the watermark, or two windows where a match that waits for a window may be spoiled by
what comes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neelc.runtime.columns import (
    FIRST_TIME,
    LAST_TIME,
    Bools,
    Columns,
    Ints,
    combine,
    earlier,
    names,
    numbers,
    selected,
)
from neelc.runtime.kernels.frontier import EventLists, distinct
from neelc.runtime.kernels.gathering import count_of, gather, in_larger_pieces, output_schema
from neelc.runtime.kernels.matching import (
    KeepingState,
    Piece,
    kept,
    matches,
    taken_matches,
    united_columns,
)
from neelc.runtime.kernels.pattern_kernel import SearchRows, context_of, events_of, functions_called
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.moments import order_codes
from neelc.runtime.order import by_key_and_time, key_codes
from neelc.runtime.program import (
    END,
    MATCH_END,
    MATCH_START,
    Emission,
    MatchGrouping,
    MatchSelection,
    MatchValue,
    PatternProgram,
    ScopeEnd,
    StreamedPattern,
)
from neelc.runtime.streaming import StreamMemory, StreamStep, WatermarkMove
from neelc.runtime.user_functions import Function
from neelc.runtime.worker import MOST_MATCHES, explained, one_batch

EVENTS, ROWS = "events", "rows"
"""What is kept: events, and rows that are not to be emitted again."""


@dataclass(frozen=True)
class PatternStream:
    """The matches of a program, as a kernel for streams. More than `most_matches` in one call are a
    failure."""

    streamed: StreamedPattern
    most_matches: int = MOST_MATCHES
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def program(self) -> PatternProgram:
        return self.streamed.program

    @property
    def emission(self) -> Emission:
        return self.streamed.emission

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        if self.program.kept is not None:
            return KeptStream(self, self.program.kept).advance(memory, rows, move)
        kept = memory.tables.get(EVENTS, ())
        emitted = EmittedRows(self.streamed, memory.tables.get(ROWS, ()))
        if not kept and not rows:
            return StreamStep((), StreamMemory({}, emitted.tables(move.now)), emitted.wake())
        with explained(context_of(self.program)):
            used = columns_used(self.program, self.streamed.distinct)
            known = known_events(self.program, kept, rows, used)
            results = list(self._results(known, move, emitted))
            left = known.rows(are_needed(self.streamed, known, move.now))
        tables = {EVENTS: left.batches(), **emitted.tables(move.now)}
        wakes = [self._wake(left, move.now), emitted.wake()]
        wake = min((one for one in wakes if one is not None), default=None)
        return StreamStep(results, StreamMemory({}, tables), wake)

    def _results(
        self, known: KnownEvents, move: WatermarkMove, emitted: EmittedRows
    ) -> Iterator[pa.RecordBatch]:
        active = known.of_keys(are_touched(self.streamed, known, move))
        if not len(active.columns.start):
            return
        schema = output_schema(self.program, active.columns.schema)
        found = newly_sure(
            self.streamed, active, move, self._matches(active), lambda: self._matches(active.old)
        )
        for piece in in_larger_pieces(found):
            new = piece if self.streamed.distinct is None else emitted.new(piece, active.columns)
            yield from gather(schema, self.program, active.columns, new)

    def _matches(self, known: KnownEvents) -> Iterator[Piece]:
        if not len(known.columns.start):
            return
        events = events_of(self.program, known.to_search(), self.functions)
        yield from matches(self.program, events, most_matches=self.most_matches)

    def _wake(self, left: KnownEvents, now: int) -> int | None:
        """With something pending, whenever the watermark moves; else when nothing is needed any more."""
        start = left.columns.start
        if not len(start):
            return None
        if not self.emission.is_immediate:
            return now + 1
        keep = time_kept(self.streamed)
        return None if keep is None else int(start.max()) + keep


def pattern_stream(
    streamed: StreamedPattern,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> PatternStream:
    """The kernel of a program. `aggregates` are the functions of users that conditions call."""
    return PatternStream(streamed, most_matches, functions_called([streamed.program], aggregates))


# The events that are known.


@dataclass(frozen=True, eq=False)
class KnownEvents:
    """Events, the rows of each key together and in the order of time; `key` numbers the keys, not without
    gaps."""

    columns: Columns
    key: Ints
    is_new: Bools

    @property
    def heads(self) -> Ints:
        return np.flatnonzero(np.diff(self.key, prepend=-1)).astype(np.int64, copy=False)

    @cached_property
    def old(self) -> KnownEvents:
        """The events that had come before."""
        return self.rows(~self.is_new)

    def rows(self, chosen: Bools) -> KnownEvents:
        if chosen.all():
            return self
        places = np.flatnonzero(chosen)
        return KnownEvents(self.columns.take(places), self.key[places], self.is_new[places])

    def of_keys(self, rows: Bools) -> KnownEvents:
        """All events of the keys that these rows have."""
        if rows.all():
            return self
        of_key = numbers(self.heads, len(rows))
        found = np.zeros(len(self.heads), dtype=np.bool_)
        found[of_key[rows]] = True
        return self.rows(found[of_key])

    def to_search(self, low: int = FIRST_TIME, high: int = LAST_TIME) -> SearchRows:
        """Matches are searched that start from `low` to before `high`."""
        heads = self.heads
        return SearchRows(self.columns, heads, np.full(len(heads), low), np.full(len(heads), high))

    def batches(self) -> tuple[pa.RecordBatch, ...]:
        count = len(self.columns.start)
        if not count:
            return ()
        schema = self.columns.schema
        arrays = [_typed(self.columns.arrays[field.name], field.type) for field in schema]
        return (pa.RecordBatch.from_arrays(arrays, schema=schema),)


def _typed(array: pa.Array, type: pa.DataType) -> pa.Array:
    return array if array.type == type else array.cast(type)


def columns_used(program: PatternProgram, grouping: MatchGrouping | None = None) -> tuple[str, ...]:
    """The columns of events that a program reads, with what matches are grouped by."""
    return tuple(dict.fromkeys((*names(program), *(grouping.columns if grouping else ()))))


def known_events(
    program: PatternProgram,
    kept: Sequence[pa.RecordBatch],
    new: Sequence[pa.RecordBatch],
    used: tuple[str, ...],
) -> KnownEvents:
    """All events, in order, with the columns that are `used`."""
    parts = [selected(batch, used) for batch in (*kept, *new)]
    columns = combine(program, parts, used)
    count = len(columns.start)
    is_new = np.arange(count) >= sum(part.num_rows for part in kept)
    key = key_codes([columns.arrays[name] for name in program.keys], count)
    order = by_key_and_time(key, columns.start)
    if program.order:
        codes = order_codes([columns.arrays[name] for name in program.order])
        order = np.lexsort((codes, columns.start, key))
    return KnownEvents(columns.take(order), key[order], is_new[order])


class EventStream:
    """A kernel for streams that keeps events, and nothing else: with what it groups by, if it does."""

    @property
    def program(self) -> PatternProgram:
        raise NotImplementedError

    @property
    def grouping(self) -> MatchGrouping | None:
        return None

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of events that are read, and kept."""
        return columns_used(self.program, self.grouping)

    def results(self, known: KnownEvents, move: WatermarkMove) -> Iterator[pa.RecordBatch]:
        """What is sure now, and was not before."""
        raise NotImplementedError

    def needed(self, known: KnownEvents, now: int) -> Bools:
        """The events that are kept."""
        raise NotImplementedError

    def wake(self, left: KnownEvents, now: int) -> int | None:
        """When the kernel must be called again; some events are `left`."""
        raise NotImplementedError

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        kept = memory.tables.get(EVENTS, ())
        if not kept and not rows:
            return StreamStep()
        with explained(context_of(self.program)):
            known = known_events(self.program, kept, rows, self.used)
            results = list(self.results(known, move))
            left = known.rows(self.needed(known, move.now))
        wake = self.wake(left, move.now) if len(left.columns.start) else None
        return StreamStep(results, StreamMemory({}, {EVENTS: left.batches()}), wake)


def passed_times(move: WatermarkMove, window: int) -> tuple[int, int]:
    """The times, from the first to before the last, whose window has passed now and had not before.

    >>> passed_times(WatermarkMove(30, 50), 10)
    (21, 41)
    >>> passed_times(WatermarkMove(FIRST_TIME, 50), 10) == (FIRST_TIME, 41)
    True
    """
    first = earlier(move.before, window) + (move.before > FIRST_TIME + window)
    return first, earlier(move.now, window) + 1


def time_kept(streamed: StreamedPattern) -> int | None:
    """How long before the watermark an event that is needed may start; with a window of EVENTS there is no
    such time."""
    return None if streamed.window is None else streamed.window * streamed.windows_kept


def are_needed(streamed: StreamedPattern, known: KnownEvents, now: int) -> Bools:
    """The events that matches may have, or be spoiled by, that are not sure yet."""
    start = known.columns.start
    if streamed.single:
        return np.zeros(len(start), dtype=np.bool_)
    keep = time_kept(streamed)
    if keep is not None:
        return start > earlier(now, keep)
    assert streamed.events is not None, "without a window, nothing could ever be forgotten"
    # A window of EVENTS that reaches beyond the watermark has fewer of them before.
    most = streamed.events * streamed.windows_kept
    return (start > now) | (_known_from(known, now) <= most)


def _known_from(known: KnownEvents, watermark: int) -> Ints:
    """How many events up to the watermark the key of each event has from the instant of that event on."""
    start = known.columns.start
    of_key = numbers(known.heads, len(start))
    passed = np.cumsum(start <= watermark, dtype=np.int64)
    last = np.append(known.heads[1:], len(start)) - 1
    found: Ints = passed[last][of_key] - _before(passed, start, of_key)
    return found


def _before(passed: Ints, start: Ints, of_key: Ints) -> Ints:
    """How many of the rows that `passed` counts come before each instant: simultaneous events are one
    step."""
    count = len(start)
    begins = np.ones(count, dtype=np.bool_)
    begins[1:] = (start[1:] != start[:-1]) | (of_key[1:] != of_key[:-1])
    first = np.maximum.accumulate(np.where(begins, np.arange(count), 0))
    return np.where(first > 0, passed[np.maximum(first - 1, 0)], 0)


def are_touched(streamed: StreamedPattern, known: KnownEvents, move: WatermarkMove) -> Bools:
    """The events by which a match can have become sure: new ones, or old ones that the watermark passes
    now."""
    start, emission = known.columns.start, streamed.emission
    touched = known.is_new.copy()
    if emission.end or emission.scopes:
        touched |= (start > move.before) & (start - 1 <= move.now)
        if known.columns.end is not start:
            touched |= (known.columns.end > move.before) & (known.columns.end <= move.now)
    if emission.may_wait and streamed.window is None:
        touched[:] = True
    elif emission.may_wait and streamed.window is not None:
        passed = start + streamed.window
        touched |= (passed > move.before) & (passed <= move.now)
    return touched


# When matches are sure.


def newly_sure(
    streamed: StreamedPattern,
    known: KnownEvents,
    move: WatermarkMove,
    found: Iterable[Piece],
    found_before: Callable[[], Iterable[Piece]],
) -> Iterator[Piece]:
    """Of the matches that are `found` among the known events, those that are sure now and were not before.
    `found_before` gives the matches among the old events, for programs that have to compare."""
    surely = Surely(streamed, known)
    if streamed.emission.compared:
        now = [_chosen(piece, surely(piece, move.now)) for piece in found]
        sure_then = Surely(streamed, known.old)
        before = [_chosen(piece, sure_then(piece, move.before)) for piece in found_before()]
        yield from _not_among(before, now, known)
        return
    for piece in found:
        was_sure = are_old(piece, known) & surely(piece, move.before)
        yield _chosen(piece, surely(piece, move.now) & ~was_sure)


def _not_among(before: Sequence[Piece], now: Sequence[Piece], known: KnownEvents) -> Iterator[Piece]:
    """Of matches, those that were not found among the old events."""
    places = np.flatnonzero(~known.is_new)
    pieces = [{name: _moved(column, places) for name, column in piece.items()} for piece in before]
    count = sum(map(count_of, pieces))
    whole = [piece for piece in (*pieces, *now) if count_of(piece)]
    if not whole:
        return
    united = {name: united_columns([piece[name] for piece in whole]) for name in whole[0]}
    first, _ = distinct(
        [column.codes() if isinstance(column, EventLists) else column for column in united.values()]
    )
    yield taken_matches(united, np.sort(first[first >= count]))


@dataclass(frozen=True)
class Surely:
    """Whether matches among events are sure at a watermark."""

    streamed: StreamedPattern
    known: KnownEvents

    def __call__(self, piece: Piece, watermark: int) -> Bools:
        count, emission = count_of(piece), self.streamed.emission
        sure = np.ones(count, dtype=np.bool_)
        for scope in emission.scopes:
            sure &= self._is_closed(scope, piece, count, watermark)
        if emission.end:
            sure &= self._end(piece, count) <= watermark
        if emission.window:
            sure &= self._is_past(piece, count, watermark)
        return sure

    def _is_closed(self, scope: ScopeEnd, piece: Piece, count: int, watermark: int) -> Bools:
        """Whether what a negation looks at has passed, for each match."""
        least, present = self._least({name: piece[name] for name in scope.events}, count)
        # Where columns order events of the same time, one that has yet to come may be just before the event.
        closed = (least if self.streamed.program.order else least - 1) <= watermark
        if scope.otherwise is None:
            closed |= ~present
        elif not present.all():
            is_end = scope.otherwise == END
            past = self._end(piece, count) <= watermark if is_end else self._is_past(piece, count, watermark)
            closed = np.where(present, closed, past)
        if scope.next_after:
            last = np.full(count, -1, dtype=np.int64)
            for row, event in _events({name: piece[name] for name in scope.next_after}):
                _fold(np.maximum, last, row, event)
            closed |= (last >= 0) & (self._next_start[last] <= watermark)
        if scope.taken is not None:
            _, taken = self._least({scope.taken: piece[scope.taken]}, count)
            closed |= ~taken
        return closed

    @cached_property
    def _next_start(self) -> Ints:
        """When the next event of its key starts that is later than an event."""
        start = self.known.columns.start
        found = np.full(len(start) + 1, LAST_TIME, dtype=np.int64)
        of_key = numbers(self.known.heads, len(start))
        begins = np.flatnonzero((np.diff(of_key) != 0) | (np.diff(start) != 0)) + 1
        following = np.append(begins, len(start))[
            np.searchsorted(begins, np.arange(len(start)), side="right")
        ]
        there = following < len(start)
        there[there] = of_key[following[there]] == of_key[there]
        found[:-1][there] = start[following[there]]
        return found

    def _is_past(self, piece: Piece, count: int, watermark: int) -> Bools:
        """Whether a window from the start of each match on has passed."""
        if self.streamed.program.collapsed:
            # Lists hold the events of all matches with the same single events, each a window long.
            piece = {name: column for name, column in piece.items() if not isinstance(column, EventLists)}
        if self.streamed.window is not None:
            least, _ = self._least(piece, count)
            return least + self.streamed.window <= watermark
        first = self._first(piece, count)
        # An event that lasts must also end before the first one behind the window starts.
        most = (self.streamed.events or 0) + self.streamed.program.lasting
        return _known_from(self.known, watermark)[first] >= most

    def _least(self, piece: Piece, count: int) -> tuple[Ints, Bools]:
        """When the first event of each match starts, and whether there is one."""
        least = np.full(count, LAST_TIME, dtype=np.int64)
        present = np.zeros(count, dtype=np.bool_)
        for row, event in _events(piece):
            _fold(np.minimum, least, row, self.known.columns.start[event])
            present[slice(None) if row is None else row] = True
        return least, present

    def _first(self, piece: Piece, count: int) -> Ints:
        """The first event of each match: events are in the order of time."""
        first = np.full(count, LAST_TIME, dtype=np.int64)
        for row, event in _events(piece):
            _fold(np.minimum, first, row, event)
        return first

    def _end(self, piece: Piece, count: int) -> Ints:
        end = np.full(count, FIRST_TIME, dtype=np.int64)
        for row, event in _events(piece):
            _fold(np.maximum, end, row, self.known.columns.end[event])
        return end


def _events(piece: Piece) -> Iterator[tuple[Ints | None, Ints]]:
    """All events of matches, column by column, each with the row of its match; None: each row has one."""
    for column in piece.values():
        if isinstance(column, EventLists):
            row, place = column.row_and_place()
            event = column.pool[place]
        elif len(column) and column.min() >= 0:
            yield None, column
            continue
        else:
            row, event = np.arange(len(column)), column
        yield row[event >= 0], event[event >= 0]


def _fold(function: np.ufunc, into: Ints, row: Ints | None, values: Ints) -> None:
    """Note the least, or the greatest, of values in each row."""
    if row is None:
        function(into, values, out=into)
    else:
        function.at(into, row, values)


def are_old(piece: Piece, known: KnownEvents) -> Bools:
    """The matches all of whose events had come before."""
    old = np.ones(count_of(piece), dtype=np.bool_)
    for row, event in _events(piece):
        if row is None:
            old &= ~known.is_new[event]
        else:
            old[row[known.is_new[event]]] = False
    return old


def _chosen(piece: Piece, rows: Bools) -> Piece:
    return piece if rows.all() else taken_matches(piece, np.flatnonzero(rows))


def _moved(column: Ints | EventLists, places: Ints) -> Ints | EventLists:
    """Events by their places among all, given those among some of them."""
    if isinstance(column, EventLists):
        pool = np.where(column.pool < 0, column.pool, places[column.pool])
        return replace(column, pool=pool)
    return np.where(column < 0, column, places[column])


# Matches that belong together: RETURN DISTINCT emits the first of them.


def match_values(values: Sequence[MatchValue], piece: Piece, columns: Columns) -> list[pa.Array]:
    """The values of each match. Zero has no sign."""
    return [_unsigned(_match_value(value, piece, columns)) for value in values]


def _match_value(value: MatchValue, piece: Piece, columns: Columns) -> pa.Array:
    if value.variable is not None:
        numbers = piece[value.variable]
        assert not isinstance(numbers, EventLists), "a list has no single value"
        return columns.arrays[value.column].take(pa.array(numbers, mask=numbers < 0))
    count = count_of(piece)
    is_start = value.column == MATCH_START
    found = np.full(count, LAST_TIME if is_start else FIRST_TIME, dtype=np.int64)
    if value.computed is not None:
        times = group_times(columns.arrays[value.computed])
    else:
        times = columns.start if is_start else columns.end
    for row, event in _events(piece):
        _fold(np.minimum if is_start else np.maximum, found, row, times[event])
    return pa.array(found)


def group_times(array: pa.Array) -> Ints:
    """Times that are computed; what has none is later than all others."""
    filled = array.cast(pa.int64()).fill_null(LAST_TIME)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _unsigned(array: pa.Array) -> pa.Array:
    return pc.add(array, pa.scalar(0, array.type)) if pa.types.is_floating(array.type) else array


@dataclass(eq=False)
class EmittedRows:
    """The values of rows that matches to come may have again: a match reaches no further than a window from
    the time that is among its values."""

    streamed: StreamedPattern
    batches: tuple[pa.RecordBatch, ...]

    def new(self, piece: Piece, columns: Columns) -> Piece:
        """The matches whose values were not there before, one of each; they are there now."""
        assert self.streamed.distinct is not None
        values = match_values(self.streamed.distinct.values, piece, columns)
        added = pa.RecordBatch.from_arrays(values, names=[f"v{n}" for n in range(len(values))])
        if not added.num_rows:
            return piece
        whole = pa.Table.from_batches([*self.batches, added]).combine_chunks()
        codes = key_codes([column.combine_chunks() for column in whole.columns], whole.num_rows)
        _, first = np.unique(codes, return_index=True)
        before = whole.num_rows - added.num_rows
        new = np.sort(first[first >= before]) - before
        self.batches = (*self.batches, added.take(pa.array(new)))
        return taken_matches(piece, new)

    def tables(self, now: int) -> dict[str, tuple[pa.RecordBatch, ...]]:
        """What is kept of it."""
        if not self.batches:
            return {}
        limit = earlier(now, self._window)
        left = (batch.filter(pa.array(self._time(batch) > limit)) for batch in self.batches)
        self.batches = tuple(batch for batch in left if batch.num_rows)
        return {ROWS: self.batches} if self.batches else {}

    def wake(self) -> int | None:
        """When nothing of it is needed any more."""
        latest = [int(self._time(batch).max()) for batch in self.batches]
        return max(latest) + self._window if latest else None

    def _time(self, batch: pa.RecordBatch) -> Ints:
        assert self.streamed.distinct is not None
        return group_times(batch.column(self.streamed.distinct.time))

    @property
    def _window(self) -> int:
        assert self.streamed.window is not None, "a window of EVENTS says nothing of times"
        return self.streamed.window


# Which matches are kept: ONE MATCH PER, AFTER MATCH SKIP, SUPPRESS.
#
# Matches are compared in the order of their starts. All that start at a time are known when the watermark is
# a window later: a call decides on those whose start the watermark passes, less a window. Of those that were
# kept before, it is known for each key from when on the next one may start, and end.


@dataclass(frozen=True)
class KeptStream:
    """The matches of a program that are to be kept, as a kernel for streams."""

    of: PatternStream
    spec: MatchSelection

    @property
    def window(self) -> int:
        assert self.of.streamed.window is not None, "a window of EVENTS says nothing of times"
        return self.of.streamed.window

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        program, events = self.of.program, memory.tables.get(EVENTS, ())
        before = KeptBefore(memory.tables.get(ROWS, ()))
        undecided = earlier(move.now, self.window) + 1
        if not events and not rows:
            after = before.needed(undecided)
            return StreamStep((), StreamMemory({}, after.tables), after.wake(self.window))
        with explained(context_of(program)):
            known = known_events(program, events, rows, columns_used(program))
            results, before = self._results(known, move, before)
            left = known.rows(are_needed(self.of.streamed, known, move.now))
        after = before.needed(undecided)
        wakes = [self._wake(left, undecided), after.wake(self.window)]
        wake = min((one for one in wakes if one is not None), default=None)
        return StreamStep(results, StreamMemory({}, {EVENTS: left.batches(), **after.tables}), wake)

    def _wake(self, left: KnownEvents, undecided: int) -> int | None:
        """When a match may start that can be decided on; after the last one, when no event is needed."""
        start, keep = left.columns.start, time_kept(self.of.streamed)
        if not len(start) or keep is None:
            return None
        waiting = start[start >= undecided]
        return int(waiting.min()) + self.window if len(waiting) else int(start.max()) + keep

    def _results(
        self, known: KnownEvents, move: WatermarkMove, before: KeptBefore
    ) -> tuple[list[pa.RecordBatch], KeptBefore]:
        """The matches that are kept of those that start in the time that is decided now."""
        first, beyond = passed_times(move, self.window)
        start = known.columns.start
        active = known.of_keys((start >= first) & (start < beyond))
        if beyond <= first or not len(active.columns.start):
            return [], before
        program = self.of.program
        rows = active.to_search(earlier(first, self.window) if self.spec.one_per else first, beyond)
        events = events_of(program, rows, self.of.functions)
        heads, schema = pa.array(rows.heads), active.columns.schema
        keys = [
            _typed(active.columns.arrays[key].take(heads), schema.field(key).type) for key in program.keys
        ]
        state = before.of_keys(keys, len(rows.heads), first)
        every = matches(replace(program, kept=None), events, most_matches=self.of.most_matches)
        results = [
            batch
            for piece in kept(every, program, self.spec, events, state)
            for batch in gather(output_schema(program, schema), program, active.columns, piece)
        ]
        return results, before.with_state(keys, state)


RANK = "rank"


@dataclass(frozen=True, eq=False)
class KeptBefore:
    """What is known of matches that were kept: rows of keys, and from when on the next one may start and
    end; and the ranks of `KeepingState`."""

    batches: tuple[pa.RecordBatch, ...]

    @property
    def tables(self) -> dict[str, tuple[pa.RecordBatch, ...]]:
        return {ROWS: self.batches} if self.batches else {}

    def of_keys(self, keys: Sequence[pa.Array], count: int, since: int) -> KeepingState:
        """What is known of some keys, of which there are `count`."""
        state = KeepingState(
            np.full(count, FIRST_TIME), np.full(count, FIRST_TIME), np.zeros(count, np.int64), since
        )
        for batch in self.batches:
            own, known = self._codes(batch, keys, count)
            place = np.searchsorted(np.sort(own), known)
            order = np.argsort(own)
            place = np.minimum(place, len(own) - 1)
            found = own[order[place]] == known
            rows = order[place[found]]
            state.starts[found] = batch[MATCH_START].to_numpy()[rows]  # a key is in one row at most
            state.ends[found] = batch[MATCH_END].to_numpy()[rows]
            state.ranks[found] = batch[RANK].to_numpy()[rows]
        return state

    def with_state(self, keys: Sequence[pa.Array], state: KeepingState) -> KeptBefore:
        """With what is known of some keys now, in place of what was."""
        count = len(state.starts)
        others = []
        for batch in self.batches:
            own, known = self._codes(batch, keys, count)
            others.append(batch.filter(pa.array(~np.isin(own, known))))
        names = [*(f"k{place}" for place in range(len(keys))), MATCH_START, MATCH_END, RANK]
        bounds = [pa.array(one) for one in (state.starts, state.ends, state.ranks)]
        now = pa.RecordBatch.from_arrays([*keys, *bounds], names=names)
        return KeptBefore(tuple(batch for batch in (*others, now) if batch.num_rows))

    def _codes(self, batch: pa.RecordBatch, keys: Sequence[pa.Array], count: int) -> tuple[Ints, Ints]:
        """Numbers for the keys of a batch, and for others: the same for the same key."""
        both = [
            pa.concat_arrays([batch.column(place), key.cast(batch.column(place).type)])
            for place, key in enumerate(keys)
        ]
        codes = key_codes(both, batch.num_rows + count)
        return codes[: batch.num_rows], codes[batch.num_rows :]

    def needed(self, undecided: int) -> KeptBefore:
        """What can matter to matches that start then, or later."""
        left = (batch.filter(pa.array(self._least(batch) > undecided)) for batch in self.batches)
        some = [batch for batch in left if batch.num_rows]
        return KeptBefore((one_batch(some),) if some else ())

    def wake(self, window: int) -> int | None:
        """When nothing of it is needed any more."""
        latest = [int(self._least(batch).max()) for batch in self.batches]
        return min(max(latest), LAST_TIME - window) + window if latest else None

    def _least(self, batch: pa.RecordBatch) -> Ints:
        start = batch[MATCH_START].to_numpy()
        # What is left of a time is known no earlier than the time after it.
        start = start + ((batch[RANK].to_numpy() > 0) & (start < LAST_TIME))
        found: Ints = np.maximum(start, batch[MATCH_END].to_numpy())
        return found
