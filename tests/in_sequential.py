"""JEPC's patterns without Spark: clauses as text, and their programs over rows in the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import pyarrow as pa
from in_stream import FAR, Arrival, arrived, run_stream

from neelc import syntax as parse
from neelc.algebra.bind.sequential import bind_sequential, with_previous
from neelc.algebra.plan.extended_filter import judged_events
from neelc.algebra.plan.sequential import (
    SequentialPlan,
    sequential_plan,
    streamed_sequential,
    without_spans,
)
from neelc.catalog.streams import ColumnSource
from neelc.engines.spark.sequential import CHUNK, FOUND, Chunks, chunks_of
from neelc.errors import render_all
from neelc.findings import Findings
from neelc.ir.bound_rows import Sequential
from neelc.ir.expressions import ROW, AtRow, Attribute, Expr, Variable
from neelc.ir.node import Node, map_children
from neelc.ir.program import Clock, Column
from neelc.ir.row_patterns import MatchSequential
from neelc.ir.script import RunQuery, Select
from neelc.ir.types import BIGINT, DOUBLE, INT, STRING
from neelc.pattern.plan.columns import EVENT
from neelc.rows.bind.recognize import matched_columns
from neelc.runtime.kernels.sequential.group import group_member, sequential_group
from neelc.runtime.kernels.sequential.kernel import sequential as kernel
from neelc.runtime.kernels.sequential.program import BITS, TIME, GroupMember, SequentialGroup
from neelc.runtime.kernels.sequential.stream import SequentialStream
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.reference.sequential import sequential
from neelc.source import Source
from neelc.tools.cases.streaming.pattern import NUMBER

COLUMNS = (Column("k", INT), Column("ts", BIGINT), Column("x", INT), Column("y", DOUBLE), Column("s", STRING))
TYPES = {"k": pa.int32(), "ts": pa.int64(), "x": pa.int32(), "y": pa.float64(), "s": pa.string()}
CLOCK = Clock(BIGINT, "MILLISECOND")

Row = Mapping[str, object]
Found = Counter[tuple[object, ...]]


def clause(text: str) -> tuple[Sequential | None, str]:
    """MATCH_RECOGNIZE_SEQUENTIAL (text) over COLUMNS, bound; and what is wrong with it."""
    source = Source(f"SELECT * FROM events MATCH_RECOGNIZE_SEQUENTIAL ({text})")
    [statement] = parse.script(source).statements
    assert isinstance(statement, RunQuery) and isinstance(statement.query, Select)
    matcher = statement.query.sources[0].matcher
    assert isinstance(matcher, MatchSequential)
    findings, relation = Findings(source), ColumnSource("events", COLUMNS)
    matcher = with_previous(matcher, relation)
    matched_columns(matcher, relation, findings)
    query = None if findings.diagnostics else bind_sequential(matcher, relation, CLOCK, findings)
    return query, render_all(findings.diagnostics, source)


def bound(text: str) -> Sequential:
    query, problems = clause(text)
    assert query is not None, problems
    return query


def by_definition(query: Sequential, rows: Sequence[Row]) -> Found:
    """The measures and the time of each match, as the reference interpreter has them."""
    times = [None if row["ts"] is None else cast(int, row["ts"]) * 1_000_000 for row in rows]
    found = sequential(query, rows, times)
    return Counter((*map(repr, match.values), rows[match.events[-1].row]["ts"]) for match in found)


def by_kernel(
    query: Sequential, rows: Sequence[Row], rows_at_once: int, batch: int, windows: int = 1
) -> Found:
    """The same, as the kernel has them, with the rows in batches of some length; without partitions, if it
    can be, with time in chunks of so many windows."""
    plan = sequential_plan(query, "MILLISECOND")
    table, program, chunks = _table(plan, rows), plan.program, chunks_of(plan.program)
    if chunks is not None:
        chunks = replace(chunks, width=windows * max(1, chunks.reach))
        table, program = _in_chunks(table, chunks), chunks.program(program)
    batches = (table.slice(first, batch) for first in range(0, table.num_rows, batch))
    found: Found = Counter()
    for result in kernel(program, rows_at_once)(batches):
        for row in result.to_pylist():
            if chunks is not None and row[TIME] // chunks.width != row[FOUND]:
                continue
            found[(*(repr(_measure(plan, one.expression, row)) for one in query.measures), row[TIME])] += 1
    return found


def by_group(
    queries: Sequence[Sequential], rows: Sequence[Row], rows_at_once: int, batch: int
) -> list[Found]:
    """The same of several clauses that have the same partitions, by one kernel."""
    written = [sequential_plan(query, "MILLISECOND") for query in queries]
    judged = judged_events(written)
    plans = [judged.renamed(plan) for plan in written]
    table = _table(replace(plans[0], columns=judged.columns), rows)
    programs, slots = [], []
    for number, plan in enumerate(plans):
        table = table.append_column(f"word {number}", _table(plan, rows).column(BITS))
        outputs = [replace(one, name=f"{one.name} of {number}") for one in plan.program.outputs]
        slots += [(one.name, one.column) for one in outputs]
        places = tuple((f"word {number}", symbol) for symbol in range(len(plan.bits)))
        programs.append(replace(plan.program, outputs=tuple(outputs), places=places))
    batches = (table.slice(first, batch) for first in range(0, table.num_rows, batch))
    group = SequentialGroup(tuple(programs), tuple(slots))
    results = list(sequential_group(group, rows_at_once)(batches))
    return [_of_member(number, plan, results) for number, plan in enumerate(plans)]


def _of_member(number: int, plan: SequentialPlan, results: Sequence[pa.RecordBatch]) -> Found:
    names = [one.name for one in plan.program.outputs]
    member = GroupMember(number, tuple((f"{name} of {number}", name) for name in names))
    found = [row for batch in group_member(member)(iter(results)) for row in batch.to_pylist()]
    measures = [one.expression for one in plan.query.measures]
    return Counter((*(repr(_measure(plan, one, row)) for one in measures), row[TIME]) for row in found)


def by_stream(query: Sequential, rows: Sequence[Row], how: Arrival) -> tuple[Found, list[Row]]:
    """The same, of events that come in micro-batches; and the events that were not late. `UnsupportedQuery`
    if an event could be needed for ever."""
    plan = sequential_plan(query, "MILLISECOND")
    kernel = SequentialStream(streamed_sequential(plan))
    timed = sorted((row for row in rows if row["ts"] is not None), key=lambda row: _order(plan, row))
    table = pa.Table.from_batches([_table(plan, timed)])
    table = table.append_column("start", table[TIME]).append_column(NUMBER, [range(len(timed))])
    moments = [cast(int, row["ts"]) for row in timed]
    events = [ReferenceEvent("", n, None, at, at, {}, (None, None)) for n, at in enumerate(moments)]
    batches = [*arrived(events, how, 1), ([], FAR)]
    late = {n for batch, now in batches for n in batch if moments[n] <= now}
    found, memory = run_stream(kernel, table, batches)
    is_bounded = plan.program.reach is not None and not plan.program.back
    assert not is_bounded or memory.is_empty, "what no match can need is forgotten"
    matches: Found = Counter(
        (*(repr(_measure(plan, one.expression, row)) for one in query.measures), row[TIME]) for row in found
    )
    return matches, [row for number, row in enumerate(timed) if number not in late]


def _in_chunks(table: pa.RecordBatch, chunks: Chunks) -> pa.RecordBatch:
    """What Spark makes of the events."""
    pairs = sorted(
        (chunk, number)
        for number, time in enumerate(table.column(TIME).to_pylist())
        for chunk in range(time // chunks.width, (time + chunks.reach) // chunks.width + 1)
    )
    events = table.take(pa.array([number for _, number in pairs], type=pa.int64()))
    return events.append_column(CHUNK, pa.array([chunk for chunk, _ in pairs], type=pa.int64()))


def _table(plan: SequentialPlan, rows: Sequence[Row]) -> pa.RecordBatch:
    events = sorted((row for row in rows if row["ts"] is not None), key=lambda row: _order(plan, row))
    arrays = {
        column.name: pa.array([_value(column.expression, EVENT, row) for row in events])
        for column in plan.columns
    }
    for column in plan.columns:
        if isinstance(column.expression, Attribute):
            arrays[column.name] = arrays[column.name].cast(TYPES[column.expression.name])
    arrays[TIME] = pa.array([row["ts"] for row in events], type=pa.int64())
    arrays[BITS] = pa.array([_bits(plan, row) for row in events], type=pa.int64())
    return pa.RecordBatch.from_pydict(arrays)


def _order(plan: SequentialPlan, row: Row) -> tuple[object, ...]:
    keys = [row[name] for name in plan.query.partition]
    return (*((key is not None, key or 0) for key in keys), row["ts"])


def _bits(plan: SequentialPlan, row: Row) -> int:
    met = (all(_value(one, ROW, row) is True for one in conjuncts) for conjuncts in plan.bits)
    return sum(1 << number for number, is_met in enumerate(met) if is_met)


def _value(expression: Expr, name: str, row: Row) -> object:
    return evaluate(
        expression, EvaluationContext({name: ReferenceEvent("", 0, None, 0, 0, row, (None, None))})
    )


def _measure(plan: SequentialPlan, expression: Expr, row: Row) -> object:
    def change(node: Node) -> Node:
        if isinstance(node, AtRow):
            known = without_spans(node)
            assert isinstance(known, AtRow)
            return Attribute(Variable(ROW), plan.outputs[known], node.type)
        return map_children(node, change)

    return _value(cast(Expr, change(expression)), ROW, row)
