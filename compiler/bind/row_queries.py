"""Queries inside MATCH_RECOGNIZE, `(SELECT ...)`: columns that every row has before a match is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from neelc.bind.findings import Findings
from neelc.bind.typing import typed
from neelc.ir import expr as e
from neelc.ir.logical import Column, OutputColumn
from neelc.ir.names import written
from neelc.ir.row_values import ROW
from neelc.ir.types import BOOLEAN, DataType

QUERY = "query"
"""The variable that stands for a row of such a query."""


@dataclass
class RowQueries:
    """The queries of a clause. `known` are their columns, by their texts; `taken` are names of the input's
    columns. Those that were asked for are in `found`."""

    known: Mapping[str, tuple[Column, ...]]
    taken: tuple[str, ...]
    findings: Findings
    found: dict[e.Expr, OutputColumn] = field(default_factory=dict)

    def value(self, node: e.NestedQuery) -> e.Attribute | None:
        """The column with the value of a query, or whether it has rows; None, and a report, if there is none.

        >>> from neelc.ir.types import INT
        >>> from neelc.source import Source
        >>> queries = RowQueries({"SELECT 1": (Column("1", INT),)}, ("nested_1",), Findings(Source("")))
        >>> queries.value(e.NestedQuery("SELECT 1")).name
        'nested_2'
        """
        if node.exists:
            return self._column(node, BOOLEAN) if node.text in self.known else None
        column = self._only_column(node)
        return None if column is None else self._column(node, column.type)

    def among(self, node: e.InQuery, operand: e.Expr) -> e.Attribute | None:
        """The column that says whether `operand`, a value of the row, is among the values of a query."""
        column = self._only_column(node.query)
        if column is None:
            return None
        item = e.Attribute(e.Variable(QUERY), written(column.name), column.type)
        compared, _ = typed(e.InList(operand, (item,), span=node.span), self.findings.report)
        if not isinstance(compared, e.InList):
            return None
        query = replace(node.query, span=None)
        return self._column(e.InQuery(compared.operand, query, item=compared.items[0]), BOOLEAN)

    def _only_column(self, node: e.NestedQuery) -> Column | None:
        columns = self.known.get(node.text)
        if columns is None:
            return None  # it has been reported
        if len(columns) != 1:
            message = f"a subquery here must have one column, and this one has {len(columns)}"
            self.findings.report("NEEL2051", message, node.span, "choose one of its columns")
            return None
        return columns[0]

    def _column(self, expression: e.Expr, type: DataType) -> e.Attribute:
        if expression not in self.found:
            number = 1 + len(self.found)
            while f"nested_{number}" in map(str.lower, self._names):
                number += 1
            self.found[expression] = OutputColumn(f"nested_{number}", expression, type)
        return e.Attribute(e.Variable(ROW), self.found[expression].name, type)

    @property
    def _names(self) -> list[str]:
        return [*self.taken, *(one.name for one in self.found.values())]
