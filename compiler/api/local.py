"""`neelc.local`: queries without Spark, on data of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.errors import translated
from neelc.api.local_frame import LocalFrame
from neelc.api.query import BoundScript, DisplayText, Query
from neelc.api.session import Session, statistics_given
from neelc.api.streams import (
    DeclaredPath,
    StreamData,
    in_catalog,
    is_frame,
    no_local_data,
    parquet_files,
    streams_read,
    variable_as_stream,
)
from neelc.arguments import Options
from neelc.catalog.data_files import path_from
from neelc.catalog.data_warnings import used_types
from neelc.catalog.inputs import GivenStream, Inputs, unit_of
from neelc.catalog.location import Location
from neelc.catalog.readers.text import Table, likely_timestamp
from neelc.catalog.statistics.file import streams_of
from neelc.catalog.statistics.numbers import KnownStatistic, Statistics, known
from neelc.catalog.statistics.parquet import counted_in, metadata_of
from neelc.engines.fitting import table_without_rows
from neelc.engines.local.counting import counted_rows
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.inputs import file_table, fitted_table
from neelc.engines.local.plan import local_program, spelled_host
from neelc.engines.local.program import LocalProgram, Types
from neelc.engines.local.reading import reader_options, scanned
from neelc.engines.local.tables import DataSize, LocalTable, is_worth_splitting
from neelc.engines.spark.relations import Read
from neelc.errors import Diagnostic, NeelError
from neelc.explain.engine import Engine, kernels_run_in, local_engine
from neelc.files import CallError
from neelc.ir.names import find, written
from neelc.ir.node import walk
from neelc.ir.program import Column, Program, Stream
from neelc.ir.script import HostSelect, Script, Statistic
from neelc.ir.types import DataType
from neelc.pipeline import compile_query
from neelc.rows.bind.host import ON_SPARK, Describe, DescribedColumns, UnspelledQuery
from neelc.rows.bind.host_text import SparkQuery
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.duckdb.evaluated import operations_of
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation, WrongQuery, shown, unlike
from neelc.scalar.duckdb.times import zone_in_duckdb
from neelc.source import Source, Span
from neelc.syntax.host import mentions

if TYPE_CHECKING:
    from neelc.api.local_rules import LocalRules
    from neelc.api.rules import Rules, RulesGiven
    from neelc.api.timeline import DrawingEngine
    from neelc.engines.spark.compiled import CompiledScript

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def local(
    *,
    timezone: str = "UTC",
    processes: int | None = None,
    memory: str | int | None = None,
    untrusted: bool = False,
    stats: str | Mapping[str, object] | None = None,
) -> LocalSession:
    """A session without Spark: queries over files and data of this machine, by DuckDB and neelc's kernels.

    Parameters
    ----------
    timezone : str, default "UTC"
        What clocks show at an instant: for `hour(ts)`, and for times that are texts without a zone.
    processes : int, optional
        How many processes work on large data. Default: one for each core.
    memory : str or int, optional
        How much memory DuckDB may take before it uses the disk, such as "4GB".
    untrusted : bool, default False
        Whether the texts of all queries may read only registered streams, and those of their call.
    stats : str or dict, optional
        Statistics of the streams: the path of a file, or what `Query.statistics` returns.

    Returns
    -------
    LocalSession
        A session with the methods of `neelc.Session`.

    Examples
    --------
    >>> import neelc
    >>> neelc.local().sql(
    ...     "PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 1 MINUTE RETURN a.user, b.ts",
    ...     Login=[{"ts": 1, "user": "ann"}, {"ts": 2, "user": "ann"}],
    ... ).show()
    a_user  b_ts
    ann     2
    """
    try:
        zone_in_duckdb(timezone)
    except CallError as error:
        raise ValueError(str(error)) from None
    except ValueError:
        raise ValueError(f"timezone: unknown time zone {timezone!r}") from None
    count = len(os.sched_getaffinity(0)) if processes is None else processes
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"processes: a number of at least 1, not {processes!r}")
    engine = LocalEngine(timezone, count, None if memory is None else bytes_of(memory))
    return LocalSession(engine, untrusted=untrusted, stats=stats)


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
            self._location if isinstance(data.data, str) else None,
            timestamp_format=data.timestamp_format,
            then_by=data.then_by,
        )

    def table(self, stream: Stream, calls: dict[str, EvaluatedCall]) -> LocalTable:
        """Its rows, with the columns that the bound stream has."""
        held = self._held
        table = file_table(self._location, stream, calls, self.engine.zone) if held is None else held
        return fitted_table(table, stream, calls)

    def frame(self, stream: Stream) -> LocalFrame:
        """Its rows, with the columns that the bound stream has."""
        calls: dict[str, EvaluatedCall] = {}
        table = self.table(stream, calls)
        return LocalFrame.of_stream(self.engine, stream.name, table, calls.values())

    def counted(self, stream: Stream) -> Iterator[Statistic]:
        """What its data say about the bound stream, if they are in memory."""
        if not isinstance(self.data.data, LocalFrame | str) and self._held is not None:
            yield from counted_rows(stream, self._held)

    @property
    def columns(self) -> list[str]:
        """The names of the columns that its data have."""
        return list(self._typed_tables(schema_only=True)[0].names)

    def parquet_files(self) -> list[Path]:
        """Its files, if it is a path of Parquet files."""
        return parquet_files(self.data) if isinstance(self.data.data, str) else []

    @cached_property
    def _held(self) -> LocalTable | None:
        """What is in memory."""
        from neelc.engines.local.given import as_local_table

        data = self.data.data
        if isinstance(data, LocalFrame):
            return data.table()
        return None if isinstance(data, str) else as_local_table(data)

    @property
    def _location(self) -> Location:
        data, path = self.data, str(self.data.data)
        if isinstance(data, DeclaredPath):
            source, span = data.source, data.span
        else:
            source, span = Source(path, f"stream {self.name}"), Span(0, len(path))
        return Location(path, path_from(Path(), path), source, span, data.format, dict(data.options))

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
        if isinstance(self.data.data, LocalFrame):  # its query need not run yet
            return [_without_rows(self.data.data.types, self.name)]
        if self._held is not None:
            return [_without_rows(self._held.types, self.name)]
        location = self._location
        files = location.files()
        kind = location.kind(files[0])
        with location.placed():
            if kind in ("csv", "json"):
                return replace(location, options=reader_options(kind, location.options)).tables(schema_only)
            read = Read(self.name, str(location.path), kind, "", tuple(location.options.items()))
            return [_without_rows(scanned(read, {}, self.engine.zone, files).types, self.name)]


def session_over(events: StreamData, untrusted: bool) -> tuple[LocalSession, StreamData]:
    """A session for some events, and the events: what is in memory has been read, which may be possible only
    once."""
    from neelc.engines.local.given import as_local_table

    data = events.data
    engine = data.run.engine if isinstance(data, LocalFrame) else LocalEngine()
    if not isinstance(data, LocalFrame | str):
        data = LocalFrame.of_stream(engine, "events", as_local_table(data))
    return LocalSession(engine, untrusted=untrusted), replace(events, data=data)


def _without_rows(types: Types, name: str) -> Table:
    return table_without_rows((Column(column, type) for column, type in types.items()), name)


class LocalSession(Session):
    """Queries without Spark, and the streams and functions registered with them; `neelc.local` makes it.

    Streams are paths, or data in memory: tables of Arrow, pandas, polars or DuckDB, or lists of dictionaries.

    Examples
    --------
    >>> import neelc
    >>> import pandas
    >>> with neelc.local() as local:
    ...     local.register("Login", pandas.DataFrame({"ts": [1, 2], "user": ["ann", "ann"]}))
    ...     found = local.sql("PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 1 MINUTE RETURN b.ts")
    ...     found.collect()
    [(2,)]
    """

    if TYPE_CHECKING:

        def sql(  # type: ignore[override]  # its rows are those of this engine
            self,
            text: str,
            /,
            args: Mapping[str, object] | None = None,
            *,
            strategy: str | None = None,
            most_rows: float | None = None,
            most_matches: int | None = None,
            options: Mapping[str, bool] | None = None,
            buckets: int | None = None,
            untrusted: bool = False,
            **streams: object,
        ) -> LocalFrame: ...

        def compile(
            self,
            text: str,
            /,
            args: Mapping[str, object] | None = None,
            *,
            strategy: str | None = None,
            most_rows: float | None = None,
            most_matches: int | None = None,
            options: Mapping[str, bool] | None = None,
            buckets: int | None = None,
            untrusted: bool = False,
            **streams: object,
        ) -> LocalQuery: ...

        def sql_all(  # type: ignore[override]
            self, rules: RulesGiven | None = None, /, args: Mapping[str, object] | None = None, **named: Any
        ) -> LocalFrame: ...

        def rules(
            self, rules: RulesGiven, /, args: Mapping[str, object] | None = None, **named: Any
        ) -> LocalRules: ...

    def __init__(self, engine: LocalEngine, *, untrusted: bool = False, stats: Any = None) -> None:
        handle: Any = LocalHandle(engine)
        super().__init__(handle, untrusted=untrusted, stats=stats)
        self.engine = engine
        self._variables: Mapping[str, object] = {}

    def reading(self, variables: Mapping[str, object]) -> LocalSession:
        """The same session; its queries also find streams among variables, by their names."""
        found = copy(self)
        found._variables = variables
        return found

    def close(self) -> None:
        """End the processes that have helped with large data. The next large query starts new ones."""
        if self.engine.pool is not None:
            self.engine.pool.stop()

    def __enter__(self) -> LocalSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _in_catalog(self, script: Script, given: Mapping[str, StreamData]) -> dict[str, StreamData]:
        hosts = [node for node in walk(script) if isinstance(node, HostSelect)]
        mentioned = [name for name in self._variables if any(mentions(host, name) for host in hosts)]
        look_up = partial(variable_as_stream, self._variables)
        return dict(in_catalog(script, given, look_up, map(written, mentioned)))

    def _statistics(self, inputs: Inputs, program: Program, streams: Mapping[str, Any]) -> Statistics:
        """What the caller says, and what the data here say: in memory, in small files, and in the footers of
        Parquet files."""
        given = statistics_given(self.stats, program)
        found: list[KnownStatistic] = []
        for stream in (one for one in streams_of(program).values() if not one.is_relation):
            data = streams.get(find(written(stream.name), streams) or "")
            found += known(stream.name, metadata_of(inputs, stream).statistics, "metadata")
            held = () if data is None else data.counted(stream)
            found += known(stream.name, (*counted_in(inputs, stream), *held), "counted")
        return Statistics((*given.known, *found), given.notes)

    def _no_stream(self, value: object) -> str:
        return no_local_data(value)

    def _stream(self, name: str, data: StreamData, is_declared: bool) -> Any:
        if is_frame(data.data):
            raise TypeError(f"a stream is {self._no_stream(data.data)}")
        return LocalStream(name, data, self.engine, is_declared)

    def _describing(self, frame: Callable[[Stream], Any]) -> Describe:
        return describing_locally

    def _check(self, program: Program) -> None:
        return None

    def _query(self, bound: BoundScript, compiled: CompiledScript) -> Query:
        return LocalQuery(self.spark, bound, compiled)

    def _engine_for(self, bound: BoundScript) -> Engine:
        return _with_operations(engine_for(bound, self.engine), bound)

    def rules_over(self, bound: BoundScript, places: Sequence[int], options: Options, share: bool) -> Rules:
        from neelc.api.local_rules import rules_over

        return rules_over(self.spark, bound, places, options, share)


def describing_locally(query: SparkQuery, relations: Mapping[str, DescribedColumns]) -> DescribedColumns:
    """The columns of a query in Spark's SQL."""
    tables: dict[str, dict[str, DataType]] = {name: {} for name in relations}
    for name, one in relations.items():
        for column in one.columns:
            tables[name][unlike(column.name, tables[name])] = column.type
    try:
        found = spelled_host(query, tables, {})
    except UnspelledOperation as error:
        raise UnspelledQuery(*in_words(error), error.span) from None
    return DescribedColumns(tuple(Column(shown(name), type) for name, type in found.types.items()))


