"""Rows of the local engine: what a query finds, or what a stream has."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from neelc.api.errors import NeelQueryError, NeelRunError, explain_failure
from neelc.engines.local.execution import LocalEngine, LocalRun
from neelc.engines.local.program import LocalProgram, StreamTable, Types
from neelc.engines.local.results import is_failed_run, row_values
from neelc.engines.local.tables import DataSize, LocalTable
from neelc.engines.local.tasks import BATCH
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError, not_writable, whole_file
from neelc.ir.program import Column
from neelc.ir.types import DAY_INTERVAL, STRING, VARIANT
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.user_functions import AggregateFailure
from neelc.runtime.values.functions.space import MissingPackage
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation, quoted, shown
from neelc.scalar.duckdb.queries import spelled_query
from neelc.source import Source, Span

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

    Examples
    --------
    >>> import neelc
    >>> found = neelc.local().sql("PATTERN Login a RETURN a.ts, a.user", Login=[{"ts": 1, "user": "ann"}])
    >>> found.columns, found.count()
    (['a_ts', 'a_user'], 1)
    >>> found.where("a_user LIKE 'a%'").df()
       a_ts a_user
    0     1    ann
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
        return list(map(shown, self.types))

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        """The columns with Spark's types of their values."""
        return tuple(Column(shown(name), type) for name, type in self.types.items())

    def with_json(self) -> LocalFrame:
        """The same rows; where `rows` has dictionaries for VARIANTs, this one has JSON texts."""
        return replace(self, types={n: STRING if t == VARIANT else t for n, t in self.types.items()})

    # All rows.

    def arrow(self) -> pa.Table:
        """The rows as a table of Arrow."""
        with failing_locally(self.run):
            table = self.run.query(self.text).to_arrow_table().select(list(self.types))
        return table.cast(_schema(self.types, table.schema)).rename_columns(self.columns)

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
        items = ", ".join(f"{quoted(name)} AS {quoted(shown(name))}" for name in self.types)
        has_twins = self.columns != list(self.types)
        with failing_locally(self.run):
            return self.run.query(f"SELECT {items} FROM ({self.text})" if has_twins else self.text)

    def batches(self, size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """The rows as batches of Arrow, of which one at a time is in memory."""
        return self._batches(whole_number("batches", size, 1))

    def _batches(self, size: int) -> Iterator[pa.RecordBatch]:
        with failing_locally(self.run):
            reader = self.run.query(self.text).to_arrow_reader(size)
            schema = _schema(self.types, reader.schema)
            for batch in reader:
                yield batch.select(list(self.types)).cast(schema).rename_columns(self.columns)

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
        return self._asked("where", condition, f"SELECT * FROM {THESE} WHERE {condition}")

    def selectExpr(self, *items: str) -> LocalFrame:
        """The rows with other columns."""
        text = ", ".join(items)
        return self._asked("selectExpr", text, f"SELECT {text} FROM {THESE}")

    def orderBy(self, *columns: str) -> LocalFrame:
        """The rows in order of some columns, NULLs first."""
        if not columns:
            raise ValueError(f"orderBy: by which columns? There are {', '.join(self.types)}")
        text = ", ".join(columns)
        return self._asked("orderBy", text, f"SELECT * FROM {THESE} ORDER BY {text}")

    def distinct(self) -> LocalFrame:
        """The rows that differ."""
        return self.query(f"SELECT DISTINCT * FROM {THESE}")

    def transform(self, function: Callable[[LocalFrame], LocalFrame]) -> LocalFrame:
        """What a function makes of the rows, such as `neelc.pattern`."""
        return function(self)

    def limit(self, most: int) -> LocalFrame:
        """So many of the rows."""
        return replace(self, text=f"SELECT * FROM ({self.text}) LIMIT {whole_number('limit', most, 0)}")

    def query(self, text: str, **others: LocalFrame) -> LocalFrame:
        """The rows of a query in Spark's SQL: `these` are the rows here, and `others` have their names."""
        return self._asked("query", text, text, others)

    def _asked(
        self, method: str, written: str, text: str, others: Mapping[str, LocalFrame] | None = None
    ) -> LocalFrame:
        """The rows of a query, of which a caller of `method` has `written` a part."""
        others = others or {}
        calls: dict[str, EvaluatedCall] = {}
        types = {THESE: self.types, **{name: frame.types for name, frame in others.items()}}
        try:
            found = spelled_query(text, types, {}, calls)
        except UnspelledOperation as error:
            names = [name for frame in (self, *others.values()) for name in frame.types]
            raise _wrong_text(error, Source(written, method), names) from None
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
            text = as_table(Result(self.typed_columns, rows[:most], is_ordered=True))
        return text.rstrip("\n") + ("\n..." if len(rows) > most else "")

    def __repr__(self) -> str:
        columns = ", ".join(f"{shown(name)} {type}" for name, type in self.types.items())
        return f"<neelc.LocalFrame: {columns}>"

    def _repr_html_(self) -> str:
        from neelc.catalog.inputs import render

        rows = list(self.with_json().limit(SHOWN + 1).rows())
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
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
        try:
            return self.write_file(path, format, overwrite)
        except CallError as error:
            raise ValueError(str(error)) from None

    def write_file(self, path: str | Path, format: str | None, overwrite: bool) -> int:
        """The same for commands: raises `CallError` if the file cannot be written."""
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
            beside.touch()
        except OSError as error:
            raise not_writable(target, error) from None
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
        titled = pa.schema([(shown(one.name), one.type) for one in schema])
        count = 0
        with (
            pa.parquet.ParquetWriter(target, titled, compression="zstd")
            if kind == "parquet"
            else pa.ipc.new_file(str(target), titled)
        ) as writer:
            for batch in reader:
                writer.write_batch(batch.select(list(self.types)).cast(schema).rename_columns(self.columns))
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


def whole_number(argument: str, value: object, least: int) -> int:
    """
    >>> whole_number("limit", -1, 0)
    Traceback (most recent call last):
    ValueError: limit: a whole number of at least 0, not -1
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{argument}: a whole number of at least {least}, not {value!r}")
    return value


def _wrong_text(error: UnspelledOperation, source: Source, names: Sequence[str]) -> NeelQueryError:
    """What is wrong with a text of Spark's SQL, at its place."""
    whole = Span(0, max(1, len(source.text)))
    if type(error.__cause__).__module__.startswith("sqlglot"):
        return NeelQueryError([Diagnostic("NEEL1001", "not a text of Spark's SQL", whole)], source)
    unknown = re.fullmatch(r"(?:the|unknown) column `?(?:\w+\.)?`?(.+?)`?", str(error))
    if unknown is None:
        is_wrong = error.code != "NEEL4150"
        message = str(error) if is_wrong else f"unknown to the local engine: {error}"
        return NeelQueryError([Diagnostic(error.code, message, whole, error.hint)], source)
    name = unknown[1]
    place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source.text, re.IGNORECASE)
    close = difflib.get_close_matches(name.lower(), [one.lower() for one in names], 1)
    meant = next((one for one in names if close and one.lower() == close[0]), None)
    hint = f"did you mean {meant}?" if meant else f"columns: {', '.join(dict.fromkeys(names))}"
    span = whole if place is None else Span(*place.span())
    return NeelQueryError([Diagnostic("NEEL2003", f"unknown column `{name}`", span, hint)], source)


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


_FAILED_CALL = re.compile(rf"executing the UDF: {AggregateFailure.__name__}: (.*)", re.DOTALL)
"""How DuckDB tells of a function of users, which it calls."""


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
    if failed_call := _FAILED_CALL.search(text):
        return NeelRunError(failed_call[1].strip(), "NEEL5008")
    if isinstance(error, MissingPackage):
        return NeelRunError(text, "NEEL5093")
    if is_failed_run(error):
        return NeelRunError(_first_line(text), "NEEL5101")
    return None


def _first_line(text: str) -> str:
    return re.sub(r"^(?:\w+Exception: )?[A-Z]\w+(?: \w+)* Error: ", "", text.strip()).splitlines()[0]
