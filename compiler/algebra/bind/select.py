"""SELECT: from the query as written to a network of operators with all names resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from neelc.algebra.bind.combined import combined_columns, combined_operator
from neelc.algebra.bind.inputs import merged_streams
from neelc.algebra.bind.sequential import bind_sequential, with_previous
from neelc.algebra.bind.temporal import StreamNumbers, TemporalClause, bind_temporal, plain_clause
from neelc.catalog.catalog import Catalog, joined, report_refusal
from neelc.catalog.streams import ColumnSource, SelectNames
from neelc.findings import Findings, did_you_mean
from neelc.ir import algebra as a
from neelc.ir import expressions as e
from neelc.ir.algebra import (
    AGGREGATES,
    END,
    START,
    CountWindow,
    Operator,
    TimeWindow,
    has_only_points,
    instant,
    is_time,
)
from neelc.ir.expressions import Attribute, Literal, Name
from neelc.ir.names import Identifier, bare, find, same, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import Window
from neelc.ir.program import Clock, Column, OutputColumn, Stream
from neelc.ir.row_patterns import MatchSequential, MatchTemporal, Output
from neelc.ir.script import (
    CombinedSelect,
    FromAgent,
    FromItem,
    FromMatchmaker,
    FromQuery,
    FromStream,
    PatternQuery,
    ScriptQuery,
    StreamWindow,
)
from neelc.ir.script import Select as SelectStatement
from neelc.ir.types import LENGTHS, VOID
from neelc.pattern.bind.outputs import output_name
from neelc.pattern.bind.query import bind_query
from neelc.pattern.bind.windows import bind_window
from neelc.rows.bind.recognize import matched_columns
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.functions import is_aggregate
from neelc.scalar.type_of import type_of
from neelc.scalar.typing import typed, typed_condition
from neelc.source import Span

# The list of a SELECT: its columns, their names and what they are computed from.


@dataclass(frozen=True)
class SelectedColumn:
    """A column of the list; `source` is the name of the source that a `*` took it from."""

    output: OutputColumn
    source: str | None = None


def listed(
    items: Sequence[Output], relations: Sequence[ColumnSource], findings: Findings
) -> list[SelectedColumn]:
    """What the list stands for, with all names and types resolved."""
    return [one for item in items for one in _listed(item, relations, findings)]


def _listed(item: Output, relations: Sequence[ColumnSource], findings: Findings) -> Iterator[SelectedColumn]:
    if isinstance(item.expression, e.Star):
        yield from _star(item.expression, relations, findings)
        return
    value, kind = typed(SelectNames(tuple(relations), findings).resolved(item.expression), findings.report)
    name = item.alias or written(plain_name(item.expression))
    span = findings.at(item, item.expression)
    if kind == VOID and not findings.knows(span) and not _is_open(relations):
        message, hint = "this column is always NULL and has no type", "give it one: CAST(NULL AS STRING)"
        findings.report("NEEL2013", message, span, hint)
    yield SelectedColumn(OutputColumn(bare(name), value, kind, span=_name_place(item) or span))


def with_aliases(expression: e.Expr, items: Sequence[Output], relations: Sequence[ColumnSource]) -> e.Expr:
    """The expression with what stands behind the names that the list gives, as Spark reads GROUP BY and
    HAVING: where no source has a column of that name."""
    columns = [written(column.name) for relation in relations for column in relation.columns or ()]

    def change(node: Node) -> Node:
        if isinstance(node, e.Name) and len(node.parts) == 1 and find(node.parts[0], columns) is None:
            named = (item for item in items if item.alias is not None and same(node.parts[0], item.alias))
            return next((replace(item.expression, span=node.span) for item in named), node)
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return changed


def _is_open(relations: Sequence[ColumnSource]) -> bool:
    return any(relation.columns is None for relation in relations)


def plain_name(expression: e.Expr) -> str:
    """The name of a column that has no alias: that of the attribute, else the text as Spark names it."""
    return bare(expression.parts[-1]) if isinstance(expression, e.Name) else output_name(expression)


def _name_place(item: Output) -> Span | None:
    """Where the name of a column stands, if the list has it."""
    written_last = item.expression.parts[-1] if isinstance(item.expression, e.Name) else None
    name = item.alias or written_last
    return name.span if isinstance(name, Identifier) else None


def _star(star: e.Star, relations: Sequence[ColumnSource], findings: Findings) -> Iterator[SelectedColumn]:
    chosen = relations
    if star.qualifier is not None:
        chosen = [r for r in relations if same(star.qualifier, written(r.name))]
    if not chosen:
        hint = did_you_mean(star.qualifier or "", [r.name for r in relations], "sources")
        findings.report("NEEL2003", f"unknown name `{star.qualifier}`", findings.at(star), hint)
    for relation in chosen:
        for column in relation.columns or ():
            if column.name not in relation.times:
                yield SelectedColumn(_attribute(relation, column, star), relation.name)


def _attribute(relation: ColumnSource, column: Column, place: Node) -> OutputColumn:
    event = e.Variable(written(relation.name))
    attribute = e.Attribute(event, written(column.name), column.type, span=place.span)
    return OutputColumn(column.name, attribute, column.type, span=place.span)


def with_own_names(
    columns: Sequence[SelectedColumn], place: Node, findings: Findings
) -> tuple[OutputColumn, ...]:
    """The columns with distinct names: columns that `*` took from several sources get the source's name as a
    prefix, as in RETURN: `servers_id` and `averages_id`. Any other clash is an error, also one with the
    time."""
    names = [one.output.name.casefold() for one in columns]
    outputs: list[OutputColumn] = []
    for one in columns:
        output = one.output
        if one.source is not None and names.count(output.name.casefold()) > 1:
            output = replace(output, name=f"{one.source}_{output.name}")
        if not findings.knows(findings.at(place)):  # a clash might be a consequence of what is wrong
            _check_name(output, [other.name for other in outputs], place, findings)
        outputs.append(output)
    return tuple(outputs)


def _check_name(output: OutputColumn, before: Sequence[str], place: Node, findings: Findings) -> None:
    span = findings.at(output, place)
    if output.name.casefold() in (START, END):
        message = f"column `{output.name}` has the name of a valid-time column, which every result has"
        hint = f"leave it out, or give it another name: AS {output.name}_1"
        findings.report("NEEL3304", message, span, hint)
    elif find(written(output.name), [name.casefold() for name in before] + list(before)) is not None:
        message = f"two columns of the result are called `{output.name}`"
        findings.report("NEEL2009", message, span, f"name one of them: AS {written(output.name + '_2')}")


# GROUP BY, aggregates and HAVING: the aggregator below the list of a SELECT.

VARIABLE = "groups"
"""What the payload of an aggregator is known by, above it and in no text."""

NAMES = {"mean": "avg"}
"""Other names of aggregates."""


@dataclass(frozen=True)
class AggregatorColumns:
    """What an aggregator computes, and the columns of the result in its terms."""

    groups: tuple[OutputColumn, ...]
    aggregates: tuple[OutputColumn, ...]
    outputs: tuple[SelectedColumn, ...]
    having: e.Expr | None


def group_columns(keys: Sequence[tuple[e.Expr, e.Expr]]) -> tuple[OutputColumn, ...]:
    """GROUP BY: the expressions, as written and as bound, with names that differ."""
    groups: dict[e.Expr, OutputColumn] = {}
    for key, bound in keys:
        name = plain_name(key)
        while any(other.name == name for other in groups.values()):
            name += "_"
        groups.setdefault(bound, OutputColumn(name, bound, type_of(bound), span=key.span))
    return tuple(groups.values())


def grouped(
    columns: Sequence[SelectedColumn],
    groups: tuple[OutputColumn, ...],
    having: e.Expr | None,
    findings: Findings,
) -> AggregatorColumns:
    """The list and HAVING over groups. "All attributes used for grouping are automatically added to the
    output schema" (JEPC thesis, 7.6): those that no column shows."""
    aggregates: dict[e.Expr, OutputColumn] = {}
    made = _Above(groups, aggregates, findings)
    outputs = [replace(one, output=made.column(one)) for one in columns]
    shown = {one.output.expression for one in columns}
    added = [made.of_group(group) for group in groups if group.expression not in shown]
    above = None if having is None else made.value(having, having)
    return AggregatorColumns(groups, tuple(aggregates.values()), (*outputs, *added), above)


