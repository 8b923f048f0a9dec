"""A plan, executed: each relation is a view of DuckDB; a kernel reads one and makes a table of another."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from neelc.engines.local.pool import WorkerPool
from neelc.engines.local.tasks import (
    KernelTask,
    LocalSettings,
    Types,
    arrow_schema,
    connected,
    found,
    give_functions,
    store,
    stored_table,
    view_text,
)
from neelc.engines.spark.relations import (
    AggregateRows,
    AnyProgram,
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
from neelc.ir.types import DataType
from neelc.rows.bind.host_text import SparkQuery
from neelc.runtime.kernels.rows.program import RowProgram
from neelc.runtime.kernels.rules.program import RuleSet
from neelc.runtime.program import PatternProgram
from neelc.runtime.user_functions import called, needed
from neelc.scalar.duckdb.evaluated import arrow_type, reader_of, writer_of
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

MANY_ROWS = 500_000
"""From so many rows on, kernels run in several processes: below, starting them takes longer."""


@dataclass(frozen=True)
class LocalTable:
    """The rows of a stream: a query of DuckDB, or what Arrow has of them, and the types of their columns.
    `rows`: how many there are, as far as that is known."""

    data: Any
    types: Types
    rows: int | None = None


@dataclass
class LocalEngine:
    """What runs plans: where, in which time zone, in how many processes, with how much memory."""

    zone: str = "UTC"
    processes: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    memory: int | None = None
    pool: WorkerPool | None = None

    def workers(self) -> WorkerPool:
        """The processes, which are started when they are needed first."""
        if self.pool is None:
            self.pool = WorkerPool(self.processes)
        return self.pool

    def run(
        self,
        relations: Relations,
        tables: Mapping[str, LocalTable],
        functions: Mapping[str, Function] | None = None,
    ) -> LocalRows:
        """The rows of a plan over tables, by the names of their streams."""
        plan = LocalPlan(self, tables, functions or {})
        for let in in_exact_order(relations.lets):
            plan.add(let)
        last = relations.lets[-1].name
        return LocalRows(plan, last, plan.types[last])


@dataclass(frozen=True)
class LocalRows:
    """The rows of a query: a view of a connection, which is there as long as this is."""

    plan: LocalPlan
    name: str
    types: Types

    def query(self) -> Any:
        """A relation of DuckDB."""
        return self.plan.connection.sql(f"SELECT * FROM {quoted(self.name)}")

    def arrow(self) -> pa.Table:
        return self.query().to_arrow_table()


def in_exact_order(lets: Sequence[Let]) -> Iterator[Let]:
    """Events by their keys and their time. Spark sorts by one number, nearly in this order, which is faster
    there; for DuckDB it is slower."""
    kernels = [let.relation for let in lets if isinstance(let.relation, Kernel)]
    near = {one.source for one in kernels if _without_grain(one.program) is not one.program}
    for let in lets:
        match let.relation:
            case Sorted(source, keys) if let.name in near:
                yield replace(let, relation=Sorted(source, keys, (*keys, "start")))
            case Kernel(source, program) if source in near:
                yield replace(let, relation=replace(let.relation, program=_without_grain(program)))
            case _:
                yield let


def _without_grain(program: AnyProgram) -> AnyProgram:
    """The program for events in the exact order."""
    match program:
        case PatternProgram(grain=int()):
            return replace(program, grain=None)
        case RuleSet(events=PatternProgram(grain=int())):
            return replace(program, events=replace(program.events, grain=None))
    return program


class LocalPlan:
    """The relations that are there so far, as views of a connection. `stored` are the paths of those that are
    tables in files, `views` the texts of others."""

    def __init__(
        self, engine: LocalEngine, tables: Mapping[str, LocalTable], functions: Mapping[str, Function]
    ) -> None:
        self.engine = engine
        self.scratch = Path(tempfile.mkdtemp(prefix="neelc-"))
        weakref.finalize(self, shutil.rmtree, self.scratch, ignore_errors=True)
        self.settings = LocalSettings(engine.zone, memory=engine.memory, scratch=str(self.scratch))
        self.connection = connected(self.settings)
        self.tables = tables
        self.functions = functions
        self.types: dict[str, Types] = {}
        self.calls: dict[str, EvaluatedCall] = {}
        self.registered: set[str] = set()
        self.views: dict[str, str] = {}
        self.sorts: dict[str, Sorted] = {}
        self.held: dict[str, pa.Table] = {}
        self.stored: dict[str, str] = {}

    def add(self, let: Let) -> None:
        """One more relation."""
        relation = let.relation
        match relation:
            case Kernel():
                self.types[let.name] = spelled_schema(relation.schema)
                self._hold(let.name, self._found(let.name, relation))
            case CalledFunctions():
                self.types[let.name] = self._called_types(relation)
                self._hold(let.name, self._called(relation))
            case Read():
                table = self.tables[relation.stream]
                self.types[let.name] = table.types
                if isinstance(table.data, str):
                    self._view(let.name, table.data)
                else:
                    self._hold(let.name, table.data)
            case _:
                if isinstance(relation, Sorted):
                    self.sorts[let.name] = relation
                text, self.types[let.name] = self._select(relation)
                self._view(let.name, text)

    def _view(self, name: str, text: str) -> None:
        new = {name: call for name, call in self.calls.items() if name not in self.registered}
        give_functions(self.connection, new, self.engine.zone)
        self.registered.update(new)
        self.views[name] = text
        self.connection.execute(view_text(name, text))

    def _hold(self, name: str, rows: pa.Table) -> None:
        self.held[name] = rows
        self.connection.register(name, rows)

    # Kernels.

    def _found(self, name: str, kernel: Kernel) -> pa.Table:
        """What a kernel finds: of many rows with keys, in several processes."""
        task = self._task(kernel)
        parts = self.engine.processes
        if parts > 1 and task.keys and not functions_of(kernel.program) and self._is_large():
            return self._found_in_parts(name, task, parts)
        functions = self.functions if functions_of(kernel.program) else {}
        return pa.Table.from_batches(found(task, self.connection, functions), arrow_schema(task.schema))

    def _task(self, kernel: Kernel) -> KernelTask:
        arguments: dict[str, object] = {}
        if kernel.most_matches is not None:
            arguments["most_matches"] = kernel.most_matches
        if isinstance(kernel.program, RowProgram) and kernel.program.zoned:
            arguments["time_zone"] = self.engine.zone
        if kernel.measured:
            arguments["measured"] = True
        sorts = self.sorts.get(kernel.source)
        keys = () if sorts is None else tuple(_bare(key) for key in sorts.keys)
        source, order = kernel.source, ""
        if sorts is not None:
            source, order = sorts.source, self._order_by(sorts)
        return KernelTask(
            kernel.program,
            tuple(arguments.items()),
            source,
            self.types[kernel.source],
            spelled_schema(kernel.schema),
            self.settings,
            order=order,
            keys=keys,
        )

    def _is_large(self) -> bool:
        """Whether the streams have many rows; where that is not known, they may have."""
        sizes = [
            table.rows if isinstance(table.data, str) else table.data.num_rows
            for table in self.tables.values()
        ]
        return any(size is None or size >= MANY_ROWS for size in sizes)

    def _found_in_parts(self, name: str, task: KernelTask, parts: int) -> pa.Table:
        """Each process reads all rows and takes those of its keys."""
        workers = self.engine.workers()
        workers.start()
        for table, rows in self.held.items():
            if table not in self.stored:
                path = self.scratch / f"{len(self.stored)}.arrow"
                store(path, rows)
                self.stored[table] = str(path)
        memory = None if self.engine.memory is None else self.engine.memory // (parts + 1)
        settings = replace(self.settings, threads=1, memory=memory)
        whole = replace(
            task,
            settings=settings,
            stored=tuple(self.stored.items()),
            views=tuple(self.views.items()),
            calls=tuple(self.calls.values()),
            parts=parts,
        )
        paths = [str(self.scratch / f"{name}-{part}.arrow") for part in range(parts)]
        workers.run([replace(whole, part=part, result=path) for part, path in enumerate(paths)])
        return pa.concat_tables(map(stored_table, paths))

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
            case Sorted(source):
                return f"SELECT * FROM {quoted(source)}{self._order_by(relation)}", self.types[source]
            case SparkQuery():
                return self._query(relation)
            case Observed(source):
                return f"SELECT * FROM {quoted(source)}", self.types[source]
        raise UnspelledOperation(type(relation).__name__)

    def _order_by(self, relation: Sorted) -> str:
        scope = self._scope({"": self.types[relation.source]})
        by = ", ".join(ordering(parsed_order(text), scope) for text in relation.order)
        return f" ORDER BY {by}" if by else ""

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
        if not items:  # rows without columns, of which there is a number
            return "1", {}
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


def _bare(text: str) -> str:
    """The name of the column that a text of Spark stands for."""
    return str(parsed(text).name)
