"""Temporal patterns without Spark: clauses as text, and their programs over rows in the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

import pyarrow as pa
from in_stream import FAR, Arrival, arrived, calls

from neelc import syntax as parse
from neelc.algebra.bind.temporal import StreamNumbers, bind_temporal, plain_clause
from neelc.algebra.plan.sequential import without_spans
from neelc.algebra.plan.temporal import TemporalPlan, streamed_temporal, temporal_plan
from neelc.catalog.streams import ColumnSource
from neelc.errors import render_all
from neelc.findings import Findings
from neelc.ir.bound_rows import Temporal
from neelc.ir.expressions import ROW, AtRow, Attribute, Expr, OverRows
from neelc.ir.program import Clock, Column
from neelc.ir.row_patterns import MatchTemporal
from neelc.ir.script import RunQuery, Select
from neelc.ir.types import BIGINT, DOUBLE, INT, STRING
from neelc.pattern.plan.columns import EVENT
from neelc.runtime.kernels.temporal.kernel import temporal as kernel
from neelc.runtime.kernels.temporal.program import BITS, TIME
from neelc.runtime.kernels.temporal.stream import TemporalStream
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.reference.recognize import value_with
from neelc.runtime.reference.temporal import sure, temporal
from neelc.source import Source
from neelc.tools.cases.streaming.pattern import NUMBER

COLUMNS = (
    Column("k", INT),
    Column("ts", BIGINT),
    Column("x", INT),
    Column("y", DOUBLE),
    Column("s", STRING),
    Column("n", INT),
)
TYPES = {
    "k": pa.int32(),
    "ts": pa.int64(),
    "x": pa.int32(),
    "y": pa.float64(),
    "s": pa.string(),
    "n": pa.int32(),
}
CLOCK = Clock(BIGINT, "MILLISECOND")

Row = Mapping[str, object]
Found = Counter[tuple[object, ...]]


def clause(text: str, streams: Mapping[str, int] | None = None) -> tuple[Temporal | None, str]:
    """MATCH_RECOGNIZE_TEMPORAL (text) over COLUMNS, bound; and what is wrong with it. With `streams`, each
    symbol is about the events with a number in the column `n`."""
    source = Source(f"SELECT * FROM events MATCH_RECOGNIZE_TEMPORAL ({text})")
    [statement] = parse.script(source).statements
    assert isinstance(statement, RunQuery) and isinstance(statement.query, Select)
    matcher = statement.query.sources[0].matcher
    assert isinstance(matcher, MatchTemporal)
    findings, relation = Findings(source), ColumnSource("events", COLUMNS)
    numbers = None if streams is None else StreamNumbers("n", streams)
    plain = plain_clause(matcher, findings)
    query = None if plain is None else bind_temporal(plain, relation, CLOCK, findings, numbers)
    return query, render_all(findings.diagnostics, source)


def bound(text: str, streams: Mapping[str, int] | None = None) -> Temporal:
    query, problems = clause(text, streams)
    assert query is not None, problems
    return query


def by_definition(query: Temporal, rows: Sequence[Row]) -> Found:
    """The measures and the time of each match, as the reference interpreter has them."""
    times = [None if row["ts"] is None else cast(int, row["ts"]) * 1_000_000 for row in rows]
    found = temporal(query, rows, times)
    return Counter((*map(repr, map(_steady, match.values)), match.valid // 1_000_000) for match in found)


def by_kernel(query: Temporal, rows: Sequence[Row], rows_at_once: int, batch: int) -> Found:
    """The same, as the kernel has them, with the rows in batches of some length."""
    plan = temporal_plan(query, "MILLISECOND")
    table = table_of(plan, rows)
    batches = (table.slice(first, batch) for first in range(0, table.num_rows, batch))
    return Counter(
        (*measures_of(plan, row), row[TIME])
        for result in kernel(plan.program, rows_at_once)(batches)
        for row in result.to_pylist()
    )


def by_stream(query: Temporal, rows: Sequence[Row], how: Arrival) -> tuple[Found, Found]:
    """The same, of events that come in micro-batches; and what the reference is sure of, once the time of all
    those has passed that were not late. Fails if a match comes later than the reference is sure of it.
    `UnsupportedQuery` if an event could be needed for ever."""
    plan = temporal_plan(query, "MILLISECOND")
    stream = TemporalStream(streamed_temporal(plan))
    timed = sorted((row for row in rows if row["ts"] is not None), key=lambda row: _order(plan, row))
    table = pa.Table.from_batches([table_of(plan, timed)])
    table = table.append_column("start", table[TIME]).append_column(NUMBER, [range(len(timed))])
    moments = [cast(int, row["ts"]) for row in timed]
    events = [ReferenceEvent("", n, None, at, at, {}, (None, None)) for n, at in enumerate(moments)]
    batches = [*arrived(events, how, 1), ([], FAR)]
    late = {n for batch, now in batches for n in batch if moments[n] <= now}
    found: Found = Counter()
    came: set[int] = set()
    for (batch, now), (results, _) in zip(batches, calls(stream, table, batches), strict=True):
        found += Counter((*measures_of(plan, row), row[TIME]) for row in results)
        came |= set(batch) - late
        known = [timed[number] for number in sorted(came)]
        early = _sure(query, known, now)
        assert early <= found, f"{early - found} come too late, at {now}"
    return found, _sure(query, [row for number, row in enumerate(timed) if number not in late], FAR)


def _sure(query: Temporal, rows: Sequence[Row], now: int) -> Found:
    times = [cast(int, row["ts"]) * 1_000_000 for row in rows]
    found = sure(query, rows, times, now * 1_000_000)
    return Counter((*map(repr, map(_steady, match.values)), match.valid // 1_000_000) for match in found)


def table_of(plan: TemporalPlan, rows: Sequence[Row]) -> pa.RecordBatch:
    """What the kernel reads of the events, in its order."""
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


def _order(plan: TemporalPlan, row: Row) -> tuple[object, ...]:
    keys = [row[name] for name in plan.query.partition]
    return (*((key is not None, key or 0) for key in keys), row["ts"])


def _bits(plan: TemporalPlan, row: Row) -> int:
    met = (all(_value(one, ROW, row) is True for one in conjuncts) for conjuncts in plan.bits)
    return sum(1 << number for number, is_met in enumerate(met) if is_met)


def _value(expression: Expr, name: str, row: Row) -> object:
    return evaluate(
        expression, EvaluationContext({name: ReferenceEvent("", 0, None, 0, 0, row, (None, None))})
    )


def measures_of(plan: TemporalPlan, row: Row) -> list[str]:
    """The measures of a row of the kernel's result."""

    def looked_up(node: object) -> object:
        assert isinstance(node, AtRow | OverRows)
        value = row[plan.outputs[without_spans(node)]]
        if isinstance(node, AtRow) or value is None:
            return value
        assert isinstance(value, list)
        if node.argument is None:
            return len(value)
        return aggregate(node.name, [one for one in value if one is not None], node.type, node.distinct)

    return [repr(_steady(value_with(one.expression, looked_up))) for one in plan.query.measures]


def _steady(value: object) -> object:
    """A list that depends on the order of simultaneous events, in one order."""
    return sorted(value, key=repr) if isinstance(value, list) else value