@dataclass
class _Above:
    """Expressions in terms of what the aggregator computes; aggregates are added where they are named."""

    groups: tuple[OutputColumn, ...]
    aggregates: dict[e.Expr, OutputColumn]
    findings: Findings

    def column(self, listed: SelectedColumn) -> OutputColumn:
        output = listed.output
        is_grouped = any(group.expression == output.expression for group in self.groups)
        if listed.source is not None and not is_grouped:
            message = "`*` stands for columns that are neither grouped nor aggregated"
            hint = "list those of GROUP BY, and aggregates"
            self.findings.report("NEEL3207", message, self.findings.at(output), hint)
            return output
        return replace(output, expression=self.value(output.expression, output))

    def of_group(self, group: OutputColumn) -> SelectedColumn:
        return SelectedColumn(replace(group, expression=_group_attribute(group)))

    def value(self, node: e.Expr, place: Node) -> e.Expr:
        group = next((one for one in self.groups if one.expression == node), None)
        if group is not None:
            return _group_attribute(group)
        if isinstance(node, e.Aggregate):
            return _group_attribute(self._aggregate(node))
        if isinstance(node, e.Attribute):
            if isinstance(place, OutputColumn) and place.expression is node and place.span is not None:
                node = replace(node, span=place.span)
            message = f"`{node.name}` is neither grouped nor aggregated"
            hint = f"add it to GROUP BY, or choose one value: max({node.name})"
            self.findings.report("NEEL3207", message, self.findings.at(node, place), hint)
            return node

        def below(child: Node) -> Node:
            return self.value(child, place) if isinstance(child, e.Expr) else map_children(child, below)

        return map_children(node, below)

    def _aggregate(self, node: e.Aggregate) -> OutputColumn:
        node = replace(node, name=NAMES.get(node.name, node.name))
        is_known = node.function is not None or node.name in AGGREGATES
        if not is_known or (node.distinct and (node.name != "count" or node.argument is None)):
            call = f"{node.name}(DISTINCT ...)" if node.distinct else node.name
            message = f"`{call}` is not an aggregate of snapshots"
            hint = f"there are {', '.join(AGGREGATES)}, count(DISTINCT ...), and registered ones"
            self.findings.report("NEEL3305", message, self.findings.at(node), hint)
        if node not in self.aggregates:
            self.aggregates[node] = OutputColumn(self._free(node), node, node.type, span=node.span)
        return self.aggregates[node]

    def _free(self, node: e.Aggregate) -> str:
        name = output_name(node)
        taken = {one.name for one in (*self.groups, *self.aggregates.values())}
        while name in taken:
            name += "_"
        return name


