"""Data in memory as tables of the local engine: Arrow, pandas, polars, DuckDB, and lists of rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from neelc.catalog.readers.columnar import type_of_arrow
from neelc.engines.local.functions import arrow_type
from neelc.engines.local.program import Types
from neelc.engines.local.tables import DataScan, DataSize, LocalTable
from neelc.ir.types import (
    DataType,
)
from neelc.scalar.duckdb.pieces import duck_type, quoted

_TICKS = {"s": "{} * 1000000", "ms": "{} * 1000", "us": "{}", "ns": "{} // 1000"}
"""Microseconds of a duration that counts this unit."""

_numbers = itertools.count()


def is_direct(arrow: pa.DataType) -> bool:
    """Whether DuckDB has the type that is expected of it for a type of Arrow."""
    kinds = pa.types
    if kinds.is_list(arrow) or kinds.is_large_list(arrow):
        return is_direct(arrow.value_type)
    if kinds.is_map(arrow):
        return is_direct(arrow.key_type) and is_direct(arrow.item_type)
    if kinds.is_struct(arrow):
        return all(is_direct(field.type) for field in arrow)
    if kinds.is_timestamp(arrow):
        return bool(arrow.unit == "us")
    if kinds.is_decimal(arrow):
        return bool(kinds.is_decimal128(arrow))
    names = "bool int8 int16 int32 int64 float double string large_string binary large_binary date32[day]"
    return str(arrow) in names.split()


def as_duck(name: str, arrow: pa.DataType, type: DataType) -> str:
    """The text of a column of a type of Arrow, as a value of DuckDB's type for `type`."""
    if pa.types.is_duration(arrow):
        # DuckDB reads a duration in a file as the number that it is.
        return _TICKS[arrow.unit].format(quoted(name))
    return quoted(name) if is_direct(arrow) else f"CAST({quoted(name)} AS {duck_type(type)})"


# What callers give.


class UnreadableData(TypeError):
    """Data in memory that are no table, or one with values that no type of Spark's has."""


def as_local_table(value: Any) -> LocalTable:
    """A table of what a caller has in memory; raises `UnreadableData`.

    >>> {name: str(type) for name, type in as_local_table([{"a": 1, "b": "x"}, {"a": 2}]).types.items()}
    {'a': 'BIGINT', 'b': 'STRING'}
    """
    try:
        return _converted(value)
    except (pa.ArrowException, OverflowError) as error:  # a number may be larger than any integer of Spark
        what = "values of a column have several types, or one that Spark does not have"
        raise UnreadableData(f"{what}: {', '.join(map(str, error.args))}") from None


def _converted(value: Any) -> LocalTable:
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    match value:
        case LocalTable():
            return value
        case pa.Table():
            return _table(value)
        case pa.RecordBatch():
            return _table(pa.Table.from_batches([value]))
        case pa.RecordBatchReader():
            # A reader can be read once, and a plan may read a stream several times.
            return _table(value.read_all())
        case list() | tuple():
            return _table(_of_rows(list(value)))
    if kind in ("pyarrow.FileSystemDataset", "pyarrow.InMemoryDataset", "pyarrow.UnionDataset"):
        return _dataset(value)
    if kind == "pandas.DataFrame":
        return _table(pa.Table.from_pandas(value, preserve_index=False))
    if kind in ("polars.DataFrame", "polars.LazyFrame"):
        frame = value.collect() if kind == "polars.LazyFrame" else value
        return _table(frame.to_arrow())
    if kind in ("_duckdb.DuckDBPyRelation", "duckdb.DuckDBPyRelation"):
        # Its connection is another one than that of the plan.
        return _table(value.to_arrow_table())
    if hasattr(value, "__arrow_c_stream__"):
        return _table(pa.table(value))
    expected = "a table of Arrow, pandas, polars or DuckDB, or a list of dicts"
    raise UnreadableData(f"a stream is {expected}, not a {type(value).__name__}")


def _of_rows(rows: list[Any]) -> pa.Table:
    """A row may lack keys of others."""
    for row in rows:
        if not isinstance(row, Mapping):
            raise UnreadableData(f"a row is a dict, not a {type(row).__name__}")
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def _table(table: pa.Table) -> LocalTable:
    types = _types(table.schema)
    columns = [
        _column(table.column(place), field.type, types[field.name])
        for place, field in enumerate(table.schema)
    ]
    return LocalTable(pa.table(columns, names=table.column_names), types, DataSize(rows=table.num_rows))


def _column(column: pa.ChunkedArray, arrow: pa.DataType, type: DataType) -> pa.ChunkedArray:
    if is_direct(arrow):
        return column
    if pa.types.is_duration(arrow):
        column = column.cast(pa.duration("us"), safe=False)
    # What is finer than microseconds is cut off, as Spark does.
    return column.cast(arrow_type(type), safe=not _has_nanoseconds(arrow))


def _has_nanoseconds(arrow: pa.DataType) -> bool:
    return "[ns" in str(arrow)


def _dataset(dataset: Any) -> LocalTable:
    types = _types(dataset.schema)
    name = f"neelc_given_{next(_numbers)}"
    items = []
    for field in dataset.schema:
        if pa.types.is_float16(field.type) or pa.types.is_duration(field.type):
            raise UnreadableData(f"column `{field.name}`: DuckDB does not scan {field.type} in a dataset")
        items.append(f"{as_duck(field.name, field.type, types[field.name])} AS {quoted(field.name)}")
    text = f"SELECT {', '.join(items)} FROM {quoted(name)}"
    return LocalTable(DataScan(text, types, {name: dataset}), types)


def _types(schema: pa.Schema) -> Types:
    return dict(_typed(schema))


def _typed(schema: pa.Schema) -> Iterator[tuple[str, DataType]]:
    seen: set[str] = set()
    for field in schema:
        if field.name.lower() in seen:
            raise UnreadableData(f"two columns are called `{field.name}`")
        seen.add(field.name.lower())
        type = type_of_arrow(field.type)
        if type is None:
            raise UnreadableData(f"column `{field.name}` is of type {field.type}, which Spark does not have")
        yield field.name, type
