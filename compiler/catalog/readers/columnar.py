"""Parquet, ORC and Arrow files, through pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from neelc.catalog.readers.text import MismatchedCell, Table, from_value, shortened
from neelc.ir.names import written
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span

_SIMPLE: dict[str, DataType] = {
    "bool": BOOLEAN,
    "int8": TINYINT,
    "int16": SMALLINT,
    "int32": INT,
    "int64": BIGINT,
    "uint8": SMALLINT,
    "uint16": INT,
    "uint32": BIGINT,
    "uint64": Decimal(20, 0),
    "halffloat": FLOAT,
    "float": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "large_string": STRING,
    "string_view": STRING,
    "binary": BINARY,
    "large_binary": BINARY,
    "binary_view": BINARY,
    "date32[day]": DATE,
    "date64[ms]": DATE,
    "null": VOID,
}


class NoArrow(Exception):
    """pyarrow is not installed."""


class UnreadableFile(Exception):
    """pyarrow cannot read the file."""


@dataclass(frozen=True)
class ArrowTable(Table):
    """A table of pyarrow. It has no text: its names stand for its first line."""

    source: Source
    names: Sequence[str]
    types: Sequence[DataType]
    data: Sequence[Sequence[object]]

    def __len__(self) -> int:
        return len(self.data[0]) if self.data else 0

    def raw(self, row: int, column: int) -> object | None:
        return self.data[column][row]

    def place(self, row: int, column: int) -> Span:
        return Span(0, 1)

    def value(self, raw: object, type: DataType) -> object:
        return from_value(raw, type)

    def inferred(self, column: int) -> DataType:
        return self.types[column]

    def excerpt(self, misfits: Sequence[MismatchedCell]) -> tuple[Source, list[Span]]:
        """A text with a line for each row, empty but for the misfits: line numbers are row numbers."""
        lines = [""] * (max(misfit.row for misfit in misfits) + 1)
        for row, at, _ in misfits:
            lines[row] += f"{'; ' if lines[row] else ''}{self.names[at]} = {shortened(self.raw(row, at))}"
        text = "\n".join(lines)
        starts = [sum(len(line) + 1 for line in lines[: misfit.row]) for misfit in misfits]
        places = [
            text.index(f"{self.names[m.at]} = ", start) for m, start in zip(misfits, starts, strict=True)
        ]
        return Source(text, self.source.name), [
            Span(at, at + len(self.names[m.at])) for m, at in zip(misfits, places, strict=True)
        ]


def read_columns(path: Path, name: str, kind: str, schema_only: bool = False) -> ArrowTable:
    """The table of a file of this kind, or only its columns."""
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        reader: Any = importlib.import_module(_MODULES[kind])
    except ImportError:
        raise NoArrow from None
    try:
        opened: Any = None
        if kind == "arrow":
            schema, rows = _ipc(reader, path)
        else:
            opened = reader.ParquetFile(path) if kind == "parquet" else reader.ORCFile(path)
            schema = opened.schema_arrow if kind == "parquet" else opened.schema
            rows = opened.read
        instants = instants_of(opened) if kind == "parquet" else set()
        table = None if schema_only else _in_microseconds(rows(), instants, pyarrow)
    except (pyarrow.ArrowException, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise UnreadableFile(reason) from None
    types = {
        field.name: TIMESTAMP if field.name in instants else found
        for field in (schema if table is None else table.schema)
        if (found := type_of_arrow(field.type)) is not None
    }
    data = [] if table is None else [table.column(name).to_pylist() for name in types]
    return ArrowTable(Source(", ".join(types), name), tuple(types), tuple(types.values()), data)


def instants_of(file: Any) -> set[str]:
    """The columns of a Parquet file that are instants although pyarrow gives them no time zone: INT96."""
    leaves = (file.schema.column(at) for at in range(len(file.schema)))
    return {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}


_MODULES = {"parquet": "pyarrow.parquet", "orc": "pyarrow.orc", "arrow": "pyarrow.ipc"}
ARROW_STREAM = b"\xff\xff\xff\xff"
"""How a file of Arrow begins that is written as a stream."""


def _ipc(reader: Any, path: Path) -> tuple[Any, Callable[[], Any]]:
    content = path.read_bytes()
    is_stream = content.startswith(ARROW_STREAM)
    opened = reader.open_stream(content) if is_stream else reader.open_file(content)
    return opened.schema, opened.read_all


def _in_microseconds(table: Any, instants: Collection[str], pyarrow: Any) -> Any:
    """Python's datetime, like Spark's TIMESTAMP, ends at microseconds."""
    for index, field in enumerate(table.schema):
        if str(field.type).startswith("timestamp[ns"):
            kind = pyarrow.timestamp("us", tz="UTC" if field.name in instants else field.type.tz)
            table = table.set_column(index, field.name, table.column(index).cast(kind, safe=False))
    return table


def type_of_arrow(arrow: Any) -> DataType | None:
    """The type as which Spark has the values of a type of Arrow; None if it has none.

    >>> import pyarrow as pa
    >>> print(type_of_arrow(pa.list_(pa.uint32())), type_of_arrow(pa.time64("us")))
    ARRAY<BIGINT> None
    """
    kinds = importlib.import_module("pyarrow").types
    if str(arrow) in _SIMPLE:
        return _SIMPLE[str(arrow)]
    if kinds.is_timestamp(arrow):
        return TIMESTAMP_NTZ if arrow.tz is None else TIMESTAMP
    if kinds.is_decimal(arrow):
        fits = 1 <= arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision
        return Decimal(arrow.precision, arrow.scale) if fits else None
    if kinds.is_duration(arrow):
        return DAY_INTERVAL
    if kinds.is_fixed_size_binary(arrow):
        return BINARY
    if kinds.is_dictionary(arrow):
        return type_of_arrow(arrow.value_type)
    if kinds.is_list(arrow) or kinds.is_large_list(arrow) or kinds.is_fixed_size_list(arrow):
        element = type_of_arrow(arrow.value_type)
        return None if element is None else Array(element)
    if kinds.is_map(arrow):
        key, value = type_of_arrow(arrow.key_type), type_of_arrow(arrow.item_type)
        return None if key is None or value is None else Map(key, value)
    if kinds.is_struct(arrow):
        return _struct(list(arrow))
    return None


def _struct(fields: list[Any]) -> Struct | None:
    typed = [(field.name, type_of_arrow(field.type)) for field in fields]
    names = {name.lower() for name, _ in typed}
    if len(names) < len(typed) or not typed:
        return None  # DuckDB has no such struct
    found = [StructField(written(name), type) for name, type in typed if type is not None]
    return Struct(tuple(found)) if len(found) == len(typed) else None