def aggregates_in(expression: e.Expr) -> Iterator[e.Aggregate]:
    """The aggregates in a bound expression."""
    return (node for node in walk(expression) if isinstance(node, e.Aggregate))


def refuse_instants(
    query: SelectStatement,
    below: Operator,
    groups: tuple[OutputColumn, ...],
    clock: Clock,
    findings: Findings,
) -> None:
    """Refuse aggregates of events that are valid for one instant each: most likely not one result for each
    instant is meant, but one of all events. Who groups by the time says that it is."""
    is_known = findings.knows(findings.at(query))
    if is_known or not has_only_points(below) or any(is_time(one.expression, below) for one in groups):
        return
    shortest = next(unit for unit, length in LENGTHS.items() if length == instant(clock))
    window = "10 MINUTES" if LENGTHS["MINUTE"] % instant(clock) == 0 else f"10 {shortest}S"
    written = (node for item in query.items for node in walk(item) if isinstance(node, e.Call))
    place = next((call for call in written if is_aggregate(call)), query)
    message = "SELECT aggregates per instant, and no event here lasts longer than an instant"
    hint = (
        f"add a window after the stream, such as WINDOW(TIME {window}), or use spark.sql for an ordinary "
        f"aggregate; WINDOW(TIME 1 {shortest}) aggregates per instant"
    )
    findings.report("NEEL3081", message, findings.at(place, query), hint)


def _group_attribute(column: OutputColumn) -> e.Attribute:
    return e.Attribute(e.Variable(VARIABLE), written(column.name), column.type, span=column.span)


