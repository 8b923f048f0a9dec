"""Conditions: split into conjuncts, bound, and put where they belong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from neelc.catalog.catalog import KnownType, why_no_attribute
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir.expressions import (
    EventRef,
    EveryElement,
    Expr,
    ListElement,
    SameAttributes,
    together,
    written_conjuncts,
)
from neelc.ir.expressions import flat_conjuncts as conjuncts
from neelc.ir.names import bare, written
from neelc.ir.node import Node, children, map_children, walk
from neelc.ir.patterns import Event, Exists, Pattern, inner_parts
from neelc.ir.types import SUMMAND, WIDE, DataType, is_orderable
from neelc.pattern.bind.components import paths, with_parts
from neelc.pattern.bind.event_relations import bind_relation
from neelc.pattern.bind.references import References, VariableUse
from neelc.pattern.bind.scopes import ExpressionScope, Path, is_below, negations_at
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.functions import is_aggregate, is_known, report_foreign, report_unknown
from neelc.scalar.operators import INTEGERS, common_of
from neelc.scalar.operators import condition as as_condition
from neelc.scalar.typing import typed
from neelc.source import Span

# `[id]` and PARTITION BY: one attribute that all events have, and have in common.


def bind_same(node: SameAttributes, part: Pattern, place: ExpressionScope) -> SameAttributes | None:
    """`[id]` on all events of a part, the negative ones included."""
    found = shared_attributes({name: place.findings.at(name, node) for name in node.attributes}, part, place)
    return None if found is None else replace(node, attributes=found)


def shared_attributes(
    names: Mapping[str, Span], part: Pattern, place: ExpressionScope
) -> tuple[str, ...] | None:
    """The attributes as the types of the part declare them; None, after a report, if a type lacks one."""
    types: dict[str, KnownType] = {}
    for _, event in paths(part):
        if isinstance(event, Event):
            known = place.types.get(event.type)
            if known is None:
                return None  # an unknown type has been reported
            types[event.type] = known
    found = [_shared(name, span, types, place) for name, span in names.items()]
    return None if None in found else tuple(name for name in found if name is not None)


def _shared(name: str, span: Span, types: Mapping[str, KnownType], place: ExpressionScope) -> str | None:
    kinds: dict[str, DataType] = {}
    declared = name
    for type_name, known in types.items():
        column = known.attribute(name)
        if column is None:
            _, message, hint = why_no_attribute(known, name, type_name)
            message = f"`{bare(name)}` must be an attribute of every event concerned: {message}"
            place.findings.report("NEEL2015", message, span, hint)
            return None
        declared = written(column.name) if not kinds else declared
        kinds[type_name] = column.type
    if common_of(kinds.values(), strings=False) is None or not all(map(is_orderable, kinds.values())):
        differing = ", ".join(f"{kind} in {type_name}" for type_name, kind in kinds.items())
        message = f"attribute `{bare(name)}` cannot be compared: it is {differing}"
        hint = f"compare converted values instead: CAST(a.{name} AS STRING) = b.{name}"
        place.findings.report("NEEL2016", message, span, hint)
        return None
    return declared


# Expressions with their references resolved and their types known.


class Expressions(References):
    """Resolves all references of an expression and checks where aggregates and `[id]` stand."""

    def expression(self, node: e.Expr) -> e.Expr:
        match node:
            case e.Name() | e.MemberAccess() | e.Subscript() | e.Slice():
                return self.resolve(node)
            case e.Call() if is_aggregate(node):
                return self.aggregate(node)
            case e.Call() if not is_known(node):
                for argument in node.arguments:
                    self.expression(argument)
                report_unknown(node, self.findings.aggregates, self.findings.report)
                return self.nothing(node)
            case e.SameAttributes(attributes):
                text = ", ".join(attributes)
                message = f"`[{text}]` applies to all events at once, so it must be a separate condition"
                hint = (
                    f"join it to the rest with AND, or compare: a.{attributes[0]} = b.{attributes[0]}"
                    if attributes
                    else None
                )
                self.findings.report("NEEL3021", message, node.span, hint)
                return self.nothing(node)
            case e.AllenRelation():
                return bind_relation(node, self)
            case e.FilteredCall() | e.NestedQuery() | e.InQuery():
                report_foreign(node, self.findings.report)
                return self.nothing(node)
            case e.RunningFinal(kind):
                self.findings.report(
                    "NEEL3031", f"{kind} is allowed only in MATCH_RECOGNIZE", node.span, "leave it out"
                )
                return self.nothing(node)
            case e.Star():
                message = f"`{node}` stands for several columns, but one value is expected here"
                self.findings.report(
                    "NEEL3031", message, node.span, "it is allowed only by itself in RETURN, or in count(*)"
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
            message = f"`{node.name}` takes the values of a list, but `{node.arguments[0]}` is not a list"
            hint = f"a list is written with brackets: {node.name}(b[].x), or {node.name}(b[..i-1].x)"
            self.findings.report("NEEL2110", message, node.span, hint)
            return self.nothing(node)
        if nested and not failed and not has_list:
            message = f"`{node.name}` is inside another aggregate"
            hint = f"only an aggregate over a list is allowed there: max({node.name.lower()}(b[].x))"
            self.findings.report("NEEL3019", message, node.span, hint)
            return self.nothing(node)
        if not failed and not self.place.in_return and not has_list and node.function is None:
            message = f"`{node.name}` covers all matches here, but a condition is evaluated for one match"
            hint = f"a condition can contain aggregates over a list: {node.name.lower()}(b[].x)"
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
    return isinstance(node, e.EveryElement) or any(map(_ranges_over_list, children(node)))


def bind_expression(node: e.Expr, place: ExpressionScope) -> tuple[e.Expr, DataType, Expressions]:
    """The expression with references and implicit casts, its type, and what it names."""
    references = Expressions(place)
    bound, kind = typed(references.expression(node), place.findings.report)
    return bound, kind, references


@dataclass(frozen=True)
class Conjunct:
    """A bound conjunct and the part it belongs to."""

    path: Path
    condition: Expr


def bind_conditions(place: ExpressionScope, where: Iterable[Expr | None]) -> Pattern:
    """The pattern with every condition bound, in the part it belongs to; `where` are those of the query."""
    found: list[Conjunct] = []
    for path, part in paths(place.scopes.pattern):
        given = (part.where, *where) if path == () else (part.where,)
        for condition in given:
            for conjunct in conjuncts(condition):
                bound = _bind_conjunct(conjunct, part, replace(place, at=path))
                if bound is not None:
                    found.append(bound)
    return _with_conditions(place.scopes.pattern, (), found, place)


def _with_conditions(node: Pattern, path: Path, found: list[Conjunct], place: ExpressionScope) -> Pattern:
    parts = tuple(
        _with_conditions(part, (*path, i), found, place) for i, part in enumerate(inner_parts(node))
    )
    own = dict.fromkeys(c.condition for c in found if c.path == path)
    where = together(each for condition in own for each in written_conjuncts(condition))
    changed = replace(with_parts(node, parts), where=where)
    if isinstance(changed, Exists):
        dropped = tuple(v.name for v in place.scopes.variables if v.dropped == path)
        return replace(changed, variables=dropped)
    return changed


def _bind_conjunct(condition: Expr, part: Pattern, place: ExpressionScope) -> Conjunct | None:
    if isinstance(condition, SameAttributes):
        same = bind_same(condition, part, place)
        return None if same is None else Conjunct(place.at, same)
    bound, kind, references = bind_expression(condition, place)
    if references.broken:
        return None
    path = _home(references.used, place)
    if path is None or not _has_one_index(bound, condition, place.findings):
        return None
    what = "WHERE" if place.at == () else "the condition of a part"
    return Conjunct(path, as_condition((bound, kind), what, place.findings.report, condition.span))


def _home(used: list[VariableUse], place: ExpressionScope) -> Path | None:
    """Where a conjunct belongs: the innermost negative part it names a variable of, else where it stands.

    NEEL+ forbids that a positive part speaks of a negative one's variables. A condition of the whole list
    may: it then is the negative part's, because only there do these variables mean anything.
    """
    around = negations_at(place)
    innermost: tuple[Path, ...] = around
    for use in used:
        negations = use.variable.negations
        if negations == around[: len(negations)]:
            continue
        beyond = next(path for path in negations if path not in around)
        if not is_below(beyond, place.at):
            _report_foreign(use, bool(around), place)
            return None
        longer, shorter = sorted((negations, innermost), key=len, reverse=True)
        if longer[: len(shorter)] != shorter:
            other = next(u for u in used if u.variable.negations == innermost)
            names = f"`{other.variable.name}` and `{use.variable.name}`"
            message = f"the condition names {names}, of two separate negative parts"
            hint = "each negative part is evaluated separately: give each its own condition"
            place.findings.report("NEEL3003", message, use.span, hint)
            return None
        innermost = longer
    return place.at if innermost == around else (*innermost[-1], 0)


def _report_foreign(use: VariableUse, in_negative: bool, place: ExpressionScope) -> None:
    name = use.variable.name
    if in_negative:
        message = f"`{name}` belongs to another negative part: each is evaluated separately"
        place.findings.report(
            "NEEL3003", message, use.span, "a negative part may name its own and positive variables"
        )
        return
    message = f"a positive part cannot refer to `{name}`, which belongs to a negative part"
    hint = f"put the condition into the negative part of `{name}`, or into WHERE"
    place.findings.report("NEEL3002", message, use.span, hint)


def _has_one_index(bound: Expr, condition: Expr, findings: Findings) -> bool:
    """Whether `i` runs over one list only."""
    lists: dict[EventRef, str] = {}
    for node in walk(bound):
        match node:
            case ListElement(base, index) if index.anchor == "CURRENT":
                lists[base] = str(base)
            case EveryElement(base, upper) if upper is not None and upper.anchor == "CURRENT":
                lists[base] = str(base)
    if len(lists) <= 1:
        return True
    names = " and ".join(f"`{text}`" for text in lists.values())
    message = f"`i` runs over {names}: in one condition it can run over one list only"
    findings.report(
        "NEEL3014", message, findings.at(condition), "use b[1], b[last] or an aggregate for the other"
    )
    return False
