"""A random query over many random streams in one: Spark answers it once.

The streams are kept apart by a key, or lie one after the other in time, further from each other than the
window is wide: then there need be no key, and time is cut into chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from answers import answer
from generate.conditions import member, seen_in
from generate.rewritable import Sample, sample
from generate.streams import Row
from generate.witnesses import Tables
from on_spark import Asking, Question, Refusal, ask

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.program import Match, NamedQuery, Program
from neelc.ir.row_patterns import Output
from neelc.ir.script import ColumnDefinition, CreateStream, PatternQuery, Return, RunQuery, Script
from neelc.ir.types import INT
from neelc.runtime.reference import Result
from neelc.runtime.values.order import comparable

RUN = "run"
"""The attribute that holds the number of a stream."""
APART = 97
"""Milliseconds between the beginnings of streams: more than a stream and a window are long, and no multiple
of a chunk."""


@dataclass(frozen=True)
class Combined:
    """A question about several streams at once, and the rows that it must find; `left_out` events take no
    part."""

    question: Question
    expected: Counter[object]
    streams: int
    with_matches: int
    left_out: int = 0


def combined(number: int, streams: int) -> Combined | None:
    """The query with this number; None when the reference would need too long."""
    return together(sample(number, streams), number)


def together(
    found: Sample, number: int, left_out: Callable[[Question], Sequence[Mapping[str, object]]] = lambda _: ()
) -> Combined | None:
    """The query of a sample, run over all its streams at once. Odd numbers are apart in time, if they can be,
    and so is what looks at all events of a stream. The rows of `left_out` take no part."""
    windowed = is_windowed(found.match)
    in_time = windowed and (number % 2 == 1 or found.match.strategy == "STRICT CONTIGUITY")
    changed = replace(found, script=with_run(found, in_time))
    tables = list(moved(changed.tables, in_time))
    if not can_be_combined(changed.match, in_time):
        tables = tables[:1]
    all_rows = {name: [row for one in tables for row in one[name]] for name in tables[0]}
    program = Program(changed.match.streams, (NamedQuery(None, changed.match),))
    apart = "time" if in_time else "a key"
    name = f"query {number}, {len(tables)} streams apart by {apart}: {changed.match.pattern}"
    question = Question(name, program, all_rows)
    gone = {id(row) for row in left_out(question)}
    answers = [
        answer(
            changed.match, {name: [row for row in rows if id(row) not in gone] for name, rows in one.items()}
        )
        for one in tables
    ]
    expected: Counter[object] = Counter()
    for one in answers:
        if one is None:
            return None
        expected += one.rows
    hits = sum(bool(one and one.bindings) for one in answers)
    return Combined(question, expected, len(tables), hits, len(gone))


def is_windowed(match: Match) -> bool:
    return match.within is not None and match.within.unit != "EVENT"


def can_be_combined(match: Match, in_time: bool) -> bool:
    """Whether streams do not see each other, nor their rows: equal rows would become one."""
    sees_all = match.strategy == "STRICT CONTIGUITY" and not in_time
    is_told = RUN in [output.name for output in match.outputs]
    if match.collapsed and not is_told:
        # Matches become one row by their single events: without any, all streams would share it.
        return not sees_all and any(isinstance(part, p.Event) for part in _parts(match.pattern))
    return not sees_all and (is_told or not (match.distinct or match.aggregated))


def _parts(pattern: p.Pattern) -> tuple[p.Pattern, ...]:
    return pattern.parts if isinstance(pattern, p.Seq | p.And) else (pattern,)


def with_run(found: Sample, in_time: bool) -> Script:
    """The script, with the number of the stream in every event, as a key, and in what would lose it."""
    statements = [
        replace(one, columns=(*one.columns, ColumnDefinition(RUN, INT)))
        if isinstance(one, CreateStream)
        else one
        for one in found.script.statements[:-1]
    ]
    query = found.query if in_time else replace(found.query, partition_by=(*found.query.partition_by, RUN))
    return Script((*statements, RunQuery(replace(query, returns=returns(query)))))


def returns(query: PatternQuery) -> Return | None:
    if query.returns is None or not query.returns.items:
        return query.returns
    numbers = [member(e.Name((one.name,)), RUN) for one in seen_in(query.pattern) if not one.is_list]
    if not numbers:
        return query.returns
    run = e.Call("coalesce", (*numbers, e.Literal(None, INT))) if len(numbers) > 1 else numbers[0]
    return replace(query.returns, items=(*query.returns.items, Output(run, RUN)))


def moved(streams: tuple[Tables, ...], in_time: bool) -> Iterator[Tables]:
    """The streams with their numbers; with `in_time`, one after the other."""
    for number, tables in enumerate(streams):
        later = number * APART if in_time else 0
        yield {name: [_moved(row, number, later) for row in rows] for name, rows in tables.items()}


def _moved(row: Row, number: int, later: int) -> Row:
    times = {"ts": row["ts"], "te": row.get("te")}
    known = {name: time + later for name, time in times.items() if isinstance(time, int)}
    return {**row, **known, RUN: number}


@dataclass
class Seen:
    """How many pairs were run, and how many of them have matches."""

    pairs: int = 0
    with_matches: int = 0


def differences(spark: Any, questions: Sequence[Combined], asking: Asking, seen: Seen) -> Iterator[str]:
    """What Spark finds else than what it must find."""
    known = {one.question.name: one for one in questions}
    for question, result in ask(spark, [one.question for one in questions], asking):
        one = known[question.name]
        match result:
            case Refusal():
                continue
            case Result(rows=rows):
                seen.pairs += one.streams
                seen.with_matches += one.with_matches
                missing, extra = difference(one, rows)
                if missing or extra:
                    yield f"{asking}: {question.name}\n{missing} rows lost, {extra} added"
            case str():
                yield f"{asking}: {question.name}\n{result}"


def difference(one: Combined, rows: Sequence[object]) -> tuple[int, int]:
    """How many rows are missing, and how many should not be there."""
    found = Counter(comparable(row) for row in rows)
    expected = one.expected
    if one.question.program.queries[-1].match.collapsed:
        expected, found = _in_no_order(expected), _in_no_order(found)
    return (expected - found).total(), (found - expected).total()


def _in_no_order(rows: Counter[object]) -> Counter[object]:
    """The rows, with lists as sets: simultaneous events of a COLLAPSED list come in any order."""

    def changed(value: object) -> object:
        return frozenset(map(changed, value)) if isinstance(value, tuple) else value

    made: Counter[object] = Counter()
    for row, count in rows.items():
        assert isinstance(row, tuple), "a row of columns"
        made[tuple(map(changed, row))] += count
    return made
