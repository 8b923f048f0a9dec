"""MATCH_RECOGNIZE over a case's rows as a stream, in process: what Spark computes before and after the
kernel, and of the query around the clause, is computed by the reference interpreter.

At its end a stream goes on, and the reference's rows do not. So of a match that rows to come could change, a
stream has no rows. Which matches are decided is found out by the definition: the parser is observed while it
looks for a match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import UNMATCHED, HostQuery, Recognize, SimpleQuery
from neelc.ir.types import DOUBLE, LENGTHS
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.rows.plan.conditions import TRUE, changed, columns_at_row, columns_over_rows
from neelc.rows.plan.plan import ClausePlan, RowPlan, time_unit
from neelc.runtime.kernels.list_aggregates import arrow_type_of
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.program import StreamedRows
from neelc.runtime.kernels.rows.stream import RowStream
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, nanoseconds
from neelc.runtime.reference.recognize import (
    MappedRow,
    Parsing,
    RecognizedMatch,
    Row,
    RowContext,
    RowParser,
    first_match,
    in_partitions,
    next_start,
    output_of,
    recognized,
    value_at,
    value_of_row,
)
from neelc.runtime.reference.results import Result, named_rows
from neelc.runtime.reference.rows import Rows, rows_read, selected
from neelc.runtime.values.order import comparable
from neelc.scalar.type_of import type_of, value_type
from neelc.tools.cases.streaming.arrival import (
    FARTHEST,
    Batches,
    MicroBatching,
    StreamedBucket,
    StreamResult,
    declared_delay,
)
from neelc.tools.cases.streaming.pattern import NUMBER

CLAUSE = "rows of the clause"


@dataclass(frozen=True, eq=False)
class ClauseCase:
    """A query of Spark's around a MATCH_RECOGNIZE, and the rows that the clause reads, partition after
    partition. `tables` are those that the query names."""

    query: HostQuery
    clause: ClausePlan
    rows: Sequence[Row]
    tables: Mapping[str, Rows]

    @classmethod
    def of(cls, query: HostQuery, clause: ClausePlan, tables: Mapping[str, Rows]) -> ClauseCase:
        assert query.simple is not None, "the reference has understood it"
        reading = query.simple.recognizing
        if reading is None or reading.recognize != clause.plan.query:
            raise UnsupportedQuery("a clause that is not the outermost one")
        partitions = in_partitions(clause.plan.query, rows_read(reading, tables))
        run = cls(query, clause, [row for rows in partitions for row in rows], tables)
        if any(time_of(clause.plan.query, row) is None for row in run.rows):
            raise UnsupportedQuery("a row without an event time")
        if any(abs(start) >= FARTHEST for start in run.starts):
            raise UnsupportedQuery("its times are too far away for a watermark")
        return run

    @property
    def streamed(self) -> StreamedRows:
        assert self.clause.streamed is not None, "the clause is planned for streams"
        return self.clause.streamed

    @cached_property
    def starts(self) -> list[int]:
        return [time_of(self.clause.plan.query, row) or 0 for row in self.rows]

    @property
    def has_ties(self) -> bool:
        """Whether rows of a partition are equal in all that they are sorted by: then the order in which they
        come decides."""
        query = self.clause.plan.query
        keys = Counter(
            (
                *(comparable(row[name]) for name in query.partition),
                *(comparable(value_of_row(item.expression, row)) for item in query.order),
            )
            for row in self.rows
        )
        return any(count > 1 for count in keys.values())

    def result(self, way: MicroBatching) -> StreamResult:
        """The rows of the query; and those that it must have, if there are matches that are not decided."""
        plan, streamed = self.clause.plan, self.streamed
        declared = declared_delay(self.query.streams, LENGTHS[time_unit(plan.query)])
        batches = way.batches(self.starts, declared)
        found = Result(plan.query.output, [])
        for rows in clause_results(plan, streamed, self.rows, batches)[0]:
            found.rows.extend(rows.rows)
        bags = [as_bag(one) for one in (self._least, found, self._most)]
        if bags[0] == bags[2]:
            return StreamResult(way, self._around(found))
        is_fine = bags[0] <= bags[1] <= bags[2]
        expected = found if is_fine else self._least
        return StreamResult(way, self._around(found), self._around(expected))

    @property
    def decided(self) -> Result:
        """The rows of the query, of matches that rows to come cannot change."""
        return self._around(self._least)

    @cached_property
    def _least(self) -> Result:
        return decided(self.clause.plan.query, self.streamed, self.rows)

    @cached_property
    def _most(self) -> Result:
        return recognized(self.clause.plan.query, self.rows)

    def _around(self, found: Result) -> Result:
        """The result of the query, if the clause gives these rows."""
        assert self.query.simple is not None
        return selected(_reading_rows(self.query.simple), {**self.tables, CLAUSE: named_rows(found)})


def _reading_rows(query: SimpleQuery) -> SimpleQuery:
    """The query with the rows of its clause in place of the clause."""
    if query.recognize is not None:
        return replace(query, reads=CLAUSE, recognize=None, nested=())
    assert isinstance(query.reads, SimpleQuery), "there is a clause"
    return replace(query, reads=_reading_rows(query.reads))


def as_bag(result: Result) -> Counter[object]:
    """The rows of a result, in no order."""
    return Counter(tuple(comparable(rounded(value)) for value in row) for row in result.rows)


def rounded(value: object) -> object:
    """Sums of floating-point numbers have the same value in another order, but for their last digits."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