# WINDOW(...) in FROM: how long events stay valid.


def bind_stream_window(
    window: StreamWindow, input: Operator, source: ColumnSource, clock: Clock, findings: Findings
) -> Operator | None:
    """The input with its events valid as long as the window says; None, and a report, if it cannot be."""
    partition = _partition(window, source, findings)
    bound = [_length(one, clock, findings) for one in (window.size, window.jump) if one is not None]
    if any(one is None for one in bound):
        return None
    size, *jumps = [one for one in bound if one is not None]
    if window.size.unit == "EVENT":
        jump = _count(jumps[0]) if jumps else 1
        return CountWindow(input, _count(size), jump, partition, span=window.span)
    # "Partitioning can also be specified for time-based windows, but it has no effect" (JEPC thesis, 7.6).
    jumping = jumps[0] if jumps and _nanoseconds(jumps[0]) != instant(clock) else None
    return TimeWindow(input, size, jumping, clock=clock, span=window.span)


def check_partition(window: StreamWindow, source: ColumnSource, findings: Findings) -> None:
    """Report names that are no columns, where the window cannot be bound."""
    _partition(window, source, findings)


def _partition(window: StreamWindow, source: ColumnSource, findings: Findings) -> tuple[Attribute, ...]:
    names = SelectNames((source,), findings)
    words = (Name((name,), span=findings.at(name, window)) for name in window.partition_by)
    resolved = [names.resolved(word) for word in words]
    return tuple(one for one in resolved if isinstance(one, Attribute))


def _length(window: Window, clock: Clock, findings: Findings) -> Window | None:
    """A whole number of events, or of instants of the stream, and at least one."""
    bound = bind_window(window, clock, findings)
    if bound is None or bound.unit == "EVENT":
        return bound
    length, smallest = _nanoseconds(bound), instant(clock)
    if length >= smallest and length % smallest == 0:
        return bound
    unit = next(name for name, size in LENGTHS.items() if size == smallest)
    message = f"{bound} is not a whole number of {unit}S, the instants of this stream"
    if length == 0:
        message = "an empty window contains nothing"
    findings.report("NEEL3302", message, findings.at(window), f"the shortest window is 1 {unit}")
    return None


def _count(window: Window) -> int:
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int)
    return window.count.value


def _nanoseconds(window: Window) -> int:
    return _count(window) * LENGTHS[window.unit or ""]


# FROM of a SELECT: streams, relations, queries, agents and pattern matchers, each with its name.


@dataclass(frozen=True)
class BoundFromItem:
    """An element of FROM: what it can be named by, and the operator that makes it.

    Without an operator it has been reported; its columns are known as far as they can be.
    """

    relation: ColumnSource
    operator: a.Operator | None = None
    clock: Clock | None = None


Select = Callable[[ScriptQuery, str], BoundFromItem]
"""How a subquery is bound, as a source of this name."""


def bind_sources(
    items: Sequence[FromItem], catalog: Catalog, findings: Findings, select: Select
) -> tuple[BoundFromItem, ...]:
    """The elements of FROM; their names differ."""
    bound_items: list[BoundFromItem] = []
    for number, item in enumerate(items, 1):
        bound = _bind_item(item, f"source_{number}", catalog, findings, select)
        name = bound.relation.name
        if any(same(written(other.relation.name), written(name)) for other in bound_items):
            place = findings.at(_source_name(item), item)
            findings.report(
                "NEEL2009", f"two sources are called `{name}`", place, "give one of them another name with AS"
            )
        bound_items.append(bound)
    return tuple(bound_items)


def _source_name(item: FromItem) -> str | None:
    named = item.name if isinstance(item, FromStream | FromAgent) else None
    return item.matcher_alias or item.alias or named


def joined_clock(items: Sequence[BoundFromItem]) -> Clock | None:
    """The clock that can write the times of all of them."""
    clocks = [item.clock for item in items if item.clock is not None]
    return reduce(joined, clocks) if clocks else None


