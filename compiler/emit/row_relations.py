"""A planned MATCH_RECOGNIZE as relations: the columns of rows, their order, the matches, the measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neelc.emit.expressions import sql
from neelc.emit.literals import alias, identifier, spark_type
from neelc.emit.relations import Extend, Items, Kernel, Let, Select, Sorted, Where
from neelc.emit.row_measures import RowMeasures, named
from neelc.emit.row_order import one_number, row_sort_number
from neelc.emit.scans import free
from neelc.emit.times import as_number
from neelc.ir import expr as e
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.row_values import ROW
from neelc.ir.rows import SortItem
from neelc.ir.typeof import type_of
from neelc.ir.types import DATE, DOUBLE, Array
from neelc.plan.row_conditions import attributes
from neelc.plan.row_plan import RowPlan, time_unit
from neelc.runtime.rows import program as p

Reference = Callable[[e.Expr], str | None]


def row_relations(plan: RowPlan, source: str, name: str, taken: set[str]) -> Iterator[Let]:
    """The relations that make the result out of the rows of `source`."""
    relations = _Relations(plan, source, name, taken)
    if relations.shifts():
        return relations.lets()
    program = dataclasses.replace(plan.program, order=one_number(plan))
    return _Relations(dataclasses.replace(plan, program=program), source, name, taken).lets()


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
        shifts = self.shifts()
        read = dict(self._columns())
        bits = {} if shifts or not plan.program.flagged else {"bits": self._bits({}, _of_row)}
        items = tuple((text, name) for name, text in {**read, **bits}.items())
        yield Let(rows, Select(self.source, items), "What is used of each row" + _with_bits(bool(bits)))
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
            yield Let(judged, Select(ordered, items), comment)
            ordered = judged
        yield Let(matches, Kernel(ordered, plan.program, self._schema()), f"Matches of {plan.query.pattern}")
        yield from self._measures(matches)

    def _columns(self) -> Iterator[tuple[str, str]]:
        """What is computed of each row: columns that are needed after that, and their texts."""
        plan = self.plan
        needed = {*p.columns_read(plan.program), *plan.order}
        if self.shifts():
            found = attributes(one for several in plan.bits for one in several)
            needed |= {self._own_column(node) for node in found}
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
        return named(self.plan, node)

    def _read(self, shifts: dict[tuple[str, int], str]) -> Iterator[tuple[str, str]]:
        """What the program reads."""
        program = self.plan.program
        for name in p.columns_read(program):
            yield identifier(name), name
        if program.reach is not None:
            query, (first, *_) = self.plan.query, self.plan.order
            unit = time_unit(query)
            kind = type_of(query.order[0].expression)
            yield as_number(identifier(first), kind, query.unit, unit), "time"
        if program.flagged:
            yield (self._bits(shifts, self._argument) if shifts else "bits"), "bits"

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

    def _schema(self) -> str:
        plan = self.plan
        fields = [f"{alias(name)} {spark_type(type_of(plan.columns[name]))}" for name in _own(plan)]
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
        writer = RowMeasures(self.plan, {value: column for value, (column, _) in windows.items()})
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
        writer = RowMeasures(self.plan, {})
        for measure in self.plan.query.measures:
            for node in walk(measure.expression):
                if isinstance(node, e.OverRows) and node.argument is not None and node not in found:
                    found[node] = (f"aggregate_{len(found) + 1}", writer.windowed(node))
        return found


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
    """As Spark sorts: NULL comes first, and with DESC last, unless it is said."""
    usual = "LAST" if item.descending else "FIRST"
    nulls = f" NULLS {item.nulls}" if item.nulls not in (None, usual) else ""
    return f"{' DESC' if item.descending else ''}{nulls}"
