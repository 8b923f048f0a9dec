"""A planned MATCH_RECOGNIZE as relations: the columns of rows, their order, the matches, the measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from neelc.engines.spark.relations import Extend, Items, Kernel, Let, SelectColumns, Sorted, Where
from neelc.engines.spark.results import ListValues as Values
from neelc.engines.spark.results import over_list
from neelc.engines.spark.scans import free
from neelc.ir import expressions as e
from neelc.ir.bound_rows import UNMATCHED
from neelc.ir.expressions import BY_ORDER, BY_VALUE, ROW
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.row_patterns import SortItem
from neelc.ir.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    DataType,
)
from neelc.rows.plan.conditions import TRUE, attributes, columns_at_row, columns_over_rows
from neelc.rows.plan.plan import RowPlan, time_unit
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.program import RowOrder
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.statistics import PAIRED
from neelc.scalar.spark.expressions import GRAIN, TICK_BITS, as_number, grouped, sort_number, sql
from neelc.scalar.spark.trees import TypedSql, alias, identifier, raw, spark_type, text
from neelc.scalar.type_of import type_of

# The order of MATCH_RECOGNIZE's rows as one number, where ORDER BY has one column, a number or a time.

GRAINS: dict[DataType, int] = {
    BIGINT: GRAIN, TIMESTAMP: GRAIN, TIMESTAMP_NTZ: GRAIN, DATE: 1, INT: 1, SMALLINT: 1, TINYINT: 1,
}  # fmt: skip


def one_number(plan: RowPlan) -> RowOrder | None:
    """How rows come that are sorted by one number; None if they cannot be."""
    if not plan.keys or len(plan.order) != 1:
        return None
    (item,), (column,) = plan.query.order, plan.order
    grain = GRAINS.get(type_of(item.expression))
    return None if grain is None else RowOrder(column, grain, item.descending, _nulls_last(item))


def row_sort_number(plan: RowPlan, keys: tuple[str, ...]) -> str:
    """What rows are sorted by, if `one_number` says how they come."""
    order = plan.program.order
    assert order is not None
    (item,) = plan.query.order
    number = _number(plan, item)
    written = sort_number(keys, f"~({number})" if order.descending else number, order.grain)
    hashed, _, _ = written.partition(" | ")
    last = (1 << TICK_BITS) - 1 if order.nulls_last else 0
    return f"coalesce({written}, {hashed} | {last}L)"


def _number(plan: RowPlan, item: SortItem) -> str:
    (column,) = plan.order
    type = type_of(item.expression)
    if column in plan.numbers:
        return identifier(column)
    unit = "DAY" if type == DATE else "MICROSECOND"
    return as_number(identifier(column), type, unit, unit)


def _nulls_last(item: SortItem) -> bool:
    """As Spark sorts: NULL comes first, and with DESC last, unless NULLS is given."""
    return item.descending if item.nulls is None else item.nulls == "LAST"


# MEASURES over what the search for row patterns gives.


@dataclass(frozen=True)
class RowMeasures:
    """Writes measures over the outputs of the program."""

    plan: RowPlan
    windows: dict[e.OverRows, str]

    def sql(self, expression: e.Expr) -> str:
        text = sql(expression, self._value)
        is_of_match = isinstance(expression, e.RowValue) and not isinstance(expression, e.ConstantRowValue)
        if self.plan.query.all_rows != UNMATCHED or is_of_match:
            return text
        # A row without a match has no measures, even if this is made of none of its values.
        return f"IF({self._output(p.PropertyOutput('', 'MATCH_NUMBER'))} IS NULL, NULL, {text})"

    def _value(self, node: e.Expr) -> str | None:
        match node:
            case e.AtRow(_, argument):
                return self._at_row(node, argument)
            case e.OverRows(_, _, None, variables, final):
                return self._output(p.CountOutput("", self._mask(variables), final))
            case e.OverRows() if node in self.windows:
                return self.windows[node]
            case e.OverRows(type, name, argument, variables, _, distinct):
                assert argument is not None
                values = self._listed(argument, self._mask(variables), node.final)
                written = over_list(name, Values(values, type_of(argument)), type, distinct)
                if self.plan.query.all_rows != UNMATCHED:
                    return written
                return f"IF({self._output(p.PropertyOutput('', 'MATCH_NUMBER'))} IS NULL, NULL, {written})"
            case e.MatchNumber():
                return self._output(p.PropertyOutput("", "MATCH_NUMBER"))
            case e.ConstantRowValue(_, argument):
                return identifier(self._column(argument))
        return None

    def _listed(self, argument: e.Expr, mask: int, final: bool) -> str:
        """The values of an argument at the rows of a match that are mapped to variables, as an array."""
        columns = columns_over_rows(argument)
        is_final = final or self.plan.query.all_rows is None
        names = [
            self._output(p.ValuesOutput("", mask, None if one is None else self._column(one), is_final))
            for one in columns
        ]
        if argument in columns or isinstance(argument, e.Classifier):
            return names[0]
        lists = list(dict.fromkeys(names))
        if len(lists) == 1:
            return f"transform({lists[0]}, taken -> {self._put_together(argument, {None: 'taken'})})"
        taken = {one: f"taken.{name}" for one, name in zip(columns, names, strict=True)}
        return f"transform(arrays_zip({', '.join(lists)}), taken -> {self._put_together(argument, taken)})"

    def _at_row(self, node: e.AtRow, argument: e.Expr) -> str:
        at = p.RowLocation(
            self._mask(node.variables), node.anchor == "LAST", node.place, node.shift, node.final
        )
        taken = {one: self._taken(at, one) for one in columns_at_row(argument)}
        if len(taken) == 1:
            return next(iter(taken.values()))
        return f"IF({taken[TRUE]}, {self._put_together(argument, taken)}, NULL)"

    def _put_together(self, argument: e.Expr, taken: Mapping[e.Expr | None, str]) -> str:
        """An argument that depends on the match, of its columns and the variable (None) at a row."""

        def refs(inner: e.Expr) -> str | None:
            match inner:
                case e.Attribute(e.Variable(name)) if name == ROW:
                    return taken[inner]
                case e.Classifier():
                    return taken[None]
                case e.MatchNumber():
                    return self._output(p.PropertyOutput("", "MATCH_NUMBER"))
            return None

        return sql(argument, refs)

    def windowed(self, node: e.OverRows) -> str:
        """An aggregate over the rows of a match, up to the current one or all of them."""
        assert node.argument is not None
        argument, kind = node.argument, type_of(node.argument)
        value = self._at_row(e.AtRow(kind, argument), argument)
        member = self._output(p.MembershipOutput("", self._mask(node.variables)))
        number, row = (self._output(p.PropertyOutput("", of)) for of in ("MATCH_NUMBER", "ROW"))
        groups = ", ".join((*map(identifier, self.plan.keys), number))
        frame = "" if node.final else f" ORDER BY {row} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        whole = f" ORDER BY {row} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        over = f"OVER (PARTITION BY {groups}{frame or whole})"
        seen = f"IF({member}, {value}, NULL)"
        if node.distinct or node.name in OF_LISTS:
            values = Values(f"collect_list({seen}) {over}", kind, holds_null=False)
            aggregated = over_list(node.name, values, node.type, node.distinct)
        elif node.name == "any_value":
            aggregated = f"first({seen}, true) {over}"
        elif node.name in ("max_by", "min_by"):
            # Of rows that are equal the first one is chosen.
            place = f"-{row}" if node.name == "max_by" else row
            rank = f"struct(({seen}).{BY_ORDER}, {place} AS place)"
            aggregated = f"{node.name}(({seen}).{BY_VALUE}, IF(({seen}) IS NULL, NULL, {rank})) {over}"
        else:
            aggregated = f"{text(grouped(node.name, TypedSql(raw(seen), kind), False))} {over}"
        return f"IF({number} IS NULL, NULL, {aggregated})"

    def _taken(self, at: p.RowLocation, column: e.Expr | None) -> str:
        return self._output(p.ValueOutput("", at, None if column is None else self._column(column)))

    def _column(self, expression: e.Expr) -> str:
        return named(self.plan, expression)

    def _mask(self, variables: tuple[str, ...]) -> int:
        names = self.plan.program.names
        return sum(1 << names.index(one) for one in variables) if variables else (1 << len(names)) - 1

    def _output(self, output: p.Output) -> str:
        return self.plan.outputs[output]


def named(plan: RowPlan, expression: e.Expr) -> str:
    """The column with the value of an expression."""
    names = (name for name, known in plan.columns.items() if known == expression)
    return next(name for name in names if name not in plan.numbers)


Reference = Callable[[e.Expr], str | None]

OF_LISTS = frozenset(
    ("collect_set", "kurtosis", "median", "skewness", "stddev", "stddev_pop", "stddev_samp", *PAIRED)
)
"""Aggregates that Spark has not over the rows up to one, or with other values."""


def row_relations(plan: RowPlan, source: str, name: str, taken: set[str]) -> Iterator[Let]:
    """The relations that make the result out of the rows of `source`."""
    relations = RowRelations(plan, source, name, taken)
    if relations.shifts():
        return relations.lets()
    program = dataclasses.replace(plan.program, order=one_number(plan))
    return RowRelations(dataclasses.replace(plan, program=program), source, name, taken).lets()


@dataclass
class RowRelations:
    """The relations of a clause over the rows of `source`; the last of them is called `name`."""

    plan: RowPlan
    source: str
    name: str
    taken: set[str]

    def lets(self) -> Iterator[Let]:
        plan = self.plan
        rows, ordered, with_bits, matches = (
            free(word, self.taken) for word in ("rows", "ordered", "judged", "matches")
        )
        shifts = self.shifts()
        read = dict(self.columns())
        bits = {} if shifts or not plan.program.flagged else {"bits": self.bits()}
        items: Items = tuple((text, name) for name, text in {**read, **bits}.items())
        yield Let(
            rows, SelectColumns(self.source, items), "What is used of each row" + _with_bits(bool(bits))
        )
        keys = tuple(map(identifier, plan.keys))
        order, comment = self._sorting(keys)
        yield Let(ordered, Sorted(rows, keys, order), comment)
        if shifts:
            moved = free("neighbours", self.taken)
            items = tuple((self._shifted(*one), shift) for one, shift in shifts.items())
            yield Let(moved, Extend(ordered, items), "Values of rows before and after.")
            ordered = moved
        items = tuple(self._read(shifts))
        if {name for _, name in items} != {*read, *bits} or shifts:
            comment = "What the search reads" + _with_bits(bool(shifts))
            yield Let(with_bits, SelectColumns(ordered, items), comment)
            ordered = with_bits
        yield Let(matches, Kernel(ordered, plan.program, self.schema()), f"Matches of {plan.query.pattern}")
        yield from self.measures(matches)

    def columns(self) -> Iterator[tuple[str, str]]:
        """What is computed of each row: columns that are needed after that, and their texts."""
        plan = self.plan
        needed = {*p.columns_read(plan.program), *plan.order}
        if self.shifts():
            read_columns = attributes(one for several in plan.bits for one in several)
            needed |= {self._own_column(node) for node in read_columns}
        for name, expression in plan.columns.items():
            if name not in needed:
                continue
            written, type = sql(expression, _of_row), type_of(expression)
            if name in plan.keys and type == DOUBLE:
                written = f"nanvl({written} + 0.0D, double('NaN'))"
            if name in plan.numbers:
                unit = "DAY" if type == DATE else "MICROSECOND"
                written = as_number(written, type, unit, unit)
            yield name, written

    def _sorting(self, keys: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        if self.plan.program.order is not None:
            nearly = "nearly in order: sorting one number is fastest."
            return (row_sort_number(self.plan, keys),), f"The rows of each partition together, {nearly}"
        comment = "The rows of each partition together, in order." if keys else "All rows, in order."
        return (*keys, *self._order()), comment

    def _order(self) -> Iterator[str]:
        for item, name in zip(self.plan.query.order, self.plan.order, strict=True):
            yield f"{identifier(name)}{_direction(item)}"

    def shifts(self) -> dict[tuple[str, int], str]:
        """The columns for values of rows at a distance."""
        shifts: dict[tuple[str, int], str] = {}
        for conjunct in (one for several in self.plan.bits for one in several):
            for node in walk(conjunct):
                if isinstance(node, e.AtRow) and node.shift:
                    place = (sql(node.argument, self._argument), node.shift)
                    shifts.setdefault(place, f"shifted_{len(shifts) + 1}")
        return shifts

    def _shifted(self, argument: str, shift: int) -> str:
        by = f"PARTITION BY {', '.join(map(identifier, self.plan.keys))} " if self.plan.keys else ""
        function = "lag" if shift < 0 else "lead"
        return f"{function}({argument}, {abs(shift)}) OVER ({by}ORDER BY {', '.join(self._order())})"

    def _argument(self, node: e.Expr) -> str | None:
        """A value of the row itself, from the columns that are there."""
        match node:
            case e.Attribute(e.Variable(name)) if name == ROW:
                return identifier(self._own_column(node))
        return None

    def _own_column(self, node: e.Expr) -> str:
        return named(self.plan, node)

    def _read(self, shifts: dict[tuple[str, int], str]) -> Iterator[tuple[str, str]]:
        """What the program reads."""
        program = self.plan.program
        for name in p.columns_read(program):
            yield identifier(name), name
        if program.reach is not None:
            yield self.time(identifier(self.plan.order[0])), "time"
        if program.flagged:
            yield (self._bits(shifts, self._argument) if shifts else "bits"), "bits"

    def time(self, text: str) -> str:
        """The first item of ORDER BY, a time, as a number."""
        query = self.plan.query
        return as_number(text, type_of(query.order[0].expression), query.unit, time_unit(query))

    def bits(self) -> str:
        """Which variables' conditions a row meets, those on other rows aside."""
        return self._bits({}, _of_row)

    def _bits(self, shifts: dict[tuple[str, int], str], argument: Reference) -> str:
        def refs(node: e.Expr) -> str | None:
            match node:
                case e.AtRow(_, inner, shift=0):
                    return f"({sql(inner, argument)})"
                case e.AtRow(_, inner, shift=shift):
                    return identifier(shifts[sql(inner, argument), shift])
            return None

        many = "L" if len(self.plan.bits) > 30 else ""
        texts = []
        for number, conjuncts in enumerate(self.plan.bits):
            bit = f"{2**number}{many}"
            tests = [sql(one, refs) for one in conjuncts]
            joined = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
            texts.append(f"IF({joined}, {bit}, 0)" if tests else bit)
        return " + ".join(texts) or "0"

    def schema(self) -> str:
        plan = self.plan
        fields = [f"{alias(name)} {spark_type(type_of(plan.columns[name]))}" for name in _own(plan)]
        fields += [f"{one.name} {self._type(one)}" for one in plan.program.outputs]
        return ", ".join(fields)

    def _type(self, output: p.Output) -> str:
        match output:
            case p.ValueOutput(column=None):
                return "STRING"
            case p.ValueOutput(column=str(name)):
                return spark_type(type_of(self.plan.columns[name]))
            case p.ValuesOutput(column=None):
                return "ARRAY<STRING>"
            case p.ValuesOutput(column=str(name)):
                return spark_type(Array(type_of(self.plan.columns[name])))
            case p.MembershipOutput() | p.PropertyOutput(of="EXCLUDED"):
                return "BOOLEAN"
        return "BIGINT"

    def measures(self, matches: str) -> Iterator[Let]:
        windows = self._windows()
        if windows:
            summed = free("summed", self.taken)
            sums = tuple((text, column) for column, text in windows.values())
            yield Let(summed, Extend(matches, sums), "Aggregates over the rows of each match.")
            matches = summed
        excluded = self.plan.outputs.get(p.PropertyOutput("", "EXCLUDED"))
        if excluded:
            kept = free("kept", self.taken)
            yield Let(kept, Where(matches, f"NOT {excluded}"), "Without the rows of exclusions.")
            matches = kept
        writer = RowMeasures(self.plan, {value: column for value, (column, _) in windows.items()})
        query = self.plan.query
        first, rest = query.own_columns
        own = dict(zip((column.name for column in (*first, *rest)), self.plan.own, strict=True))
        items: Items = (
            *((identifier(own[column.name]), column.name) for column in first),
            *((writer.sql(measure.expression), measure.name) for measure in query.measures),
            *((identifier(own[column.name]), column.name) for column in rest),
        )
        yield Let(self.name, SelectColumns(matches, items), "MEASURES")

    def _windows(self) -> dict[e.OverRows, tuple[str, str]]:
        """For ALL ROWS: the columns of aggregates over rows of a match, and their texts."""
        aggregates: dict[e.OverRows, tuple[str, str]] = {}
        if self.plan.query.all_rows is None or self.plan.streaming:
            return aggregates
        writer = RowMeasures(self.plan, {})
        for measure in self.plan.query.measures:
            for node in walk(measure.expression):
                if isinstance(node, e.OverRows) and node.argument is not None and node not in aggregates:
                    aggregates[node] = (f"aggregate_{len(aggregates) + 1}", writer.windowed(node))
        return aggregates


def _with_bits(there: bool) -> str:
    return ", and which variables' conditions it meets alone, as bits." if there else "."


def _own(plan: RowPlan) -> list[str]:
    """The columns of rows that the program hands on: keys, for windows, and what the result has."""
    return list(dict.fromkeys((*plan.program.keys, *plan.program.own)))


def _of_row(node: e.Expr) -> str | None:
    match node:
        case e.Attribute(e.Variable(name), column) if name == ROW:
            return identifier(bare(column))
    return None


def _direction(item: SortItem) -> str:
    """As Spark sorts: NULL comes first, and with DESC last, unless NULLS is given."""
    usual = "LAST" if item.descending else "FIRST"
    nulls = f" NULLS {item.nulls}" if item.nulls not in (None, usual) else ""
    return f"{' DESC' if item.descending else ''}{nulls}"
