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

from neelc.ir.algebra import Algebra, Operator
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import CompleteColumn, Match, NamedQuery, Program
from neelc.runtime.reference.algebra import AgentFailure, events
from neelc.runtime.reference.events import SeveralValues, ValidPayload, ranked
from neelc.runtime.reference.model import Binding, LimitReached, ReferenceEvent
from neelc.runtime.reference.question import end_of_data, with_completeness
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
    "SeveralValues",
    "Tables",
    "events_read",
    "matches",
    "payloads_read",
    "rows_read_by",
    "run",
]


def run(program: Program, tables: Tables) -> list[tuple[str | None, Result]]:
    """The result of each query of a script, in order, with its name; `tables` are the rows of each stream."""
    answers: dict[str, Answer] = {}
    return [(named.name, answer.result) for named, answer in _answers(program, tables, answers)]


def rows_read_by(program: Program, place: int, tables: Tables) -> dict[str, Rows]:
    """The rows of all that the query at a place of the script, one of Spark's, reads by name."""
    answers = _answers_before(program, place, tables)
    streams = program.queries[place].query.streams
    return {stream.name: rows_of_stream(stream, tables, answers) for stream in streams}


def events_read(program: Program, place: int, tables: Tables) -> list[ReferenceEvent]:
    """The events that the query at a place of the script reads; those of a query before it are its rows."""
    answers = _answers_before(program, place, tables)
    query = program.queries[place].query
    assert not isinstance(query, HostQuery), "it reads rows, not events"
    streams = (stream for stream in query.streams if not stream.is_relation)
    found = (event for stream in streams for event in events_of(stream, tables, answers, query.clock))
    return list(ranked(found) if isinstance(query, Match) else found)


def payloads_read(program: Program, place: int, tables: Tables, operator: Operator) -> list[ValidPayload]:
    """The events that an operator of a SELECT, the query at a place of the script, stands for."""
    answers = _answers_before(program, place, tables)
    query = program.queries[place].query
    assert not isinstance(query, HostQuery), "it has no clock"
    clock = query.clock
    return events(operator, lambda source: valid_of(source, tables, answers, clock), clock)


def _answers_before(program: Program, place: int, tables: Tables) -> dict[str, Answer]:
    """The answers of the queries that the one at a place reads, directly or not."""
    answers: dict[str, Answer] = {}
    before = tuple(program.queries[at] for at in program.needed([place]) if at != place)
    deque(_answers(replace(program, queries=before), tables, answers), maxlen=0)
    return answers


def _answers(
    program: Program, tables: Tables, answers: dict[str, Answer]
) -> Iterator[tuple[NamedQuery, Answer]]:
    """Each query with its answer, which later queries look up by name."""
    for place, named in enumerate(program.queries):
        try:
            answer = _answer(named.query, tables, answers)
        except (LimitReached, CannotSkip, MultipleRows, SeveralValues) as failure:
            failure.query = place
            raise
        if named.name is not None:
            answers[named.name] = answer
        yield named, answer


def _answer(query: Match | Algebra | HostQuery, tables: Tables, answers: Answers) -> Answer:
    if isinstance(query, HostQuery):
        assert query.simple is not None, "a query that the reference executes has been understood"
        rows = {stream.name: rows_of_stream(stream, tables, answers) for stream in query.streams}
        return Answer(query, selected=selected(query.simple, rows))
    if isinstance(query, Match):
        return Answer(query, rows=rows_of(query, find_matches(query, read(query, tables, answers))))
    clock = query.clock
    return Answer(
        query, valid=events(query.root, lambda source: valid_of(source, tables, answers, clock), clock)
    )


def matches(match: Match, tables: Tables) -> list[Binding]:
    """The matches of a query over these tables: what each variable is bound to."""
    return [one.binding for one in find_matches(match, read(match, tables, {}))]


def read(match: Match, tables: Tables, answers: Answers) -> list[ReferenceEvent]:
    """The events of the FROM streams; those of a named query are its rows."""
    found = [(stream, list(events_of(stream, tables, answers, match.clock))) for stream in match.streams]
    derived = (one for stream in match.streams for one in stream.derived if isinstance(one, CompleteColumn))
    until = next((one.until for one in derived), None)
    last = end_of_data(until, match.clock, (event for _, events in found for event in events))
    events = [event for stream, events in found for event in with_completeness(stream, events, last)]
    return list(ranked(events))
