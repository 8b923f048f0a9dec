"""The order in which the inputs of a correlator are joined: the thesis' 19.2.3, by dynamic programming.

The cost of an order is the size of all that is found on the way (C_out). A join that no condition ties to
what was joined before is a product; it is taken only where there is no other way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod

from neelc.algebra.cost.sizes import share, valid_events
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import algebra as a
from neelc.ir.algebra import Correlator, RelationSource, inputs_of
from neelc.ir.expressions import conjuncts, names_in
from neelc.ir.node import walk
from neelc.runtime.late_dataclass import dataclass

MOST_INPUTS = 12
"""With more there are too many sets of inputs to try them all: then the smallest come first."""


@dataclass(frozen=True)
class JoinOrder:
    """The inputs by their places, in the order in which they are joined; the sizes of what each join gives,
    and the cost: those together."""

    places: tuple[int, ...]
    sizes: tuple[float, ...]
    cost: float


def join_order(correlator: Correlator, statistics: Statistics) -> JoinOrder:
    """The cheapest order of all left-deep trees."""
    sizing = _Sizing.of(correlator, statistics)
    count = len(correlator.inputs)
    if count > MOST_INPUTS:
        by_size = sorted(range(count), key=sizing.sizes.__getitem__)
        return sizing.order(_streams_first(by_size, correlator))
    best: dict[frozenset[int], JoinOrder] = {frozenset([n]): JoinOrder((n,), (), 0.0) for n in range(count)}
    for length in range(2, count + 1):
        for members in map(frozenset, combinations(range(count), length)):
            ways = [sizing.joined(best[members - {last}], last) for last in sorted(members)]
            best[members] = min(ways, key=lambda one: (sizing.products(one), one.cost))
    cheapest = best[frozenset(range(count))]
    return sizing.order(_streams_first(cheapest.places, correlator))


def written_order(correlator: Correlator, statistics: Statistics) -> JoinOrder:
    """The order in which the inputs are written."""
    places = tuple(range(len(correlator.inputs)))
    return _Sizing.of(correlator, statistics).order(_streams_first(places, correlator))


def _streams_first(places: Sequence[int], correlator: Correlator) -> tuple[int, ...]:
    """A relation has no times: what is joined first must have some."""
    first = next((n for n in places if not _is_timeless(correlator, n)), places[0])
    return (first, *(n for n in places if n != first))


def _is_timeless(correlator: Correlator, place: int) -> bool:
    operator = correlator.inputs[place]
    while not isinstance(operator, RelationSource) and len(inputs_of(operator)) == 1:
        operator = inputs_of(operator)[0]
    return isinstance(operator, RelationSource)


@dataclass(frozen=True)
class _Sizing:
    """Sizes of inputs, and for each conjunct which inputs it names and how often it is TRUE."""

    sizes: tuple[float, ...]
    conditions: tuple[tuple[frozenset[int], float], ...]

    @classmethod
    def of(cls, correlator: Correlator, statistics: Statistics) -> _Sizing:
        variables = [{key.event.name for key in one.payload} for one in correlator.inputs]  # type: ignore[attr-defined]
        conditions = []
        for conjunct in conjuncts(correlator.condition):
            names = names_in(conjunct)
            members = frozenset(n for n, own in enumerate(variables) if own & names)
            conditions.append((members, share(conjunct, correlator, statistics)))
        sizes = tuple(valid_events(one, statistics) for one in correlator.inputs)
        return cls(sizes, tuple(conditions))

    def size(self, members: frozenset[int]) -> float:
        shares = (share for names, share in self.conditions if names <= members)
        return prod(self.sizes[n] for n in members) * prod(shares)

    def joined(self, order: JoinOrder, last: int) -> JoinOrder:
        size = self.size(frozenset((*order.places, last)))
        return JoinOrder((*order.places, last), (*order.sizes, size), order.cost + size)

    def order(self, places: Sequence[int]) -> JoinOrder:
        order = JoinOrder(tuple(places[:1]), (), 0.0)
        for last in places[1:]:
            order = self.joined(order, last)
        return order

    def products(self, order: JoinOrder) -> int:
        """How many joins have no condition that ties the new input to those before."""
        count = 0
        for number, last in enumerate(order.places[1:], 1):
            before = frozenset(order.places[:number])
            count += not any(
                last in names and names & before and names <= before | {last} for names, _ in self.conditions
            )
        return count


# The price of a network: how many events its operators hold together, at an instant.
#
# The thesis' *Cost_out* (19.2.3) counts what the joins of a correlator give; here every operator counts, so
# that what a rule is worth can be seen in a number. It ranks networks, and is no time.

PRICED: dict[type[a.Operator], str] = {
    a.StreamSource: "streams",
    a.RelationSource: "relations",
    a.TimeWindow: "windows",
    a.CountWindow: "windows",
    a.Filter: "filters",
    a.Correlator: "correlators",
    a.Aggregator: "aggregators",
    a.Projection: "projections",
    a.Coalesced: "canonical intervals",
    a.Merger: "mergers",
    a.PatternMatcher: "pattern matchers",
    a.TemporalMatcher: "pattern matchers",
    a.Agent: "agents",
}


def network_price(
    root: a.Operator,
    statistics: Statistics,
    order: Callable[[a.Correlator, Statistics], JoinOrder] = join_order,
) -> dict[str, float]:
    """For each kind of operator in a network, the events that are valid at an instant in all of them.

    >>> from network_examples import over, timed
    >>> price = network_price(over(timed(6), "s.x > 1"), Statistics())
    >>> {kind: round(events) for kind, events in price.items()}
    {'filters': 20, 'windows': 60, 'streams': 10}
    """
    totals: dict[str, float] = {}
    for node in walk(root):
        if isinstance(node, a.Operator):
            kind = PRICED[type(node)]
            totals[kind] = totals.get(kind, 0.0) + _events(node, statistics, order)
    return totals


def _events(
    node: a.Operator, statistics: Statistics, order: Callable[[a.Correlator, Statistics], JoinOrder]
) -> float:
    if isinstance(node, a.Correlator) and len(node.inputs) > 1:
        return order(node, statistics).cost
    return valid_events(node, statistics)
