"""MATCH_RECOGNIZE answered by the kernel through its bridge, in process: what Spark would compute before and
after it is computed by the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from neelc.engines.spark.rows import one_number
from neelc.errors import NeelError
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir.bound_rows import UNMATCHED, Recognize
from neelc.ir.expressions import ROW
from neelc.ir.names import bare
from neelc.ir.program import Column
from neelc.ir.types import BIGINT, BOOLEAN, DOUBLE, INT, LENGTHS, STRING, TIMESTAMP, DataType, Struct
from neelc.rows.bind.recognize import bound_clause
from neelc.rows.plan.conditions import TRUE, changed, columns_at_row, columns_over_rows
from neelc.rows.plan.plan import RowPlan, time_unit
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.kernel import recognizer
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent, nanoseconds
from neelc.runtime.reference.recognize import MappedRow, Row, RowContext, in_partitions, value_at
from neelc.runtime.reference.results import Result
from neelc.runtime.values.order import comparable
from neelc.scalar.type_of import type_of
from neelc.source import Source, Span
from neelc.syntax import row_match

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
    found = {name: column(plan, name, sorted_rows) for name in p.columns_read(plan.program)}
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


def column(plan: RowPlan, name: str, rows: Sequence[Row]) -> pa.Array:
    values = [of_row(plan.columns[name], row) for row in rows]
    if name in plan.keys and type_of(plan.columns[name]) == DOUBLE:  # zero has two forms
        values = [None if value is None else value + 0.0 for value in values]
    return pa.array(values, arrow_type(type_of(plan.columns[name])))


def arrow_type(type: DataType) -> Any:
    if isinstance(type, Struct):
        return pa.struct([(bare(one.name), arrow_type(one.type)) for one in type.fields])
    return TYPES[type]


def mask(plan: RowPlan, partition: Sequence[Row], place: int) -> int:
    """Which variables' conditions a row meets, as far as Spark judges them."""
    found = 0
    for number, conjuncts in enumerate(plan.bits):
        here = (MappedRow(place, plan.program.names[number]),)
        seen = RowContext(partition, here, here, None)
        if all(value_at(one, seen) is True for one in conjuncts):
            found |= 1 << number
    return found


def time(plan: RowPlan, row: Row) -> int | None:
    query = plan.query
    if plan.program.reach is None:
        return None
    moment = nanoseconds(of_row(query.order[0].expression, row), query.unit)
    return None if moment is None else moment // LENGTHS[time_unit(query)]


def of_row(expression: e.Expr, row: Row) -> Any:
    return evaluate(
        expression, EvaluationContext({ROW: ReferenceEvent("", 0, None, 0, 0, row, (None, None))})
    )


def output_row(
    plan: RowPlan, row: Mapping[str, Any], found: Sequence[Mapping[str, Any]]
) -> tuple[object, ...]:
    first, _ = plan.query.own_columns
    own = [row[name] for name in plan.own]
    measures = [_Measures(plan, row, found).value(one.expression) for one in plan.query.measures]
    return (*own[: len(first)], *measures, *own[len(first) :])


@dataclass(frozen=True)
class _Measures:
    """The measures of a row that came back, among all of them."""

    plan: RowPlan
    row: Mapping[str, Any]
    found: Sequence[Mapping[str, Any]]

    def value(self, expression: e.Expr) -> object:
        if self.plan.query.all_rows == UNMATCHED and self._number(self.row) is None:
            return None

        def change(node: Any) -> e.Expr | None:
            return e.Literal(self._looked(node), node.type) if isinstance(node, e.RowValue) else None

        return evaluate(changed(expression, change), EvaluationContext({}))

    def _looked(self, node: e.RowValue) -> Any:
        match node:
            case e.AtRow():
                return self._at(node, self.row)
            case e.OverRows(_, _, None, variables, final):
                return self._output(p.CountOutput("", self._mask(variables), final), self.row)
            case e.OverRows(type, name, _, _, _, distinct):
                if self.plan.query.all_rows == UNMATCHED and self._number(self.row) is None:
                    return None
                values = [value for value in self._values(node) if value is not None]
                return aggregate(name, values, type, distinct)
            case e.ConstantRowValue(_, argument):
                return self.row[self._column(argument)]
        return self._number(self.row)

    def _at(self, node: e.AtRow, row: Mapping[str, Any]) -> object:
        at = p.RowLocation(
            self._mask(node.variables), node.anchor == "LAST", node.place, node.shift, node.final
        )
        columns = columns_at_row(node.argument)
        if len(columns) == 1:
            return self._taken(at, columns[0], row)
        if not self._taken(at, TRUE, row):
            return None
        return self._put_together(node.argument, {one: self._taken(at, one, row) for one in columns})

    def _values(self, node: e.OverRows) -> Iterator[object]:
        assert node.argument is not None
        if self.plan.query.all_rows is None or self.plan.streaming:
            final = node.final or self.plan.query.all_rows is None
            yield from self._listed(node.argument, self._mask(node.variables), final)
            return
        place = self._output(p.PropertyOutput("", "ROW"), self.row)
        key = self._group(self.row)
        group = [row for row in self.found if self._group(row) == key]
        for row in sorted(group, key=lambda row: self._output(p.PropertyOutput("", "ROW"), row)):
            is_seen = node.final or self._output(p.PropertyOutput("", "ROW"), row) <= place
            if is_seen and self._output(p.MembershipOutput("", self._mask(node.variables)), row):
                yield self._at(e.AtRow(type_of(node.argument), node.argument), row)

    def _listed(self, argument: e.Expr, mask: int, final: bool) -> Iterator[object]:
        columns = columns_over_rows(argument)
        lists = [
            self._output(
                p.ValuesOutput("", mask, None if one is None else self._column(one), final), self.row
            )
            for one in columns
        ]
        for values in zip(*lists, strict=True):
            known = dict(zip(columns, values, strict=True))
            yield values[0] if len(values) == 1 and argument in known else self._put_together(argument, known)

    def _put_together(self, argument: e.Expr, known: Mapping[e.Expr | None, Any]) -> object:
        def change(inner: Any) -> e.Expr | None:
            match inner:
                case e.Attribute():
                    return e.Literal(known[inner], inner.type)
                case e.Classifier(type):
                    return e.Literal(known[None], type)
                case e.MatchNumber(type):
                    return e.Literal(self._number(self.row), type)
            return None

        return evaluate(changed(argument, change), EvaluationContext({}))

    def _group(self, row: Mapping[str, Any]) -> tuple[object, ...]:
        return (*(comparable(row[name]) for name in self.plan.keys), self._number(row))

    def _number(self, row: Mapping[str, Any]) -> Any:
        return self._output(p.PropertyOutput("", "MATCH_NUMBER"), row)

    def _taken(self, at: p.RowLocation, column: e.Expr | None, row: Mapping[str, Any]) -> Any:
        return self._output(p.ValueOutput("", at, None if column is None else self._column(column)), row)

    def _column(self, expression: e.Expr) -> str:
        return next(name for name, known in self.plan.columns.items() if known == expression)

    def _mask(self, variables: tuple[str, ...]) -> int:
        names = self.plan.program.names
        return sum(1 << names.index(one) for one in variables) if variables else (1 << len(names)) - 1

    def _output(self, output: p.Output, row: Mapping[str, Any]) -> Any:
        return row[self.plan.outputs[output]]


def as_bag(result: Result) -> Counter[object]:
    """The rows of a result, in no order."""
    return Counter(tuple(comparable(rounded(value)) for value in row) for row in result.rows)


def rounded(value: object) -> object:
    return float(f"{value:.9g}") if isinstance(value, float) else value
