"""Queries that are understood without Spark: SELECT items FROM a stream or a MATCH_RECOGNIZE, and WHERE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from neelc import syntax as parse
from neelc.catalog.streams import ColumnSource, SelectNames
from neelc.errors import Diagnostic, NeelError
from neelc.findings import Findings
from neelc.ir import expressions as e
from neelc.ir.bound_rows import HostQuery, Recognize, SimpleQuery
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import Node, children, walk
from neelc.ir.program import Column, OutputColumn, Stream
from neelc.ir.row_patterns import MatchRecognize, Output
from neelc.ir.script import FromItem, FromQuery, FromStream, RunQuery, ScriptQuery, Select
from neelc.pattern.bind.outputs import output_name
from neelc.rows.bind.recognize import bound_clause, check_row_pattern
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.parameters import with_arguments, with_short_names
from neelc.scalar.typing import typed, typed_condition
from neelc.source import Source, Span
from neelc.syntax.host_tokens import CLAUSE, tokens

ReadRows = tuple[
    str | SimpleQuery, Recognize | None, ColumnSource, tuple[tuple[OutputColumn, SimpleQuery], ...]
]
"""What is read, the clause over it, the rows that come out, and what queries inside the clause give."""

SEES_ITS_OWN = "a subquery in MATCH_RECOGNIZE can name its own tables only, not the rows of the pattern"


SPARK_RUNS_IT = "the other engines run it: leave --engine reference out"


class NotSimple(Exception):
    """The text completes "this engine does not run ..."."""


@dataclass(frozen=True)
class SimpleQueryReader:
    """What queries are understood with: what they may read by name, and the values of parameters."""

    source: Source
    tables: Mapping[str, Stream]
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

    def _source(self, item: FromItem) -> ReadRows | None:
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
        matcher = with_short_names(item.matcher)
        check_row_pattern(matcher, self.findings)
        nested = self._nested(matcher)
        known = {text: one.columns for text, one in nested.items()}
        bound = bound_clause(matcher, relation.name, columns, unit, self.findings, known)
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
                table = table_of(bare(name), self.tables)
                if table is None or not table.columns:
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


def table_of(name: str, tables: Mapping[str, Stream]) -> Stream | None:
    """The table of a bare name.

    >>> table = Stream("Trades", (), "")
    >>> table_of("trades", {"Trades": table}) is table, table_of("quotes", {"Trades": table})
    (True, None)
    """
    found = find(written(name), map(written, tables))
    return next((table for key, table in tables.items() if written(key) == found), None)


def understood(query: HostQuery, source: Source, hint: str | None = None) -> SimpleQuery:
    """The query as the reference interpreter executes it; raises `NeelError`, with that `hint`, if only Spark
    does."""
    findings = Findings(source)
    tables = {stream.name: stream for stream in query.streams}
    try:
        found = SimpleQueryReader(source, tables, query.arguments, findings).query(query.place)
    except NotSimple as reason:
        message = f"the reference engine does not run {reason}"
        raise NeelError(
            [Diagnostic("NEEL4001", message, query.place, hint or SPARK_RUNS_IT)], source
        ) from None
    if found is None or findings.diagnostics:
        raise NeelError(findings.diagnostics, source)
    return found


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
    message = "a subquery in MATCH_RECOGNIZE cannot contain another MATCH_RECOGNIZE"
    hint = "define it first: WITH m AS (SELECT ... MATCH_RECOGNIZE (...)) SELECT ..."
    findings.report("NEEL4054", message, query.span, hint)
    return False


def understood_columns(
    source: Source, span: Span | None, tables: Mapping[str, Stream], arguments: Mapping[str, object]
) -> tuple[Column, ...] | None:
    """The columns of the query at a place, if it is simple and right."""
    findings = Findings(source)
    try:
        found = None if span is None else SimpleQueryReader(source, tables, arguments, findings).query(span)
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
