"""Expressions that stand for many values, because a reference in them ranges over a list: `b[].price`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir.expr import Aggregate, At, Attribute, Each, EventTime, Expr, Field, Index, Item, Whole
from neelc.ir.node import Node, children, map_children


def lists(node: Node) -> Iterator[Each]:
    """The lists that `node` ranges over, outer ones first; those of an aggregate inside it are its own.

    >>> from neelc.ir.expr import Inner, Variable
    >>> from neelc.ir.types import INT
    >>> outer = Each(Variable("k"))
    >>> found = lists(Attribute(Each(Inner(outer, "c")), "x", INT))
    >>> [each == outer for each in found]
    [True, False]
    """
    if not isinstance(node, Aggregate):
        for child in children(node):
            yield from lists(child)
    if isinstance(node, Each):
        yield node


def is_many(node: Node) -> bool:
    """Whether `node` stands for many values."""
    return any(True for _ in lists(node))


def is_array_of_path(expression: Expr) -> bool:
    """Whether, outside aggregates, the expression is the array of what a path gives for each element."""
    match expression:
        case Attribute() | Whole() | EventTime():
            return is_many(expression)
        case Field(base) | Item(base):
            return is_array_of_path(base)
    return False


def element(expression: Expr, each: Each, position: int) -> Expr:
    """The expression with one element in place of a list.

    >>> from neelc.ir.expr import Variable
    >>> from neelc.ir.types import INT
    >>> each = Each(Variable("b"))
    >>> element(Attribute(each, "x", INT), each, 1).event == At(Variable("b"), Index("FIRST", 1))
    True
    """

    def change(node: Node) -> Node:
        if isinstance(node, Aggregate):
            return node
        if node == each:
            return At(each.base, Index("FIRST", position))
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed
