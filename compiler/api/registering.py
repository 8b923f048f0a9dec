"""The streams of a call: those given, and those found in Spark's catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from neelc.api.errors import NeelQueryError, reading
from neelc.api.fitting import fitted, table_of
from neelc.api.reading import bare_options, read_path, text_columns
from neelc.api.streams import Frame, StreamData, format_of, is_path
from neelc.data.infer import likely_timestamp
from neelc.data.inputs import Given, unit_of
from neelc.data.parquet_footers import files_below
from neelc.data.table import Table
from neelc.errors import Diagnostic
from neelc.files import CallError
from neelc.ir.logical import Column, Stream
from neelc.ir.names import bare, find, quote
from neelc.ir.node import walk
from neelc.ir.pattern import Event
from neelc.ir.script import CreateQuery, CreateStream, CreateType, FromStream, PatternQuery, Script
from neelc.source import Source, Span


@dataclass(frozen=True)
class Registered:
    """A stream of the library: its bare name and its data. `is_declared` if the script declares it."""

    name: str
    data: StreamData
    spark: Frame
    is_declared: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.data.data, str):
            refuse_endless(self.data.data, self.name)

    def given(self) -> Given:
        """The stream as the compiler takes it; its columns are looked at only if nobody declares them."""
        data = self.data
        unit = None if data.unit is None else unit_of(data.unit)
        return Given(
            self.name,
            self._tables,
            data.timestamp,
            data.latest,
            data.end,
            data.type,
            unit,
            timestamp_format=data.timestamp_format,
        )

    def frame(self, stream: Stream) -> Frame:
        """Its DataFrame, with the columns that the bound stream has."""
        with reading(self.name):
            return fitted(self._read(text_columns(stream)) if self._is_path else self._frame, stream)

    @property
    def plain_frame(self) -> Frame:
        """Its DataFrame as it is, for a query that asks for no role of a column."""
        with reading(self.name):
            return self._frame

    def _tables(self, _: bool) -> list[Table]:
        with reading(self.name):
            table = table_of(self._frame, self.name)
        if not self.is_declared and self.data.timestamp is None and likely_timestamp(table.names) is None:
            raise CallError(
                f"stream {self.name}: which column is the timestamp? Say timestamp=COLUMN in "
                f"neelc.stream(...) or Session.register(...); columns: {', '.join(table.names)}"
            )
        return [table]

    @property
    def _is_path(self) -> bool:
        data = self.data.data
        return isinstance(data, str) and (self.data.format is not None or is_path(data))

    def parquet_files(self) -> list[Path]:
        """Its files, if it is a path of Parquet files here, whose columns are what they are."""
        path = Path(str(self.data.data)) if self._is_path else None
        kind = None if path is None else self.data.format or format_of(str(path)) or "parquet"
        if path is None or kind != "parquet" or "://" in str(self.data.data) or not path.exists():
            return []
        return list(files_below(path))

    @cached_property
    def _frame(self) -> Frame:
        if self._is_path:
            return self._read(None)
        if not isinstance(self.data.data, str):
            return self.data.data
        table = self.spark.table(self.data.data)
        refuse_endless(table, self.name)
        return table

    def _read(self, columns: Sequence[Column] | None) -> Frame:
        path = str(self.data.data)
        kind = self.data.format or format_of(path) or "parquet"
        return read_path(self.spark, path, kind.lower(), self.data.options, columns, self.name)


def refuse_endless(frame: Frame, name: str | None) -> None:
    """Raises `NeelQueryError` if a DataFrame is streaming: Spark would tell it late, and in other words."""
    if not frame.isStreaming:
        return
    text = Source(", ".join(frame.columns), "query" if name is None else f"stream {name}")
    what = "the query reads" if name is None else f"stream `{name}` is"
    ways = "read it with spark.read; or query each micro-batch alone, in a function for .foreachBatch"
    found = Diagnostic(
        "NEEL4130",
        f"{what} a streaming DataFrame: neelc queries bounded data only",
        Span(0, len(text.text)),
        f"{ways}: matches that span two batches are not found then",
    )
    raise NeelQueryError([found], text)


def as_data(value: object) -> StreamData:
    """What a caller gives for a stream."""
    return value if isinstance(value, StreamData) else StreamData(value)


def in_catalog(
    script: Script, known: Mapping[str, StreamData], spark: Frame
) -> Iterator[tuple[str, StreamData]]:
    """The tables and views of Spark's catalog that the script names and nobody declares or gives.

    A stream with a type column explains every type of a pattern: then only FROM is looked at.
    """
    declared = [
        statement.name
        for statement in script.statements
        if isinstance(statement, CreateQuery | CreateStream | CreateType)
    ]
    for name in wanted(script, known):
        if find(name, [*declared, *known]) is None and spark.catalog.tableExists(quoted(bare(name))):
            yield bare(name), StreamData(quoted(bare(name)))


def wanted(script: Script, known: Mapping[str, StreamData]) -> list[str]:
    """Names, in source form, that stand where streams can stand."""
    names = [name for node in walk(script) if isinstance(node, PatternQuery) for name in node.streams]
    names += [node.name for node in walk(script) if isinstance(node, FromStream)]
    streams = [statement for statement in script.statements if isinstance(statement, CreateStream)]
    if not any(stream.type_by for stream in streams) and not any(data.type for data in known.values()):
        names += [node.type for node in walk(script) if isinstance(node, Event)]
        names += [name for node in script.statements if isinstance(node, CreateType) for name in node.members]
    return list(dict.fromkeys(names))


def quoted(name: str) -> str:
    """The name of a table, of which a point separates the parts.

    >>> quoted("db.my trades")
    '`db`.`my trades`'
    """
    return ".".join(quote(part) for part in name.split("."))


def declared_paths(script: Script, known: Mapping[str, StreamData]) -> Iterator[tuple[str, StreamData]]:
    """Streams of which the script says where their data are. Columns that it does not list, Spark tells."""
    for statement in script.statements:
        match statement:
            case CreateStream(name, path=str() as path) if find(name, known) is None:
                options = bare_options({option.key: option.value for option in statement.options})
                kind = bare(statement.format) if statement.format else format_of(path) or "parquet"
                yield bare(name), StreamData(path, format=kind, options=options)
