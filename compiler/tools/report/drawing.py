"""From events and matches to a picture, whoever has found them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from neelc.errors import Diagnostic, NeelError
from neelc.findings import Findings
from neelc.ir import patterns as p
from neelc.ir.algebra import Aggregator, Algebra, CountWindow
from neelc.ir.bound_rows import HostQuery
from neelc.ir.names import bare, find
from neelc.ir.node import walk
from neelc.ir.patterns import Event as EventPart
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.program import EventType, Match, NamedQuery, Program
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.equalities import same_at
from neelc.pattern.bind.windows import check_strategy
from neelc.rows.bind.simple import understood
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import LimitReached, ReferenceEvent, Tables, events_read, rows_read_by, run
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import members, ranked
from neelc.runtime.reference.model import attribute, bound_events, nanoseconds
from neelc.runtime.reference.question import question
from neelc.runtime.reference.results import context, numbered
from neelc.runtime.reference.rows import rows_read
from neelc.runtime.reference.worlds import find_matches, restored
from neelc.runtime.values.order import comparable
from neelc.source import Source
from neelc.tools.report.misses import with_misses
from neelc.tools.report.picture import (
    MOST_EVENTS,
    MOST_MATCHES,
    DrawnMatch,
    Keys,
    Lane,
    Panel,
    PatternVariable,
    Picture,
    ShownEvents,
    StartNote,
    binding_parts,
    first_matches,
    hashable,
    keys_named,
    lane_keys,
    own_columns,
    own_outputs,
    remark,
    shades,
    shown_events,
)
from neelc.tools.report.places import mapped
from neelc.tools.report.rows import DrawnClause, clause_picture, drawn_clause
from neelc.tools.report.situations import situations_picture, temporal_matcher


@dataclass(frozen=True)
class DrawnQuery:
    """What is drawn: a query, its name, its text and the file it stands in; `lane_columns` are the columns
    of the lanes, if the caller named them. `is_partial`: it also has incomplete matches."""

    file: str
    name: str
    text: str
    query: Match | Algebra | HostQuery
    lane_columns: tuple[str, ...] = ()
    is_partial: bool = False

    def __post_init__(self) -> None:
        # Where one match is chosen for each start, all that are complete are drawn.
        if isinstance(self.query, Match) and self.query.partial:
            object.__setattr__(self, "query", self.query.whole)
            object.__setattr__(self, "is_partial", True)

    @property
    def keys(self) -> Keys:
        """The columns of the lanes in each stream."""
        if isinstance(self.query, Match):
            return lane_keys(self.query, self.lane_columns)
        if isinstance(self.query, HostQuery):
            return self.clause.keys
        streams = [stream for stream in self.query.streams if not stream.is_relation]
        if self.lane_columns:
            return keys_named(streams, self.lane_columns)
        for name in _groups(self.query):
            if all(find(name, [column.name for column in stream.columns]) for stream in streams):
                return keys_named(streams, [name])
        return {}

    @property
    def clause(self) -> DrawnClause:
        """The MATCH_RECOGNIZE that is drawn."""
        assert isinstance(self.query, HostQuery)
        return drawn_clause(self.query, self.lane_columns)

    @property
    def titles(self) -> tuple[str, str, str]:
        return self.file, self.name, self.text


def _groups(query: Algebra) -> Iterator[str]:
    """Columns of the result by which it is grouped or counted apart."""
    result = [column.name for column in query.columns]
    for node in walk(query.root):
        groups: list[str] = []
        if isinstance(node, Aggregator):
            groups = [output.name for output in node.groups]
        elif isinstance(node, CountWindow):
            groups = [attribute.name for attribute in node.partition]
        yield from (bare(name) for name in groups if find(name, result) is not None)


def panel(title: str, query: Match, found: Sequence[DrawnMatch], total: int, shown: ShownEvents) -> Panel:
    """The first matches all of whose events are drawn, with the scopes of their negations."""
    drawn = frozenset(shown.events)
    whole = (one for one in found if all(event in drawn for event in bound_events(one.binding)))
    kept = tuple(islice(whole, MOST_MATCHES))
    if not any(isinstance(part, p.Not) for part in all_parts(query.pattern)):
        return Panel(title, own_columns(query), kept, total)
    reference = question(query, _looked_at(query, kept, shown))
    known = {event: event for event in reference.events}
    scopes = tuple(shades(reference, restored(one.binding, known)) for one in kept)
    return Panel(title, own_columns(query), kept, total, scopes)


def _looked_at(query: Match, found: Sequence[DrawnMatch], shown: ShownEvents) -> Sequence[ReferenceEvent]:
    """The events that the scopes of negations depend on: those of the matches, unless events are counted."""
    windows = (query.within, *(part.within for part in all_parts(query.pattern)))
    if any(window is not None and window.unit == "EVENT" for window in windows):
        return shown.events
    bound = {event for one in found for event in bound_events(one.binding)}
    return [event for event in ranked(shown.events) if event in bound]


ONLY_COMPLETE = "WITH PARTIAL MATCHES: only complete matches are drawn."


def picture(
    subject: DrawnQuery, shown: ShownEvents, panels: Sequence[Panel], notes: Iterable[StartNote] = ()
) -> Picture:
    query = subject.query
    assert not isinstance(query, HostQuery), "its picture is `clause_picture`"
    columns = {stream.name: stream.columns for stream in query.streams if not stream.is_relation}
    unit = query.clock.unit or "MILLISECOND"
    return Picture(
        *subject.titles,
        query.clock,
        columns,
        subject.keys,
        _types(query),
        shown,
        tuple(panels),
        tuple(remark(note, unit) for note in notes),
        (ONLY_COMPLETE,) if subject.is_partial else (),
        variables=pattern_variables(query) if isinstance(query, Match) else (),
    )


def _types(query: Match | Algebra) -> tuple[str, ...]:
    """The types of events that a pattern names, in order, whatever their case."""
    if isinstance(query, Algebra):
        return ()
    members = {type.name: type.members for type in query.types}
    named = (part.type for part in all_parts(query.pattern) if isinstance(part, EventPart))
    found = (bare(member.value or member.stream) for type in named for member in members[type])
    return tuple(dict.fromkeys(name.casefold() for name in found))


def pattern_variables(query: Match) -> tuple[PatternVariable, ...]:
    """The variables of a pattern in order, those of negations too.

    >>> from pattern_examples import query
    >>> [one.name for one in pattern_variables(query("SEQ(A a, !B b, SEQ(A c, C+ d[])+ k[]) WITHIN 5"))]
    ['a', 'b', 'k[].c', 'k[].d[]']
    """
    members = {type.name: type.members for type in query.types}
    found: dict[str, tuple[str, ...]] = {}
    for name, type in _variables(query.pattern):
        types = (bare(member.value or member.stream).casefold() for member in members[type])
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *types)))
    return tuple(PatternVariable(name, types) for name, types in found.items())


def _variables(part: p.Pattern, before: str = "") -> Iterator[tuple[str, str]]:
    match part:
        case EventPart(type, variable):
            yield f"{before}{bare(variable or type)}", type
        case p.Repeat(EventPart(type), variable=variable):
            yield f"{before}{bare(variable or type)}[]", type
        case p.Repeat(inner, variable=variable):
            yield from _variables(inner, f"{before}{bare(variable or '')}[].")
        case _:
            for inner in inner_parts(part):
                yield from _variables(inner, before)


# One query under each of the selection strategies.


@dataclass(frozen=True)
class StrategyVariant:
    """A query under a strategy, or why it cannot be."""

    strategy: SelectionStrategy
    query: Match
    problem: str | None = None


def ways(match: Match, compare: bool) -> tuple[StrategyVariant, ...]:
    """The query itself, or with `compare` the query under all four strategies.

    >>> from pattern_examples import query
    >>> for way in ways(query("SEQ(A a, B b) WITHIN 5"), compare=True):
    ...     print(way.strategy, "-", way.problem)
    SKIP TILL ANY MATCH - None
    SKIP TILL NEXT MATCH - None
    STRICT CONTIGUITY - None
    PARTITION CONTIGUITY - it requires a partition: PARTITION BY id, or a condition [id]
    """
    return tuple(_all_ways(match)) if compare else (StrategyVariant(match.strategy, match),)


def _all_ways(match: Match) -> Iterator[StrategyVariant]:
    for strategy in SelectionStrategy:
        partition = match.partition
        if strategy == SelectionStrategy.PARTITION and not partition:
            partition = tuple(same_at(match.pattern))
        query = replace(match, strategy=strategy, partition=partition)
        yield StrategyVariant(strategy, query, _problem(query))


def _problem(query: Match) -> str | None:
    findings = Findings(Source(""))
    check_strategy(query.strategy, query.pattern, findings)
    if findings.diagnostics:
        return findings.diagnostics[0].message
    if query.strategy == SelectionStrategy.PARTITION and not query.partition:
        return "it requires a partition: PARTITION BY id, or a condition [id]"
    return None


# A picture of what the reference interpreter finds.


def reference_picture(
    subject: DrawnQuery,
    program: Program,
    place: int,
    tables: Tables,
    compare: bool = False,
    notes: Iterable[StartNote] = (),
    most: int = MOST_EVENTS,
) -> Picture:
    """The query at a place of the script, with all its matches, found anew."""
    found = _reference_picture(subject, program, place, tables, compare, notes, most)
    found = with_misses(found, subject.query, bool(subject.lane_columns))
    return mapped(found, subject.query, tables)


def _reference_picture(
    subject: DrawnQuery,
    program: Program,
    place: int,
    tables: Tables,
    compare: bool,
    notes: Iterable[StartNote],
    most: int,
) -> Picture:
    if isinstance(subject.query, HostQuery):
        clause = subject.clause
        rows = rows_read(clause.query, rows_read_by(program, place, tables))
        return clause_picture(clause, rows, subject.titles, most, tuple(notes))
    events = events_read(program, place, tables)
    if isinstance(subject.query, Algebra):
        matcher = temporal_matcher(subject.query)
        if matcher is not None and not subject.lane_columns:
            return situations_picture(matcher, program, place, tables, subject.titles, most, tuple(notes))
        shown = shown_events(events, subject.keys, {}, most)
        return picture(subject, shown, [_rows(subject.query, program, place, tables)], notes)
    variants = ways(subject.query, compare)
    found = [_found(way, events) for way in variants]
    starts = first_matches((one for some in found if isinstance(some, list) for one in some), subject.keys)
    shown = shown_events(events, subject.keys, starts, most)
    return picture(
        subject, shown, [_panel(way, some, shown) for way, some in zip(variants, found, strict=True)], notes
    )


def _found(way: StrategyVariant, events: Sequence[ReferenceEvent]) -> list[DrawnMatch] | str:
    """The matches in order of time, or why there are none."""
    if way.problem is not None:
        return way.problem
    try:
        matches = find_matches(way.query, events)
    except LimitReached as limit:
        return str(limit)
    contexts = numbered(way.query, [context(one, way.query.clock) for one in matches])
    outputs = own_outputs(way.query)
    found = [DrawnMatch(c.binding, tuple(evaluate(o.expression, c) for o in outputs)) for c in contexts]
    return sorted(found, key=lambda one: [(event.start, event.end) for event in bound_events(one.binding)])


def _panel(way: StrategyVariant, found: list[DrawnMatch] | str, shown: ShownEvents) -> Panel:
    if isinstance(found, str):
        return Panel(way.strategy, problem=found)
    return panel(way.strategy, way.query, found, len(found), shown)


def _rows(query: Algebra, program: Program, place: int, tables: Tables) -> Panel:
    """The rows of a SELECT with the time at which they are valid."""
    needed = tuple(program.queries[at] for at in program.needed([place]))
    _, result = run(replace(program, queries=needed), tables)[-1]
    return rows_panel(query, result.rows)


def rows_panel(query: Algebra, rows: Sequence[Sequence[object]], total: int | None = None) -> Panel:
    """Rows whose last two values are `ts` and `te`; one without an end lasts."""
    unit = query.clock.unit or "MILLISECOND"
    found = [
        DrawnMatch({}, tuple(row[:-2]), nanoseconds(row[-2], unit), nanoseconds(row[-1], unit))
        for row in rows
    ]
    found.sort(key=lambda one: one.start or 0)
    kept = tuple(found[:MOST_MATCHES])
    number = len(found) if total is None else total
    return Panel("SELECT", query.columns[:-2], kept, number, words=("row", "rows"))


# Matches that Spark has found, as bindings to the events that are drawn.

Row = Sequence[Any]
"""A row of the query that `drawable` makes."""


class NotDrawn(Exception):
    """An event of a match is not among those that are drawn."""


def first_starts(rows: Iterable[Row], match: Match, keys: Mapping[str, Sequence[str]]) -> dict[Lane, int]:
    """When the first match of each lane starts, that has one."""
    parts = binding_parts(match.pattern)
    types = {type.name: type for type in match.types}
    unit = match.clock.unit or "MILLISECOND"
    starts: dict[Lane, int] = {}
    for row in rows:
        start = nanoseconds(row[len(parts)], unit, match.clock) or 0
        for part, value in zip(parts, row, strict=False):
            for type, struct in _structs(part, value):
                lane = hashable(_lane(struct, types[type], keys))
                starts[lane] = min(starts.get(lane, start), start)
    return starts


def _structs(part: p.Pattern, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The events in a value, each as a struct with its type."""
    if value is None:
        return
    match part:
        case p.Event(type):
            yield type, value
        case p.Repeat(inner):
            for element in value:
                if isinstance(inner, p.Event):
                    yield from _structs(inner, element)
                else:
                    for body in binding_parts(inner):
                        yield from _structs(body, element[bare(body.variable or "")])


