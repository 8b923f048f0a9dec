"""The footers of Parquet files: how many rows, and what each column holds. No row is read."""

from __future__ import annotations

import datetime
import importlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from neelc.catalog.data_files import kind_of
from neelc.catalog.inputs import Inputs, location_of, raw_columns, rows_of
from neelc.catalog.location import Location
from neelc.catalog.readers.columnar import NoArrow, UnreadableFile
from neelc.catalog.readers.text import Row
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.names import find, written
from neelc.ir.program import Column, Stream
from neelc.ir.script import Statistic
from neelc.ir.types import DATE, LENGTHS, TIMESTAMP, TIMESTAMP_NTZ
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.operators import is_number

# Nanoseconds in what a raw value of these types of Arrow counts.
_TICKS = {
    "timestamp[s": LENGTHS["SECOND"],
    "timestamp[ms": LENGTHS["MILLISECOND"],
    "timestamp[us": LENGTHS["MICROSECOND"],
    "timestamp[ns": LENGTHS["NANOSECOND"],
    "date32[day": LENGTHS["DAY"],
}
_NUMBERS = ("int", "uint", "halffloat", "float", "double", "decimal")


@dataclass(frozen=True)
class ColumnContent:
    """What a column of a file holds: NULLs, and the least and the greatest of its other values.

    None is "not known", but for the values of a column that has none (`values` 0). Times are in nanoseconds,
    `is_time` then.
    """

    values: int
    nulls: int | None
    least: Decimal | None = None
    greatest: Decimal | None = None
    is_time: bool = False


@dataclass(frozen=True)
class Footer:
    rows: int
    columns: dict[str, ColumnContent]


def read_footer(path: Path, names: Iterable[str]) -> Footer:
    """The footer of one file, as far as columns of these names go; raises `NoArrow` or `UnreadableFile`."""
    required = {name.casefold() for name in names}
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise NoArrow from None
    try:
        metadata = parquet.read_metadata(path)
        # Only columns have their name as their path: what lies in a struct or a list has a longer one.
        types = {field.name: str(field.type) for field in metadata.schema.to_arrow_schema()}
        paths = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        columns = {
            name: joined(_content(group, at, types[name]) for group in groups)
            for at, name in enumerate(paths)
            if name in types and name.casefold() in required
        }
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableFile(str(error)) from None
    return Footer(metadata.num_rows, columns)


def _content(group: Any, at: int, arrow: str) -> ColumnContent:
    """What a column, of a type of Arrow, holds in one group of rows."""
    statistics = group.column(at).statistics
    if statistics is None:
        return ColumnContent(group.num_rows, None)
    nulls = statistics.null_count if statistics.has_null_count else None
    values = group.num_rows - (nulls or 0)
    tick = next((tick for prefix, tick in _TICKS.items() if arrow.startswith(prefix)), None)
    if statistics.has_min_max and tick is not None:
        # Raw: as a datetime, nanoseconds would be cut or refused.
        ends = (Decimal(statistics.min_raw) * tick, Decimal(statistics.max_raw) * tick)
        return ColumnContent(values, nulls, *ends, is_time=True)
    if statistics.has_min_max and arrow.startswith(_NUMBERS):
        return ColumnContent(values, nulls, number(statistics.min), number(statistics.max))
    return ColumnContent(values, nulls)


