"""Statistics that a run gathers: what is counted in each stream, and the file that is made of the counts.

What is counted depends on the script alone, not on its plan: so the reference interpreter and Spark, which
counts while it reads (`engines/spark/observing.py`), write the same file. `--stats` reads it:
`catalog/statistics/file.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from neelc.catalog.statistics.numbers import condition_to_state, types_of_variable
from neelc.ir.expressions import Expr, Index, ListElement, SameAttributes, Variable, conjuncts
from neelc.ir.names import bare, find, is_quoted, written
from neelc.ir.node import Node, transform
from neelc.ir.patterns import all_parts
from neelc.ir.program import Match, Member, Program, Stream
from neelc.ir.types import DATE, LENGTHS, TIMESTAMP, TIMESTAMP_NTZ
from neelc.pattern.cost.growth import single_event
from neelc.pattern.cost.setting import equal_terms
from neelc.runtime.late_dataclass import dataclass

EVENT = ""
"""The variable of the event that a condition is counted for."""


@dataclass(frozen=True)
class CountedCondition:
    """A condition on one event, which it calls `EVENT`; `text` is how a file of statistics writes it. It is
    counted among the events of a `type`, a value of the type column in source form; None is every event."""

    type: str | None
    text: str
    condition: Expr = field(compare=False)


@dataclass(frozen=True)
class StreamQuestions:
    """What is counted in a stream: events of `types`, in source form; values of `columns`, which are bare;
    events that meet `conditions`."""

    stream: Stream
    types: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    conditions: tuple[CountedCondition, ...] = ()


@dataclass(frozen=True)
class StreamCounts:
    """What was counted, in the order of the questions. `least` and `greatest` are times in units of
    `time_unit`; `values` has, for each column, how many distinct values it has and how many events have one.
    """

    events: int
    least: int | None = None
    greatest: int | None = None
    types: tuple[int, ...] = ()
    values: tuple[tuple[int, int], ...] = ()
    conditions: tuple[int, ...] = ()


def time_unit(stream: Stream) -> str:
    """The unit in which the times of a stream are compared: whole numbers, however they are written."""
    kind = next((column.type for column in stream.columns if column.name == stream.start), None)
    if kind in (TIMESTAMP, TIMESTAMP_NTZ):
        return "MICROSECOND"
    return "DAY" if kind == DATE else stream.unit


# The questions.


def questions(program: Program, places: Iterable[int]) -> dict[str, StreamQuestions]:
    """What is counted where the queries at these places run, by stream.

    >>> from neelc.ir.program import NamedQuery
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B+ b[]) WHERE [id] AND a.x > 1 AND b[i].x < a.x")
    >>> asked = questions(Program((), (NamedQuery(None, match),)), [0])["S"]
    >>> asked.types, asked.columns, [(one.type, one.text) for one in asked.conditions]
    (('A', 'B'), ('id',), [('A', 'x > 1')])
    """
    queries = [program.queries[place].query for place in program.needed(places)]
    patterns = [query.whole for query in queries if isinstance(query, Match)]
    streams = {stream.name: stream for query in queries for stream in query.streams}
    return {name: _asked(stream, patterns) for name, stream in streams.items() if stream.producer is None}


def _asked(stream: Stream, queries: Sequence[Match]) -> StreamQuestions:
    types = tuple(_loosest(value for query in queries for value in _types(query, stream.name)))
    columns = dict.fromkeys(column for query in queries for column in _columns(query, stream))
    conditions = dict.fromkeys(one for query in queries for one in _conditions(query, stream.name, types))
    return StreamQuestions(stream, types, tuple(columns), tuple(conditions))


def _types(query: Match, stream: str) -> Iterator[str]:
    for member in (member for type in query.types for member in type.members):
        if member.stream == stream and member.value is not None:
            yield member.value


def _loosest(values: Iterable[str]) -> Iterator[str]:
    """Each type once. An event of a type in backticks is also one of the same name without them, and would be
    counted twice.

    >>> list(_loosest(["`a`", "A", "b", "`C`", "a"]))
    ['A', 'b', '`C`']
    """
    several = list(dict.fromkeys(values))
    loose = {value.casefold(): value for value in reversed(several) if not is_quoted(value)}
    yield from (value for value in several if loose.get(bare(value).casefold(), value) == value)


def _columns(query: Match, stream: Stream) -> Iterator[str]:
    """The columns by which events are brought together: those of `[id]`, of PARTITION BY, and of equalities
    between events."""
    known = {written(column.name): column.name for column in stream.columns}
    names = dict.fromkeys(map(bare, query.partition))
    for condition in (condition for part in all_parts(query.pattern) for condition in conjuncts(part.where)):
        if isinstance(condition, SameAttributes):
            names |= dict.fromkeys(map(bare, condition.attributes))
        for variable, attribute in equal_terms(condition) or ():
            if any(member.stream == stream.name for member in _members(query, variable)):
                names[attribute] = None
    found = (find(written(name), known) for name in names)
    yield from (known[name] for name in found if name is not None and known[name] != stream.start)


def _conditions(query: Match, stream: str, types: Sequence[str]) -> Iterator[CountedCondition]:
    """The conditions on one event, each once for every type that it is checked on."""
    for condition in (condition for part in all_parts(query.pattern) for condition in conjuncts(part.where)):
        stated = condition_to_state(condition) if single_event(condition) is not None else None
        if stated is None:
            continue
        variable, text = stated
        renamed = transform(condition, _on_event)
        assert isinstance(renamed, Expr)
        for member in _members(query, variable):
            type = None if member.value is None else find(member.value, types)
            if member.stream == stream and (type is not None or member.value is None):
                yield CountedCondition(type, text, renamed)


def _members(query: Match, variable: str) -> list[Member]:
    types = set(types_of_variable(query, variable))
    return [member for known in query.types if known.name in types for member in known.members]


def _on_event(node: Node) -> Node | None:
    match node:
        case Variable() | ListElement(Variable(), Index("CURRENT", 0)):
            return Variable(EVENT)
    return None


# The file.


def statistics_json(
    asked: Mapping[str, StreamQuestions], counted: Mapping[str, StreamCounts], rows: Mapping[str, int]
) -> str:
    """The text of a file of statistics: of the streams that were counted, and the rows of queries."""
    streams = {name: _stream_entry(asked[name], counts) for name, counts in counted.items()}
    queries = {name: {"rows": number} for name, number in rows.items()}
    return json.dumps({"streams": streams, "queries": queries}, indent=2, ensure_ascii=False) + "\n"


def _stream_entry(asked: StreamQuestions, counts: StreamCounts) -> dict[str, Any]:
    entry: dict[str, Any] = {"events": counts.events}
    seconds = _seconds(asked.stream, counts)
    if seconds > 0:
        entry["seconds"] = seconds
    by_type = dict(zip(asked.types, counts.types, strict=True))
    types: dict[str, Any] = {value: {"events": number} for value, number in by_type.items()}
    columns = {
        written(name): {
            "distinct": min(distinct, present),
            "nulls": _share(counts.events - present, counts.events),
        }
        for name, (distinct, present) in zip(asked.columns, counts.values, strict=True)
        if present
    }
    for one, number in zip(asked.conditions, counts.conditions, strict=True):
        among = counts.events if one.type is None else by_type.get(one.type, 0)
        if among:
            inner = entry if one.type is None else types[one.type]
            inner.setdefault("selectivities", {})[one.text] = _share(number, among)
    entry |= {key: found for key, found in (("types", types), ("columns", columns)) if found}
    return entry


def _seconds(stream: Stream, counts: StreamCounts) -> float:
    if counts.least is None or counts.greatest is None:
        return 0.0
    return (counts.greatest - counts.least) * LENGTHS[time_unit(stream)] / LENGTHS["SECOND"]


def _share(part: int, whole: int) -> float:
    """Six digits: more would only make files differ."""
    return float(f"{part / whole:.6g}")


def query_name(program: Program, place: int) -> str:
    """How a query is called where its rows are counted: without a name, by its place in the script."""
    return program.queries[place].name or f"query {place + 1}"
