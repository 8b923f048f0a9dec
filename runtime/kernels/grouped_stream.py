"""Aggregates over the matches of streams without end: one row for each group, when it has all its matches.

Results are grouped by a time of the match, or of one of its events, and maybe by more. Whatever is in a match
lies within a window of that time t: the group is complete when the watermark reaches t + window, and no match
of it is sure to be the last one before. So the groups that a call emits are those whose time the watermark
passes, less a window:

    before < t + window <= now

Where a group has the matches of a span of time, such as an hour, t is the last time of that, and the events
since its first one are kept.

Matches are counted without being enumerated where that is possible (`counting/`); else a row has all of them
as a list, over which Spark aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import LAST_TIME, Bools, Columns, Ints, earlier
from neelc.runtime.kernels.counting.chain import CountingProgram
from neelc.runtime.kernels.counting.counting import counted, united_groups
from neelc.runtime.kernels.counting.kernel import as_batch
from neelc.runtime.kernels.gathering import gather, in_larger_pieces, output_schema
from neelc.runtime.kernels.matching import Piece, matches, taken_matches
from neelc.runtime.kernels.pattern_kernel import SearchRows, events_of, functions_called
from neelc.runtime.kernels.pattern_stream import (
    EventStream,
    KnownEvents,
    group_times,
    match_values,
    passed_times,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import key_codes
from neelc.runtime.program import (
    MATCH_END,
    MATCH_START,
    MATCHES,
    MatchGrouping,
    PatternProgram,
    StreamedGroups,
)
from neelc.runtime.streaming import WatermarkMove
from neelc.runtime.user_functions import Function
from neelc.runtime.worker import MOST_MATCHES, ROWS_IN_BATCH


@dataclass(frozen=True)
class GroupedStream(EventStream):
    """The groups of a program's matches, as a kernel for streams."""

    streamed: StreamedGroups
    most_matches: int = MOST_MATCHES
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def program(self) -> PatternProgram:
        return self.streamed.program

    @property
    def grouping(self) -> MatchGrouping:
        return self.streamed.grouping

    def needed(self, known: KnownEvents, now: int) -> Bools:
        """What a group may need that is not complete: its first time is that of an event, or is yet to
        come."""
        complete = earlier(now, self.streamed.window)
        begin = complete + 1
        if self.grouping.span:
            time, last = self._times(known.columns)
            begin = int(time[(last > complete) & (last < LAST_TIME)].min(initial=begin))
        more = self.streamed.window * (self.streamed.windows_kept - 1)
        return known.columns.start >= earlier(begin, more)

    def wake(self, left: KnownEvents, now: int) -> int | None:
        """When the next group may be complete; after the last one, when nothing is needed any more."""
        start, window = left.columns.start, self.streamed.window
        last = self._times(left.columns)[1] if self.grouping.span else start
        waiting = last[(last > earlier(now, window)) & (last < LAST_TIME)]
        if len(waiting):
            return int(waiting.min()) + window
        return int(start.max()) + window * self.streamed.windows_kept

    def _times(self, columns: Columns) -> tuple[Ints, Ints]:
        """For groups that span more than an instant, the time that each event can be in a group by, and the
        last time of that group."""
        value = self.grouping.values[self.grouping.time]
        time = columns.end if value.column == MATCH_END and not value.variable else columns.start
        return time, group_times(columns.arrays[value.computed or value.column])

    def results(self, known: KnownEvents, move: WatermarkMove) -> Iterator[pa.RecordBatch]:
        first, beyond = passed_times(move, self.streamed.window)
        begin, start = first, known.columns.start
        if self.grouping.span:
            time, last = self._times(known.columns)
            chosen = (last >= first) & (last < beyond)
            begin, known = int(time[chosen].min(initial=first)), known.of_keys(chosen)
        elif self.streamed.has_starts:
            known = known.of_keys((start >= first) & (start < beyond))
        if not len(known.columns.start) or beyond <= first:
            return
        low = begin if self.streamed.has_starts else earlier(begin, self.streamed.window)
        rows = known.to_search(low, beyond)
        if isinstance(self.program, CountingProgram):
            yield from self._counted(self.program, rows, first, beyond)
        else:
            yield from self._listed(rows, first, beyond)

    def _counted(
        self, program: CountingProgram, rows: SearchRows, first: int, beyond: int
    ) -> Iterator[pa.RecordBatch]:
        found = counted(program, events_of(program, rows))
        if not len(found):
            return
        codes, time = self._groups(found.groups, rows.columns)
        chosen = np.flatnonzero((time >= first) & (time < beyond))
        if len(chosen):
            yield as_batch(program, united_groups(found, chosen, codes[chosen]), rows.columns)

    def _listed(self, rows: SearchRows, first: int, beyond: int) -> Iterator[pa.RecordBatch]:
        events = events_of(self.program, rows, self.functions)
        every = matches(self.program, events, most_matches=self.most_matches)
        chosen: list[tuple[Piece, Ints]] = []
        for piece in in_larger_pieces(every):
            _, time = self._groups(piece, rows.columns)
            chosen.append((piece, np.flatnonzero((time >= first) & (time < beyond))))
        pieces = [taken_matches(piece, numbers) for piece, numbers in chosen if len(numbers)]
        schema = output_schema(self.program, rows.columns.schema)
        for whole in in_larger_pieces(pieces, size=1 << 62):
            codes, _ = self._groups(whole, rows.columns)
            order = np.argsort(codes, kind="stable")
            for some in _whole_groups(codes[order]):
                found = gather(schema, self.program, rows.columns, taken_matches(whole, order[some]))
                table = pa.Table.from_batches(list(found)).combine_chunks()
                heads = _heads(codes[order[some]])
                yield (_representatives if self.streamed.distinct else _lists)(table, heads)

    def _groups(self, piece: Piece, columns: Columns) -> tuple[Ints, Ints]:
        """A number for the group of each match, and its time."""
        values = match_values(self.grouping.values, piece, columns)
        return key_codes(values, len(values[0])), group_times(values[self.grouping.time])


