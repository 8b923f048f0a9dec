"""Queries that read queries, over streams without end: a network of kernels that one operator runs.

Spark cannot put one stateful operator of this kind after another, so all queries of a script run in one: a
call advances them in their order, and what one finds are new rows of those that read it.

A query's results come later than its events: of a pattern with a window w, whatever starts at `now - w` or
before has come when the watermark is `now`, for a match that is not sure yet, or whose last event has yet to
come, ends after `now`, and is no longer than w. So the watermark of a query that reads it is `now - w`, or
less where what it reads is itself later: the `lag` of a node. No row that a query finds is ever late: whether
an event is late is decided once, when it comes from outside.

What a query keeps is kept under its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neelc.runtime.columns import earlier
from neelc.runtime.failures import NULL_TIME, FailureDetails, KernelFailure
from neelc.runtime.kernels.confidence.stream import ImpreciseStream
from neelc.runtime.kernels.grouped_stream import GroupedStream
from neelc.runtime.kernels.list_aggregates import arrow_type_of, fitting, function_of
from neelc.runtime.kernels.pattern_kernel import functions_called
from neelc.runtime.kernels.pattern_stream import PatternStream
from neelc.runtime.kernels.rows.stream import RowStream
from neelc.runtime.kernels.snapshots.program import SnapshotNetwork
from neelc.runtime.kernels.snapshots.stream import SnapshotStream
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ELEMENT,
    NODE,
    PLACE,
    ColumnValue,
    ListColumn,
    NetworkNode,
    NetworkProgram,
    ProjectedColumn,
    RowProjection,
    StreamedGroups,
    StreamedImprecise,
    StreamedPattern,
    Value,
    columns_of_value,
)
from neelc.runtime.streaming import StreamKernel, StreamMemory, StreamStep, WatermarkMove
from neelc.runtime.user_calls import python_values
from neelc.runtime.user_functions import Function
from neelc.runtime.values.operations import compiled
from neelc.runtime.values.times import in_zone
from neelc.runtime.worker import MOST_MATCHES


@dataclass(frozen=True)
class NetworkStream:
    """The results of the last query of a network, as a kernel for streams. `time_zone` is that of the
    session: what queries return may depend on it."""

    program: NetworkProgram
    most_matches: int = MOST_MATCHES
    functions: Mapping[str, Function] = field(default_factory=dict)
    time_zone: str | None = None

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        with in_zone(self.time_zone) if self.time_zone else nullcontext():
            steps: list[StreamStep] = []
            found: list[list[pa.RecordBatch]] = []
            for number, node in enumerate(self.program.nodes):
                new = [*_from_outside(node, number, rows), *_from_nodes(node, found)]
                kept = _memory_of(memory, number)
                steps.append(_advanced(self._kernel(node), kept, new, _behind(move, node.lag)))
                found.append(_rows(node, steps[-1].results))
        wakes = [
            step.wake + node.lag
            for node, step in zip(self.program.nodes, steps, strict=True)
            if step.wake is not None
        ]
        return StreamStep(steps[-1].results, _united(steps), min(wakes, default=None))

    def _kernel(self, node: NetworkNode) -> StreamKernel:
        match node.program:
            case StreamedPattern() as pattern:
                return PatternStream(pattern, self.most_matches, self.functions)
            case StreamedGroups() as groups:
                return GroupedStream(groups, self.most_matches, self.functions)
            case StreamedImprecise() as imprecise:
                return ImpreciseStream(imprecise, self.most_matches, self.functions)
            case SnapshotNetwork() as network:
                return SnapshotStream(network, self.most_matches)
            case rows:
                return RowStream(rows, self.time_zone)


def network_stream(
    program: NetworkProgram,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
    time_zone: str | None = None,
) -> NetworkStream:
    """The kernel of a program. `aggregates` are the functions of users that conditions call."""
    patterns = (
        node.program.program
        for node in program.nodes
        if isinstance(node.program, StreamedPattern | StreamedGroups | StreamedImprecise)
    )
    functions = functions_called(patterns, aggregates)
    return NetworkStream(program, most_matches, functions, time_zone)


def _behind(move: WatermarkMove, lag: int) -> WatermarkMove:
    """The watermark of a node whose rows come later.

    >>> from neelc.runtime.columns import FIRST_TIME
    >>> _behind(WatermarkMove(FIRST_TIME, 30), 10) == WatermarkMove(FIRST_TIME, 20)
    True
    """
    return WatermarkMove(earlier(move.before, lag), earlier(move.now, lag))


def _advanced(
    kernel: StreamKernel, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
) -> StreamStep:
    """Advance a node. Kernels expect new rows to start after the watermark: those that a query finds because
    the watermark has moved may start before, so they are brought first."""
    first = min((int(pc.min(batch["start"]).as_py()) for batch in rows if batch.num_rows), default=None)
    if first is None or first > move.now:
        return kernel.advance(memory, [batch for batch in rows if batch.num_rows], move)
    assert first > move.before, "a query has found what should have come before"
    brought = kernel.advance(memory, rows, WatermarkMove(move.before, first - 1))
    step = kernel.advance(brought.memory, (), WatermarkMove(first - 1, move.now))
    return StreamStep([*brought.results, *step.results], step.memory, step.wake)


# What the nodes keep.


def _memory_of(memory: StreamMemory, number: int) -> StreamMemory:
    prefix = f"{number}/"
    tables = {
        name.removeprefix(prefix): parts for name, parts in memory.tables.items() if name.startswith(prefix)
    }
    return StreamMemory(memory.facts.get(str(number), {}), tables)


def _united(steps: Sequence[StreamStep]) -> StreamMemory:
    facts = {str(number): step.memory.facts for number, step in enumerate(steps) if step.memory.facts}
    tables = {
        f"{number}/{name}": parts
        for number, step in enumerate(steps)
        for name, parts in step.memory.tables.items()
    }
    return StreamMemory(facts, tables)


# What the nodes read.


def _from_outside(node: NetworkNode, number: int, rows: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All rows of a batch are of one node."""
    for batch in rows:
        if batch.num_rows and batch[NODE][0].as_py() == number:
            own = batch.drop_columns([NODE])
            yield _typed(own, _schema(node)) if node.schema else own


