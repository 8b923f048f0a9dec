"""MATCH_RECOGNIZE answered by the kernel through its bridge, in process: what Spark would compute before and
after it is computed by the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from neelc.engines.spark.rows import one_number
from neelc.errors import NeelError
from neelc.findings import Findings
from neelc.ir.bound_rows import Recognize
from neelc.ir.program import Column
from neelc.ir.types import BIGINT, BOOLEAN, DOUBLE, INT, LENGTHS, STRING, TIMESTAMP, DataType
from neelc.rows.bind.recognize import bound_clause
from neelc.rows.plan.plan import RowPlan, time_unit
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.kernel import recognizer
from neelc.runtime.reference.model import nanoseconds
from neelc.runtime.reference.recognize import Row, in_partitions, value_of_row
from neelc.runtime.reference.results import Result
from neelc.source import Source, Span
from neelc.syntax import row_match
from neelc.tools.cases.streaming.rows import clause_column, mask, output_row

TYPES: dict[DataType, Any] = {
    INT: pa.int32(), BIGINT: pa.int64(), STRING: pa.string(), DOUBLE: pa.float64(), BOOLEAN: pa.bool_(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
}  # fmt: skip
COLUMNS = (
    Column("id", STRING), Column("ward", INT), Column("t", INT), Column("kind", STRING), Column("x", INT),
    Column("y", DOUBLE),
)  # fmt: skip


def bound(text: str, columns: tuple[Column, ...] = COLUMNS, unit: str = "MILLISECOND") -> Recognize:
    """A clause over rows with these columns; `NeelError` if it is wrong."""
    source = Source(f"MATCH_RECOGNIZE ({text})")
    findings = Findings(source)
    parsed = row_match(source, Span(0, len(source.text)))
    found = bound_clause(parsed, "rows", columns, unit, findings)  # type: ignore[arg-type]
    if found is None or findings.diagnostics:
        raise NeelError(findings.diagnostics, source)
    return found


@dataclass(frozen=True)
class Way:
    """How rows come: so many in a batch, and so many are collected before they are searched; sorted by one
    number with ticks of some `grain`, in which keys are mixed, where the order of the clause allows that."""

    batch: int = 1000
    rows_at_once: int = 1000
    grain: int | None = None


def recognized_by_kernel(plan: RowPlan, rows: Sequence[Row], way: Way | None = None) -> Result:
    """The rows that come back, with their measures."""
    way = way or Way()
    if not rows:
        return Result(plan.query.output, [])
    program = plan.program
    order = one_number(plan)
    if way.grain is not None and order is not None:
        program = replace(program, order=replace(order, grain=way.grain))
    table = by_one_number(as_table(replace(plan, program=program), rows), program)
    batches = iter(table.combine_chunks().to_batches(max_chunksize=way.batch))
    found = [row for batch in recognizer(program, way.rows_at_once)(batches) for row in batch.to_pylist()]
    excluded = plan.outputs.get(p.PropertyOutput("", "EXCLUDED"))
    kept = [row for row in found if excluded is None or not row[excluded]]
    return Result(plan.query.output, [output_row(plan, row, found) for row in kept])


def as_table(plan: RowPlan, rows: Sequence[Row]) -> pa.Table:
    """What the program reads, partition after partition."""
    sorted_rows, bits, times = [], [], []
    for partition in in_partitions(plan.query, rows):
        sorted_rows += partition
        bits += [mask(plan, partition, place) for place in range(len(partition))]
        times += [time(plan, row) for row in partition]
    found = {name: clause_column(plan, name, sorted_rows) for name in p.columns_read(plan.program)}
    if plan.program.flagged:
        found["bits"] = pa.array(bits, pa.int32())
    if plan.program.reach is not None:
        found["time"] = pa.array(times, pa.int64())
    return pa.table(found)


def by_one_number(table: pa.Table, program: p.RowProgram) -> pa.Table:
    """As Spark would sort them, with a hash of two values; rows of one tick come in the wrong order."""
    if program.order is None:
        return table
    order, rows = program.order, table.to_pylist()

    def number(place: int) -> tuple[int, float, int]:
        key = tuple(str(rows[place][name]) for name in program.keys)
        at = rows[place][order.column]
        if at is None:
            return len("".join(key)) % 2, float("inf") if order.nulls_last else float("-inf"), 0
        at = ~at if order.descending else at
        return len("".join(key)) % 2, at // order.grain, -at

    return table.take(sorted(range(len(rows)), key=number))


def time(plan: RowPlan, row: Row) -> int | None:
    query = plan.query
    if plan.program.reach is None:
        return None
    moment = nanoseconds(value_of_row(query.order[0].expression, row), query.unit)
    return None if moment is None else moment // LENGTHS[time_unit(query)]
