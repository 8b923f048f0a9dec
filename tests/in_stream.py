"""A query answered over a stream, in process: its events come in micro-batches, out of order, and what is
kept is written and read between any two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
from in_bridge import as_table
from in_counting import finished
from in_imprecise import Weighed
from in_kernel import planned_for

from neelc.ir.program import Match
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.counting.plan import AggregatePlan
from neelc.pattern.plan.emission import (
    group_items,
    streamed_groups,
    streamed_imprecise,
    streamed_pattern,
    with_group_columns,
)
from neelc.pattern.plan.imprecise import imprecise_plan
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.kernels.confidence.stream import ImpreciseStream
from neelc.runtime.kernels.grouped_stream import GroupedStream
from neelc.runtime.kernels.pattern_stream import PatternStream
from neelc.runtime.program import StreamedPattern
from neelc.runtime.reference import Tables, read
from neelc.runtime.reference.events import in_order
from neelc.runtime.reference.model import Binding, ReferenceEvent, bound_events
from neelc.runtime.reference.results import rows_of
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.runtime.streaming import StreamKernel, StreamMemory
from neelc.tools.cases.streaming.arrival import StreamedBucket
from neelc.tools.cases.streaming.pattern import (
    NUMBER,
    binding_of,
    complete,
    functions_of,
    later,
    numbered,
    with_numbers,
    with_outputs,
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


@dataclass(frozen=True, eq=False)
class Coming:
    """The events of a stream in any order, and how they come: in `batches`, each with the watermark before
    it. `more` come after all others, and play no role."""

    events: list[ReferenceEvent]
    more: list[ReferenceEvent]
    batches: list[tuple[list[int], int]]
    late: frozenset[int]

    @property
    def on_time(self) -> list[ReferenceEvent]:
        return [event for number, event in enumerate(self.events) if number not in self.late]


def coming(match: Match, tables: Tables, how: Arrival, planned: KernelPlan) -> Coming:
    events = list(read(match, tables, {}))
    Random(how.seed).shuffle(events)
    unit = LENGTHS[planned.plan.unit]
    batches = arrived(events, how, unit)
    late = frozenset(n for batch, now in batches for n in batch if events[n].start // unit <= now)
    more = list(later(planned, match, events))
    numbers = list(range(len(events), len(events) + len(more)))
    watermark = max((now for _, now in batches), default=FIRST_TIME)
    batches += [(numbers[::2], watermark), (numbers[1::2], watermark), ([], FAR)]
    return Coming(events, more, batches, late)


def stream_matches(match: Match, tables: Tables, how: Arrival, planned: KernelPlan | None = None) -> Streamed:
    """What comes out; `UnsupportedQuery` if the query cannot run over a stream. RETURN is not executed."""
    planned = planned or planned_for(match)
    program = numbered(planned.program)
    streamed = streamed_pattern(replace(planned, query=replace(match, distinct=False), program=program))
    kernel = PatternStream(streamed, functions=functions_of(match))
    stream = coming(match, tables, how, planned)
    table = as_table(planned, program, match, [*stream.events, *stream.more])
    found, memory = run_stream(kernel, table, stream.batches)
    assert left_nothing(streamed, memory), "what no match can need is forgotten"
    bindings = [binding_of(program, row, stream.events) for row in found]
    return Streamed(complete(planned, bindings), stream.on_time)


@dataclass(frozen=True)
class Answered:
    """What had come out after a micro-batch, and which events were known then: all up to `now`."""

    matches: list[Binding]
    events: list[ReferenceEvent]
    now: int


def stream_answers(match: Match, tables: Tables, how: Arrival, planned: KernelPlan) -> Iterator[Answered]:
    """What has come out after each of the micro-batches."""
    program = numbered(planned.program)
    streamed = streamed_pattern(replace(planned, query=replace(match, distinct=False), program=program))
    stream = coming(match, tables, how, planned)
    table = as_table(planned, program, match, [*stream.events, *stream.more])
    found: list[Binding] = []
    come: list[int] = []
    kernel = PatternStream(streamed, functions=functions_of(match))
    for (batch, now), (rows, _) in zip(stream.batches, calls(kernel, table, stream.batches), strict=True):
        found += complete(planned, [binding_of(program, row, stream.events) for row in rows])
        come += [number for number in batch if number not in stream.late]
        every = [*stream.events, *stream.more]
        yield Answered(list(found), [every[number] for number in come], now)


# RETURN DISTINCT, and aggregates over matches.


@dataclass(frozen=True)
class ReturnedRows:
    """The rows that a run over a stream gave, as they came, and the events that took part."""

    rows: list[tuple[object, ...]]
    events: list[ReferenceEvent]


def stream_rows(match: Match, tables: Tables, how: Arrival) -> ReturnedRows:
    """What RETURN DISTINCT, or RETURN with aggregates over enumerated matches, gives. What Spark computes of
    a list of matches, the reference does here."""
    planned = with_group_columns(planned_for(match))
    program = with_numbers(planned)
    planned = replace(planned, program=program)
    stream = coming(match, tables, how, planned)
    table = with_outputs(planned, match, as_table(planned, program, match, stream.events), stream.events)
    functions, found = functions_of(match), []
    if match.aggregated:
        kernel: StreamKernel = GroupedStream(streamed_groups(planned), functions=functions)
        groups, memory = run_stream(kernel, table, stream.batches)
        found = [[binding_of(program, one, stream.events) for one in group["matches"]] for group in groups]
    else:
        kernel = PatternStream(streamed_pattern(planned), functions=functions)
        rows, memory = run_stream(kernel, table, stream.batches)
        found = [[binding_of(program, row, stream.events)] for row in rows]
    assert memory.is_empty, "what no row can need is forgotten"
    lists = [complete(planned, bindings) for bindings in found]
    made = [rows_of(match, [WeighedMatch(one, Fraction(1)) for one in bindings]) for bindings in lists]
    is_whole = all(item.value is not None for item in group_items(planned)) and not planned.residual
    assert all(len(rows) == 1 for rows in made) or not is_whole, "one row for each group"
    return ReturnedRows([row.values for rows in made for row in rows], stream.on_time)


def counted_stream_rows(match: Match, plan: AggregatePlan, tables: Tables, how: Arrival) -> ReturnedRows:
    """What RETURN gives with aggregates over matches that are counted."""
    planned = with_group_columns(plan.planned)
    stream = coming(match, tables, how, planned)
    table = as_table(planned, planned.program, match, stream.events)
    table = with_outputs(planned, match, table, stream.events)
    parts, memory = run_stream(GroupedStream(streamed_groups(planned)), table, stream.batches)
    assert memory.is_empty, "what no row can need is forgotten"
    rows = finished(match, plan, parts)
    assert len(rows) == len(parts), "each group comes once, with all its matches"
    return ReturnedRows(rows, stream.on_time)


def run_stream(
    kernel: StreamKernel, table: pa.Table, batches: Sequence[tuple[Sequence[int], int]]
) -> tuple[list[dict[str, Any]], StreamMemory]:
    """The rows that come out of micro-batches, and what is kept in the end."""
    found: list[dict[str, Any]] = []
    memory = StreamMemory()
    for rows, kept in calls(kernel, table, batches):
        found, memory = [*found, *rows], kept
    return found, memory


def calls(
    kernel: StreamKernel, table: pa.Table, batches: Sequence[tuple[Sequence[int], int]]
) -> Iterator[tuple[list[dict[str, Any]], StreamMemory]]:
    """What comes out of each micro-batch, and what is kept after it. `table` has the number of each event."""
    bucket = StreamedBucket(kernel)
    for results in bucket.calls(table, NUMBER, batches):
        yield [row for result in results for row in result.to_pylist()], bucket.memory


def left_nothing(streamed: StreamedPattern, memory: StreamMemory) -> bool:
    return streamed.window is None or memory.is_empty


# Imprecise times.


def weighed_stream(match: Match, tables: Tables, how: Arrival) -> tuple[Weighed, list[ReferenceEvent]]:
    """The matches that come out, each with its confidence, and the events that took part. Events come by
    their earliest times."""
    planned = imprecise_plan(match, partition_keys(match), unit_of(match))
    program = numbered(planned.program)
    streamed = streamed_imprecise(replace(planned, program=program))
    stream = coming(match, tables, how, planned)
    table = as_table(planned, program, match, stream.events)
    rows, memory = run_stream(ImpreciseStream(streamed, functions=functions_of(match)), table, stream.batches)
    assert memory.is_empty, "what no match can need is forgotten"
    found = [(binding_of(program, row, stream.events), row["confidence"]) for row in rows]
    kept = {id(binding) for binding in complete(planned, [binding for binding, _ in found])}
    return [one for one in found if id(one[0]) in kept], stream.on_time


# Streams as texts: "A1 B3" are an A at 1 and a B at 3, "@4" is a watermark, "A2-5" lasts from 2 to 5.


def emissions(query: Match, *batches: str) -> list[str]:
    """What comes out of each micro-batch: the events of matches in the order of time, `a1 b5 | a1 b6`."""
    planned = planned_for(query)
    texts, steps = batches_of(batches)
    events = list(read(query, {"S": [event_row(text) for text in texts]}, {}))
    program = numbered(planned.program)
    streamed = streamed_pattern(replace(planned, query=replace(query, distinct=False), program=program))
    table = as_table(planned, program, query, events)
    found = []
    for step, _ in calls(PatternStream(streamed), table, steps):
        bindings = complete(planned, [binding_of(program, row, events) for row in step])
        matches = [in_order(set(bound_events(binding))) for binding in bindings]
        found.append(" | ".join(sorted(" ".join(texts[event.row] for event in one) for one in matches)))
    return found


def group_sizes(query: Match, *batches: str) -> list[list[int]]:
    """How many matches the groups have that come out of each micro-batch."""
    planned = with_group_columns(planned_for(query))
    program = with_numbers(planned)
    planned = replace(planned, program=program)
    texts, steps = batches_of(batches)
    events = list(read(query, {"S": [event_row(text) for text in texts]}, {}))
    table = with_outputs(planned, query, as_table(planned, program, query, events), events)
    kernel = GroupedStream(streamed_groups(planned))
    return [sorted(len(group["matches"]) for group in step) for step, _ in calls(kernel, table, steps)]


def batches_of(batches: Sequence[str]) -> tuple[list[str], list[tuple[list[int], int]]]:
    """The words of all events, and the numbers of those in each micro-batch, with the watermark before it."""
    texts: list[str] = []
    watermark, steps = FIRST_TIME, []
    for batch in batches:
        own = [word for word in batch.split() if not word.startswith("@")]
        marks = [int(word[1:]) for word in batch.split() if word.startswith("@")]
        watermark = max([watermark, *marks])
        steps.append((list(range(len(texts), len(texts) + len(own))), watermark))
        texts += own
    return texts, steps


def event_row(word: str) -> dict[str, object]:
    start, _, end = word[1:].partition("-")
    values = {"ts": int(start), "te": int(end or start), "kind": word[0], "id": 1, "x": 1.0, "n": 1}
    return {**values, "user": "u"}
