"""Queries of Spark's own SQL around MATCH_RECOGNIZE: clauses are bound, the text around them is Spark's.

What a clause reads may be a table of Spark's or any query: the caller's `describe` returns its columns.
Without it, only streams, named queries and simple subqueries of these are understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from neelc.catalog.catalog import Catalog, CatalogEntry, report_refusal
from neelc.catalog.streams import declared_stream
from neelc.findings import Findings
from neelc.ir.bound_rows import BoundClause, HostQuery
from neelc.ir.expressions import NestedQuery
from neelc.ir.names import bare, find, written
from neelc.ir.program import Column, Stream
from neelc.ir.row_patterns import MatchRecognize
from neelc.ir.script import (
    ColumnDefinition,
    CreateQuery,
    CreateStream,
    FromStream,
    HostClause,
    HostSelect,
    RunQuery,
    Select,
)
from neelc.rows.bind.host_text import SparkQuery, SparkTextWriter, is_query, tokens_of
from neelc.rows.bind.recognize import bound_clause, read_clause
from neelc.rows.bind.simple import (
    SEES_ITS_OWN,
    NotSimple,
    SimpleQueryReader,
    between_parentheses,
    can_be_computed,
    nested_queries,
    table_of,
    understood_columns,
)
from neelc.rows.bind.untrusted import TrustCheck, without_comments
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.parameters import to_constant
from neelc.scalar.spark.expressions import sql
from neelc.source import Source, Span
from neelc.syntax.following import statement_or_none
from neelc.syntax.host import is_ordered, mentions

ALONE = (
    "what MATCH_RECOGNIZE reads cannot use columns of the query around it, even after LATERAL: "
    "write PARTITION BY the key, and join the result"
)


@dataclass(frozen=True)
class DescribedColumns:
    """The columns of a relation, and those of types that neelc does not know: their names and types. `stream`
    is what it reads, if that is data from outside."""

    columns: tuple[Column, ...]
    others: tuple[tuple[str, str], ...] = ()
    stream: Stream | None = None


NO_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
"""Spark's word for a table that is not there."""


