"""PATTERN over a case's events as a stream, in process.

What Spark computes for a kernel is computed by the reference interpreter here: which events can play a role,
the values that conditions compare, and what RETURN makes of the matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from neelc.engines.reference import Tables
from neelc.ir.expressions import Aggregate, Attribute, Call, EventTime, Expr, Literal, Variable
from neelc.ir.node import Node, walk
from neelc.ir.program import Column, Match
from neelc.ir.types import BIGINT, DOUBLE, INT, LENGTHS, STRING, DataType
from neelc.pattern.plan.blocks import UnsupportedQuery, renamed
from neelc.pattern.plan.columns import EVENT, EventColumn, order_names, width_of
from neelc.pattern.plan.columns import NUMBER as AS_NUMBER
from neelc.pattern.plan.counting.plan import AggregatePlan
from neelc.pattern.plan.emission import (
    StreamPlan,
    match_grouping,
    streamed_groups,
    streamed_imprecise,
    streamed_pattern,
)
from neelc.pattern.plan.kernel_plan import START, KernelPlan
from neelc.rows.plan.conditions import changed
from neelc.runtime.coding import called_columns, condition_columns
from neelc.runtime.columns import Ints
from neelc.runtime.kernels.confidence.stream import ImpreciseStream
from neelc.runtime.kernels.counting.chain import AVERAGE, COUNT, MAX, MIN, SUM, Tally
from neelc.runtime.kernels.grouped_stream import GroupedStream
from neelc.runtime.kernels.pattern_stream import PatternStream
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    EventName,
    PatternProgram,
    StreamedGroups,
    StreamedImprecise,
    VariableOutput,
)
from neelc.runtime.reference import Result, read
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import is_member
from neelc.runtime.reference.model import Binding, EvaluationContext, ReferenceEvent, moment, nanoseconds
from neelc.runtime.reference.question import condition, holds
from neelc.runtime.reference.results import ResultRow, result, rows_of
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.runtime.streaming import StreamKernel
from neelc.runtime.values.order import comparable, extreme
from neelc.scalar.type_of import type_of
from neelc.tools.cases.streaming.arrival import (
    FARTHEST,
    Batches,
    MicroBatching,
    StreamedBucket,
    StreamResult,
    declared_delay,
)


@dataclass(frozen=True, eq=False)
class PatternCase:
    """A PATTERN over the events of a case. After these come some that play no role, `more`: without them the
    matches of a window of EVENTS would never be sure."""

    plan: StreamPlan
    events: Sequence[ReferenceEvent]
    more: Sequence[ReferenceEvent]

    @classmethod
    def of(cls, plan: StreamPlan, tables: Tables) -> PatternCase:
        query = plan.planned.query
        events = list(read(query, tables, {}))
        run = cls(plan, events, list(later(plan.planned, query, events)))
        if any(abs(start) >= FARTHEST for start in run.starts):
            raise UnsupportedQuery("its times are too far away for a watermark")
        return run

    @property
    def query(self) -> Match:
        return self.plan.planned.query

    @property
    def starts(self) -> list[int]:
        unit = LENGTHS[self.plan.planned.plan.unit]
        return [event.start // unit for event in self.events]

    def result(self, way: MicroBatching) -> StreamResult:
        """The rows that come out, if the events come this way."""
        declared = declared_delay(self.query.streams, LENGTHS[self.plan.planned.plan.unit])
        batches = way.batches(self.starts, declared, len(self.more))
        if self.plan.counted is None:
            found = [row for rows in self._rows(batches) for row in rows]
            return StreamResult(way, result(self.query, found))
        columns = tuple(Column(output.name, output.type) for output in self.query.outputs)
        return StreamResult(way, Result(columns, list(self._counted(self.plan.counted, batches))))

    def _counted(self, counted: AggregatePlan, batches: Batches) -> Iterator[tuple[object, ...]]:
        """The rows of aggregates over matches that are counted."""
        planned = self.plan.planned
        table = event_table(planned, planned.program, self.query, self.events)
        table = with_outputs(planned, self.query, table, self.events)
        bucket = StreamedBucket(GroupedStream(streamed_groups(planned)))
        for results in bucket.calls(table, NUMBER, batches):
            for group in (row for batch in results for row in batch.to_pylist()):
                yield tuple(group_value(counted, group, one.expression) for one in self.query.outputs)

    def _rows(self, batches: Batches) -> Iterator[list[ResultRow]]:
        planned, every = self.plan.planned, [*self.events, *self.more]
        is_grouped = self.query.distinct or self.query.aggregated
        program = with_numbers(planned) if is_grouped else numbered(planned.program)
        table = event_table(planned, program, self.query, every)
        if is_grouped:
            table = with_outputs(planned, self.query, table, every)
        bucket = StreamedBucket(self._kernel(replace(planned, program=program)))
        for results in bucket.calls(table, NUMBER, batches):
            for row in (row for batch in results for row in batch.to_pylist()):
                matches = row["matches"] if self.query.aggregated else [row]
                yield rows_of(self.query, list(self._weighed(program, matches, every)))

    def _kernel(self, planned: KernelPlan) -> StreamKernel:
        functions = functions_of(self.query)
        if isinstance(self.plan.streamed, StreamedImprecise):
            return ImpreciseStream(streamed_imprecise(planned))
        if isinstance(self.plan.streamed, StreamedGroups):
            return GroupedStream(streamed_groups(planned), functions=functions)
        return PatternStream(streamed_pattern(planned), functions=functions)

    def _weighed(
        self, program: PatternProgram, rows: Sequence[Mapping[str, Any]], events: Sequence[ReferenceEvent]
    ) -> Iterator[WeighedMatch]:
        bindings = [binding_of(program, row, events) for row in rows]
        kept = {id(binding) for binding in complete(self.plan.planned, bindings)}
        for binding, row in zip(bindings, rows, strict=True):
            if id(binding) in kept:
                yield WeighedMatch(binding, Fraction(row.get("confidence", 1)))


def later(planned: KernelPlan, query: Match, events: Sequence[ReferenceEvent]) -> Iterator[ReferenceEvent]:
    """Events that play no role, after all others: as many for each key as a window of EVENTS has, and one
    more. Without them some matches would never be sure."""
    if query.within is None or query.within.unit != "EVENT" or not events:
        return
    width, _ = width_of(query.within, planned.plan.unit)
    unit = LENGTHS[planned.plan.unit]
    last = max(event.end for event in events) // unit
    for event in {repr(key(planned, query, event)): event for event in events}.values():
        for number in range(width + 1):
            time = (last + 1 + number) * unit
            yield replace(event, stream="no stream of the query", row=number, type=None, start=time, end=time)


# Events as rows for a kernel, with what Spark computes of each.

TYPES: dict[DataType, Any] = {INT: pa.int32(), BIGINT: pa.int64(), STRING: pa.string(), DOUBLE: pa.float64()}
NUMBER = "event number"
"""The column of an event's place: matches come back as these."""


