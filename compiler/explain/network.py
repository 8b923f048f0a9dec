"""The explanation of a SELECT: its operators, rules that fired, the order of joins, the steps on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neelc.cost.algebra_order import Order, join_order, written_order
from neelc.cost.algebra_price import network_price
from neelc.cost.algebra_sizes import told
from neelc.cost.facts import Fact
from neelc.cost.network import chosen_network
from neelc.cost.statistics import Statistics
from neelc.emit.considered_network import considered_network
from neelc.explain.explanation import PlanNode, ShownStep
from neelc.explain.network_plan import plan_node
from neelc.explain.steps import law
from neelc.ir import algebra as a
from neelc.ir.node import walk
from neelc.plan.unsupported import Unsupported
from neelc.rewrite.algebra.optimise import Optimised


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
    they rest on. `spark` are its relations, each with what it is for; `refusal` says why there are none."""

    name: str
    text: str
    plan: PlanNode
    steps: tuple[ShownStep, ...]
    orders: tuple[ShownOrder, ...]
    prices: tuple[ShownPrice, ...]
    facts: tuple[Fact, ...]
    spark: tuple[tuple[str, str], ...]
    refusal: str | None = None


def explained_network(
    name: str, text: str, query: a.Algebra, statistics: Statistics, is_read: bool = False
) -> NetworkExplanation:
    """Why a SELECT is executed as it is; `is_read` if another query reads it."""
    found = chosen_network(query.root, statistics, is_read)
    spark: tuple[tuple[str, str], ...] = ()
    refusal = None
    try:
        lets = considered_network(query, found.root, statistics)
        spark = tuple((let.name, let.comment) for let in lets if let.comment)
    except Unsupported as error:
        refusal = f"not yet: {error.what} is not supported. The reference interpreter runs it."
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
    )


def _steps(root: a.Operator, found: Optimised) -> Iterator[ShownStep]:
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
    relations = {node.stream.name for node in walk(query.root) if isinstance(node, a.Relation)}
    for stream in query.streams:
        if stream.name not in relations:
            yield told(stream, statistics)


def _ratio(written: Order, best: Order) -> float:
    return written.cost / best.cost if best.cost else 1.0


def _name(operator: a.Operator) -> str:
    """What the payload of an input is known by."""
    variables = dict.fromkeys(str(one.event) for one in operator.payload)
    return ", ".join(variables)
