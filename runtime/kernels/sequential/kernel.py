"""JEPC's patterns on the worker.

Events come sorted by key and time. The matches that end among those that have come are found, and of the last
key only those events are kept that a later match can still have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.columns import key_text
from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.sequential.matching import (
    EventInstants,
    Matcher,
    PartialSequences,
    first_needed,
    first_open,
    gathered,
    tracked,
)
from neelc.runtime.kernels.sequential.program import TIME, SequentialProgram
from neelc.runtime.kernels.sequential.skipping import first_of_each_start, kept_of, none_of
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import SkipTarget
from neelc.runtime.worker import (
    MOST_MATCHES,
    ROWS_AT_ONCE,
    ROWS_IN_BATCH,
    Batches,
    BatchFunction,
    NeededRows,
    WorkerKernel,
    WorkerLimits,
    WorkerSearch,
    WorkerState,
)


def sequential(
    program: SequentialProgram, rows_at_once: int = ROWS_AT_ONCE, most_matches: int = MOST_MATCHES
) -> BatchFunction:
    """The function that finds the matches in one of Spark's partitions."""
    context = FailureContext(program.label or None, held="the events of a window")
    limits = WorkerLimits(rows_at_once, most_matches)
    return WorkerKernel(partial(_begin, program), SearchedEvents, limits, context).function()


def _begin(program: SequentialProgram, state: WorkerState[SearchedEvents], is_last: bool) -> SequentialSearch:
    search = SequentialSearch if program.skip is None else SkippingSearch
    return search(program, state.joined(), state.facts, is_last)


@dataclass(frozen=True)
class SearchedEvents:
    """In the first `known` of the waiting events no match ends that was not found. With AFTER MATCH SKIP,
    none starts in them that was not decided, and none that starts in the first `passed` is kept."""

    known: int = 0
    passed: int = 0


class SequentialSearch(WorkerSearch[SearchedEvents, PartialSequences]):
    """A search for the matches that end after the first `known` events. The last instant may go on in the
    next batch, unless this is the last."""

    def __init__(
        self, program: SequentialProgram, rows: pa.RecordBatch, facts: SearchedEvents, is_last: bool
    ) -> None:
        self.program, self.rows, self.facts, self.is_last = program, rows, facts, is_last
        keys = [rows.column(name) for name in program.keys]
        heads = segments.heads(keys, rows.num_rows)
        time = np.asarray(rows.column(TIME)).astype(np.int64, copy=False)
        last_head = int(heads[-1])
        changes = np.flatnonzero(time[last_head + 1 :] != time[last_head:-1])
        begin = last_head + (int(changes[-1]) + 1 if len(changes) else 0)
        self.complete = rows.num_rows if is_last else begin
        self.last_head = last_head
        self.columns = {name: rows.column(name).slice(0, self.complete) for name in rows.schema.names}
        self.matcher = Matcher(program, self.columns, heads[heads < self.complete])
        self.line: EventInstants | None = self.matcher.line() if self.complete else None

    def matches(self) -> Iterator[PartialSequences]:
        if self.line is not None:
            yield from gathered(self.matcher.matches(self.line, self.line.begin >= self.facts.known))

    def needed(self) -> NeededRows[SearchedEvents]:
        if self.is_last:
            return NeededRows(SearchedEvents())
        kept = self.complete
        if self.line is not None and self.last_head < self.complete:
            needed = int(first_needed(self.program, self.line)[-1])
            if needed < self.line.size:
                kept = int(self.line.begin[needed])
        return NeededRows(SearchedEvents(self.complete - kept), (self.rows.slice(kept),))

    def count(self, found: PartialSequences) -> int:
        """Each stands for some matches."""
        return int(found.weight.sum())

    def gather(self, found: PartialSequences) -> Batches:
        assert self.line is not None
        return match_rows(self.matcher, self.line, found)

    def location(self, found: PartialSequences, number: int) -> Mapping[str, object]:
        assert self.line is not None
        row = int(self.line.begin[found.end[0]])
        return {"key": key_text(self.program.keys, self.columns, row)}


class SkippingSearch(SequentialSearch):
    """The same with AFTER MATCH SKIP. A match is decided once no other can be found that starts before it: of
    the last key, those that start before the first event that a match to come can have."""

    def matches(self) -> Iterator[PartialSequences]:
        if len(self.kept):
            yield self.kept

    @cached_property
    def kept(self) -> PartialSequences:
        """The matches that are kept, of those that are decided now."""
        program, line = self.program, self.line
        if line is None:
            return none_of(tracked(program))
        begin = max(self.facts.known, self.facts.passed)
        starts = (line.begin >= begin) & (np.arange(line.size) < self.open_from)
        every = self.matcher.matches(line, np.ones(line.size, dtype=np.bool_))
        decided = (found.chosen(starts[found.instant]) for found in every)
        return kept_of(first_of_each_start(decided, self.matcher), line, program)

    @cached_property
    def open_from(self) -> int:
        """The first instant of which a match that starts there may have events to come."""
        assert self.line is not None
        if self.is_last or self.last_head >= self.complete:
            return self.line.size
        return int(first_open(self.program, self.line)[-1])

    def needed(self) -> NeededRows[SearchedEvents]:
        left = super().needed()
        line = self.line
        if self.is_last or line is None or self.last_head >= self.complete:
            passed = max(0, self.facts.passed - self.complete) if self.last_head == 0 else 0
            return replace(left, facts=SearchedEvents(0, passed))
        first = self.rows.num_rows - sum(rows.num_rows for rows in left.parts)
        free = self._free(line)
        known = int(line.begin[self.open_from]) if self.open_from < line.size else self.complete
        return replace(left, facts=SearchedEvents(max(0, known - first), max(0, free - first)))

    def _free(self, line: EventInstants) -> int:
        """The row of the last key from which on a match may be kept."""
        free = self.facts.passed if self.last_head == 0 else 0
        if self.program.skip == SkipTarget.END and len(self.kept):
            last = int(self.kept.end[-1])
            if line.first_of_key[last] == line.first_of_key[-1]:
                free = max(free, int(line.begin[last] + line.count[last]))
        return free


def match_rows(matcher: Matcher, line: EventInstants, found: PartialSequences) -> Batches:
    """Matches as rows: as many for each as it stands for."""
    heavy = np.cumsum(found.weight)
    for first in range(0, int(heavy[-1]), ROWS_IN_BATCH):
        numbers = np.arange(first, min(first + ROWS_IN_BATCH, int(heavy[-1])))
        yield _batch(matcher, line, found.chosen(np.searchsorted(heavy, numbers, side="right")))


def _batch(matcher: Matcher, line: EventInstants, found: PartialSequences) -> pa.RecordBatch:
    program = matcher.program
    places = {symbol: place for place, symbol in enumerate(tracked(program))}
    arrays = {}
    for output in program.outputs:
        rows = found.rows[:, places[output.symbol]]
        arrays[output.name] = matcher.columns[output.column].take(pa.array(rows, mask=rows < 0))
    arrays[TIME] = pa.array(line.time[found.end], type=pa.int64())
    return pa.RecordBatch.from_pydict(arrays)