def _from_nodes(node: NetworkNode, found: Sequence[Sequence[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    for reading in node.reads:
        for batch in found[reading.node]:
            events = projected(reading.projection, batch)
            if events["start"].null_count:
                message = f"a row that {node.name or 'the last query'} reads of another query has no time"
                raise KernelFailure(FailureDetails(NULL_TIME, message))
            if events.num_rows:
                yield _typed(events, _schema(node))


def _rows(node: NetworkNode, results: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if node.rows is None:
        return []
    return [projected(node.rows, batch) for batch in results if batch.num_rows]


def _schema(node: NetworkNode) -> pa.Schema:
    return pa.schema([(name, arrow_type_of(type)) for name, type in node.schema])


def _typed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Events from outside and from queries are put together: their columns must have the same types, names of
    time zones included. Of several inputs of a query, each may have columns of its own."""
    own = pa.schema([field for field in schema if field.name in batch.schema.names])
    return pa.RecordBatch.from_arrays([_cast(batch[one.name], one.type) for one in own], schema=own)


def _cast(array: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array if array.type == type else array.cast(type)


# Projections: what is computed of each row, row by row but for columns that are taken as they are.


def projected(projection: RowProjection, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that a projection makes of rows.

    >>> from neelc.runtime.program import Apply, Constant
    >>> rows = pa.RecordBatch.from_pylist([{"a": {"x": 1}, "b": [{"x": 2}, {"x": 5}]}])
    >>> each = Apply("+", (Apply("field", (ELEMENT, Constant("x"))), ColumnValue("a", "x")), "bigint")
    >>> total = ListColumn("total", ColumnValue("", "b"), each, "bigint", "sum")
    >>> columns = ProjectedColumn("x", ColumnValue("a", "x"), "bigint"), ProjectedColumn(
    ...     "t", ColumnValue("", "total"), "bigint")
    >>> projected(RowProjection(columns, lists=(total,)), rows).to_pylist()
    [{'x': 1, 't': 9}]
    """
    rows = _ProjectedRows(batch)
    for column in projection.lists:
        rows.add(column)
    if projection.where:
        rows.keep(projection.where)
    arrays = [rows.array(column) for column in projection.columns]
    names = [column.name for column in projection.columns]
    return pa.RecordBatch.from_arrays(arrays, names=names)


class _ProjectedRows:
    """Rows, and the columns that were computed of them."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.columns: dict[ColumnValue, list[object]] = {}

    def add(self, column: ListColumn) -> None:
        elements, compute = self.values(column.elements), function_of(column)
        inputs = _inputs(column.argument)
        names = [ELEMENT, PLACE, *(one for one in inputs if one not in (ELEMENT, PLACE))]
        argument = compiled(column.argument, names.index)
        found: list[object] = []
        for row, several in enumerate(elements):
            assert several is None or isinstance(several, list | tuple), "an element of a list is computed"
            if several is None and column.function is None:
                found.append(None)
                continue
            rest = [self.column(name)[row] for name in names[2:]]
            values = [
                argument([one, place, *rest]) for place, one in enumerate((several or ())[: column.end])
            ]
            found.append(compute(values))
        self.columns[ColumnValue("", column.name)] = found

    def keep(self, where: Sequence[Value]) -> None:
        chosen = np.ones(self.batch.num_rows, dtype=np.bool_)
        for condition in where:
            chosen &= np.array([value is True for value in self.values(condition)], dtype=np.bool_)
        if chosen.all():
            return
        places = np.flatnonzero(chosen).tolist()
        self.columns = {name: [values[row] for row in places] for name, values in self.columns.items()}
        self.batch = self.batch.filter(pa.array(chosen))

    def array(self, column: ProjectedColumn) -> pa.Array:
        type, value = arrow_type_of(column.type), column.value
        if isinstance(value, ColumnValue) and value not in self.columns:
            return _cast(self._array(value), type)
        return pa.array(fitting(self.values(value), column.type), type)

    def values(self, value: Value) -> list[object]:
        """An expression's value for each row."""
        names = _inputs(value)
        compute = compiled(value, names.index)
        if not names:
            return [compute(())] * self.batch.num_rows
        return [compute(row) for row in zip(*map(self.column, names), strict=True)]

    def column(self, name: ColumnValue) -> list[object]:
        if name not in self.columns:
            self.columns[name] = python_values(self._array(name))
        return self.columns[name]

    def _array(self, name: ColumnValue) -> pa.Array:
        if not name.variable:
            return self.batch[name.name]
        return pc.struct_field(self.batch[str(name.variable)], name.name)


def _inputs(value: Value) -> list[ColumnValue]:
    """The columns that an expression names, each once."""
    return list(dict.fromkeys(columns_of_value(value)))
