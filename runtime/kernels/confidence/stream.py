"""Patterns over imprecise times, of streams without end: matches with their confidence.

`start` is the earliest time of an event and `end` its latest: the watermark is of the earliest one, so all
events that can have happened up to it have come. Without a negation the confidence of a match depends on its
own events alone, and it is sure when they have come. With one, as in batches (`kernel.py`), a match belongs
to the first of the latest times of its events: nothing that begins more than a window after that concerns
it. So each call emits the matches that belong to times which the watermark passes, less a window. That is
later than need be where a negation looks no further than the next event.

An event is kept until a window after its latest time: imprecise ones are kept for longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Bools, numbers
from neelc.runtime.failures import too_many_matches
from neelc.runtime.kernels.confidence.kernel import weighed_matches, with_confidence
from neelc.runtime.kernels.gathering import count_of, gather, output_schema
from neelc.runtime.kernels.pattern_kernel import SearchRows, context_of, events_of
from neelc.runtime.kernels.pattern_stream import EVENTS, KnownEvents, are_old, known_events, taken_matches
from neelc.runtime.program import ImpreciseProgram, StreamedImprecise
from neelc.runtime.streaming import StreamMemory, StreamStep, WatermarkMove
from neelc.runtime.worker import MOST_MATCHES, explained


@dataclass(frozen=True)
class ImpreciseStream:
    """The matches of a program with their confidence, as a kernel for streams."""

    streamed: StreamedImprecise
    most_matches: int = MOST_MATCHES

    @property
    def program(self) -> ImpreciseProgram:
        return self.streamed.program

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        kept = memory.tables.get(EVENTS, ())
        if not kept and not rows:
            return StreamStep()
        with explained(context_of(self.program)):
            known = known_events(self.program, kept, rows)
            results = list(self._results(known, move))
            left = known.rows(self._needed(known, move.now))
        return StreamStep(results, StreamMemory({}, {EVENTS: left.batches()}), self._wake(left, move.now))

    def _wake(self, left: KnownEvents, now: int) -> int | None:
        """When the next match may be sure; after the last one, when nothing is needed any more."""
        end, window = left.columns.end, self.streamed.window
        if not len(end):
            return None
        waiting = end[end > self._less(now)]
        if self.streamed.is_immediate or not len(waiting):
            return int(end.max()) + window * (1 + (not self.streamed.is_immediate))
        return int(waiting.min()) + window

    def _results(self, known: KnownEvents, move: WatermarkMove) -> Iterator[pa.RecordBatch]:
        low, high = FIRST_TIME, LAST_TIME
        if not self.streamed.is_immediate:
            low = self._less(move.before) + (move.before > FIRST_TIME + self.streamed.window)
            high = self._less(move.now) + 1
        if low >= high or not len(known.columns.start):
            return
        heads = known.heads
        limits = np.full(len(heads), low), np.full(len(heads), high)
        rows = SearchRows(known.columns, heads, *limits)
        schema, total = output_schema(self.program, known.columns.schema), 0
        for piece, confidence in weighed_matches(self.program, events_of(self.program, rows)):
            chosen = (
                np.flatnonzero(~are_old(piece, known))
                if self.streamed.is_immediate
                else np.arange(count_of(piece))
            )
            total += len(chosen)
            if total > self.most_matches:
                raise too_many_matches(total, self.most_matches)
            found = gather(schema, self.program, known.columns, taken_matches(piece, chosen))
            yield from with_confidence(found, confidence[chosen])

    def _less(self, time: int) -> int:
        """A window before a time; no earlier than the first there is."""
        return max(time, FIRST_TIME + self.streamed.window) - self.streamed.window

    def _needed(self, known: KnownEvents, now: int) -> Bools:
        """The events that a match may need that is not emitted yet: its own may happen later than a window
        before the watermark. What may spoil it can happen when the earliest of them can, or a window
        before."""
        earliest, latest = known.columns.start, known.columns.end
        limit = self._less(now)
        if self.streamed.is_immediate or not len(earliest):
            return latest > limit
        of_key = numbers(known.heads, len(earliest))
        first = np.minimum.reduceat(np.where(latest > limit, earliest, LAST_TIME), known.heads)
        first = np.minimum(first, limit + 1)
        if self.program.looks_back:
            first = np.maximum(first, FIRST_TIME + self.streamed.window) - self.streamed.window
        return np.asarray(latest >= first[of_key])


def imprecise_stream(streamed: StreamedImprecise, most_matches: int = MOST_MATCHES) -> ImpreciseStream:
    """The kernel of a program."""
    return ImpreciseStream(streamed, most_matches)
