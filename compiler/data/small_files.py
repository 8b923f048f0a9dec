"""Statistics of a stream whose data are small text files: they are read, and what is in them is counted."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from neelc.data.inputs import Inputs, location_of, raw_columns, rows_of
from neelc.data.location import Location, kind_of
from neelc.data.parquet_footers import files_below
from neelc.data.table import Row
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.logical import Stream
from neelc.ir.names import written
from neelc.ir.statistics import Statistic
from neelc.ir.units import LENGTHS

MOST_BYTES = 250_000
"""Larger files are not read for their statistics: 500 KB took a third of a second where it was measured."""
MOST_TYPES = 100
"""Of more types than these, the events are not counted one by one."""


def counted_in(inputs: Inputs, stream: Stream) -> tuple[Statistic, ...]:
    """What the CSV or JSON files of a stream say about it, if they are small; nothing if they cannot be read:
    whoever runs the query is told why."""
    location = location_of(inputs, stream.name)
    if location is None or not is_small(location):
        return ()
    try:
        rows = rows_of(inputs, stream.name, raw_columns(stream))
    except (NeelError, CallError, OSError):
        return ()
    return tuple(_counted(stream, [row for row in rows if row[stream.start] is not None]))


def is_small(location: Location) -> bool:
    """Whether all of its files are of text, and small together."""
    try:
        files = list(files_below(location.path))
        kinds = {kind_of(path, location.format) for path in files}
        return kinds <= {"csv", "json"} and 0 < sum(path.stat().st_size for path in files) <= MOST_BYTES
    except OSError:
        return False


def _counted(stream: Stream, events: Sequence[Row]) -> Iterator[Statistic]:
    yield Statistic("EVENTS", (Decimal(len(events)),))
    seconds = _span(stream, events)
    if seconds > 0:
        yield Statistic("SPAN", (seconds,), unit="SECOND")
    if stream.type_column is not None:
        types = Counter(str(event[stream.type_column]) for event in events)
        for type, count in types.items() if len(types) <= MOST_TYPES else ():
            yield Statistic("EVENTS", (Decimal(count),), type=written(type))
    for column in stream.columns:
        values = {repr(event[column.name]) for event in events if event[column.name] is not None}
        if values and column.name != stream.start:
            yield Statistic("DISTINCT", (Decimal(len(values)),), column=column.name)


def _span(stream: Stream, events: Sequence[Row]) -> Decimal:
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