def check_relations(items: Sequence[FromItem], bound: Sequence[BoundFromItem], findings: Findings) -> None:
    """ "A relation can only be used as input for correlation EPAs and the other input must be a stream"."""
    if not all(isinstance(item.operator, a.RelationSource) for item in bound):
        return
    message = f"`{bound[0].relation.name}` is a relation: its rows are valid forever and are not events"
    findings.report("NEEL3301", message, findings.at(items[0]), "correlate it with a stream in FROM")


def _bind_item(
    item: FromItem, otherwise: str, catalog: Catalog, findings: Findings, select: Select
) -> BoundFromItem:
    own = item.name if isinstance(item, FromStream | FromAgent) else otherwise
    name = bare(item.alias or own)
    source = _source(item, name, catalog, findings, select)
    if isinstance(source.operator, a.RelationSource) and (item.window or item.matcher):
        message = f"`{name}` is a relation: its rows are valid forever, without windows and patterns"
        findings.report("NEEL3301", message, findings.at(item), "leave it out, or declare a stream")
        return replace(source, operator=None)
    source = _windowed(item, source, findings)
    if isinstance(item.matcher, MatchSequential | MatchTemporal) and item.matcher.streams:
        further = [
            _bind_item(one, "", catalog, findings, select)
            for one in item.matcher.streams
            if isinstance(one, FromStream)
        ]
        return _matched_in_all(item, item.matcher, [source, *further], findings)
    return _matched(item, source, findings)


def _matched_in_all(
    item: FromItem,
    matcher: MatchSequential | MatchTemporal,
    sources: Sequence[BoundFromItem],
    findings: Findings,
) -> BoundFromItem:
    """The matches in the events of several streams."""
    name = sources[0].relation.name
    result = BoundFromItem(ColumnSource(bare(item.matcher_alias) if item.matcher_alias else name, None))
    names = [written(one.relation.name) for one in sources]
    for number, (one, place) in enumerate(zip(sources, (item, *matcher.streams), strict=True)):
        if isinstance(one.operator, a.RelationSource):
            message = f"`{one.relation.name}` is a relation: its rows are valid forever, without patterns"
            findings.report("NEEL3301", message, findings.at(place), "leave it out, or declare a stream")
            return result
        if any(same(names[number], other) for other in names[:number]):
            message = f"two sources are called `{one.relation.name}`"
            findings.report("NEEL2009", message, findings.at(place), "give one of them another name with AS")
            return result
    operators = [one.operator for one in sources if one.operator is not None]
    if len(operators) < len(sources):
        return result
    alias = item.matcher_alias or written(name)
    relations = [one.relation for one in sources]
    if isinstance(matcher, MatchTemporal):
        plain = plain_clause(matcher, findings)
        if plain is None:
            return result
        merged = merged_streams(plain.clause, relations, operators, findings, plain.streams)
        if merged is None or not isinstance(merged.clause, MatchTemporal):
            return result
        whole = BoundFromItem(merged.relation, merged.operator, joined_clock(sources))
        plain = replace(plain, clause=merged.clause)
        numbers = StreamNumbers(merged.number, merged.homes)
        return _matched_temporal(replace(item, matcher_alias=alias), plain, whole, findings, numbers)
    merged = merged_streams(matcher, relations, operators, findings)
    if merged is None:
        return result
    whole = BoundFromItem(merged.relation, merged.operator, joined_clock(sources))
    return _matched(replace(item, matcher=merged.clause, matcher_alias=alias), whole, findings)


def _windowed(item: FromItem, source: BoundFromItem, findings: Findings) -> BoundFromItem:
    if item.window is None:
        return source
    if source.operator is None or source.clock is None:
        check_partition(item.window, source.relation, findings)
        return source
    window = bind_stream_window(item.window, source.operator, source.relation, source.clock, findings)
    return replace(source, operator=window)


def _matched(item: FromItem, source: BoundFromItem, findings: Findings) -> BoundFromItem:
    """The source after the row pattern that stands at it."""
    if item.matcher is None:
        return source
    before = len(findings.diagnostics)
    matcher = item.matcher
    if isinstance(matcher, MatchTemporal):
        plain = plain_clause(matcher, findings)
        return _matched_temporal(item, plain, source, findings)
    if isinstance(matcher, MatchSequential):
        matcher = with_previous(matcher, source.relation)
    columns = matched_columns(matcher, source.relation, findings)
    name = bare(item.matcher_alias) if item.matcher_alias else source.relation.name
    matched = BoundFromItem(ColumnSource(name, columns), None, source.clock)
    if not isinstance(matcher, MatchSequential) or len(findings.diagnostics) > before:
        return matched
    clause = bind_sequential(matcher, source.relation, source.clock, findings)
    if clause is None or source.operator is None or source.clock is None:
        return matched
    operator = a.PatternMatcher(source.operator, written(name), clause, clock=source.clock, span=matcher.span)
    return replace(matched, relation=ColumnSource(name, clause.output), operator=operator)


