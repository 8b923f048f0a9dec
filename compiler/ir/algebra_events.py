"""Which events there are: the algebra tells what is valid at every instant, some operators ask for events."""

from __future__ import annotations

from neelc.ir.algebra import (
    Agent,
    Aggregator,
    Coalesced,
    Correlator,
    Filter,
    Operator,
    PatternMatcher,
    Projection,
    Source,
    inputs_of,
)


def is_pointwise(operator: Operator) -> bool:
    """Whether every event is valid at one instant only."""
    match operator:
        case Source(_, stream):
            return stream.end is None
        case Filter() | Projection():
            return is_pointwise(operator.input)
        case Correlator(inputs):
            return any(map(is_pointwise, inputs))
    return isinstance(operator, PatternMatcher)


def has_own_events(operator: Operator) -> bool:
    """Whether it is clear which its events are, not only which payloads are valid at every instant.

    An aggregator only tells values: whether an average of 3 that lasts is one event or several, it does not.
    What it tells, combined with an event of one instant, is one event again.
    """
    if isinstance(operator, Aggregator):
        return False
    if isinstance(operator, Coalesced | PatternMatcher | Agent) or is_pointwise(operator):
        return True
    return all(map(has_own_events, inputs_of(operator)))
