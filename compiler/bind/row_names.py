"""Expressions of MEASURES and DEFINE: which rows they speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from neelc.bind.checking import literal_integer
from neelc.bind.findings import Findings
from neelc.bind.functions import aggregated, is_aggregate
from neelc.bind.row_columns import RowColumns
from neelc.bind.typing import typed
from neelc.ir import expr as e
from neelc.ir.names import find, find_variable
from neelc.ir.node import Node, map_children, walk
from neelc.ir.types import BIGINT, VOID, Array, DataType, Map

FORMS = {
    "prev": "PREV(price), PREV(A.price, 2)",
    "next": "NEXT(price), NEXT(A.price, 2)",
    "first": "FIRST(A.price), FIRST(A.price, 1)",
    "last": "LAST(A.price), LAST(A.price, 1)",
    "classifier": "CLASSIFIER(), CLASSIFIER(A)",
    "match_number": "MATCH_NUMBER()",
}


@dataclass(frozen=True)
class RowNames:
    """What expressions of a row pattern can name.

    `variables` has, for the name of each variable and each SUBSET, the variables that it stands for; none for
    a name that is wrong and has been reported.
    `may_be_final`: the match is complete, as it is in MEASURES. `measures` are those that are known already,
    by their names as they are written; `announced` are the names of all.
    """

    columns: RowColumns
    variables: Mapping[str, tuple[str, ...]]
    findings: Findings
    may_be_final: bool
    measures: Mapping[str, e.Expr] = field(default_factory=dict)
    announced: tuple[str, ...] = ()

    def bound(self, node: e.Expr) -> e.Expr:
        """The expression with what it says about rows resolved."""
        match node:
            case e.RunningFinal(kind, operand):
                return self._running_or_final(kind, operand, node)
            case e.Call(name) if name.lower() in ("prev", "next"):
                return self._shifted(node)
            case e.Call(name) if name.lower() in ("first", "last"):
                return self._placed(node, False)
            case e.Call() if is_aggregate(node):
                return self._aggregate(node, False)
            case e.Call(name, arguments) if name.lower() == "match_number":
                return e.MatchNumber() if not arguments else self.misused(node)
            case e.Call(name) if name.lower() == "classifier":
                return self._at_row(node)
            case e.Name(parts):
                measure = self._measure(parts, node)
                return self._at_row(node) if measure is None else measure
            case e.Subscript(base, index):
                if self.is_esper_index(base):
                    return self.esper_index(base, node)
                return self._item(self.bound(base), self.bound(index), node)
            case e.Member(base, name):
                return self.columns.field(self.bound(base), name, node)
        return map_children(node, self._child)

    def _child(self, node: Node) -> Node:
        return self.bound(node) if isinstance(node, e.Expr) else map_children(node, self._child)

    def _measure(self, parts: tuple[str, ...], node: e.Expr) -> e.Expr | None:
        """An earlier measure, if the name is that of one and of nothing else: its value, or a field of it."""
        if len(parts) > 1 and find_variable(parts[0], self.variables) is not None:
            return None
        known = None if self.columns.can_mean(parts) else find(parts[0], self.measures)
        if known is None:
            return None
        value = self.measures[known]
        for part in parts[1:]:
            value = self.columns.field(value, part, node)
        return value

    def _running_or_final(self, kind: str, operand: e.Expr, node: e.Expr) -> e.Expr:
        final = kind.upper() == "FINAL"
        if final and not self.may_be_final:
            message = "FINAL speaks of the whole match, and DEFINE is judged while it is being found"
            return self.wrong(message, node, "leave it out")
        match operand:
            case e.Call(name) if name.lower() in ("first", "last"):
                return self._placed(operand, final)
            case e.Call() if is_aggregate(operand):
                return self._aggregate(operand, final)
        return self.wrong(
            f"{kind} stands before FIRST, LAST or an aggregate", node, f"for example {kind} LAST(A.price)"
        )

    def _shifted(self, node: e.Call) -> e.Expr:
        """PREV and NEXT: of a value, of FIRST or of LAST."""
        found = self._distance(node, 1)
        if found is None:
            return _unknown(node)
        inner, distance = found
        shift = -distance if node.name.lower() == "prev" else distance
        called = inner.operand if isinstance(inner, e.RunningFinal) else inner
        is_placed = isinstance(called, e.Call) and called.name.lower() in ("first", "last")
        row = self.bound(inner) if is_placed else self._moved(inner)
        return replace(row, shift=shift, span=node.span) if isinstance(row, e.AtRow) else row

    def _placed(self, node: e.Call, final: bool) -> e.Expr:
        """FIRST and LAST."""
        found = self._distance(node, 0)
        if found is None:
            return _unknown(node)
        inner, place = found
        row = self._moved(inner)
        if not isinstance(row, e.AtRow):
            return row
        return replace(row, anchor=node.name.upper(), place=place, final=final, span=node.span)

    def _moved(self, node: e.Expr) -> e.Expr:
        """What is taken from another row: something that rows have."""
        row = self._at_row(node)
        if isinstance(row, e.AtRow) and not any(
            isinstance(part, e.Attribute | e.Classifier) for part in walk(row.argument)
        ):
            return self.wrong(f"`{node}` is the same at every row", node, "name a column, or CLASSIFIER()")
        return row

    def _distance(self, node: e.Call, usual: int) -> tuple[e.Expr, int] | None:
        """The value that is moved, and how far; None, and a report, if the call has another form."""
        if not 1 <= len(node.arguments) <= 2:
            self.misused(node)
            return None
        distance = literal_integer(node.arguments[1]) if len(node.arguments) == 2 else usual
        if distance is None or distance < 0:
            message = f"the distance of `{node.name}` is a number that is written down, 0 or more"
            self.wrong(message, node.arguments[1], f"for example {FORMS[node.name.lower()]}")
            return None
        return node.arguments[0], distance

    def _at_row(self, node: e.Expr) -> e.Expr:
        """A value of one row: the last one of its variable."""
        found = self.argument(node)
        if found is None:
            return _unknown(node)
        argument, variables = found
        argument, kind = typed(argument, self.findings.report)
        return e.AtRow(kind, argument, variables, span=node.span)

    def argument(self, node: e.Expr) -> tuple[e.Expr, tuple[str, ...]] | None:
        """An expression over one row, and the variables that the row may be mapped to. All that it names must
        be of the same variable: there is one row."""
        reader = _Argument(self)
        argument = reader.read(node)
        if reader.failed:
            return None
        if len(reader.qualifiers) > 1:
            names = " and ".join("no variable" if not q else "|".join(q) for q in sorted(reader.qualifiers))
            message = f"one row is meant here, but this names columns of {names}"
            self.wrong(message, node, _one_row_hint(reader.qualifiers))
            return None
        return argument, next(iter(reader.qualifiers), ())

    def _aggregate(self, node: e.Call, final: bool) -> e.Expr:
        name = node.name.lower()
        if (
            name == "count"
            and len(node.arguments) <= 1
            and all(isinstance(one, e.Star) for one in node.arguments)
        ):
            star = node.arguments[0] if node.arguments else e.Star()
            assert isinstance(star, e.Star)
            variables = () if star.qualifier is None else self.variable(star.qualifier, node)
            if variables is None:
                return _unknown(node)
            return e.OverRows(BIGINT, "count", None, variables, final, node.distinct, span=node.span)
        if len(node.arguments) != 1:
            message = f"`{node.name}` takes 1 argument, not {len(node.arguments)}"
            self.findings.report("NEEL2105", message, node.span, f"for example {node.name}(A.price)")
            return _unknown(node)
        found = self.argument(node.arguments[0])
        if found is None:
            return _unknown(node)
        argument = typed(found[0], self.findings.report)
        value, kind = aggregated(name, argument, node, node.distinct, self.findings.report)
        if not isinstance(value, e.Aggregate):
            return _unknown(node)
        return e.OverRows(kind, name, value.argument, found[1], final, node.distinct, span=node.span)

    def _item(self, base: e.Expr, index: e.Expr, node: e.Expr) -> e.Expr:
        kind = _element(typed(base, self.findings.report)[1])
        return e.Item(base, index, kind, span=node.span)

    def variable(self, name: str, node: e.Expr) -> tuple[str, ...] | None:
        """The variables that a name stands for; None, and a report, if it is none of this pattern."""
        known = find_variable(name, self.variables)
        if known is not None:
            return self.variables[known]
        self.columns.unknown_qualifier(name, node, self.known)
        return None

    @property
    def known(self) -> tuple[str, ...]:
        """The names that hints tell."""
        return tuple(name for name, variables in self.variables.items() if variables)

    def is_esper_index(self, base: e.Expr) -> bool:
        """Whether `base[...]` is Esper's way to name a row: `B[0].price`."""
        match base:
            case e.Name((name,)):
                return not self.columns.can_mean((name,)) and find_variable(name, self.variables) is not None
        return False

    def esper_index(self, base: e.Expr, node: e.Expr) -> e.Expr:
        message = f"the rows of a variable have no index, but this says `{node}`"
        hint = (
            f"FIRST({base}.price, 2) is the price of the third row of {base}, LAST({base}.price) of the last"
        )
        return self.wrong(message, node, hint)

    def no_measure(self, name: str, node: e.Expr) -> bool:
        """Whether a name that is no column is that of a measure: then it is reported."""
        known = find(name, self.announced)
        if known is None:
            return False
        if not self.may_be_final:
            message = f"DEFINE cannot use the measure `{name}`: measures are computed when the match is found"
        elif known in self.measures:
            message = f"`{name}` is a measure of the whole match, not a column of its rows"
        else:
            message = f"the measure `{name}` is defined after this one"
        where = "outside FIRST, LAST, PREV, NEXT and aggregates"
        hint = f"a measure can use measures before it, {where}; elsewhere, repeat its expression"
        self.findings.report("NEEL2050", message, self.findings.word(name, node), hint)
        return True

    def misused(self, node: e.Call) -> e.Expr:
        return self.wrong(
            f"`{node.name}` takes something else", node, f"for example {FORMS[node.name.lower()]}"
        )

    def wrong(self, message: str, node: e.Expr, hint: str | None) -> e.Expr:
        self.findings.report("NEEL3206", message, node.span, hint)
        return _unknown(node)


