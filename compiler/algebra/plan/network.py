"""How a SELECT is executed: its network, the order of its joins, and what its kernels run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from neelc.algebra.cost.order import join_order
from neelc.algebra.plan.aggregates import AggregatorPlan, aggregator_plan
from neelc.algebra.plan.extended_filter import ExtendedFilter, extended_filter, shared_filters
from neelc.algebra.plan.sequential import SequentialPlan, sequential_plan
from neelc.algebra.plan.streamed import StreamedNetwork, streamed_network, whole_network, with_relations_first
from neelc.algebra.plan.temporal import TemporalPlan, temporal_plan
from neelc.arguments import BUCKETS, ExecutionStrategy
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.algebra import (
    Aggregator,
    Algebra,
    Correlator,
    Filter,
    Operator,
    PatternMatcher,
    Projection,
    TemporalMatcher,
    inputs_of,
)
from neelc.ir.names import bare
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import network_unit
from neelc.pattern.plan.strategies import PlanningContext, StrategyPlan
from neelc.rows.plan.plan import HostPlan
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class NetworkPlan:
    """A network, with what was decided for its operators: the places of a correlator's inputs in the order in
    which they are joined, the programs of aggregators and matchers, and `filters` in front of matchers, which
    are written where they pay. `chunked`: groups are cut into chunks of time; `most_matches` is what one task
    may find. Over streams without end it is `streamed`, in so many `buckets`."""

    query: Algebra
    root: Operator
    unit: str
    orders: Mapping[Correlator, tuple[int, ...]]
    aggregators: Mapping[Aggregator, AggregatorPlan]
    matchers: Mapping[PatternMatcher, SequentialPlan]
    filters: Mapping[PatternMatcher, ExtendedFilter]
    temporal: Mapping[TemporalMatcher, TemporalPlan] = field(default_factory=dict)
    chunked: bool = False
    most_matches: int | None = None
    streamed: StreamedNetwork | None = None
    buckets: int = BUCKETS

    def __str__(self) -> str:
        return "\n".join([str(self.root), *self._decisions()])

    def _decisions(self) -> Iterator[str]:
        yield f"times in {self.unit.lower()}s"
        for places in self.orders.values():
            yield f"inputs joined in the order {', '.join(str(place + 1) for place in places)}"
        for one in dict.fromkeys(self.filters.values()):
            if one.pays:
                yield f"events near one that emits {one.pivot.symbol}"


QueryPlan = StrategyPlan | NetworkPlan | HostPlan
"""The plan of a query, whatever language it is in."""


def network_plan(query: Algebra, root: Operator, context: PlanningContext) -> NetworkPlan:
    """The plan of a SELECT whose chosen network is `root`. Raises `UnsupportedQuery`."""
    options, statistics = context.options, context.statistics
    if options.strategy not in (None, ExecutionStrategy.KERNEL):
        raise UnsupportedQuery(f"SELECT under the strategy {options.strategy}", query.span)
    unit = context.unit or network_unit(query, context.units)
    if options.streaming:
        return _streamed_plan(query, with_relations_first(root), unit, context)
    operators = tuple(_inputs_first(root))
    matchers = [one for one in operators if isinstance(one, PatternMatcher)]
    planned = {one: sequential_plan(one.clause, unit) for one in matchers}
    return NetworkPlan(
        query,
        root,
        unit,
        _orders(root, statistics),
        {one: aggregator_plan(one) for one in operators if isinstance(one, Aggregator)},
        planned,
        _filters(planned, unit, statistics),
        {one: temporal_plan(one.clause, unit) for one in operators if isinstance(one, TemporalMatcher)},
        bool(options.chunks),
        options.most_matches,
    )


def _streamed_plan(query: Algebra, root: Operator, unit: str, context: PlanningContext) -> NetworkPlan:
    """The same over streams without end: one kernel has all aggregators."""
    options, names = context.options, [bare(one.name) for one in query.root.payload]
    orders = _orders(root, context.statistics)
    network_of = whole_network if context.is_read else streamed_network
    streamed = network_of(root, unit, orders, f"SELECT {', '.join(names)}")
    for one in streamed.inputs:
        orders |= _orders(one.operator, context.statistics)
    return NetworkPlan(
        query,
        root,
        unit,
        orders,
        {},
        {},
        {},
        most_matches=options.most_matches,
        streamed=streamed,
        buckets=options.buckets or BUCKETS,
    )


def _orders(root: Operator, statistics: Statistics) -> dict[Correlator, tuple[int, ...]]:
    correlators = (one for one in _inputs_first(root) if isinstance(one, Correlator))
    return {one: join_order(one, statistics).places for one in correlators}


def _inputs_first(operator: Operator) -> Iterator[Operator]:
    for one in inputs_of(operator):
        yield from _inputs_first(one)
    yield operator


def _filters(
    matchers: Mapping[PatternMatcher, SequentialPlan], unit: str, statistics: Statistics
) -> dict[PatternMatcher, ExtendedFilter]:
    """What matchers could read few events by. Those over the same events share one, if they can."""
    own = (extended_filter(one, plan, unit, statistics) for one, plan in matchers.items())
    shared = shared_filters(one for one in own if one is not None)
    return {matcher: one for one in shared for matcher in one.matchers}


def with_shared_filters(plans: Sequence[QueryPlan]) -> list[QueryPlan]:
    """The plans of queries that are executed together: matchers of different ones share extended filters,
    too."""
    networks = [one for one in plans if isinstance(one, NetworkPlan)]
    found = shared_filters(each for one in networks for each in one.filters.values())
    shared = {(one.unit, matcher): one for one in found for matcher in one.matchers}
    return [
        replace(one, filters={matcher: shared[one.unit, matcher] for matcher in one.filters})
        if isinstance(one, NetworkPlan)
        else one
        for one in plans
    ]


# Rules that are the matches of matchers.


@dataclass(frozen=True)
class MatcherSetPlan:
    """Rules by name, each with the matches of one matcher for rows: one kernel finds those of all of them,
    among the events that one `filter` leaves, and its rows are read once."""

    filter: ExtendedFilter
    rules: Mapping[str, NetworkPlan]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.rules)


def matcher_sets(plans: Mapping[str, NetworkPlan]) -> list[MatcherSetPlan]:
    """The sets that there are among rules. Those whose matchers share no filter are in none, and neither are
    those that join or aggregate matches: they need more than the row of a match."""
    simple = {name: plan for name, plan in plans.items() if matcher_below(plan.root) is not None}
    found: dict[ExtendedFilter, dict[str, NetworkPlan]] = {}
    for name, plan in zip(simple, with_shared_filters(list(simple.values())), strict=True):
        assert isinstance(plan, NetworkPlan)
        for one in plan.filters.values():
            if one.pays and len(one.matchers) > 1:
                found.setdefault(one, {})[name] = plan
    return [MatcherSetPlan(one, rules) for one, rules in found.items()]


def matcher_below(operator: Operator) -> PatternMatcher | None:
    """The matcher whose matches an operator selects from or computes with, each by itself; None if it does
    anything else."""
    match operator:
        case PatternMatcher():
            return operator
        case Projection(input) | Filter(input) | Correlator((input,)):
            return matcher_below(input)
    return None
