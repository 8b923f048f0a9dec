"""A network of the event algebra as it is executed: rewritten, its predicates in order."""

from __future__ import annotations

from functools import partial, update_wrapper

from neelc.cost.order_predicates import order_predicates
from neelc.cost.statistics import Statistics
from neelc.ir.algebra import Operator
from neelc.rewrite.algebra.drop_needless_coalescing import without_needless_coalescing
from neelc.rewrite.algebra.optimise import RULES, Optimised, optimise
from neelc.rewrite.algebra.rule import NetworkRule


def chosen_network(root: Operator, statistics: Statistics, is_read: bool = False) -> Optimised:
    """A network as it is executed; `is_read` if another query reads its events.

    First filters move, then the conditions of each are ordered: merging would undo the order.

    >>> from neelc.rewrite.algebra.examples import over, timed
    >>> found = chosen_network(over(over(timed(3), "s.x > 1"), "s.y = 2"), Statistics())
    >>> [step.rule for step in found.steps]
    ['merge_filters', 'push_filter_below_window', 'order_predicates']
    """
    root, dropped = without_needless_coalescing(root, is_read)
    moved = optimise(root, RULES)
    ordering: NetworkRule = partial(order_predicates, statistics=statistics)
    ordered = optimise(moved.root, (update_wrapper(ordering, order_predicates),))
    return Optimised(ordered.root, (*dropped, *moved.steps, *ordered.steps))
