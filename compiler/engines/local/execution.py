"""A program, executed: views of DuckDB, and kernels that read one of them, in this process or in several."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from neelc.engines.local.functions import arrow_type, reader_of, writer_of
from neelc.engines.local.pool import WorkerPool
from neelc.engines.local.program import KernelRun, LocalProgram, LocalView, StreamTable, UserCalls
from neelc.engines.local.reading import read_failure
from neelc.engines.local.tables import DataScan, LocalTable, is_worth_splitting
from neelc.engines.local.tasks import (
    KernelTask,
    LocalSettings,
    arrow_schema,
    connected,
    found,
    share_done,
    store,
    stored_table,
    view_text,
    written,
)
from neelc.engines.local.work import KernelWork, WorkState
from neelc.errors import NeelError
from neelc.ir.expressions import Function
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.user_functions import called, needed
from neelc.scalar.duckdb.pieces import EvaluatedCall, quoted


@dataclass
class LocalEngine:
    """What runs programs: in which time zone, in how many processes, with how many bytes of memory."""

    zone: str = "UTC"
    processes: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    memory: int | None = None
    pool: WorkerPool | None = None

    def workers(self) -> WorkerPool:
        """The processes, which are started when they are needed first."""
        if self.pool is None:
            self.pool = WorkerPool(self.processes)
        self.pool.start()
        return self.pool

    def run(
        self,
        program: LocalProgram,
        tables: Mapping[str, LocalTable],
        functions: Mapping[str, Function] | None = None,
    ) -> LocalRun:
        """A run of a program over tables, by the names of their streams: nothing has happened yet."""
        return LocalRun(self, program, tables, functions or {})


class LocalRun:
    """A program in a database of its own, which is made when it is asked for. `held` are the tables that
    steps have made."""

    def __init__(
        self,
        engine: LocalEngine,
        program: LocalProgram,
        tables: Mapping[str, LocalTable],
        functions: Mapping[str, Function],
    ) -> None:
        self.engine, self.program, self.tables, self.functions = engine, program, tables, functions
        self.scratch = Path(tempfile.mkdtemp(prefix="neelc-"))
        weakref.finalize(self, shutil.rmtree, self.scratch, ignore_errors=True)
        self.settings = LocalSettings(engine.zone, memory=engine.memory)
        self.views: dict[str, str] = {}
        self.held: dict[str, pa.Table] = {}
        self.stored: dict[str, str] = {}
        self._connection: Any = None
        self._work: Callable[[], WorkState] | None = None

    @property
    def connection(self) -> Any:
        """The database, in which all kernels have run. What is behind the last one runs when its rows are
        read."""
        if self._connection is None:
            self._connection = connected(self.settings, self.program.calls)
            try:
                self._run()
            except BaseException:
                self._connection = None
                raise
        return self._connection

    def _run(self) -> None:
        for step in self.program.steps:
            match step:
                case StreamTable(name, stream):
                    self._table(name, self.tables[stream].data)
                case LocalView(is_stored=True):
                    self._connection.execute(step.statement)
                case LocalView(name, text):
                    self._view(name, text)
                case KernelRun(name):
                    self._table(name, self._found(step))
                    self._work = None
                case UserCalls(name):
                    self._table(name, self._called(step))

    def work(self) -> WorkState | None:
        """How far the kernel is that runs; None if none runs. For other threads."""
        look = self._work
        return None if look is None else look()

    def fault_of_data(self, error: Exception) -> NeelError | None:
        """What is wrong with files that are read, if that is why a query of DuckDB has failed."""
        for table in self.tables.values():
            found = read_failure(table, error, self.engine.zone)
            if found is not None:
                return found
        return None

    @property
    def has_run(self) -> bool:
        """Whether rows were asked for."""
        return self._connection is not None

    def observed(self, key: str) -> dict[str, Any]:
        """What one of the program's observations counts."""
        counted = self.query(self.program.observed[key])
        (row,) = counted.fetchall()
        return dict(zip(counted.columns, row, strict=True))

    def query(self, text: str | None = None) -> Any:
        """A relation of DuckDB: of a query of this database, or the result."""
        return self.connection.sql(text or f"SELECT * FROM {quoted(self.program.result)}")

    def add_functions(self, calls: Iterable[EvaluatedCall]) -> None:
        """More functions of the runtime, for queries of this database."""
        connected(self.settings, calls).close()

    def add_table(self, data: Any) -> str:
        """More rows, of a `LocalTable`, for queries of this database; gives the name that they have there."""
        _ = self.connection  # all steps have run now: their tables have names
        used = {one.lower() for one in (*self.held, *self.views)}
        numbered = (f"neelc_added_{number}" for number in itertools.count())
        name = next(one for one in numbered if one not in used)
        self._table(name, data)
        return name

    def _table(self, name: str, data: Any) -> None:
        if isinstance(data, DataScan):
            data.prepare(self._connection)
            self._view(name, data.text)
        else:
            self.held[name] = data
            self._connection.register(name, data)

    def _view(self, name: str, text: str) -> None:
        self.views[name] = text
        self._connection.execute(view_text(name, text))

    # Kernels.

    def _found(self, step: KernelRun) -> pa.Table:
        """What a kernel finds: of many rows with keys, in several processes. Users' functions stay here."""
        task = KernelTask(step, self.settings)
        can_be_split = self.engine.processes > 1 and step.keys and not step.functions
        can_be_split = can_be_split and not any(call.declared for call in self.program.calls)
        can_be_split = can_be_split and not any(
            isinstance(one, LocalView) and one.is_stored for one in self.program.steps
        )
        if can_be_split and is_worth_splitting(self.tables.values()):
            return self._found_in_parts(task)
        functions = self.functions if step.functions else {}
        work = KernelWork(partial(share_done, self._connection))
        self._work = work.state
        batches = found(task, self._connection, functions, work)
        if any(one.size.is_large for one in self.tables.values()):  # so may be the result
            path = str(self.scratch / f"{step.name}.arrow")
            written(batches, arrow_schema(step.gives), path)
            return stored_table(path)
        return pa.Table.from_batches(batches, arrow_schema(step.gives))

    def _found_in_parts(self, task: KernelTask) -> pa.Table:
        """Each process reads all rows and takes those of its keys."""
        workers, parts = self.engine.workers(), self.engine.processes
        self._work = workers.state
        self._store()
        memory = None if self.engine.memory is None else self.engine.memory // (parts + 1)
        whole = replace(
            task,
            settings=replace(self.settings, threads=1, memory=memory),
            stored=tuple(self.stored.items()),
            views=tuple(self.views.items()),
            calls=self.program.calls,
            parts=parts,
        )
        paths = [str(self.scratch / f"{task.run.name}-{part}.arrow") for part in range(parts)]
        workers.run([replace(whole, part=part, result=path) for part, path in enumerate(paths)])
        return pa.concat_tables(map(stored_table, paths))

    def _store(self) -> None:
        """Tables as files, for other processes."""
        for name, rows in self.held.items():
            if name not in self.stored:
                path = self.scratch / f"{len(self.stored)}.arrow"
                store(path, rows)
                self.stored[name] = str(path)

    # Users' functions.

    def _called(self, step: UserCalls) -> pa.Table:
        functions = needed(self.functions, (name for name, *_ in step.calls))
        rows = self._connection.sql(f"SELECT * FROM {quoted(step.source)}").to_arrow_table()
        before, types = self.program.types[step.source], self.program.types[step.name]
        lists = {column for _, column, *_ in step.calls}
        columns = {name: rows.column(name) for name in rows.column_names if name not in lists}
        for function, values, name, type in step.calls:
            read, write = reader_of(before[values]), writer_of(types[name])
            given = ([] if one is None else read(one) for one in rows.column(values).to_pylist())
            results = (called(function, functions[function], type, one) for one in given)
            made = [None if one is None else write(one) for one in results]
            columns[name] = pa.chunked_array([pa.array(made, arrow_type(types[name]))])
        return pa.table(columns)
