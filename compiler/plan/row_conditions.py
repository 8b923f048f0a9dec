"""Conditions of DEFINE: what Spark judges of a row alone, what the kernel judges of rows at fixed distances,
and what depends on the path that the match has taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
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
from neelc.runtime.rows.program import Nearby


@dataclass
class Conditions:
    """The conditions of the variables `names`, sorted by who judges them.

    `bits` are for each variable conditions that Spark judges: of the row alone, or with functions that the
    kernel does not have. `nearby` the kernel judges before it looks for matches. `path` are the rest."""

    names: tuple[str, ...]
    columns: RowColumns
    bits: list[list[e.Expr]] = field(default_factory=list)
    nearby: list[Nearby] = field(default_factory=list)
    coded: list[tuple[str, ...]] = field(default_factory=list)
    path: dict[str, e.Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bits = [[] for _ in self.names]

    def add(self, variable: str, condition: e.Expr) -> None:
        path = []
        for conjunct in map(without_spans, conjuncts(condition)):
            if not is_of_row(conjunct, variable):
                path.append(conjunct)
            elif distances(conjunct) <= {0}:
                self.bits[self.names.index(variable)].append(conjunct)
            else:
                self._nearby(variable, conjunct)
        rest = conjoin(path)
        if rest is not None:
            self.path[variable] = rest

    def _nearby(self, variable: str, conjunct: e.Expr) -> None:
        at = _AtDistances(self.columns)
        absent = frozenset(str(distance) for distance in distances(conjunct) - {0})
        values = KernelValues(at, absent)
        try:
            found = Nearby(self.names.index(variable), values.value(at.leaves(conjunct)))
        except NotInKernel:
            self.bits[self.names.index(variable)].append(conjunct)
            return
        self.nearby.append(found)
        self.coded += values.coded
        at.keep()

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
