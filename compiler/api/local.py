"""`neelc.local`: queries without Spark, on data of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from neelc.api.errors import translated
from neelc.api.local_frame import LocalFrame
from neelc.api.query import BoundScript, DisplayText, Query
from neelc.api.session import Session
from neelc.api.streams import StreamData, format_of, streams_read
from neelc.catalog.inputs import GivenStream, Location, unit_of
from neelc.catalog.readers.text import Table, likely_timestamp
from neelc.engines.fitting import table_without_rows
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.inputs import file_table, fitted_table
from neelc.engines.local.plan import local_program, spelled_host
from neelc.engines.local.program import LocalProgram, Types
from neelc.engines.local.reading import scanned
from neelc.engines.local.tables import LocalTable
from neelc.engines.spark.relations import Read
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.program import Column, Program, Stream
from neelc.ir.script import Script
from neelc.rows.bind.host import Describe, DescribedColumns, SparkRejection
from neelc.rows.bind.host_text import SparkQuery
from neelc.runtime.values.times import zone_of
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation
from neelc.source import Source, Span

if TYPE_CHECKING:
    from neelc.engines.spark.compiled import CompiledScript

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def local(
    *, timezone: str = "UTC", processes: int | None = None, memory: str | int | None = None
) -> LocalSession:
    """A session without Spark: queries over files and data of this machine, by DuckDB and neelc's kernels.

    `neelc.local().sql("PATTERN ...", Trades="trades.parquet").df()`. `processes` is how many work on large
    data, by default one for each core; `memory` is how much DuckDB may take, such as "4GB", before it uses
    the disk.
    """
    try:
        zone_of(timezone)
    except ValueError:
        raise ValueError(f"timezone: this Python knows no {timezone!r}") from None
    count = len(os.sched_getaffinity(0)) if processes is None else processes
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"processes: a number of at least 1, not {processes!r}")
    return LocalSession(LocalEngine(timezone, count, None if memory is None else bytes_of(memory)))


def bytes_of(memory: str | int) -> int:
    """
    >>> bytes_of("4GB"), bytes_of("512 MiB"), bytes_of(1000)
    (4294967296, 536870912, 1000)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(memory).strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"memory: a size such as 4GB, not {memory!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


@dataclass(frozen=True)
class _Settings:
    """What is asked of a session of Spark where an engine has none."""

    zone: str

    def get(self, name: str, default: object = None) -> object:
        return self.zone if name == "spark.sql.session.timeZone" else default


@dataclass(frozen=True)
class LocalHandle:
    """The engine of a session, in the place that a session of Spark has."""

    engine: LocalEngine

    @property
    def conf(self) -> _Settings:
        return _Settings(self.engine.zone)


@dataclass(frozen=True)
class LocalStream:
    """A stream of a call: its bare name and its data. `is_declared` if the script declares it."""

    name: str
    data: StreamData
    engine: LocalEngine
    is_declared: bool = False
    is_streaming: bool = False

    def given(self) -> GivenStream:
        """The stream as the compiler takes it; its columns are looked at only if nobody declares them."""
        data = self.data
        return GivenStream(
            self.name,
            self._tables,
            data.timestamp,
            data.latest,
            data.end,
            data.type,
            None if data.unit is None else unit_of(data.unit),
            timestamp_format=data.timestamp_format,
        )

    def table(self, stream: Stream, calls: dict[str, EvaluatedCall]) -> LocalTable:
        """Its rows, with the columns that the bound stream has."""
        held = self._held
        table = file_table(self._location, stream, calls, self.engine.zone) if held is None else held
        return fitted_table(table, stream, calls)

    def parquet_files(self) -> list[Path]:
        """None: their types are looked at when they are read."""
        return []

    @cached_property
    def _held(self) -> LocalTable | None:
        """What is in memory."""
        from neelc.engines.local.given import as_local_table

        return None if isinstance(self.data.data, str) else as_local_table(self.data.data)

    @property
    def _location(self) -> Location:
        path = str(self.data.data)
        kind = self.data.format or format_of(path)
        return Location(
            path,
            Path(path),
            Source(path, f"stream {self.name}"),
            Span(0, len(path)),
            kind,
            dict(self.data.options),
        )

    def _tables(self, schema_only: bool) -> list[Table]:
        tables = self._typed_tables(schema_only)
        names = list(tables[0].names)
        if not self.is_declared and self.data.timestamp is None and likely_timestamp(names) is None:
            raise CallError(
                f"stream {self.name}: which column is the timestamp? Say timestamp=COLUMN in "
                f"neelc.stream(...) or Session.register(...); columns: {', '.join(names)}"
            )
        return tables

    def _typed_tables(self, schema_only: bool) -> list[Table]:
        if self._held is not None:
            return [_without_rows(self._held.types, self.name)]
        location = self._location
        if location.path.exists() and (location.format or "parquet") in ("csv", "json"):
            return location.tables(schema_only)
        read = Read(self.name, str(location.path), location.format, "", tuple(location.options.items()))
        return [_without_rows(scanned(read, {}, self.engine.zone).types, self.name)]


