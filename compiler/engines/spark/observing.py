"""What Spark counts while it runs a query: aggregates of relations that the plan has already.

An observation is no job and no scan of its own. But no condition is pushed through it, so that a source has
to read all of its rows: relations are observed only where somebody asks for statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neelc.engines.spark.compiled import CompiledScript
from neelc.engines.spark.relations import Items, Kernel, Let, Observed, SelectColumns
from neelc.engines.spark.scans import StreamColumns, StreamRelations
from neelc.ir.program import Member, Stream
from neelc.ir.types import BIGINT
from neelc.pattern.cost.gathering import EVENT, StreamCounts, StreamQuestions, time_unit
from neelc.runtime.kernels.measuring import MEASURED
from neelc.runtime.program import PatternProgram
from neelc.scalar.spark.expressions import as_number
from neelc.scalar.spark.trees import identifier

Values = Mapping[str, Any]
"""What was observed, by the names of items."""

# Streams, before any event is left out.


def stream_items(asked: StreamQuestions) -> Items:
    """Aggregates that answer questions about a stream.

    >>> from neelc.ir.program import NamedQuery, Program
    >>> from neelc.pattern.cost.gathering import questions
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B b) WHERE [id] AND a.x > 1")
    >>> for text, name in stream_items(questions(Program((), (NamedQuery(None, match),)), [0])["S"]):
    ...     print(f"{name}: {text}")
    events: count_if(ts IS NOT NULL)
    least: min(CAST(ts AS BIGINT))
    greatest: max(CAST(ts AS BIGINT))
    type_0: count_if(ts IS NOT NULL AND lower(kind) = 'a')
    type_1: count_if(ts IS NOT NULL AND lower(kind) = 'b')
    distinct_0: approx_count_distinct(IF(ts IS NOT NULL, id, NULL))
    present_0: count_if(ts IS NOT NULL AND id IS NOT NULL)
    condition_0: count_if(ts IS NOT NULL AND lower(kind) = 'a' AND (x > 1))
    """
    return tuple(_items(asked))


def _items(asked: StreamQuestions) -> Iterator[tuple[str, str]]:
    stream, is_event = asked.stream, _is_event(asked.stream)
    on = StreamColumns(stream, StreamRelations({}, {}))
    yield _counted(is_event), "events"
    if is_event:
        time = _time(stream, stream.start)
        if stream.latest or stream.end:
            time = f"IF({is_event}, {time}, NULL)"
        yield f"min({time})", "least"
        yield f"max({time})", "greatest"
    for number, value in enumerate(asked.types):
        yield _counted(is_event, _is_type(on, value)), f"type_{number}"
    for number, name in enumerate(asked.columns):
        column = identifier(name)
        among = f"IF({is_event}, {column}, NULL)" if is_event else column
        yield f"approx_count_distinct({among})", f"distinct_{number}"
        yield _counted(is_event, f"{column} IS NOT NULL"), f"present_{number}"
    for number, one in enumerate(asked.conditions):
        test = f"({on.sql(one.condition, EVENT)})"
        yield _counted(is_event, _is_type(on, one.type), test), f"condition_{number}"


def _counted(*tests: str | None) -> str:
    found = [test for test in tests if test]
    return f"count_if({' AND '.join(found)})" if found else "count(*)"


def _is_event(stream: Stream) -> str | None:
    """The condition that a row is an event: it has a time, it does not end before it starts, and
    an imprecise time has a valid distribution, or none."""
    if stream.is_relation:
        return None
    start, last = identifier(stream.start), stream.latest or stream.end
    tests = [f"{start} IS NOT NULL", *(() if last is None else (f"{start} <= {identifier(last)}",))]
    return " AND ".join([*tests, *_is_distribution(stream)])


def _is_distribution(stream: Stream) -> Iterator[str]:
    """The conditions that what a row says of its times is a distribution of them."""
    if stream.shape_column is not None:
        shape = identifier(stream.shape_column)
        yield f"({shape} IS NULL OR upper({shape}) IN ('UNIFORM', 'TRIANGULAR'))"
    if stream.weights is not None and stream.latest is not None:
        weights = identifier(stream.weights)
        count = f"{_time(stream, stream.latest)} - {_time(stream, stream.start)} + 1"
        numbers = f"size(array_compact({weights})) = size({weights}) AND array_min({weights}) >= 0"
        some = f"array_max({weights}) > 0 AND array_max({weights}) < double('Infinity')"
        yield f"({weights} IS NULL OR (size({weights}) = {count} AND {numbers} AND {some}))"


def _time(stream: Stream, name: str) -> str:
    kind = next((column.type for column in stream.columns if column.name == name), BIGINT)
    unit = time_unit(stream)
    return as_number(identifier(name), kind, unit, unit)


def _is_type(on: StreamColumns, value: str | None) -> str | None:
    return None if value is None else on.is_member([Member(on.stream.name, value)])


def stream_counts(asked: StreamQuestions, values: Values) -> StreamCounts:
    """The answers that were observed."""
    return StreamCounts(
        int(values["events"]),
        values.get("least"),
        values.get("greatest"),
        tuple(int(values[f"type_{number}"]) for number in range(len(asked.types))),
        tuple(
            (int(values[f"distinct_{number}"]), int(values[f"present_{number}"]))
            for number in range(len(asked.columns))
        ),
        tuple(int(values[f"condition_{number}"]) for number in range(len(asked.conditions))),
    )


# A script whose relations are observed.


def stream_key(name: str) -> str:
    """The observation of a stream."""
    return f"stream {name}"


def rows_key(number: int) -> str:
    """The observation of the rows of a query: the queries of a script are counted from 0."""
    return f"rows {number}"


def steps_key(number: int) -> str:
    """The observation of the steps of a query."""
    return f"steps {number}"


def roles_key(number: int, relation: str) -> str:
    """The observation of the events that can play a role in a query."""
    return f"roles {number} {relation}"


def observed_script(
    compiled: CompiledScript, asked: Mapping[str, StreamQuestions], roles: Sequence[int] | None = None
) -> CompiledScript:
    """The script, observed: its streams, and the rows of its queries. With `roles`, how many of them each
    query has, also the events that can play them, and the steps of kernels."""
    lets: list[Let] = []
    number = 0
    for let in compiled.relations.lets:
        if roles is None:
            lets.append(let)
        else:
            lets += _measured(let, number, roles[number])
        lets += (
            Let(let.name, Observed(let.name, stream_key(name), stream_items(asked[name])))
            for name, relation in compiled.reads.items()
            if relation == let.name and name in asked
        )
        if number < len(compiled.results) and let.name == compiled.results[number][1]:
            lets.append(Let(let.name, Observed(let.name, rows_key(number), (("count(*)", "rows"),))))
            number += 1
    return replace(compiled, relations=replace(compiled.relations, lets=tuple(lets)))


def _measured(let: Let, number: int, roles: int) -> Iterator[Let]:
    match let.relation:
        case Kernel(program=program) if type(program) is PatternProgram:
            schema = f"{let.relation.schema}, {identifier(MEASURED)} STRING"
            yield replace(let, relation=replace(let.relation, schema=schema, measured=True))
            steps: Items = ((f"collect_list({identifier(MEASURED)})", "steps"),)
            yield Let(let.name, Observed(let.name, steps_key(number), steps, MEASURED))
        case SelectColumns(items=items) if "roles" in [name for _, name in items]:
            yield let
            counts: Items = tuple(
                (f"count_if(roles & {2**bit}L <> 0)", f"role_{bit}") for bit in range(roles)
            )
            events: Items = (("count(*)", "events"),)
            yield Let(let.name, Observed(let.name, roles_key(number, let.name), events + counts))
        case _:
            yield let