# A clause over a stream.


def clause_results(
    plan: RowPlan, streamed: StreamedRows, rows: Sequence[Row], batches: Batches
) -> tuple[list[Result], StreamedBucket]:
    """The rows that come out of each micro-batch, and the bucket that gave them."""
    excluded = plan.outputs.get(p.PropertyOutput("", "EXCLUDED"))
    bucket, results = StreamedBucket(RowStream(streamed)), []
    for batches_found in bucket.calls(clause_table(plan, streamed, rows), NUMBER, batches):
        found = [row for batch in batches_found for row in batch.to_pylist()]
        shown = [row for row in found if excluded is None or not row[excluded]]
        results.append(Result(plan.query.output, [output_row(plan, row, found) for row in shown]))
    return results, bucket


def clause_table(plan: RowPlan, streamed: StreamedRows, rows: Sequence[Row]) -> pa.Table:
    """What Spark computes of each row, and its number."""
    arrays = {
        NUMBER: pa.array(range(len(rows)), pa.int64()),
        "start": pa.array([time_of(plan.query, row) for row in rows], pa.int64()),
    }
    for name in streamed.columns:
        if name == "bits":
            arrays[name] = pa.array([mask(plan, [row], 0) for row in rows], pa.int64())
        elif name != "start":
            arrays[name] = clause_column(plan, name, rows)
    return pa.table(arrays)


def time_of(query: Recognize, row: Row) -> int | None:
    """The time of a row, by which a clause orders first, as a number."""
    moment = nanoseconds(value_of_row(query.order[0].expression, row), query.unit)
    return None if moment is None else moment // LENGTHS[time_unit(query)]


def clause_column(plan: RowPlan, name: str, rows: Sequence[Row]) -> pa.Array:
    values: list[Any] = [value_of_row(plan.columns[name], row) for row in rows]
    type = type_of(plan.columns[name])
    if name in plan.keys and type == DOUBLE:  # zero has two forms
        values = [None if value is None else value + 0.0 for value in values]
    return pa.array(values, arrow_type_of(value_type(type)))


def mask(plan: RowPlan, partition: Sequence[Row], place: int) -> int:
    """Which variables' conditions a row meets, as far as Spark evaluates them."""
    found = 0
    for number, conjuncts in enumerate(plan.bits):
        here = (MappedRow(place, plan.program.names[number]),)
        seen = RowContext(partition, here, here, None)
        if all(value_at(one, seen) is True for one in conjuncts):
            found |= 1 << number
    return found


# Measures.


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


# Which matches are decided, by the definition.


@dataclass
class ParserObservation:
    """Whether a parser would take one of the last `ahead` rows, whose conditions depend on rows to come, or
    such a row. A match has at most `most` rows."""

    ahead: int
    most: int | None
    is_undecided: bool = False

    def note(self, parser: RowParser, before: Parsing) -> None:
        if parser.start + len(before) >= parser.count - self.ahead:
            self.is_undecided |= self.most is None or len(before) < self.most


def observing(observed: ParserObservation) -> type[RowParser]:
    """The parser of the reference, observed."""

    class ObservedParser(RowParser):
        def _all(self, pattern: r.RowPattern, before: Parsing) -> Iterator[Parsing]:
            if isinstance(pattern, r.RowVariable):
                observed.note(self, before)
            return super()._all(pattern, before)

    return ObservedParser


def decided(query: Recognize, streamed: StreamedRows, rows: Sequence[Row]) -> Result:
    """The rows of the result that are decided, though more input may come: those of other matches are not
    there. All windows of time have passed."""
    found: list[tuple[object, ...]] = []
    for partition in in_partitions(query, rows):
        for match in _decided(query, streamed, partition):
            found += output_of(query, partition, match)
    return Result(query.output, found)


def _decided(query: Recognize, streamed: StreamedRows, rows: Sequence[Row]) -> Iterator[RecognizedMatch]:
    program = streamed.program
    _, ahead = p.sight(program)
    times = [time_of(query, row) for row in rows]
    start, number, beyond, is_sure = 0, 0, 0, True
    while start < len(rows) - ahead:
        observed = ParserObservation(ahead, program.rows)
        parsing = first_match(query, rows, start, number + 1, observing(observed))
        is_closed = program.reach is not None and (
            not ahead or (times[-ahead] or 0) - (times[start] or 0) > program.reach
        )
        if observed.is_undecided and not is_closed:
            if program.skip != "NEXT" or streamed.numbered:
                return
            is_sure, start = False, start + 1
            continue
        if parsing is None:
            if start >= beyond and is_sure:
                yield RecognizedMatch(start, (), None)
            start += 1
            continue
        number += 1
        yield RecognizedMatch(start, parsing, number)
        beyond = max(beyond, start + max(1, len(parsing)))
        start = next_start(query.skip, start, parsing)
