"""From a bound MATCH_RECOGNIZE to what Spark computes of each row, and the program that finds the matches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from neelc.ir import expr as e
from neelc.ir.names import written
from neelc.ir.node import walk
from neelc.ir.recognize import UNMATCHED, Recognize
from neelc.ir.row_values import ROW
from neelc.ir.rows import RowExclusion, RowVariable
from neelc.ir.typeof import type_of
from neelc.ir.types import DATE, DOUBLE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ
from neelc.plan.row_arguments import columns_at_row, columns_over_rows, row_argument
from neelc.plan.row_columns import RowColumns
from neelc.plan.row_conditions import Conditions
from neelc.plan.row_machine import machine_of
from neelc.plan.row_paths import path_condition
from neelc.plan.unsupported import Unsupported
from neelc.plan.widths import width_of
from neelc.runtime.rows import program as p

MOST_VARIABLES = 62


@dataclass(frozen=True)
class RowPlan:
    """A clause, planned. `columns` are computed of each row, by name; those in `numbers` are times, written
    as numbers. A row has the bit of variable v if it meets `bits[v]`. `outputs` has the names of the
    program's outputs by what they stand for."""

    query: Recognize
    program: p.RowProgram
    columns: dict[str, e.Expr]
    numbers: frozenset[str]
    keys: tuple[str, ...]
    own: tuple[str, ...]
    order: tuple[str, ...]
    bits: tuple[tuple[e.Expr, ...], ...]
    outputs: dict[p.Output, str]

    @property
    def depends_on_path(self) -> tuple[str, ...]:
        """The variables with conditions that depend on which rows the match has taken."""
        return tuple(self.program.names[one.variable] for one in self.program.conditions)


def row_plan(query: Recognize) -> RowPlan:
    """The plan of a clause; `Unsupported` if there is none."""
    return _Planner(query).plan()