def _matched_temporal(
    item: FromItem,
    plain: TemporalClause | None,
    source: BoundFromItem,
    findings: Findings,
    numbers: StreamNumbers | None = None,
) -> BoundFromItem:
    """The source after its MATCH_RECOGNIZE_TEMPORAL."""
    name = bare(item.matcher_alias) if item.matcher_alias else source.relation.name
    unknown = BoundFromItem(ColumnSource(name, None), None, source.clock)
    if plain is None or source.relation.columns is None:
        return unknown
    clause = bind_temporal(plain, source.relation, source.clock, findings, numbers)
    if clause is None:
        return unknown
    matched = replace(unknown, relation=ColumnSource(name, clause.output))
    if source.operator is None or source.clock is None:
        return matched
    operator = a.TemporalMatcher(
        source.operator, written(name), clause, clock=source.clock, span=plain.clause.span
    )
    return replace(matched, operator=operator)


def _source(item: FromItem, name: str, catalog: Catalog, findings: Findings, select: Select) -> BoundFromItem:
    match item:
        case FromStream():
            return _stream(item, name, catalog, findings)
        case FromAgent():
            return _agent(item, name, catalog, findings, select)
        case FromQuery(query=ScriptQuery() as inner):
            return select(inner, name)
        case FromMatchmaker(attributes=attributes):
            return BoundFromItem(
                ColumnSource(name, tuple(Column(bare(one.name), one.type) for one in attributes))
            )
    return BoundFromItem(ColumnSource(name, None))


def _stream(item: FromStream, name: str, catalog: Catalog, findings: Findings) -> BoundFromItem:
    entry = catalog.entry(item.name)
    if entry is None:
        hint = did_you_mean(item.name, catalog.entries, "streams") or "declare it with CREATE STREAM"
        findings.report("NEEL2004", f"unknown stream `{item.name}`", findings.at(item.name, item), hint)
        return BoundFromItem(ColumnSource(name, None))
    if entry.relation is not None:
        relation = a.RelationSource(written(name), entry.relation, span=item.span)
        return BoundFromItem(ColumnSource(name, entry.relation.columns), relation)
    if entry.stream is None or entry.clock is None:
        report_refusal(entry, findings.at(item.name, item), findings)
        return BoundFromItem(ColumnSource(name, entry.columns))
    if entry.stream.latest is not None:
        message = f"the times of `{entry.name}` are imprecise, and a SELECT must know what is valid when"
        findings.report("NEEL3307", message, findings.at(item.name, item), "PATTERN queries can read it")
        return BoundFromItem(ColumnSource(name, entry.stream.columns))
    source = a.StreamSource(written(name), entry.stream, clock=entry.clock, span=item.span)
    return BoundFromItem(ColumnSource(name, entry.stream.columns, _times(entry.stream)), source, entry.clock)


def _times(stream: Stream) -> tuple[str, ...]:
    """The columns of a declared stream that say when an event is: `*` leaves them to `ts` and `te`."""
    return () if stream.query else tuple(name for name in (stream.start, stream.end) if name)


