"""WHEN COMPLETE: what a query asks about the end of its data, as columns of the streams that it reads.

The last time is one row, an aggregate over all events of the FROM streams: so these are read twice, once for
their times alone. A time that is given counts if it is later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.engines.spark.relations import AggregateRows, BesideRow, Extend, Let, Union
from neelc.engines.spark.scans import StreamRelations, event_times, free
from neelc.ir.expressions import Literal
from neelc.ir.patterns import Window
from neelc.ir.program import CompleteColumn, Match
from neelc.ir.types import LENGTHS
from neelc.scalar.spark.expressions import as_number, sql
from neelc.scalar.spark.trees import identifier
from neelc.scalar.type_of import type_of

LAST = "last"
"""The column with the last time of a stream."""

LEAST = -(2**63)


def with_completeness(
    query: Match, unit: str, sources: StreamRelations, taken: set[str]
) -> tuple[list[Let], StreamRelations]:
    """The relations of the streams of a query with the columns that it asks for, and where these are. A query
    that asks for none reads its streams as they are."""
    derived = query.streams[0].derived if query.streams else ()
    columns = [one for one in derived if isinstance(one, CompleteColumn)]
    if not columns:
        return [], sources
    lets = list(_last_starts(query, columns, unit, sources, taken))
    row, names = lets[-1].name, dict(sources.names)
    for stream in query.streams:
        known = sources.names[stream.name]
        beside, asked = (free(f"{known}_{what}", taken) for what in ("beside", "completed"))
        start, _ = event_times(query, stream, sources, unit)
        tests = ((f"coalesce({start} <= {identifier(_limit(one))}, FALSE)", one.name) for one in columns)
        lets.append(Let(beside, BesideRow(known, row), "Each event beside the end of the data."))
        comment = "Whether the data go on for long enough after it."
        lets.append(Let(asked, Extend(beside, tuple(tests)), comment))
        names[stream.name] = asked
    return lets, replace(sources, names=names)


def _limit(column: CompleteColumn) -> str:
    """The column with the last start of events for which a column holds."""
    return f"start {column.name}"


def _last_starts(
    query: Match, columns: Sequence[CompleteColumn], unit: str, sources: StreamRelations, taken: set[str]
) -> Iterator[Let]:
    """The relations up to the one row with the last start for which each column holds: the last time, less
    the window; NULL if there is none."""
    names = []
    for stream in query.streams:
        start, last = event_times(query, stream, sources, unit)
        source = sources.names[stream.name]
        names.append(free(f"{source}_last", taken))
        value = f"max({last})" if start == last else f"max(IF({start} <= {last}, {last}, NULL))"
        yield Let(names[-1], AggregateRows(source, (), ((value, LAST),)), f"The last time of {stream.name}.")
    if len(names) > 1:
        names.append(free("lasts", taken))
        yield Let(names[-1], Union(tuple(names[:-1])), "The last times together.")
    last = f"max({LAST})"
    if (until := columns[0].until) is not None:
        given = as_number(
            sql(until, lambda _: None), type_of(until), query.clock.unit or "", unit, query.clock
        )
        last = f"greatest({last}, {given})"
    items = tuple((_less(last, width(one.within, unit)), _limit(one)) for one in columns)
    comment = "The last time at which a match can start and be complete."
    yield Let(free("last_start", taken), AggregateRows(names[-1], (), items), comment)


def _less(last: str, width: int) -> str:
    """A time that is earlier by a width; NULL, if no number is so small."""
    if width == 0:
        return last
    return f"IF({last} >= {LEAST + width}L, {last} - {width}L, NULL)"


def width(window: Window, unit: str) -> int:
    """The width of a window in whole units: the data must go on to its end.

    >>> from neelc.ir.types import INT
    >>> width(Window(Literal(1500, INT), "MILLISECOND"), "SECOND")
    2
    """
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), "a bound window"
    length = window.count.value * LENGTHS[window.unit or unit]
    return min(-(-length // LENGTHS[unit]), 2**63 - 1)
