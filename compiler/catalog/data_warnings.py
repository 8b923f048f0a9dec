"""Integer times without a declared unit: they are read as milliseconds, and may well be something else."""

from __future__ import annotations

import datetime
import difflib
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from neelc.catalog.data_files import kind_of
from neelc.catalog.inputs import Inputs, declared_unit, location_of, rows_of
from neelc.catalog.location import Location
from neelc.catalog.readers.columnar import NoArrow, UnreadableFile
from neelc.catalog.readers.text import Row
from neelc.catalog.statistics.parquet import is_small, read_footer
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.bound_rows import HostQuery
from neelc.ir.names import bare, is_quoted, written
from neelc.ir.program import Program, Stream
from neelc.ir.types import BIGINT, INT, LENGTHS
from neelc.runtime.late_dataclass import dataclass

PEEKED = 64 * 1024
"""How many bytes of a text file are looked at."""

_DIGITS = {10: "SECOND", 16: "MICROSECOND", 19: "NANOSECOND"}
_SHORT = {"SECOND": "s", "MICROSECOND": "us", "NANOSECOND": "ns"}
_EPOCH = datetime.datetime(1970, 1, 1)

Tables = Mapping[str, Sequence[Row]]


def likely_unit(low: int, high: int) -> str | None:
    """The unit, other than milliseconds, in which both times lie between the years 2001 and 2286.

    >>> likely_unit(1_700_000_000, 1_700_009_999), likely_unit(1_700_000_000_000, 1_700_000_000_001)
    ('SECOND', None)
    >>> likely_unit(1_700_000_000_000_000, 1_800_000_000_000_000), likely_unit(0, 1_700_000_000)
    ('MICROSECOND', None)
    """
    digits = len(str(low))
    return _DIGITS.get(digits) if low > 0 and len(str(high)) == digits else None


def unit_notes(inputs: Inputs, program: Program, tables: Tables | None = None) -> Iterator[str]:
    """What a person should know about the times of streams: as they are in `tables`, or else in files, as far
    as far as it is known without reading them."""
    queries = (named.query for named in program.queries if not isinstance(named.query, HostQuery))
    used = {stream.name: stream for query in queries for stream in query.streams}
    for stream in used.values():
        is_own = stream.producer is None and not stream.is_relation
        if is_own and _has_integers(stream) and declared_unit(inputs, stream.name) is None:
            times = _in_files(inputs, stream) if tables is None else _times(tables[stream.name], stream)
            yield from unit_note(stream, times)


def unit_note(stream: Stream, times: tuple[int, int] | None) -> Iterator[str]:
    """The warning about a stream whose times run from the first to the second number."""
    unit = None if times is None else likely_unit(*times)
    if times is None or unit is None:
        return
    read, meant = _text(times[0], "MILLISECOND"), _text(times[0], unit)
    note = f"`{stream.start}` of stream `{stream.name}` is read in milliseconds: its first time is {read}"
    fix = f"TIMESTAMP BY {written(stream.start)} UNIT {unit}S, or unit={_SHORT[unit]}"
    yield f"{note}; if it counts {unit.lower()}s ({meant}), say {fix}"


def _has_integers(stream: Stream) -> bool:
    return any(column.name == stream.start and column.type in (INT, BIGINT) for column in stream.columns)


def _text(time: int, unit: str) -> str:
    """
    >>> _text(1_700_000_000, "MILLISECOND"), _text(1_700_000_000_000_000, "MILLISECOND")
    ('1970-01-20', 'in the year 55840')
    """
    days = time * LENGTHS[unit] // LENGTHS["DAY"]
    try:
        return str((_EPOCH + datetime.timedelta(days=days)).date())
    except OverflowError:
        return f"in the year {1970 + int(days / 365.2425)}"


def _times(rows: Sequence[Row], stream: Stream) -> tuple[int, int] | None:
    times = [time for row in rows if isinstance(time := row.get(stream.start), int)]
    return (min(times), max(times)) if times else None


def _in_files(inputs: Inputs, stream: Stream) -> tuple[int, int] | None:
    """The times in the first file of a stream: Parquet in its footer, texts in their first lines."""
    location = location_of(inputs, stream.name)
    column = next(column for column in stream.columns if column.name == stream.start)
    try:
        table = None if location is None else location.peeked(PEEKED)
        if table is not None:
            return _times(table.rows([column]), stream)
        path = None if location is None else next(iter(location.files_there()), None)
        return None if path is None else _in_footer(path, stream)
    except (NeelError, CallError, NoArrow, UnreadableFile, OSError, ValueError):
        return None  # whoever reads the file reports what is wrong with it


def _in_footer(path: Path, stream: Stream) -> tuple[int, int] | None:
    content = read_footer(path, [stream.start]).columns.get(stream.start)
    if content is None or content.least is None or content.greatest is None:
        return None
    return int(content.least), int(content.greatest)


# Types of patterns that no event has: a misspelt value of a type column is no error, but finds nothing.


MOST_BYTES = 4_000_000
"""A column of types that takes more than this, compressed, is not read to see what is in it."""

TablesOfTypes = Mapping[str, Sequence[Mapping[str, object]]]


@dataclass(frozen=True)
class TypesSeen:
    """What is known of the types of a stream's events: whether there are none at all, the types of patterns,
    in source form, that are `absent`, and some of the `others` that events have."""

    is_empty: bool
    absent: frozenset[str]
    others: tuple[str, ...] = ()


def used_types(program: Program) -> dict[str, tuple[str, ...]]:
    """The values of type columns that patterns name, in source form, by stream."""
    found: dict[str, dict[str, None]] = {}
    for query in program.pattern_queries:
        for member in (member for type in query.match.types for member in type.members):
            if member.value is not None:
                found.setdefault(member.stream, {})[member.value] = None
    return {stream: tuple(values) for stream, values in found.items()}


