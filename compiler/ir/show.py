"""The text of every node: `show(node)` is `str(node)`.

What the parser made is printed so that parsing the text gives the same node again; what the binder made is
printed as a person would have written it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neelc.ir import algebra, expr, logical, pattern, rows, script, statistics, temporal, types
from neelc.ir.layout import flat, render
from neelc.ir.node import Node
from neelc.ir.show_algebra import operator_doc
from neelc.ir.show_expr import show_event, show_expr, show_index, show_interval_part, show_type, show_when
from neelc.ir.show_pattern import show_pattern, show_window
from neelc.ir.show_plan import (
    plan_doc,
    show_clock,
    show_event_type,
    show_member,
    show_output_column,
    show_plan_column,
)
from neelc.ir.show_rows import (
    matcher_doc,
    show_definition,
    show_output,
    show_row_pattern,
    show_skip,
    show_sort_item,
    show_subset,
    show_temporal,
)
from neelc.ir.show_script import (
    format_script,
    from_item_doc,
    query_doc,
    return_doc,
    show_column,
    show_confidence,
    show_property,
    show_script,
    show_stream_window,
    show_timestamp,
    show_wanted,
    statement_doc,
)
from neelc.ir.show_statistics import show_statistic

__all__ = ["format_script", "show"]

# A class, and how it and the classes below it are shown.
_SHOW: dict[type[Node], Callable[[Any], str]] = {
    expr.Expr: show_expr,
    expr.EventRef: show_event,
    expr.Index: show_index,
    expr.When: show_when,
    expr.IntervalPart: show_interval_part,
    types.DataType: show_type,
    types.StructField: show_type,
    pattern.Pattern: show_pattern,
    pattern.Window: show_window,
    rows.RowPattern: show_row_pattern,
    rows.SortItem: show_sort_item,
    rows.Output: show_output,
    rows.Definition: show_definition,
    rows.Subset: show_subset,
    rows.Skip: show_skip,
    rows.MatchRecognize: lambda node: flat(matcher_doc(node)),
    rows.MatchSequential: lambda node: flat(matcher_doc(node)),
    temporal.MatchTemporal: lambda node: flat(matcher_doc(node)),
    temporal.Instants: show_temporal,
    temporal.Relation: show_temporal,
    temporal.Relations: show_temporal,
    temporal.Absent: show_temporal,
    temporal.TemporalPattern: show_temporal,
    script.Script: show_script,
    script.Statement: lambda node: flat(statement_doc(node)),
    script.ColumnDefinition: show_column,
    script.Property: show_property,
    script.Timestamp: show_timestamp,
    statistics.Statistic: show_statistic,
    script.Query: lambda node: flat(query_doc(node)),
    script.Confidence: show_confidence,
    script.Return: lambda node: flat(return_doc(node)),
    script.StreamWindow: show_stream_window,
    script.FromItem: lambda node: flat(from_item_doc(node)),
    script.Wanted: show_wanted,
    logical.Column: show_plan_column,
    logical.Stream: lambda node: flat(plan_doc(node)),
    logical.Member: show_member,
    logical.Clock: show_clock,
    logical.EventType: show_event_type,
    logical.OutputColumn: show_output_column,
    algebra.Algebra: lambda node: render(plan_doc(node)),
    algebra.Operator: lambda node: render(operator_doc(node)),
    logical.Match: lambda node: render(plan_doc(node)),
    logical.NamedQuery: lambda node: render(plan_doc(node)),
    logical.Program: lambda node: render(plan_doc(node)),
}


def show(node: Node) -> str:
    """The text of a node: one line, except for logical plans.

    >>> from neelc.ir.pattern import Event, Not, Seq
    >>> show(Seq((Event("A", "a"), Not(Event("B", "b")))))
    'SEQ(A a, !B b)'
    """
    for kind in type(node).__mro__:
        if text := _SHOW.get(kind):
            return text(node)
    raise AssertionError(f"{type(node).__name__} has no text")