def _without_rows(types: Types, name: str) -> Table:
    return table_without_rows((Column(column, type) for column, type in types.items()), name)


class LocalSession(Session):
    """Queries without Spark, and the streams and aggregates registered with them; `neelc.local` makes it.

    Streams are paths, or data in memory: tables of Arrow, pandas, polars or DuckDB, or lists of dictionaries.
    """

    def __init__(self, engine: LocalEngine, *, untrusted: bool = False, stats: Any = None) -> None:
        super().__init__(LocalHandle(engine), untrusted=untrusted, stats=stats)
        self.engine = engine

    def rules(self, *_: Any, **__: Any) -> NoReturn:
        """Many rules run on Spark."""
        raise only_on_spark("rules", "neelc.rules(spark, ...)")

    def sql_all(self, *_: Any, **__: Any) -> NoReturn:
        """Many rules run on Spark."""
        raise only_on_spark("sql_all", "neelc.rules(spark, ...)")

    def why(self, *_: Any, **__: Any) -> NoReturn:
        """Spark reads the events of a key."""
        raise only_on_spark("why", "neelc.why(spark, ...), or neelc why --engine reference")

    def _in_catalog(self, script: Script, given: Mapping[str, StreamData]) -> dict[str, StreamData]:
        return {}

    def _stream(self, name: str, data: StreamData, is_declared: bool) -> Any:
        return LocalStream(name, data, self.engine, is_declared)

    def _describing(self, frame: Callable[[Stream], Any]) -> Describe:
        return describing_locally

    def _check(self, program: Program) -> None:
        return None

    def _query(self, bound: BoundScript, compiled: CompiledScript) -> Query:
        return LocalQuery(self.spark, bound, compiled)


def only_on_spark(what: str, instead: str) -> NotImplementedError:
    """What the local engine does not do yet, and who does."""
    return NotImplementedError(f"{what} is not supported by the local engine yet: use {instead}")


def describing_locally(query: SparkQuery, relations: Mapping[str, DescribedColumns]) -> DescribedColumns:
    """The columns of a query in Spark's SQL."""
    tables = {name: {column.name: column.type for column in one.columns} for name, one in relations.items()}
    try:
        found = spelled_host(query, tables, {})
    except UnspelledOperation as error:
        raise SparkRejection(f"not supported by the local engine: {error}") from None
    return DescribedColumns(tuple(Column(name, type) for name, type in found.types.items()))


@dataclass(frozen=True, repr=False)
class LocalQuery(Query):
    """The last query of a script, compiled for the local engine."""

    def why(self, **_: Any) -> NoReturn:
        """Spark reads the events of a key."""
        raise only_on_spark("why", "neelc.why(spark, ...), or neelc why --engine reference")

    def timeline(self, **_: Any) -> NoReturn:
        """Spark finds what is drawn."""
        raise only_on_spark("timeline", "neelc.timeline of a query on Spark")

    def to_df(self, *, observe: bool = False) -> LocalFrame:
        """The matches; nothing runs before its rows are asked for."""
        if observe:
            raise only_on_spark("to_df(observe=True)", "a query on Spark")
        engine: LocalEngine = self.spark.engine
        with translated():
            program, tables = self._program()
        return LocalFrame.of(engine.run(program, tables, self.compiled.aggregates))

    def _program(self) -> tuple[LocalProgram, dict[str, LocalTable]]:
        bound, calls = self.bound, dict[str, EvaluatedCall]()
        tables = {}
        for name, stream in streams_read(bound.program, [bound.last]).items():
            known: Any = next(
                (one for key, one in bound.streams.items() if key.lower() == name.lower()), None
            )
            if known is None:
                bound.frame(stream)  # says what is missing
            tables[name] = known.table(stream, calls)
        types = {name: table.types for name, table in tables.items()}
        try:
            return local_program(self.compiled.relations, types, calls), tables
        except UnspelledOperation as error:
            raise unspelled(error, bound.program, bound.last, bound.text) from None

    @property
    def source(self) -> DisplayText:
        """The queries of DuckDB and the kernels that run."""
        from neelc.engines.local.source import program_text

        with translated():
            return DisplayText(program_text(self._program()[0]))


def unspelled(error: UnspelledOperation, program: Program, place: int, text: Source) -> NeelError:
    """What the local engine cannot execute of a query."""
    query: Any = program.queries[place].query
    span = getattr(query, "span", None) or getattr(getattr(query, "pattern", None), "span", None)
    message = f"not supported by the local engine yet: {error}"
    return NeelError([Diagnostic("NEEL4150", message, span or Span(0, 1), "Spark runs it")], text)