def event_table(
    planned: KernelPlan, program: PatternProgram, query: Match, events: Sequence[ReferenceEvent]
) -> pa.Table:
    """The events that a kernel is given."""
    masks = role_masks(planned, query, events)
    places = [number for number, mask in enumerate(masks) if mask or program.everything]
    return pa.table(event_columns(planned, program, query, events, masks, places)).combine_chunks()


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
        **{name: _order_column(query, events, places, name) for name in program.order},
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


def _order_column(
    query: Match, events: Sequence[ReferenceEvent], places: Sequence[int], name: str
) -> pa.Array:
    """What orders events of the same time, in one of the columns of THEN BY."""
    place = order_names(query).index(name)
    values = [events[n].order[place] for n in places]
    kind = query.order_types[place]
    return pa.array(values, TYPES.get(kind, pa.int64() if all(v is None for v in values) else None))


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


def numbered(program: PatternProgram) -> PatternProgram:
    """The program, with the numbers of events as its results."""
    outputs = (numbered_output(output, f"v{n}") for n, output in enumerate(program.outputs))
    return replace(program, outputs=tuple(outputs))


def with_numbers(planned: KernelPlan) -> PatternProgram:
    """The program, with the numbers of events among its results: for kernels that compare these."""
    program = numbered(planned.program)
    own = {output.variable: output.fields for output in planned.program.outputs}
    outputs = [
        one if one.inner else replace(one, fields=(*one.fields, *own[one.variable]))
        for one in program.outputs
    ]
    return replace(program, outputs=tuple(outputs))


