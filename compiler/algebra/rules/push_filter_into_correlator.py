"""The rule `push_filter_into_correlator`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.algebra import Correlator, Filter, Operator
from neelc.ir.expressions import conjoin


def push_filter_into_correlator(operator: Operator) -> Operator | None:
    """A filter of combinations is one more condition on them (19.2.2.2).

    >>> from network_examples import after, correlated, over
    >>> print(after(push_filter_into_correlator, over(correlated("s.x = t.x"), "s.y > t.y")))
    CORRELATE ON s.x = t.x AND s.y > t.y
      STREAM S AS s
      STREAM S AS t
    """
    match operator:
        case Filter(Correlator(_, inner) as correlator, condition):
            return replace(correlator, condition=conjoin([inner, condition]))
    return None
