"""The query that a picture asks: the user's, with all events of its matches as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir import pattern as p
from neelc.ir.expr import Each, MatchProperty, Variable, Whole
from neelc.ir.logical import Column, Match, OutputColumn
from neelc.ir.names import bare, written
from neelc.ir.parts import inner_parts
from neelc.ir.types import Array, DataType, Struct, StructField
from neelc.runtime.reference.results import is_over_matches

START = "match_start"


def drawable(match: Match) -> Match:
    """The query with a column for each variable, `match_start`, and then its own columns, one row per match.

    >>> from neelc.rewrite.examples import query
    >>> asked = drawable(query("SEQ(A a, !B b, C+ c[]) WITHIN 5 RETURN DISTINCT a.x, count(c[]) AS n"))
    >>> [column.name for column in asked.columns], asked.distinct
    (['event_0', 'event_1', 'match_start', 'own_0', 'own_1'], False)

    Aggregates over all matches say nothing of one of them: only the groups stay.

    >>> [column.name for column in own_columns(query("SEQ(A a, C c) RETURN a.id, count(*) AS matches"))]
    ['a_id']
    """
    events = [
        OutputColumn(f"event_{place}", value, type_of_value(value))
        for place, value in enumerate(bound_values(match))
    ]
    start = OutputColumn(START, MatchProperty(START, match.clock.type), match.clock.type)
    own = [replace(output, name=f"own_{place}") for place, output in enumerate(own_outputs(match))]
    return replace(match, outputs=(*events, start, *own), distinct=False, aggregated=False)


def own_outputs(match: Match) -> tuple[OutputColumn, ...]:
    """The query's own columns, as far as they tell something of single matches."""
    return tuple(output for output in match.outputs if not is_over_matches(output.expression))


def own_columns(match: Match) -> tuple[Column, ...]:
    return tuple(Column(output.name, output.type) for output in own_outputs(match))


def bound_values(match: Match) -> Iterator[Whole]:
    """What the positive variables stand for, in order, as values."""
    for part in binding_parts(match.pattern):
        variable = Variable(part.variable or "")
        of_one = struct(part, match)
        yield Whole(variable if isinstance(part, p.Event) else Each(variable), of_one)


def type_of_value(value: Whole) -> DataType:
    return Array(value.type) if isinstance(value.event, Each) else value.type


def binding_parts(part: p.Pattern) -> list[p.Event | p.Repeat]:
    """The parts that bind the variables of a match, each variable once.

    >>> from neelc.parse import pattern
    >>> [str(part) for part in binding_parts(pattern("SEQ(A a, !B b, SEQ(C c, D d)+ k[], EXISTS e : E e)"))]
    ['A a', 'SEQ(C c, D d)+ k[]']
    """
    return list({found.variable: found for found in _binding(part)}.values())


def _binding(part: p.Pattern) -> Iterator[p.Event | p.Repeat]:
    match part:
        case p.Event() | p.Repeat():
            yield part
        case p.Not():
            return
        case p.Exists(dropped, inner):
            yield from (found for found in _binding(inner) if found.variable not in dropped)
        case _:
            for inner in inner_parts(part):
                yield from _binding(inner)


def struct(part: p.Event | p.Repeat, match: Match) -> Struct:
    """The type of an event, or of one element of a list."""
    if isinstance(part, p.Repeat) and not isinstance(part.part, p.Event):
        return Struct(tuple(_fields(part.part, match)))
    event = part.part if isinstance(part, p.Repeat) else part
    assert isinstance(event, p.Event)
    (type,) = (type for type in match.types if type.name == event.type)
    return Struct(tuple(StructField(written(column.name), column.type) for column in type.columns))


def _fields(body: p.Pattern, match: Match) -> Iterator[StructField]:
    """An iteration of a closure: a field for each variable of its body."""
    for part in binding_parts(body):
        kind = struct(part, match)
        name = written(bare(part.variable or ""))
        yield StructField(name, kind if isinstance(part, p.Event) else Array(kind))
