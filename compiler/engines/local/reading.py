"""Files as queries of DuckDB: what a `Read` of a plan reads.

DuckDB scans them as it needs them, so that only columns and rows that a plan uses are read. CSV and JSON
files have the rows that the reference interpreter reads from them; Parquet, ORC and Arrow files have the
types that Spark has for theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from neelc.catalog.data_files import (
    FORMATS,
    DataFile,
    as_pattern,
    data_files,
    format_of,
    partition_types,
    refusal,
)
from neelc.catalog.readers.columnar import ARROW_STREAM, instants_of, type_of_arrow
from neelc.catalog.readers.text import common_type, read_csv, read_json
from neelc.engines.local.csv_files import check_harmless, chunks_of, csv_format, csv_scan, whole_source
from neelc.engines.local.given import as_duck
from neelc.engines.local.json_files import check_json, json_scan
from neelc.engines.local.pool import LocalWorkerFailure
from neelc.engines.local.program import Types
from neelc.engines.local.tables import DataScan, DataSize, LocalTable
from neelc.engines.spark.relations import Read
from neelc.errors import CATALOGUE, NeelError
from neelc.ir.program import Column
from neelc.ir.types import TIMESTAMP, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import (
    EvaluatedCall,
    NameScope,
    UnspelledOperation,
    duck_type,
    quoted,
    text_literal,
)
from neelc.scalar.duckdb.spelling import spelled, spelled_schema
from neelc.scalar.operators import is_number

_HARMLESS: dict[str, tuple[str, ...]] = {
    "mergeschema": ("false",),
    "recursivefilelookup": ("false",),
    "mode": ("failfast",),
}


def scanned(
    read: Read,
    calls: dict[str, EvaluatedCall],
    zone: str = "UTC",
    files: Sequence[DataFile] | None = None,
) -> DataScan:
    """The query that reads the files of a `Read`; `files`, if they are found already. `calls` collects what
    the runtime computes for it; texts without a time zone are read in `zone`. Raises `NeelError` if the files
    cannot be read."""
    if read.is_streaming:
        raise UnspelledOperation(f"stream `{read.stream}` without end")
    if read.path is None:
        raise refusal("NEEL5005", f"stream `{read.stream}` has no data")
    files = files or data_files(read.path)
    kind = kind_read(read, files)
    options = dict(read.options)
    if kind == "csv":
        return _with_items(csv_scan(files, csv_format(options), _names(read)), read, calls, zone)
    if kind == "json":
        return json_scan(files, options, spelled_schema(read.schema), read.stream, calls, zone)
    check_harmless(options, _HARMLESS, kind)
    return columnar_scan(files, kind)


def kind_read(read: Read, files: Sequence[DataFile]) -> str:
    """The format of files: what the plan says, or what they are; Parquet, if neither says it."""
    kind = format_of(files[0], read.format) or files[0].ending.removeprefix(".") or "parquet"
    if kind not in FORMATS:
        message = f"`{kind}` is not a format that the local engine reads"
        raise refusal("NEEL5006", message, f"formats: {', '.join(FORMATS)}")
    for file in files:
        file.check_compression()
    return kind


def reader_options(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    """Options of Spark's for texts, as the reference's reader has them; raises `NeelError`."""
    if kind == "json":
        check_json(options)
        return {}
    format = csv_format(options)
    found = {**format.options, "encoding": format.encoding}
    if not has_delimiter(options):
        del found["delimiter"]  # the ending of a file may say it
    return found


def has_delimiter(options: Mapping[str, str]) -> bool:
    """Whether options say what separates the fields of CSV files; else the endings of files may."""
    return not {"sep", "delimiter"}.isdisjoint(map(str.casefold, options))


def _names(read: Read) -> list[str] | None:
    return [name for _, name in read.items] or None


def _with_items(scan: DataScan, read: Read, calls: dict[str, EvaluatedCall], zone: str) -> DataScan:
    """The columns of a stream, made out of texts."""
    if not read.items:
        return scan
    scope = NameScope({"": scan.types}, calls=calls, zone=zone)
    pieces = {name: spelled(text, scope) for text, name in read.items}
    columns = ", ".join(f"{piece.text} AS {quoted(name)}" for name, piece in pieces.items())
    types = {name: piece.type for name, piece in pieces.items()}
    return DataScan(f"SELECT {columns} FROM ({scan.text})", types, scan.objects, scan.functions)


# Parquet, ORC and Arrow: files have types of their own.


@dataclass(frozen=True)
class _FileColumn:
    """A column as a file has it, and the type that Spark gives it. `is_instant`: DuckDB has a time without
    a zone, in UTC."""

    name: str
    arrow: pa.DataType
    type: DataType
    is_instant: bool = False

    @property
    def text(self) -> str:
        if self.is_instant:
            return f"({quoted(self.name)} AT TIME ZONE 'UTC')"
        return as_duck(self.name, self.arrow, self.type)


_Schema = tuple[_FileColumn, ...]


def columnar_scan(files: Sequence[DataFile], kind: str) -> DataScan:
    """The columns of the first file, by name; NULL where another file lacks one, as on Spark. A number may
    be wider in some files."""
    groups: dict[tuple[object, _Schema], list[DataFile]] = {}
    for file in files:
        groups.setdefault((file.partition, _schema(file, kind)), []).append(file)
    partitions = partition_types(files)
    types = {**_common({s: group[0] for (_, s), group in groups.items()}, partitions), **partitions}
    objects: dict[str, Any] = {}
    selects = []
    for (_, schema), group in groups.items():
        source, own = _source_of(group, kind)
        objects |= own
        partition = dict(group[0].partition)
        known = {column.name.casefold(): column for column in schema}
        items = []
        for name, type in types.items():
            text = _value(name, type, partition, known.get(name.casefold()))
            items.append(f"{text} AS {quoted(name)}")
        selects.append(f"SELECT {', '.join(items)} FROM {source}")
    return DataScan(" UNION ALL ".join(selects), types, objects)


def _value(name: str, type: DataType, partition: Mapping[str, str | None], column: _FileColumn | None) -> str:
    if name in partition:
        value = partition[name]
        return f"CAST({'NULL' if value is None else text_literal(value)} AS {duck_type(type)})"
    if column is None:
        return f"CAST(NULL AS {duck_type(type)})"
    return column.text if column.type == type else f"CAST({column.text} AS {duck_type(type)})"


def _common(schemas: Mapping[_Schema, DataFile], partitions: Types) -> dict[str, DataType]:
    first, *others = schemas
    types = {column.name: column.type for column in first if column.name not in partitions}
    names = {name.casefold(): name for name in types}
    for schema in others:
        for column in schema:
            name = names.get(column.name.casefold())
            if name is None or types[name] == column.type:
                continue
            if not (is_number(types[name]) and is_number(column.type)):
                place = f"{schemas[schema].name}: column `{column.name}`"
                raise refusal("NEEL5003", f"{place} is of type {column.type}, in other files {types[name]}")
            types[name] = common_type(types[name], column.type)
    return types


def _schema(file: DataFile, kind: str) -> _Schema:
    """The columns of a file. Those of a type that neelc does not know are left out."""
    instants: set[str] = set()
    try:
        if kind == "parquet":
            from pyarrow.parquet import ParquetFile  # only where there are such files: it loads much

            with ParquetFile(file.path) as opened:
                schema = opened.schema_arrow
                instants = instants_of(opened)
        else:
            schema = _opened([file], kind).schema
    except (pa.ArrowException, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise unreadable_file(file, kind, reason) from None
    columns = []
    for field in schema:
        found = type_of_arrow(field.type)
        is_instant = field.name in instants
        if found is not None and not (kind != "parquet" and pa.types.is_float16(field.type)):
            columns.append(
                _FileColumn(field.name, field.type, TIMESTAMP if is_instant else found, is_instant)
            )
    return tuple(columns)


def _opened(files: Sequence[DataFile], kind: str) -> Any:
    """Files as a dataset of Arrow, or a table where it is written as a stream."""
    if kind == "arrow" and next(chunks_of(files[0], 8), b"").startswith(ARROW_STREAM):
        tables = []
        for file in files:
            with pa.memory_map(str(file.path)) as source, pa.ipc.open_stream(source) as reader:
                tables.append(reader.read_all())
        return pa.concat_tables(tables)
    paths = [str(file.path) for file in files]
    from pyarrow.dataset import dataset  # which loads pandas, too

    return dataset(paths, format="ipc" if kind == "arrow" else kind)


def _source_of(files: Sequence[DataFile], kind: str) -> tuple[str, dict[str, Any]]:
    """What a query reads files of one schema from, and the object that has this name."""
    if kind == "parquet":
        paths = ", ".join(text_literal(as_pattern(file.path)) for file in files)
        return f"read_parquet([{paths}], hive_partitioning = false)", {}
    dataset = _opened(files, kind)
    name = f"neelc_files_{id(dataset)}"
    return quoted(name), {name: dataset}


# What went wrong, in words.

MOST_EXPLAINED = 64 * 2**20
"""Bytes of text files that are read once more to find the place of what does not fit."""

_REFUSAL = re.compile(r"\b(NEEL5\d{3}): (.*)")
_REASONS = (
    (r"Expected Number of Columns: (\d+) Found: (\d+)", "NEEL5004", "{1} fields where {0} are expected"),
    (r"unterminated quote", "NEEL5004", "a quote is not closed"),
    (r"not utf-8 encoded|Invalid unicode", "NEEL5001", "not UTF-8 text"),
    (r"Maximum line size of (\d+) bytes exceeded", "NEEL5004", "a record of more than {0} bytes"),
    (r"maximum_object_size", "NEEL5004", "a line is too long"),
    (r"state machine reached an invalid state", "NEEL5004", "not CSV that can be read"),
)


_DAMAGED = ("Error", "IOException", "SerializationException", "InternalException")
"""What DuckDB raises over bytes of a columnar file that it cannot take apart."""


def read_failure(table: LocalTable, error: Exception, zone: str = "UTC") -> NeelError | None:
    """What is wrong with the files of a table if a query of DuckDB that reads them has failed, here or in
    another process: as the reference says it, with the place, if they are small texts. None if that was not
    their fault."""
    read = table.read
    if read is None or not isinstance(error, duckdb.Error | LocalWorkerFailure):
        return None
    found = _refused(read, error) or _damage(table, read, error) or _unreadable(read, error)
    if found is None:
        return None
    found = _in_place(table, read, zone) or found
    return found if table.location is None else table.location.place(found)


def _refused(read: Read, error: Exception) -> NeelError | None:
    """What is wrong with a text."""
    found = _REFUSAL.search(str(error))
    if found and found[1] in CATALOGUE:
        return refusal(found[1], found[2].strip())
    for form, code, message in _REASONS:
        if reason := re.search(form, str(error)):
            return refusal(code, f"stream `{read.stream}`: {message.format(*reason.groups())}")
    return None


def _damage(table: LocalTable, read: Read, error: Exception) -> NeelError | None:
    """Which Parquet file is damaged: each is read once more. DuckDB does not always say it."""
    kind = str(error).partition(":")[0] if isinstance(error, LocalWorkerFailure) else type(error).__name__
    if kind not in _DAMAGED and "Failed to read file" not in str(error):
        return None
    with suppress(NeelError):
        files = _files_of(table, read)
        if kind_read(read, files) == "parquet":
            return next(filter(None, map(_damage_of, files)), None)
    return None


def _damage_of(file: DataFile) -> NeelError | None:
    source = f"read_parquet({text_literal(as_pattern(file.path))}, hive_partitioning = false)"
    try:
        with duckdb.connect() as connection:
            connection.execute(f"SELECT max(hash(one)) FROM {source} AS one").fetchall()
    except duckdb.Error as error:
        reason = re.sub(r'^Failed to read file ".*?": ', "", _first_line(str(error)))
        return unreadable_file(file, "parquet", reason.rstrip(": "))
    return None


def unreadable_file(file: DataFile, kind: str, reason: str) -> NeelError:
    """What is said of a columnar file that is none, or is damaged."""
    article = {"parquet": "a Parquet file", "orc": "an ORC file", "arrow": "an Arrow file"}[kind]
    return refusal("NEEL5001", f"{file.name}: not {article} that can be read: {reason}")


def _unreadable(read: Read, error: Exception) -> NeelError | None:
    text = str(error)
    is_io = isinstance(error, duckdb.IOException) or text.startswith("IOException:")
    if is_io or re.search(r"parquet|read_csv|JSON in file", text, re.I):
        return refusal("NEEL5001", f"stream `{read.stream}`: cannot be read: {_first_line(text)}")
    return None


def _first_line(text: str) -> str:
    return re.sub(r"^(?:\w+: )?[A-Z]\w+(?: \w+)* Error: ", "", text.strip()).splitlines()[0]


def _files_of(table: LocalTable, read: Read) -> list[DataFile]:
    return data_files(read.path or "") if table.location is None else table.location.files()


def _in_place(table: LocalTable, read: Read, zone: str) -> NeelError | None:
    """What the reference's reader says about small text files."""
    with suppress(NeelError):
        files = _files_of(table, read)
        kind = kind_read(read, files)
        is_small = size_of(files).bytes <= MOST_EXPLAINED
        if kind not in ("csv", "json") or not is_small or files[0].partition:
            return None
        format = csv_format(dict(read.options) if kind == "csv" else {})
        columns = [Column(name, type) for name, type in table.types.items()]
        try:
            with in_zone(zone):
                for file in files:
                    source = whole_source(file, format)
                    found = read_csv(source, format.options) if kind == "csv" else read_json(source, {})
                    found.rows(columns)
        except NeelError as error:
            return error
    return None


# How much there is, for the choice of an engine.


def size_of(files: Sequence[DataFile]) -> DataSize:
    """The size of files. What cannot be read counts for nothing: whoever reads it says why."""
    there = [file for file in files if file.path.is_file()]
    rows: int | None = 0
    for file in there:
        own = _rows(file.path) if rows is not None else None
        rows = None if own is None or rows is None else rows + own
    return DataSize(len(there), sum(file.path.stat().st_size for file in there), rows if there else None)


def _rows(path: Path) -> int | None:
    with suppress(pa.ArrowException, OSError):
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return None
        from pyarrow.parquet import read_metadata

        return int(read_metadata(path).num_rows)
    return None
