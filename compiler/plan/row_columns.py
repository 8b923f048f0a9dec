"""The columns of rows that a row pattern needs: each an expression over one row, computed by Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from neelc.ir import expr as e
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children

RESERVED = ("value_", "shifted_", "out_", "aggregate_")
"""How names begin that the plan gives."""


@dataclass
class RowColumns:
    """The columns that were asked for, by name. Those in `numbers` are times that are written as numbers."""

    columns: dict[str, e.Expr] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)

    def column(self, expression: e.Expr, is_number: bool = False) -> str:
        """The name of a column that has an expression's value.

        >>> from neelc.ir.types import INT
        >>> columns, price = RowColumns(), e.Attribute(e.Variable("row"), "price", INT)
        >>> columns.column(price), columns.column(e.Unary("-", price)), columns.column(price)
        ('price', 'value_1', 'price')
        >>> columns.column(e.Attribute(e.Variable("row"), "`unit.price`", INT))
        'unit_price'
        """
        plain = without_spans(expression)
        for name, known in self.columns.items():
            if known == plain and is_number == (name in self.numbers):
                return name
        name = f"value_{len(self.columns)}"
        if isinstance(plain, e.Attribute) and not is_number:
            # `mapInArrow` looks its columns up by their names, and takes them apart at dots.
            name = re.sub("[.`]", "_", bare(plain.name))
            name += "_" if name.lower().startswith(RESERVED) else ""
        taken = {*map(str.lower, self.columns), "bits", "time"}
        while name.lower() in taken:
            name = f"{name}_"
        self.columns[name] = plain
        if is_number:
            self.numbers.add(name)
        return name


def without_spans(expression: e.Expr) -> e.Expr:
    return changed(expression, lambda node: None, lambda node: replace(node, span=None))


def changed(
    expression: e.Expr,
    change: Callable[[Node], Node | None],
    after: Callable[[Node], Node] = lambda node: node,
) -> e.Expr:
    """The expression with other nodes in place of those that `change` knows; what it gives is not changed
    again. `after` is applied to the rest."""

    def at(node: Node) -> Node:
        found = change(node)
        return after(map_children(node, at)) if found is None else found

    found = at(expression)
    assert isinstance(found, e.Expr)
    return found
