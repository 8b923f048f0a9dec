"""A network of the event algebra ready to execute: rewritten, its predicates in order."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, update_wrapper

from neelc.algebra.cost.sizes import share
from neelc.algebra.rules.optimise import FILTERS, OptimisedNetwork, optimise
from neelc.algebra.rules.rule import NetworkRule
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.algebra import Filter, Operator
from neelc.ir.expressions import Call, Conjunction, Expr, Like, conjuncts
from neelc.ir.node import walk

# The rule `order_predicates`, which needs statistics.

CALL = 10.0
"""What a function or a LIKE costs, in comparisons."""


def order_predicates(operator: Operator, statistics: Statistics) -> Operator | None:
    """Of several conditions the one comes first that drops the most events for what it costs (19.2.1).

    The rank of a condition is (share of TRUE - 1) / cost, and the least comes first: that order is the best
    for conditions that are independent.

    >>> from network_examples import network
    >>> print(order_predicates(network("s.x > 1 AND s.y = 2"), Statistics()))
    FILTER s.y = 2 AND s.x > 1
      STREAM S AS s

    None where the order is already that one.

    >>> order_predicates(network("s.y = 2 AND s.x > 1"), Statistics()) is None
    True
    """
    match operator:
        case Filter(_, Conjunction() as condition):
            parts = conjuncts(condition)
            ordered = tuple(sorted(parts, key=lambda one: rank(one, operator, statistics)))
            return None if ordered == parts else replace(operator, condition=Conjunction(ordered))
    return None


def rank(condition: Expr, operator: Operator, statistics: Statistics) -> float:
    """When a condition should be checked: conditions of lower rank come first."""
    return (share(condition, operator, statistics) - 1) / _cost(condition)


def _cost(condition: Expr) -> float:
    return sum(CALL if isinstance(node, Call | Like) else 1.0 for node in walk(condition))


def chosen_network(rewritten: OptimisedNetwork, statistics: Statistics) -> OptimisedNetwork:
    """A network ready to execute. The conditions of each filter are ordered when all filters have moved:
    merging would undo the order.

    >>> from network_examples import over, timed
    >>> from neelc.algebra.rules.optimise import rewritten_network
    >>> network = rewritten_network(over(over(timed(3), "s.x > 1"), "s.y = 2"))
    >>> [step.rule for step in chosen_network(network, Statistics()).steps]
    ['merge_filters', 'push_filter_below_window', 'order_predicates']
    """
    ordering: NetworkRule = partial(order_predicates, statistics=statistics)
    rules = (update_wrapper(ordering, order_predicates),)
    ordered = optimise(rewritten.root, replace(FILTERS, name="order of conditions", parts=rules))
    return OptimisedNetwork(ordered.root, (*rewritten.steps, *ordered.steps))
