"""Cases as streams, in process: their events come in micro-batches, in order and out of it, and the kernels
that Spark's workers run over streams must find what the case expects, each match once.

What Spark computes for a kernel is computed by the reference interpreter here: which events can play a role,
the values that conditions compare, and what RETURN makes of the matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from neelc.arguments import Options
from neelc.engines.reference import Tables
from neelc.ir.expressions import Aggregate, Expr, Function
from neelc.ir.node import walk
from neelc.ir.program import Match, Program
from neelc.ir.types import BIGINT, DOUBLE, INT, LENGTHS, STRING, DataType
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.blocks import UnsupportedQuery, renamed
from neelc.pattern.plan.columns import EVENT, EventColumn, unit_of, width_of
from neelc.pattern.plan.columns import NUMBER as AS_NUMBER
from neelc.pattern.plan.emission import streamed_pattern
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.pipeline import compile_program
from neelc.runtime.coding import called_columns, condition_columns
from neelc.runtime.columns import FIRST_TIME, Ints
from neelc.runtime.kernels.pattern_stream import PatternStream
from neelc.runtime.program import EventName, PatternProgram, VariableOutput
from neelc.runtime.reference import Result, read
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import is_member
from neelc.runtime.reference.model import Binding, EvaluationContext, ReferenceEvent, nanoseconds
from neelc.runtime.reference.question import condition, holds
from neelc.runtime.reference.results import result, rows_of
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.runtime.streaming import (
    StreamMemory,
    StreamProgram,
    called,
    memory_from_bytes,
    memory_to_bytes,
)
from neelc.runtime.values.order import comparable

FARTHEST = 1 << 61
"""Watermarks are far from the ends of 64 bits, so that windows can be added to them."""
LAST = 1 << 62
"""The last watermark: all that waits is decided then."""
SEED = 17

# The ways in which the events of a case come.


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


MICRO_BATCHINGS = tuple(MicroBatching(size, shuffled) for shuffled in (False, True) for size in (1, 2, None))


def stream_results(program: Program, tables: Tables) -> Iterator[tuple[MicroBatching, Result]]:
    """What the last query of a script gives over streams, whichever way its events come. Raises
    `UnsupportedQuery` if it is refused on streams, or cannot run without Spark."""
    compile_program(program, options=Options(streaming=True))
    query = program.queries[-1].query
    if not isinstance(query, Match):
        raise UnsupportedQuery("only PATTERN queries run as streams without Spark")
    if any(stream.producer for stream in query.streams):
        raise UnsupportedQuery("only queries that read no other query run as streams without Spark")
    if query.is_imprecise:
        raise UnsupportedQuery("imprecise timestamps do not run as streams without Spark")
    planned = kernel_plan(query, partition_keys(query), unit_of(query))
    stream = CaseEvents.of(planned, query, tables)
    for way in MICRO_BATCHINGS:
        yield way, result(query, rows_of(query, stream.found(way)))


@dataclass(frozen=True, eq=False)
class CaseEvents:
    """The events of a case as rows for a kernel, and those that come after them and play no role: without
    them the matches of a window of EVENTS would never be sure."""

    planned: KernelPlan
    query: Match
    events: Sequence[ReferenceEvent]
    later: Sequence[ReferenceEvent]

    @classmethod
    def of(cls, planned: KernelPlan, query: Match, tables: Tables) -> CaseEvents:
        events = list(read(query, tables, {}))
        if any(abs(event.start) // LENGTHS[planned.plan.unit] >= FARTHEST for event in events):
            raise UnsupportedQuery("times that no watermark of Spark's reaches")
        return cls(planned, query, events, list(_later(planned, query, events)))

    @property
    def unit(self) -> int:
        return LENGTHS[self.planned.plan.unit]

    def found(self, way: MicroBatching) -> list[WeighedMatch]:
        """The matches that come out. What is kept is written and read between any two micro-batches."""
        outputs = (numbered_output(one, f"v{n}") for n, one in enumerate(self.planned.program.outputs))
        program = replace(self.planned.program, outputs=tuple(outputs))
        written = replace(self.query, distinct=False, aggregated=False)
        streamed = streamed_pattern(replace(self.planned, query=written, program=program))
        every = [*self.events, *self.later]
        table = _table(self.planned, program, self.query, every)
        kernel = StreamProgram(PatternStream(streamed, functions=functions_of(self.query)))
        rows: list[dict[str, Any]] = []
        memory = memory_to_bytes(StreamMemory(), FIRST_TIME)
        for batch, now in self._batches(way):
            kept, before = memory_from_bytes(memory)
            call = called(kernel, kept, before, table.take(_places(table, batch)).to_batches(), now)
            memory = memory_to_bytes(call.step.memory, call.watermark)
            rows += [row for found in call.step.results for row in found.to_pylist()]
        bindings = [
            {str(one.variable): bound(one, row[one.name], every) for one in program.outputs} for row in rows
        ]
        return [WeighedMatch(one, Fraction(1)) for one in complete(self.planned, bindings)]

    def _batches(self, way: MicroBatching) -> Iterator[tuple[Sequence[int], int]]:
        """The numbers of the events of each micro-batch, and the watermark when it comes. None is late: an
        event at the watermark would be."""
        starts = [event.start // self.unit for event in self.events]
        delay = self._delay(starts) if way.shuffled else 0
        chance = Random(SEED)
        order = sorted(range(len(starts)), key=lambda n: (starts[n] + chance.uniform(0, delay), n))
        size = way.size or max(1, len(order))
        watermark = FIRST_TIME
        for first in range(0, len(order), size):
            batch = order[first : first + size]
            yield batch, watermark
            watermark = max([watermark, *(starts[n] - delay - 1 for n in batch)])
            yield [], watermark
        yield range(len(starts), len(starts) + len(self.later)), watermark
        yield [], LAST

    def _delay(self, starts: Sequence[int]) -> int:
        """How late events come: as the script declares, else half of the time that they cover."""
        declared = [one.watermark * 1000 // self.unit for one in self.query.streams if one.watermark]
        return max(declared) if declared else (max(starts, default=0) - min(starts, default=0)) // 2


def _later(planned: KernelPlan, query: Match, events: Sequence[ReferenceEvent]) -> Iterator[ReferenceEvent]:
    """As many for each key as a window of EVENTS has, and one more."""
    if query.within is None or query.within.unit != "EVENT" or not events:
        return
    width, _ = width_of(query.within, planned.plan.unit)
    unit = LENGTHS[planned.plan.unit]
    last = max(event.end for event in events) // unit
    for event in {repr(key(planned, query, event)): event for event in events}.values():
        for number in range(width + 1):
            time = (last + 1 + number) * unit
            yield replace(event, stream="no stream of the query", row=number, type=None, start=time, end=time)


def _table(
    planned: KernelPlan, program: PatternProgram, query: Match, events: Sequence[ReferenceEvent]
) -> pa.Table:
    """The events that a kernel is given."""
    masks = role_masks(planned, query, events)
    places = [number for number, mask in enumerate(masks) if mask or program.everything]
    return pa.table(event_columns(planned, program, query, events, masks, places)).combine_chunks()


def _places(table: pa.Table, numbers: Sequence[int]) -> pa.Array:
    place = {number: row for row, number in enumerate(table[NUMBER].to_pylist())}
    return pa.array([place[number] for number in numbers if number in place], pa.int64())


# Events as rows for a kernel, with what Spark computes of each.

TYPES: dict[DataType, Any] = {INT: pa.int32(), BIGINT: pa.int64(), STRING: pa.string(), DOUBLE: pa.float64()}
NUMBER = "event number"
"""The column of an event's place: matches come back as these."""


