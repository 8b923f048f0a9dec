"""Statistics of a stream from the footers of its Parquet files, without Spark and without reading a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from neelc.bind.coercion import is_number
from neelc.data.inputs import Inputs, location_of
from neelc.data.location import kind_of
from neelc.data.parquet import NoArrow, Unreadable
from neelc.data.parquet_footers import Content, Footer, files_below, joined, read_footer
from neelc.ir.logical import Column, Stream
from neelc.ir.names import find
from neelc.ir.statistics import Statistic
from neelc.ir.types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from neelc.ir.units import LENGTHS

MAX_FOOTERS = 200
"""A footer takes some milliseconds, so that these take about a second. Of more files than these, some are
read, evenly spread, and the number of rows is extrapolated."""

_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


@dataclass(frozen=True)
class Found:
    """What footers say about a stream, and what the reader of these numbers should know."""

    said: tuple[Statistic, ...] = ()
    notes: tuple[str, ...] = ()


def metadata_of(inputs: Inputs, stream: Stream) -> Found:
    """What the Parquet files of a stream say about it; nothing if its data are of another format."""
    location = location_of(inputs, stream.name)
    if location is None:
        return Found()
    files = [path for path in files_below(location.path) if kind_of(path, location.format) == "parquet"]
    if not files:
        expected = kind_of(location.path, location.format) == "parquet"
        note = f"{stream.name}: no Parquet files to read metadata from: {location.name}"
        return Found(notes=(note,) if expected else ())
    return footer_statistics(stream, files)


def footer_statistics(stream: Stream, files: Sequence[Path], most: int = MAX_FOOTERS) -> Found:
    """The statistics of a stream whose data are these files."""
    chosen = spread(files, most)
    notes: list[str] = []
    footers: list[Footer] = []
    for path in chosen:
        try:
            footers.append(read_footer(path, [column.name for column in stream.columns]))
        except NoArrow:
            note = f"{stream.name}: reading Parquet metadata requires pyarrow: pip install 'neelc[parquet]'"
            return Found(notes=(note,))
        except Unreadable as error:
            notes.append(f"{stream.name}: {path.name}: its metadata cannot be read: {error}")
    if not footers:
        return Found(notes=tuple(notes))
    if len(footers) < len(files):
        told = f"{len(footers)} of {len(files)} Parquet footers"
        notes.append(f"{stream.name}: {told} were read, and the number of events extrapolated")
    factor = Decimal(len(files)) / len(footers)
    rows = sum(footer.rows for footer in footers)
    columns = {column.name: _content(column, footers) for column in stream.columns}
    if rows > 0 and columns[stream.start].least is None:
        notes.append(f"{stream.name}: the Parquet footers do not tell the span of `{stream.start}`")
    return Found(tuple(_said(stream, columns, rows, factor)), tuple(notes))


def spread(files: Sequence[Path], most: int) -> list[Path]:
    """At most `most` of the files, the first and the last among them.

    >>> [path.name for path in spread([Path(str(number)) for number in range(10)], 4)]
    ['0', '3', '6', '9']
    """
    if len(files) <= most:
        return list(files)
    return [files[round(at * (len(files) - 1) / max(1, most - 1))] for at in range(most)]


def _content(column: Column, footers: Sequence[Footer]) -> Content:
    found = ((footer, find(column.name, footer.columns)) for footer in footers)
    # Not in the file may mean NULL in all rows, or that the name of the directory holds the value.
    return joined(
        footer.columns[name] if name is not None else Content(footer.rows, None) for footer, name in found
    )


def _said(stream: Stream, columns: dict[str, Content], rows: int, factor: Decimal) -> Iterator[Statistic]:
    start = columns[stream.start]
    # A row without a time is not an event.
    events = rows - (start.nulls or 0)
    yield Statistic("EVENTS", (round(events * factor, 0),))
    seconds = _span(stream, start)
    if seconds is not None and seconds > 0:
        yield Statistic("SPAN", (seconds,), unit="SECOND")
    for column in stream.columns:
        content = columns[column.name]
        if content.nulls is not None and rows > 0 and column.name != stream.start:
            yield Statistic("NULLS", (Decimal(content.nulls) / rows,), column=column.name)
        if content.least is not None and content.greatest is not None and is_number(column.type):
            yield Statistic("RANGE", (content.least, content.greatest), column=column.name)


def _span(stream: Stream, start: Content) -> Decimal | None:
    """Seconds from the first event to the last."""
    kind = next((column.type for column in stream.columns if column.name == stream.start), None)
    # What the file calls a time must be one for the script, too.
    if start.least is None or start.greatest is None or start.is_time != (kind in _TIMES):
        return None
    tick = 1 if start.is_time else LENGTHS[stream.unit]
    return (start.greatest - start.least) * tick / LENGTHS["SECOND"]
