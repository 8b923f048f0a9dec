"""JEPC's patterns over streams without end.

A match is known when the instant of its last event is complete: other events of that instant make further
matches, and do not take this one back, but an instant before it would. So the matches that leave are those
that end at the instants which the watermark passes now.

Kept are the events after the watermark, and of each key those that a match can have which ends after it: not
those before an instant at which no match was under way, nor those that a window no longer reaches. PREV needs
the last events of every key, however old they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import FIRST_TIME, Bools, Ints, earlier, key_text, selected, times
from neelc.runtime.failures import FailureContext, too_many_matches
from neelc.runtime.kernels.sequential.kernel import match_rows
from neelc.runtime.kernels.sequential.matching import EventInstants, Matcher, first_needed, gathered
from neelc.runtime.kernels.sequential.program import TIME, SequentialProgram, columns_of_events
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import by_key_and_time, key_codes
from neelc.runtime.streaming import StreamMemory, StreamStep, WatermarkMove
from neelc.runtime.worker import MOST_MATCHES, explained, one_batch

EVENTS = "events"


@dataclass(frozen=True)
class SequentialStream:
    """The matches of a clause, as a kernel for streams: the program has a window, or patterns of a bounded
    length. More than `most_matches` in one call are a failure."""

    program: SequentialProgram
    most_matches: int = MOST_MATCHES

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        used = ("start", *columns_of_events(self.program))
        parts = [*memory.tables.get(EVENTS, ()), *(selected(batch, used) for batch in rows)]
        if not parts:
            return StreamStep()
        with explained(FailureContext(self.program.label or None, held="the events of a window")):
            return self._step(one_batch(parts), move)

    def _step(self, events: pa.RecordBatch, move: WatermarkMove) -> StreamStep:
        start = times(events.column("start"), "start")
        needed = (start > self._oldest(move.now)) | self._is_looked_at(events, start, move.now)
        is_new = (start > move.before) & (start <= move.now)
        results: list[pa.RecordBatch] = []
        if is_new.any():
            chosen, heads = self._active(events, start, is_new, move.now)
            complete = events.take(pa.array(chosen))
            columns = dict(zip(complete.schema.names, complete.columns, strict=True))
            matcher = Matcher(self.program, {**columns, TIME: columns["start"]}, heads)
            line = matcher.line()
            results = list(self._results(matcher, line, line.time > move.before))
            needed[chosen] &= _is_needed(self.program, line, len(chosen))
        left = events.filter(pa.array(needed))
        tables = {EVENTS: (left,)} if left.num_rows else {}
        return StreamStep(results, StreamMemory({}, tables), self._wake(start[needed], move.now))

    def _oldest(self, now: int) -> int:
        """What starts then or before is outside of the window of all events to come."""
        reach = self.program.reach
        return FIRST_TIME if reach is None else earlier(now, reach)

    def _is_looked_at(self, events: pa.RecordBatch, start: Ints, now: int) -> Bools:
        """Which events before the window PREV can mean of an event that a match to come can have: those of
        the last instants of their key there."""
        found = np.zeros(len(start), dtype=np.bool_)
        places = np.flatnonzero(start <= self._oldest(now))
        if not self.program.back or not len(places):
            return found
        rows = pa.array(places)
        codes = key_codes([events.column(name).take(rows) for name in self.program.keys], len(places))
        order = by_key_and_time(codes, start[places])
        codes, times_of = codes[order], start[places][order]
        # Numbers of instants, from the end of each key.
        new_key, new_time = np.diff(codes[::-1], prepend=-1) != 0, np.diff(times_of[::-1], prepend=0) != 0
        instant = np.cumsum(new_key | new_time)
        first = np.maximum.accumulate(np.where(new_key, instant, 0))
        found[places[order]] = (instant - first)[::-1] < self.program.back
        return found

    def _active(self, events: pa.RecordBatch, start: Ints, is_new: Bools, now: int) -> tuple[Ints, Ints]:
        """The complete events of keys that have new ones, in order, and where keys begin among them."""
        places = np.flatnonzero(start <= now)
        rows = pa.array(places)
        codes = key_codes([events.column(name).take(rows) for name in self.program.keys], len(places))
        touched = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
        touched[codes[is_new[places]]] = True
        places, codes = places[touched[codes]], codes[touched[codes]]
        order = by_key_and_time(codes, start[places])
        heads = np.flatnonzero(np.diff(codes[order], prepend=-1)).astype(np.int64, copy=False)
        return places[order], heads

    def _results(self, matcher: Matcher, line: EventInstants, ends: Bools) -> Iterator[pa.RecordBatch]:
        count = 0
        for found in gathered(matcher.matches(line, ends)):
            count += int(found.weight.sum())
            if count > self.most_matches:
                row = int(line.begin[found.end[0]])
                key = key_text(self.program.keys, matcher.columns, row)
                raise too_many_matches(count, self.most_matches).about(key=key)
            yield from match_rows(matcher, line, found)

    def _wake(self, start: Ints, now: int) -> int | None:
        """When the first instant is complete that waits, or nothing that is kept is needed any more."""
        waiting = start[start > now]
        if len(waiting):
            return int(waiting.min())
        reach = self.program.reach
        inside = start[start > self._oldest(now)]
        return int(inside.max()) + reach if len(inside) and reach is not None else None


def _is_needed(program: SequentialProgram, line: EventInstants, count: int) -> Bools:
    """Which of the events a match can have that ends after all of them."""
    keys = np.cumsum(line.first) - 1
    needed = np.arange(line.size) >= first_needed(program, line)[keys]
    return np.repeat(needed, np.diff(line.begin, append=count))
