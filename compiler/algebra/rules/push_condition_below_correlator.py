"""The rule `push_condition_below_correlator`."""

from __future__ import annotations

from dataclasses import replace

from neelc.algebra.rules.rule import filtered, place_of, places_in
from neelc.ir.algebra import Correlator, Operator, RelationSource
from neelc.ir.expressions import Expr, conjoin, conjuncts


def push_condition_below_correlator(operator: Operator) -> Operator | None:
    """A condition on one input alone is checked before the inputs are combined (19.2.2.2).

    >>> from network_examples import after, correlated
    >>> print(after(push_condition_below_correlator, correlated("s.x = t.x AND t.y > 1")))
    CORRELATE ON s.x = t.x
      STREAM S AS s
      FILTER t.y > 1
        STREAM S AS t

    Not a condition that names both.

    >>> after(push_condition_below_correlator, correlated("s.x = t.x")) is None
    True
    """
    if not isinstance(operator, Correlator):
        return None
    inputs = []
    waiting: tuple[Expr, ...] = conjuncts(operator.condition)
    for input in operator.inputs:
        # A relation can be an input of a correlator only; Spark pushes down the conditions on it alone.
        own = {place_of(one) for one in input.payload} if not isinstance(input, RelationSource) else set()
        moved = [one for one in waiting if places_in(one) and places_in(one) <= own]
        waiting = tuple(one for one in waiting if one not in moved)
        inputs.append(filtered(input, moved))
    if all(new is old for new, old in zip(inputs, operator.inputs, strict=True)):
        return None
    return replace(operator, inputs=tuple(inputs), condition=conjoin(waiting))