def in_words(error: UnspelledOperation) -> tuple[str, str, str | None]:
    """What is wrong with a query, or what the local engine cannot execute of it: a sentence, its code, and a
    hint."""
    if isinstance(error, WrongQuery):
        return str(error), error.code, error.hint
    return f"not supported by the local engine yet: {error}", error.code, ON_SPARK


@dataclass(frozen=True, repr=False)
class LocalQuery(Query):
    """The last query of a script, compiled for the local engine."""

    @property
    def drawing(self) -> DrawingEngine:
        from neelc.api.local_drawing import LocalDrawing

        return LocalDrawing(self.spark.engine)

    def to_df(self, *, observe: bool = False) -> LocalFrame:  # type: ignore[override]
        """The matches; nothing runs before its rows are asked for. With `observe`, `notes` and `statistics`
        report afterwards on the events read: each asks DuckDB once more."""
        engine: LocalEngine = self.spark.engine
        compiled, asked = self._counted() if observe else (self.compiled, {})
        with translated():
            program, tables = self._program(compiled)
        run = engine.run(program, tables, compiled.aggregates)
        self._observed.clear()
        if observe:
            from neelc.api.local_observed import LocalObservations, LocalStreamObservations

            read = streams_read(self.bound.program, [self.bound.last])
            noticed = LocalStreamObservations(used_types(self.bound.program), run=run, streams=read)
            self._observed.append((noticed, LocalObservations(compiled, asked, run)))
        return LocalFrame.of(run)

    def _program(self, compiled: CompiledScript) -> tuple[LocalProgram, dict[str, LocalTable]]:
        bound, calls = self.bound, dict[str, EvaluatedCall]()
        tables = tables_of(bound, [bound.last], calls)
        types = {name: table.types for name, table in tables.items()}
        try:
            return local_program(compiled.relations, types, calls), tables
        except UnspelledOperation as error:
            raise unspelled(error, bound.program, bound.last, bound.text) from None

    def _engine(self) -> Engine:
        with translated():
            found = engine_for(self.bound, self.spark.engine)
            return _with_operations(found, self.bound, self.compiled)

    @property
    def source(self) -> DisplayText:
        """The queries of DuckDB and the kernels that run."""
        from neelc.engines.local.source import program_text

        with translated():
            return DisplayText(program_text(self._program(self.compiled)[0]))