def number(value: object) -> Decimal | None:
    """The value of a bound, None if it is no number.

    >>> number(1.5), number("a"), number(True), number(float("nan"))
    (Decimal('1.5'), None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return Decimal(str(value)) if math.isfinite(value) else None


def joined(contents: Iterable[ColumnContent]) -> ColumnContent:
    """Several parts of a column as one.

    >>> print(joined([ColumnContent(2, 1, Decimal(3), Decimal(5)), ColumnContent(0, 4)]))
    ColumnContent(values=2, nulls=5, least=Decimal('3'), greatest=Decimal('5'), is_time=False)
    """
    parts = list(contents)
    nulls = [part.nulls for part in parts if part.nulls is not None]
    filled = [part for part in parts if part.values > 0]
    least = [part.least for part in filled if part.least is not None]
    greatest = [part.greatest for part in filled if part.greatest is not None]
    # One part without bounds may go beyond those of all the others.
    is_bounded = len(least) == len(greatest) == len(filled) and len({part.is_time for part in filled}) == 1
    return ColumnContent(
        sum(part.values for part in parts),
        sum(nulls) if len(nulls) == len(parts) else None,
        min(least) if is_bounded else None,
        max(greatest) if is_bounded else None,
        is_bounded and filled[0].is_time,
    )


# Statistics of a stream from the footers of its Parquet files, without Spark and without reading a row.

MAX_FOOTERS = 200
"""A footer takes some milliseconds, so that these take about a second. Of more files than these, some are
read, evenly spread, and the number of rows is extrapolated."""

_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


@dataclass(frozen=True)
class FooterStatistics:
    """What footers say about a stream, and what the reader of these numbers should know."""

    statistics: tuple[Statistic, ...] = ()
    notes: tuple[str, ...] = ()


def metadata_of(inputs: Inputs, stream: Stream) -> FooterStatistics:
    """What the Parquet files of a stream say about it; nothing if its data are of another format."""
    location = location_of(inputs, stream.name)
    if location is None:
        return FooterStatistics()
    files = [path for path in location.files_there() if kind_of(path, location.format) == "parquet"]
    if not files:
        expected = kind_of(location.path, location.format) == "parquet"
        note = f"{stream.name}: no Parquet files to read metadata from: {location.name}"
        return FooterStatistics(notes=(note,) if expected else ())
    return footer_statistics(stream, files)


def footer_statistics(stream: Stream, files: Sequence[Path], most: int = MAX_FOOTERS) -> FooterStatistics:
    """The statistics of a stream whose data are these files."""
    chosen = spread(files, most)
    notes: list[str] = []
    footers: list[Footer] = []
    for path in chosen:
        try:
            footers.append(read_footer(path, [column.name for column in stream.own_columns]))
        except NoArrow:
            note = f"{stream.name}: reading Parquet metadata requires pyarrow: pip install 'neelc[parquet]'"
            return FooterStatistics(notes=(note,))
        except UnreadableFile as error:
            notes.append(f"{stream.name}: {path.name}: its metadata cannot be read: {error}")
    if not footers:
        return FooterStatistics(notes=tuple(notes))
    if len(footers) < len(files):
        share = f"{len(footers)} of {len(files)} Parquet footers"
        notes.append(f"{stream.name}: {share} were read, and the number of events extrapolated")
    factor = Decimal(len(files)) / len(footers)
    rows = sum(footer.rows for footer in footers)
    columns = {column.name: _content_of_files(column, footers) for column in stream.own_columns}
    if rows > 0 and columns[stream.start].least is None:
        notes.append(f"{stream.name}: the Parquet footers do not contain the span of `{stream.start}`")
    return FooterStatistics(tuple(_statistics_of(stream, columns, rows, factor)), tuple(notes))


def spread(files: Sequence[Path], most: int) -> list[Path]:
    """At most `most` of the files, the first and the last among them.

    >>> [path.name for path in spread([Path(str(number)) for number in range(10)], 4)]
    ['0', '3', '6', '9']
    """
    if len(files) <= most:
        return list(files)
    return [files[round(at * (len(files) - 1) / max(1, most - 1))] for at in range(most)]


def _content_of_files(column: Column, footers: Sequence[Footer]) -> ColumnContent:
    found = ((footer, find(column.name, footer.columns)) for footer in footers)
    # Not in the file may mean NULL in all rows, or that the name of the directory holds the value.
    return joined(
        footer.columns[name] if name is not None else ColumnContent(footer.rows, None)
        for footer, name in found
    )


def _statistics_of(
    stream: Stream, columns: dict[str, ColumnContent], rows: int, factor: Decimal
) -> Iterator[Statistic]:
    start = columns[stream.start]
    # A row without a time is not an event.
    events = rows - (start.nulls or 0)
    yield Statistic("EVENTS", (round(events * factor, 0),))
    seconds = _span(stream, start)
    if seconds is not None and seconds > 0:
        yield Statistic("SPAN", (seconds,), unit="SECOND")
    for column in stream.own_columns:
        content = columns[column.name]
        if content.nulls is not None and rows > 0 and column.name != stream.start:
            yield Statistic("NULLS", (Decimal(content.nulls) / rows,), column=column.name)
        if content.least is not None and content.greatest is not None and is_number(column.type):
            yield Statistic("RANGE", (content.least, content.greatest), column=column.name)


def _span(stream: Stream, start: ColumnContent) -> Decimal | None:
    """Seconds from the first event to the last."""
    kind = next((column.type for column in stream.columns if column.name == stream.start), None)
    # What the file calls a time must be one for the script, too.
    if start.least is None or start.greatest is None or start.is_time != (kind in _TIMES):
        return None
    tick = 1 if start.is_time else LENGTHS[stream.unit]
    return (start.greatest - start.least) * tick / LENGTHS["SECOND"]


# Statistics of a stream whose data are small text files: they are read, and what is in them is counted.

MOST_BYTES = 250_000
"""Larger files are not read for their statistics: 500 KB took a third of a second where it was measured."""
MOST_TYPES = 100
"""Of more types than these, the events are not counted one by one."""


def counted_in(inputs: Inputs, stream: Stream) -> tuple[Statistic, ...]:
    """What the CSV or JSON files of a stream say about it, if they are small; nothing if they cannot be read:
    whoever runs the query sees why."""
    location = location_of(inputs, stream.name)
    if location is None or not is_small(location):
        return ()
    try:
        rows = rows_of(inputs, stream.name, raw_columns(stream))
    except (NeelError, CallError, OSError):
        return ()
    return tuple(counted(stream, rows))


def is_small(location: Location) -> bool:
    """Whether all of its files are of text, and small together."""
    try:
        files = location.files_there()
        kinds = {kind_of(path, location.format) for path in files}
        return kinds <= {"csv", "json"} and 0 < sum(path.stat().st_size for path in files) <= MOST_BYTES
    except OSError:
        return False


def counted(stream: Stream, rows: Iterable[Row]) -> Iterator[Statistic]:
    """What the rows of a stream say about it."""
    events = [row for row in rows if row[stream.start] is not None]
    yield Statistic("EVENTS", (Decimal(len(events)),))
    seconds = _span_of_rows(stream, events)
    if seconds > 0:
        yield Statistic("SPAN", (seconds,), unit="SECOND")
    if stream.type_column is not None:
        types = Counter(str(event[stream.type_column]) for event in events)
        for type, count in types.items() if len(types) <= MOST_TYPES else ():
            yield Statistic("EVENTS", (Decimal(count),), type=written(type))
    for column in stream.own_columns:
        values = {repr(event[column.name]) for event in events if event[column.name] is not None}
        if values and column.name != stream.start:
            yield Statistic("DISTINCT", (Decimal(len(values)),), column=column.name)


def _span_of_rows(stream: Stream, events: Sequence[Row]) -> Decimal:
    """Seconds from the first event to the last."""
    times = [time for event in events if (time := event[stream.start]) is not None]
    if not times:
        return Decimal(0)
    first, last = min(times), max(times)  # type: ignore[type-var]
    match first, last:
        case int(), int():
            return Decimal(last - first) * LENGTHS[stream.unit] / LENGTHS["SECOND"]
        case datetime.date(), datetime.date():  # a TIMESTAMP, too
            return Decimal((last - first) / datetime.timedelta(seconds=1))
    return Decimal(0)
