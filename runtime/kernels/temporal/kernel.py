"""MATCH_RECOGNIZE_TEMPORAL on the worker.

Events come sorted by key and time. The matches of a key that is complete are found at once. Of the last key,
which may go on, those are found that are certain whatever comes, and those events are kept that other matches
can have. What was certain before is found again among these, and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.columns import Bools, Ints, key_text, taken
from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.frontier import distinct
from neelc.runtime.kernels.temporal.certainty import CertainMatcher
from neelc.runtime.kernels.temporal.keeping import DROPPED, first_starts, roles_left
from neelc.runtime.kernels.temporal.matching import TemporalMatches
from neelc.runtime.kernels.temporal.program import TIME, RunEvent, RunPart, TemporalOutput, TemporalProgram
from neelc.runtime.kernels.temporal.runs import MATCHED, SHOWN, SPOILING, Roles, TemporalEvents
from neelc.runtime.late_dataclass import dataclass
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


def temporal(
    program: TemporalProgram, rows_at_once: int = ROWS_AT_ONCE, most_matches: int = MOST_MATCHES
) -> BatchFunction:
    """The function that finds the matches in one of Spark's partitions."""
    context = FailureContext(program.label or None, held="the events of a window")
    limits = WorkerLimits(rows_at_once, most_matches)
    return WorkerKernel(partial(_begin, program), WaitingEvents, limits, context).function()


def _begin(program: TemporalProgram, state: WorkerState[WaitingEvents], is_last: bool) -> TemporalSearch:
    return TemporalSearch(program, state.joined(), state.facts, is_last)


@dataclass(frozen=True)
class WaitingEvents:
    """What was certain when all was known up to the time `now` was found: among the first `known` of the
    waiting events. Of these the first `shown` only show what was before, and the next `spoiling` are in no
    match, but may spoil one."""

    known: int = 0
    now: int = 0
    shown: int = 0
    spoiling: int = 0


class TemporalSearch(WorkerSearch[WaitingEvents, TemporalMatches]):
    """A search for the matches that were not certain among the events that are known. The last instant may go
    on in the next batch, unless this is the last."""

    def __init__(
        self, program: TemporalProgram, rows: pa.RecordBatch, facts: WaitingEvents, is_last: bool
    ) -> None:
        self.program, self.rows, self.facts, self.is_last = program, rows, facts, is_last
        keys = [rows.column(name) for name in program.keys]
        self.heads = segments.heads(keys, rows.num_rows)
        self.last_head = int(self.heads[-1])
        self.complete = rows.num_rows if is_last else self._complete()
        self.columns = {name: rows.column(name).slice(0, self.complete) for name in rows.schema.names}
        self.matcher: CertainMatcher | None = None
        if self.complete:
            heads = self.heads[self.heads < self.complete]
            is_final = np.ones(len(heads), dtype=np.bool_)
            is_final[-1] = is_last or self.last_head >= self.complete
            self.matcher = _matcher(program, self.columns, heads, is_final, facts)

    def _complete(self) -> int:
        """How many rows are of instants that are complete. Without a window, no match of a key that may go on
        is looked for: all of its events are needed in any case."""
        if self.program.reach is None:
            return self.last_head
        time = np.asarray(self.rows.column(TIME)).astype(np.int64, copy=False)[self.last_head :]
        changes = np.flatnonzero(time[1:] != time[:-1])
        return self.last_head + (int(changes[-1]) + 1 if len(changes) else 0)

    def matches(self) -> Iterator[TemporalMatches]:
        if self.matcher is None:
            return
        before = self._found_before()
        for found in self.matcher.matches():
            new = before.others(self.matcher, found)
            if len(new):
                yield new

    def _found_before(self) -> FoundMatches:
        """The matches that were certain in the search before."""
        found, known = FoundMatches(), self.facts.known
        if known:
            columns = {name: column.slice(0, known) for name, column in self.columns.items()}
            head, none = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
            matcher = _matcher(self.program, columns, head, none, self.facts)
            matcher.now[:] = self.facts.now
            for one in matcher.matches():
                found.add(matcher, one)
        return found

    def needed(self) -> NeededRows[WaitingEvents]:
        if self.is_last:
            return NeededRows(WaitingEvents())
        rest = self.rows.slice(self.complete)
        if self.matcher is None or self.matcher.is_final[-1]:
            return NeededRows(WaitingEvents(), (rest,))
        matcher = self._last_key(self.matcher)
        roles = roles_left(self.program, matcher, first_starts(self.program, matcher))
        kept = np.flatnonzero(roles != DROPPED)
        if not len(kept):
            return NeededRows(WaitingEvents(), (rest,))
        shown, spoiling = (int((roles == role).sum()) for role in (SHOWN, SPOILING))
        rows = self.rows.take(pa.array(kept + self.last_head))
        facts = WaitingEvents(rows.num_rows, int(matcher.now[-1]), shown, spoiling)
        return NeededRows(facts, (rows, rest))

    def _last_key(self, matcher: CertainMatcher) -> CertainMatcher:
        """The matcher of the events of the last key, which knows what of it is not certain."""
        if self.last_head == 0:
            return matcher
        columns = {name: column.slice(self.last_head) for name, column in self.columns.items()}
        head = np.zeros(1, dtype=np.int64)
        last = _matcher(self.program, columns, head, matcher.is_final[-1:], WaitingEvents())
        last.pending = matcher.pending[-1:]
        return last

    def count(self, found: TemporalMatches) -> int:
        return len(found)

    def gather(self, found: TemporalMatches) -> Batches:
        assert self.matcher is not None
        return match_rows(self.matcher, found)

    def location(self, found: TemporalMatches, number: int) -> Mapping[str, object]:
        assert self.matcher is not None
        return {"key": key_of_match(self.matcher, found)}