class SparkRejection(Exception):
    """Spark does not understand a query; `fragment` is the part of its text that it points at."""

    def __init__(self, message: str, fragment: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fragment = fragment


class UnspelledQuery(SparkRejection):
    """The local engine cannot execute a query, or nobody can; where that is said in the script."""

    def __init__(self, message: str, code: str, hint: str | None, span: Span | None) -> None:
        super().__init__(message)
        self.code, self.hint, self.span = code, hint, span


ON_SPARK = "Spark runs it: --engine spark, or neelc.sql(spark, ...)"
"""What to do about it."""


Describe = Callable[[SparkQuery, Mapping[str, DescribedColumns]], DescribedColumns]
"""Asks Spark for the columns of a query, whose names stand for relations with these columns, or raises
`SparkRejection`. Nothing is run."""


@dataclass
class HostBinder:
    """Binds one query. `entries` are the streams and queries that it names; `source` is the script, without
    the comments of untrusted text."""

    query: HostSelect
    source: Source
    entries: Mapping[str, CatalogEntry]
    arguments: Mapping[str, object]
    describe: Describe | None
    findings: Findings
    untrusted: bool = False
    bound: dict[Span, BoundClause] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Stream]:
        return {name: entry.table for name, entry in self.entries.items() if entry.table is not None}

    def clause(self, clause: HostClause) -> None:
        """Bind a clause, unless something is wrong with it."""
        before = len(self.findings.diagnostics)
        parsed = read_clause(self.source, clause, self.arguments, self.findings)
        inner = (one for one in self.query.clauses if one is not clause and clause.holds(one))
        if parsed is None or any(one.span not in self.bound for one in inner):
            return
        table = self._table(clause)
        described = self._described(clause) if table is None else DescribedColumns(table.columns)
        if not described.columns or self._columns_are_wrong(clause, parsed, described):
            return
        queries = self._nested(parsed, clause)
        unit = "MILLISECOND" if table is None else table.unit
        found = bound_clause(parsed, clause.name or "", described.columns, unit, self.findings, queries)
        if found is not None and len(self.findings.diagnostics) == before:
            reads = None if table is None else table.name
            self.bound[clause.span] = BoundClause(clause, found, reads, span=clause.span)

    def columns(self) -> DescribedColumns | None:
        """The columns of the whole query; None if nobody here knows them."""
        if self.describe is None:
            found = understood_columns(self.source, self.query.span, self.tables, self.arguments)
            return None if found is None else DescribedColumns(found)
        assert self.query.span is not None
        try:
            return self._ask(self._texts().query(self.query.span, literals(self.arguments)))
        except SparkRejection as refusal:
            refused_at(refusal, self.query.span, self.findings)
            return None

    def _table(self, clause: HostClause) -> Stream | None:
        """The stream or query that a clause reads, if its columns are known."""
        if len(clause.table) != 1 or find(written(clause.table[0]), map(written, clause.defined)):
            return None
        found = table_of(clause.table[0], self.tables)
        return found if found is not None and found.columns else None

    def _described(self, clause: HostClause) -> DescribedColumns:
        """The columns of what a clause reads; none, and a report, if nobody knows."""
        assert clause.source is not None
        if self.describe is not None:
            try:
                return self._ask(self._texts().source(clause, literals(self.arguments)))
            except SparkRejection as refusal:
                refused_at(refusal, clause.source, self.findings, ALONE if clause.is_inside else None)
                return DescribedColumns(())
        inner = between_parentheses(self.source, clause.source)
        columns = understood_columns(self.source, inner, self.tables, self.arguments)
        if columns is None:
            unknown_columns(clause, self.source.text[clause.source.start : clause.source.end], self.findings)
        return DescribedColumns(columns or ())

    def _nested(self, parsed: MatchRecognize, clause: HostClause) -> dict[str, tuple[Column, ...]]:
        """The columns of the queries inside a clause, by their texts; those that are wrong are reported."""
        found: dict[str, tuple[Column, ...]] = {}
        for query in nested_queries(parsed):
            if self.untrusted:
                message = "a subquery inside MATCH_RECOGNIZE, which untrusted text may not have"
                self.findings.report("NEEL4064", message, query.span, None)
            elif query.text not in found and can_be_computed(query, self.findings):
                columns = self._nested_columns(query, clause)
                found |= {query.text: columns} if columns else {}
        return found

    def _nested_columns(self, query: NestedQuery, clause: HostClause) -> tuple[Column, ...]:
        assert query.place is not None
        if self.describe is None:
            reader = SimpleQueryReader(self.source, self.tables, self.arguments, self.findings)
            try:
                known = reader.nested(query)
            except NotSimple:
                unknown_query(query, self.findings)
                return ()
            return () if known is None else known.columns
        try:
            described = self._ask(self._texts().nested(query.place, clause, literals(self.arguments)))
        except SparkRejection as refusal:
            refused_at(refusal, query.place, self.findings, SEES_ITS_OWN)
            return ()
        for name, kind in described.others:
            message = f"not supported yet: column `{name}` of type {kind}"
            self.findings.report("NEEL4001", message, query.span, None)
        return described.columns

    def _columns_are_wrong(
        self, clause: HostClause, parsed: MatchRecognize, described: DescribedColumns
    ) -> bool:
        assert clause.source is not None
        names = [column.name.casefold() for column in described.columns]
        twice = next((one for one in described.columns if names.count(one.name.casefold()) > 1), None)
        if twice is not None:
            message = f"what MATCH_RECOGNIZE reads has two columns `{twice.name}`"
            self.findings.report("NEEL2222", message, clause.source, "rename one of them in a subquery")
        if described.others and (parsed.rows or "").startswith("ALL ROWS"):
            name, kind = described.others[0]
            message = f"not supported yet: column `{name}` of type {kind}, in ALL ROWS PER MATCH"
            self.findings.report("NEEL4001", message, clause.source, "leave it out in a subquery")
            return True
        return twice is not None

    def _texts(self) -> SparkTextWriter:
        """Writes parts of the query, with a name for each clause and table."""
        names: dict[Span | str, str] = {span: f"clause_{at}" for at, span in enumerate(self.bound)}
        names |= {name: f"table_{at}" for at, name in enumerate(self.tables)}
        return SparkTextWriter(self.source.text, self.query.clauses, names, tuple(self.tables))

    def _ask(self, query: SparkQuery) -> DescribedColumns:
        assert self.describe is not None
        clauses = {f"clause_{at}": one.recognize.output for at, one in enumerate(self.bound.values())}
        relations = {name: DescribedColumns(columns) for name, columns in clauses.items()}
        for at, (name, table) in enumerate(self.tables.items()):
            others, stream = self.entries[name].others, table if table.producer is None else None
            relations[f"table_{at}"] = DescribedColumns(table.columns, others, stream)
        return self.describe(query, {name: relations[name] for name in query.names})


