"""The rule `push_filter_below_aggregator`."""

from __future__ import annotations

from dataclasses import replace

from neelc.algebra.rules.rule import filtered, has_ambiguous_keys, place_of, places_in, substituted
from neelc.ir.algebra import Aggregator, Filter, Operator
from neelc.ir.expressions import conjuncts


def push_filter_below_aggregator(operator: Operator) -> Operator | None:
    """A condition on groups alone holds for all events of a group or for none: it can be checked before.

    >>> from network_examples import after, grouped, over
    >>> largest = grouped("max(s.y)", "s.x")
    >>> print(after(push_filter_below_aggregator, over(largest, "g.x = 1 AND g.value > 9")))
    FILTER g.value > 9
      AGGREGATE AS g value = max(s.y) BY x = s.x
        FILTER s.x = 1
          STREAM S AS s

    Not a condition on a DOUBLE: both zeros are one group, and `CAST(g.x AS STRING)` is the text of one.

    Not a condition on an aggregate: without small values the average is different.

    >>> after(push_filter_below_aggregator, over(grouped("avg(s.y)", "s.x"), "g.value > 9")) is None
    True
    """
    match operator:
        case Filter(Aggregator(groups=groups) as aggregator, condition):
            keys = aggregator.payload[: len(groups)]
            pairs = zip(keys, groups, strict=True)
            values = {place_of(one): g.expression for one, g in pairs if not has_ambiguous_keys(one.type)}
            moved = [one for one in conjuncts(condition) if places_in(one) and places_in(one) <= set(values)]
            if moved:
                rest = [one for one in conjuncts(condition) if one not in moved]
                below = filtered(aggregator.input, [substituted(one, values) for one in moved])
                return filtered(replace(aggregator, input=below), rest)
    return None
