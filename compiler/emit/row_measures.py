"""MEASURES over what the search for row patterns gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neelc.emit.expressions import sql
from neelc.emit.grouped import grouped
from neelc.emit.list_aggregates import Values, over_list
from neelc.emit.literals import identifier
from neelc.emit.syntax import raw, text
from neelc.emit.written import Written
from neelc.ir import expr as e
from neelc.ir.recognize import UNMATCHED
from neelc.ir.row_values import BY_ORDER, BY_VALUE, ROW
from neelc.ir.typeof import type_of
from neelc.plan.row_arguments import TRUE, columns_at_row, columns_over_rows
from neelc.plan.row_plan import RowPlan
from neelc.runtime.rows import program as p


@dataclass(frozen=True)
class RowMeasures:
    """Writes measures over the outputs of the program."""

    plan: RowPlan
    windows: dict[e.OverRows, str]

    def sql(self, expression: e.Expr) -> str:
        text = sql(expression, self._value)
        is_of_match = isinstance(expression, e.RowValue) and not isinstance(expression, e.Given)
        if self.plan.query.all_rows != UNMATCHED or is_of_match:
            return text
        # A row without a match has no measures, even if this is made of none of its values.
        return f"IF({self._output(p.Property('', 'MATCH_NUMBER'))} IS NULL, NULL, {text})"

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
                values = self._listed(argument, self._mask(variables))
                return over_list(name, Values(values, type_of(argument)), type, distinct)
            case e.MatchNumber():
                return self._output(p.Property("", "MATCH_NUMBER"))
            case e.Given(_, argument):
                return identifier(self._column(argument))
        return None

    def _listed(self, argument: e.Expr, mask: int) -> str:
        """The values of an argument at the rows of a match that are mapped to variables, as an array."""
        columns = columns_over_rows(argument)
        names = [
            self._output(p.Values("", mask, None if one is None else self._column(one))) for one in columns
        ]
        if argument in columns or isinstance(argument, e.Classifier):
            return names[0]
        lists = list(dict.fromkeys(names))
        if len(lists) == 1:
            return f"transform({lists[0]}, taken -> {self._put_together(argument, {None: 'taken'})})"
        taken = {one: f"taken.{name}" for one, name in zip(columns, names, strict=True)}
        return f"transform(arrays_zip({', '.join(lists)}), taken -> {self._put_together(argument, taken)})"

    def _at_row(self, node: e.AtRow, argument: e.Expr) -> str:
        at = p.At(self._mask(node.variables), node.anchor == "LAST", node.place, node.shift, node.final)
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
                    return self._output(p.Property("", "MATCH_NUMBER"))
            return None

        return sql(argument, refs)

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
        elif node.name == "any_value":
            found = f"first({seen}, true) {over}"
        elif node.name in ("max_by", "min_by"):
            # Of rows that are equal the first one is chosen.
            place = f"-{row}" if node.name == "max_by" else row
            rank = f"struct(({seen}).{BY_ORDER}, {place} AS place)"
            found = f"{node.name}(({seen}).{BY_VALUE}, IF(({seen}) IS NULL, NULL, {rank})) {over}"
        else:
            found = f"{text(grouped(node.name, Written(raw(seen), kind), False))} {over}"
        return f"IF({number} IS NULL, NULL, {found})"

    def _taken(self, at: p.At, column: e.Expr | None) -> str:
        return self._output(p.Value("", at, None if column is None else self._column(column)))

    def _column(self, expression: e.Expr) -> str:
        return named(self.plan, expression)

    def _mask(self, variables: tuple[str, ...]) -> int:
        names = self.plan.program.names
        return sum(1 << names.index(one) for one in variables) if variables else (1 << len(names)) - 1

    def _output(self, output: p.Output) -> str:
        return self.plan.outputs[output]


def named(plan: RowPlan, expression: e.Expr) -> str:
    """The column with the value of an expression."""
    found = (name for name, known in plan.columns.items() if known == expression)
    return next(name for name in found if name not in plan.numbers)