class _Argument:
    """Reads an expression over one row, and notes the variables of all that it names."""

    def __init__(self, names: RowNames) -> None:
        self.names = names
        self.qualifiers: set[tuple[str, ...]] = set()
        self.failed = False

    def read(self, node: e.Expr) -> e.Expr:
        match node:
            case e.Name(parts):
                return self._column(parts, node)
            case e.Call(name, arguments) if name.lower() == "classifier":
                return self._classifier(arguments, node)
            case e.Call(name, ()) if name.lower() == "match_number":
                return e.MatchNumber()
            case e.Call(name) if name.lower() in FORMS or is_aggregate(node):
                self.failed = True
                hint = "PREV and NEXT may hold FIRST or LAST; nothing else is nested"
                return self.names.wrong(f"`{name}` cannot stand inside of this", node, hint)
            case e.Subscript(base, index) if self.names.is_esper_index(base):
                self.failed = True
                return self.names.esper_index(base, node)
            case e.Subscript(base, index):
                read = self.read(base)
                kind = _element(typed(read, self.names.findings.report)[1])
                return e.Item(read, self.read(index), kind, span=node.span)
            case e.Member(base, name):
                return self.names.columns.field(self.read(base), name, node)
        return map_children(node, self._child)

    def _child(self, node: Node) -> Node:
        return self.read(node) if isinstance(node, e.Expr) else map_children(node, self._child)

    def _column(self, parts: tuple[str, ...], node: e.Expr) -> e.Expr:
        qualifier = find_variable(parts[0], self.names.variables) if len(parts) > 1 else None
        if qualifier is None and not self.names.columns.can_mean(parts):
            self.failed = self.names.no_measure(parts[0], node)
            if self.failed:
                return _unknown(node)
        found = self.names.columns.column(parts[1:] if qualifier else parts, node, self.names.known)
        if found is None:
            self.failed = True
            return _unknown(node)
        self.qualifiers.add(self.names.variables[qualifier] if qualifier else ())
        return found

    def _classifier(self, arguments: tuple[e.Expr, ...], node: e.Call) -> e.Expr:
        match arguments:
            case ():
                self.qualifiers.add(())
            case (e.Name((name,)),):
                variables = self.names.variable(name, node)
                self.failed |= variables is None
                self.qualifiers.add(variables or ())
            case _:
                self.failed = True
                return self.names.misused(node)
        return e.Classifier()


def _one_row_hint(qualifiers: set[tuple[str, ...]]) -> str:
    """How to say what may be meant by columns of several variables in one argument."""
    names = ["|".join(one) for one in sorted(qualifiers) if one]
    if len(names) < len(qualifiers):
        return f"qualify every column, as in {names[0]}.x, or none"
    members = ", ".join(sorted({variable for one in qualifiers for variable in one}))
    both = f"to aggregate the rows of both, SUBSET U = ({members}) and sum(U.x)"
    return f"{both}; to combine an aggregate with a value of one row, sum({names[0]}.x) + {names[1]}.x"


def _element(kind: DataType) -> DataType:
    match kind:
        case Array(element):
            return element
        case Map(_, value):
            return value
    return VOID


def _unknown(node: e.Expr) -> e.Expr:
    """NULL stands for what has been reported: it goes with every type."""
    return e.Literal(None, VOID, span=node.span)
