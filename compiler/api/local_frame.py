"""Rows of the local engine: what a query finds, or what a stream has."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.errors import NeelRunError, explain_failure
from neelc.engines.local.execution import LocalRun
from neelc.engines.local.functions import reader_of
from neelc.engines.local.pool import LocalWorkerFailure
from neelc.engines.local.program import Types
from neelc.engines.local.tasks import BATCH
from neelc.errors import NeelError
from neelc.files import CallError, whole_file
from neelc.ir.program import Column
from neelc.ir.types import DAY_INTERVAL
from neelc.scalar.duckdb.pieces import quoted

if TYPE_CHECKING:
    import pyarrow as pa

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
    `write` writes them to a file.
    """

    run: LocalRun
    text: str
    types: Types

    @classmethod
    def of(cls, run: LocalRun) -> LocalFrame:
        """The result of a run."""
        return cls(run, f"SELECT * FROM {quoted(run.program.result)}", run.program.columns)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.types)

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        """The columns with Spark's types of their values."""
        return tuple(Column(name, type) for name, type in self.types.items())

    # All rows.

    def arrow(self) -> pa.Table:
        """The rows as a table of Arrow."""
        with failing_locally(self.run):
            table = self.run.query(self.text).to_arrow_table()
        return table.cast(_schema(self.types, table.schema))

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
                yield batch.cast(schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The rows as tuples of Python's values: instants in UTC, structs and maps as dictionaries."""
        readers = [reader_of(type) for type in self.types.values()]
        with failing_locally(self.run):
            for batch in self.run.query(self.text).to_arrow_reader(BATCH):
                columns = [
                    [None if value is None else read(value) for value in column.to_pylist()]
                    for column, read in zip(batch.columns, readers, strict=True)
                ]
                yield from zip(*columns, strict=True) if columns else ((),) * batch.num_rows

    def count(self) -> int:
        """How many rows there are."""
        with failing_locally(self.run):
            return int(self.run.query(f"SELECT count(*) FROM ({self.text})").fetchall()[0][0])

    def limit(self, most: int) -> LocalFrame:
        """So many of the rows."""
        return replace(self, text=f"SELECT * FROM ({self.text}) LIMIT {int(most)}")

    # For people.

    def show(self, most: int = SHOWN) -> None:
        """Print some of the rows as a table."""
        print(self._shown(most))

    def _shown(self, most: int) -> str:
        from neelc.runtime.reference import Result
        from neelc.tools.result_text import as_table

        rows = list(self.limit(most + 1).rows())
        text = as_table(Result(self.typed_columns, rows[:most]), is_ordered=True)
        return text.rstrip("\n") + ("\n..." if len(rows) > most else "")

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {type}" for name, type in self.types.items())
        return f"<neelc.LocalFrame: {columns}>"

    def _repr_html_(self) -> str:
        from neelc.catalog.inputs import render

        rows = list(self.limit(SHOWN + 1).rows())
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.types)
        types = list(self.types.values())
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
            from neelc.tools.result_text import LINES

            counted = _Counted(self.rows())
            with whole_file(target) as out:
                out.writelines(LINES[kind](self.typed_columns, counted))
            return counted.count
        beside = target.with_name(f".{target.name}.new")
        try:
            count = self._write_columns(beside, kind)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        return count

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
                writer.write_batch(batch.cast(schema))
                count += batch.num_rows
        return count


class _Counted:
    """Rows that are counted as they pass."""

    def __init__(self, rows: Iterable[tuple[object, ...]]) -> None:
        self.rows, self.count = rows, 0

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for row in self.rows:
            self.count += 1
            yield row


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
    if isinstance(error, duckdb.Error | LocalWorkerFailure):
        return NeelRunError(_first_line(text), "NEEL5101")
    return None


def _first_line(text: str) -> str:
    return re.sub(r"^(?:\w+Exception: )?[A-Z]\w+(?: \w+)* Error: ", "", text.strip()).splitlines()[0]
