"""What data in memory say about a stream: how many events there are, and how many different values."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa

from neelc.catalog.readers.text import position
from neelc.catalog.statistics.parquet import counted
from neelc.engines.local.tables import LocalTable
from neelc.ir.program import Stream
from neelc.ir.script import Statistic

MOST_ROWS = 20_000
"""Of more rows only their number is taken: it is known without reading one."""


def counted_rows(stream: Stream, table: LocalTable) -> Iterator[Statistic]:
    """The statistics of a stream whose rows are in memory; none of those that are only scanned."""
    if not isinstance(table.data, pa.Table):
        return
    names = list(table.types)
    places = {column.name: position(column.name, names) for column in stream.own_columns}
    if table.data.num_rows > MOST_ROWS or places.get(stream.start) is None:
        yield Statistic("EVENTS", (Decimal(table.data.num_rows),))
        return
    lists = {
        name: [None] * table.data.num_rows if place is None else table.data.column(place).to_pylist()
        for name, place in places.items()
    }
    rows = zip(*lists.values(), strict=True)
    yield from counted(stream, (dict(zip(lists, row, strict=True)) for row in rows))
