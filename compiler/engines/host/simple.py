"""Queries that are understood without Spark: SELECT items FROM a stream or a MATCH_RECOGNIZE, and WHERE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from neelc import syntax as parse
from neelc.catalog.streams import ColumnSource, SelectNames
from neelc.engines.host.tables import Tables, known
from neelc.errors import NeelError
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir.bound_rows import Recognize
from neelc.ir.names import bare, same, written
from neelc.ir.node import Node, children, map_children, walk
from neelc.ir.program import Column, OutputColumn
from neelc.ir.row_patterns import MatchRecognize, Output
from neelc.ir.script import FromItem, FromQuery, FromStream, RunQuery, ScriptQuery, Select
from neelc.pattern.bind.outputs import output_name
from neelc.rows.bind.expressions import QUERY
from neelc.rows.bind.recognize import bound_clause, check_row_pattern
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.reference.recognize import recognized, value_of_row
from neelc.runtime.reference.results import Result
from neelc.runtime.values.order import comparable
from neelc.scalar.parameters import with_arguments
from neelc.scalar.typing import typed, typed_condition
from neelc.source import Source, Span
from neelc.syntax.host_tokens import CLAUSE, tokens


@dataclass(frozen=True)
class SimpleQuery:
    """`reads` is a stream or another query; `name` is that of the rows, after `recognize`, that `where`
    and `outputs` speak of. `nested` are the columns that queries inside of `recognize` give its rows."""

    reads: str | SimpleQuery
    recognize: Recognize | None
    name: str
    where: e.Expr | None
    outputs: tuple[OutputColumn, ...]
    distinct: bool = False
    nested: tuple[tuple[OutputColumn, SimpleQuery], ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(output.name, output.type) for output in self.outputs)

    @property
    def is_aggregate(self) -> bool:
        """Whether the result is one row, of aggregates over all rows."""
        return any(isinstance(node, e.Aggregate) for one in self.outputs for node in walk(one.expression))


Read = tuple[str | SimpleQuery, Recognize | None, ColumnSource, tuple[tuple[OutputColumn, SimpleQuery], ...]]
"""What is read, the clause over it, the rows that come out, and what queries inside the clause give."""

SEES_ITS_OWN = "a subquery in MATCH_RECOGNIZE can name its own tables only, not the rows of the pattern"


class NotSimple(Exception):
    """The text completes "this engine does not run ..."."""


@dataclass(frozen=True)
class SimpleQueryReader:
    """What queries are understood with: the streams, and the values of parameters."""

    source: Source
    tables: Tables
    arguments: Mapping[str, object]
    findings: Findings

    def query(self, span: Span) -> SimpleQuery | None:
        """The query at a place; `NotSimple` if only Spark understands it, None and reports if it is wrong."""
        # Blanks before it keep its places.
        text = " " * span.start + self.source.text[span.start : span.end]
        try:
            statements = parse.script(Source(text, self.source.name)).statements
        except NeelError as error:
            raise NotSimple(f"this query: {error.diagnostics[0].message}") from None
        if len(statements) != 1 or not isinstance(statements[0], RunQuery):
            raise NotSimple("this kind of query")
        return self._select(with_arguments(statements[0], self.arguments, self.findings).query)

    def _select(self, query: ScriptQuery) -> SimpleQuery | None:
        if not isinstance(query, Select):
            raise NotSimple("a pattern here")
        _check(query)
        (item,) = query.sources
        found = self._source(item)
        if found is None:
            return None
        reads, recognize, relation, nested = found
        names = SelectNames((relation,), self.findings)
        report, before = self.findings.report, len(self.findings.diagnostics)
        where = None if query.where is None else typed_condition(names.resolved(query.where), "WHERE", report)
        outputs = tuple(one for item in query.items for one in self._outputs(item, names, relation))
        if len(self.findings.diagnostics) > before:
            return None
        simple = SimpleQuery(reads, recognize, relation.name, where, outputs, query.distinct, nested)
        _check_aggregates(simple)
        return simple

    def nested(self, query: e.NestedQuery) -> SimpleQuery | None:
        """A query inside a clause."""
        assert query.place is not None
        findings = Findings(self.source)
        found = replace(self, findings=findings).query(query.place)
        for one in findings.diagnostics:
            hint = SEES_ITS_OWN if one.code == "NEEL2003" else one.hint
            self.findings.report(one.code, one.message, one.span, hint)
        return found

    def _source(self, item: FromItem) -> Read | None:
        reads, columns, unit = self._read(item)
        if reads is None:
            return None
        own = item.name if isinstance(item, FromStream) else ""
        relation = ColumnSource(bare(item.alias or own), columns)
        if item.matcher is None:
            return reads, None, relation, ()
        if not isinstance(item.matcher, MatchRecognize) or item.window is not None:
            raise NotSimple("JEPC's windows and matchers inside of this")
        before = len(self.findings.diagnostics)
        check_row_pattern(item.matcher, self.findings)
        nested = self._nested(item.matcher)
        known = {text: one.columns for text, one in nested.items()}
        bound = bound_clause(item.matcher, relation.name, columns, unit, self.findings, known)
        if bound is None or len(self.findings.diagnostics) > before:
            return None
        name = bare(item.matcher_alias) if item.matcher_alias else relation.name
        columns_of = tuple((one, nested[query_of(one).text]) for one in bound.nested)
        return reads, bound, ColumnSource(name, bound.output), columns_of

    def _nested(self, matcher: MatchRecognize) -> dict[str, SimpleQuery]:
        """The queries inside a clause, by their texts; those that are wrong are reported."""
        found: dict[str, SimpleQuery] = {}
        for query in nested_queries(matcher):
            try:
                simple = self.nested(query) if can_be_computed(query, self.findings) else None
            except NotSimple as reason:
                raise NotSimple(f"{reason}, in a subquery") from None
            if simple is not None:
                found[query.text] = simple
        return found

    def _read(self, item: FromItem) -> tuple[str | SimpleQuery | None, tuple[Column, ...], str]:
        match item:
            case FromStream(name=name):
                table = known(bare(name), self.tables)
                if table is None:
                    raise NotSimple(f"a query of `{bare(name)}`, whose columns are not known here")
                return table.name, table.columns, table.unit
            case FromQuery(query=ScriptQuery() as inner):
                found = self._select(inner)
                return found, () if found is None else found.columns, "MILLISECOND"
        raise NotSimple("MATCH(...) in FROM")

    def _outputs(self, item: Output, names: SelectNames, relation: ColumnSource) -> list[OutputColumn]:
        if isinstance(item.expression, e.Star):
            qualifier = item.expression.qualifier
            if qualifier is None or same(qualifier, written(relation.name)):
                return [
                    self._output(Output(e.Name((written(c.name),))), names) for c in relation.columns or ()
                ]
        return [self._output(item, names)]

    def _output(self, item: Output, names: SelectNames) -> OutputColumn:
        value, kind = typed(names.resolved(item.expression), self.findings.report)
        plain = item.expression.parts[-1] if isinstance(item.expression, e.Name) else None
        name = item.alias or plain or written(output_name(item.expression))
        return OutputColumn(bare(name), value, kind, span=item.span)


def _check(query: Select) -> None:
    """`NotSimple` if it does more than to choose rows and columns."""
    expressions = [item.expression for item in query.items]
    calls = (n for x in expressions for n in walk(x) if isinstance(n, e.Call))
    ordered = (n for n in calls if n.name.lower() in ("first", "last", "collect_list", "collect_set"))
    conditions = [] if query.where is None else [query.where]
    nested = (n for x in (*expressions, *conditions) for n in walk(x) if isinstance(n, e.NestedQuery))
    filtered = (n for x in expressions for n in walk(x) if isinstance(n, e.FilteredCall))
    for what, is_there in (
        ("joins", len(query.sources) != 1),
        ("GROUP BY", query.group_by),
        ("HAVING", query.having is not None),
        ("FILTER in SELECT", next(filtered, None) is not None),
        ("aggregates of values in an order", next(ordered, None) is not None),
        ("queries inside of expressions", next(nested, None) is not None),
        ("ORDER BY", query.order_by),
        ("LIMIT", query.limit is not None),
    ):
        if is_there:
            raise NotSimple(what)


def _check_aggregates(query: SimpleQuery) -> None:
    """`NotSimple` if there are columns beside aggregates."""
    if not query.is_aggregate:
        return

    def columns(node: Node) -> bool:
        is_column = isinstance(node, e.Attribute)
        return not isinstance(node, e.Aggregate) and (is_column or any(map(columns, children(node))))

    if any(columns(one.expression) for one in query.outputs):
        raise NotSimple("columns beside aggregates in SELECT")


def nested_queries(matcher: MatchRecognize) -> list[e.NestedQuery]:
    """The queries inside a clause."""
    return [node for node in walk(matcher) if isinstance(node, e.NestedQuery)]


def query_of(column: OutputColumn) -> e.NestedQuery:
    """The query that gives a column."""
    query = column.expression.query if isinstance(column.expression, e.InQuery) else column.expression
    assert isinstance(query, e.NestedQuery)
    return query


def can_be_computed(query: e.NestedQuery, findings: Findings) -> bool:
    """Whether Spark can compute a query before the clause; reports if not."""
    if not any(token.says("MATCH_RECOGNIZE") or token.kind == CLAUSE for token in tokens(query.text)):
        return True
    message = "a subquery in MATCH_RECOGNIZE cannot have a MATCH_RECOGNIZE of its own"
    hint = "name it before: WITH m AS (SELECT ... MATCH_RECOGNIZE (...)) SELECT ..."
    findings.report("NEEL4054", message, query.span, hint)
    return False


def understood_columns(
    source: Source, span: Span, tables: Tables, arguments: Mapping[str, object]
) -> tuple[Column, ...] | None:
    """The columns of a subquery, between its parentheses, if it is simple and right."""
    inner = between_parentheses(source, span)
    if inner is None:
        return None
    findings = Findings(source)
    try:
        found = SimpleQueryReader(source, tables, arguments, findings).query(inner)
    except NotSimple:
        return None
    return None if found is None or findings.diagnostics else found.columns


def between_parentheses(source: Source, span: Span) -> Span | None:
    """What stands between the parentheses of `(...) [AS name]`, None if that is not the form."""
    found = list(tokens(source.text[: span.end], span.start))
    depth = 0
    for token in found if found and found[0].says("(") else ():
        depth += token.says("(") - token.says(")")
        if depth == 0:
            rest = found[found.index(token) + 1 :]
            plain = len(rest) <= 2 and all(one.is_name for one in rest)
            return Span(found[0].end, token.start) if plain else None
    return None


# Simple queries around MATCH_RECOGNIZE, by the reference interpreter.

Rows = Sequence[Mapping[str, object]]


def answer(query: SimpleQuery, tables: Mapping[str, Rows]) -> Result:
    """The rows of a query; `tables` are those of the streams."""
    contexts = [
        EvaluationContext({written(query.name): ReferenceEvent("", 0, None, 0, 0, row, (None, None))})
        for row in _rows(query, tables)
    ]
    if query.where is not None:
        contexts = [one for one in contexts if evaluate(query.where, one) is True]
    if query.is_aggregate:
        values = tuple(_aggregated(output.expression, contexts) for output in query.outputs)
        return Result(query.columns, [values])
    found = [tuple(evaluate(output.expression, one) for output in query.outputs) for one in contexts]
    if query.distinct:
        found = list({tuple(map(comparable, row)): row for row in found}.values())
    return Result(query.columns, found)


def _rows(query: SimpleQuery, tables: Mapping[str, Rows]) -> Rows:
    rows = rows_read(query, tables)
    return rows if query.recognize is None else _named(recognized(query.recognize, rows))


def rows_read(query: SimpleQuery, tables: Mapping[str, Rows]) -> Rows:
    """The rows that a query, or its MATCH_RECOGNIZE, reads."""
    rows = tables[query.reads] if isinstance(query.reads, str) else _named(answer(query.reads, tables))
    for column, nested in query.nested:
        given = _given(column.expression, [row[0] for row in answer(nested, tables).rows])
        rows = [{**row, column.name: given(row)} for row in rows]
    return rows


class MultipleRows(Exception):
    """A query inside a clause has several rows, where one value is expected."""

    def __init__(self, query: e.NestedQuery, rows: int) -> None:
        super().__init__(f"a subquery that is a value must have one row at most, and this one has {rows:,}")
        self.query = query


def _given(expression: e.Expr, values: Sequence[object]) -> Callable[[Mapping[str, object]], object]:
    """What a query inside a clause gives each row; `values` are those of its column."""
    match expression:
        case e.InQuery(operand, item=item):
            assert item is not None
            known = [_evaluated(item, QUERY, value) for value in values]
            among = {comparable(value) for value in known if value is not None}
            return lambda row: _is_among(value_of_row(operand, row), among, bool(known), None in known)
        case e.NestedQuery(exists=True):
            return lambda row: bool(values)
        case e.NestedQuery() if len(values) > 1:
            raise MultipleRows(expression, len(values))
    return lambda row: values[0] if values else None


def _is_among(value: object, among: set[object], has_rows: bool, has_null: bool) -> bool | None:
    """`value IN (...)`.

    >>> [_is_among(value, {1}, True, True) for value in (1, 2, None)], _is_among(None, set(), False, False)
    ([True, None, None], False)
    """
    if not has_rows:
        return False
    if value is None:
        return None
    return True if comparable(value) in among else None if has_null else False


def _evaluated(item: e.Expr, variable: str, value: object) -> object:
    """What a value of the query is compared as."""
    (column,) = {node.name for node in walk(item) if isinstance(node, e.Attribute)}
    row = {bare(column): value}
    return evaluate(item, EvaluationContext({variable: ReferenceEvent("", 0, None, 0, 0, row, (None, None))}))


def _aggregated(expression: e.Expr, contexts: Sequence[EvaluationContext]) -> object:
    """An expression of aggregates over all rows."""

    def change(node: Node) -> Node:
        match node:
            case e.Aggregate(_, None, type):
                return e.Literal(len(contexts), type)
            case e.Aggregate(name, argument, type, distinct):
                assert argument is not None
                values = [evaluate(argument, one) for one in contexts]
                known = [value for value in values if value is not None]
                return e.Literal(aggregate(name, known, type, distinct), type)  # type: ignore[arg-type]
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, e.Expr)
    return evaluate(changed, EvaluationContext({}))


def _named(result: Result) -> Rows:
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.rows]
