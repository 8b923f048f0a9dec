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

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Bools, earlier, numbers
from neelc.runtime.failures import too_many_matches
from neelc.runtime.kernels.confidence.kernel import weighed_matches, with_confidence
from neelc.runtime.kernels.gathering import count_of, gather, output_schema
from neelc.runtime.kernels.matching import taken_matches
from neelc.runtime.kernels.pattern_kernel import events_of, functions_called
from neelc.runtime.kernels.pattern_stream import EventStream, KnownEvents, are_old, passed_times
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ImpreciseProgram, StreamedImprecise
from neelc.runtime.streaming import WatermarkMove
from neelc.runtime.user_functions import Function
from neelc.runtime.worker import MOST_MATCHES


@dataclass(frozen=True)
class ImpreciseStream(EventStream):
    """The matches of a program with their confidence, as a kernel for streams."""

    streamed: StreamedImprecise
    most_matches: int = MOST_MATCHES
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def program(self) -> ImpreciseProgram:
        return self.streamed.program

    def wake(self, left: KnownEvents, now: int) -> int | None:
        """When the next match may be sure; after the last one, when nothing is needed any more."""
        end, window = left.columns.end, self.streamed.window
        waiting = end[end > earlier(now, self.streamed.window)]
        if self.streamed.is_immediate or not len(waiting):
            return int(end.max()) + window * (1 + (not self.streamed.is_immediate))
        return int(waiting.min()) + window

    def results(self, known: KnownEvents, move: WatermarkMove) -> Iterator[pa.RecordBatch]:
        low, high = FIRST_TIME, LAST_TIME
        if not self.streamed.is_immediate:
            low, high = passed_times(move, self.streamed.window)
        if low >= high or not len(known.columns.start):
            return
        rows = known.to_search(low, high)
        schema, total = output_schema(self.program, known.columns.schema), 0
        events = events_of(self.program, rows, self.functions)
        for piece, confidence in weighed_matches(self.program, events):
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

    def needed(self, known: KnownEvents, now: int) -> Bools:
        """The events that a match may need that is not emitted yet: its own may happen later than a window
        before the watermark. What may spoil it can happen when the earliest of them can, or a window
        before."""
        earliest, latest = known.columns.start, known.columns.end
        limit = earlier(now, self.streamed.window)
        if self.streamed.is_immediate or not len(earliest):
            return latest > limit
        of_key = numbers(known.heads, len(earliest))
        first = np.minimum.reduceat(np.where(latest > limit, earliest, LAST_TIME), known.heads)
        first = np.minimum(first, limit + 1)
        if self.program.looks_back:
            first = np.maximum(first, FIRST_TIME + self.streamed.window) - self.streamed.window
        return np.asarray(latest >= first[of_key])


def imprecise_stream(
    streamed: StreamedImprecise,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> ImpreciseStream:
    """The kernel of a program. `aggregates` are the functions of users that conditions call."""
    return ImpreciseStream(streamed, most_matches, functions_called([streamed.program], aggregates))
