"""What a SELECT can name: the columns of its sources, and of the variables of row patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neelc.bind.findings import Findings
from neelc.bind.functions import report_foreign
from neelc.bind.suggest import did_you_mean, in_another_case
from neelc.ir import expr as e
from neelc.ir.logical import Column
from neelc.ir.names import bare, find, find_variable, same, written
from neelc.ir.node import Node, map_children
from neelc.ir.types import BIGINT, STRING, VOID, DataType, Struct

# Functions that only move to another row: their value has the type of their argument.
NAVIGATION = ("prev", "next", "first", "last")


@dataclass(frozen=True)
class Relation:
    """Something with columns; `columns` is None when it has been reported, and then nothing is judged.

    `times` are the names of those that tell when an event is: `*` does not stand for them.
    """

    name: str
    columns: tuple[Column, ...] | None
    times: tuple[str, ...] = ()


@dataclass(frozen=True)
class Names:
    """What expressions of a SELECT, or of a row pattern in it, can name.

    `plain` are searched for a column without a qualifier; `symbols` can only qualify: variables of a row
    pattern, whose names are as they are written. Inside a row pattern its functions are known.
    """

    plain: tuple[Relation, ...]
    findings: Findings
    symbols: tuple[Relation, ...] = ()
    in_row_pattern: bool = False

    def resolved(self, node: e.Expr) -> e.Expr:
        """The expression with its references resolved, as far as their types need it."""
        match node:
            case e.Name(parts):
                return self._reference(parts, node)
            case e.Member(e.Call(name, arguments), attribute) if self.in_row_pattern:
                return self._symbol_event(name, arguments, attribute, node)
            case e.Call(name, arguments) if self.in_row_pattern:
                return self._call(name.lower(), arguments, node)
            case e.Call(name) if name.lower() in ("prev", "next", "classifier", "match_number"):
                message = f"`{name}` moves over the rows of a match, and there is none here"
                self.findings.report("NEEL3206", message, node.span, "it stands inside MATCH_RECOGNIZE only")
                return _unknown(node)
            case e.RunningFinal(_, operand) if self.in_row_pattern:
                return self.resolved(operand)
            case e.Filtered() | e.NestedQuery() | e.InQuery():
                report_foreign(node, self.findings.report)
                return _unknown(node)
            case e.Star():
                return node
        return map_children(node, self._child)

    def _child(self, node: Node) -> Node:
        return self.resolved(node) if isinstance(node, e.Expr) else map_children(node, self._child)

    def _call(self, name: str, arguments: tuple[e.Expr, ...], node: e.Call) -> e.Expr:
        if name == "temp" and len(arguments) == 1:
            return self.resolved(arguments[0])
        if name in NAVIGATION and 1 <= len(arguments) <= 2:
            return self.resolved(arguments[0])
        if name in NAVIGATION:
            message = f"`{node.name}` takes a value and, at most, a distance"
            self.findings.report("NEEL3206", message, node.span, f"for example {node.name}(price, 2)")
            return _unknown(node)
        if name == "classifier":
            return e.Cast(e.Literal(None, VOID), STRING, span=node.span)
        if name == "match_number":
            return e.Cast(e.Literal(None, VOID), BIGINT, span=node.span)
        return map_children(node, self._child)

    def _symbol_event(
        self, name: str, arguments: tuple[e.Expr, ...], attribute: str, node: e.Member
    ) -> e.Expr:
        """`START(A).id`, `END(B).x`, and JEPC's `PREV(1).x`."""
        match name.lower(), arguments:
            case (("start" | "end"), (e.Name((symbol,)),)):
                return self._reference((symbol, attribute), node)
            case "prev", (e.Literal(int()),):
                return self._reference((attribute,), node)
        message = f"`{name}(...)` has no `{attribute}`"
        self.findings.report("NEEL3206", message, node.span, "for example START(A).id or END(A).id")
        return _unknown(node)

    def _reference(self, parts: Sequence[str], node: e.Expr) -> e.Expr:
        if len(parts) > 1:
            qualifier = self._qualifier(parts[0])
            if qualifier is not None:
                return self._column(qualifier, parts[1], parts[2:], node)
        holders = [r for r in self.plain if r.columns is None or _has(r, parts[0])]
        known = [r for r in holders if r.columns is not None]
        if len(known) > 1:
            where = " and ".join(f"`{r.name}`" for r in known)
            hint = f"say which is meant: {known[0].name}.{parts[0]}"
            self.findings.report("NEEL3201", f"column `{bare(parts[0])}` is in {where}", node.span, hint)
            return _unknown(node)
        if known:
            return self._column(known[0], parts[0], parts[1:], node)
        if not holders:
            self._report_unknown(parts, node)
        return _unknown(node)

    def _qualifier(self, name: str) -> Relation | None:
        symbol = find_variable(name, [r.name for r in self.symbols])
        if symbol is not None:
            found = next(r for r in self.symbols if r.name == symbol)
            return Relation(bare(symbol), found.columns)
        return next((r for r in self.plain if same(name, written(r.name))), None)

    def _column(self, relation: Relation, name: str, rest: Sequence[str], node: e.Expr) -> e.Expr:
        if relation.columns is None:
            return _unknown(node)
        found = find(name, [written(c.name) for c in relation.columns])
        if found is None:
            names = [c.name for c in relation.columns]
            hint = did_you_mean(name, names, f"columns of {relation.name}")
            message = f"`{relation.name}` has no column `{bare(name)}`"
            self.findings.report("NEEL2003", message, self.findings.word(name, node), hint)
            return _unknown(node)
        column = next(c for c in relation.columns if written(c.name) == found)
        value: e.Expr = e.Attribute(e.Variable(written(relation.name)), found, column.type, span=node.span)
        for part in rest:
            value = self._field(value, _type(value), part, node)
        return value

    def _field(self, base: e.Expr, kind: DataType, name: str, node: e.Expr) -> e.Expr:
        fields = kind.fields if isinstance(kind, Struct) else ()
        for field in fields:
            if same(name, field.name):
                return e.Field(base, field.name, field.type, span=node.span)
        hint = did_you_mean(name, [bare(f.name) for f in fields], "fields")
        self.findings.report("NEEL2014", f"{kind} has no field `{bare(name)}`", node.span, hint)
        return _unknown(node)

    def _report_unknown(self, parts: Sequence[str], node: e.Expr) -> None:
        offered = [c.name for r in self.plain for c in r.columns or ()]
        if len(parts) > 1:
            offered = [*(bare(r.name) for r in self.symbols), *(r.name for r in self.plain)]
        what = "columns" if len(parts) == 1 else "names that can stand before a dot"
        hint = did_you_mean(parts[0], offered, what)
        if len(parts) > 1:
            hint = in_another_case(parts[0], [r.name for r in self.symbols]) or hint
        if len(parts) == 1 and bare(parts[0]).lower() in ("ts", "te", "match_start", "match_end"):
            hint = "a result always has its valid time, as ts and te; at an instant, only payloads count"
        message = f"unknown {'column' if len(parts) == 1 else 'name'} `{bare(parts[0])}`"
        self.findings.report("NEEL2003", message, self.findings.word(parts[0], node), hint)


def _has(relation: Relation, name: str) -> bool:
    return any(same(name, written(column.name)) for column in relation.columns or ())


def _type(value: e.Expr) -> DataType:
    return value.type if isinstance(value, e.Attribute | e.Field) else VOID


def _unknown(node: e.Expr) -> e.Expr:
    """NULL stands for what has been reported: it goes with every type."""
    return e.Literal(None, VOID, span=node.span)
