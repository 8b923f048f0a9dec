"""What a stream is made of: a DataFrame, a table or view of the catalog, or a path."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from neelc.api.errors import reading
from neelc.api.schemas import columns_of, ddl
from neelc.catalog.data_files import data_files, is_elsewhere, kind_of
from neelc.catalog.inputs import UNITS, GivenStream, unit_of, watermark_of
from neelc.catalog.readers.text import CellTable, Table, likely_timestamp
from neelc.engines.fitting import fitted_columns, table_without_rows
from neelc.engines.spark.scans import csv_options, value_of
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.names import bare, find, quote, written
from neelc.ir.node import walk
from neelc.ir.patterns import Event
from neelc.ir.program import Column, Stream
from neelc.ir.program import streams_read as streams_read
from neelc.ir.script import (
    CreateHierarchy,
    CreateQuery,
    CreateStream,
    CreateType,
    FromStream,
    PatternQuery,
    Script,
)
from neelc.ir.types import STRING, stored
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.space_columns import declare_space
from neelc.runtime.values.functions.space import PREFIX
from neelc.scalar.spark.trees import alias
from neelc.source import Source, Span

Frame = Any
"""A DataFrame of a classic session or of Spark Connect: the two have no class in common in all versions."""

COLUMNS = ("timestamp", "latest", "end", "type")
"""The settings of a stream that name a column."""


@dataclass(frozen=True)
class StreamData:
    """The data of a stream, and what their columns mean where that is not plain. `neelc.stream` makes it.

    `timestamp` is the column of the time, by default one called ts, timestamp or time; `latest` that of the
    latest possible time; `end` that of the end; `type` that of the event type; `unit` the unit of integer
    times, `timestamp_format` the pattern of times that are texts, such as `dd/MM/yyyy HH:mm`. `watermark`
    is how long a streaming DataFrame waits for events that come late, such as `10 seconds`; it has no effect
    on others. `then_by` are the columns that order events of the same time. `format` and `options` are for
    paths.
    """

    data: Frame | str
    timestamp: str | None = None
    latest: str | None = None
    end: str | None = None
    type: str | None = None
    unit: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    timestamp_format: str | None = None
    watermark: str | None = None
    then_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_stream(self.data):
            raise TypeError(f"a stream is {IN_MEMORY}, the name of a table or a path, {not_this(self.data)}")
        settings = ("timestamp", "latest", "end", "type", "unit", "format", "timestamp_format", "watermark")
        for setting in settings:
            value = getattr(self, setting)
            if value is not None and not isinstance(value, str):
                raise TypeError(
                    no_name(setting, value)
                    if setting in COLUMNS
                    else f"{setting} must be a string, not {value!r}"
                )
        for name in self.then_by:
            if not isinstance(name, str):
                raise TypeError(no_name("then_by", name))
        if self.unit is not None and unit_of(self.unit) is None:
            raise ValueError(f"no unit {self.unit}; units: {', '.join(UNITS)}")
        if self.watermark is not None:
            try:
                watermark_of(self.watermark)
            except ValueError as problem:
                raise ValueError(f"watermark: {problem}") from None


def stream(
    data: object,
    *,
    timestamp: str | None = None,
    latest: str | None = None,
    end: str | None = None,
    type: str | None = None,
    unit: str | None = None,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    timestamp_format: str | None = None,
    watermark: str | None = None,
    then_by: str | Sequence[str] | None = None,
) -> StreamData:
    """A stream and what its columns mean, for the keyword arguments of `neelc.sql` and its kin.

    Parameters
    ----------
    data : DataFrame, str, Path or data in memory
        A DataFrame of Spark, the name of a table or view, or a path. For the local engine a path, a table of
        Arrow, pandas, polars or DuckDB, or a list of dictionaries.
    timestamp : str, optional
        The column of the time. Default: one called `ts`, `timestamp` or `time`.
    latest : str, optional
        The column of the latest possible time, for imprecise timestamps.
    end : str, optional
        The column of the end, for events that last.
    type : str, optional
        The column of the event type. Without it, the stream's name is the type of all its events.
    unit : {"ns", "us", "ms", "s", ...}, optional
        The unit of integer times. Default: "ms".
    format : {"csv", "json", "parquet"}, optional
        The format of the files of a path, where the ending does not show it.
    options : dict, optional
        Options of Spark's reader, for a path.
    timestamp_format : str, optional
        How times are written that are texts and not ISO, such as "dd/MM/yyyy HH:mm".
    watermark : str, optional
        How long a streaming DataFrame waits for events that come late, such as "10 seconds".
    then_by : str or list of str, optional
        The columns that order events of the same time.

    Returns
    -------
    StreamData
        The data with these settings.

    Examples
    --------
    >>> import neelc
    >>> trades = [{"at": 1, "ticker": "IBM"}, {"at": 2, "ticker": "MSFT"}]
    >>> stream = neelc.stream(trades, timestamp="at", type="ticker", unit="s")
    >>> neelc.local().sql("PATTERN SEQ(IBM a, MSFT b) RETURN a.at, b.at", Trades=stream).collect()
    [(1, 2)]
    """
    chosen = dict(options or {})
    orders = (then_by,) if isinstance(then_by, str) else tuple(then_by or ())
    settings = (
        given_path(data),
        timestamp,
        latest,
        end,
        type,
        unit,
        format,
        chosen,
        timestamp_format,
        watermark,
    )
    return StreamData(*settings, orders)


@dataclass(frozen=True)
class DeclaredPath(StreamData):
    """The path that a script declares, and where it stands there."""

    source: Source = Source("")
    span: Span = Span(0, 1)


def given_path(data: Any) -> Any:
    """The text of a path; what is none comes back.

    >>> given_path(Path("trades")), given_path(Path("data/trades.csv")), given_path("trades")
    ('./trades', 'data/trades.csv', 'trades')
    """
    if not isinstance(data, os.PathLike):
        return data
    text = os.fsdecode(data)
    return text if is_path(text) else os.path.join(".", text)


def is_stream(value: object) -> bool:
    """Whether it looks like the data of a stream, for any engine."""
    return isinstance(value, str) or is_local(value) or is_frame(value)


def is_frame(value: object) -> bool:
    """Whether it looks like a DataFrame of Spark."""
    # Asked of its class: on Spark Connect, the schema of a DataFrame is a question to the server.
    return all(hasattr(type(value), name) for name in ("selectExpr", "sparkSession", "schema"))


def is_local(value: object) -> bool:
    """Whether it looks like data that the local engine reads: of Arrow, pandas, polars or DuckDB, or a list
    of dictionaries.

    >>> is_local([{"ts": 1}]), is_local([1]), is_local(7)
    (True, False, False)
    """
    if isinstance(value, list | tuple):
        return all(isinstance(row, dict) for row in value)
    module = type(value).__module__.partition(".")[0]
    return module in ("pyarrow", "pandas", "polars", "duckdb", "_duckdb") or hasattr(
        value, "__arrow_c_stream__"
    )


def no_frame(value: object, others: str = "") -> str:
    """What is wrong with a value that is given where a DataFrame of Spark is required, and what would fit.

    >>> no_frame([1])
    'a DataFrame of Spark, not a list'
    """
    return f"a DataFrame of Spark{others}, {not_this(value)}"


IN_MEMORY = "a DataFrame of Spark, a table of Arrow, pandas, polars or DuckDB, a list of dictionaries"
LOCAL_DATA = "a table of Arrow, pandas, polars or DuckDB, a list of dictionaries or a path"


def no_local_data(value: object) -> str:
    """What is wrong with a value that is given where a stream of the local engine is required.

    >>> no_local_data(7)
    'a table of Arrow, pandas, polars or DuckDB, a list of dictionaries or a path, not an int'
    """
    if is_frame(value):
        return f"{LOCAL_DATA}, not a DataFrame of Spark: give df.toArrow()"
    return f"{LOCAL_DATA}, not {_with_article(type(value).__name__)}"


def _with_article(kind: str) -> str:
    """
    >>> _with_article("int"), _with_article("DataFrame")
    ('an int', 'a DataFrame')
    """
    return f"{'an' if kind[0].lower() in 'aeio' else 'a'} {kind}"


def not_this(value: object) -> str:
    """
    >>> not_this([1])
    'not a list'
    """
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    found = {
        "pandas": f"a {kind} of pandas: give spark.createDataFrame(pdf)",
        "polars": f"a {kind} of polars: give spark.createDataFrame(df.to_arrow())",
        "pyarrow": f"a {kind} of PyArrow: give spark.createDataFrame(table)",
    }.get(module, _with_article(kind))
    if type(value).__module__.startswith("pyspark.pandas"):
        found = f"a {kind} of pandas on Spark: give df.to_spark()"
    if kind == "DataStreamReader" or kind == "DataFrameReader":
        found = f"a {kind}: call .load() first"
    return f"not {found}"


def no_name(argument: str, value: object) -> str:
    """What is wrong with a value that is given where the name of a column is required.

    >>> no_name("type", 7)
    'type is the name of a column, as a text, not 7'
    """
    if type(value).__name__ == "Column":
        named = re.fullmatch(r"Column<'([\w.]+)'>", repr(value))
        instead = f': "{named[1]}" instead of F.col("{named[1]}")' if named else ""
        return f"{argument} is the name of a column, as a text, not a Column{instead}"
    return f"{argument} is the name of a column, as a text, not {value!r}"


def names_of(argument: str, given: str | Iterable[str]) -> list[str]:
    """The names of columns that a caller gives, one or several.

    >>> names_of("by", "user"), names_of("by", ("user", "day")), names_of("by", ())
    (['user'], ['user', 'day'], [])
    """
    if isinstance(given, str):
        return [given]
    if type(given).__name__ == "Column" or not isinstance(given, Iterable):
        raise TypeError(no_name(argument, given))
    names = list(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(no_name(argument, name))
    return names


def is_path(text: str) -> bool:
    """Whether a text is a path of files rather than the name of a table.

    >>> [is_path(text) for text in ("trades", "db.trades", "trades.csv", "data/trades", "s3://bucket/trades")]
    [False, False, True, True, True]
    """
    # `db.orc` may be a table as well.
    return "/" in text or "\\" in text or format_of(text) in ("csv", "json", "parquet")


def format_of(path: str) -> str | None:
    """The format of a path, by its extension.

    >>> format_of("trades.JSONL"), format_of("day=1/part.csv.gz"), format_of("db.trades")
    ('json', 'csv', None)
    """
    return kind_of(path) or None


def table_of(frame: Frame, name: str) -> CellTable:
    """The columns of a DataFrame as a table without rows: the names are the line that messages show."""
    return table_without_rows(columns_of(frame.schema), name)


def fitted(frame: Frame, stream: Stream) -> Frame:
    """The DataFrame with the columns of the stream: `frame` itself if it has them.

    Raises `NeelError` if one is missing, or of a type whose values the declared one does not hold.
    """
    items = fitted_columns(columns_of(frame.schema), stream)
    if items is not None and any(text.startswith(f"{PREFIX}st_geomfromwkb") for text, _ in items):
        from pyspark.sql import functions

        made: Frame = functions
        declare_space(frame.sparkSession, made.arrow_udf, ["st_geomfromwkb"])
    return frame if items is None else frame.selectExpr(*(f"{text} AS {alias(name)}" for text, name in items))


# Files as DataFrames, with the values that the reference interpreter would read from them.
#
# Spark's readers differ in three points, which are evened out here: columns of a CSV file are found by the
# names in its header, not by their order; a value that does not fit its column's type fails the run, it is
# not NULL; and quotes inside quotes are doubled.


def read_path(
    spark: Frame,
    path: str,
    format: str,
    options: Mapping[str, str],
    columns: Sequence[Column] | None = None,
    name: str = "",
    looked_at: Callable[[Frame], Frame] = lambda frame: frame,
) -> Frame:
    """The files at a path, for the stream `name`. Without `columns`, Spark infers their types: it reads CSV
    and JSON files once for that. `looked_at` may observe texts before they become values."""
    reader = spark.read.option("mode", "FAILFAST")
    if format == "csv":
        return _read_csv(reader, path, options, columns, name, looked_at)
    if format == "json":
        # Types of declared columns need no look at the data.
        typed = reader.schema(ddl(columns)) if columns else reader.option("inferTimestamp", "true")
        return looked_at(_set(typed, options).json(path))
    found = _set(spark.read, options).format(format).load(path)
    schema = _widened(found.schema, columns or ()) if format == "parquet" else None
    return found if schema is None else _set(spark.read, options).schema(schema).format(format).load(path)


# What Spark's reader of Parquet widens, if the schema requires it.
_WIDER = {
    "byte": ("SMALLINT", "INT", "BIGINT", "DOUBLE"),
    "short": ("INT", "BIGINT", "DOUBLE"),
    "integer": ("BIGINT", "DOUBLE"),
    "float": ("DOUBLE",),
}


def _widened(schema: Frame, columns: Sequence[Column]) -> Frame | None:
    """The schema if some files have wider numbers than the one that Spark has looked at."""
    known = {written(column.name): column.type for column in columns}
    fields = schema.jsonValue()["fields"]
    wider = {}
    for column in fields:
        declared = known.get(find(written(column["name"]), known) or "")
        kind = str(declared) if declared is not None else ""
        if isinstance(column["type"], str) and kind in _WIDER.get(column["type"], ()):
            wider[column["name"]] = {"BIGINT": "long", "DOUBLE": "double", "INT": "integer"}.get(
                kind, "short"
            )
    if not wider:
        return None
    changed = [column | {"type": wider.get(column["name"], column["type"])} for column in fields]
    return type(schema).fromJson({"type": "struct", "fields": changed})


def text_columns(stream: Stream) -> list[Column]:
    """The columns as files hold them: times of a pattern are texts, which `fitted` reads."""
    return [replace(c, type=STRING if c.name in stream.texts else stored(c.type)) for c in stream.own_columns]


def _set(reader: Frame, options: Mapping[str, str]) -> Frame:
    """The reader with options, whatever their names."""
    for key, value in options.items():
        reader = reader.option(key, value)
    return reader


def _read_csv(
    reader: Frame,
    path: str,
    options: Mapping[str, str],
    columns: Sequence[Column] | None,
    name: str,
    looked_at: Callable[[Frame], Frame],
) -> Frame:
    known = csv_options(path, options)
    configured = _set(reader, known)
    if columns is None:
        return configured.option("inferSchema", "true").csv(path)
    if known["header"].lower() == "false":
        texts = configured.schema(ddl(Column(column.name, STRING) for column in columns)).csv(path)
    else:
        texts = configured.csv(path)
    texts = looked_at(texts)
    found = [find(written(column.name), texts.columns) for column in columns]
    there = [(column, text) for column, text in zip(columns, found, strict=True) if text is not None]
    # A missing column is reported where columns are compared: in the same way for all formats.
    return texts.selectExpr(
        *(f"{value_of(text, column.type, name)} AS {alias(column.name)}" for column, text in there)
    )


def bare_options(options: Mapping[str, str]) -> dict[str, str]:
    return {bare(key): value for key, value in options.items()}


# The streams of a call: those given, and those found in Spark's catalog.


def parquet_files(data: StreamData) -> list[Path]:
    """The files of a path, if it is one of Parquet files here."""
    path = str(data.data)
    if not is_elsewhere(path):
        with suppress(NeelError, OSError):  # whoever reads them says what is wrong
            files = data_files(path)
            if (kind_of(files[0].path, data.format) or "parquet") == "parquet":
                return [file.path for file in files]
    return []


@dataclass(frozen=True)
class RegisteredStream:
    """A stream of the library: its bare name and its data. `is_declared` if the script declares it."""

    name: str
    data: StreamData
    spark: Frame
    is_declared: bool = False

    @cached_property
    def is_streaming(self) -> bool:
        """Whether its data have no end; files that are read by their path have one."""
        return not self._is_path and bool(self._frame.isStreaming)

    def given(self) -> GivenStream:
        """The stream as the compiler takes it; its columns are looked at only if nobody declares them."""
        data = self.data
        unit = None if data.unit is None else unit_of(data.unit)
        return GivenStream(
            self.name,
            self._tables,
            data.timestamp,
            data.latest,
            data.end,
            data.type,
            unit,
            timestamp_format=data.timestamp_format,
            watermark=None if data.watermark is None else watermark_of(data.watermark),
            event_time=self._event_time,
            then_by=data.then_by,
        )

    def frame(self, stream: Stream) -> Frame:
        """Its DataFrame, with the columns that the bound stream has."""
        with reading(self.name):
            if self._is_path:
                return fitted(self._read(text_columns(stream)), stream)
            return fitted(without_hidden(self._frame), stream)

    @property
    def plain_frame(self) -> Frame:
        """Its DataFrame unchanged, for a query that needs no roles of columns."""
        with reading(self.name):
            return without_hidden(self._frame)

    @property
    def watermarks(self) -> dict[str, int]:
        """The watermarks of its DataFrame: see `watermarks_of`."""
        with reading(self.name):
            return watermarks_of(self._frame) if self.is_streaming else {}

    def _tables(self, _: bool) -> list[Table]:
        table = table_of(self.plain_frame, self.name)
        start = self.data.timestamp or self._event_time or likely_timestamp(table.names)
        if not self.is_declared and start is None:
            raise CallError(
                f"stream {self.name}: which column is the timestamp? Say timestamp=COLUMN in "
                f"neelc.stream(...) or Session.register(...); columns: {', '.join(table.names)}"
            )
        return [table]

    @property
    def _event_time(self) -> str | None:
        """The column that its DataFrame has a watermark on, if that is one."""
        columns = list(self.watermarks)
        return written(columns[0]) if len(columns) == 1 else None

    @property
    def _is_path(self) -> bool:
        data = self.data.data
        is_said = self.data.format is not None or isinstance(self.data, DeclaredPath)
        return isinstance(data, str) and (is_said or is_path(data))

    def parquet_files(self) -> list[Path]:
        """Its files, if it is a path of Parquet files here, whose columns are what they are."""
        return parquet_files(self.data) if self._is_path else []

    @cached_property
    def _frame(self) -> Frame:
        if self._is_path:
            return self._read(None)
        if not isinstance(self.data.data, str):
            return self.data.data
        return self.spark.table(self.data.data)

    def _read(self, columns: Sequence[Column] | None) -> Frame:
        path = str(self.data.data)
        kind = self.data.format or format_of(path) or "parquet"
        return read_path(self.spark, path, kind.lower(), self.data.options, columns, self.name)


DELAY = "spark.watermarkDelayMs"
"""What Spark writes into the metadata of a column that has a watermark."""


TIME_OF = "neelc.timeOf"
"""In the metadata of a column that has the times of another one, as TIMESTAMPs: Spark has watermarks on these
alone. Queries do not see it."""


def watermarks_of(frame: Frame) -> dict[str, int]:
    """The delays of a DataFrame's watermarks, in microseconds, by the columns whose times they are of."""
    watermarked = [one for one in frame.schema.fields if DELAY in one.metadata]
    return {one.metadata.get(TIME_OF, one.name): int(one.metadata[DELAY]) * 1000 for one in watermarked}