def with_outputs(
    planned: KernelPlan, match: Match, table: pa.Table, events: Sequence[ReferenceEvent]
) -> pa.Table:
    """The table with the columns that results are made of, and grouped by."""
    numbers = table.column(NUMBER).to_pylist()
    used = {column for output in planned.program.outputs for column in output.columns}
    used |= set(match_grouping(planned).columns)
    for column in planned.columns:
        if column.name in used - set(table.column_names):
            values = list(raw_values(column, match, events))
            table = table.append_column(
                column.name, pa.array([values[n] for n in numbers], TYPES.get(column.type))
            )
    return table


def numbered_output(output: VariableOutput, name: str) -> VariableOutput:
    """The output with the numbers of events instead of their values."""
    fields = () if output.inner else ((NUMBER, NUMBER),)
    inner = tuple(numbered_output(one, f"w{n}") for n, one in enumerate(output.inner))
    return replace(output, name=name, fields=fields, inner=inner)


def binding_of(program: PatternProgram, row: Mapping[str, Any], events: Sequence[ReferenceEvent]) -> Binding:
    """The match that a row is."""
    return {str(output.variable): bound(output, row[output.name], events) for output in program.outputs}


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


def group_value(counted: AggregatePlan, group: Mapping[str, Any], expression: Expr) -> object:
    """What RETURN has for a group whose matches are counted."""
    planned = counted.planned
    tallies: dict[Node, Tally] = {one.node: one.tally for one in counted.tallied}

    def change(node: Node) -> Node | None:
        if isinstance(node, Expr) and node in tallies:
            return Literal(united(tallies[node], [group]), type_of(node))
        match node:
            case Attribute(Variable(name), type=type) | EventTime(Variable(name), type=type):
                field = planned.field(node, name)
                value = group[planned.struct(name)][field]
                if field == START:
                    value = moment(value * LENGTHS[planned.plan.unit], planned.query.clock)
                return Literal(value, type)
        return None

    return evaluate(changed(expression, change), EvaluationContext({}))


def united(tally: Tally, rows: Sequence[Mapping[str, Any]]) -> Any:
    """What Spark makes of the parts of a tally."""
    if tally.function == AVERAGE:
        count = sum(row[f"{tally.name}_count"] for row in rows)
        return sum(row[f"{tally.name}_sum"] for row in rows) / count if count else None
    values = [row[tally.name] for row in rows if row[tally.name] is not None]
    if tally.wide and (values or tally.function == COUNT):
        return Decimal(sum(map(int, values)))
    if tally.function == COUNT:
        return int(sum(values))
    if not values:
        return None
    if tally.function in (MIN, MAX):
        return extreme(values, 1 if tally.function == MAX else -1)
    assert tally.function == SUM
    return sum(values) if isinstance(values[0], float) else int(sum(values))


def complete(planned: KernelPlan, bindings: Sequence[Binding]) -> list[Binding]:
    """Those that meet the conditions that are left for complete matches."""
    left = [condition(expression) for expression in planned.residual]
    return [binding for binding in bindings if all(holds(one, binding) for one in left)]


def functions_of(query: Match) -> dict[str, Any]:
    """The functions of users that a query calls: of lists of values, and of whole columns."""
    nodes = [*walk(query.pattern), *(node for output in query.outputs for node in walk(output.expression))]
    found: dict[str, Any] = {
        node.name: node.function for node in nodes if isinstance(node, Aggregate) and node.function
    }
    declared = (node.declared for node in nodes if isinstance(node, Call) and node.declared is not None)
    return found | {one.name: one.python for one in declared if one.python is not None}
