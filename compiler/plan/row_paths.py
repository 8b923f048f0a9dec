"""Conditions that depend on the path of a match, as operations on values that are looked up as it grows."""

from __future__ import annotations

from collections.abc import Callable

from neelc.ir import expr as e
from neelc.ir.conjuncts import names_in
from neelc.ir.node import Node
from neelc.ir.row_values import ROW
from neelc.plan.event_columns import NUMBER, PLAIN, EventColumn, EventColumns
from neelc.plan.kernel_values import KernelValues
from neelc.plan.list_folds import NotInKernel
from neelc.plan.row_columns import RowColumns, changed
from neelc.plan.row_conditions import depends_on_match, without_decimals
from neelc.runtime.program import Value
from neelc.runtime.rows import program as p

Look = Callable[[e.RowValue, RowColumns], p.Looked]
"""How a value is looked up; it may ask for columns."""


def path_condition(variable: int, condition: e.Expr, columns: RowColumns, look: Look) -> p.Condition:
    """A condition as operations, or as an expression that the reference interpreter evaluates where there are
    none for it."""
    tried = RowColumns(dict(columns.columns), set(columns.numbers))
    values = _Looked(tried, look)
    try:
        judged: Value | e.Expr = _PathValues(values, values.leaves(condition)).all()
    except NotInKernel:
        tried = RowColumns(dict(columns.columns), set(columns.numbers))
        values = _Looked(tried, look)
        judged = values.plain(without_decimals(condition))
    columns.columns.update(tried.columns)
    columns.numbers.update(tried.numbers)
    return p.Condition(variable, judged, tuple(values.looked), tuple(values.looked.values()))


class _Looked(EventColumns):
    """The values that a condition asks for, by name. What is computed of one row's value alone, Spark
    computes of each row."""

    def __init__(self, columns: RowColumns, look: Look) -> None:
        super().__init__({})
        self.rows, self.look = columns, look
        self.values: dict[str, e.RowValue] = {}
        self.looked: dict[str, p.Looked] = {}

    def leaves(self, condition: e.Expr) -> e.Expr:
        def change(node: Node) -> Node | None:
            if not isinstance(node, e.RowValue):
                return None
            name = f"leaf {len(self.values)}"
            self.values[name] = node
            return e.Attribute(e.Variable(name), name, node.type)

        return changed(condition, change)

    def plain(self, condition: e.Expr) -> e.Expr:
        """The condition as an expression over one row that has all the values as attributes."""

        def change(node: Node) -> Node | None:
            if not isinstance(node, e.RowValue):
                return None
            return e.Attribute(e.Variable(ROW), self._named(self.look(node, self.rows)), node.type)

        return changed(condition, change)

    def is_of_row(self, name: str) -> bool:
        value = self.values[name]
        return isinstance(value, e.AtRow) and not depends_on_match(value.argument)

    def column(self, expression: e.Expr, variable: str, form: str = PLAIN) -> EventColumn:
        value = self.values[variable]
        if not self.is_of_row(variable):
            if form == NUMBER or not isinstance(expression, e.Attribute):
                raise NotInKernel(str(expression))
            return EventColumn(self._named(self.look(value, self.rows)), expression, form)
        assert isinstance(value, e.AtRow)
        argument = value.argument
        plain = changed(expression, lambda node: argument if isinstance(node, e.Attribute) else None)
        at = self.look(value, self.rows).at
        return EventColumn(self._named(p.Looked(at, self.rows.column(plain, form == NUMBER))), plain, form)

    def _named(self, looked: p.Looked) -> str:
        for name, known in self.looked.items():
            if known == looked:
                return name
        name = f"value_{len(self.looked) + 1}"
        self.looked[name] = looked
        return name


class _PathValues(KernelValues):
    def __init__(self, values: _Looked, condition: e.Expr) -> None:
        super().__init__(values, frozenset(values.values))
        self.asked, self.condition = values, condition

    def all(self) -> Value:
        return self.value(self.condition)

    def value(self, expression: e.Expr) -> Value:
        names = names_in(expression)
        is_part = len(names) == 1 and not isinstance(expression, e.Attribute)
        if is_part and not self.asked.is_of_row(next(iter(names))):
            return self._operation(expression)
        return super().value(expression)
