"""A network of the event algebra as relations: from its sources up, one or a few for each operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from neelc.algebra.plan.network import NetworkPlan
from neelc.algebra.rules.rule import place_of
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
    named,
    used,
)
from neelc.engines.spark.relations import AgentCall, Items, Let, SelectColumns, Where
from neelc.engines.spark.scans import StreamRelations
from neelc.engines.spark.sequential import emit_extended_filter, emit_pattern_matcher
from neelc.ir import algebra as a
from neelc.ir.algebra import END, START, Agent
from neelc.ir.conditions import conjuncts
from neelc.ir.expressions import Attribute, Expr
from neelc.ir.names import bare
from neelc.ir.program import OutputColumn
from neelc.ir.types import STRING
from neelc.scalar.spark.expressions import as_number, as_time
from neelc.scalar.spark.trees import identifier, literal, spark_type

# Users' own agents: functions from DataFrames to a DataFrame.


def emit_agent(emitting: RelationBuilder, agent: Agent, stages: Sequence[EventRelation]) -> EventRelation:
    """What the function makes of its inputs: each has the columns of its payload, then `ts` and `te`."""
    clock = agent.clock
    given = []
    for operator, stage in zip(agent.inputs, stages, strict=True):
        items: Items = (
            *((identifier(stage.columns[place_of(one)]), bare(one.name)) for one in operator.payload),
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


def algebra_relations(
    plan: NetworkPlan, sources: StreamRelations, taken: set[str], name: str, as_stream: bool
) -> Iterator[Let]:
    """The relations of a SELECT."""
    query, unit = plan.query, plan.unit
    emitting = RelationBuilder(unit, query.clock, sources, taken, most_matches=plan.most_matches)
    needed: tuple[Expr, ...] = query.root.payload
    stage = _Writer(emitting, plan).stage(plan.root, needed)
    times: Items = (
        (as_time("start", unit, query.clock), a.START),
        (f"IF(`end` = {FOREVER}, NULL, {as_time('`end`', unit, query.clock)})", a.END),
    )
    if as_stream:
        times = (("start", f"{a.START}_number"), ("`end`", f"{a.END}_number"))
    columns = [(column.name, one) for column, one in zip(query.columns, query.root.payload, strict=False)]
    items: Items = tuple((identifier(stage.columns[place_of(one)]), column) for column, one in columns)
    emitting.lets.append(Let(name, SelectColumns(stage.relation, (*items, *times)), "SELECT"))
    yield from emitting.lets


@dataclass(frozen=True)
class _Writer:
    """`shared` is what several matchers read."""

    emitting: RelationBuilder
    plan: NetworkPlan
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
                planned = self.plan.aggregators[operator]
                return emit_aggregator(self.emitting, operator, planned, below, self.plan.chunked)
            case a.Projection(input, _, outputs):
                return self._projection(operator, outputs, input, wanted)
            case a.Coalesced(input):
                return emit_coalesced(self.emitting, operator, self.stage(input, input.payload))
            case a.Agent(inputs):
                below_all = [self.stage(one, one.payload) for one in inputs]
                return emit_agent(self.emitting, operator, below_all)
            case a.PatternMatcher():
                program = self.plan.matchers[operator]
                return emit_pattern_matcher(self.emitting, operator, program, self._candidates(operator))
        raise AssertionError(f"no relation for {type(operator).__name__}")

    def _candidates(self, operator: a.PatternMatcher) -> EventRelation:
        """The events that a matcher reads: few of them, if there is an extended filter. Several matchers may
        share one."""
        planned = self.plan.filters.get(operator)
        if planned is None:
            return self.stage(operator.input, operator.input.payload)
        if planned.matchers not in self.shared:
            below = self.stage(operator.input, operator.input.payload)
            self.shared[planned.matchers] = emit_extended_filter(self.emitting, planned, below)
        return self.shared[planned.matchers]

    def _filter(self, condition: Expr, stage: EventRelation) -> EventRelation:
        tests = [stage.sql(one) for one in conjuncts(condition)]
        text = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
        name = self.emitting.let("filtered", Where(stage.relation, text), f"WHERE {condition}")
        return EventRelation(name, stage.columns, stage.length, stage.timeless)

    def _correlator(self, operator: a.Correlator, wanted: tuple[Expr, ...]) -> EventRelation:
        inside = (*wanted, *conjuncts(operator.condition))
        stages = [self.stage(one, inside) for one in operator.inputs]
        stage = emit_correlator(self.emitting, operator, stages, self.plan.orders[operator])
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
            (stage.sql(kept[one].expression), names[place_of(one)]) for one in payload
        ]
        if not stage.timeless:
            items += [("start", "start"), ("`end`", "end")]
        name = self.emitting.let(
            "projected", SelectColumns(stage.relation, tuple(items)), "What is selected."
        )
        return EventRelation(name, names, stage.length, stage.timeless)


# How a network would be executed by itself: for explanations.


def relations_alone(plan: NetworkPlan) -> tuple[Let, ...]:
    """The relations of a network, as if it read streams of these names."""
    query = plan.query
    units = {stream.query: plan.unit for stream in query.streams if stream.query}
    sources = StreamRelations({stream.name: stream.name for stream in query.streams}, units)
    return tuple(algebra_relations(plan, sources, set(), "result", False))
