"""A query answered over a stream, in process: its events come in micro-batches, out of order, and what is
kept is written and read between any two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa
from in_bridge import NUMBER, as_table, bound, numbered
from in_kernel import complete, functions_of, key, planned_for

from neelc.ir.program import Match
from neelc.ir.types import LENGTHS
from neelc.pattern.plan.columns import width_of
from neelc.pattern.plan.emission import streamed_pattern
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.kernels.pattern_stream import PatternStream
from neelc.runtime.program import StreamedPattern
from neelc.runtime.reference import Tables, read
from neelc.runtime.reference.model import Binding, ReferenceEvent
from neelc.runtime.streaming import (
    StreamKernel,
    StreamMemory,
    StreamProgram,
    called,
    memory_from_bytes,
    memory_to_bytes,
)

FAR = 1 << 50


@dataclass(frozen=True)
class Arrival:
    """How events come: in micro-batches of `size`, each up to `delay` later than events after it; `slack`
    less than `delay` makes some of them late."""

    size: int
    delay: int
    slack: int
    seed: int


def arrival(seed: int) -> Arrival:
    """One of many ways."""
    chance = Random(seed)
    delay = chance.choice([0, 0, 1, 3, 10])
    slack = delay if chance.random() < 0.7 else chance.choice([0, delay // 2])
    return Arrival(chance.choice([1, 1, 2, 3, 1000]), delay, slack, seed)


@dataclass(frozen=True)
class Streamed:
    """What a run over a stream gave: matches as they came, and the events that took part."""

    matches: list[Binding]
    events: list[ReferenceEvent]


def arrived(events: Sequence[ReferenceEvent], how: Arrival, unit: int) -> list[tuple[list[int], int]]:
    """The numbers of the events in each micro-batch, and the watermark before it."""
    chance = Random(how.seed)
    order = sorted(
        range(len(events)), key=lambda n: (events[n].start // unit + chance.uniform(0, how.delay), n)
    )
    batches, watermark, latest = [], FIRST_TIME, FIRST_TIME
    for first in range(0, len(order), how.size):
        batch = order[first : first + how.size]
        batches.append((batch, watermark))
        latest = max([latest, *(events[n].start // unit for n in batch)])
        watermark = max(watermark, latest - how.slack - 1)
        if chance.random() < 0.5:
            batches.append(([], watermark))
    return batches


def later(planned: KernelPlan, match: Match, events: Sequence[ReferenceEvent]) -> Iterator[ReferenceEvent]:
    """Events that play no role, after all others: as many for each key as a window of EVENTS has, and one
    more. Without them some matches would never be sure."""
    if match.within is None or match.within.unit != "EVENT" or not events:
        return
    width, _ = width_of(match.within, planned.plan.unit)
    unit = LENGTHS[planned.plan.unit]
    last = max(event.end for event in events) // unit
    for event in {repr(key(planned, match, event)): event for event in events}.values():
        for number in range(width + 1):
            time = (last + 1 + number) * unit
            yield replace(event, stream="no stream of the query", row=number, type=None, start=time, end=time)


def stream_matches(match: Match, tables: Tables, how: Arrival, planned: KernelPlan | None = None) -> Streamed:
    """What comes out; `UnsupportedQuery` if the query cannot run over a stream."""
    planned = planned or planned_for(match)
    events = list(read(match, tables, {}))
    Random(how.seed).shuffle(events)
    unit = LENGTHS[planned.plan.unit]
    batches = arrived(events, how, unit)
    late = {n for batch, now in batches for n in batch if events[n].start // unit <= now}
    more = list(later(planned, match, events))
    numbers = list(range(len(events), len(events) + len(more)))
    watermark = max((now for _, now in batches), default=FIRST_TIME)
    batches += [(numbers[::2], watermark), (numbers[1::2], watermark), ([], FAR)]
    program = numbered(planned.program, None)
    streamed = streamed_pattern(match, program, planned.plan.unit)
    kernel = PatternStream(streamed, functions=functions_of(match))
    table = as_table(planned, program, match, [*events, *more]).combine_chunks()
    found, memory = run_stream(kernel, table, batches)
    assert left_nothing(streamed, memory), "what no match can need is forgotten"
    bindings = [
        {str(output.variable): bound(output, row[output.name], events) for output in program.outputs}
        for row in found
    ]
    on_time = [event for number, event in enumerate(events) if number not in late]
    return Streamed(complete(planned, bindings), on_time)


def run_stream(
    kernel: StreamKernel, table: pa.Table, batches: Sequence[tuple[Sequence[int], int]]
) -> tuple[list[dict[str, object]], StreamMemory]:
    """The rows that come out of micro-batches, and what is kept in the end; it is written and read between
    any two of them. `table` has the number of each event."""
    place = {number: row for row, number in enumerate(table[NUMBER].to_pylist())}
    stream, memory = StreamProgram(kernel), memory_to_bytes(StreamMemory(), FIRST_TIME)
    found: list[dict[str, object]] = []
    for batch, now in batches:
        rows = table.take(pa.array([place[n] for n in batch if n in place], pa.int64()))
        kept, before = memory_from_bytes(memory)
        call = called(stream, kept, before, rows.to_batches(), now)
        memory = memory_to_bytes(call.step.memory, call.watermark)
        found += [row for result in call.step.results for row in result.to_pylist()]
    return found, memory_from_bytes(memory)[0]


def left_nothing(streamed: StreamedPattern, memory: StreamMemory) -> bool:
    return streamed.window is None or memory.is_empty
