"""Integer times whose unit nobody said: they are read as milliseconds, and may well be something else."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from neelc.data.inputs import Inputs, location_of, said_unit
from neelc.data.parquet import NoArrow, Unreadable
from neelc.data.parquet_footers import files_below, read_footer
from neelc.data.table import Row
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.logical import Program, Stream
from neelc.ir.names import written
from neelc.ir.types import BIGINT, INT
from neelc.ir.units import LENGTHS

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
    as they tell it without being read."""
    used = {stream.name: stream for query in program.queries for stream in query.query.streams}
    for stream in used.values():
        is_own = stream.query is None and not stream.is_relation
        if is_own and _has_integers(stream) and said_unit(inputs, stream.name) is None:
            times = _in_files(inputs, stream) if tables is None else _times(tables[stream.name], stream)
            yield from unit_note(stream, times)


def unit_note(stream: Stream, times: tuple[int, int] | None) -> Iterator[str]:
    """What is to be said about a stream whose times run from the first to the second number."""
    unit = None if times is None else likely_unit(*times)
    if times is None or unit is None:
        return
    read, meant = _text(times[0], "MILLISECOND"), _text(times[0], unit)
    said = f"`{stream.start}` of stream `{stream.name}` is read in milliseconds: its first time is {read}"
    fix = f"TIMESTAMP BY {written(stream.start)} UNIT {unit}S, or unit={_SHORT[unit]}"
    yield f"{said}; if it counts {unit.lower()}s ({meant}), say {fix}"


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
    """The times that the first file of a stream tells: Parquet in its footer, texts in their first lines."""
    location = location_of(inputs, stream.name)
    column = next(column for column in stream.columns if column.name == stream.start)
    try:
        table = None if location is None else location.peeked(PEEKED)
        if table is not None:
            return _times(table.rows([column]), stream)
        path = None if location is None else next(iter(files_below(location.path)), None)
        return None if path is None else _in_footer(path, stream)
    except (NeelError, CallError, NoArrow, Unreadable, OSError, ValueError):
        return None  # whoever reads the file tells what is wrong with it


def _in_footer(path: Path, stream: Stream) -> tuple[int, int] | None:
    content = read_footer(path, [stream.start]).columns.get(stream.start)
    if content is None or content.least is None or content.greatest is None:
        return None
    return int(content.least), int(content.greatest)
