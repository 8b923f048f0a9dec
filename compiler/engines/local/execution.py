"""A plan, executed: each relation is a view of DuckDB; a kernel reads one and makes a table of another."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa

from neelc.engines.local.reading import scanned
from neelc.engines.local.tables import DataScan
from neelc.engines.local.tables import LocalTable as LocalTable
from neelc.engines.local.tables import Types as Types
from neelc.engines.spark.python_source import RUNNERS
from neelc.engines.spark.relations import (
    AggregateRows,
    CalledFunctions,
    Extend,
    Items,
    Join,
    Kernel,
    Let,
    LookUp,
    Observed,
    Read,
    Relation,
    Relations,
    SelectColumns,
    Sorted,
    Union,
    Where,
    functions_of,
)
from neelc.ir.expressions import Function
from neelc.ir.types import DAY_INTERVAL, DataType
from neelc.rows.bind.host_text import SparkQuery
from neelc.runtime.kernels.rows.program import RowProgram
from neelc.runtime.user_functions import called, needed
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.evaluated import arrow_type, reader_of, register, writer_of
from neelc.scalar.duckdb.operators import common_pieces
from neelc.scalar.duckdb.pieces import (
    Columns,
    DuckText,
    EvaluatedCall,
    NameScope,
    UnspelledOperation,
    duck_type,
    quoted,
)
from neelc.scalar.duckdb.queries import spelled_query
from neelc.scalar.duckdb.spelling import ordering, parsed, spelled, spelled_schema, spelled_type

BATCH = 100_000
"""How many rows a kernel gets at a time."""


@dataclass(frozen=True)
class LocalRows:
    """The rows of a query: a view of a connection."""

    connection: Any
    name: str
    types: Types

    def arrow(self) -> pa.Table:
        return self.connection.sql(f"SELECT * FROM {quoted(self.name)}").to_arrow_table()


def executed(
    relations: Relations,
    tables: Mapping[str, LocalTable],
    zone: str = "UTC",
    functions: Mapping[str, Function] | None = None,
) -> LocalRows:
    """The rows of a plan over tables, by the names of their streams."""
    plan = LocalPlan(tables, zone, functions or {})
    for let in relations.lets:
        plan.add(let)
    last = relations.lets[-1].name
    return LocalRows(plan.connection, last, plan.types[last])


class LocalPlan:
    """The relations that are there so far, as views of a connection."""

    def __init__(
        self, tables: Mapping[str, LocalTable], zone: str, functions: Mapping[str, Function]
    ) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"SET TimeZone = '{zone}'")
        self.tables = tables
        self.zone = zone
        self.functions = functions
        self.types: dict[str, Types] = {}
        self.calls: dict[str, EvaluatedCall] = {}
        self.registered: set[str] = set()

    def add(self, let: Let) -> None:
        """One more relation."""
        relation = let.relation
        match relation:
            case Kernel():
                self.types[let.name] = spelled_schema(relation.schema)
                self._table(let.name, self._found(relation))
            case CalledFunctions():
                self.types[let.name] = self._called_types(relation)
                self._table(let.name, self._called(relation))
            case Read():
                self._read(let.name, relation)
            case _:
                text, self.types[let.name] = self._select(relation)
                self._register_calls()
                self.connection.execute(f"CREATE TEMP VIEW {quoted(let.name)} AS {text}")

    def _read(self, name: str, read: Read) -> None:
        """The rows that the caller gives, or else those of files."""
        table = self.tables.get(read.stream)
        data = read if table is None else table.data
        scan = scanned(data, self.calls, self.zone) if isinstance(data, Read) else data
        if not isinstance(scan, DataScan):
            assert table is not None
            self.types[name] = table.types
            self.connection.register(name, data)
            return
        self.types[name] = scan.types
        scan.prepare(self.connection)
        self._register_calls()
        self.connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS {scan.text}")

    def _table(self, name: str, rows: pa.Table) -> None:
        self.connection.register(name, rows)

    def _register_calls(self) -> None:
        new = [call for name, call in self.calls.items() if name not in self.registered]
        register(self.connection, new, partial(in_zone, self.zone))
        self.registered.update(call.name for call in new)

    # Kernels.

    def _found(self, kernel: Kernel) -> pa.Table:
        """What a kernel finds."""
        module, name = RUNNERS[type(kernel.program)]
        make: Any = getattr(importlib.import_module(module), name)
        given: dict[str, object] = {}
        if kernel.most_matches is not None:
            given["most_matches"] = kernel.most_matches
        if functions_of(kernel.program):
            given["aggregates"] = self.functions
        if isinstance(kernel.program, RowProgram) and kernel.program.zoned:
            given["time_zone"] = self.zone
        run = make(kernel.program, **given)
        batches = self._batches(kernel.source)
        schema = pa.schema([(name, arrow_type(type)) for name, type in spelled_schema(kernel.schema).items()])
        found = [as_duckdb_has(batch, schema) for batch in run(batches)]
        return pa.Table.from_batches(found, schema)

    def _batches(self, name: str) -> Iterator[pa.RecordBatch]:
        """The rows of a relation, as Spark would give them to a worker."""
        wanted = pa.schema([(name, worker_type(type)) for name, type in self.types[name].items()])
        rows = self.connection.sql(f"SELECT * FROM {quoted(name)}").to_arrow_reader(BATCH)
        return (as_workers_have(batch, wanted) for batch in rows)

    # Users' functions.

    def _called_types(self, relation: CalledFunctions) -> Types:
        lists = {call.values for call in relation.calls}
        kept = {name: type for name, type in self.types[relation.source].items() if name not in lists}
        return {**kept, **{call.name: spelled_type(call.type) for call in relation.calls}}

    def _called(self, relation: CalledFunctions) -> pa.Table:
        functions = needed(self.functions, (call.function for call in relation.calls))
        rows = self.connection.sql(f"SELECT * FROM {quoted(relation.source)}").to_arrow_table()
        types = self._called_types(relation)
        lists = {call.values for call in relation.calls}
        columns = {name: rows.column(name) for name in rows.column_names if name not in lists}
        for call in relation.calls:
            read = reader_of(self.types[relation.source][call.values])
            write = writer_of(types[call.name])
            values = (
                called(call.function, functions[call.function], call.type, [] if one is None else read(one))
                for one in rows.column(call.values).to_pylist()
            )
            found = [None if one is None else write(one) for one in values]
            columns[call.name] = pa.chunked_array([pa.array(found, arrow_type(types[call.name]))])
        return pa.table(columns)

    # All other relations are queries of DuckDB.

    def _select(self, relation: Relation) -> tuple[str, Types]:
        match relation:
            case SelectColumns(source, items, where, having, distinct):
                scope = self._scope({"": self.types[source]})
                columns, types = self._items(items, scope)
                text = f"SELECT {columns} FROM {quoted(source)}"
                if where:
                    text += f" WHERE {spelled(where, scope).text}"
                if having:
                    condition = spelled(having, self._scope({"": types})).text
                    text = f"SELECT * FROM ({text}) WHERE {condition}"
                return (f"SELECT DISTINCT * FROM ({text})" if distinct else text), types
            case Extend(source, items):
                own = self.types[source]
                columns, types = self._items(items, self._scope({"": own}))
                return f"SELECT *, {columns} FROM {quoted(source)}", {**own, **types}
            case Where(source, condition):
                own = self.types[source]
                test = spelled(condition, self._scope({"": own})).text
                return f"SELECT * FROM {quoted(source)} WHERE {test}", own
            case Union(sources):
                return self._union(sources)
            case Join():
                return self._join(relation)
            case LookUp(source, column, values, name):
                text = (
                    f"SELECT event.*, known.value AS {quoted(name)} FROM {quoted(source)} AS event"
                    f" LEFT JOIN {quoted(values)} AS known ON event.{quoted(column)} = known.key"
                )
                return text, {**self.types[source], name: self.types[values]["value"]}
            case AggregateRows(source, groups, items):
                scope = self._scope({"": self.types[source]})
                columns, types = self._items((*groups, *items), scope)
                by = ", ".join(str(place) for place in range(1, len(groups) + 1))
                return f"SELECT {columns} FROM {quoted(source)}" + (f" GROUP BY {by}" if by else ""), types
            case Sorted(source, _, order):
                scope = self._scope({"": self.types[source]})
                by = ", ".join(ordering(parsed_order(text), scope) for text in order)
                return f"SELECT * FROM {quoted(source)}" + (f" ORDER BY {by}" if by else ""), self.types[
                    source
                ]
            case SparkQuery():
                return self._query(relation)
            case Observed(source):
                return f"SELECT * FROM {quoted(source)}", self.types[source]
        raise UnspelledOperation(type(relation).__name__)

    def _query(self, relation: SparkQuery) -> tuple[str, Types]:
        """A query of Spark's own SQL. `{name}` stands for a relation, if there is any."""
        text, names = relation.text, {name.lower(): name for name in relation.names}
        if relation.names:
            text = re.sub(r"{{|}}|{(\w+)}", lambda m: f"`{m[1]}`" if m[1] else m[0][0], text)
        tables = {name: self.types[name] for name in names.values()}
        arguments = {name: value for value, name in relation.arguments}
        found = spelled_query(text, tables, arguments, self.calls)
        return found.text, found.types

    def _union(self, sources: tuple[str, ...]) -> tuple[str, Types]:
        """Columns are found by name, and have a type in common."""
        names = list(self.types[sources[0]])
        scope = self._scope({})
        columns = {
            name: common_pieces(
                [DuckText(quoted(name), _column(self.types[source], name)) for source in sources], scope
            )
            for name in names
        }
        selects = []
        for place, source in enumerate(sources):
            items = (f"{pieces[place].text} AS {quoted(name)}" for name, (pieces, _) in columns.items())
            selects.append(f"SELECT {', '.join(items)} FROM {quoted(source)}")
        return " UNION ALL ".join(selects), {name: type for name, (_, type) in columns.items()}

    def _join(self, relation: Join) -> tuple[str, Types]:
        (left, one), (right, other) = relation.left, relation.right
        scope = self._scope({one: self.types[left], other: self.types[right]})
        how = JOINS[relation.kind]
        columns, types = f"{quoted(one)}.*", self.types[left]
        if relation.items:
            columns, types = self._items(relation.items, scope)
        on = spelled(relation.on, scope).text
        sides = f"{quoted(left)} AS {quoted(one)} {how} {quoted(right)} AS {quoted(other)}"
        return f"SELECT {columns} FROM {sides} ON {on}", types

    def _scope(self, columns: Columns) -> NameScope:
        return NameScope(columns, calls=self.calls)

    def _items(self, items: Items, scope: NameScope) -> tuple[str, Types]:
        pieces = [(spelled(text, scope), name) for text, name in items]
        texts = (
            f"{f'CAST({one.text} AS {duck_type(one.type)})' if one.text == 'NULL' else one.text}"
            f" AS {quoted(name)}"
            for one, name in pieces
        )
        return ", ".join(texts), {name: piece.type for piece, name in pieces}


JOINS = {
    "INNER": "JOIN",
    "LEFT OUTER": "LEFT JOIN",
    "LEFT SEMI": "SEMI JOIN",
    "LEFT ANTI": "ANTI JOIN",
}


def _column(types: Types, name: str) -> DataType:
    return next(type for known, type in types.items() if known.lower() == name.lower())


def parsed_order(text: str) -> Any:
    """What to sort by, which a direction may follow."""
    return parsed(f"SELECT 1 ORDER BY {text}").args["order"].expressions[0]


# Types of Arrow: Spark gives workers times in UTC and intervals as durations.


def worker_type(type: DataType) -> pa.DataType:
    return pa.duration("us") if type == DAY_INTERVAL else arrow_type(type)


def as_workers_have(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    columns = [_as(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def as_duckdb_has(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [_as(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(column: pa.Array, type: pa.DataType) -> pa.Array:
    return column if column.type.equals(type) else column.cast(type)
