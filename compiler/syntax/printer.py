"""The text of every node: `show(node)` is `str(node)`.

What the parser made is printed so that parsing the text gives the same node again; what the binder made is
printed as a person would have written it.

The logical plan as an indented text.

>>> from neelc.ir.expressions import Attribute, Variable
>>> from neelc.ir.patterns import Event
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

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from neelc.ir import algebra, bound_rows, script, types
from neelc.ir import expressions as expr
from neelc.ir import patterns as pattern
from neelc.ir import program as logical
from neelc.ir import program as p
from neelc.ir import row_patterns as rows
from neelc.ir import row_patterns as temporal
from neelc.ir import script as statistics
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.names import written
from neelc.ir.node import Node
from neelc.ir.patterns import window_of_microseconds
from neelc.ir.script import CreateStream, KeptMatches, Timestamp
from neelc.syntax.print_patterns import (
    Doc,
    TextBlock,
    clause,
    commas,
    flat,
    matcher_doc,
    pattern_doc,
    render,
    show_definition,
    show_duration,
    show_event,
    show_expr,
    show_follow,
    show_following,
    show_index,
    show_interval_part,
    show_level_name,
    show_output,
    show_pattern,
    show_row_pattern,
    show_shared_level,
    show_skip,
    show_sort_item,
    show_subset,
    show_temporal,
    show_type,
    show_when,
    show_window,
    wrap,
)
from neelc.syntax.print_statements import (
    algebra_doc,
    format_script,
    from_item_doc,
    kept_clauses,
    operator_doc,
    query_doc,
    return_doc,
    show_column,
    show_confidence,
    show_match_skip,
    show_matchmaker_attribute,
    show_property,
    show_roll_step,
    show_script,
    show_statistic,
    show_stream_window,
    show_timestamp,
    statement_doc,
    stream_clauses,
    time_clauses,
    until_text,
)

# The logical plan as an indented text.


def plan_doc(node: p.Program | p.NamedQuery | p.Match | p.Stream | Algebra | HostQuery) -> Doc:
    match node:
        case p.Program(streams, queries):
            return TextBlock("", (*map(plan_doc, streams), *map(plan_doc, queries)), always=True)
        case p.NamedQuery(name, query):
            return TextBlock(f"QUERY {written(name)} " if name else "QUERY ", (plan_doc(query),), always=True)
        case Algebra():
            return algebra_doc(node)
        case HostQuery():
            reads = clause("FROM", [written(stream.name) for stream in node.streams])
            return TextBlock("SPARK ", (node.title, *([reads] if node.streams else [])), always=True)
        case p.Match(pattern):
            return TextBlock(
                wrap("MATCH ", pattern_doc(pattern), " "), tuple(_match_clauses(node)), always=True
            )
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
        *([f"WHEN COMPLETE{until_text(node.complete_until)}"] if node.complete else []),
        *([show_confidence(node.confidence)] if node.confidence else []),
        *(
            [f"THE FURTHEST OF {', '.join(level.start for level in node.partial.levels)}"]
            if node.partial
            else []
        ),
        *([] if node.kept is None else _kept_clauses(node.kept)),
        TextBlock(" ".join(["RETURN", *map(str.upper, flags)]) + " ", outputs, always=True),
        *([clause("ORDER BY", list(map(show_sort_item, node.order.written)))] if node.order else []),
        *([f"LIMIT {node.order.limit}"] if node.order and node.order.limit is not None else []),
    ]


def _kept_clauses(node: KeptMatches) -> list[str]:
    apart = f" FOR EACH {', '.join(node.partition)}" if node.partition else ""
    return [f"{text}{apart}" for text in kept_clauses(node)]


def _stream_doc(node: p.Stream) -> Doc:
    kind = "RELATION" if node.is_relation else "STREAM"
    columns = TextBlock(
        f"{kind} {written(node.name)} (", commas(list(map(show_plan_column, node.columns))), ") "
    )
    names = [written(name) if name else None for name in (node.latest, node.end, node.type_column)]
    declared = CreateStream(
        node.name,
        timestamp=None if node.is_relation else _timestamp(node, names[0]),
        end=names[1],
        type_by=names[2],
        path=node.path,
        format=node.format,
        options=node.options,
        watermark=None if node.watermark is None else window_of_microseconds(node.watermark),
        statistics=tuple(replace(s, column=written(s.column) if s.column else None) for s in node.statistics),
    )
    query = [f"OF QUERY {written(node.producer)}"] if node.producer else []
    return TextBlock(columns, (*stream_clauses(declared), *query))


def _timestamp(node: p.Stream, latest: str | None) -> Timestamp:
    shape = written(node.shape_column) if node.shape_column else node.shape
    weights = written(node.weights) if node.weights else None
    then_by = tuple(map(written, node.then_by))
    return Timestamp(
        written(node.start), latest, node.unit, then_by=then_by, weight=weights, distribution=shape
    )


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


__all__ = ["format_script", "show"]

# A class, and how it and the classes below it are shown.
_SHOW: dict[type[Node], Callable[[Any], str]] = {
    expr.Expr: show_expr,
    expr.EventRef: show_event,
    expr.Index: show_index,
    expr.CaseBranch: show_when,
    expr.IntervalPart: show_interval_part,
    expr.LevelName: show_level_name,
    expr.SharedLevel: show_shared_level,
    types.DataType: show_type,
    types.StructField: show_type,
    pattern.Pattern: show_pattern,
    pattern.Window: show_window,
    pattern.FollowWord: show_follow,
    rows.RowPattern: show_row_pattern,
    rows.SortItem: show_sort_item,
    rows.Output: show_output,
    rows.Definition: show_definition,
    rows.SymbolDuration: show_duration,
    rows.Subset: show_subset,
    rows.Skip: show_skip,
    rows.Following: show_following,
    rows.MatchRecognize: lambda node: flat(matcher_doc(node)),
    rows.MatchSequential: lambda node: flat(matcher_doc(node)),
    temporal.MatchTemporal: lambda node: flat(matcher_doc(node)),
    temporal.Instants: show_temporal,
    temporal.TemporalRelation: show_temporal,
    temporal.TemporalRelations: show_temporal,
    temporal.NamedRelation: show_temporal,
    temporal.PresentSymbol: show_temporal,
    temporal.AbsentSymbol: show_temporal,
    temporal.TemporalPattern: show_temporal,
    script.Script: show_script,
    script.Statement: lambda node: flat(statement_doc(node)),
    script.ColumnDefinition: show_column,
    script.Property: show_property,
    script.RollStep: show_roll_step,
    script.Timestamp: show_timestamp,
    script.RowTimes: lambda node: " ".join(time_clauses(node)),
    statistics.Statistic: show_statistic,
    script.ScriptQuery: lambda node: flat(query_doc(node)),
    script.Confidence: show_confidence,
    script.MatchSkip: show_match_skip,
    script.KeptMatches: lambda node: " ".join(kept_clauses(node)),
    script.Return: lambda node: flat(return_doc(node)),
    script.StreamWindow: show_stream_window,
    script.FromItem: lambda node: flat(from_item_doc(node)),
    script.MatchmakerAttribute: show_matchmaker_attribute,
    logical.Column: show_plan_column,
    logical.Stream: lambda node: flat(plan_doc(node)),
    logical.Member: show_member,
    logical.Clock: show_clock,
    logical.EventType: show_event_type,
    logical.OutputColumn: show_output_column,
    algebra.Algebra: lambda node: render(plan_doc(node)),
    algebra.Operator: lambda node: render(operator_doc(node)),
    bound_rows.HostQuery: lambda node: render(plan_doc(node)),
    logical.Match: lambda node: render(plan_doc(node)),
    logical.NamedQuery: lambda node: render(plan_doc(node)),
    logical.Program: lambda node: render(plan_doc(node)),
}


def show(node: Node) -> str:
    """The text of a node: one line, except for logical plans.

    >>> from neelc.ir.patterns import Event, Not, Seq
    >>> show(Seq((Event("A", "a"), Not(Event("B", "b")))))
    'SEQ(A a, !B b)'
    """
    for kind in type(node).__mro__:
        if text := _SHOW.get(kind):
            return text(node)
    raise AssertionError(f"{type(node).__name__} has no text")
