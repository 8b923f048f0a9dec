"""The explanation of a SELECT: its operators, rules that fired, the order of joins, the relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neelc.algebra.cost.order import JoinOrder, join_order, network_price, written_order
from neelc.algebra.cost.sizes import size_fact, valid_events
from neelc.algebra.plan.network import NetworkPlan
from neelc.algebra.rules.optimise import OptimisedNetwork
from neelc.catalog.statistics.numbers import Fact, Statistics
from neelc.engines.spark.algebra import algebra_relations
from neelc.engines.spark.relations import Let
from neelc.engines.spark.scans import StreamRelations
from neelc.engines.streaming.algebra import select_relations
from neelc.explain.constraint_graph import ConstraintGraph, constraint_graphs
from neelc.explain.engine import SPARK, Engine
from neelc.explain.execution import refusal_sentence
from neelc.explain.explanation import PlanNode, ShownStep
from neelc.explain.steps import law
from neelc.explain.streaming import Notes, select_notes
from neelc.explain.temporal import temporal_details
from neelc.ir import algebra as a
from neelc.ir.expressions import Expr, conjuncts
from neelc.ir.names import written
from neelc.ir.node import walk
from neelc.ir.program import OutputColumn
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime.late_dataclass import dataclass

# The operators of a SELECT as a plan: what each does, and how many events of it are valid at an instant.

Detail = tuple[str, str]

_KINDS: dict[type[a.Operator], str] = {
    a.StreamSource: "scan",
    a.RelationSource: "scan",
    a.Aggregator: "aggregate",
    a.Coalesced: "aggregate",
    a.Projection: "project",
    a.TimeWindow: "sort",
    a.CountWindow: "sort",
    a.Agent: "shuffle",
    a.Merger: "shuffle",
}
"""The kinds of a plan stand for colours; what is none of these is a match: of one event, or of several."""


def plan_node(operator: a.Operator, statistics: Statistics) -> PlanNode:
    """An operator with its inputs.

    >>> from network_examples import grouped, over
    >>> found = plan_node(over(grouped("max(s.y)", "s.x"), "g.value > 1 AND g.x = 2"), Statistics())
    >>> found.title, found.details
    ('filter', (('where', 'g.value > 1'), ('where', 'g.x = 2')))
    >>> found.inputs[0].title, found.inputs[0].details
    ('aggregate g', (('by', 'x = s.x'), ('value', 'max(s.y)')))
    """
    return PlanNode(
        _KINDS.get(type(operator), "match"),
        _title(operator),
        tuple(_details(operator)),
        valid_events(operator, statistics),
        tuple(plan_node(one, statistics) for one in a.inputs_of(operator)),
    )


def _title(operator: a.Operator) -> str:
    match operator:
        case a.StreamSource(_, stream):
            return f"{'query' if stream.query else 'stream'} {written(stream.name)}"
        case a.RelationSource(_, stream):
            return f"relation {written(stream.name)}"
        case a.TimeWindow(_, size, jump):
            return f"window of {size}" + (f", jumps of {jump}" if jump else "")
        case a.CountWindow(_, size, jump):
            return f"window of {size} EVENT{'' if size == 1 else 'S'}" + (
                f", jumps of {jump}" if jump > 1 else ""
            )
        case a.Filter():
            return "filter"
        case a.Correlator():
            return "correlate"
        case a.Aggregator(_, variable):
            return f"aggregate {variable}"
        case a.Projection(_, variable):
            return f"select {variable}"
        case a.Coalesced():
            return "canonical intervals"
        case a.Merger():
            return "merge"
        case a.PatternMatcher(_, variable) | a.TemporalMatcher(_, variable):
            return f"match {variable}"
        case a.Agent(_, _, name):
            return f"agent {name}"
    raise AssertionError(f"{type(operator).__name__} has no title")


def _details(operator: a.Operator) -> Iterator[Detail]:
    match operator:
        case a.StreamSource(variable, stream) | a.RelationSource(variable, stream):
            if variable != written(stream.name):
                yield "as", variable
        case a.CountWindow(partition=partition) if partition:
            yield "by", ", ".join(map(str, partition))
        case a.Filter(_, condition):
            yield from _conditions("where", condition)
        case a.Correlator(_, condition):
            yield from _conditions("on", condition)
        case a.Aggregator(_, _, groups, aggregates):
            yield from (("by", _output(one)) for one in groups)
            yield from _outputs(aggregates)
        case a.Projection(_, _, outputs):
            yield from _outputs(outputs)
        case a.PatternMatcher():
            yield from _matcher(operator)
        case a.TemporalMatcher(_, _, clause):
            yield from temporal_details(clause)
        case a.Agent(_, variable, _, columns):
            yield "as", f"{variable} ({', '.join(f'{written(one.name)} {one.type}' for one in columns)})"


def _conditions(label: str, condition: Expr | None) -> Iterator[Detail]:
    yield from ((label, str(one)) for one in conjuncts(condition))


def _output(output: OutputColumn) -> str:
    value, name = str(output.expression), written(output.name)
    return value if value == name else f"{name} = {value}"


def _outputs(outputs: Iterable[OutputColumn]) -> Iterator[Detail]:
    for one in outputs:
        # A column that has no name of its own is called like its text: that is shown once.
        value = str(one.expression)
        yield "value" if one.name == value else written(one.name), value


def _matcher(operator: a.PatternMatcher) -> Iterator[Detail]:
    clause = operator.clause
    yield "pattern", str(clause.pattern)
    yield from (("define", f"{one.variable} AS {one.condition}") for one in clause.definitions)
    if clause.within is not None:
        yield "within", str(clause.within)
    if clause.partition:
        yield "by", ", ".join(map(written, clause.partition))
    yield from (("measures", _output(one)) for one in clause.measures)


@dataclass(frozen=True)
class ShownOrder:
    """In which order the inputs of a correlator are joined. `sizes` are what each join is expected to give at
    an instant; `ratio` is the cost of the order that is written by the cost of this one."""

    inputs: tuple[str, ...]
    sizes: tuple[float, ...]
    ratio: float


@dataclass(frozen=True)
class ShownPrice:
    """What a form of a network costs: `events` that are valid at an instant in all its operators, by kind in
    `items`. `ratio` is that by the price of what is executed."""

    name: str
    events: float
    ratio: float
    items: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class NetworkExplanation:
    """All about one SELECT. `prices` are those of what is executed and of what is written; `facts` is what
    they rest on. `spark` are its relations, each with what it is for; `refusal` says why there are none.
    `streaming` is how it runs over streams without end; `engine` is what runs it. `graphs` are those of its
    temporal patterns."""

    name: str
    text: str
    plan: PlanNode
    steps: tuple[ShownStep, ...]
    orders: tuple[ShownOrder, ...]
    prices: tuple[ShownPrice, ...]
    facts: tuple[Fact, ...]
    spark: tuple[tuple[str, str], ...]
    refusal: str | None = None
    streaming: Notes = ()
    engine: Engine = SPARK
    graphs: tuple[ConstraintGraph, ...] = ()


def explained_network(
    name: str,
    text: str,
    query: a.Algebra,
    found: OptimisedNetwork,
    plan: NetworkPlan | UnsupportedQuery,
    statistics: Statistics,
    streaming: bool = False,
) -> NetworkExplanation:
    """How a SELECT is executed, and why: the network `found` for it, and its plan."""
    spark: tuple[tuple[str, str], ...] = ()
    refusal = None
    if isinstance(plan, UnsupportedQuery):
        refusal = refusal_sentence(plan, streaming)
    else:
        spark = tuple((let.name, let.comment) for let in relations_alone(plan) if let.comment)
    facts = tuple(_facts(query, statistics))
    return NetworkExplanation(
        name,
        text,
        plan_node(found.root, statistics).resting_on(facts),
        tuple(_steps(query.root, found)),
        tuple(_orders(found.root, statistics)),
        tuple(_prices(query.root, found.root, statistics)),
        facts,
        spark,
        refusal,
        () if isinstance(plan, UnsupportedQuery) else select_notes(plan),
        graphs=constraint_graphs(found.root),
    )


def relations_alone(plan: NetworkPlan) -> tuple[Let, ...]:
    """The relations of a network, as if it read streams of these names; none where it is a part of one
    operator with the queries that it reads."""
    query = plan.query
    if plan.streamed is not None and any(one.read is not None for one in plan.streamed.inputs):
        return ()
    units = {stream.query: plan.unit for stream in query.streams if stream.query}
    sources = StreamRelations({stream.name: stream.name for stream in query.streams}, units)
    if plan.streamed is not None:
        return tuple(select_relations(plan, plan.streamed, sources, set(), "result"))
    return tuple(algebra_relations(plan, sources, set(), "result", False))


def _steps(root: a.Operator, found: OptimisedNetwork) -> Iterator[ShownStep]:
    before = str(root)
    for step in found.steps:
        after = str(step.root)
        yield ShownStep(step.rule, law(step.rule), str(step.before), str(step.after), before, after)
        before = after


def _orders(root: a.Operator, statistics: Statistics) -> Iterator[ShownOrder]:
    for node in walk(root):
        if isinstance(node, a.Correlator) and len(node.inputs) > 1:
            best, written = join_order(node, statistics), written_order(node, statistics)
            names = tuple(_name(node.inputs[place]) for place in best.places)
            yield ShownOrder(names, best.sizes, _ratio(written, best))


def _prices(written: a.Operator, executed: a.Operator, statistics: Statistics) -> Iterator[ShownPrice]:
    best = network_price(executed, statistics)
    first = network_price(written, statistics, written_order)
    for name, price in (("as executed", best), ("as written", first)):
        total = sum(price.values())
        yield ShownPrice(name, total, total / sum(best.values()), tuple(price.items()))


def _facts(query: a.Algebra, statistics: Statistics) -> Iterator[Fact]:
    relations = {node.stream.name for node in walk(query.root) if isinstance(node, a.RelationSource)}
    for stream in query.streams:
        if stream.name not in relations:
            yield size_fact(stream, statistics)


def _ratio(written: JoinOrder, best: JoinOrder) -> float:
    return written.cost / best.cost if best.cost else 1.0


def _name(operator: a.Operator) -> str:
    """What the payload of an input is known by."""
    variables = dict.fromkeys(str(one.event) for one in operator.payload)
    return ", ".join(variables)
