"""Files as DataFrames, with the values that the reference interpreter would read from them.

Spark's readers differ in three points, which are evened out here: columns of a CSV file are found by the
names in its header, not by their order; a value that does not fit its column's type fails the run, it is not
NULL; and quotes inside quotes are doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from neelc.api.schemas import ddl
from neelc.api.streams import Frame
from neelc.emit.file_values import csv_options, value_of
from neelc.emit.literals import alias
from neelc.ir.logical import Column, Stream
from neelc.ir.names import bare, find, written
from neelc.ir.types import STRING


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


# What Spark's reader of Parquet widens, if it is asked to.
_WIDER = {
    "byte": ("SMALLINT", "INT", "BIGINT", "DOUBLE"),
    "short": ("INT", "BIGINT", "DOUBLE"),
    "integer": ("BIGINT", "DOUBLE"),
    "float": ("DOUBLE",),
}


def _widened(schema: Frame, columns: Sequence[Column]) -> Frame | None:
    """The schema for files of which some have wider numbers than the one that Spark has looked at."""
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
    return [replace(c, type=STRING) if c.name in stream.texts else c for c in stream.columns]


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
    # A column that is missing is told by whoever compares the columns: there it is the same for all formats.
    return texts.selectExpr(
        *(f"{value_of(text, column.type, name)} AS {alias(column.name)}" for column, text in there)
    )


def bare_options(options: Mapping[str, str]) -> dict[str, str]:
    return {bare(key): value for key, value in options.items()}
