"""RETURN: from matches to the rows of a result, and from those to the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cmp_to_key

from neelc.ir import algebra as a
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import Aggregate, is_many
from neelc.ir.names import bare
from neelc.ir.node import Node, children
from neelc.ir.program import MATCH_NUMBER, ROW, Clock, Column, Match, ResultOrder, Stream
from neelc.ir.row_patterns import SortItem
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import (
    ENDLESS,
    FOREVER,
    ValidPayload,
    named,
    read_events,
    with_derived,
)
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent, bound_events, by_clock, moment
from neelc.runtime.reference.question import extent
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.runtime.values.order import comparable, order


@dataclass(frozen=True)
class Result:
    """The rows of a query, in no particular order unless it has an ORDER BY.

    With `has_valid_time`, the last two columns are the valid time of a row, and results are equal if their
    snapshots are. With `is_ordered`, the order of the rows is the query's own.
    """

    columns: tuple[Column, ...]
    rows: list[tuple[object, ...]]
    has_valid_time: bool = False
    is_ordered: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class ResultRow:
    """A row and the events of the matches it stands for."""

    values: tuple[object, ...]
    events: tuple[ReferenceEvent, ...]


def rows_of(match: Match, matches: Sequence[WeighedMatch]) -> list[ResultRow]:
    """ "One row per match; rows may be equal unless DISTINCT." """
    contexts = numbered(match, [context(item, match.clock) for item in matches])
    if match.aggregated:
        rows = list(aggregated(match, contexts))
    else:
        rows = [ResultRow(values(match, each), events(each)) for each in contexts]
    rows = distinct(rows) if match.distinct else rows
    return rows if match.order is None else ordered(match, match.order, rows)


def numbered(match: Match, contexts: Sequence[EvaluationContext]) -> Sequence[EvaluationContext]:
    """ "`match_number` is the number of a match, from 1 on, in the order of its start, of its end, and of the
    other columns, from left to right." """
    if match.numbered is None:
        return contexts
    columns = [output.expression for output in match.numbered]

    def place(each: EvaluationContext) -> tuple[object, ...]:
        bounds = extent(events(each))
        assert bounds is not None, "a match has events"
        return (bounds.start, bounds.end, *(evaluate(column, each) for column in columns))

    def compared(one: EvaluationContext, other: EvaluationContext) -> int:
        return order(place(one), place(other))

    found = sorted(contexts, key=cmp_to_key(compared))
    return [
        replace(each, properties={**each.properties, MATCH_NUMBER: number})
        for number, each in enumerate(found, 1)
    ]


def ordered(match: Match, by: ResultOrder, rows: Sequence[ResultRow]) -> list[ResultRow]:
    """ORDER BY: the first item decides, then the next; NULL comes first, or last where the order descends,
    unless NULLS says otherwise. LIMIT: the first rows."""
    names = [output.name for output in match.outputs]
    found = list(rows)
    for item in reversed(by.items):

        def place(row: ResultRow, item: SortItem = item) -> object:
            binding = named(ROW, dict(zip(names, row.values, strict=True)))
            return evaluate(item.expression, EvaluationContext(binding))

        is_first = item.nulls == "FIRST" if item.nulls else not item.descending
        absent = [row for row in found if place(row) is None]
        there = [row for row in found if place(row) is not None]
        there.sort(
            key=cmp_to_key(lambda one, other: order(place(one), place(other))), reverse=item.descending
        )
        found = [*absent, *there] if is_first else [*there, *absent]
    return found if by.limit is None else found[: by.limit]


def result(match: Match, rows: Sequence[ResultRow]) -> Result:
    columns = tuple(Column(output.name, output.type) for output in match.outputs)
    return Result(columns, [row.values for row in rows], is_ordered=match.order is not None)


def context(match: WeighedMatch, clock: Clock) -> EvaluationContext:
    """What the items of RETURN are evaluated with: "the start (end) of a match is the least `ts` (greatest
    `te`) of all events bound in it"."""
    start, end = times(tuple(bound_events(match.binding)), clock)
    properties = {"match_start": start, "match_end": end, "confidence": float(match.confidence)}
    return EvaluationContext(match.binding, properties=properties)


def times(events: Sequence[ReferenceEvent], clock: Clock) -> tuple[object, object]:
    start, end = min(event.start for event in events), max(event.end for event in events)
    return moment(start, clock), moment(end, clock)


def values(match: Match, context: EvaluationContext) -> tuple[object, ...]:
    return tuple(evaluate(output.expression, context) for output in match.outputs)


def events(context: EvaluationContext) -> tuple[ReferenceEvent, ...]:
    return tuple(bound_events(context.binding))


def aggregated(match: Match, contexts: Sequence[EvaluationContext]) -> Iterator[ResultRow]:
    """Aggregates over matches, grouped by the items that hold none; without such items there is one group,
    even when it is empty."""
    keys = [output.expression for output in match.outputs if not is_over_matches(output.expression)]
    groups: dict[object, list[EvaluationContext]] = {} if keys else {(): []}
    for each in contexts:
        key = tuple(comparable(evaluate(expression, each)) for expression in keys)
        groups.setdefault(key, []).append(each)
    for group in groups.values():
        first = group[0] if group else EvaluationContext({})
        concerned = tuple(event for each in group for event in events(each))
        yield ResultRow(values(match, replace(first, matches=group)), concerned)