def without_hidden(frame: Frame) -> Frame:
    """The DataFrame with the columns that queries see."""
    hidden = [one.name for one in frame.schema.fields if TIME_OF in one.metadata]
    return frame.drop(*hidden) if hidden else frame


def as_data(value: object) -> StreamData:
    """What a caller gives for a stream."""
    return value if isinstance(value, StreamData) else StreamData(given_path(value))


def in_catalog(
    script: Script,
    known: Mapping[str, StreamData],
    look_up: Callable[[str], StreamData | None],
    others: Iterable[str] = (),
) -> Iterator[tuple[str, StreamData]]:
    """The streams that the script names and nobody declares or gives, if they are found by their names;
    `others` are names in its queries of Spark's SQL.

    A stream with a type column explains every type of a pattern: then only FROM is looked at.
    """
    declared = [
        statement.name
        for statement in script.statements
        if isinstance(statement, CreateQuery | CreateStream | CreateType | CreateHierarchy)
    ]
    for name in dict.fromkeys([*stream_names(script, known), *others]):
        if find(name, [*declared, *known]) is None:
            found = look_up(bare(name))
            if found is not None:
                yield bare(name), found


def table_of_spark(spark: Frame, name: str) -> StreamData | None:
    """A table or a view of Spark's catalog."""
    return StreamData(quoted(name)) if spark.catalog.tableExists(quoted(name)) else None