@dataclass
class _Planner:
    query: Recognize
    columns: RowColumns = field(default_factory=RowColumns)
    outputs: dict[p.Output, str] = field(default_factory=dict)
    given: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = (node.name for node in walk(self.query.pattern) if isinstance(node, RowVariable))
        self.names = tuple(dict.fromkeys(found))
        if len(self.names) > MOST_VARIABLES:
            what = f"a row pattern with more than {MOST_VARIABLES} variables"
            raise Unsupported(what, self.query.pattern.span)

    def plan(self) -> RowPlan:
        query = self.query
        keys = tuple(self.columns.column(_key(self._attribute(name))) for name in query.partition)
        first, rest = query.own_columns
        own = tuple(self.columns.column(self._attribute(column.name)) for column in (*first, *rest))
        order = tuple(self.columns.column(item.expression) for item in query.order)
        machine = machine_of(query.pattern, self.names)
        conditions = Conditions(self.names, self.columns, machine)
        for definition in query.definitions:
            if definition.variable in self.names:
                conditions.add(definition.variable, definition.condition)
        conditions.keep_columns()
        path = tuple(
            path_condition(self.names.index(name), condition, self.columns, self._looked)
            for name, condition in conditions.path.items()
        )
        for measure in query.measures:
            self._measure(measure.expression)
        if query.all_rows:
            self._for_all_rows()
        if not (keys or own or self.outputs):
            self.output(p.Property("", "ROW"))  # a batch without any column has no rows
        reach, rows = self._window()
        program = p.RowProgram(
            machine,
            self.names,
            keys,
            tuple(replace(output, name=name) for output, name in self.outputs.items()),
            (*own, *self.given),
            None if query.all_rows is None else query.all_rows.split()[0 if "EMPTY" in query.all_rows else 1],
            _SKIPS[query.skip.kind],
            self.mask(query.skip.variables) if query.skip.variables else 0,
            any(conditions.bits),
            tuple(conditions.nearby),
            conditions.codings,
            path,
            reach,
            rows,
            starting=tuple(conditions.starting),
            label=str(query.pattern),
        )
        if reach is None and not p.columns_read(program):
            program = replace(program, flagged=True)  # nor has one that is read
        bits = tuple(map(tuple, conditions.bits))
        columns, numbers = self.columns.columns, frozenset(self.columns.numbers)
        return RowPlan(query, program, columns, numbers, keys, own, order, bits, self.outputs)

    def _attribute(self, name: str) -> e.Expr:
        computed = next((one.expression for one in self.query.computed if one.name == name), None)
        if computed is not None:
            return computed
        column = next(column for column in self.query.columns if column.name == name)
        return e.Attribute(e.Variable(ROW), written(name), column.type)

    def mask(self, variables: tuple[str, ...]) -> int:
        """The bits of variables; all if there are none."""
        if not variables:
            return (1 << len(self.names)) - 1
        return sum(1 << self.names.index(one) for one in variables)

    def _looked(self, value: e.RowValue, columns: RowColumns) -> p.Looked:
        match value:
            case e.AtRow(_, argument):
                return p.Looked(self.at(value), row_argument(argument, columns))
            case e.OverRows(_, name, None, variables):
                return p.Looked(name="rows", variables=self.mask(variables))
            case e.OverRows(type, name, argument, variables, _, distinct):
                assert argument is not None
                column = row_argument(argument, columns)
                return p.Looked(None, column, name, self.mask(variables), type, distinct)
        return p.Looked()

    def at(self, value: e.AtRow) -> p.At:
        return p.At(self.mask(value.variables), value.anchor == "LAST", value.place, value.shift, value.final)

    def _measure(self, expression: e.Expr) -> None:
        for node in walk(expression):
            match node:
                case e.AtRow(_, argument):
                    self._value(node, argument)
                case e.OverRows(_, _, None, variables, final):
                    self.output(p.Number("", self.mask(variables), final))
                case e.OverRows(_, _, argument, variables):
                    assert argument is not None
                    self._aggregate(argument, self.mask(variables))
                case e.MatchNumber():
                    self.output(p.Property("", "MATCH_NUMBER"))
                case e.Given(_, argument):
                    self.given.setdefault(self.columns.column(argument))

    def _value(self, node: e.AtRow, argument: e.Expr) -> None:
        at = self.at(node)
        for column in columns_at_row(argument):
            self.output(p.Value("", at, None if column is None else self.columns.column(column)))

    def _aggregate(self, argument: e.Expr, mask: int) -> None:
        if self.query.all_rows is None:
            for column in columns_over_rows(argument):
                self.output(p.Values("", mask, None if column is None else self.columns.column(column)))
        else:
            self.output(p.Member("", mask))
            self._value(e.AtRow(type_of(argument), argument), argument)

    def _for_all_rows(self) -> None:
        """What windows over the rows of a match need, and what is left out at the end."""
        measured = (node for measure in self.query.measures for node in walk(measure))
        if any(isinstance(node, e.OverRows) and node.argument is not None for node in measured):
            self.output(p.Property("", "MATCH_NUMBER"))
            self.output(p.Property("", "ROW"))
        if self.query.all_rows == UNMATCHED:
            self.output(p.Property("", "MATCH_NUMBER"))
        if _has_exclusion(self.query):
            self.output(p.Property("", "EXCLUDED"))

    def output(self, output: p.Output) -> str:
        """The name of the program's output for this."""
        return self.outputs.setdefault(output, f"out_{len(self.outputs) + 1}")

    def _window(self) -> tuple[int | None, int | None]:
        """How far the time of a match may reach, and how many rows it may have."""
        if self.query.within is None:
            return None, None
        width, counts = width_of(self.query.within, time_unit(self.query))
        return (None, width) if counts else (width, None)


def time_unit(query: Recognize) -> str:
    """The unit of the times that WITHIN speaks of, as whole numbers."""
    type = type_of(query.order[0].expression) if query.order else None
    units: dict[object, str] = {TIMESTAMP: "MICROSECOND", TIMESTAMP_NTZ: "MICROSECOND", DATE: "DAY"}
    return units.get(type, query.unit)


_SKIPS = {"PAST LAST ROW": "PAST", "TO NEXT ROW": "NEXT", "TO FIRST": "FIRST", "TO LAST": "LAST"}


def _has_exclusion(query: Recognize) -> bool:
    return any(isinstance(node, RowExclusion) for node in walk(query.pattern))


def _key(column: e.Expr) -> e.Expr:
    """What rows are partitioned by. A DOUBLE is another column than the one it is made of: zero has two forms
    and NaN has many, and there they are one."""
    if type_of(column) in (FLOAT, DOUBLE):
        return e.Cast(column, DOUBLE)
    return column
