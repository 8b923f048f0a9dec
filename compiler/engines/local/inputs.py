"""The data of streams as tables of the local engine, with the columns that their streams declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from neelc.catalog.inputs import Inputs, location_of, no_data
from neelc.catalog.location import Location
from neelc.engines.fitting import fitted_columns
from neelc.engines.local.program import Types
from neelc.engines.local.reading import has_delimiter, scanned, size_of
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
    files = location.files()
    with location.placed():
        kind, options = location.kind(files[0]), dict(location.options)
        if kind == "csv" and files[0].ending == ".tsv" and not has_delimiter(options):
            options["sep"] = "\t"
        read = file_read(stream, str(location.path), kind, options)
        scan = scanned(read, calls, zone, files)
    return LocalTable(scan, scan.types, size_of(files), read, location)


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
    return replace(table, data=scan, types=types)
