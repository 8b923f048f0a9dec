"""MATCH_RECOGNIZE_TEMPORAL over streams without end.

A match leaves as soon as it is certain: whatever comes after the watermark, it is there, and its row is the
same. A run that its stream has not ended may end where it is or go on. Where that makes no difference, its
end is not waited for; where an output reads it, it is.

What was certain at the watermark before is found again among the events that are kept, and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import LAST_TIME, Ints, selected, times
from neelc.runtime.failures import FailureContext, too_many_matches
from neelc.runtime.kernels.temporal.certainty import CertainMatcher
from neelc.runtime.kernels.temporal.keeping import DROPPED, first_starts, roles_left, span_of
from neelc.runtime.kernels.temporal.kernel import FoundMatches, key_of_match, match_rows
from neelc.runtime.kernels.temporal.program import TIME, TemporalProgram, columns_of_events, looks_back
from neelc.runtime.kernels.temporal.runs import MATCHED, SHOWN, SPOILING, Roles, TemporalEvents
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import by_key_and_time, key_codes
from neelc.runtime.streaming import StreamMemory, StreamStep, WatermarkMove
from neelc.runtime.worker import MOST_MATCHES, explained, one_batch

TABLES = {SHOWN: "shown", SPOILING: "spoiling", MATCHED: "events"}
"""The tables of events that are kept, by their roles."""


@dataclass(frozen=True)
class TemporalStream:
    """The matches of a clause, as a kernel for streams: the program has a window. More than `most_matches` in
    one call are a failure."""

    program: TemporalProgram
    most_matches: int = MOST_MATCHES

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        used = ("start", *columns_of_events(self.program))
        parts, roles = [], []
        kept = [(role, part) for role, name in TABLES.items() for part in memory.tables.get(name, ())]
        for role, part in (*kept, *((MATCHED, selected(batch, used)) for batch in rows)):
            parts.append(part)
            roles.append(np.full(part.num_rows, role, dtype=np.int8))
        if not parts:
            return StreamStep()
        with explained(FailureContext(self.program.label or None, held="the events of a window")):
            return self._step(one_batch(parts), np.concatenate(roles), move)

    def _step(self, events: pa.RecordBatch, roles: Roles, move: WatermarkMove) -> StreamStep:
        start = times(events.column("start"), "start")
        results: list[pa.RecordBatch] = []
        pending = LAST_TIME
        complete = np.flatnonzero(start <= move.now)
        if len(complete):
            order = self._order(events, start, complete)
            matcher = self._matcher(events, order, roles, move.now)
            results = list(self._results(events, order, roles, matcher, move))
            roles[order] = roles_left(self.program, matcher, first_starts(self.program, matcher))
            waiting = matcher.pending[matcher.pending > move.now - self._reach]
            pending = int(waiting.min(initial=LAST_TIME))
            if not looks_back(self.program):
                roles = self._without_lonely(events, roles)
        tables = {
            name: (events.filter(pa.array(roles == role)),)
            for role, name in TABLES.items()
            if (roles == role).any()
        }
        wake = self._wake(start[roles != DROPPED], pending, move.now)
        return StreamStep(results, StreamMemory({}, tables), wake)

    @property
    def _reach(self) -> int:
        assert self.program.reach is not None, "a stream without end has a window"
        return self.program.reach

    def _order(self, events: pa.RecordBatch, start: Ints, places: Ints) -> Ints:
        """Events by key and time."""
        rows = pa.array(places)
        codes = key_codes([events.column(name).take(rows) for name in self.program.keys], len(places))
        order: Ints = places[by_key_and_time(codes, start[places])]
        return order

    def _matcher(self, events: pa.RecordBatch, order: Ints, roles: Roles, now: int) -> CertainMatcher:
        """A matcher of events, in order, that are all that is known up to a time."""
        complete = events.take(pa.array(order))
        columns = dict(zip(complete.schema.names, complete.columns, strict=True))
        codes = key_codes([columns[name] for name in self.program.keys], len(order))
        heads = np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64, copy=False)
        known = TemporalEvents(self.program, {**columns, TIME: columns["start"]}, heads, roles[order])
        is_final, until = np.zeros(len(heads), dtype=np.bool_), np.full(len(heads), now)
        return CertainMatcher(self.program, known, is_final, until)

    def _results(
        self,
        events: pa.RecordBatch,
        order: Ints,
        roles: Roles,
        matcher: CertainMatcher,
        move: WatermarkMove,
    ) -> Iterator[pa.RecordBatch]:
        before = self._found_before(events, order, roles, move.before)
        count = 0
        for found in matcher.matches():
            new = before.others(matcher, found)
            if not len(new):
                continue
            count += len(new)
            if count > self.most_matches:
                raise too_many_matches(count, self.most_matches).about(key=key_of_match(matcher, new))
            yield from match_rows(matcher, new)

    def _found_before(self, events: pa.RecordBatch, order: Ints, roles: Roles, before: int) -> FoundMatches:
        """The matches that were certain at the watermark before."""
        start = times(events.column("start"), "start")
        numbers = np.flatnonzero(start[order] <= before)
        found = FoundMatches(numbers)
        if len(numbers):
            matcher = self._matcher(events, order[numbers], roles, before)
            for one in matcher.matches():
                found.add(matcher, one)
        return found

    def _without_lonely(self, events: pa.RecordBatch, roles: Roles) -> Roles:
        """The roles, if nothing is shown of keys of which there is nothing else."""
        codes = key_codes([events.column(name) for name in self.program.keys], len(roles))
        is_there = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.bool_)
        is_there[codes[roles > SHOWN]] = True
        return np.where(is_there[codes], roles, np.int8(DROPPED))

    def _wake(self, start: Ints, pending: int, now: int) -> int | None:
        """When the first instant is complete that waits, the scope of a match is, or events are not needed
        any more."""
        ways = [int(start[start > now].min(initial=LAST_TIME))]
        if pending < LAST_TIME:
            ways.append(pending + self._reach)
        old = start[start <= now]
        if len(old):
            ways.append(int(old.max()) + span_of(self.program) + 1)
        later = [one for one in ways if now < one < LAST_TIME]
        return min(later, default=None)