def literals(arguments: Mapping[str, object]) -> dict[str, str]:
    """The values of parameters, as SQL."""
    found = {name: to_constant(value) for name, value in arguments.items()}
    return {name: sql(value, lambda _: None) for name, value in found.items() if value is not None}


def bind_host(
    query: HostSelect,
    name: str | None,
    catalog: Catalog,
    arguments: Mapping[str, object],
    describe: Describe | None,
    untrusted: bool,
    findings: Findings,
) -> tuple[HostQuery, DescribedColumns | None] | None:
    """The query and, if it has a name, the columns of its result; None, and reports, if it is wrong."""
    assert query.span is not None
    before = len(findings.diagnostics)
    entries = {one.name: one for one in catalog.entries.values() if mentions(query, one.name)}
    if not is_query(query, findings) or _requires_times(query, catalog, findings):
        return None
    source = findings.source
    if untrusted:
        source = without_comments(source, tokens_of(query, source.text))
        if not TrustCheck(source.text, query, catalog, findings).is_harmless():
            return None
    binder = HostBinder(query, source, entries, arguments, describe, findings, untrusted)
    has_tables = all(entry.table is not None for entry in entries.values())
    for clause in query.clauses if has_tables else ():
        binder.clause(clause)
    if len(findings.diagnostics) > before or not has_tables:
        return None
    described = binder.columns() if name is not None else None
    if len(findings.diagnostics) > before:
        return None
    columns = None if described is None else described.columns
    streams = tuple(binder.tables.values())
    bound = tuple(binder.bound.values())
    ordered = is_ordered(query)
    return (
        HostQuery(source.text, query.span, bound, streams, columns, arguments, ordered, span=query.span),
        described,
    )


def _requires_times(query: HostSelect, catalog: Catalog, findings: Findings) -> bool:
    """Whether a SELECT of JEPC-QL, with a window or a pattern of events, reads rows without times; reports if
    so. Without a clause of its own it would be taken for Spark's SQL."""
    statement = None if query.clauses else statement_or_none(query.text)
    if not isinstance(statement, RunQuery) or not isinstance(statement.query, Select):
        return False
    for item in statement.query.sources:
        entry = catalog.entry(item.name) if isinstance(item, FromStream) else None
        if entry is not None and (item.window is not None or item.matcher is not None):
            report_refusal(entry, findings.at(query), findings)
            return entry.refusal is not None
    return False


# What a named query is for the statements after it: rows, and events if it declares its times.

DECLARE = (
    "declare it: CREATE QUERY {} TIMESTAMP BY column AS SELECT ...; the clauses are those of CREATE STREAM"
)