def _agent(item: FromAgent, name: str, catalog: Catalog, findings: Findings, select: Select) -> BoundFromItem:
    known = find(item.name, catalog.agents)
    inputs = bind_sources(item.inputs, catalog, findings, select)
    if known is None:
        hint = did_you_mean(item.name, catalog.agents, "agents") or "register it: register_agent(name, ...)"
        findings.report("NEEL3306", f"unknown agent `{item.name}`", findings.at(item.name, item), hint)
        return BoundFromItem(ColumnSource(name, None))
    agent, columns = catalog.agents[known]
    if agent.inputs is not None and agent.inputs != len(inputs):
        message = f"`{known}` reads {agent.inputs} streams, not {len(inputs)}"
        findings.report("NEEL3306", message, findings.at(item), None)
    for one, source in zip(inputs, item.inputs, strict=True):
        if isinstance(one.operator, a.RelationSource):
            message = f"`{one.relation.name}` is a relation, and agents read streams"
            findings.report("NEEL3301", message, findings.at(source), "correlate it with a stream before")
    clock = joined_clock(inputs)
    operators = tuple(_whole(one) for one in inputs if one.operator is not None)
    if len(operators) < len(inputs) or clock is None:
        return BoundFromItem(ColumnSource(name, columns), None, clock)
    functions = agent.function, agent.rows
    made = a.Agent(operators, written(name), known, columns, *functions, clock=clock, span=item.span)
    return BoundFromItem(ColumnSource(name, columns), made, clock)


def _whole(item: BoundFromItem) -> a.Operator:
    """An input of an agent: its payload without the columns of its times, which come besides."""
    assert item.operator is not None
    kept = [one for one in item.operator.payload if bare(one.name) not in item.relation.times]
    outputs = tuple(OutputColumn(bare(one.name), one, one.type) for one in kept)
    return a.Projection(item.operator, written(item.relation.name), outputs)


def bind_select(
    query: SelectStatement | CombinedSelect, catalog: Catalog, findings: Findings
) -> a.Algebra | None:
    """The query as a network; None if something in it has been reported."""
    before = len(findings.diagnostics)
    bound = _query(query, "result", catalog, findings)
    if bound.operator is None or bound.clock is None or len(findings.diagnostics) > before:
        return None
    return a.Algebra(bound.operator, bound.clock, span=query.span)


def query_columns(query: ScriptQuery, catalog: Catalog, findings: Findings) -> tuple[Column, ...] | None:
    """The columns of any query, without those of the valid time; None when they cannot be known."""
    match query:
        case SelectStatement() | CombinedSelect():
            return _query(query, "result", catalog, findings).relation.columns
        case PatternQuery():
            bound = bind_query(query, catalog, findings)
            return None if bound is None else bound.columns
    return None


def _query(query: ScriptQuery, name: str, catalog: Catalog, findings: Findings) -> BoundFromItem:
    """A SELECT, or several that are combined, as a source of this name."""
    if isinstance(query, CombinedSelect):
        sides = [_query(one, name, catalog, findings) for one in (query.left, query.right)]
        clock, found = joined_clock(sides), [one.operator for one in sides]
        columns = combined_columns(query, sides[0].relation.columns, sides[1].relation.columns, findings)
        operators = tuple(one for one in found if one is not None)
        if columns is None or clock is None or len(operators) < len(found):
            return BoundFromItem(ColumnSource(name, columns), None, clock)
        combined = combined_operator(query, written(name), columns, operators)
        return BoundFromItem(ColumnSource(name, columns), combined, clock)
    assert isinstance(query, SelectStatement)
    return _selected(query, name, catalog, findings)


def _selected(query: SelectStatement, name: str, catalog: Catalog, findings: Findings) -> BoundFromItem:
    """The query as a source of this name."""

    def subquery(inner: ScriptQuery, alias: str) -> BoundFromItem:
        return _query(inner, alias, catalog, findings)

    items = bind_sources(query.sources, catalog, findings, subquery)
    check_relations(query.sources, items, findings)
    relations = tuple(item.relation for item in items)
    names = SelectNames(relations, findings)
    where = None if query.where is None else _condition(query.where, names, "WHERE", findings)
    columns = listed(query.items, relations, findings)
    _refuse_order(query, findings)
    below = _correlated(items, where)
    made = _aggregated(query, below, columns, names, findings)
    outputs = with_own_names(made.columns, query, findings)
    is_open = any(relation.columns is None for relation in relations)
    star = any(isinstance(item.expression, e.Star) for item in query.items)
    known = None if is_open and star else tuple(Column(one.name, one.type) for one in outputs)
    relation, clock = ColumnSource(name, known), joined_clock(items)
    if made.operator is None or clock is None or below is None:
        return BoundFromItem(relation, None, clock)
    if made.is_aggregated:
        refuse_instants(query, below, made.groups, clock, findings)
    variable = written(name)
    projected = a.Projection(made.operator, variable, outputs, span=query.span)
    result = _distinct(projected, variable) if query.distinct else projected
    # Of an aggregate, changes are events. This SELECT says which payload changes, so that whatever reads it,
    # by name or as a subquery, reads the same events.
    is_coalesced = query.distinct or made.is_aggregated
    return BoundFromItem(relation, a.Coalesced(result, span=query.span) if is_coalesced else result, clock)


