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
    Relation,
    Source,
    inputs_of,
)
from neelc.ir.expr import Attribute, Expr, Variable
from neelc.ir.names import bare


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


def has_only_points(operator: Operator) -> bool:
    """Whether nothing in it lasts: it is made of events of one instant each, without a window.

    What an aggregate tells of such events it tells of single instants. A match is at one instant, whatever it
    is a match of; and a relation is valid forever, but it makes no event last.
    """
    match operator:
        case Source(_, stream):
            return stream.end is None or stream.only_points
        case Relation() | PatternMatcher():
            return True
        case Filter() | Projection() | Coalesced() | Aggregator() | Correlator():
            return all(map(has_only_points, inputs_of(operator)))
    return False


def is_time(expression: Expr, operator: Operator) -> bool:
    """Whether an expression over the payload of an operator is the time of one of its sources."""
    match expression, operator:
        case Attribute(Variable(variable), name), Source(known, stream):
            return variable == known and stream.query is None and bare(name) == stream.start
        case Attribute(_, name), Projection(input, _, outputs):
            return any(one.name == bare(name) and is_time(one.expression, input) for one in outputs)
        case Attribute(), Filter() | Correlator():
            return any(is_time(expression, one) for one in inputs_of(operator))
    return False


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
