"""What a process of the local engine does: views of DuckDB, and a kernel that reads one of them.

A task is a value without the compiler's stages, so that a worker process needs DuckDB, Arrow and the runtime
only.
"""

from __future__ import annotations

import atexit
import importlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa

from neelc.engines.local.functions import arrow_type, register
from neelc.engines.local.program import KernelRun, Types
from neelc.engines.local.work import KernelWork, WorkState
from neelc.engines.runners import RUNNERS
from neelc.ir.expressions import Function
from neelc.ir.types import DAY_INTERVAL
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import EvaluatedCall, quoted, text_literal
from neelc.scalar.duckdb.times import zone_in_duckdb

BATCH = 100_000
"""How many rows a kernel gets at a time."""


@dataclass(frozen=True)
class LocalSettings:
    """How DuckDB runs: the time zone of the session, its threads, and how much memory it may take. What is
    None, DuckDB decides."""

    zone: str = "UTC"
    threads: int | None = None
    memory: int | None = None


class _Database:
    """A database in memory, for all that has the same settings: to make one takes longer than a small query.
    Connections to it have views of their own, and its functions in common."""

    def __init__(self, settings: LocalSettings) -> None:
        self.settings = settings
        self.base = duckdb.connect()
        self.functions: set[str] = set()
        self.lock = Lock()
        scratch = tempfile.mkdtemp(prefix="neelc-")
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        atexit.register(self.base.close)
        self.base.execute("SET autoinstall_known_extensions = false")  # nothing is fetched
        self.base.execute(f"SET temp_directory = {text_literal(scratch)}")
        if settings.threads is not None:
            self.base.execute(f"SET threads = {settings.threads}")
        if settings.memory is not None:
            self.base.execute(f"SET memory_limit = '{settings.memory}B'")

    def connection(self, calls: Iterable[EvaluatedCall]) -> Any:
        """A connection that knows functions of the runtime."""
        with self.lock:
            new = [call for call in calls if call.name not in self.functions]
            register(self.base, new, partial(in_zone, self.settings.zone))
            self.functions.update(call.name for call in new)
        connection = self.base.cursor()
        connection.execute(f"SET TimeZone = {text_literal(zone_in_duckdb(self.settings.zone))}")
        connection.execute("SET enable_progress_bar = true")  # for `query_progress`
        connection.execute("SET enable_progress_bar_print = false")  # it would stand among the rows
        return connection


@cache
def _database(settings: LocalSettings) -> _Database:
    return _Database(settings)


def connected(settings: LocalSettings, calls: Iterable[EvaluatedCall]) -> Any:
    """A connection to a database in memory, with the functions that its views call."""
    return _database(settings).connection(calls)


# Kernels.


@dataclass(frozen=True)
class KernelTask:
    """A kernel and all that it reads: `stored` are tables in files of Arrow, `views` the texts of queries,
    each after those that it reads, `calls` the functions in these.

    Of several `parts`, the task has the rows whose keys have one hash; its result goes to a file."""

    run: KernelRun
    settings: LocalSettings
    stored: tuple[tuple[str, str], ...] = ()
    views: tuple[tuple[str, str], ...] = ()
    calls: tuple[EvaluatedCall, ...] = ()
    part: int = 0
    parts: int = 1
    result: str = ""


def share_done(connection: Any) -> float:
    """Which share of its running query a connection has done, from 0 to 1."""
    return max(0.0, float(connection.query_progress())) / 100


def run_task(task: KernelTask, watch: Callable[[Callable[[], WorkState]], None]) -> int:
    """Run a task in a database of its own; gives the number of rows. `watch` is given a function that tells
    how far it is."""
    connection = connected(task.settings, task.calls)
    work = KernelWork(partial(share_done, connection))
    watch(work.state)
    held = []
    for name, path in task.stored:
        table = stored_table(path)
        held.append(table)
        connection.register(name, table)
    for name, text in task.views:
        connection.execute(view_text(name, text))
    rows = written(found(task, connection, {}, work), arrow_schema(task.run.gives), task.result)
    connection.close()
    return rows


def found(
    task: KernelTask, connection: Any, functions: Mapping[str, Function], work: KernelWork
) -> Iterator[pa.RecordBatch]:
    """What a kernel finds in a view of a connection."""
    run = kernel_function(task, functions)
    rows = work.reading(connection.sql(task_query(task)).to_arrow_reader(BATCH))
    schema = arrow_schema(task.run.gives)
    results = work.finding(run(as_workers_have(rows, task.run.reads)))
    return (as_duckdb_has(batch, schema) for batch in results)


def task_query(task: KernelTask) -> str:
    """The rows that the kernel of a task reads, in order."""
    text = f"SELECT * FROM {quoted(task.run.source)}"
    if task.parts > 1:
        hashed = f"hash({', '.join(map(quoted, task.run.keys))})"
        text += f" WHERE {hashed} % {task.parts} = {task.part}"
    return f"{text}{task.run.order}"


def view_text(name: str, text: str) -> str:
    return f"CREATE TEMP VIEW {quoted(name)} AS {text}"


def stored_table(path: str) -> pa.Table:
    """A table in a file of Arrow, which is mapped, not read."""
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source).read_all()


def store(path: Path, table: pa.Table) -> None:
    """A table as a file of Arrow."""
    written(table.to_batches(), table.schema, str(path))


def written(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str) -> int:
    """Batches as a file of Arrow; gives the number of their rows."""
    rows = 0
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def kernel_function(task: KernelTask, functions: Mapping[str, Function]) -> Any:
    """The function of batches that runs a program; with users' `functions`, if it calls some."""
    module, name = RUNNERS[type(task.run.program)]
    make: Any = getattr(importlib.import_module(module), name)
    given = dict(task.run.arguments)
    given |= {"time_zone": task.settings.zone} if task.run.zoned else {}
    return make(task.run.program, **given, **({"aggregates": functions} if functions else {}))


# Types of Arrow: Spark gives workers times in UTC and intervals as durations.


def arrow_schema(types: Types) -> pa.Schema:
    """The columns as DuckDB has them."""
    return pa.schema([(name, arrow_type(type)) for name, type in types.items()])


def as_workers_have(batches: Iterator[pa.RecordBatch], types: Types) -> Iterator[pa.RecordBatch]:
    kinds = {
        name: pa.duration("us") if type == DAY_INTERVAL else arrow_type(type) for name, type in types.items()
    }
    schema = pa.schema(list(kinds.items()))
    for batch in batches:
        if batch.schema.equals(schema):
            yield batch
        else:
            columns = [_as(batch.column(name), kind) for name, kind in kinds.items()]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def as_duckdb_has(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [_as(batch.column(one.name), one.type) for one in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(column: pa.Array, type: pa.DataType) -> pa.Array:
    return column if column.type.equals(type) else column.cast(type)
