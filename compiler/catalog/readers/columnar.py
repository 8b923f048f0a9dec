"""Parquet, ORC and Arrow files, through pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
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
    "binary": BINARY,
    "large_binary": BINARY,
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
        if kind == "arrow":
            schema, rows = _ipc(reader, path)
        else:
            opened = reader.ParquetFile(path) if kind == "parquet" else reader.ORCFile(path)
            schema = opened.schema_arrow if kind == "parquet" else opened.schema
            rows = opened.read
        table = None if schema_only else _in_microseconds(rows(), pyarrow)
    except (pyarrow.ArrowException, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise UnreadableFile(reason) from None
    data = [] if table is None else [column.to_pylist() for column in table.columns]
    types = [spark_type(field.type) for field in (schema if table is None else table.schema)]
    return ArrowTable(Source(", ".join(schema.names), name), tuple(schema.names), types, data)


_MODULES = {"parquet": "pyarrow.parquet", "orc": "pyarrow.orc", "arrow": "pyarrow.ipc"}
ARROW_STREAM = b"\xff\xff\xff\xff"
"""How a file of Arrow begins that is written as a stream."""


def _ipc(reader: Any, path: Path) -> tuple[Any, Callable[[], Any]]:
    content = path.read_bytes()
    is_stream = content.startswith(ARROW_STREAM)
    opened = reader.open_stream(content) if is_stream else reader.open_file(content)
    return opened.schema, opened.read_all


def _in_microseconds(table: Any, pyarrow: Any) -> Any:
    """Python's datetime, like Spark's TIMESTAMP, ends at microseconds."""
    for index, field in enumerate(table.schema):
        if str(field.type).startswith("timestamp[ns"):
            kind = pyarrow.timestamp("us", tz=field.type.tz)
            table = table.set_column(index, field.name, table.column(index).cast(kind, safe=False))
    return table


def spark_type(arrow: Any) -> DataType:
    """The type as which Spark reads a type of Arrow."""
    name = str(arrow)
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name.startswith("timestamp"):
        return TIMESTAMP_NTZ if arrow.tz is None else TIMESTAMP
    if name.startswith("decimal"):
        return Decimal(arrow.precision, arrow.scale)
    if name.startswith("duration"):
        return DAY_INTERVAL
    if name.startswith("dictionary"):
        return spark_type(arrow.value_type)
    if name.startswith(("list", "large_list", "fixed_size_list")):
        return Array(spark_type(arrow.value_type))
    if name.startswith("map"):
        return Map(spark_type(arrow.key_type), spark_type(arrow.item_type))
    if name.startswith("struct"):
        return Struct(tuple(StructField(written(f.name), spark_type(f.type)) for f in arrow))
    return STRING
