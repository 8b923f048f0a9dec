"""How many events of an operator are valid at a time, and how often conditions on payloads are TRUE.

The thesis' *AvgValidEvents* and *Sel* (19.2.3), from statistics instead of the history of a stream.
"""

from __future__ import annotations

from math import prod

from neelc.catalog.statistics import numbers as defaults
from neelc.catalog.statistics.numbers import Fact, Statistics, plain_text_of, text_of, weakest
from neelc.ir import algebra as a
from neelc.ir.expressions import (
    Attribute,
    Between,
    Binary,
    Cast,
    Conjunction,
    Disjunction,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Negation,
    Variable,
)
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.patterns import Window
from neelc.ir.program import Stream
from neelc.ir.types import LENGTHS

COMPARED = 1 / 3
"""System R's share for a comparison without statistics."""
BETWEEN = 0.25
OTHER = 0.5


def valid_events(operator: a.Operator, statistics: Statistics) -> float:
    """Events that are valid at an instant, on average; at least a little more than none.

    >>> from neelc.ir.program import Clock, Column, Stream
    >>> from neelc.ir.types import BIGINT, INT
    >>> stream = Stream("S", (Column("ts", BIGINT),), "ts", unit="SECOND")
    >>> clock = Clock(BIGINT, "SECOND")
    >>> ten = Window(Literal(10, INT), "SECOND")
    >>> valid_events(a.TimeWindow(a.StreamSource("s", stream, clock=clock), ten, clock=clock), Statistics())
    100.0
    """
    return max(1e-9, _valid(operator, statistics))


def _valid(operator: a.Operator, statistics: Statistics) -> float:
    match operator:
        case a.StreamSource(_, stream):
            held = statistics.knowledge.number(stream, "VALID")
            return held.value if held else rate(stream, statistics) * LENGTHS[stream.unit] / LENGTHS["SECOND"]
        case a.RelationSource(_, stream):
            known = statistics.knowledge.number(stream, "EVENTS")
            return known.value if known else defaults.DISTINCT
        case a.TimeWindow(input, size):
            return arrivals(input, statistics) * _seconds(size)
        case a.CountWindow(_, size, _, partition):
            return size * prod(distinct(operator, one, statistics) for one in partition)
        case a.Filter(input, condition):
            return _valid(input, statistics) * share(condition, operator, statistics)
        case a.Correlator(inputs, condition):
            met = share(condition, operator, statistics) if condition is not None else 1.0
            return met * prod(valid_events(one, statistics) for one in inputs)
        case a.Merger(inputs):
            return sum(_valid(one, statistics) for one in inputs)
        case a.Aggregator(input, _, groups):
            number = prod(_values(one.expression, input, statistics) for one in groups)
            return min(_valid(input, statistics), number)
    below = a.inputs_of(operator)
    return _valid(below[0], statistics) if len(below) == 1 else defaults.DISTINCT


def size_fact(stream: Stream, statistics: Statistics) -> Fact:
    """The number that the size of a source is based on: for an earlier SELECT the events it holds, else a
    rate."""
    held = statistics.knowledge.number(stream, "VALID")
    what = f"events of {stream.name} that are valid at an instant"
    return Fact(what, *held) if held else rate_of(stream, statistics)


def rate(stream: Stream, statistics: Statistics) -> float:
    """Events per second."""
    return rate_of(stream, statistics).value


def rate_of(stream: Stream, statistics: Statistics) -> Fact:
    """Events per second, and where the number comes from."""
    what = f"events per second of {stream.name}"
    known = {name: statistics.knowledge.number(stream, name) for name in ("RATE", "EVENTS", "SPAN")}
    per_second, events, span = (known[name] for name in ("RATE", "EVENTS", "SPAN"))
    if per_second is not None:
        return Fact(what, *per_second)
    if events is not None and span is not None and span.value > 0:
        return Fact(what, events.value / span.value, weakest(events, span))
    return Fact(what, defaults.rate(stream), "assumed")


def arrivals(operator: a.Operator, statistics: Statistics) -> float:
    """Events that begin in a second."""
    match operator:
        case a.StreamSource(_, stream):
            return rate(stream, statistics)
        case a.Filter(input, condition):
            return arrivals(input, statistics) * share(condition, operator, statistics)
        case a.Merger(inputs):
            return sum(arrivals(one, statistics) for one in inputs)
    below = a.inputs_of(operator)
    return arrivals(below[0], statistics) if below else 1.0


def _seconds(window: Window) -> float:
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int)
    return window.count.value * LENGTHS[window.unit or "MILLISECOND"] / LENGTHS["SECOND"]


def distinct(operator: a.Operator, attribute: Attribute, statistics: Statistics) -> float:
    """Different values of an attribute of the operator's payload."""
    assert isinstance(attribute.event, Variable)
    for node in walk(operator):
        if isinstance(node, a.StreamSource | a.RelationSource) and node.variable == attribute.event.name:
            known = statistics.knowledge.number(node.stream, "DISTINCT", subject=bare(attribute.name))
            return known.value if known else defaults.DISTINCT
    return defaults.DISTINCT


def _values(expression: Expr, operator: a.Operator, statistics: Statistics) -> float:
    named = [node for node in walk(expression) if isinstance(node, Attribute)]
    return max((distinct(operator, one, statistics) for one in named), default=1.0)


def share(condition: Expr, operator: a.Operator, statistics: Statistics) -> float:
    """How often a condition on the payloads of an operator is TRUE, as declared or as System R guesses."""
    declared = _declared(condition, operator, statistics)
    if declared is not None:
        return declared
    match condition:
        case Literal(value):
            return float(value is True)
        case Conjunction(operands):
            return prod(share(one, operator, statistics) for one in operands)
        case Disjunction(operands):
            return 1 - prod(1 - share(one, operator, statistics) for one in operands)
        case Negation(operand):
            return 1 - share(operand, operator, statistics)
        case Binary("=" | "<=>", left, right):
            return 1 / max(_values(left, operator, statistics), _values(right, operator, statistics))
        case Binary("<>" | "!=", left, right):
            return 1 - share(Binary("=", left, right), operator, statistics)
        case InList(operand, items, negated):
            among = min(1.0, len(items) / _values(operand, operator, statistics))
            return 1 - among if negated else among
        case Between(negated=negated):
            return 1 - BETWEEN if negated else BETWEEN
        case IsNull(negated=negated):
            return 1.0 if negated else 0.01
        case Binary() | Like():
            return COMPARED
        case Cast(operand):
            return share(operand, operator, statistics)
    return OTHER


def _declared(condition: Expr, operator: a.Operator, statistics: Statistics) -> float | None:
    """What WITH STATS or a file says of a condition: with its variables, or as one on a stream alone."""
    texts = {text_of(condition)}
    plain = plain_text_of(condition)
    names = {node.name for node in walk(condition) if isinstance(node, Variable)}
    for node in walk(operator):
        if not isinstance(node, a.StreamSource | a.RelationSource):
            continue
        known = texts | ({plain[1]} if plain is not None and node.variable in names else set())
        for one in statistics.knowledge.about(node.stream, "SELECTIVITY"):
            if one.subject in known:
                return one.value
    return None
