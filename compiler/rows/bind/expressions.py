"""Expressions of MEASURES and DEFINE: which rows they refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from neelc.catalog.streams import ColumnSource, unknown
from neelc.findings import Findings, did_you_mean, variable_meant
from neelc.ir import expressions as e
from neelc.ir.expressions import ROW
from neelc.ir.names import bare, find, find_variable, meant, same, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import Column, OutputColumn
from neelc.ir.types import BIGINT, BOOLEAN, INT, VOID, Array, DataType, Map, Struct
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.functions import aggregated, is_row_aggregate, paired, report_foreign
from neelc.scalar.operators import Typed, literal_integer
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, READ_AS, ROW_AGGREGATE_SIGNATURES
from neelc.scalar.typing import typed, typed_condition

# The columns of the rows that a row pattern reads.


@dataclass(frozen=True)
class InputColumns:
    """The columns of the input, which may be called by its name: `trades.price`."""

    source: ColumnSource
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
            place = self.findings.at(parts[0], node)
            if not self.findings.has("NEEL2003", place):
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
        place, hint = self.findings.at(name, node), variable_meant(name, variables)
        self.findings.report("NEEL2003", f"unknown name `{bare(name)}`", place, hint)


# Queries inside MATCH_RECOGNIZE, `(SELECT ...)`: columns that every row has before a match is looked for.


@dataclass
class RowQueries:
    """The queries of a clause. `known` are their columns, by their texts; `taken` are names of the input's
    columns. Those that were used are in `found`."""

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
        item = e.Attribute(e.Variable(e.QUERY), written(column.name), column.type)
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
            message = f"a subquery here must have one column, but this one has {len(columns)}"
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
    `may_be_final`: the match is complete, as in MEASURES. `measures` are those that are already bound, by
    their names as written; `announced` are the names of all.
    """

    columns: InputColumns
    variables: Mapping[str, tuple[str, ...]]
    findings: Findings
    may_be_final: bool
    measures: Mapping[str, e.Expr] = field(default_factory=dict)
    announced: tuple[str, ...] = ()
    queries: RowQueries | None = None

    def bound(self, node: e.Expr) -> e.Expr:
        """The expression with what it says about rows resolved."""
        match node:
            case e.RunningFinal(kind, operand):
                return self._running_or_final(kind, operand, node)
            case e.Call(name) if name.lower() in ("prev", "next"):
                return self._shifted(node)
            case e.Call(name) if name.lower() in ("first", "last"):
                return self._placed(node, False)
            case e.Call() if is_row_aggregate(node):
                return self._aggregate(node, False)
            case e.FilteredCall():
                return self._filtered(node, False)
            case e.NestedQuery():
                found = self.nested(node)
                return unknown(node) if found is None else self._given(found)
            case e.InQuery():
                return self._in_query(node)
            case e.AllenRelation():
                report_foreign(node, self.findings.report)
                return unknown(node)
            case e.Call(name) if name.lower() in e.LAMBDAS:
                hint = "compute it in the query that MATCH_RECOGNIZE reads, as a column"
                return self.wrong("lambdas are not supported in MATCH_RECOGNIZE", node, hint)
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
            case e.MemberAccess(base, name):
                return self.columns.field(self.bound(base), name, node)
        return map_children(node, self._child)

    def _child(self, node: Node) -> Node:
        return self.bound(node) if isinstance(node, e.Expr) else map_children(node, self._child)

    def _measure(self, parts: tuple[str, ...], node: e.Expr) -> e.Expr | None:
        """An earlier measure, if the name can mean only that: its value, or a field of it."""
        if len(parts) > 1 and find_variable(parts[0], self.variables) is not None:
            return None
        known = None if self.columns.can_mean(parts) else find(parts[0], self.measures)
        if known is None:
            return None
        value = self.measures[known]
        for part in parts[1:]:
            value = self.columns.field(value, part, node)
        return value

    def nested(self, node: e.NestedQuery) -> e.Attribute | None:
        """The column that a query gives each row; None, and a report, if it cannot."""
        if self.queries is None:
            report_foreign(node, self.findings.report)
            return None
        return self.queries.value(node)

    def _given(self, column: e.Attribute) -> e.Expr:
        """What is the same at all rows: in DEFINE of the current one, in MEASURES of the match."""
        return (e.ConstantRowValue if self.may_be_final else e.AtRow)(column.type, column)

    def _in_query(self, node: e.InQuery) -> e.Expr:
        """`A.x IN (SELECT ...)` is evaluated at one row, as A.x is."""
        reader = _Argument(self)
        column = reader.among(node)
        if column is None:
            return unknown(node)
        variables = next(iter(reader.qualifiers), None)
        value = self._given(column) if variables is None else e.AtRow(BOOLEAN, column, variables)
        return e.Negation(value, span=node.span) if node.negated else replace(value, span=node.span)

    def _running_or_final(self, kind: str, operand: e.Expr, node: e.Expr) -> e.Expr:
        final = kind.upper() == "FINAL"
        if final and not self.may_be_final:
            message = (
                "FINAL refers to the whole match, but DEFINE is evaluated while the match is being built"
            )
            return self.wrong(message, node, "leave it out")
        match operand:
            case e.Call(name) if name.lower() in ("first", "last"):
                return self._placed(operand, final)
            case e.Call() if is_row_aggregate(operand):
                return self._aggregate(operand, final)
            case e.FilteredCall():
                return self._filtered(operand, final)
        return self.wrong(
            f"{kind} can only precede FIRST, LAST or an aggregate", node, f"for example {kind} LAST(A.price)"
        )

    def _shifted(self, node: e.Call) -> e.Expr:
        """PREV and NEXT: of a value, of FIRST or of LAST."""
        found = self._distance(node, 1)
        if found is None:
            return unknown(node)
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
            return unknown(node)
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
        if node.distinct:
            self.without_distinct(node, "takes the value of one row")
            return None
        distance = literal_integer(node.arguments[1]) if len(node.arguments) == 2 else usual
        if distance is None or distance < 0:
            message = f"the offset of `{node.name}` must be a literal number, 0 or more"
            self.wrong(message, node.arguments[1], f"for example {FORMS[node.name.lower()]}")
            return None
        return node.arguments[0], distance

    def _at_row(self, node: e.Expr) -> e.Expr:
        """A value of one row: the last one of its variable."""
        found = self.argument(node)
        if found is None:
            return unknown(node)
        argument, variables = found
        argument, kind = typed(argument, self.findings.report)
        return e.AtRow(kind, argument, variables, span=node.span)

    def argument(self, node: e.Expr) -> tuple[e.Expr, tuple[str, ...]] | None:
        """An expression over one row, and the variables that the row may be mapped to. All that it names must
        be of the same variable: there is one row."""
        found = self._arguments((node,), node)
        return None if found is None else (found[0][0], found[1])

    def _arguments(
        self, nodes: tuple[e.Expr, ...], place: e.Expr, variables: tuple[str, ...] | None = None
    ) -> tuple[list[e.Expr], tuple[str, ...]] | None:
        """Expressions over one row; `variables` are known to be those that it may be mapped to."""
        reader = _Argument(self)
        if variables is not None:
            reader.qualifiers.add(variables)
        found = [reader.read(node) for node in nodes]
        if reader.failed:
            return None
        if len(reader.qualifiers) > 1:
            self.mixed(reader.qualifiers, place)
            return None
        return found, next(iter(reader.qualifiers), ())

    def mixed(self, qualifiers: set[tuple[str, ...]], place: e.Expr) -> None:
        """Report that one value is made of rows of several variables."""
        names = " and ".join("no variable" if not q else "|".join(q) for q in sorted(qualifiers))
        message = f"one row is required here, but this names columns of {names}"
        self.wrong(message, place, _one_row_hint(qualifiers))

    def _filtered(self, node: e.FilteredCall, final: bool) -> e.Expr:
        """An aggregate over the rows that meet a condition."""
        if isinstance(node.call, e.Call) and is_row_aggregate(node.call) and not _is_placed(node.call):
            return self._aggregate(node.call, final, node.condition)
        message = f"FILTER is for aggregates, and `{node.call}` is not one"
        return self.wrong(message, node, "for example max_by(A.price, A.time) FILTER (WHERE A.price > 0)")

    def _aggregate(self, node: e.Call, final: bool, condition: e.Expr | None = None) -> e.Expr:
        """An aggregate; with a condition, all other rows have NULL as its argument, which counts nowhere."""
        name = READ_AS.get(node.name.lower(), node.name.lower())
        conditions = () if condition is None else (condition,)
        if name == "count" and len(node.arguments) <= 1 and all(map(_is_star, node.arguments)):
            return self._number_of_rows(node, final, conditions)
        if name not in AGGREGATE_SIGNATURES and name not in ROW_AGGREGATE_SIGNATURES:
            message = f"`{node.name}` has no value over the rows of a match"
            hint = "registered aggregates are allowed in SELECT, and over lists in PATTERN: f(b[].x)"
            self.findings.report("NEEL3206", message, node.span, hint)
            return unknown(node)
        if node.distinct and (
            name in ROW_AGGREGATE_SIGNATURES or len(AGGREGATE_SIGNATURES[name].required) > 1
        ):
            return self.without_distinct(node, "takes the value of one row")
        signature = AGGREGATE_SIGNATURES.get(name) or ROW_AGGREGATE_SIGNATURES[name]
        if not signature.accepts(len(node.arguments)):
            message = f"`{node.name}` takes {signature.count_text()}, not {len(node.arguments)}"
            form = f"{node.name}(A.price{', A.time' if len(signature.required) > 1 else ''})"
            self.findings.report("NEEL2105", message, node.span, f"for example {form}")
            return unknown(node)
        place = node.arguments[0] if len(node.arguments) == 1 and condition is None else node
        found = self._arguments((*node.arguments, *conditions), place)
        if found is None:
            return unknown(node)
        read, variables = found
        given, tests = read[: len(node.arguments)], read[len(node.arguments) :]
        arguments = tuple(typed(one, self.findings.report) for one in given)
        if len(arguments) > 1:
            return self._by(node, arguments, tests, variables, final)
        value, kind = aggregated(name, arguments[0], node, node.distinct, self.findings.report)
        if not isinstance(value, e.Aggregate) or value.argument is None:
            return unknown(node)
        argument = self._if(tests, value.argument)
        return e.OverRows(kind, name, argument, variables, final, node.distinct, span=node.span)

    def _number_of_rows(self, node: e.Call, final: bool, conditions: tuple[e.Expr, ...]) -> e.Expr:
        star = node.arguments[0] if node.arguments else e.Star()
        assert isinstance(star, e.Star)
        variables = () if star.qualifier is None else self.variable(star.qualifier, node)
        found = None if variables is None else self._arguments(conditions, node, variables)
        if found is None:
            return unknown(node)
        if node.distinct:
            return self.without_distinct(node, "counts rows here", "for example count(DISTINCT A.price)")
        tests, variables = found
        argument = self._if(tests, e.Literal(1, INT)) if tests else None
        return e.OverRows(BIGINT, "count", argument, variables, final, span=node.span)

    def _by(
        self, node: e.Call, arguments: tuple[Typed, ...], tests: list[e.Expr], variables: tuple[str, ...],
        final: bool,
    ) -> e.Expr:  # fmt: skip
        """An aggregate of two arguments."""
        name = node.name.lower()
        pairs, kind = paired(name, arguments, node, self.findings.report)
        if not isinstance(pairs, e.Aggregate) or pairs.argument is None:
            return unknown(node)
        return e.OverRows(kind, name, self._if(tests, pairs.argument), variables, final, span=node.span)

    def _if(self, tests: Sequence[e.Expr], value: e.Expr) -> e.Expr:
        """A value, or NULL unless all of the tests hold."""
        before = len(self.findings.diagnostics)
        for test in reversed(tests):
            condition = typed_condition(test, "FILTER", self.findings.report)
            if len(self.findings.diagnostics) == before:
                value = typed(e.Case(None, (e.CaseBranch(condition, value),), None), self.findings.report)[0]
        return value

    def _item(self, base: e.Expr, index: e.Expr, node: e.Expr) -> e.Expr:
        kind = _element(typed(base, self.findings.report)[1])
        return e.ElementAccess(base, index, kind, span=node.span)

    def variable(self, name: str, node: e.Expr) -> tuple[str, ...] | None:
        """The variables that a name stands for; None, and a report, if it is none of this pattern."""
        known = find_variable(name, self.variables)
        if known is not None:
            return self.variables[known]
        self.columns.unknown_qualifier(name, node, self.known)
        return None

    @property
    def known(self) -> tuple[str, ...]:
        """The names that hints list."""
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
        self.findings.report("NEEL2050", message, self.findings.at(name, node), hint)
        return True

    def without_distinct(self, node: e.Call, what: str, hint: str = "leave it out") -> e.Expr:
        """DISTINCT leaves out values that an aggregate has seen: of anything else it says nothing."""
        message = f"DISTINCT is for aggregates of values; `{node.name}` {what}"
        self.findings.report("NEEL2109", message, node.span, hint)
        return unknown(node)

    def misused(self, node: e.Call) -> e.Expr:
        return self.wrong(
            f"invalid argument of `{node.name}`", node, f"for example {FORMS[node.name.lower()]}"
        )

    def wrong(self, message: str, node: e.Expr, hint: str | None) -> e.Expr:
        self.findings.report("NEEL3206", message, node.span, hint)
        return unknown(node)


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
            case e.Call(name, arguments, distinct) if name.lower() == "classifier":
                if distinct:
                    self.failed = True
                    return self.names.without_distinct(node, "takes the value of one row")
                return self._classifier(arguments, node)
            case e.Call(name, ()) if name.lower() == "match_number":
                return e.MatchNumber()
            case e.FilteredCall(call):
                return self.read(call)
            case e.NestedQuery():
                found = self.names.nested(node)
                self.failed |= found is None
                return found or unknown(node)
            case e.AllenRelation():
                report_foreign(node, self.names.findings.report)
                self.failed = True
                return unknown(node)
            case e.InQuery(negated=negated):
                found = self.among(node)
                self.failed |= found is None
                return e.Negation(found) if found and negated else found or unknown(node)
            case e.Call(name) if name.lower() in FORMS or is_row_aggregate(node):
                self.failed = True
                hint = "PREV and NEXT may hold FIRST or LAST; nothing else is nested"
                return self.names.wrong(f"`{name}` is not allowed inside this", node, hint)
            case e.Subscript(base, index) if self.names.is_esper_index(base):
                self.failed = True
                return self.names.esper_index(base, node)
            case e.Subscript(base, index):
                read = self.read(base)
                kind = _element(typed(read, self.names.findings.report)[1])
                return e.ElementAccess(read, self.read(index), kind, span=node.span)
            case e.MemberAccess(base, name):
                return self.names.columns.field(self.read(base), name, node)
        return map_children(node, self._child)

    def among(self, node: e.InQuery) -> e.Attribute | None:
        """The column that says whether a value of the row is among those of a query."""
        names = self.names
        calls = [part for part in walk(node.operand) if isinstance(part, e.Call)]
        if node.others:
            message = "several values before IN (SELECT ...) are not supported in MATCH_RECOGNIZE"
            names.findings.report("NEEL4053", message, node.span, "compute it in the query that it reads")
            return None
        if names.queries is None:
            report_foreign(node, names.findings.report)
            return None
        if any(call.name.lower() in FORMS or is_row_aggregate(call) for call in calls):
            message = (
                "the left side of IN (SELECT ...) must be a value of one row, computed from columns only"
            )
            lists = "array_contains((SELECT collect_list(x) FROM t), sum(A.x))"
            hint = f"FIRST(A.x IN (SELECT ...)) goes to another row; for other values, {lists}"
            names.findings.report("NEEL4054", message, node.operand.span, hint)
            return None
        reader = _Argument(names)
        operand, _ = typed(reader.read(node.operand), names.findings.report)
        self.qualifiers |= reader.qualifiers
        if len(reader.qualifiers) > 1:
            names.mixed(reader.qualifiers, node.operand)
        failed = reader.failed or len(reader.qualifiers) > 1
        return None if failed else names.queries.among(node, operand)

    def _child(self, node: Node) -> Node:
        return self.read(node) if isinstance(node, e.Expr) else map_children(node, self._child)

    def _column(self, parts: tuple[str, ...], node: e.Expr) -> e.Expr:
        qualifier = find_variable(parts[0], self.names.variables) if len(parts) > 1 else None
        if qualifier is None and not self.names.columns.can_mean(parts):
            self.failed = self.names.no_measure(parts[0], node)
            if self.failed:
                return unknown(node)
        found = self.names.columns.column(parts[1:] if qualifier else parts, node, self.names.known)
        if found is None:
            self.failed = True
            return unknown(node)
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


def _is_star(node: e.Expr) -> bool:
    return isinstance(node, e.Star)


def _is_placed(node: e.Call) -> bool:
    """FIRST and LAST go to one row here."""
    return node.name.lower() in ("first", "last")


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
