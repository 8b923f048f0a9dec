"""Conditions of DEFINE: those on a row alone, which Spark evaluates; those on rows at fixed distances, which
the kernel evaluates; and those that depend on the path of the match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import field, replace

from neelc.ir import expressions as e
from neelc.ir.expressions import ROW, conjoin, conjuncts, names_in
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children, walk
from neelc.ir.types import BOOLEAN
from neelc.pattern.plan.columns import NUMBER, PLAIN, EventColumn, EventColumns
from neelc.pattern.plan.kernel_values import KernelValues, NotInKernel, groups
from neelc.rows.plan.expression_to_value import expression_to_value
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.program import (
    Machine,
    NearbyCondition,
    RowArgument,
    RowLocation,
    is_first_row,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ColumnValue, EventName, Value
from neelc.scalar.type_of import type_of

# The columns of rows that a row pattern needs: each an expression over one row, computed by Spark.

RESERVED = ("value_", "shifted_", "out_", "aggregate_")
"""The prefixes of names that the plan creates."""


@dataclass
class RowColumns:
    """The columns that are required, by name. Those in `numbers` are times that are written as numbers. None
    has a name that is `reserved`."""

    columns: dict[str, e.Expr] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    reserved: frozenset[str] = frozenset({"bits", "time"})

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
        taken = {*map(str.lower, self.columns), *self.reserved}
        while name.lower() in taken:
            name = f"{name}_"
        self.columns[name] = plain
        if is_number:
            self.numbers.add(name)
        return name

    def copy(self) -> RowColumns:
        """The same columns, to which others can be added."""
        return RowColumns(dict(self.columns), set(self.numbers), self.reserved)


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
        replacement = change(node)
        return after(map_children(node, at)) if replacement is None else replacement

    changed = at(expression)
    assert isinstance(changed, e.Expr)
    return changed


MOST_STARTING = 4
"""At most this many variables may have conditions on the first row: rows are read once for each combination
of results."""


@dataclass
class Conditions:
    """The conditions of the variables `names`, by where they are evaluated.

    `bits` are for each variable the conditions that Spark evaluates: on the row alone, or with functions that
    the kernel does not have. The kernel evaluates `nearby` before it looks for matches. `starting` are
    conditions on the first row of the match, evaluated for each row as if it were the first. `path` are the
    rest. Without `has_neighbours` Spark evaluates conditions on the row alone."""

    names: tuple[str, ...]
    columns: RowColumns
    machine: Machine
    bits: list[list[e.Expr]] = field(default_factory=list)
    nearby: list[NearbyCondition] = field(default_factory=list)
    starting: list[NearbyCondition] = field(default_factory=list)
    coded: list[tuple[str, ...]] = field(default_factory=list)
    path: dict[str, e.Expr] = field(default_factory=dict)
    has_neighbours: bool = True

    def __post_init__(self) -> None:
        self.bits = [[] for _ in self.names]

    def add(self, variable: str, condition: e.Expr) -> None:
        path: list[e.Expr] = []
        number = self.names.index(variable)
        for conjunct in map(without_spans, conjuncts(condition)):
            if is_of_row(conjunct, variable):
                if distances(conjunct) <= {0}:
                    self.bits[number].append(conjunct)
                elif not self._nearby(number, conjunct, self.nearby):
                    (self.bits[number] if self.has_neighbours else path).append(conjunct)
            elif not self._starting(number, conjunct):
                path.append(conjunct)
        rest = conjoin(path)
        if rest is not None:
            self.path[variable] = rest

    def _nearby(self, variable: int, conjunct: e.Expr, conditions: list[NearbyCondition]) -> bool:
        """Adds a condition on rows at distances that the kernel evaluates; False if it cannot."""
        at = _AtDistances(self.columns)
        absent = frozenset(str(distance) for distance in distances(conjunct) - {0})
        values = KernelValues(at, absent)
        try:
            condition = NearbyCondition(variable, values.value(at.leaves(conjunct)))
        except NotInKernel:
            return False
        conditions.append(condition)
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

            self.starting.append(
                NearbyCondition(variable, ColumnValue("0", self.columns.column(changed(of_row, value))))
            )
            return True
        return self._nearby(variable, of_row, self.starting)

    def _is_of_first_row(self, conjunct: e.Expr) -> bool:
        values = [node for node in walk(conjunct) if isinstance(node, e.RowValue)]
        return all(isinstance(one, e.AtRow) and self._is_first_row(one) for one in values)

    def _is_first_row(self, node: e.AtRow) -> bool:
        mask = sum(1 << self.names.index(name) for name in node.variables or self.names)
        at = RowLocation(mask, node.anchor == "LAST", node.place, node.shift)
        return not depends_on_match(node.argument) and is_first_row(at, self.machine)

    def keep_columns(self) -> None:
        """Where Spark evaluates conditions on other rows, it does so once rows are in order: the columns that
        its conditions name must be there."""
        if self.shifted:
            for node in attributes(one for several in self.bits for one in several):
                self.columns.column(node)

    @property
    def codings(self) -> tuple[tuple[str, ...], ...]:
        return groups(self.coded)

    @property
    def shifted(self) -> bool:
        """Whether Spark evaluates conditions on other rows."""
        return any(distances(one) - {0} for several in self.bits for one in several)


class _AtDistances(EventColumns):
    """Columns of rows at distances. A value at a distance is NULL where there is no such row, whatever it is
    computed from: so it stands as an attribute of its own."""

    def __init__(self, columns: RowColumns) -> None:
        super().__init__({})
        self.rows = columns
        self.arguments: dict[str, e.Expr] = {}
        self.tried = columns.copy()

    def leaves(self, conjunct: e.Expr) -> e.Expr:
        def change(node: Node) -> Node | None:
            if not isinstance(node, e.AtRow):
                return None
            name = f"leaf {len(self.arguments)}"
            self.arguments[name] = node.argument
            return e.Attribute(e.Variable(str(node.shift)), name, node.type)

        return changed(conjunct, change)

    def column(self, expression: e.Expr, variable: EventName, form: str = PLAIN) -> EventColumn:
        def change(node: Node) -> Node | None:
            return self.arguments[node.name] if isinstance(node, e.Attribute) else None

        plain = changed(expression, change)
        return EventColumn(self.tried.column(plain, form == NUMBER), plain, form)

    def keep(self) -> None:
        """What was tried is needed."""
        self.rows.columns.update(self.tried.columns)
        self.rows.numbers.update(self.tried.numbers)


def is_of_row(condition: e.Expr, variable: str) -> bool:
    """Whether a condition of a variable names only the current row and rows at a fixed distance from it."""
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
    """The distances from the current row of the rows that a condition names."""
    return {node.shift for node in walk(condition) if isinstance(node, e.AtRow)}


def attributes(conditions: Iterable[e.Expr]) -> list[e.Attribute]:
    """The columns of rows that conditions name."""
    nodes = (node for one in conditions for node in walk(one))
    return [node for node in nodes if isinstance(node, e.Attribute) and node.event == e.Variable(ROW)]


# Conditions that depend on the path of a match, as operations on values that are looked up as it grows.

Look = Callable[[e.RowValue, RowColumns], p.ConditionValue]
"""How a value is looked up; it may require columns."""


def path_condition(variable: int, condition: e.Expr, columns: RowColumns, look: Look) -> p.RowCondition:
    """A condition as operations: on numbers and codes if it can be, else on whatever values it reads."""
    tried = columns.copy()
    values = _Looked(tried, look)
    try:
        operations = _PathValues(values, values.leaves(condition)).all()
    except NotInKernel:
        tried = columns.copy()
        values = _Looked(tried, look)
        operations = expression_to_value(values.plain(condition))
    columns.columns.update(tried.columns)
    columns.numbers.update(tried.numbers)
    return p.RowCondition(variable, operations, tuple(values.looked), tuple(values.looked.values()))


class _Looked(EventColumns):
    """The values that a condition reads, by name. Spark computes, for each row, what depends on one row
    alone."""

    def __init__(self, columns: RowColumns, look: Look) -> None:
        super().__init__({})
        self.rows, self.look = columns, look
        self.values: dict[str, e.RowValue] = {}
        self.looked: dict[str, p.ConditionValue] = {}

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

    def column(self, expression: e.Expr, variable: EventName, form: str = PLAIN) -> EventColumn:
        assert isinstance(variable, str), "a row pattern has no lists"
        value = self.values[variable]
        if not self.is_of_row(variable):
            if form == NUMBER or not isinstance(expression, e.Attribute):
                raise NotInKernel(str(expression))
            return EventColumn(self._named(self.look(value, self.rows)), expression, form)
        assert isinstance(value, e.AtRow)
        argument = value.argument
        plain = changed(expression, lambda node: argument if isinstance(node, e.Attribute) else None)
        at = self.look(value, self.rows).at
        return EventColumn(
            self._named(p.ConditionValue(at, self.rows.column(plain, form == NUMBER))), plain, form
        )

    def _named(self, looked: p.ConditionValue) -> str:
        for name, known in self.looked.items():
            if known == looked:
                return name
        name = f"value_{len(self.looked) + 1}"
        self.looked[name] = looked
        return name


class _PathValues(KernelValues):
    def __init__(self, values: _Looked, condition: e.Expr) -> None:
        super().__init__(values, frozenset(values.values))
        self.looked_up, self.condition = values, condition

    def all(self) -> Value:
        return self.value(self.condition)

    def value(self, expression: e.Expr) -> Value:
        names = names_in(expression)
        is_part = len(names) == 1 and not isinstance(expression, e.Attribute)
        if is_part and not self.looked_up.is_of_row(next(iter(names))):
            return self._operation(expression)
        return super().value(expression)


# What navigation and aggregates of a row pattern are about: a value of one row.
#
# Where CLASSIFIER() or MATCH_NUMBER() is part of it, it depends on the match that the row is in; it is put
# together from columns of the row when the match is known.

TRUE = e.Literal(True, BOOLEAN)


def columns_at_row(argument: e.Expr) -> list[e.Expr | None]:
    """What the value of an argument is made of, once its row is known: one column, if it does not depend on
    the match; else its columns, the variable (None), and whether there is a row at all."""
    columns = columns_over_rows(argument)
    return (
        [*columns, TRUE] if depends_on_match(argument) and not isinstance(argument, e.Classifier) else columns
    )


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


def row_argument(argument: e.Expr, columns: RowColumns) -> str | RowArgument | None:
    """An argument for the kernel: a column, the variable (None), or operations. All that does not depend
    on the match Spark computes.

    >>> from neelc.ir.types import INT
    >>> x = e.Attribute(e.Variable(ROW), "x", INT)
    >>> argument = row_argument(e.Binary("+", e.Binary("*", x, x), e.MatchNumber()), RowColumns())
    >>> argument.columns, argument.expression.operands[1] == p.MATCH_NUMBER
    (('value_0',), True)
    """
    if isinstance(argument, e.Classifier):
        return None
    if not depends_on_match(argument):
        return columns.column(argument)
    used: dict[str, None] = {}

    def change(node: Node) -> Node | None:
        match node:
            case e.Classifier(type):
                return e.Attribute(e.Variable(p.MATCH), p.CLASSIFIER.name, type)
            case e.MatchNumber(type):
                return e.Attribute(e.Variable(p.MATCH), p.MATCH_NUMBER.name, type)
            case e.Expr() if not depends_on_match(node) and _has_columns(node):
                name = columns.column(node)
                used.setdefault(name)
                return e.Attribute(e.Variable(ROW), name, type_of(node))
        return None

    return RowArgument(expression_to_value(changed(argument, change)), tuple(used))


def _has_columns(node: Node) -> bool:
    return any(isinstance(part, e.Attribute) for part in walk(node))
