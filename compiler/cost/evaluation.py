"""What it costs to evaluate an expression once, in comparisons of two numbers."""

from __future__ import annotations

from neelc.ir import expr as e
from neelc.ir.node import Node, children

COSTS: dict[type[Node], float] = {
    e.Binary: 1.0,
    e.Unary: 1.0,
    e.Between: 2.0,
    e.IsNull: 0.5,
    e.IsTruth: 0.5,
    e.IsDistinct: 1.5,
    e.Case: 1.0,
    e.Cast: 0.5,
    e.Field: 0.5,
    e.Item: 2.0,
    e.Extract: 5.0,
    e.Call: 5.0,
    e.Aggregate: 10.0,
}
"""By kind of node, its operands apart. An aggregate runs over the elements of a list, say ten. Comparisons
inside AND, OR and NOT cost themselves; columns and constants are there already."""

LIKES = {"LIKE": 10.0, "ILIKE": 15.0, "RLIKE": 70.0}
"""Measured with Spark 4.3 on strings of eight characters, against `x < 0`."""

TEXT = 3.0
"""Strings are compared character by character, and are longer than a number."""
READ_TEXT = 5.0
"""A number or a time read from a string."""
IN_LIST = 0.5
"""For each item: Spark looks long lists up in a hash table."""


def evaluation_cost(expression: Node) -> float:
    """
    >>> from neelc.rewrite.examples import query
    >>> def cost(text): return evaluation_cost(query(f"SEQ(A a, B b) WHERE {text}").pattern.where)
    >>> cost("a.x > b.x"), cost("a.x > b.x + 1.0D"), cost("a.user = b.user"), cost("a.user RLIKE 'u+'")
    (1.0, 2.0, 3.0, 70.0)
    """
    below = sum(map(evaluation_cost, children(expression)))
    match expression:
        case e.Like(kind=kind):
            return below + LIKES[kind]
        case e.InList(items=items):
            return below + 1.0 + IN_LIST * len(items)
        case e.Same(attributes):
            return float(len(attributes))
        case e.Cast(implicit=True, operand=e.Literal()):
            return 0.0  # Spark folds it
        case e.Cast(operand) if _is_text(operand):
            return below + READ_TEXT
        case e.Binary(op, left) if op in e.COMPARISONS and _is_text(left):
            return below + TEXT
    return below + COSTS.get(type(expression), 0.0)


def _is_text(expression: e.Expr) -> bool:
    return str(getattr(expression, "type", "")) == "STRING"
