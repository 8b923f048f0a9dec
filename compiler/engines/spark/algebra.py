"""A network of the event algebra as relations: from its sources up, one or a few for each operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from neelc.algebra.cost.order import join_order, written_order
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.spark.aggregates import emit_aggregator, emit_coalesced
from neelc.engines.spark.correlations import (
    FOREVER,
    EventRelation,
    RelationBuilder,
    emit_correlator,
    emit_count_window,
    emit_relation,
    emit_source,
    emit_time_window,
    key_of,
    named,
    used,
)
from neelc.engines.spark.relations import AgentCall, Items, Let, SelectColumns, Where
from neelc.engines.spark.scans import StreamRelations
from neelc.engines.spark.sequential import emit_extended_filter, emit_pattern_matcher
from neelc.ir import algebra as a
from neelc.ir.algebra import END, START, Agent, Algebra, Operator
from neelc.ir.conditions import conjuncts
from neelc.ir.expressions import Attribute, Expr
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.program import OutputColumn
from neelc.ir.types import STRING
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import network_unit
from neelc.scalar.spark.expressions import as_number, as_time
from neelc.scalar.spark.trees import identifier, literal, spark_type

# Users' own agents: functions from DataFrames to a DataFrame.


def emit_agent(emitting: RelationBuilder, agent: Agent, stages: Sequence[EventRelation]) -> EventRelation:
    """What the function makes of its inputs: each has the columns of its payload, then `ts` and `te`."""
    clock = agent.clock
    given = []
    for operator, stage in zip(agent.inputs, stages, strict=True):
        items: Items = (
            *((identifier(stage.columns[key_of(one)]), bare(one.name)) for one in operator.payload),
            (as_time("start", emitting.unit, clock, emitting.clock), START),
            (f"IF(`end` = {FOREVER}, NULL, {as_time('`end`', emitting.unit, clock, emitting.clock)})", END),
        )
        given.append(
            emitting.let("given", SelectColumns(stage.relation, items), f"What {agent.name} is given.")
        )
    made = emitting.let("made", AgentCall(agent.name, tuple(given)), f"The agent {agent.name}.")
    columns = named(agent.payload)
    start, end = (
        as_number(name, clock.type, clock.unit or "", emitting.unit, emitting.clock) for name in (START, END)
    )
    wrong = f"the agent {agent.name} gave an event that is valid at no instant"
    checked = f"IF({START} IS NULL OR {END} <= {START}, raise_error({literal(wrong, STRING)}), {start})"
    items = (
        *(
            (f"CAST({identifier(column.name)} AS {spark_type(column.type)})", name)
            for column, name in zip(agent.columns, columns.values(), strict=True)
        ),
        (f"CAST({checked} AS BIGINT)", "start"),
        (f"coalesce({end}, {FOREVER})", "end"),
    )
    return EventRelation(emitting.let("found", SelectColumns(made, items), "Its events."), columns)


@dataclass(frozen=True)
class NetworkOptions:
    """How a network is executed: whether groups are cut into chunks of time, and whether the inputs of a
    correlator are joined in the order of cost, or as they are written; how many matches a task may find."""

    statistics: Statistics
    chunked: bool = False
    ordered: bool = True
    most_matches: int | None = None


def algebra_relations(
    query: a.Algebra, root: a.Operator, unit: str, sources: StreamRelations, taken: set[str], name: str,
    as_stream: bool, way: NetworkOptions,
) -> Iterator[Let]:  # fmt: skip
    """The relations of a SELECT, of which `root` is what rewriting made; raises `UnsupportedQuery`."""
    emitting = RelationBuilder(unit, query.clock, sources, taken, most_matches=way.most_matches)
    needed: tuple[Expr, ...] = query.root.payload
    matchers = tuple(node for node in walk(root) if isinstance(node, a.PatternMatcher))
    stage = _Writer(emitting, way, matchers).stage(root, needed)
    times: Items = (
        (as_time("start", unit, query.clock), a.START),
        (f"IF(`end` = {FOREVER}, NULL, {as_time('`end`', unit, query.clock)})", a.END),
    )
    if as_stream:
        times = (("start", f"{a.START}_number"), ("`end`", f"{a.END}_number"))
    columns = [(column.name, one) for column, one in zip(query.columns, query.root.payload, strict=False)]
    items: Items = tuple((identifier(stage.columns[key_of(one)]), column) for column, one in columns)
    emitting.lets.append(Let(name, SelectColumns(stage.relation, (*items, *times)), "SELECT"))
    yield from emitting.lets


def _reads(matcher: a.PatternMatcher) -> tuple[a.Operator, tuple[str, ...]]:
    """What the extended filter of a matcher depends on, besides its symbols."""
    return matcher.input, matcher.clause.partition


@dataclass(frozen=True)
class _Writer:
    """`matchers` are all of the network; `shared` what several of them read."""

    emitting: RelationBuilder
    way: NetworkOptions
    matchers: tuple[a.PatternMatcher, ...]
    shared: dict[tuple[a.PatternMatcher, ...], EventRelation] = field(default_factory=dict)

    def stage(self, operator: a.Operator, needed: Iterable[Expr]) -> EventRelation:
        """The relation of an operator, with the attributes that are needed of it."""
        wanted: tuple[Expr, ...] = tuple(needed)
        match operator:
            case a.StreamSource():
                return emit_source(self.emitting, operator, wanted)
            case a.RelationSource():
                return emit_relation(self.emitting, operator, wanted)
            case a.TimeWindow(input):
                return emit_time_window(self.emitting, operator, self.stage(input, wanted))
            case a.CountWindow(input, partition=partition):
                return emit_count_window(self.emitting, operator, self.stage(input, (*wanted, *partition)))
            case a.Filter(input, condition):
                return self._filter(condition, self.stage(input, (*wanted, condition)))
            case a.Correlator():
                return self._correlator(operator, wanted)
            case a.Aggregator(input, _, groups, aggregates):
                below = self.stage(input, [one.expression for one in (*groups, *aggregates)])
                return emit_aggregator(self.emitting, operator, below, self.way.chunked)
            case a.Projection(input, _, outputs):
                return self._projection(operator, outputs, input, wanted)
            case a.Coalesced(input):
                return emit_coalesced(self.emitting, operator, self.stage(input, input.payload))
            case a.Agent(inputs):
                below_all = [self.stage(one, one.payload) for one in inputs]
                return emit_agent(self.emitting, operator, below_all)
            case a.PatternMatcher():
                return emit_pattern_matcher(self.emitting, operator, self._candidates(operator))
        raise UnsupportedQuery(type(operator).__name__, operator.span)

    def _candidates(self, operator: a.PatternMatcher) -> EventRelation:
        """The events that a matcher reads: few of them, if an extended filter pays. Matchers over the same
        events share one, if they can."""
        if not self.way.ordered:
            return self.stage(operator.input, operator.input.payload)
        alike = tuple(one for one in self.matchers if _reads(one) == _reads(operator))
        if alike in self.shared:
            return self.shared[alike]
        below = self.stage(operator.input, operator.input.payload)
        statistics = self.way.statistics
        if len(alike) > 1:
            found = emit_extended_filter(self.emitting, alike, below, statistics)
            if found is not None:
                self.shared[alike] = found
                return found
        return emit_extended_filter(self.emitting, (operator,), below, statistics) or below

    def _filter(self, condition: Expr, stage: EventRelation) -> EventRelation:
        tests = [stage.sql(one) for one in conjuncts(condition)]
        text = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
        name = self.emitting.let("filtered", Where(stage.relation, text), f"WHERE {condition}")
        return EventRelation(name, stage.columns, stage.length, stage.timeless)

    def _correlator(self, operator: a.Correlator, wanted: tuple[Expr, ...]) -> EventRelation:
        inside = (*wanted, *conjuncts(operator.condition))
        stages = [self.stage(one, inside) for one in operator.inputs]
        order = (join_order if self.way.ordered else written_order)(operator, self.way.statistics)
        stage = emit_correlator(self.emitting, operator, stages, order.places)
        if len(stages) == 1 and operator.condition is not None:
            return self._filter(operator.condition, stage)
        return stage

    def _projection(
        self, operator: a.Operator, outputs: tuple[OutputColumn, ...], input: a.Operator,
        wanted: tuple[Expr, ...],
    ) -> EventRelation:  # fmt: skip
        kept: dict[Attribute, OutputColumn] = dict(zip(operator.payload, outputs, strict=True))
        payload = used(operator.payload, wanted)
        stage = self.stage(input, [kept[one].expression for one in payload])
        names = named(payload)
        items: list[tuple[str, str]] = [
            (stage.sql(kept[one].expression), names[key_of(one)]) for one in payload
        ]
        if not stage.timeless:
            items += [("start", "start"), ("`end`", "end")]
        name = self.emitting.let(
            "projected", SelectColumns(stage.relation, tuple(items)), "What is selected."
        )
        return EventRelation(name, names, stage.length, stage.timeless)


# How a network would be executed by itself: for explanations.


def considered_network(query: Algebra, root: Operator, statistics: Statistics) -> tuple[Let, ...]:
    """The relations of a network; raises `UnsupportedQuery`."""
    units = {stream.query: network_unit(query) for stream in query.streams if stream.query}
    sources = StreamRelations({stream.name: stream.name for stream in query.streams}, units)
    return tuple(
        algebra_relations(
            query, root, network_unit(query), sources, set(), "result", False, NetworkOptions(statistics)
        )
    )