def _lane(struct: Mapping[str, Any], type: EventType, keys: Mapping[str, Sequence[str]]) -> Lane:
    if not keys:
        return (type.name,)
    names = next((keys[member.stream] for member in type.members if member.stream in keys), ())
    return tuple(struct.get(name) for name in names)


class Recovery:
    """Finds events by what they hold: of two that are equal in everything, either will do."""

    def __init__(self, match: Match, events: Sequence[ReferenceEvent]) -> None:
        self.parts = binding_parts(match.pattern)
        self.types = {type.name: type for type in match.types}
        self.events: dict[tuple[str, object], list[ReferenceEvent]] = {}
        for type, found in members(match.types, events).items():
            for event in found:
                values = [attribute(event, column.name) for column in self.types[type].columns]
                self.events.setdefault((type, comparable(values)), []).append(event)

    def found(self, row: Row) -> DrawnMatch | None:
        """The match of a row; None if one of its events is not drawn."""
        binding: dict[str, object] = {}
        try:
            for part, value in zip(self.parts, row, strict=False):
                binding[part.variable or ""] = self._bound(part, value, frozenset(bound_events(binding)))
        except NotDrawn:
            return None
        return DrawnMatch(binding, tuple(row[len(self.parts) + 1 :]))

    def _bound(self, part: p.Pattern, value: Any, taken: frozenset[ReferenceEvent]) -> object:
        if value is None:
            return None
        if isinstance(part, p.Event):
            return self._event(part.type, value, taken)
        assert isinstance(part, p.Repeat)
        elements: list[object] = []
        for element in value:
            held = taken | frozenset(bound_events(tuple(elements)))
            elements.append(self._element(part.part, element, held))
        return tuple(elements)

    def _element(self, body: p.Pattern, value: Any, taken: frozenset[ReferenceEvent]) -> object:
        if isinstance(body, p.Event):
            return self._event(body.type, value, taken)
        bound: dict[str, object] = {}
        for part in binding_parts(body):
            name = part.variable or ""
            bound[name] = self._bound(part, value[bare(name)], taken | frozenset(bound_events(bound)))
        return bound

    def _event(
        self, type: str, struct: Mapping[str, Any], taken: frozenset[ReferenceEvent]
    ) -> ReferenceEvent:
        values = [struct[column.name] for column in self.types[type].columns]
        for event in self.events.get((type, comparable(values)), ()):
            if event not in taken:
                return event
        raise NotDrawn


# Of what no picture can be drawn, and why.

FOUND_AGAIN = "a picture finds the matches again by itself, which requires a simple query"


def drawn_query(named: NamedQuery, source: Source) -> Match | Algebra | HostQuery:
    """The query, if a picture of it can be drawn; raises `NeelError` if not."""
    query = named.query
    if not isinstance(query, HostQuery):
        return query
    simple = query.simple or understood(query, source, FOUND_AGAIN)
    if simple.recognizing is None:
        message = "not possible: a picture of a query without MATCH_RECOGNIZE, which has no matches"
        raise NeelError([Diagnostic("NEEL4001", message, query.place)], source)
    return replace(query, simple=simple)