def variable_as_stream(variables: Mapping[str, object], name: str) -> StreamData | None:
    """A variable that holds a table, or a list of dictionaries. What can be read once is none: the next cell
    of a notebook would find it empty.

    >>> variable_as_stream({"Logins": [{"ts": 1}]}, "Logins").data, variable_as_stream({"In": ["1"]}, "In")
    ([{'ts': 1}], None)
    """
    value = variables.get(name)
    if isinstance(value, StreamData):
        return value
    if isinstance(value, list | tuple):
        is_table = bool(value)
    else:
        # Asked of its class: a LazyFrame of polars warns whoever asks it itself.
        is_table = hasattr(type(value), "columns") or hasattr(type(value), "schema")
    if value is None or not is_table or not is_local(value) or hasattr(value, "read_next_batch"):
        return None
    return StreamData(value)


def stream_names(script: Script, known: Mapping[str, StreamData]) -> list[str]:
    """Names, in source form, that stand where streams can stand."""
    names = [name for node in walk(script) if isinstance(node, PatternQuery) for name in node.streams]
    names += [node.name for node in walk(script) if isinstance(node, FromStream)]
    streams = [statement for statement in script.statements if isinstance(statement, CreateStream)]
    if not any(stream.type_by for stream in streams) and not any(data.type for data in known.values()):
        names += [node.type for node in walk(script) if isinstance(node, Event)]
        names += [name for node in script.statements if isinstance(node, CreateType) for name in node.members]
    return list(dict.fromkeys(names))


def quoted(name: str) -> str:
    """The name of a table, whose parts are separated by points.

    >>> quoted("db.my trades")
    '`db`.`my trades`'
    """
    return ".".join(quote(part) for part in name.split("."))


def declared_paths(
    script: Script, known: Mapping[str, StreamData], source: Source
) -> Iterator[tuple[str, StreamData]]:
    """Streams whose paths the script declares. Columns that it does not list come from the engine."""
    for statement in script.statements:
        match statement:
            case CreateStream(name, path=str() as path) if find(name, known) is None:
                options = bare_options({option.key: option.value for option in statement.options})
                kind = bare(statement.format) if statement.format else None
                span = statement.path_span or statement.span or Span(0, 1)
                yield bare(name), DeclaredPath(path, format=kind, options=options, source=source, span=span)
