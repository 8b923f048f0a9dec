"""Small networks for the examples of rules: over a stream S with the columns ts, x, y."""

from __future__ import annotations

from neelc.algebra.rules.rule import NetworkRule
from neelc.ir import algebra as a
from neelc.ir.bound_rows import Sequential
from neelc.ir.expressions import ROW, Aggregate, AtRow, Attribute, Call, Expr, Literal, Name, Variable
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Window
from neelc.ir.program import Clock, Column, OutputColumn, Stream
from neelc.ir.row_patterns import MatchSequential
from neelc.ir.types import BIGINT, INT
from neelc.source import Source as Text
from neelc.source import Span

CLOCK = Clock(BIGINT, "SECOND")
STREAM = Stream("S", (Column("ts", BIGINT), Column("x", INT), Column("y", INT)), "ts", unit="SECOND")


def after(rule: NetworkRule, operator: a.Operator) -> a.Operator | None:
    """What a rule makes of an operator."""
    return rule(operator)


def source(variable: str = "s") -> a.StreamSource:
    return a.StreamSource(variable, STREAM, clock=CLOCK)


def condition(text: str) -> Expr:
    """An expression over payloads; every attribute is taken to be an INT.

    >>> print(condition("s.x > 1 AND max(s.y) = 2"))
    s.x > 1 AND max(s.y) = 2
    """
    from neelc.syntax import expression

    def change(node: Node) -> Node | None:
        match node:
            case Name((variable, name)):
                return Attribute(Variable(variable), name, INT)
            case Call(name, (argument,)):
                return Aggregate(name.lower(), argument, INT)
        return None

    found = transform(expression(text), change)
    assert isinstance(found, Expr)
    return found


def over(operator: a.Operator, text: str) -> a.Filter:
    return a.Filter(operator, condition(text))


def network(text: str) -> a.Filter:
    """A filter of the stream."""
    return over(source(), text)


def timed(seconds: int) -> a.TimeWindow:
    return a.TimeWindow(source(), Window(Literal(seconds, INT), "SECOND"), clock=CLOCK)


def counted(size: int, *partition: str) -> a.CountWindow:
    keys = tuple(Attribute(Variable("s"), name, INT) for name in partition)
    return a.CountWindow(source(), size, 1, keys)


def grouped(aggregate: str, group: str) -> a.Aggregator:
    """The aggregate as `value`, the group by the name of its column."""
    key = condition(group)
    assert isinstance(key, Attribute)
    groups = (OutputColumn(key.name, key, INT),)
    return a.Aggregator(source(), "g", groups, (OutputColumn("value", condition(aggregate), INT),))


def projected(text: str) -> a.Projection:
    value, _, name = text.partition(" AS ")
    return a.Projection(source(), "p", (OutputColumn(name, condition(value), INT),))


def correlated(text: str) -> a.Correlator:
    return a.Correlator((source("s"), source("t")), condition(text))


def matcher(pattern: str, *symbols: str, partition: str = "") -> a.PatternMatcher:
    """MATCH_RECOGNIZE_SEQUENTIAL over the stream; the measure of each symbol, called like it, is its x."""
    from neelc.syntax import row_match

    text = f"MATCH_RECOGNIZE_SEQUENTIAL (MEASURES a.x AS a PATTERN {pattern.upper()})"
    found = row_match(Text(text), Span(0, len(text)))
    assert isinstance(found, MatchSequential)
    row = Attribute(Variable(ROW), "x", INT)
    measures = tuple(OutputColumn(one, AtRow(INT, row, (one.upper(),)), INT) for one in symbols)
    keys = (partition,) if partition else ()
    clause = Sequential(STREAM.columns, found.pattern, (), keys, measures)
    return a.PatternMatcher(source(), "m", clause, clock=CLOCK)
