"""The rule `order_predicates`, which needs statistics."""

from __future__ import annotations

from dataclasses import replace

from neelc.cost.algebra_sizes import share
from neelc.cost.statistics import Statistics
from neelc.ir.algebra import Filter, Operator
from neelc.ir.conjuncts import conjuncts
from neelc.ir.expr import Call, Conjunction, Expr, Like
from neelc.ir.node import walk

CALL = 10.0
"""What a function or a LIKE costs, in comparisons."""


def order_predicates(operator: Operator, statistics: Statistics) -> Operator | None:
    """Of several conditions the one comes first that drops the most events for what it costs (19.2.1).

    The rank of a condition is (share of TRUE - 1) / cost, and the least comes first: that order is the best
    for conditions that are independent.

    >>> from neelc.rewrite.algebra.examples import network
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
    """How much sooner than later a condition should be judged: the less, the sooner."""
    return (share(condition, operator, statistics) - 1) / _cost(condition)


def _cost(condition: Expr) -> float:
    return sum(CALL if isinstance(node, Call | Like) else 1.0 for node in walk(condition))