def _condition(expression: e.Expr, names: SelectNames, place: str, findings: Findings) -> e.Expr:
    bound = typed_condition(names.resolved(expression), place, findings.report)
    if place == "WHERE":
        _refuse_aggregates(bound, place, findings)
    return bound


def _refuse_aggregates(bound: e.Expr, place: str, findings: Findings) -> None:
    for aggregate in aggregates_in(bound):
        message = f"{place} tests single events, so it cannot contain aggregates"
        findings.report("NEEL2109", message, findings.at(aggregate), "HAVING tests groups")


def _refuse_order(query: SelectStatement, findings: Findings) -> None:
    """A stream goes on, and its order is that of time."""
    if query.order_by:
        place = findings.at(query.order_by[0])
        message, hint = (
            "the events of a stream are ordered by time only",
            "leave ORDER BY out; sort the result, in Python with .orderBy(...)",
        )
        findings.report("NEEL3303", message, place, hint)
    if query.limit is not None:
        place = findings.at(query.limit_keyword, query)
        message = "at every instant all payloads count"
        hint = "leave LIMIT out; take some of the result, in Python with .limit(10)"
        findings.report("NEEL3303", message, place, hint)


def _correlated(items: tuple[BoundFromItem, ...], where: e.Expr | None) -> a.Operator | None:
    operators = tuple(item.operator for item in items if item.operator is not None)
    if len(operators) < len(items):
        return None
    if len(operators) > 1:
        return a.Correlator(operators, where)
    return operators[0] if where is None else a.Filter(operators[0], where, span=where.span)


@dataclass(frozen=True)
class _Made:
    """The columns of the list, over the operator below it."""

    operator: a.Operator | None
    columns: tuple[SelectedColumn, ...]
    is_aggregated: bool = False
    groups: tuple[OutputColumn, ...] = ()


def _aggregated(
    query: SelectStatement,
    below: a.Operator | None,
    columns: list[SelectedColumn],
    names: SelectNames,
    findings: Findings,
) -> _Made:
    """The list over groups, if there are any."""
    written_keys = [with_aliases(_by_place(key, query), query.items, names.plain) for key in query.group_by]
    keys = [(key, typed(names.resolved(key), findings.report)[0]) for key in written_keys]
    having = None
    if query.having is not None:
        condition = with_aliases(query.having, query.items, names.plain)
        having = _condition(condition, names, "HAVING", findings)
    has_aggregate = any(any(aggregates_in(one.output.expression)) for one in columns)
    if not keys and having is None and not has_aggregate:
        return _Made(below, tuple(columns))
    for _, key in keys:
        _refuse_aggregates(key, "GROUP BY", findings)
    made = grouped(columns, group_columns(keys), having, findings)
    if below is None:
        return _Made(None, made.outputs, True)
    operator: a.Operator = a.Aggregator(below, VARIABLE, made.groups, made.aggregates, span=query.span)
    if made.having is not None:
        operator = a.Filter(operator, made.having, span=made.having.span)
    return _Made(operator, made.outputs, True, made.groups)


def _by_place(key: e.Expr, query: SelectStatement) -> e.Expr:
    """`GROUP BY 2` is by the second column of the list, as in Spark."""
    if isinstance(key, e.Literal) and type(key.value) is int and 1 <= key.value <= len(query.items):
        return query.items[key.value - 1].expression
    return key


def _distinct(input: a.Projection, variable: str) -> a.Operator:
    """At every instant each payload once: groups of equal payloads."""
    groups = tuple(
        OutputColumn(one.name, of, one.type) for one, of in zip(input.outputs, input.payload, strict=True)
    )
    return a.Aggregator(input, variable, groups, span=input.span)