def engine_for(bound: BoundScript, engine: LocalEngine) -> Engine:
    """What an explanation of a script's last query is about."""
    if _reads_results(bound):
        return local_engine()  # how many rows it has, only a run of its query tells
    try:
        return engine_in_words(engine, tables_of(bound, [bound.last], {}))
    except NeelError:
        return local_engine()  # a query can be explained before there are data


def _reads_results(bound: BoundScript) -> bool:
    given = (one.data.data for one in bound.streams.values() if isinstance(one, LocalStream))
    return any(isinstance(one, LocalFrame) for one in given)


def _with_operations(found: Engine, bound: BoundScript, compiled: CompiledScript | None = None) -> Engine:
    """With what the runtime computes for DuckDB, if the query has a plan and data that are there already."""
    if _reads_results(bound):
        return found
    try:
        script = compiled or compile_query(bound.program, bound.last, bound.text, Options(), bound.statistics)
        calls: dict[str, EvaluatedCall] = {}
        types = {name: one.types for name, one in tables_of(bound, [bound.last], calls).items()}
        made = local_program(script.relations, types, calls)
    except (NeelError, UnspelledOperation):
        return found  # a query can be explained before there are data
    return replace(found, evaluated=operations_of(made.evaluated))


def engine_in_words(engine: LocalEngine, tables: Mapping[str, LocalTable]) -> Engine:
    """What an explanation of queries over tables is about."""
    processes = engine.processes if is_worth_splitting(tables.values()) else 1
    size = sum((table.size for table in tables.values()), DataSize())
    return local_engine(processes, f"local: {size}. {kernels_run_in(processes)}")


