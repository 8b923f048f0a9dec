"""Conditions of DEFINE: what Spark judges of a row alone, what the kernel judges of rows at fixed distances,
and what depends on the path that the match has taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from neelc.ir import expr as e
from neelc.ir.conjuncts import conjoin, conjuncts
from neelc.ir.node import Node, walk
from neelc.ir.row_values import ROW
from neelc.ir.types import STRING
from neelc.plan.event_columns import NUMBER, PLAIN, EventColumn, EventColumns
from neelc.plan.kernel_values import KernelValues, groups
from neelc.plan.list_folds import NotInKernel
from neelc.plan.row_columns import RowColumns, changed, without_spans
from neelc.runtime.program import Column
from neelc.runtime.rows.program import At, Machine, Nearby, is_first_row

MOST_STARTING = 4
"""So many variables may have conditions on the first row: rows are read once for each way these can hold."""


@dataclass
class Conditions:
    """The conditions of the variables `names`, sorted by who judges them.

    `bits` are for each variable conditions that Spark judges: of the row alone, or with functions that the
    kernel does not have. `nearby` the kernel judges before it looks for matches. `starting` are conditions
    on the first row of the match: judged for each row as if it was that. `path` are the rest."""

    names: tuple[str, ...]
    columns: RowColumns
    machine: Machine
    bits: list[list[e.Expr]] = field(default_factory=list)
    nearby: list[Nearby] = field(default_factory=list)
    starting: list[Nearby] = field(default_factory=list)
    coded: list[tuple[str, ...]] = field(default_factory=list)
    path: dict[str, e.Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bits = [[] for _ in self.names]

    def add(self, variable: str, condition: e.Expr) -> None:
        path = []
        number = self.names.index(variable)
        for conjunct in map(without_spans, conjuncts(condition)):
            if is_of_row(conjunct, variable):
                if distances(conjunct) <= {0} or not self._nearby(number, conjunct, self.nearby):
                    self.bits[number].append(conjunct)
            elif not self._starting(number, conjunct):
                path.append(conjunct)
        rest = conjoin(path)
        if rest is not None:
            self.path[variable] = rest

    def _nearby(self, variable: int, conjunct: e.Expr, conditions: list[Nearby]) -> bool:
        """Adds what the kernel judges of rows at distances; False if it cannot."""
        at = _AtDistances(self.columns)
        absent = frozenset(str(distance) for distance in distances(conjunct) - {0})
        values = KernelValues(at, absent)
        try:
            found = Nearby(variable, values.value(at.leaves(conjunct)))
        except NotInKernel:
            return False
        conditions.append(found)
        self.coded += values.coded
        at.keep()
        return True

    def _starting(self, variable: int, conjunct: e.Expr) -> bool:
        """Adds a condition on the first row of the match; False if it is another, or one too many."""
        known = {one.variable for one in self.starting} | {variable}
        if len(known) > MOST_STARTING or not self._is_of_first_row(conjunct):
            return False

        def change(node: Node) -> Node | None:
            return replace(node, variables=(), anchor="LAST") if isinstance(node, e.AtRow) else None

        of_row = changed(conjunct, change)
        if distances(of_row) <= {0}:

            def value(node: Node) -> Node | None:
                return node.argument if isinstance(node, e.AtRow) else None

            self.starting.append(Nearby(variable, Column("0", self.columns.column(changed(of_row, value)))))
            return True
        return self._nearby(variable, of_row, self.starting)

    def _is_of_first_row(self, conjunct: e.Expr) -> bool:
        values = [node for node in walk(conjunct) if isinstance(node, e.RowValue)]
        return all(isinstance(one, e.AtRow) and self._is_first_row(one) for one in values)

    def _is_first_row(self, node: e.AtRow) -> bool:
        asked = node.variables or self.names
        mask = sum(1 << self.names.index(name) for name in asked)
        at = At(mask, node.anchor == "LAST", node.place, node.shift)
        return not depends_on_match(node.argument) and is_first_row(at, self.machine)

    def keep_columns(self) -> None:
        """Where Spark judges conditions about other rows, it does so once rows are in order: the columns that
        its conditions name must be there."""
        if self.shifted:
            for node in attributes(one for several in self.bits for one in several):
                self.columns.column(node)

    @property
    def codings(self) -> tuple[tuple[str, ...], ...]:
        return groups(self.coded)

    @property
    def shifted(self) -> bool:
        """Whether Spark judges conditions about other rows."""
        return any(distances(one) - {0} for several in self.bits for one in several)


class _AtDistances(EventColumns):
    """Columns of rows at distances. A value at a distance is NULL where there is no such row, whatever it is
    computed from: so it stands as an attribute of its own."""

    def __init__(self, columns: RowColumns) -> None:
        super().__init__({})
        self.rows = columns
        self.arguments: dict[str, e.Expr] = {}
        self.tried = RowColumns(dict(columns.columns), set(columns.numbers))

    def leaves(self, conjunct: e.Expr) -> e.Expr:
        def change(node: Node) -> Node | None:
            if not isinstance(node, e.AtRow):
                return None
            name = f"leaf {len(self.arguments)}"
            self.arguments[name] = node.argument
            return e.Attribute(e.Variable(str(node.shift)), name, node.type)

        return changed(conjunct, change)

    def column(self, expression: e.Expr, variable: str, form: str = PLAIN) -> EventColumn:
        def change(node: Node) -> Node | None:
            return self.arguments[node.name] if isinstance(node, e.Attribute) else None

        plain = changed(expression, change)
        return EventColumn(self.tried.column(plain, form == NUMBER), plain, form)

    def keep(self) -> None:
        """What was tried is needed."""
        self.rows.columns.update(self.tried.columns)
        self.rows.numbers.update(self.tried.numbers)


def is_of_row(condition: e.Expr, variable: str) -> bool:
    """Whether a condition of a variable speaks of the current row, and of rows at a fixed distance, only."""
    for node in walk(condition):
        match node:
            case e.AtRow(_, argument, variables, "LAST", 0):
                if (variables and variable not in variables) or depends_on_match(argument):
                    return False
            case e.RowValue():
                return False
    return True


def depends_on_match(argument: e.Expr) -> bool:
    """Whether a value of a row depends on the match that the row is in."""
    return any(isinstance(node, e.Classifier | e.MatchNumber) for node in walk(argument))


def distances(condition: e.Expr) -> set[int]:
    """How far from the current row the rows are that a condition speaks of."""
    return {node.shift for node in walk(condition) if isinstance(node, e.AtRow)}


def attributes(conditions: Iterable[e.Expr]) -> list[e.Attribute]:
    """The columns of rows that conditions name."""
    found = (node for one in conditions for node in walk(one))
    return [node for node in found if isinstance(node, e.Attribute) and node.event == e.Variable(ROW)]


def without_decimals(expression: e.Expr) -> e.Expr:
    """Constants of DECIMAL as casts of texts: those can be printed in a program."""

    def change(node: Node) -> Node | None:
        match node:
            case e.Literal(Decimal() as value, type):
                return e.Cast(e.Literal(str(value), STRING), type)
        return None

    return changed(expression, change)
