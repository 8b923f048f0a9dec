"""The data of streams as tables of the local engine, with the columns that their streams declare."""

from __future__ import annotations

from collections.abc import Mapping

from neelc.catalog.inputs import Inputs, Location, kind_of, location_of, no_data
from neelc.engines.fitting import fitted_columns
from neelc.engines.local.program import Types
from neelc.engines.local.reading import scanned, size_of
from neelc.engines.local.tables import DataScan, LocalTable
from neelc.engines.spark.compiled import file_read
from neelc.ir.program import Column, Stream
from neelc.scalar.duckdb.pieces import EvaluatedCall, NameScope, quoted
from neelc.scalar.duckdb.spelling import spelled


def local_tables(
    inputs: Inputs,
    streams: Mapping[str, Stream],
    held: Mapping[str, LocalTable],
    calls: dict[str, EvaluatedCall],
    zone: str,
) -> dict[str, LocalTable]:
    """The tables of streams: what callers hold in memory, else the files that the call or the script names.
    `calls` collects the functions that their queries need. Raises `NeelError`."""
    found = {}
    for name, stream in streams.items():
        table = held.get(name)
        if table is None:
            location = location_of(inputs, name)
            if location is None:
                raise no_data(inputs, name)
            table = file_table(location, stream, calls, zone)
        found[name] = fitted_table(table, stream, calls)
    return found


def file_table(location: Location, stream: Stream, calls: dict[str, EvaluatedCall], zone: str) -> LocalTable:
    """The files of a location."""
    if not location.path.exists() and not set(location.name) & set("*?[{"):
        location.fail("NEEL5001", f"no such file: {location.name}")
    location.check_files()
    read = file_read(stream, str(location.path), file_kind(location), location.options)
    scan = scanned(read, calls, zone)
    return LocalTable(scan, scan.types, size_of([str(location.path)]), read)


def file_kind(location: Location) -> str:
    """The format of a file, or of the first file of a directory."""
    kind = kind_of(location.path, location.format)
    if not kind and location.path.is_dir():
        files = sorted(p for p in location.path.iterdir() if p.is_file() and p.name[0] not in "._")
        kind = kind_of(files[0], None) if files else ""
    return kind


def fitted_table(table: LocalTable, stream: Stream, calls: dict[str, EvaluatedCall]) -> LocalTable:
    """The table with the columns of the stream; `NeelError` if one is missing or does not fit."""
    columns = [Column(name, type) for name, type in table.types.items()]
    texts = fitted_columns(columns, stream)
    if texts is None:
        return table
    scope = NameScope({"": table.types}, calls=calls)
    pieces = {name: spelled(text, scope) for text, name in texts}
    items = ", ".join(f"{piece.text} AS {quoted(name)}" for name, piece in pieces.items())
    types: Types = {name: piece.type for name, piece in pieces.items()}
    if isinstance(table.data, DataScan):
        scan = DataScan(
            f"SELECT {items} FROM ({table.data.text})", types, table.data.objects, table.data.functions
        )
    else:
        name = f"neelc_rows_of_{stream.name}"
        scan = DataScan(f"SELECT {items} FROM {quoted(name)}", types, {name: table.data})
    return LocalTable(scan, types, table.size, table.read)
