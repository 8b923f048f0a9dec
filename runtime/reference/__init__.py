"""The reference interpreter: the meaning of pattern queries (docs/reference/patterns.md), executed.

It reads the logical plan and shares no idea with the optimiser: short, and slow where that is clearer. Read
`satisfy.py` first: it says when a binding is a match. `candidates.py` and `runs.py` propose bindings,
`worlds.py` chooses times where they are imprecise, `results.py` makes rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neelc.ir.logical import Match, Program, Stream
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.model import Binding, Event, LimitReached
from neelc.runtime.reference.results import Result, Row, as_events, result, rows_of
from neelc.runtime.reference.worlds import find_matches

__all__ = ["Event", "LimitReached", "Result", "Tables", "matches", "run"]

Tables = Mapping[str, Sequence[Mapping[str, object]]]


def run(program: Program, tables: Tables) -> list[tuple[str | None, Result]]:
    """The result of each query of a script, in order, with its name; `tables` are the rows of each stream."""
    known: dict[str, tuple[Match, list[Row]]] = {}
    results: list[tuple[str | None, Result]] = []
    for place, query in enumerate(program.queries):
        match = query.match
        try:
            rows = rows_of(match, find_matches(match, read(match, tables, known)))
        except LimitReached as limit:
            limit.query = place
            raise
        results.append((query.name, result(match, rows)))
        if query.name is not None:
            known[query.name] = (match, rows)
    return results


def matches(match: Match, tables: Tables) -> list[Binding]:
    """The matches of a query over the given streams: what each variable is bound to."""
    return [found.binding for found in find_matches(match, read(match, tables, {}))]


def read(match: Match, tables: Tables, known: Mapping[str, tuple[Match, list[Row]]]) -> Iterator[Event]:
    """The events of the FROM streams; those of a named query are its rows."""
    for stream in match.streams:
        if stream.query is not None:
            yield from as_events(stream, *known[stream.query])
        else:
            yield from read_events(stream, rows_of_stream(stream, tables))


def rows_of_stream(stream: Stream, tables: Tables) -> Sequence[Mapping[str, object]]:
    if stream.name not in tables:
        given = ", ".join(sorted(tables)) or "none"
        raise KeyError(f"no rows are given for stream {stream.name}; given: {given}")
    return tables[stream.name]