def _matcher(
    program: TemporalProgram,
    columns: Mapping[str, pa.Array],
    heads: Ints,
    is_final: Bools,
    facts: WaitingEvents,
) -> CertainMatcher:
    """A matcher of events that are known up to the last of each key."""
    roles: Roles | None = None
    if facts.known:
        roles = np.full(len(columns[TIME]), MATCHED, dtype=np.int8)
        roles[: facts.shown + facts.spoiling] = SPOILING
        roles[: facts.shown] = SHOWN
    events = TemporalEvents(program, columns, heads, roles)
    return CertainMatcher(program, events, is_final, events.line.time[events.line.last])


def key_of_match(matcher: CertainMatcher, found: TemporalMatches) -> dict[str, str | None]:
    """The key of the first of some matches."""
    row = int(matcher.line.begin[found.bindings.first[0]])
    return key_text(matcher.program.keys, matcher.events.columns, row)


class FoundMatches:
    """Matches that were found, by the first events of their runs and by those that are named: whatever comes,
    these stay the same. Events may have other `numbers` among those that are searched now."""

    def __init__(self, numbers: Ints | None = None) -> None:
        self.numbers = numbers
        self.known: dict[frozenset[int], list[list[Ints]]] = {}

    def add(self, matcher: CertainMatcher, found: TemporalMatches) -> None:
        events = _identity(matcher, found)
        if self.numbers is not None:
            events = [self.numbers[one] for one in events]
        self.known.setdefault(frozenset(found.alternative.symbols), []).append(events)

    def others(self, matcher: CertainMatcher, found: TemporalMatches) -> TemporalMatches:
        """The matches that were not found."""
        known = self.known.get(frozenset(found.alternative.symbols))
        if known is None:
            return found
        own = _identity(matcher, found)
        columns = [np.concatenate([one, *(part[place] for part in known)]) for place, one in enumerate(own)]
        _, like = distinct(columns)
        return found.chosen(~np.isin(like[: len(found)], like[len(found) :]))


def _identity(matcher: CertainMatcher, found: TemporalMatches) -> list[Ints]:
    bound, begin = found.bindings, matcher.line.begin
    starts = [begin[bound.start[symbol]] for symbol in sorted(found.alternative.symbols)]
    named = sorted(bound.row, key=lambda one: (one.symbol, one.part))
    return [*starts, *(bound.row[event] for event in named)]


# Matches as rows.


MOST_LISTED = 1 << 22
"""As many values are in the lists of one batch, unless a single match has more."""


def match_rows(matcher: CertainMatcher, found: TemporalMatches) -> Batches:
    """Matches as rows of the result."""
    counts = [_listed(matcher, one, found) for one in matcher.program.outputs]
    listed = np.cumsum(np.sum([np.zeros(len(found), dtype=np.int64), *counts], axis=0))
    first = 0
    while first < len(found):
        before = int(listed[first - 1]) if first else 0
        few = int(np.searchsorted(listed, before + MOST_LISTED, side="right"))
        beyond = max(first + 1, min(first + ROWS_IN_BATCH, few))
        yield _batch(matcher, found.chosen(slice(first, beyond)))
        first = beyond


def _listed(matcher: CertainMatcher, output: TemporalOutput, found: TemporalMatches) -> Ints:
    """How many values each match has in the list of an output."""
    if output.part is not RunPart.ALL or output.symbol not in found.alternative.symbols:
        return np.zeros(len(found), dtype=np.int64)
    if not matcher.program.symbols[output.symbol].is_interval:
        return np.ones(len(found), dtype=np.int64)
    before, bound = matcher.events.stream(output.symbol).events_before, found.bindings
    count: Ints = before[bound.end[output.symbol] + 1] - before[bound.start[output.symbol]]
    return count


def _batch(matcher: CertainMatcher, found: TemporalMatches) -> pa.RecordBatch:
    arrays = {one.name: _output(matcher, one, found) for one in matcher.program.outputs}
    arrays[TIME] = pa.array(found.time, type=pa.int64())
    return pa.RecordBatch.from_pydict(arrays)


def _output(matcher: CertainMatcher, output: TemporalOutput, found: TemporalMatches) -> pa.Array:
    column, symbol = matcher.events.columns[output.column], output.symbol
    is_there = symbol in found.alternative.symbols
    if output.part is RunPart.ALL:
        return _lists(matcher, output, found) if is_there else pa.nulls(len(found), pa.list_(column.type))
    if not is_there:
        return pa.nulls(len(found), column.type)
    is_interval = matcher.program.symbols[symbol].is_interval
    event = RunEvent(symbol, output.part if is_interval else RunPart.START)
    return taken(column, pa.array(found.bindings.row[event]))


def _lists(matcher: CertainMatcher, output: TemporalOutput, found: TemporalMatches) -> pa.Array:
    """The values of a column at all events of the runs of a symbol."""
    bound, symbol = found.bindings, output.symbol
    if matcher.program.symbols[symbol].is_interval:
        stream = matcher.events.stream(symbol)
        _, rows = stream.events_between(bound.start[symbol], bound.end[symbol])
    else:
        rows = bound.row[RunEvent(symbol, RunPart.START)]
    offsets = np.concatenate([[0], np.cumsum(_listed(matcher, output, found))])
    values = taken(matcher.events.columns[output.column], pa.array(rows))
    return pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), values)