def event_columns(
    planned: KernelPlan,
    program: PatternProgram,
    query: Match,
    events: Sequence[ReferenceEvent],
    masks: Sequence[int],
    places: Sequence[int],
) -> dict[str, pa.Array]:
    """The columns of the events at these places; `masks` are the roles of all events."""
    unit = LENGTHS[planned.plan.unit]
    columns = {
        "start": pa.array([events[n].start // unit for n in places], pa.int64()),
        "end": pa.array([events[n].end // unit for n in places], pa.int64()),
        "roles": pa.array([masks[n] for n in places], pa.int32()),
        NUMBER: pa.array(places, pa.int64()),
        **dict(value_columns(planned, query, events, places)),
    }
    keys = [as_spark_has_it(key(planned, query, event)) for event in events]
    compared = condition_columns(program)
    for place, column in enumerate(planned.keys):
        if column.name in compared and program.everything:
            columns[column.name] = pa.array([keys[n][place] for n in places], TYPES.get(column.type))
        elif not column.is_column or program.everything:  # events of other types count, and have a key
            columns[column.name] = pa.array([repr(keys[n][place]) for n in places], pa.string())
    return columns


def value_columns(
    planned: KernelPlan, query: Match, events: Sequence[ReferenceEvent], places: Sequence[int]
) -> Iterator[tuple[str, pa.Array]]:
    """The values that conditions compare."""
    program = planned.program
    needed = {*condition_columns(program), *called_columns(program), *program.keys}
    for column in planned.columns:
        if column.name not in needed:
            continue
        values = list(raw_values(column, query, events))
        kind = TYPES.get(column.type, pa.int64() if all(v is None for v in values) else None)
        yield column.name, pa.array([values[n] for n in places], kind)


def raw_values(column: EventColumn, query: Match, events: Sequence[ReferenceEvent]) -> Iterator[object]:
    """What a column holds for each event."""
    for event in events:
        value = None
        if is_of_types(query, event, column.types):
            value = evaluate(column.expression, EvaluationContext({EVENT: event}))
        if column.form == AS_NUMBER and value is not None:
            number = nanoseconds(value, "DAY")
            value = None if number is None else number // 1000
        yield value


def key(planned: KernelPlan, query: Match, event: ReferenceEvent) -> tuple[object, ...]:
    """The values that an event is partitioned by."""
    values: list[object] = []
    for column in planned.keys:
        for term, types in column.terms:
            if planned.program.everything or is_of_types(query, event, types):
                values.append(comparable(evaluate(term, EvaluationContext({EVENT: event}))))
                break
        else:
            values.append(None)
    return tuple(values)


def as_spark_has_it(key: object) -> Any:
    """A key whose zeros have no sign."""
    if isinstance(key, tuple):
        return tuple(map(as_spark_has_it, key))
    return 0.0 if isinstance(key, float) and key == 0 else key


def role_masks(planned: KernelPlan, query: Match, events: Sequence[ReferenceEvent]) -> list[int]:
    """The roles that each event can play, a bit for each."""
    masks = [0] * len(events)
    for bit, (_, numbers) in enumerate(roles(planned, query, events)):
        for number in numbers:
            masks[number] |= 1 << bit
    return masks


def roles(planned: KernelPlan, query: Match, events: Sequence[ReferenceEvent]) -> Iterator[tuple[str, Ints]]:
    """The numbers of the events that can play each role."""
    for role in planned.plan.roles:
        can = [
            number
            for number, event in enumerate(events)
            if is_of_types(query, event, [role.type])
            and all(_holds_for(one, role.variable, event) for one in role.conditions)
        ]
        yield role.name, np.array(can, np.int64)


def is_of_types(query: Match, event: ReferenceEvent, types: Sequence[str]) -> bool:
    members = [member for known in query.types if known.name in types for member in known.members]
    return any(is_member(event, member) for member in members)


def _holds_for(condition: Expr, variable: EventName, event: ReferenceEvent) -> bool:
    return evaluate(renamed(condition, variable, EVENT), EvaluationContext({EVENT: event})) is True


# Rows of a kernel as matches.


def numbered_output(output: VariableOutput, name: str) -> VariableOutput:
    """The output with the numbers of events instead of their values."""
    fields = () if output.inner else ((NUMBER, NUMBER),)
    inner = tuple(numbered_output(one, f"w{n}") for n, one in enumerate(output.inner))
    return replace(output, name=name, fields=fields, inner=inner)


def bound(output: VariableOutput, value: Any, events: Sequence[ReferenceEvent]) -> object:
    """What a variable is bound to, given the numbers of its events."""
    if value is None:
        return None
    if output.listed:
        one = replace(output, listed=False)
        return tuple(bound(one, element, events) for element in value)
    if output.inner:
        return {
            str(inner.variable): bound(inner, value[inner.name], events)
            for inner in sorted(output.inner, key=lambda inner: str(inner.variable))
        }
    return events[value[NUMBER]]


def complete(planned: KernelPlan, bindings: Sequence[Binding]) -> list[Binding]:
    """Those that meet the conditions that are left for complete matches."""
    left = [condition(expression) for expression in planned.residual]
    return [binding for binding in bindings if all(holds(one, binding) for one in left)]


def functions_of(query: Match) -> dict[str, Function]:
    """The functions of users that a query calls."""
    nodes = [*walk(query.pattern), *(node for output in query.outputs for node in walk(output.expression))]
    return {node.name: node.function for node in nodes if isinstance(node, Aggregate) and node.function}
