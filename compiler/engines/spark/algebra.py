"""A network of the event algebra as relations: from its sources up, one or a few for each operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from neelc.algebra.plan.aggregates import AggregatorPlan, result_type
from neelc.algebra.plan.extended_filter import ExtendedFilter
from neelc.algebra.plan.network import MatcherSetPlan, NetworkPlan, matcher_below
from neelc.algebra.rules.rule import Place, place_of
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
from neelc.engines.spark.relations import (
    AgentCall,
    CalledFunctions,
    Extend,
    FunctionCall,
    Items,
    Kernel,
    Let,
    SelectColumns,
    Sorted,
    Union,
    Where,
)
from neelc.engines.spark.scans import StreamRelations
from neelc.engines.spark.sequential import (
    MOMENT,
    SharedMatches,
    emit_apart,
    emit_extended_filter,
    emit_pattern_matcher,
    emit_shared_matches,
    emit_sharing_matcher,
    lasting_of,
)
from neelc.engines.spark.temporal import emit_temporal_matcher
from neelc.ir import algebra as a
from neelc.ir.algebra import END, START, Agent, Aggregator, Coalesced
from neelc.ir.expressions import Aggregate, Attribute, Expr, conjuncts
from neelc.ir.names import bare
from neelc.ir.program import OutputColumn
from neelc.ir.types import DOUBLE, FLOAT, STRING, DataType
from neelc.runtime.kernels.snapshots.program import LIST, CoalesceProgram, SnapshotAggregate, SnapshotProgram
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.expressions import as_number, as_time, floor_divided, sql
from neelc.scalar.spark.trees import alias, identifier, literal, spark_type
from neelc.scalar.type_of import type_of

# Aggregators: a kernel that walks over the events of a group in the order of time.


CHUNK = 8
"""How many times the longest validity make a chunk of time: an eighth of the events is read twice."""


@dataclass(frozen=True)
class KernelAggregates:
    """What the kernel reads: keys, arguments, and the aggregates over them by their expressions."""

    keys: tuple[tuple[str, DataType], ...]
    arguments: Items
    folded: Mapping[Expr, SnapshotAggregate]


def emit_aggregator(
    emitting: RelationBuilder,
    aggregator: Aggregator,
    planned: AggregatorPlan,
    stage: EventRelation,
    chunked: bool,
) -> EventRelation:
    """The aggregates of what is valid at an instant, for each group. Without a group, or if it is `chunked`,
    time is cut into chunks, if it is known how long events are valid."""
    keys_of_groups = tuple((f"group_{number}", one.type) for number, one in enumerate(aggregator.groups, 1))
    arguments = tuple((stage.sql(argument), name) for argument, name in planned.arguments.items())
    columns = KernelAggregates(keys_of_groups, arguments, planned.folded)
    items: Items = (
        *((normal_key(stage.sql(one.expression), one.type), name)
          for one, (name, _) in zip(aggregator.groups, columns.keys, strict=True)),
        ("start", "start"),
        ("`end`", "end"),
        *columns.arguments,
    )  # fmt: skip
    read = emitting.let("grouped", SelectColumns(stage.relation, items), "What is aggregated, and by what.")
    keys = tuple(name for name, _ in columns.keys)
    chunk = None
    if stage.length is not None and (chunked or not keys):
        chunk = CHUNK * max(1, stage.length)
        read = emitting.let("chunked", Extend(read, ((_chunks(chunk), "chunk"),)), _chunk_comment(keys))
        keys = (*keys, "chunk")
    read = emitting.let("ordered", _sorted(read, keys), _order_comment(keys))
    program = SnapshotProgram(keys, tuple(columns.folded.values()), chunk, label_of(aggregator))
    types = [(name, spark_type(type)) for name, type in columns.keys]
    types += [("chunk", "BIGINT")] if chunk is not None else []
    types += [("start", "BIGINT"), ("end", "BIGINT")]
    types += [(one.name, given_type(node, one)) for node, one in columns.folded.items()]
    schema = ", ".join(f"{alias(name)} {type}" for name, type in types)
    aggregated = emitting.let(
        "at_instants", Kernel(read, program, schema), f"{label_of(aggregator)}, at every instant."
    )
    return aggregator_result(
        emitting, aggregator, stage, columns, called_functions(emitting, columns, aggregated)
    )


def given_type(node: Expr, one: SnapshotAggregate) -> str:
    """What the kernel gives: a list for a function of a user."""
    if one.function != LIST:
        return spark_type(result_type(node))
    assert isinstance(node, Aggregate) and node.argument is not None, "a list is one of values"
    return f"ARRAY<{spark_type(type_of(node.argument))}>"


def called_functions(emitting: RelationBuilder, columns: KernelAggregates, source: str) -> str:
    """The relation with what functions of users give, in place of their lists."""
    calls = [
        FunctionCall(node.name, one.name, f"{one.name} of {node.name}", spark_type(result_type(node)))
        for node, one in columns.folded.items()
        if isinstance(node, Aggregate) and one.function == LIST
    ]
    if not calls:
        return source
    return emitting.let("called", CalledFunctions(source, tuple(calls)), "What users' functions give.")


def aggregator_result(
    emitting: RelationBuilder,
    aggregator: Aggregator,
    stage: EventRelation,
    columns: KernelAggregates,
    source: str,
) -> EventRelation:
    """The payload of the aggregator, computed of groups and aggregates."""
    groups = {one.expression: name for one, (name, _) in zip(aggregator.groups, columns.keys, strict=True)}

    def refs(node: Expr) -> str | None:
        if isinstance(node, Aggregate) and node in columns.folded:
            one = columns.folded[node]
            return identifier(f"{one.name} of {node.name}") if one.function == LIST else one.name
        return groups.get(node)

    names = named(aggregator.payload)
    made = (*aggregator.groups, *aggregator.aggregates)
    items: Items = (
        *((sql(one.expression, refs), name) for one, name in zip(made, names.values(), strict=True)),
        ("start", "start"),
        ("`end`", "end"),
    )
    name = emitting.let("aggregated", SelectColumns(source, items), "The payload of each result.")
    return EventRelation(name, names, stage.length)


def emit_coalesced(emitting: RelationBuilder, operator: Coalesced, stage: EventRelation) -> EventRelation:
    """The same snapshots in the longest intervals: a payload is a key here."""
    types = {place_of(one): one.type for one in operator.payload}
    keys = tuple(stage.columns.values())
    items: Items = (
        *((normal_key(identifier(name), types[key]), name) for key, name in stage.columns.items()),
        ("start", "start"),
        ("`end`", "end"),
    )
    read = emitting.let("payloads", SelectColumns(stage.relation, items), "Equal payloads are equal keys.")
    read = emitting.let("ordered", _sorted(read, keys), _order_comment(keys))
    schema = ", ".join(f"{alias(name)} {spark_type(types[key])}" for key, name in stage.columns.items())
    schema += f"{', ' if schema else ''}start BIGINT, `end` BIGINT"
    program = CoalesceProgram(keys)
    name = emitting.let("longest", Kernel(read, program, schema), "Equal payloads that meet are one event.")
    return EventRelation(name, stage.columns)


def _sorted(source: str, keys: tuple[str, ...]) -> Sorted:
    names = tuple(map(identifier, keys))
    return Sorted(source, names, (*names, "start"))


def _chunks(chunk: int) -> str:
    """The chunks of time in which an event is valid."""
    first, last = floor_divided("start", chunk), floor_divided("(`end` - 1L)", chunk)
    return f"explode(sequence({first}, {last}))"


def _chunk_comment(keys: tuple[str, ...]) -> str:
    why = "Groups are cut" if keys else "No group: time is cut"
    return f"{why} into chunks, and each event stands in all chunks in which it is valid."


def _order_comment(keys: tuple[str, ...]) -> str:
    if not keys:
        return (
            "Nobody knows how long events are valid, so time is not cut; there is no group either: all "
            "together, one sequence in the order of time, on one core."
        )
    return "Those of a key together, in the order of time."


def label_of(aggregator: Aggregator) -> str:
    made = ", ".join(str(one.expression) for one in (*aggregator.groups, *aggregator.aggregates))
    return f"SELECT {made}"


def normal_key(text: str, type: DataType) -> str:
    """Equal numbers must be equal as keys: zero has two forms, and NaN many."""
    if type == FLOAT:
        return f"CAST(nanvl({text} + 0.0D, double('NaN')) AS FLOAT)"
    return f"nanvl({text} + 0.0D, double('NaN'))" if type == DOUBLE else text


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


SharedFilters = dict[ExtendedFilter | None, SharedMatches]
"""What was written already for several matchers."""


def algebra_relations(
    plan: NetworkPlan,
    sources: StreamRelations,
    taken: set[str],
    name: str,
    as_stream: bool,
    shared: SharedFilters | None = None,
) -> Iterator[Let]:
    """The relations of a SELECT, but what it shares with those before it."""
    query, unit = plan.query, plan.unit
    emitting = RelationBuilder(unit, query.clock, sources, taken, most_matches=plan.most_matches)
    stage = NetworkWriter(emitting, plan, shared={} if shared is None else shared).stage(
        plan.root, query.root.payload
    )
    emitting.lets.append(result_of(plan, stage, name, as_stream))
    yield from emitting.lets


def result_of(plan: NetworkPlan, stage: EventRelation, name: str, as_stream: bool) -> Let:
    """The result of a SELECT, or what others read of it."""
    query, unit = plan.query, plan.unit
    times: Items = (
        (as_time("start", unit, query.clock), a.START),
        (f"IF(`end` = {FOREVER}, NULL, {as_time('`end`', unit, query.clock)})", a.END),
    )
    if as_stream:
        times = (("start", f"{a.START}_number"), ("`end`", f"{a.END}_number"))
    columns = [(column.name, one) for column, one in zip(query.columns, query.root.payload, strict=False)]
    items: Items = tuple((identifier(stage.columns[place_of(one)]), column) for column, one in columns)
    return Let(name, SelectColumns(stage.relation, (*items, *times)), "SELECT")


# Rules that are the matches of matchers: what each makes of a match, as text over one relation of all.


@dataclass(frozen=True)
class MatchTexts:
    """What a SELECT makes of a match of the matcher with this number: the `values` of attributes, and the
    `conditions` under which there is a row."""

    member: int
    values: Mapping[Place, str]
    conditions: tuple[str, ...] = ()

    def sql(self, expression: Expr) -> str:
        def value(node: Expr) -> str | None:
            return f"({self.values[place_of(node)]})" if isinstance(node, Attribute) else None

        return sql(expression, value)


def match_texts(operator: a.Operator, shared: SharedMatches) -> MatchTexts:
    """What an operator makes of the matches of the matcher below it, see `matcher_below`."""
    match operator:
        case a.PatternMatcher():
            return MatchTexts(shared.members[operator][1].number, shared.measures(operator))
        case a.Filter(input, condition) | a.Correlator((input,), condition):
            found = match_texts(input, shared)
            met = tuple(f"({found.sql(one)})" for one in conjuncts(condition))
            return replace(found, conditions=(*found.conditions, *met))
        case a.Projection(input, _, outputs):
            found = match_texts(input, shared)
            texts = [found.sql(one.expression) for one in outputs]
            return replace(found, values=dict(zip(map(place_of, operator.payload), texts, strict=True)))
    raise AssertionError(f"{type(operator).__name__} takes more than a match")


@dataclass(frozen=True)
class MatcherSetRelations:
    """The relations of a set of matchers, of which the last has the matches of all; and what each rule makes
    of those of its own."""

    lets: tuple[Let, ...]
    texts: Mapping[str, MatchTexts]


def matcher_set_relations(
    plan: MatcherSetPlan, sources: StreamRelations, taken: set[str]
) -> MatcherSetRelations:
    """The events of a set, the filter, and the kernel."""
    first = next(iter(plan.rules.values()))
    emitting = RelationBuilder(first.unit, first.query.clock, sources, taken, most_matches=first.most_matches)
    events = plan.filter.matchers[0].input
    stage = NetworkWriter(emitting, first).stage(events, events.payload)
    shared = emit_shared_matches(emitting, plan.filter, stage)
    texts = {name: match_texts(one.root, shared) for name, one in plan.rules.items()}
    return MatcherSetRelations(tuple(emitting.lets), texts)


def times_of_match(plan: NetworkPlan) -> tuple[str, str]:
    """When a match is valid, as the SELECT of one matcher writes it."""
    matcher = matcher_below(plan.root)
    assert matcher is not None, "a rule of a set of matchers"
    unit, clock = plan.unit, plan.query.clock
    return as_time(MOMENT, unit, clock), as_time(f"({MOMENT} + {lasting_of(matcher, unit)}L)", unit, clock)


@dataclass(frozen=True)
class NetworkWriter:
    """Writes the operators of a network, but those that are `written` already, and what is `shared`
    with others."""

    emitting: RelationBuilder
    plan: NetworkPlan
    written: Mapping[a.Operator, EventRelation] = field(default_factory=dict)
    shared: SharedFilters = field(default_factory=dict)

    def stage(self, operator: a.Operator, needed: Iterable[Expr]) -> EventRelation:
        """The relation of an operator, with the attributes that are needed of it."""
        required: tuple[Expr, ...] = tuple(needed)
        if operator in self.written:
            return self.written[operator]
        match operator:
            case a.StreamSource():
                return emit_source(self.emitting, operator, required)
            case a.RelationSource():
                return emit_relation(self.emitting, operator, required)
            case a.TimeWindow(input):
                return emit_time_window(self.emitting, operator, self.stage(input, required))
            case a.CountWindow(input, partition=partition):
                return emit_count_window(self.emitting, operator, self.stage(input, (*required, *partition)))
            case a.Filter(input, condition):
                return self._filter(condition, self.stage(input, (*required, condition)))
            case a.Correlator():
                return self._correlator(operator, required)
            case a.Aggregator(input, _, groups, aggregates):
                below = self.stage(input, [one.expression for one in (*groups, *aggregates)])
                planned = self.plan.aggregators[operator]
                return emit_aggregator(self.emitting, operator, planned, below, self.plan.chunked)
            case a.Projection(input, _, outputs):
                return self._projection(operator, outputs, input, required)
            case a.Coalesced(input):
                return emit_coalesced(self.emitting, operator, self.stage(input, input.payload))
            case a.Merger(inputs):
                return self._merger([self.stage(one, required) for one in inputs])
            case a.Agent(inputs):
                below_all = [self.stage(one, one.payload) for one in inputs]
                return emit_agent(self.emitting, operator, below_all)
            case a.PatternMatcher():
                return self._matcher(operator)
            case a.TemporalMatcher(input):
                below = self.stage(input, input.payload)
                return emit_temporal_matcher(self.emitting, operator, self.plan.temporal[operator], below)
        raise AssertionError(f"no relation for {type(operator).__name__}")

    def _matcher(self, operator: a.PatternMatcher) -> EventRelation:
        """A matcher reads few events, if there is an extended filter. Several may share one."""
        plan, planned = self.plan.matchers[operator], self.plan.filters.get(operator)
        if planned in self.shared:
            return emit_sharing_matcher(self.emitting, operator, self.shared[planned])
        below = self.stage(operator.input, operator.input.payload)
        if planned is None or not planned.pays:
            return emit_pattern_matcher(self.emitting, operator, plan, below)
        if len(planned.matchers) == 1:
            few = emit_extended_filter(self.emitting, planned, below)
            return emit_pattern_matcher(self.emitting, operator, plan, few)
        found = emit_shared_matches(self.emitting, planned, below)
        self.shared[planned] = emit_apart(self.emitting, found)
        return emit_sharing_matcher(self.emitting, operator, self.shared[planned])

    def _merger(self, stages: list[EventRelation]) -> EventRelation:
        """The events of all inputs, whose attributes are in columns of the same names."""
        name = self.emitting.let(
            "merged", Union(tuple(one.relation for one in stages)), "The events of all streams."
        )
        lengths = [one.length for one in stages]
        known = [one for one in lengths if one is not None]
        return EventRelation(name, stages[0].columns, max(known) if len(known) == len(lengths) else None)

    def _filter(self, condition: Expr, stage: EventRelation) -> EventRelation:
        tests = [stage.sql(one) for one in conjuncts(condition)]
        text = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
        name = self.emitting.let("filtered", Where(stage.relation, text), f"WHERE {condition}")
        return EventRelation(name, stage.columns, stage.length, stage.timeless)

    def _correlator(self, operator: a.Correlator, required: tuple[Expr, ...]) -> EventRelation:
        inside = (*required, *conjuncts(operator.condition))
        stages = [self.stage(one, inside) for one in operator.inputs]
        stage = emit_correlator(self.emitting, operator, stages, self.plan.orders[operator])
        if len(stages) == 1 and operator.condition is not None:
            return self._filter(operator.condition, stage)
        return stage

    def _projection(
        self, operator: a.Operator, outputs: tuple[OutputColumn, ...], input: a.Operator,
        required: tuple[Expr, ...],
    ) -> EventRelation:  # fmt: skip
        kept: dict[Attribute, OutputColumn] = dict(zip(operator.payload, outputs, strict=True))
        payload = used(operator.payload, required)
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