def _heads(group: Ints) -> Ints:
    """The places at which groups begin."""
    return np.flatnonzero(np.diff(group, prepend=group[0] - 1)).astype(np.int64, copy=False)


def _whole_groups(group: Ints) -> Iterator[slice]:
    """Slices of sorted groups, none of which they cut: of about as many rows as a batch has, since larger
    arrays may hold more text than Arrow can."""
    ends = np.append(_heads(group)[1:], len(group))
    first = 0
    while first < len(group):
        last = int(ends[np.searchsorted(ends, min(first + ROWS_IN_BATCH, len(group)))])
        yield slice(first, last)
        first = last


def _lists(rows: pa.Table, heads: Ints) -> pa.RecordBatch:
    """Matches, the first of each group at `heads`, as one list for each group."""
    offsets = pa.array(np.append(heads, rows.num_rows).astype(np.int32))
    columns = [rows[name].combine_chunks() for name in rows.column_names]
    structs = pa.StructArray.from_arrays(columns, names=rows.column_names)
    return pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(offsets, structs)], names=[MATCHES])


def _representatives(rows: pa.Table, heads: Ints) -> pa.RecordBatch:
    """The first of the matches of each group, from the first start of any of them to the last end."""
    columns = dict(zip(rows.column_names, rows.take(pa.array(heads)).columns, strict=True))
    start, end = (rows[name].to_numpy() for name in (MATCH_START, MATCH_END))
    columns[MATCH_START] = pa.array(np.minimum.reduceat(start, heads))
    columns[MATCH_END] = pa.array(np.maximum.reduceat(end, heads))
    (batch,) = pa.table(columns).combine_chunks().to_batches()
    return batch


def grouped_stream(
    streamed: StreamedGroups,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> GroupedStream:
    """The kernel of a program. `aggregates` are the functions of users that conditions call."""
    return GroupedStream(streamed, most_matches, functions_called([streamed.program], aggregates))
