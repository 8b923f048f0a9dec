"""From Spark to JEPC's patterns and back: the function that `DataFrame.mapInArrow` runs on each partition.

Events come sorted by key and time. They are collected until there are enough; the matches that end among them
are found, and of the last key only those events are kept that a later match can still have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.failures import INTERNAL, MEMORY, FailureDetails, KernelFailure, too_many_matches
from neelc.runtime.kernels.sequential.matching import (
    EventInstants,
    Matcher,
    PartialSequences,
    first_needed,
    gathered,
    tracked,
)
from neelc.runtime.kernels.sequential.program import TIME, SequentialProgram

Batches = Iterator[pa.RecordBatch]

ROWS_AT_ONCE = 250_000
ROWS_IN_BATCH = 50_000
MOST_MATCHES = 50_000_000


def sequential(
    program: SequentialProgram, rows_at_once: int = ROWS_AT_ONCE, most_matches: int = MOST_MATCHES
) -> Callable[[Batches], Batches]:
    """The function that finds the matches in one of Spark's partitions."""
    return partial(_run, program, rows_at_once, most_matches)


@dataclass(frozen=True, eq=False)
class EventBuffer:
    """Events that wait. In the first `known` rows no match ends that was not found."""

    batches: tuple[pa.RecordBatch, ...] = ()
    known: int = 0

    @property
    def rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches)

    def joined(self) -> pa.RecordBatch:
        (batch,) = pa.Table.from_batches(self.batches).combine_chunks().to_batches()
        return batch


def _run(program: SequentialProgram, rows_at_once: int, most_matches: int, batches: Batches) -> Batches:
    buffer, count = EventBuffer(), 0
    for batch, is_last in _marked(batches):
        if batch.num_rows:
            buffer = EventBuffer((*buffer.batches, batch), buffer.known)
        # As many new rows as old ones, or what is kept would be read again too often.
        if not buffer.rows or (not is_last and buffer.rows < max(rows_at_once, 2 * buffer.known)):
            continue
        with _explained(program):
            step = _Step(program, buffer, is_last)
            for found in step.found():
                count += int(found.weight.sum())
                if count > most_matches:
                    raise too_many_matches(count, most_matches).about(key=step.key_text(found))
                yield from step.batches(found)
            buffer = step.rest()


def _marked(batches: Batches) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Each batch, and whether it is the last."""
    before = None
    for batch in batches:
        if before is not None:
            yield before, False
        before = batch
    if before is not None:
        yield before, True


class _Step:
    """What is found in a buffer. The last instant may go on in the next batch, unless this is the last."""

    def __init__(self, program: SequentialProgram, buffer: EventBuffer, is_last: bool) -> None:
        self.program, self.buffer, self.is_last = program, buffer, is_last
        self.batch = buffer.joined()
        keys = [self.batch.column(name) for name in program.keys]
        heads = segments.heads(keys, self.batch.num_rows)
        time = np.asarray(self.batch.column(TIME)).astype(np.int64, copy=False)
        last_head = int(heads[-1])
        changes = np.flatnonzero(time[last_head + 1 :] != time[last_head:-1])
        begin = last_head + (int(changes[-1]) + 1 if len(changes) else 0)
        self.complete = self.batch.num_rows if is_last else begin
        self.last_head = last_head
        self.columns = {
            name: self.batch.column(name).slice(0, self.complete) for name in self.batch.schema.names
        }
        self.matcher = Matcher(program, self.columns, heads[heads < self.complete])
        self.line: EventInstants | None = self.matcher.line() if self.complete else None

    def found(self) -> Iterator[PartialSequences]:
        if self.line is not None:
            yield from gathered(self.matcher.matches(self.line, self.buffer.known))

    def rest(self) -> EventBuffer:
        """What is kept for the matches to come."""
        if self.is_last:
            return EventBuffer()
        kept = self.complete
        if self.line is not None and self.last_head < self.complete:
            head = int(np.searchsorted(self.line.begin, self.last_head))
            needed = first_needed(self.program, self.line, head)
            if needed < self.line.size:
                kept = int(self.line.begin[needed])
        return EventBuffer((self.batch.slice(kept),), self.complete - kept)

    def batches(self, found: PartialSequences) -> Batches:
        """The matches as rows, so many for each as it stands for."""
        heavy = np.cumsum(found.weight)
        for first in range(0, int(heavy[-1]), ROWS_IN_BATCH):
            wanted = np.arange(first, min(first + ROWS_IN_BATCH, int(heavy[-1])))
            yield self._batch(found.chosen(np.searchsorted(heavy, wanted, side="right")))

    def _batch(self, found: PartialSequences) -> pa.RecordBatch:
        assert self.line is not None
        places = {symbol: place for place, symbol in enumerate(tracked(self.program))}
        arrays = {}
        for output in self.program.outputs:
            rows = found.rows[:, places[output.symbol]]
            arrays[output.name] = self.columns[output.column].take(pa.array(rows, mask=rows < 0))
        arrays[TIME] = pa.array(self.line.time[found.end], type=pa.int64())
        return pa.RecordBatch.from_pydict(arrays)

    def key_text(self, found: PartialSequences) -> dict[str, str | None]:
        assert self.line is not None
        row = int(self.line.begin[found.end[0]])
        values = {key: self.columns[key][row].as_py() for key in self.program.keys}
        return {key: None if value is None else str(value)[:200] for key, value in values.items()}


@contextmanager
def _explained(program: SequentialProgram) -> Iterator[None]:
    try:
        yield
    except KernelFailure as failure:
        raise failure.about(part=program.label) from failure
    except MemoryError as error:
        facts = FailureDetails(
            MEMORY, "a worker has not enough memory for the events of a window", program.label
        )
        raise KernelFailure(facts) from error
    except Exception as error:
        raise KernelFailure(
            FailureDetails(INTERNAL, f"{type(error).__name__}: {error}", program.label)
        ) from error
