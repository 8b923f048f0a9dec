"""What navigation and aggregates of a row pattern are about: a value of one row.

Where CLASSIFIER() or MATCH_NUMBER() is part of it, it depends on the match that the row is in; it is put
together from columns of the row when the match is known.
"""

from __future__ import annotations

from neelc.ir import expr as e
from neelc.ir.node import Node, walk
from neelc.ir.row_values import ROW
from neelc.ir.typeof import type_of
from neelc.ir.types import BOOLEAN
from neelc.plan.row_columns import RowColumns, changed
from neelc.plan.row_conditions import depends_on_match, without_decimals
from neelc.runtime.rows.program import Argument

TRUE = e.Literal(True, BOOLEAN)
MATCH = e.Variable("match")


def columns_at_row(argument: e.Expr) -> list[e.Expr | None]:
    """What the value of an argument is made of, once its row is known: one column, if it does not depend on
    the match; else its columns, the variable (None), and whether there is a row at all."""
    found = columns_over_rows(argument)
    return [*found, TRUE] if depends_on_match(argument) and not isinstance(argument, e.Classifier) else found


def columns_over_rows(argument: e.Expr) -> list[e.Expr | None]:
    """What the values of an argument are made of, for rows that are there.

    >>> from neelc.ir.types import STRING
    >>> kind = e.Attribute(e.Variable(ROW), "kind", STRING)
    >>> columns_over_rows(kind) == [kind], columns_over_rows(e.Classifier())
    (True, [None])
    >>> columns_over_rows(e.Binary("||", kind, e.Classifier())) == [kind, None]
    True
    """
    if isinstance(argument, e.Classifier):
        return [None]
    if not depends_on_match(argument):
        return [argument]
    return [*(node for node in walk(argument) if isinstance(node, e.Attribute)), None]


def row_argument(argument: e.Expr, columns: RowColumns) -> str | Argument | None:
    """An argument for the kernel: a column, the variable (None), or an expression. All that does not depend
    on the match Spark computes.

    >>> from neelc.ir.types import INT
    >>> x = e.Attribute(e.Variable(ROW), "x", INT)
    >>> found = row_argument(e.Binary("+", e.Binary("*", x, x), e.MatchNumber()), RowColumns())
    >>> print(found.expression, found.columns)
    row.value_0 + match.match_number ('value_0',)
    """
    if isinstance(argument, e.Classifier):
        return None
    if not depends_on_match(argument):
        return columns.column(argument)
    used: dict[str, None] = {}

    def change(node: Node) -> Node | None:
        match node:
            case e.Classifier(type):
                return e.Attribute(MATCH, "classifier", type)
            case e.MatchNumber(type):
                return e.Attribute(MATCH, "match_number", type)
            case e.Expr() if not depends_on_match(node) and _has_columns(node):
                name = columns.column(node)
                used.setdefault(name)
                return e.Attribute(e.Variable(ROW), name, type_of(node))
        return None

    return Argument(without_decimals(changed(argument, change)), tuple(used))


def _has_columns(node: Node) -> bool:
    return any(isinstance(part, e.Attribute) for part in walk(node))
