"""The rule `merge_filters`."""

from __future__ import annotations

from neelc.algebra.rules.rule import filtered
from neelc.ir.algebra import Filter, Operator
from neelc.ir.expressions import conjuncts


def merge_filters(operator: Operator) -> Operator | None:
    """A filter of what a filter lets through: one filter with both conditions.

    >>> from network_examples import after, network
    >>> print(after(merge_filters, Filter(Filter(network("s.x > 1").input, network("s.x > 1").condition),
    ...     network("s.y = 2").condition)))
    FILTER s.x > 1 AND s.y = 2
      STREAM S AS s

    One filter is not two.

    >>> after(merge_filters, network("s.x > 1")) is None
    True
    """
    match operator:
        case Filter(Filter(input, inner), outer):
            return filtered(input, (*conjuncts(inner), *conjuncts(outer)))
    return None
