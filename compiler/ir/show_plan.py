"""The logical plan as an indented text.

>>> from neelc.ir.expr import Attribute, Variable
>>> from neelc.ir.pattern import Event
>>> from neelc.ir.types import BIGINT, INT
>>> stream = p.Stream("S", (p.Column("ts", BIGINT), p.Column("x", INT)), "ts", type_column="kind")
>>> item = p.OutputColumn("a_x", Attribute(Variable("a"), "x", INT), INT)
>>> kind = p.EventType("A", (p.Member("S", "A"),), stream.columns)
>>> match = p.Match(Event("A", "a"), (stream,), (kind,), (item,), p.Clock(BIGINT, "MILLISECOND"))
>>> print(p.Program((stream,), (p.NamedQuery("Q", match),)))
STREAM S (ts BIGINT, x INT) TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind
QUERY Q
  MATCH A a
    FROM S
    TYPES A = S[A]
    USING SKIP TILL ANY MATCH
    RETURN
      a_x INT = a.x
"""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import logical as p
from neelc.ir.algebra import Algebra
from neelc.ir.layout import Block, Doc, clause, commas, wrap
from neelc.ir.names import written
from neelc.ir.script import CreateStream, Timestamp
from neelc.ir.show_algebra import algebra_doc
from neelc.ir.show_expr import show_expr, show_type
from neelc.ir.show_pattern import pattern_doc, show_window
from neelc.ir.show_script import show_confidence, stream_clauses


def plan_doc(node: p.Program | p.NamedQuery | p.Match | p.Stream | Algebra) -> Doc:
    match node:
        case p.Program(streams, queries):
            return Block("", (*map(plan_doc, streams), *map(plan_doc, queries)), always=True)
        case p.NamedQuery(name, query):
            return Block(f"QUERY {written(name)} " if name else "QUERY ", (plan_doc(query),), always=True)
        case Algebra():
            return algebra_doc(node)
        case p.Match(pattern):
            return Block(wrap("MATCH ", pattern_doc(pattern), " "), tuple(_match_clauses(node)), always=True)
        case p.Stream():
            return _stream_doc(node)


def _match_clauses(node: p.Match) -> list[Doc]:
    flags = [word for word in ("distinct", "collapsed", "aggregated") if getattr(node, word)]
    outputs = tuple(map(show_output_column, node.outputs))
    return [
        clause("FROM", [written(stream.name) for stream in node.streams]),
        clause("TYPES", list(map(show_event_type, node.types))),
        *([clause("PARTITION BY", node.partition)] if node.partition else []),
        *([f"WITHIN {show_window(node.within)}"] if node.within else []),
        f"USING {node.strategy}",
        *([show_confidence(node.confidence)] if node.confidence else []),
        *(
            [f"THE FURTHEST OF {', '.join(level.start for level in node.partial.levels)}"]
            if node.partial
            else []
        ),
        Block(" ".join(["RETURN", *map(str.upper, flags)]) + " ", outputs, always=True),
    ]


def _stream_doc(node: p.Stream) -> Doc:
    kind = "RELATION" if node.is_relation else "STREAM"
    columns = Block(f"{kind} {written(node.name)} (", commas(list(map(show_plan_column, node.columns))), ") ")
    names = [written(name) if name else None for name in (node.latest, node.end, node.type_column)]
    declared = CreateStream(
        node.name,
        timestamp=None if node.is_relation else Timestamp(written(node.start), names[0], node.unit),
        end=names[1],
        type_by=names[2],
        path=node.path,
        format=node.format,
        options=node.options,
        statistics=tuple(replace(s, column=written(s.column) if s.column else None) for s in node.statistics),
    )
    query = [f"OF QUERY {written(node.query)}"] if node.query else []
    return Block(columns, (*stream_clauses(declared), *query))


def show_clock(clock: p.Clock) -> str:
    return show_type(clock.type) + (f" in {clock.unit}S" if clock.unit else "")


def show_plan_column(column: p.Column) -> str:
    return f"{written(column.name)} {show_type(column.type)}"


def show_output_column(column: p.OutputColumn) -> str:
    return f"{written(column.name)} {show_type(column.type)} = {show_expr(column.expression)}"


def show_member(member: p.Member) -> str:
    """
    >>> print(p.Member("Trades", "DELL"), p.Member("Trades"))
    Trades[DELL] Trades
    """
    return written(member.stream) + (f"[{member.value}]" if member.value else "")


def show_event_type(node: p.EventType) -> str:
    """
    >>> print(p.EventType("Computer", (p.Member("Trades", "DELL"), p.Member("Trades", "INTC")), ()))
    Computer = Trades[DELL] | Trades[INTC]
    """
    return f"{node.name} = {' | '.join(map(show_member, node.members))}"
