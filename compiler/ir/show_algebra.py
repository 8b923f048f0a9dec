"""A network of the event algebra as an indented text: an operator, and below it what it reads.

>>> from neelc.ir.expr import Binary, Literal
>>> from neelc.ir.logical import Clock, Column, Stream
>>> from neelc.ir.types import BIGINT, INT
>>> stream = Stream("S", (Column("ts", BIGINT), Column("x", INT)), "ts")
>>> clock = Clock(BIGINT, "SECOND")
>>> source = a.TimeWindow(a.Source("s", stream, clock=clock), Window(Literal(3, INT), "SECOND"), clock=clock)
>>> large = a.Filter(source, Binary(">", source.payload[1], Literal(40, INT)))
>>> print(a.Algebra(large, clock))
SELECT WITH TIMES BIGINT in SECONDS
  FILTER s.x > 40
    WINDOW TIME 3 SECONDS
      STREAM S AS s
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.ir import algebra as a
from neelc.ir.expr import Attribute
from neelc.ir.layout import Block, Doc
from neelc.ir.logical import Column, OutputColumn
from neelc.ir.names import written
from neelc.ir.pattern import Window
from neelc.ir.sequential import Sequential
from neelc.ir.show_expr import show_expr, show_type
from neelc.ir.show_pattern import show_window


def algebra_doc(node: a.Algebra) -> Doc:
    return Block(f"SELECT WITH TIMES {node.clock} ", (operator_doc(node.root),), always=True)


def operator_doc(node: a.Operator) -> Doc:
    """The operator, and below it its inputs."""
    inputs = tuple(map(operator_doc, a.inputs_of(node)))
    return Block(f"{_head(node)} ", inputs, always=True) if inputs else _head(node)


def _head(node: a.Operator) -> str:
    match node:
        case a.Source(variable, stream):
            return f"{'QUERY' if stream.query else 'STREAM'} {written(stream.name)} AS {variable}"
        case a.Relation(variable, stream):
            return f"RELATION {written(stream.name)} AS {variable}"
        case a.TimeWindow(_, size, jump):
            return f"WINDOW TIME {show_window(size)}" + _jump(jump)
        case a.CountWindow(_, size, jump, partition):
            jumping = f" JUMP {jump}" if jump > 1 else ""
            return f"WINDOW COUNT {size}{jumping}" + _list(" PARTITION BY", partition)
        case a.Filter(_, condition):
            return f"FILTER {show_expr(condition)}"
        case a.Correlator(_, condition):
            return "CORRELATE" + (f" ON {show_expr(condition)}" if condition is not None else "")
        case a.Aggregator(_, variable, groups, aggregates):
            made = ", ".join(map(_output, aggregates))
            return f"AGGREGATE AS {variable}{' ' if made else ''}{made}" + _groups(groups)
        case a.Projection(_, variable, outputs):
            return f"PROJECT AS {variable} {', '.join(map(_output, outputs))}"
        case a.Coalesced():
            return "COALESCE"
        case a.PatternMatcher(_, variable, clause):
            return f"MATCH AS {variable} {_clause(clause)}"
        case a.Agent(_, variable, name, columns):
            return f"AGENT {name} AS {variable} ({', '.join(map(_column, columns))})"
    raise AssertionError(f"{type(node).__name__} has no text")


def _clause(clause: Sequential) -> str:
    defined = ", ".join(f"{one.variable} AS {show_expr(one.condition)}" for one in clause.definitions)
    measures = ", ".join(map(_output, clause.measures))
    found = f"PATTERN {clause.pattern}" + (f" DEFINE {defined}" if defined else "") + f" MEASURES {measures}"
    keys = ", ".join(map(written, clause.partition))
    return found + (f" PARTITION BY {keys}" if keys else "")


def _jump(jump: Window | None) -> str:
    return "" if jump is None else f" JUMP {show_window(jump)}"


def _list(keyword: str, items: Sequence[Attribute]) -> str:
    return f"{keyword} {', '.join(map(show_expr, items))}" if items else ""


def _groups(groups: Sequence[OutputColumn]) -> str:
    return f" BY {', '.join(map(_output, groups))}" if groups else ""


def _output(column: OutputColumn) -> str:
    return f"{written(column.name)} = {show_expr(column.expression)}"


def _column(column: Column) -> str:
    return f"{written(column.name)} {show_type(column.type)}"