def tables_of(
    bound: BoundScript, places: Sequence[int], calls: dict[str, EvaluatedCall]
) -> dict[str, LocalTable]:
    """The rows of the streams that queries read; `calls` collects the functions that their scans need."""
    tables = {}
    for name, stream in streams_read(bound.program, places).items():
        known: Any = next((one for key, one in bound.streams.items() if key.lower() == name.lower()), None)
        if known is None:
            bound.frame(stream)  # says what is missing
        tables[name] = known.table(stream, calls)
    return tables


def executed(
    engine: LocalEngine,
    compiled: CompiledScript,
    frames: Mapping[str, LocalFrame],
    program: Program,
    place: int,
    text: Source,
) -> LocalFrame:
    """The rows of a query, compiled, over the rows of its streams."""
    calls = {one.name: one for frame in frames.values() for one in frame.run.program.calls}
    tables = {name: frames[name].table() for name in compiled.reads}
    types = {name: table.types for name, table in tables.items()}
    try:
        made = local_program(compiled.relations, types, calls)
    except UnspelledOperation as error:
        raise unspelled(error, program, place, text) from None
    return LocalFrame.of(engine.run(made, tables, compiled.aggregates))


def unspelled(error: UnspelledOperation, program: Program, place: int, text: Source) -> NeelError:
    """What the local engine cannot execute of a query."""
    query: Any = program.queries[place].query
    span = getattr(query, "span", None) or getattr(getattr(query, "pattern", None), "span", None)
    message, code, hint = in_words(error)
    return NeelError([Diagnostic(code, message, error.span or span or Span(0, 1), hint)], text)
