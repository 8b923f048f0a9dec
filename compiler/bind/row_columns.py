"""The columns of the rows that a row pattern reads."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.bind.findings import Findings
from neelc.bind.relations import Relation
from neelc.bind.suggest import did_you_mean, variable_meant
from neelc.bind.typing import typed
from neelc.ir import expr as e
from neelc.ir.logical import Column
from neelc.ir.names import bare, meant, same, written
from neelc.ir.row_values import ROW
from neelc.ir.types import VOID, Struct


@dataclass(frozen=True)
class RowColumns:
    """The columns of the input, which may be called by its name: `trades.price`."""

    source: Relation
    findings: Findings

    def named(self, name: str) -> Column | None:
        columns = self.source.columns or ()
        found = meant(name, [column.name for column in columns])
        return next((column for column in columns if column.name == found), None)

    def can_mean(self, parts: tuple[str, ...]) -> bool:
        """Whether a name is that of a column, or begins with that of the input."""
        is_called = len(parts) > 1 and self._is_source(parts[0])
        return is_called or self.named(parts[0]) is not None

    def _is_source(self, name: str) -> bool:
        return bool(self.source.name) and meant(name, [self.source.name]) is not None

    def column(self, parts: tuple[str, ...], node: e.Expr, variables: tuple[str, ...]) -> e.Expr | None:
        """A column, or a field of one, of the row an argument is evaluated at; None, and a report, if there
        is none of that name. `variables` could have stood before the dot."""
        if len(parts) > 1 and self.named(parts[0]) is None:
            if not self._is_source(parts[0]):
                self.unknown_qualifier(parts[0], node, variables)
                return None
            parts = parts[1:]
        found = self.named(parts[0])
        if found is None:
            hint = did_you_mean(parts[0], [c.name for c in self.source.columns or ()], "columns")
            place = self.findings.word(parts[0], node)
            self.findings.report("NEEL2003", f"unknown column `{bare(parts[0])}`", place, hint)
            return None
        value: e.Expr = e.Attribute(e.Variable(ROW), written(found.name), found.type, span=node.span)
        for part in parts[1:]:
            value = self.field(value, part, node)
        return value

    def field(self, base: e.Expr, name: str, node: e.Expr) -> e.Expr:
        kind = typed(base, self.findings.report)[1]
        if kind == VOID:
            return base  # it has been reported
        fields = kind.fields if isinstance(kind, Struct) else ()
        for one in fields:
            if same(name, one.name):
                return e.Field(base, one.name, one.type, span=node.span)
        hint = did_you_mean(name, [bare(one.name) for one in fields], "fields")
        self.findings.report("NEEL2014", f"{kind} has no field `{bare(name)}`", node.span, hint)
        return base

    def unknown_qualifier(self, name: str, node: e.Expr, variables: tuple[str, ...]) -> None:
        place, hint = self.findings.word(name, node), variable_meant(name, variables)
        self.findings.report("NEEL2003", f"unknown name `{bare(name)}`", place, hint)
