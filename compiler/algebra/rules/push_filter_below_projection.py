"""The rule `push_filter_below_projection`."""

from __future__ import annotations

from neelc.algebra.rules.rule import place_of, substituted
from neelc.ir.algebra import Filter, Operator, Projection


def push_filter_below_projection(operator: Operator) -> Operator | None:
    """A filter on computed payloads becomes one on the values they are computed from.

    >>> from network_examples import after, projected, over
    >>> print(after(push_filter_below_projection, over(projected("s.x + 1 AS z"), "p.z > 3")))
    PROJECT AS p z = s.x + 1
      FILTER s.x + 1 > 3
        STREAM S AS s
    """
    match operator:
        case Filter(Projection(input, outputs=outputs) as projection, condition):
            values = {
                place_of(one): output.expression
                for one, output in zip(projection.payload, outputs, strict=True)
            }
            below = Filter(input, substituted(condition, values))
            return Projection(below, projection.variable, outputs, span=projection.span)
    return None
