"""ORDER BY and LIMIT: the rows of a result, by their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.errors import Hint
from neelc.findings import Findings, did_you_mean
from neelc.ir import expressions as e
from neelc.ir.names import find, written
from neelc.ir.node import Node, map_children
from neelc.ir.program import ROW, OutputColumn, ResultOrder
from neelc.ir.row_patterns import Output, SortItem
from neelc.ir.script import PatternQuery
from neelc.ir.types import VOID, is_orderable
from neelc.pattern.bind.partial import COLUMNS
from neelc.scalar.functions import is_aggregate, is_known, report_foreign, report_unknown
from neelc.scalar.typing import typed

BY_COLUMNS = "ORDER BY names columns of the result"


def bind_order(
    query: PatternQuery, columns: Sequence[OutputColumn], findings: Findings
) -> ResultOrder | None:
    """The order of the rows; None without ORDER BY and LIMIT.

    With LIMIT, rows that ORDER BY does not tell apart are ordered by the other columns, from left to right:
    which rows are returned must not depend on the engine, nor on the order of the input.
    """
    if not query.order_by:
        if query.limit is not None:
            message = "LIMIT without ORDER BY: matches form a set without an order"
            hint = "say which rows come first: ORDER BY match_start, if RETURN contains it"
            findings.report("NEEL3035", message, findings.at(query.limit_clause, query), hint)
        return None
    ordering = _Ordering(query, columns, findings)
    items = tuple(item for one in query.order_by for item in ordering.item(one))
    return ResultOrder((*items, *_others(items, columns)) if query.limit is not None else items, query.limit)


def _others(items: Sequence[SortItem], columns: Sequence[OutputColumn]) -> Iterator[SortItem]:
    """What makes the order complete."""
    named = [item.expression for item in items]
    for column in columns:
        if is_orderable(column.type) and _attribute(column) not in named:
            yield SortItem(_attribute(column))


def _attribute(column: OutputColumn) -> e.Attribute:
    return e.Attribute(e.Variable(ROW), written(column.name), column.type)


class _Ordering:
    """Finds what the items of one ORDER BY name: columns, by their name or their place, or by what RETURN has
    for them."""

    def __init__(self, query: PatternQuery, columns: Sequence[OutputColumn], findings: Findings) -> None:
        self.columns = {column.name: column for column in columns}
        self.findings = findings
        returned: tuple[Output, ...] = () if query.returns is None else query.returns.items
        columns = [column for column in columns if not (query.partial and column.name in COLUMNS)]
        # A star stands for several columns: then places of items are not those of columns.
        plain = len(returned) == len(columns) and not any(isinstance(o.expression, e.Star) for o in returned)
        pairs = zip(returned, columns, strict=True) if plain else ()
        self.returned = {item.expression: column for item, column in pairs}
        self.broken = False

    def item(self, item: SortItem) -> Iterator[SortItem]:
        """The item with a value of the row; nothing, after a report."""
        self.broken = False
        place = self.place(item.expression)
        value, kind = typed(place or self.expression(item.expression), self.findings.report)
        if self.broken or kind == VOID:
            return
        if is_orderable(kind):
            yield replace(item, expression=value)
        else:
            message = f"{BY_COLUMNS} that have an order, and {kind} has none"
            self.nothing(item.expression, message, "order by something else")

    def place(self, node: e.Expr) -> e.Expr | None:
        """`ORDER BY 2`: the second column."""
        match node:
            case e.Literal(int() as number) if not isinstance(number, bool):
                if 1 <= number <= len(self.columns):
                    return _attribute(list(self.columns.values())[number - 1])
                count = len(self.columns)
                message = f"the result has {count} column{'' if count == 1 else 's'}, and no column {number}"
                return self.nothing(node, message, BY_COLUMNS)
        return None

    def expression(self, node: e.Expr) -> e.Expr:
        if node in self.returned:
            return _attribute(self.returned[node])
        match node:
            case e.Name((name,)):
                found = find(name, self.columns)
                if found is not None:
                    return _attribute(self.columns[found])
                return self.unknown(node)
            case e.Name() | e.Subscript() | e.Slice() | e.MemberAccess() | e.Star():
                return self.unknown(node)
            case e.Call() if is_aggregate(node):
                message = f"{BY_COLUMNS}, and `{node}` is not one"
                return self.nothing(node, message, "return it, and order by that column")
            case e.Call() if not is_known(node):
                report_unknown(node, (), self.findings.report)
                self.broken = True
                return e.Literal(None, VOID, span=node.span)
            case e.FilteredCall() | e.NestedQuery() | e.InQuery() | e.AllenRelation():
                report_foreign(node, self.findings.report)
                self.broken = True
                return e.Literal(None, VOID, span=node.span)
        return map_children(node, self.child)

    def child(self, node: Node) -> Node:
        return self.expression(node) if isinstance(node, e.Expr) else map_children(node, self.child)

    def unknown(self, node: e.Expr) -> e.Expr:
        hint = did_you_mean(str(node), [written(name) for name in self.columns], "its columns")
        return self.nothing(node, f"{BY_COLUMNS}, and `{node}` is not one", hint or "return it, too")

    def nothing(self, node: e.Expr, message: str, hint: Hint | str) -> e.Expr:
        self.broken = True
        self.findings.report("NEEL3035", message, self.findings.at(node), hint)
        return e.Literal(None, VOID, span=node.span)