def host_entry(
    statement: CreateQuery, described: DescribedColumns | None, findings: Findings
) -> CatalogEntry:
    """The entry of a query of Spark's whose columns are `described`, None if they are not known here."""
    name = bare(statement.name)
    columns = described or DescribedColumns(())
    rows = Stream(name, columns.columns, "", rows_of=name)
    if statement.times is None:
        why = ("NEEL2230", "its rows have no declared times", DECLARE.format(written(name)))
        return CatalogEntry(name, "query", refusal=why, rows=rows, others=columns.others)
    if described is None:
        message = f"the columns of `{name}`, which its times are among, are known only to Spark"
        hint = (
            "`neelc run` and neelc.sql ask Spark; here, the query must be a simple one over a declared stream"
        )
        findings.report("NEEL2220", message, findings.at(statement.times), hint)
        return CatalogEntry(name, "query")
    entry = _declared(statement, columns, findings)
    if entry.stream is None:
        return CatalogEntry(name, "query", typed=entry.typed)
    stream = replace(entry.stream, rows_of=name)
    return replace(entry, kind="query", stream=stream, rows=stream, others=columns.others)


def _declared(statement: CreateQuery, columns: DescribedColumns, findings: Findings) -> CatalogEntry:
    """The times that a query declares, by the rules of CREATE STREAM."""
    times = statement.times
    assert times is not None
    if times.timestamp is not None and times.timestamp.format is not None:
        message = "FORMAT is for strings of a stream; a query converts them itself"
        hint = f"to_timestamp(..., '{times.timestamp.format}') in the query, and TIMESTAMP BY its column"
        findings.report("NEEL2232", message, times.timestamp.span, hint)
        return CatalogEntry(statement.name, "query")
    definitions = tuple(ColumnDefinition(written(one.name), one.type) for one in columns.columns)
    stream = CreateStream(
        statement.name, definitions, times.timestamp, times.end, times.type_by, span=times.span
    )
    return declared_stream(stream, None, findings)


# Reports where only Spark knows the columns, or where Spark does not understand a query.


def unknown_columns(clause: HostClause, text: str, findings: Findings) -> None:
    """Report that the columns of a source are not known without Spark."""
    assert clause.source is not None
    if len(clause.table) == 1 and clause.table[0] not in clause.defined:
        name = clause.table[0]
        message = f"the columns of `{name}` are not known here"
        hint = f"declare it with CREATE STREAM {name} (...), or give its data with --stream {name}=path"
    else:
        short = " ".join(text.split())
        message = (
            f"the columns of `{short if len(short) < 40 else short[:37] + '...'}` are known only to Spark"
        )
        hint = "`neelc run` and neelc.sql ask Spark; here, MATCH_RECOGNIZE must read a declared stream"
    findings.report("NEEL2220", message, clause.source, hint)


def unknown_query(query: NestedQuery, findings: Findings) -> None:
    """Report that the columns of a query inside a clause are not known without Spark."""
    message = "the columns of this subquery are known only to Spark"
    hint = "`neelc run` and neelc.sql ask Spark; here, it may choose from a declared stream"
    findings.report("NEEL2220", message, query.span, hint)


def refused_at(
    refusal: SparkRejection, span: Span, findings: Findings, unresolved: str | None = None
) -> None:
    """Report what Spark says, at the part of the text that it points at; with a hint for names that it does
    not know."""
    if isinstance(refusal, UnspelledQuery):
        findings.report(refusal.code, refusal.message, refusal.span or span, refusal.hint)
        return
    is_missing = NO_TABLE in refusal.message
    hint = (
        "declare it with CREATE STREAM, or give it: name=DataFrame, --stream name=path"
        if is_missing
        else unresolved
        if "cannot be resolved" in refusal.message
        else None
    )
    place = place_of(refusal.fragment, span, findings)
    findings.report("NEEL2221", f"Spark refuses it: {refusal.message}", place, hint)


def place_of(fragment: str, span: Span, findings: Findings) -> Span:
    """Where a fragment stands in a part of the text, if it stands there once; else the whole part."""
    text = findings.source.text[span.start : span.end]
    if fragment and text.count(fragment) == 1:
        at = span.start + text.index(fragment)
        return Span(at, at + len(fragment))
    return span
