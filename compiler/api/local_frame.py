"""Rows of the local engine: what a query finds, or what a stream has."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from neelc.api.errors import NeelRunError, explain_failure
from neelc.engines.local.execution import LocalEngine, LocalRun
from neelc.engines.local.program import LocalProgram, StreamTable, Types
from neelc.engines.local.results import is_failed_run, row_values
from neelc.engines.local.tables import DataSize, LocalTable
from neelc.engines.local.tasks import BATCH
from neelc.errors import NeelError
from neelc.files import CallError, whole_file
from neelc.ir.program import Column
from neelc.ir.types import DAY_INTERVAL, STRING, VARIANT
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.user_functions import AggregateFailure
from neelc.runtime.values.functions.space import MissingPackage
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation, quoted
from neelc.scalar.duckdb.queries import spelled_query

if TYPE_CHECKING:
    import pyarrow as pa

THESE = "these"
"""What a query calls the rows that it is asked of."""

SHOWN = 20
"""How many rows are shown where nobody says how many."""

WRITTEN = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""The formats of files, by their endings."""


@dataclass(frozen=True)
class LocalFrame:
    """Rows of the local engine. Nothing runs before rows are asked for; then the query runs once.

    `arrow`, `df` (pandas), `pl` (polars), `duckdb`, `rows` and iteration give them, `show` prints some, and
    `write` writes them to a file. `where`, `selectExpr`, `orderBy`, `distinct` and `limit` choose among them,
    in texts of Spark's SQL.
    """

    run: LocalRun
    text: str
    types: Types

    @classmethod
    def of(cls, run: LocalRun) -> LocalFrame:
        """The result of a run."""
        return cls(run, f"SELECT * FROM {quoted(run.program.result)}", run.program.columns)

    @classmethod
    def of_stream(
        cls, engine: LocalEngine, name: str, table: LocalTable, calls: Iterable[EvaluatedCall] = ()
    ) -> LocalFrame:
        """The rows of a stream; `calls` are the functions that reading them needs."""
        program = LocalProgram((StreamTable(name, name),), {name: table.types}, tuple(calls), name)
        return cls.of(engine.run(program, {name: table}))

    def table(self) -> LocalTable:
        """The rows as a stream of another query. Those of a query are found first."""
        whole = LocalFrame.of(self.run)
        match self.run.program.steps:
            case (StreamTable(_, stream),) if self.text == whole.text:
                return self.run.tables[stream]
        with failing_locally(self.run):
            rows = self.run.query(self.text).to_arrow_table()
        return LocalTable(rows, self.types, DataSize(rows=rows.num_rows))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.types)

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        """The columns with Spark's types of their values."""
        return tuple(Column(name, type) for name, type in self.types.items())

    def with_json(self) -> LocalFrame:
        """The same rows; where `rows` has dictionaries for VARIANTs, this one has JSON texts."""
        return replace(self, types={n: STRING if t == VARIANT else t for n, t in self.types.items()})

    # All rows.

    def arrow(self) -> pa.Table:
        """The rows as a table of Arrow."""
        with failing_locally(self.run):
            table = self.run.query(self.text).to_arrow_table().select(list(self.types))
        return table.cast(_schema(self.types, table.schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The rows for whoever reads tables of Arrow: polars, DuckDB, or another query."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def df(self) -> Any:
        """The rows as a DataFrame of pandas."""
        return self.arrow().to_pandas()

    def pl(self) -> Any:
        """The rows as a DataFrame of polars, which must be installed."""
        from importlib import import_module

        return import_module("polars").from_arrow(self.arrow())

    def duckdb(self) -> Any:
        """The rows as a relation of DuckDB, for more SQL."""
        with failing_locally(self.run):
            return self.run.query(self.text)

    def batches(self, size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """The rows as batches of Arrow, of which one at a time is in memory."""
        with failing_locally(self.run):
            reader = self.run.query(self.text).to_arrow_reader(size)
            schema = _schema(self.types, reader.schema)
            for batch in reader:
                yield batch.select(list(self.types)).cast(schema)

    def native_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as batches of Arrow, with the types that DuckDB has."""
        with failing_locally(self.run):
            yield from self.run.query(self.text).to_arrow_reader(BATCH)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The rows as tuples of Python's values: instants in UTC, structs, maps and VARIANTs as
        dictionaries."""
        yield from row_values(self.native_batches(), self.types)

    def count(self) -> int:
        """How many rows there are."""
        with failing_locally(self.run):
            return int(self.run.query(f"SELECT count(*) FROM ({self.text})").fetchall()[0][0])

    def collect(self) -> list[tuple[object, ...]]:
        """The rows as a list of tuples."""
        return list(self.rows())

    # Some of the rows: Spark's DataFrames have the same methods, and the texts mean the same there.

    def where(self, condition: str) -> LocalFrame:
        """The rows that meet a condition."""
        return self.query(f"SELECT * FROM {THESE} WHERE {condition}")

    def selectExpr(self, *items: str) -> LocalFrame:
        """The rows with other columns."""
        return self.query(f"SELECT {', '.join(items)} FROM {THESE}")

    def orderBy(self, *columns: str) -> LocalFrame:
        """The rows in order of some columns, NULLs first."""
        return self.query(f"SELECT * FROM {THESE} ORDER BY {', '.join(columns)}")

    def distinct(self) -> LocalFrame:
        """The rows that differ."""
        return self.query(f"SELECT DISTINCT * FROM {THESE}")

    def limit(self, most: int) -> LocalFrame:
        """So many of the rows."""
        return replace(self, text=f"SELECT * FROM ({self.text}) LIMIT {int(most)}")

    def query(self, text: str, **others: LocalFrame) -> LocalFrame:
        """The rows of a query in Spark's SQL: `these` are the rows here, and `others` have their names."""
        calls: dict[str, EvaluatedCall] = {}
        types = {THESE: self.types, **{name: frame.types for name, frame in others.items()}}
        try:
            found = spelled_query(text, types, {}, calls)
        except UnspelledOperation as error:
            raise NeelRunError(f"unknown to the local engine: {error}", "NEEL4150") from None
        texts = {THESE: self.text}
        with failing_locally(self.run):
            self.run.add_functions(calls.values())
            for name, frame in others.items():
                texts[name] = f"SELECT * FROM {quoted(self.run.add_table(frame.table().data))}"
        given = ", ".join(f"{quoted(name)} AS ({one})" for name, one in texts.items())
        return replace(self, text=f"WITH {given} {found.text}", types=found.types)

    # For people.

    def show(self, most: int = SHOWN) -> None:
        """Print some of the rows as a table."""
        print(self._shown(most))

    def _shown(self, most: int) -> str:
        from neelc.runtime.reference import Result
        from neelc.tools.result_text import as_table

        rows = list(self.with_json().limit(most + 1).rows())
        with in_zone(self.run.engine.zone):
            text = as_table(Result(self.typed_columns, rows[:most]), is_ordered=True)
        return text.rstrip("\n") + ("\n..." if len(rows) > most else "")

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {type}" for name, type in self.types.items())
        return f"<neelc.LocalFrame: {columns}>"

    def _repr_html_(self) -> str:
        from neelc.catalog.inputs import render

        rows = list(self.with_json().limit(SHOWN + 1).rows())
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.types)
        types = list(self.types.values())
        with in_zone(self.run.engine.zone):
            body = "".join(
                "<tr>"
                + "".join(f"<td>{html.escape(render(v, t))}</td>" for v, t in zip(row, types, strict=True))
                + "</tr>"
                for row in rows[:SHOWN]
            )
        more = "<p>...</p>" if len(rows) > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    # To files.

    def write(self, path: str | Path, *, format: str | None = None, overwrite: bool = False) -> int:
        """Write the rows to a file, whole or not at all, in the format of its ending: .parquet, .csv, .json,
        .jsonl or .arrow. Gives their number."""
        target = Path(path)
        kind = format or WRITTEN.get(target.suffix.lower())
        if kind is None or kind not in WRITTEN.values():
            known = ", ".join(dict.fromkeys(WRITTEN.values()))
            raise ValueError(f"write {path}: say the format: {known}")
        if target.exists() and not overwrite:
            raise ValueError(f"write {path}: it exists already; overwrite=True replaces it")
        with failing_locally(self.run):
            return self._write(target, kind)

    def _write(self, target: Path, kind: str) -> int:
        if kind in ("csv", "json"):
            with whole_file(target) as out, in_zone(self.run.engine.zone):
                return self.write_lines(out, kind)
        beside = target.with_name(f".{target.name}.new")
        try:
            count = self._write_columns(beside, kind)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        return count

    def write_lines(self, out: TextIO, kind: str) -> int:
        """Write the rows as `csv` or `json` lines, in any order; gives their number."""
        from neelc.api.local_texts import LINES

        counted = CountedBatches(self.native_batches())
        out.writelines(LINES[kind](self.typed_columns, counted))
        return counted.count

    def _write_columns(self, target: Path, kind: str) -> int:
        import pyarrow as pa
        import pyarrow.parquet

        query = self.run.query(self.text)
        reader = query.to_arrow_reader(BATCH)
        schema = _schema(self.types, reader.schema, storable=kind == "parquet")
        count = 0
        with (
            pa.parquet.ParquetWriter(target, schema, compression="zstd")
            if kind == "parquet"
            else pa.ipc.new_file(str(target), schema)
        ) as writer:
            for batch in reader:
                writer.write_batch(batch.select(list(self.types)).cast(schema))
                count += batch.num_rows
        return count


class CountedBatches:
    """Batches whose rows are counted as they pass."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.batches, self.count = batches, 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.batches:
            self.count += batch.num_rows
            yield batch


def _schema(types: Types, found: pa.Schema, storable: bool = False) -> pa.Schema:
    """The types that people expect of Arrow: intervals are durations, and instants are in UTC. What is
    `storable` is so in Parquet, too."""
    import pyarrow as pa

    fields = []
    for name, type in types.items():
        kind = found.field(name).type
        if type == DAY_INTERVAL and not storable:
            kind = pa.duration("us")
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            kind = pa.timestamp("us", "UTC")
        fields.append((name, kind))
    return pa.schema(fields)


@contextmanager
def failing_locally(run: LocalRun) -> Iterator[None]:
    """What DuckDB or a process of the engine raises inside, as the error of a run."""
    try:
        yield
    except (NeelError, CallError):
        raise
    except Exception as error:
        failure = run.fault_of_data(error) or local_failure(error)
        if failure is None:
            raise
        raise failure from error


def local_failure(error: Exception) -> NeelRunError | None:
    """What failed, in a few words; None if that is neither DuckDB's fault nor a kernel's."""
    import duckdb

    found = explain_failure(error)
    if found is not None:
        return found
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return NeelRunError(f"too little memory: {_first_line(text)}", "NEEL5101")
    if isinstance(error, AggregateFailure):
        return NeelRunError(text, "NEEL5008")
    if isinstance(error, MissingPackage):
        return NeelRunError(text, "NEEL5093")
    if is_failed_run(error):
        return NeelRunError(_first_line(text), "NEEL5101")
    return None


def _first_line(text: str) -> str:
    return re.sub(r"^(?:\w+Exception: )?[A-Z]\w+(?: \w+)* Error: ", "", text.strip()).splitlines()[0]