def seen_in(values: Iterable[str], is_empty: bool, used: Iterable[str]) -> TypesSeen:
    """What is known if these are all types that events have.

    >>> sorted(seen_in({"Login", "Transfer"}, False, ["LOGIN", "`transfer`", "Tranfser"]).absent)
    ['Tranfser', '`transfer`']
    """
    exact = set(values)
    loose = {value.lower() for value in exact}  # as Spark compares them
    absent = (one for one in used if (bare(one) not in exact if is_quoted(one) else one.lower() not in loose))
    return TypesSeen(is_empty, frozenset(absent), tuple(sorted(exact)))


def seen_in_tables(program: Program, tables: TablesOfTypes) -> dict[str, TypesSeen]:
    """The types of all events that were read."""
    used = used_types(program)
    columns = {stream.name: stream.type_column for stream in program.streams}
    return {
        name: seen_in(
            (str(row[column]) for row in rows if row[column] is not None), not rows, used.get(name, ())
        )
        for name, rows in tables.items()
        if (column := columns.get(name)) is not None
    }


def seen_in_files(inputs: Inputs, stream: Stream, used: Iterable[str]) -> TypesSeen | None:
    """The types in the files of a stream, read here, without Spark: in Parquet if that column is small, in
    texts if they are. None where that is not so."""
    location = location_of(inputs, stream.name)
    if location is None or stream.type_column is None:
        return None
    try:
        files = location.files_there()
        if all(kind_of(path, location.format) == "parquet" for path in files):
            return seen_in_parquet(files, stream, used)
        if not is_small(location):
            return None
        columns = [column for column in stream.columns if column.name == stream.type_column]
        rows = rows_of(inputs, stream.name, columns)
    except (NeelError, CallError, OSError):
        return None  # whoever reads the files reports what is wrong with them
    values = {str(row[stream.type_column]) for row in rows if row[stream.type_column] is not None}
    return seen_in(values, not rows, used)


def seen_in_parquet(files: Sequence[Path], stream: Stream, used: Iterable[str]) -> TypesSeen | None:
    """The types in Parquet files, if that column is small: it is read here, without Spark. None if it is not,
    or cannot be read."""
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
        opened = [parquet.ParquetFile(path) for path in files]
        names = [_column(file, stream.type_column or "") for file in opened]
        if not files or None in names or sum(map(_size, opened, names)) > MOST_BYTES:
            return None
        values = {
            value
            for file, name in zip(opened, names, strict=True)
            for value in file.read(columns=[name]).column(0).unique().to_pylist()
        }
    except Exception:  # whoever reads the files reports what is wrong with them
        return None
    known = {str(value) for value in values if value is not None}
    return seen_in(known, all(file.metadata.num_rows == 0 for file in opened), used)


def _column(file: Any, name: str) -> str | None:
    alike = [one for one in file.schema_arrow.names if one.casefold() == name.casefold()]
    return name if name in alike else next(iter(alike), None)


def _size(file: Any, name: str | None) -> int:
    """How many bytes a column takes in a file."""
    at = file.schema_arrow.names.index(name)
    metadata = file.metadata
    if metadata.num_columns != len(file.schema_arrow.names):  # a nested column is several there
        return MOST_BYTES + 1
    return sum(
        metadata.row_group(group).column(at).total_compressed_size for group in range(metadata.num_row_groups)
    )


def peeked_types(location: Location, stream: Stream) -> tuple[str, ...]:
    """Some of the types in a file of text: those in its first lines."""
    try:
        table = location.peeked(PEEKED)
        columns = [column for column in stream.columns if column.name == stream.type_column]
        rows = [] if table is None else table.rows(columns)
    except (NeelError, CallError, OSError, ValueError):
        return ()
    return tuple(sorted({str(value) for row in rows for value in row.values() if value is not None}))


def missing_types(program: Program, seen: Mapping[str, TypesSeen]) -> Iterator[str]:
    """A sentence for each type of a pattern that no event has, and for each stream without events. Of streams
    that are not among the `seen` there is no warning."""
    used = used_types(program)
    yield from (
        f"stream `{name}` has no events" for name, one in seen.items() if one.is_empty and name in used
    )
    for name, other in absent_types(program, seen):
        yield f"no event is of type `{bare(name)}`" + (f"; did you mean `{other}`?" if other else "")


def tie_note(events: int, program: Program) -> Iterator[str]:
    """The sentence about events that have the time of another one of their key."""
    if not events:
        return
    times = dict.fromkeys(
        written(stream.start) for query in program.pattern_queries for stream in query.match.streams
    )
    column = next(iter(times), "ts")
    have = "1 event has" if events == 1 else f"{events:,} events have"
    yield (
        f"{have} the time of another event of the same key: neither comes before the other in a SEQ or a "
        f"list; TIMESTAMP BY {column} THEN BY another column orders them"
    )


def absent_types(program: Program, seen: Mapping[str, TypesSeen]) -> Iterator[tuple[str, str | None]]:
    """The types of patterns that no event has, in source form, each with one that might be meant."""
    reported = set()
    for type in (type for query in program.pattern_queries for type in query.match.types):
        streams = {member.stream for member in type.members}
        known = all(member.value is not None and member.stream in seen for member in type.members)
        if type.name in reported or not known or all(seen[name].is_empty for name in streams):
            continue
        reported.add(type.name)
        if all((member.value or "") in seen[member.stream].absent for member in type.members):
            found = sorted({other for name in streams for other in seen[name].others}, reverse=True)
            others = {other.casefold(): other for other in found}
            close = difflib.get_close_matches(bare(type.name).casefold(), sorted(others), 1)
            yield type.name, others[close[0]] if close else None
