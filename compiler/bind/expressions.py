"""Expressions with their references resolved and their types known."""

from __future__ import annotations

from dataclasses import replace

from neelc.bind.coercion import INTEGERS
from neelc.bind.functions import is_aggregate, is_known, report_foreign, report_unknown
from neelc.bind.references import References
from neelc.bind.typing import typed
from neelc.bind.visibility import Place
from neelc.ir import expr as e
from neelc.ir.node import Node, children, map_children
from neelc.ir.types import SUMMAND, WIDE, DataType


class Expressions(References):
    """Resolves all references of an expression and checks where aggregates and `[id]` stand."""

    def expression(self, node: e.Expr) -> e.Expr:
        match node:
            case e.Name() | e.Member() | e.Subscript() | e.Slice():
                return self.resolve(node)
            case e.Call() if is_aggregate(node):
                return self.aggregate(node)
            case e.Call() if not is_known(node):
                for argument in node.arguments:
                    self.expression(argument)
                report_unknown(node, self.findings.aggregates, self.findings.report)
                return self.nothing(node)
            case e.Same(attributes):
                text = ", ".join(attributes)
                message = f"`[{text}]` speaks of all events at once: it stands as a condition of its own only"
                hint = (
                    f"join it to the rest with AND, or compare: a.{attributes[0]} = b.{attributes[0]}"
                    if attributes
                    else None
                )
                self.findings.report("NEEL3021", message, node.span, hint)
                return self.nothing(node)
            case e.Filtered() | e.NestedQuery() | e.InQuery():
                report_foreign(node, self.findings.report)
                return self.nothing(node)
            case e.RunningFinal(kind):
                self.findings.report(
                    "NEEL3031", f"{kind} has a meaning in MATCH_RECOGNIZE only", node.span, "leave it out"
                )
                return self.nothing(node)
            case e.Star():
                message = f"`{node}` stands for columns, and here one value is expected"
                self.findings.report(
                    "NEEL3031", message, node.span, "it stands alone in RETURN, or in count(*)"
                )
                return self.nothing(node)
        return map_children(node, self.child)

    def child(self, node: Node) -> Node:
        return self.expression(node) if isinstance(node, e.Expr) else map_children(node, self.child)

    def value(self, node: e.Expr) -> e.Expr | None:
        before = self.broken
        self.broken = False
        found, _ = typed(self.expression(node), self.findings.report)
        failed, self.broken = self.broken, self.broken or before
        return None if failed else found

    def aggregate(self, node: e.Call) -> e.Expr:
        nested, before = self.in_aggregate, self.broken
        self.in_aggregate, self.broken = True, False
        arguments = tuple(
            a if isinstance(a, e.Star) and a.qualifier is None else self.expression(a) for a in node.arguments
        )
        failed, self.broken = self.broken, self.broken or before
        self.in_aggregate = nested
        has_list = any(map(_ranges_over_list, arguments))
        if not failed and node.function is not None and len(arguments) == 1 and not has_list:
            message = f"`{node.name}` takes the values of a list, and `{node.arguments[0]}` is no list"
            hint = f"a list is written with brackets: {node.name}(b[].x), or {node.name}(b[..i-1].x)"
            self.findings.report("NEEL2110", message, node.span, hint)
            return self.nothing(node)
        if nested and not failed and not has_list:
            message = f"`{node.name}` stands inside another aggregate"
            hint = f"only an aggregate over a list can: max({node.name.lower()}(b[].x))"
            self.findings.report("NEEL3019", message, node.span, hint)
            return self.nothing(node)
        if not failed and not self.place.in_return and not has_list and node.function is None:
            message = f"`{node.name}` ranges over all matches here, and a condition is judged for one"
            hint = f"a condition may hold aggregates over a list: {node.name.lower()}(b[].x)"
            self.findings.report("NEEL3018", message, node.span, hint)
            return self.nothing(node)
        found = replace(node, arguments=arguments)
        return found if failed or has_list or not self.place.wide else self._wide(found)

    def _wide(self, call: e.Call) -> e.Expr:
        """An aggregate over matches of which there may be 2^n: with all digits that a DECIMAL can have."""
        match call:
            case e.Call(name, _, distinct=False) if name.lower() == "count":
                return e.Cast(call, WIDE, implicit=True, span=call.span)
            case e.Call(name, (argument,), distinct=False) if name.lower() == "sum":
                _, kind = typed(argument, lambda *_: None)
                if kind in INTEGERS:
                    wide = e.Cast(argument, SUMMAND, implicit=True, span=argument.span)
                    return replace(call, arguments=(wide,))
        return call


def _ranges_over_list(node: Node) -> bool:
    """Whether `node` stands for many values; an aggregate in it makes one of them."""
    if isinstance(node, e.Expr) and is_aggregate(node):
        return False
    return isinstance(node, e.Each) or any(map(_ranges_over_list, children(node)))


def bind_expression(node: e.Expr, place: Place) -> tuple[e.Expr, DataType, Expressions]:
    """The expression with references and implicit casts, its type, and what it names."""
    references = Expressions(place)
    bound, kind = typed(references.expression(node), place.findings.report)
    return bound, kind, references
