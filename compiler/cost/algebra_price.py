"""The price of a network: how many events its operators hold together, at an instant.

The thesis' *Cost_out* (19.2.3) counts what the joins of a correlator give; here every operator counts, so
that what a rule is worth can be seen in a number. It ranks networks, and is no time.
"""

from __future__ import annotations

from collections.abc import Callable

from neelc.cost.algebra_order import Order, join_order
from neelc.cost.algebra_sizes import valid_events
from neelc.cost.statistics import Statistics
from neelc.ir import algebra as a
from neelc.ir.node import walk

PRICED: dict[type[a.Operator], str] = {
    a.Source: "streams",
    a.Relation: "relations",
    a.TimeWindow: "windows",
    a.CountWindow: "windows",
    a.Filter: "filters",
    a.Correlator: "correlators",
    a.Aggregator: "aggregators",
    a.Projection: "projections",
    a.Coalesced: "canonical intervals",
    a.PatternMatcher: "pattern matchers",
    a.Agent: "agents",
}


def network_price(
    root: a.Operator,
    statistics: Statistics,
    order: Callable[[a.Correlator, Statistics], Order] = join_order,
) -> dict[str, float]:
    """For each kind of operator in a network, the events that are valid at an instant in all of them.

    >>> from neelc.rewrite.algebra.examples import over, timed
    >>> price = network_price(over(timed(6), "s.x > 1"), Statistics())
    >>> {kind: round(events) for kind, events in price.items()}
    {'filters': 20, 'windows': 60, 'streams': 10}
    """
    found: dict[str, float] = {}
    for node in walk(root):
        if isinstance(node, a.Operator):
            kind = PRICED[type(node)]
            found[kind] = found.get(kind, 0.0) + _events(node, statistics, order)
    return found


def _events(
    node: a.Operator, statistics: Statistics, order: Callable[[a.Correlator, Statistics], Order]
) -> float:
    if isinstance(node, a.Correlator) and len(node.inputs) > 1:
        return order(node, statistics).cost
    return valid_events(node, statistics)
