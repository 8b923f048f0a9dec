"""How the events of a case come as a stream, and how a kernel is called with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

import pyarrow as pa

from neelc.ir.program import Stream
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Result
from neelc.runtime.streaming import (
    StreamKernel,
    StreamMemory,
    StreamProgram,
    called,
    memory_from_bytes,
    memory_to_bytes,
)

FARTHEST = 1 << 61
"""Watermarks are far from the ends of 64 bits, so that windows can be added to them."""
LAST = 1 << 62
"""The last watermark: all that waits is decided then."""
SEED = 17

Batches = Sequence[tuple[Sequence[int], int]]
"""The numbers of the events of each micro-batch, and the watermark when it comes."""


@dataclass(frozen=True)
class MicroBatching:
    """Micro-batches of `size` events, None: all in one; `shuffled`: out of order within the watermark."""

    size: int | None
    shuffled: bool

    def __str__(self) -> str:
        batches = {None: "in one micro-batch", 1: "one event at a time"}.get(
            self.size, f"in micro-batches of {self.size}"
        )
        return f"as a stream, {batches}, {'out of order' if self.shuffled else 'in order'}"

    def batches(self, starts: Sequence[int], declared: int | None, later: int = 0) -> Batches:
        """Micro-batches of the events that start at these times, each followed by one without events, as
        Spark has it when the watermark moves. None is late: an event at the watermark would be. Events come
        as late as is `declared`, else half of the time that they cover. At last come events that are `later`
        than all of these."""
        covered = (max(starts, default=0) - min(starts, default=0)) // 2
        delay = (covered if declared is None else declared) if self.shuffled else 0
        chance = Random(SEED)
        order = sorted(range(len(starts)), key=lambda n: (starts[n] + chance.uniform(0, delay), n))
        size = self.size or max(1, len(order))
        watermark, found = FIRST_TIME, []
        for first in range(0, len(order), size):
            batch = order[first : first + size]
            found.append((batch, watermark))
            watermark = max([watermark, *(starts[n] - delay - 1 for n in batch)])
            found.append(([], watermark))
        return [*found, (range(len(starts), len(starts) + later), watermark), ([], LAST)]


@dataclass(frozen=True)
class StreamResult:
    """What a query gives over streams if its events come in a `way`. `expected` are the rows that it must
    give, where those are not all that the case has: events to come could change the others."""

    way: MicroBatching
    found: Result
    expected: Result | None = None


MICRO_BATCHINGS = tuple(MicroBatching(size, shuffled) for shuffled in (False, True) for size in (1, 2, None))


def declared_delay(streams: Iterable[Stream], unit: int) -> int | None:
    """The longest watermark that is declared, in units of so many nanoseconds."""
    return max((one.watermark * 1000 // unit for one in streams if one.watermark), default=None)


class StreamedBucket:
    """A kernel that is called with the micro-batches of a bucket, as Spark calls it: if no new rows have
    come, only when it has to be. What it keeps is written and read between any two calls."""

    def __init__(self, kernel: StreamKernel) -> None:
        self.program = StreamProgram(kernel)
        self.wake: int | None = None
        self.written = memory_to_bytes(StreamMemory(), FIRST_TIME)

    @property
    def memory(self) -> StreamMemory:
        """What is kept."""
        return memory_from_bytes(self.written)[0]

    def call(self, rows: Sequence[pa.RecordBatch], now: int) -> Sequence[pa.RecordBatch]:
        """What comes out when these rows have come, and the watermark is `now`."""
        if not any(batch.num_rows for batch in rows) and (self.wake is None or now < self.wake):
            return ()
        kept, before = memory_from_bytes(self.written)
        call = called(self.program, kept, before, rows, now)
        self.wake = call.step.wake
        self.written = memory_to_bytes(call.step.memory, call.watermark)
        return call.step.results

    def calls(self, table: pa.Table, numbers: str, batches: Batches) -> Iterator[list[pa.RecordBatch]]:
        """What comes out of each micro-batch of a table's rows; `numbers` is the column of their numbers.
        Events that are no row of it play no role."""
        table = table.combine_chunks()
        place = {number: row for row, number in enumerate(table[numbers].to_pylist())}
        for batch, now in batches:
            rows = table.take(pa.array([place[n] for n in batch if n in place], pa.int64()))
            yield list(self.call(rows.to_batches(), now))
