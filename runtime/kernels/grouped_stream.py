"""Aggregates over the matches of streams without end: one row for each group, when it has all its matches.

Results are grouped by a time of the match, or of one of its events, and maybe by more. Whatever is in a match
lies within a window of that time t: the group is complete when the watermark reaches t + window, and no match
of it is sure to be the last one before. So the groups that a call emits are those whose time the watermark
passes, less a window:

    before < t + window <= now

Matches are counted without being enumerated where that is possible (`counting/`); else a row has all of them
as a list. No query is compiled to such lists yet: it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import Bools, Columns, Ints, earlier
from neelc.runtime.kernels.counting.chain import CountingProgram
from neelc.runtime.kernels.counting.counting import counted, united_groups
from neelc.runtime.kernels.counting.kernel import as_batch
from neelc.runtime.kernels.gathering import gather, in_larger_pieces, output_schema
from neelc.runtime.kernels.matching import Piece, matches, taken_matches
from neelc.runtime.kernels.pattern_kernel import SearchRows, events_of, functions_called
from neelc.runtime.kernels.pattern_stream import (
    EventStream,
    KnownEvents,
    match_values,
    passed_times,
)
from neelc.runtime.order import key_codes
from neelc.runtime.program import (
    MATCH_END,
    MATCH_START,
    PatternProgram,
    StreamedGroups,
)
from neelc.runtime.streaming import WatermarkMove
from neelc.runtime.user_functions import Function
from neelc.runtime.worker import MOST_MATCHES

MATCHES = "matches"
"""The list of a group's matches: a struct with those of the variables for each."""


@dataclass(frozen=True)
class GroupedStream(EventStream):
    """The groups of a program's matches, as a kernel for streams."""

    streamed: StreamedGroups
    most_matches: int = MOST_MATCHES
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def program(self) -> PatternProgram:
        return self.streamed.program

    def needed(self, known: KnownEvents, now: int) -> Bools:
        return known.columns.start > earlier(now, self._keep)

    def wake(self, left: KnownEvents, now: int) -> int | None:
        """When the next group may be complete; after the last one, when nothing is needed any more."""
        start, window = left.columns.start, self.streamed.window
        waiting = start[start > earlier(now, window)]
        return int(waiting.min()) + window if len(waiting) else int(start.max()) + self._keep

    @property
    def _keep(self) -> int:
        return self.streamed.window * self.streamed.windows_kept

    def results(self, known: KnownEvents, move: WatermarkMove) -> Iterator[pa.RecordBatch]:
        first, beyond = passed_times(move, self.streamed.window)
        start = known.columns.start
        known = known.of_keys((start >= first) & (start < beyond)) if self.streamed.has_starts else known
        if not len(known.columns.start) or beyond <= first:
            return
        low = first if self.streamed.has_starts else earlier(first, self.streamed.window)
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
        found = matches(self.program, events, most_matches=self.most_matches)
        chosen: list[tuple[Piece, Ints]] = []
        for piece in in_larger_pieces(found):
            _, time = self._groups(piece, rows.columns)
            chosen.append((piece, np.flatnonzero((time >= first) & (time < beyond))))
        pieces = [taken_matches(piece, numbers) for piece, numbers in chosen if len(numbers)]
        for whole in in_larger_pieces(pieces, size=1 << 62):
            codes, _ = self._groups(whole, rows.columns)
            order = np.argsort(codes, kind="stable")
            schema = output_schema(self.program, rows.columns.schema)
            batches = list(gather(schema, self.program, rows.columns, taken_matches(whole, order)))
            yield (_representatives if self.streamed.distinct else _lists)(batches, codes[order])

    def _groups(self, piece: Piece, columns: Columns) -> tuple[Ints, Ints]:
        """A number for the group of each match, and its time."""
        values = match_values(self.streamed.grouping.values, piece, columns)
        codes = key_codes(values, len(values[0]))
        time = values[self.streamed.grouping.time].to_numpy(zero_copy_only=False)
        return codes, np.asarray(time, dtype=np.int64)


def _lists(batches: Sequence[pa.RecordBatch], group: Ints) -> pa.RecordBatch:
    """Matches, sorted by group, as one list for each of them; with the first start and the last end."""
    rows = pa.Table.from_batches(batches).combine_chunks()
    heads = _heads(group)
    offsets = pa.array(np.append(heads, len(group)).astype(np.int32))
    columns = [rows[name].combine_chunks() for name in rows.column_names]
    structs = pa.StructArray.from_arrays(columns, names=rows.column_names)
    arrays = [pa.ListArray.from_arrays(offsets, structs), *_extents(rows, heads)]
    return pa.RecordBatch.from_arrays(arrays, names=[MATCHES, MATCH_START, MATCH_END])


def _representatives(batches: Sequence[pa.RecordBatch], group: Ints) -> pa.RecordBatch:
    """The first of the matches of each group, from the first start of any of them to the last end."""
    rows = pa.Table.from_batches(batches).combine_chunks()
    heads = _heads(group)
    columns = dict(zip(rows.column_names, rows.take(pa.array(heads)).columns, strict=True))
    columns |= dict(zip((MATCH_START, MATCH_END), _extents(rows, heads), strict=True))
    (batch,) = pa.table(columns).combine_chunks().to_batches()
    return batch


def _heads(group: Ints) -> Ints:
    return np.flatnonzero(np.diff(group, prepend=group[0] - 1)).astype(np.int64, copy=False)


def _extents(rows: pa.Table, heads: Ints) -> tuple[pa.Array, pa.Array]:
    """The first start and the last end of each group."""
    start, end = (rows[name].to_numpy() for name in (MATCH_START, MATCH_END))
    return pa.array(np.minimum.reduceat(start, heads)), pa.array(np.maximum.reduceat(end, heads))


def grouped_stream(
    streamed: StreamedGroups,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> GroupedStream:
    """The kernel of a program. `aggregates` are the functions of users that conditions call."""
    return GroupedStream(streamed, most_matches, functions_called([streamed.program], aggregates))
