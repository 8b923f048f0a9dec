"""Running a bound script on the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neelc.catalog.inputs import Inputs
from neelc.catalog.readers.text import Row
from neelc.errors import Diagnostic, NeelError
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import Call
from neelc.ir.node import walk
from neelc.ir.program import NamedQuery, Program
from neelc.ir.script import FromAgent
from neelc.rows.bind.simple import understood
from neelc.runtime.reference import (
    AgentFailure,
    CannotSkip,
    LimitReached,
    MultipleRows,
    Result,
    SeveralValues,
    run,
)
from neelc.runtime.user_functions import AggregateFailure
from neelc.runtime.values.functions.space import MissingPackage
from neelc.source import Source, Span

Tables = Mapping[str, Sequence[Row]]

ROWS = "the reference engine needs `rows`, a function from lists of dictionaries to one"
OF_ARRAYS = "it must return an array with one value of its type, or None, for each row"
TOTAL = "it must have a value, or None, for every list of one or more values"
FEWER_EVENTS = "a shorter window, more conditions or fewer events might help"
FEWER_ROWS = "a simpler pattern or fewer rows might help"
ANOTHER_SKIP = "skip to a variable of later rows, or write SKIP PAST LAST ROW"
ONE_VALUE = "correct the relation, or leave the level out of the hierarchy"
ONE_ROW = "select one of its rows, with WHERE or an aggregate"


def executable(program: Program, places: Sequence[int], source: Source, hint: str | None = None) -> Program:
    """The program with its queries as the interpreter executes them, as far as those at these places need
    them; raises `NeelError`, with that `hint`, if only Spark can execute one."""
    needed = program.needed(places)
    queries = (
        _understood(named, source, hint) if place in needed else named
        for place, named in enumerate(program.queries)
    )
    return replace(program, queries=tuple(queries))


def _understood(named: NamedQuery, source: Source, hint: str | None) -> NamedQuery:
    query = named.query
    if not isinstance(query, HostQuery) or query.simple is not None:
        return named
    return replace(named, query=replace(query, simple=understood(query, source, hint)))


def execute(
    inputs: Inputs, program: Program, tables: Tables, places: Sequence[int]
) -> list[tuple[str | None, Result]]:
    """The results of the queries at these places; `NeelError` if one needs more than the interpreter is made
    for."""
    whole, needed = executable(program, places, inputs.source), program.needed(places)
    selected = replace(whole, queries=tuple(whole.queries[place] for place in needed))
    try:
        results = run(selected, tables)
    except FAILURES as failure:
        raise failed(failure, selected.queries[failure.query or 0], inputs.source) from None
    except AgentFailure as failure:
        agents = (node for node in walk(inputs.script) if isinstance(node, FromAgent))
        called = (one.span for one in agents if one.name.lower() == failure.name.lower())
        span = next(called, None) or Span(0, 1)
        raise NeelError([Diagnostic("NEEL5010", str(failure), span, ROWS)], inputs.source) from None
    except AggregateFailure as failure:
        calls = (node for node in walk(inputs.script) if isinstance(node, Call))
        named = (call.span for call in calls if call.name.lower() == failure.name.lower())
        span = next(named, None) or Span(0, 1)
        raise NeelError(
            [Diagnostic("NEEL5008", str(failure), span, _advice(failure))], inputs.source
        ) from None
    except MissingPackage as failure:
        hint = "or run it where shapely is installed"
        raise NeelError([Diagnostic("NEEL5093", str(failure), Span(0, 1), hint)], inputs.source) from None
    by_place = dict(zip(needed, results, strict=True))
    return [by_place[place] for place in places]


def _advice(failure: AggregateFailure) -> str:
    """What a function of users must do: of arrays, or of a list."""
    if "is declared without Python code" in str(failure):
        return f"give the code: neelc.function({failure.name!r}, returns=..., takes=..., python=...)"
    return OF_ARRAYS if str(failure).startswith("function ") else TOTAL


FAILURES = (LimitReached, CannotSkip, MultipleRows, SeveralValues)


def failed(
    failure: LimitReached | CannotSkip | MultipleRows | SeveralValues, named: NamedQuery, source: Source
) -> NeelError:
    """The error of a query that needs more than the interpreter is made for."""
    is_host = isinstance(named.query, HostQuery)
    span = (named.query.span if is_host else named.span) or Span(0, 1)
    match failure:
        case LimitReached():
            code, hint = "NEEL5007", FEWER_ROWS if is_host else FEWER_EVENTS
        case CannotSkip():
            code, hint, span = "NEEL5009", ANOTHER_SKIP, failure.skip.span or span
        case MultipleRows():
            code, hint, span = "NEEL5050", ONE_ROW, failure.subquery.span or span
        case SeveralValues():
            code, hint, span = "NEEL5060", ONE_VALUE, failure.column.span or span
    return NeelError([Diagnostic(code, str(failure), span, hint)], source)
