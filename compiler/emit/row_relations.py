"""A planned MATCH_RECOGNIZE as relations: the columns of rows, their order, the matches, the measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neelc.emit.expressions import sql
from neelc.emit.grouped import grouped
from neelc.emit.list_aggregates import Values, over_list
from neelc.emit.literals import identifier, spark_type
from neelc.emit.relations import Extend, Items, Kernel, Let, Select, Sorted, Where
from neelc.emit.scans import free
from neelc.emit.syntax import raw, text
from neelc.emit.times import as_number
from neelc.emit.written import Written
from neelc.ir import expr as e
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.row_values import ROW
from neelc.ir.rows import SortItem
from neelc.ir.typeof import type_of
from neelc.ir.types import DOUBLE, Array
from neelc.plan.row_plan import TRUE, RowPlan, columns_at_row, time_unit
from neelc.runtime.rows import program as p


def row_relations(plan: RowPlan, source: str, name: str, taken: set[str]) -> Iterator[Let]:
    """The relations that make the result out of the rows of `source`."""
    return _Relations(plan, source, name, taken).lets()


@dataclass
class _Relations:
    plan: RowPlan
    source: str
    name: str
    taken: set[str]

    def lets(self) -> Iterator[Let]:
        plan = self.plan
        rows, ordered, judged, matches = (
            free(word, self.taken) for word in ("rows", "ordered", "judged", "matches")
        )
        yield Let(rows, Select(self.source, tuple(self._columns())), "What is used of each row.")
        order = (*map(identifier, plan.keys), *self._order())
        keys = tuple(map(identifier, plan.keys))
        comment = "The rows of each partition together, in order." if keys else "All rows, in order."
        yield Let(ordered, Sorted(rows, keys, order), comment)
        shifts = self._shifts()
        if shifts:
            moved = free("neighbours", self.taken)
            items = tuple((self._shifted(*one), shift) for one, shift in shifts.items())
            yield Let(moved, Extend(ordered, items), "Values of rows before and after.")
            ordered = moved
        items = tuple(self._read(shifts))
        yield Let(judged, Select(ordered, items), "Which variables' conditions each row meets, as bits.")
        yield Let(matches, Kernel(judged, plan.program, self._schema()), f"Matches of {plan.query.pattern}")
        yield from self._measures(matches)

    def _columns(self) -> Iterator[tuple[str, str]]:
        for name, expression in self.plan.columns.items():
            written = sql(expression, _of_row)
            if name in self.plan.keys and type_of(expression) == DOUBLE:
                written = f"nanvl({written} + 0.0D, double('NaN'))"
            yield written, name

    def _order(self) -> Iterator[str]:
        for item, name in zip(self.plan.query.order, self.plan.order, strict=True):
            yield f"{identifier(name)}{_direction(item)}"

    def _shifts(self) -> dict[tuple[str, int], str]:
        """The columns for values of rows at a distance."""
        found: dict[tuple[str, int], str] = {}
        for conjunct in (one for several in self.plan.bits for one in several):
            for node in walk(conjunct):
                if isinstance(node, e.AtRow) and node.shift:
                    place = (sql(node.argument, self._argument), node.shift)
                    found.setdefault(place, f"shifted_{len(found) + 1}")
        return found

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
        return next(name for name, known in self.plan.columns.items() if known == node)

    def _read(self, shifts: dict[tuple[str, int], str]) -> Iterator[tuple[str, str]]:
        """What the program reads."""
        program = self.plan.program
        looked = (one.column for condition in program.conditions for one in condition.looked)
        taken = (one.column for one in program.outputs if isinstance(one, p.Value | p.Values))
        for name in dict.fromkeys(n for n in (*program.keys, *program.own, *looked, *taken) if n):
            yield identifier(name), name
        if program.reach is not None:
            query, (first, *_) = self.plan.query, self.plan.order
            unit = time_unit(query)
            kind = type_of(query.order[0].expression)
            yield as_number(identifier(first), kind, query.unit, unit), "time"
        yield self._bits(shifts), "bits"

    def _bits(self, shifts: dict[tuple[str, int], str]) -> str:
        def refs(node: e.Expr) -> str | None:
            match node:
                case e.AtRow(_, argument, shift=0):
                    return f"({sql(argument, self._argument)})"
                case e.AtRow(_, argument, shift=shift):
                    return identifier(shifts[sql(argument, self._argument), shift])
            return None

        many = "L" if len(self.plan.bits) > 30 else ""
        texts = []
        for number, conjuncts in enumerate(self.plan.bits):
            bit = f"{2**number}{many}"
            tests = [sql(one, refs) for one in conjuncts]
            joined = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
            texts.append(f"IF({joined}, {bit}, 0)" if tests else bit)
        return " + ".join(texts)

    def _schema(self) -> str:
        plan = self.plan
        fields = [f"{identifier(name)} {spark_type(type_of(plan.columns[name]))}" for name in _own(plan)]
        fields += [f"{one.name} {self._type(one)}" for one in plan.program.outputs]
        return ", ".join(fields)

    def _type(self, output: p.Output) -> str:
        match output:
            case p.Value(column=None):
                return "STRING"
            case p.Value(column=str(name)):
                return spark_type(type_of(self.plan.columns[name]))
            case p.Values(column=None):
                return "ARRAY<STRING>"
            case p.Values(column=str(name)):
                return spark_type(Array(type_of(self.plan.columns[name])))
            case p.Member() | p.Property(of="EXCLUDED"):
                return "BOOLEAN"
        return "BIGINT"

    def _measures(self, matches: str) -> Iterator[Let]:
        windows = self._windows()
        if windows:
            summed = free("summed", self.taken)
            sums = tuple((text, column) for column, text in windows.values())
            yield Let(summed, Extend(matches, sums), "Aggregates over the rows of each match.")
            matches = summed
        excluded = self.plan.outputs.get(p.Property("", "EXCLUDED"))
        if excluded:
            kept = free("kept", self.taken)
            yield Let(kept, Where(matches, f"NOT {excluded}"), "Without the rows of exclusions.")
            matches = kept
        writer = _Measures(self.plan, {value: column for value, (column, _) in windows.items()})
        query = self.plan.query
        first, rest = query.own_columns
        own = dict(zip((column.name for column in (*first, *rest)), self.plan.own, strict=True))
        items: Items = (
            *((identifier(own[column.name]), column.name) for column in first),
            *((writer.sql(measure.expression), measure.name) for measure in query.measures),
            *((identifier(own[column.name]), column.name) for column in rest),
        )
        yield Let(self.name, Select(matches, items), "MEASURES")

    def _windows(self) -> dict[e.OverRows, tuple[str, str]]:
        """For ALL ROWS: the columns of aggregates over rows of a match, and their texts."""
        found: dict[e.OverRows, tuple[str, str]] = {}
        if self.plan.query.all_rows is None:
            return found
        writer = _Measures(self.plan, {})
        for measure in self.plan.query.measures:
            for node in walk(measure.expression):
                if isinstance(node, e.OverRows) and node.argument is not None and node not in found:
                    found[node] = (f"aggregate_{len(found) + 1}", writer.windowed(node))
        return found


@dataclass(frozen=True)
class _Measures:
    """Writes measures over the outputs of the program."""

    plan: RowPlan
    windows: dict[e.OverRows, str]

    def sql(self, expression: e.Expr) -> str:
        return sql(expression, self._value)

    def _value(self, node: e.Expr) -> str | None:
        match node:
            case e.AtRow(_, argument):
                return self._at_row(node, argument)
            case e.OverRows(_, _, None, variables, final):
                return self._output(p.Number("", self._mask(variables), final))
            case e.OverRows() if node in self.windows:
                return self.windows[node]
            case e.OverRows(type, name, argument, variables, _, distinct):
                assert argument is not None
                column = None if isinstance(argument, e.Classifier) else self._column(argument)
                values = self._output(p.Values("", self._mask(variables), column))
                return over_list(name, Values(values, type_of(argument)), type, distinct)
            case e.MatchNumber():
                return self._output(p.Property("", "MATCH_NUMBER"))
        return None

    def _at_row(self, node: e.AtRow, argument: e.Expr) -> str:
        at = p.At(self._mask(node.variables), node.anchor == "LAST", node.place, node.shift, node.final)
        columns = columns_at_row(argument)
        if len(columns) == 1:
            return self._taken(at, columns[0])

        def refs(inner: e.Expr) -> str | None:
            match inner:
                case e.Attribute(e.Variable(name)) if name == ROW:
                    return self._taken(at, inner)
                case e.Classifier():
                    return self._taken(at, None)
                case e.MatchNumber():
                    return self._output(p.Property("", "MATCH_NUMBER"))
            return None

        return f"IF({self._taken(at, TRUE)}, {sql(argument, refs)}, NULL)"

    def windowed(self, node: e.OverRows) -> str:
        """An aggregate over the rows of a match, up to the current one or all of them."""
        assert node.argument is not None
        argument, kind = node.argument, type_of(node.argument)
        value = self._at_row(e.AtRow(kind, argument), argument)
        member = self._output(p.Member("", self._mask(node.variables)))
        number, row = (self._output(p.Property("", of)) for of in ("MATCH_NUMBER", "ROW"))
        groups = ", ".join((*map(identifier, self.plan.keys), number))
        frame = "" if node.final else f" ORDER BY {row} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        whole = f" ORDER BY {row} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        over = f"OVER (PARTITION BY {groups}{frame or whole})"
        seen = f"IF({member}, {value}, NULL)"
        if node.distinct or node.name in ("collect_set", "stddev", "stddev_pop", "stddev_samp"):
            values = Values(f"collect_list({seen}) {over}", kind, holds_null=False)
            found = over_list(node.name, values, node.type, node.distinct)
        else:
            found = f"{text(grouped(node.name, Written(raw(seen), kind), False))} {over}"
        return f"IF({number} IS NULL, NULL, {found})"

    def _taken(self, at: p.At, column: e.Expr | None) -> str:
        return self._output(p.Value("", at, None if column is None else self._column(column)))

    def _column(self, expression: e.Expr) -> str:
        return next(name for name, known in self.plan.columns.items() if known == expression)

    def _mask(self, variables: tuple[str, ...]) -> int:
        names = self.plan.program.names
        return sum(1 << names.index(one) for one in variables) if variables else (1 << len(names)) - 1

    def _output(self, output: p.Output) -> str:
        return self.plan.outputs[output]


def _own(plan: RowPlan) -> list[str]:
    """The columns of rows that the program hands on: keys, for windows, and what the result has."""
    return list(dict.fromkeys((*plan.program.keys, *plan.program.own)))


def _of_row(node: e.Expr) -> str | None:
    match node:
        case e.Attribute(e.Variable(name), column) if name == ROW:
            return identifier(bare(column))
    return None


def _direction(item: SortItem) -> str:
    """As Spark sorts: NULL comes first, and with DESC last, unless it is said."""
    usual = "LAST" if item.descending else "FIRST"
    nulls = f" NULLS {item.nulls}" if item.nulls not in (None, usual) else ""
    return f"{' DESC' if item.descending else ''}{nulls}"