def is_over_matches(node: Node) -> bool:
    """Whether an expression holds an aggregate over matches: one that ranges over no list of its own."""
    if isinstance(node, Aggregate) and (node.argument is None or not is_many(node.argument)):
        return True
    return any(is_over_matches(child) for child in children(node))


def distinct(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Each row once; it stands for the matches of all rows that are equal to it."""
    groups: dict[object, list[ResultRow]] = {}
    for row in rows:
        groups.setdefault(comparable(row.values), []).append(row)
    return [
        ResultRow(group[0].values, tuple(event for row in group for event in row.events))
        for group in groups.values()
    ]


def as_events(
    stream: Stream, match: Match, rows: Sequence[ResultRow], clock: Clock
) -> Iterator[ReferenceEvent]:
    """ "A named query is a stream for the statements after it: its `ts` is `match_start` and its `te` is
    `match_end`." A row that stands for no match has no time: it is no event. `clock` is that of the query
    that reads them."""
    names = [output.name for output in match.outputs]
    for number, row in enumerate(rows):
        if row.events:
            start, end = min(event.start for event in row.events), max(event.end for event in row.events)
            start, end = (by_clock(time, match.clock, clock) for time in (start, end))
            values = dict(zip(names, row.values, strict=True))
            attributes = {column.name: values[column.name] for column in stream.own_columns}
            yield ReferenceEvent(
                stream.name, number, stream.name, start, end, attributes, times(row.events, match.clock)
            )


# The events of streams, and of queries before: for patterns and for the algebra.

Tables = Mapping[str, Sequence[Mapping[str, object]]]


@dataclass(frozen=True)
class Answer:
    """The answer of a query: rows of matches, payloads with their valid times, or plain rows."""

    query: Match | a.Algebra | HostQuery
    rows: Sequence[ResultRow] = ()
    valid: Sequence[ValidPayload] = ()
    selected: Result | None = None

    @property
    def result(self) -> Result:
        if isinstance(self.query, Match):
            return result(self.query, self.rows)
        if isinstance(self.query, HostQuery):
            assert self.selected is not None
            return self.selected
        return Result(self.query.columns, [_row(one, self.query) for one in self.valid], has_valid_time=True)


Answers = Mapping[str, Answer]


def _row(event: ValidPayload, query: a.Algebra) -> tuple[object, ...]:
    (of,) = event.binding.values()
    values = (of.attributes[bare(one.name)] for one in query.root.payload)
    end = None if event.end == FOREVER else moment(int(event.end), query.clock)
    return (*values, moment(int(event.start), query.clock), end)


def events_of(stream: Stream, tables: Tables, answers: Answers, clock: Clock) -> Iterator[ReferenceEvent]:
    """The events of a stream with the last instants at which they are valid, as a query of that clock counts
    them, and with the levels and concepts that it asks for."""
    found = _plain_events(stream, tables, answers, clock)
    return with_derived(stream, found, tables) if stream.derived else found


def _plain_events(stream: Stream, tables: Tables, answers: Answers, clock: Clock) -> Iterator[ReferenceEvent]:
    if stream.query is None:
        yield from read_events(stream, rows_of_stream(stream, tables, answers), clock)
        return
    answer = answers[stream.query]
    if isinstance(answer.query, Match):
        yield from as_events(stream, answer.query, answer.rows, clock)
        return
    assert isinstance(answer.query, a.Algebra)
    for number, one in enumerate(answer.valid):
        (of,) = one.binding.values()
        start, own = int(one.start), answer.query.clock
        last = ENDLESS if one.end == FOREVER else int(one.end) - a.instant(own)
        times = (moment(start, own), None if last == ENDLESS else moment(last, own))
        last = last if last == ENDLESS else by_clock(last, own, clock)
        counted = by_clock(start, own, clock)
        yield ReferenceEvent(stream.name, number, stream.name, counted, last, of.attributes, times)


def valid_of(
    source: a.StreamSource | a.RelationSource, tables: Tables, answers: Answers, clock: Clock
) -> list[ValidPayload]:
    """The events of a source: "every external event (p, t) is mapped to the internal event (p, t, t + 1)"."""
    stream = source.stream
    if isinstance(source, a.RelationSource):
        rows = rows_of_stream(stream, tables, answers)
        return [ValidPayload(named(source.variable, row), 0, 1) for row in rows]
    length = a.instant(source.clock)
    return [
        ValidPayload(
            {source.variable: event}, event.start, FOREVER if event.end == ENDLESS else event.end + length
        )
        for event in events_of(stream, tables, answers, clock)
    ]


def rows_of_stream(stream: Stream, tables: Tables, answers: Answers) -> Sequence[Mapping[str, object]]:
    """The rows of a stream: those passed in, or the result of an earlier query."""
    if stream.rows_of is not None:
        return named_rows(answers[stream.rows_of].result)
    if stream.name not in tables:
        names = ", ".join(sorted(tables)) or "none"
        raise KeyError(f"no rows are given for stream {stream.name}; given: {names}")
    return tables[stream.name]


def named_rows(result: Result) -> list[dict[str, object]]:
    """The rows with the names of their columns."""
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.rows]
