"""The reference interpreter: the meaning of queries (docs/reference/patterns.md, jepc-ql.md), executed.

It reads the logical plan and shares no idea with the optimiser: short, and slow where that is clearer. Read
`satisfy.py` first: it says when a binding is a match. `candidates.py` and `runs.py` propose bindings,
`worlds.py` chooses times where they are imprecise, `results.py` makes rows. `algebra.py` is SELECT,
`recognize.py` is MATCH_RECOGNIZE, and `rows.py` the query around it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import Match, NamedQuery, Program
from neelc.runtime.reference.algebra import AgentFailure, events
from neelc.runtime.reference.model import Binding, LimitReached, ReferenceEvent
from neelc.runtime.reference.recognize import CannotSkip
from neelc.runtime.reference.results import (
    Answer,
    Answers,
    Result,
    Tables,
    events_of,
    rows_of,
    rows_of_stream,
    valid_of,
)
from neelc.runtime.reference.rows import MultipleRows, Rows, selected
from neelc.runtime.reference.worlds import find_matches

__all__ = [
    "AgentFailure",
    "CannotSkip",
    "LimitReached",
    "MultipleRows",
    "ReferenceEvent",
    "Result",
    "Tables",
    "events_read",
    "matches",
    "rows_read_by",
    "run",
]


def run(program: Program, tables: Tables) -> list[tuple[str | None, Result]]:
    """The result of each query of a script, in order, with its name; `tables` are the rows of each stream."""
    known: dict[str, Answer] = {}
    return [(named.name, answer.result) for named, answer in _answers(program, tables, known)]


def rows_read_by(program: Program, place: int, tables: Tables) -> dict[str, Rows]:
    """The rows of all that the query at a place of the script, one of Spark's, reads by name."""
    known = _known_before(program, place, tables)
    streams = program.queries[place].query.streams
    return {stream.name: rows_of_stream(stream, tables, known) for stream in streams}


def events_read(program: Program, place: int, tables: Tables) -> list[ReferenceEvent]:
    """The events that the query at a place of the script reads; those of a query before it are its rows."""
    known = _known_before(program, place, tables)
    query = program.queries[place].query
    assert not isinstance(query, HostQuery), "it reads rows, not events"
    streams = (stream for stream in query.streams if not stream.is_relation)
    return [event for stream in streams for event in events_of(stream, tables, known, query.clock)]


def _known_before(program: Program, place: int, tables: Tables) -> dict[str, Answer]:
    """What the queries have found that the one at a place reads, directly or not."""
    known: dict[str, Answer] = {}
    before = tuple(program.queries[at] for at in program.needed([place]) if at != place)
    deque(_answers(replace(program, queries=before), tables, known), maxlen=0)
    return known


def _answers(
    program: Program, tables: Tables, known: dict[str, Answer]
) -> Iterator[tuple[NamedQuery, Answer]]:
    """Each query with what it has found, which the queries after it know by its name."""
    for place, named in enumerate(program.queries):
        try:
            answer = _answer(named.query, tables, known)
        except (LimitReached, CannotSkip, MultipleRows) as failure:
            failure.query = place
            raise
        if named.name is not None:
            known[named.name] = answer
        yield named, answer


def _answer(query: Match | Algebra | HostQuery, tables: Tables, known: Answers) -> Answer:
    if isinstance(query, HostQuery):
        assert query.simple is not None, "a query that the reference executes has been understood"
        rows = {stream.name: rows_of_stream(stream, tables, known) for stream in query.streams}
        return Answer(query, selected=selected(query.simple, rows))
    if isinstance(query, Match):
        return Answer(query, rows=rows_of(query, find_matches(query, read(query, tables, known))))
    clock = query.clock
    return Answer(
        query, valid=events(query.root, lambda source: valid_of(source, tables, known, clock), clock)
    )


def matches(match: Match, tables: Tables) -> list[Binding]:
    """The matches of a query over the given streams: what each variable is bound to."""
    return [found.binding for found in find_matches(match, read(match, tables, {}))]


def read(match: Match, tables: Tables, known: Answers) -> Iterator[ReferenceEvent]:
    """The events of the FROM streams; those of a named query are its rows."""
    for stream in match.streams:
        yield from events_of(stream, tables, known, match.clock)
