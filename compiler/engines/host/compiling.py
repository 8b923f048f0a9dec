"""Queries around MATCH_RECOGNIZE as relations: each clause becomes one, the query a text that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neelc.engines.host.simple import (
    SEES_ITS_OWN,
    NotSimple,
    SimpleQueryReader,
    can_be_computed,
    nested_queries,
    understood_columns,
)
from neelc.engines.host.tables import (
    Describe,
    DescribedColumns,
    HostTable,
    SparkRejection,
    SparkTextWriter,
    Tables,
    is_query,
    known,
    refused_at,
    unknown_columns,
    unknown_query,
)
from neelc.engines.host.untrusted import TrustCheck, without_comments
from neelc.engines.spark.compiled import CompiledScript, variable_name
from neelc.engines.spark.relations import Let, Relations
from neelc.engines.spark.rows import row_relations
from neelc.engines.spark.scans import free
from neelc.errors import NeelError
from neelc.findings import Findings
from neelc.ir.bound_rows import Recognize
from neelc.ir.expressions import NestedQuery
from neelc.ir.names import bare, find, written
from neelc.ir.program import Column
from neelc.ir.row_patterns import MatchRecognize
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.rows.bind.recognize import bound_clause, read_clause
from neelc.rows.plan.plan import RowPlan, row_plan
from neelc.scalar.parameters import to_constant
from neelc.scalar.spark.expressions import sql
from neelc.source import Source, Span
from neelc.syntax.host import HostStatement
from neelc.syntax.host_tokens import HostClause, Token, clauses

ALONE = (
    "what MATCH_RECOGNIZE reads cannot use columns of the query around it, even after LATERAL: "
    "write PARTITION BY the key, and join the result"
)

TAKEN = ("spark", "streams", "aggregates", "recognizer", "query", "F", "args", "sqlQuery", "self")


@dataclass(frozen=True)
class RecognizedClause:
    """A clause, planned: the text of what it reads, and the name of its relation."""

    reads: str
    plan: RowPlan
    relation: str

    @property
    def strategy(self) -> str:
        is_linear = not self.plan.program.conditions and self.plan.query.within is None
        return "linear" if is_linear else "backtracking"


@dataclass(frozen=True)
class CompiledHostQuery:
    """A query as relations, and as source, and its clauses."""

    compiled: CompiledScript
    recognized: tuple[RecognizedClause, ...]


@dataclass
class HostCompiler:
    """Compiles the queries of a script one after the other. `tables` are the streams; `describe` asks Spark
    for what they do not tell, None if there is no Spark to ask."""

    source: Source
    tables: dict[str, HostTable]
    arguments: Mapping[str, object]
    describe: Describe | None
    findings: Findings
    untrusted: bool = False
    lets: list[Let] = field(default_factory=list)
    relations: dict[Span | str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(TAKEN))
    recognized: list[RecognizedClause] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    """The names of queries that were added: their columns are not known."""

    def add(self, statement: HostStatement, is_last: bool) -> None:
        """Add the relations of a query, and a table if it has a name."""
        found = clauses(statement.tokens)
        if not is_query(statement, found, self.findings):
            return
        if self.untrusted:
            judging = TrustCheck(self.source.text, statement, found, self.tables, self.queries, self.findings)
            if not judging.is_harmless():
                return
        for clause in found:
            self._clause(clause, found, statement)
        if any(clause.span not in self.relations for clause in found):
            return  # it has been reported
        name = free("result" if is_last else variable_name(statement.name or "unnamed"), self.taken)
        self.lets.append(self._query(statement, found, name))
        if statement.name is not None:
            self.relations[statement.name] = name
            self.queries.append(statement.name)

    def _query(self, statement: HostStatement, found: Sequence[HostClause], name: str) -> Let:
        query = self._texts(found, statement).query(statement.span, self._literals())
        return Let(name, query, "The query itself, by Spark.")

    def _clause(self, clause: HostClause, others: Sequence[HostClause], statement: HostStatement) -> None:
        """Add the relations of a clause, unless something is wrong with it."""
        before = len(self.findings.diagnostics)
        parsed = read_clause(self.source, clause, self.arguments, self.findings)
        inner = (one for one in others if one is not clause and _is_inside(one, clause))
        if parsed is None or any(one.span not in self.relations for one in inner):
            return
        described = self._source(clause, others, statement)
        if described is None:
            return
        columns, unit, reads = described
        if self._columns_are_wrong(clause, parsed, columns):
            return
        queries = self._nested(parsed, clause, others, statement)
        if queries is None:
            return
        bound = bound_clause(parsed, clause.name or "", columns.columns, unit, self.findings, queries)
        if bound is None or len(self.findings.diagnostics) > before:
            return
        try:
            plan = row_plan(bound)
        except UnsupportedQuery as refusal:
            message = f"not supported yet: {refusal.what}"
            self.findings.report("NEEL4001", message, refusal.span or clause.span, refusal.hint)
            return
        if bound.nested:
            reads = self._extended(reads, bound, clause, others, statement)
        name = free(variable_name(_name_behind(clause, statement) or "recognized"), self.taken)
        self.lets += row_relations(plan, reads, name, self.taken)
        self.relations[clause.span] = name
        self.recognized.append(RecognizedClause(self._text(clause), plan, name))

    def _source(
        self, clause: HostClause, others: Sequence[HostClause], statement: HostStatement
    ) -> tuple[DescribedColumns, str, str] | None:
        """The columns of what a clause reads, the unit of its times, and its relation."""
        table = self._table(clause)
        if table is not None:
            return DescribedColumns(table.columns), table.unit, self._read(table)
        assert clause.source is not None
        name = free(variable_name(clause.name or "source"), self.taken)
        query = self._texts(others, statement).source(clause, self._literals())
        self.lets.append(Let(name, query, "What the clause reads."))
        described = self._described(clause)
        return (described, "MILLISECOND", name) if described.columns else None

    def _nested(
        self,
        parsed: MatchRecognize,
        clause: HostClause,
        others: Sequence[HostClause],
        statement: HostStatement,
    ) -> dict[str, tuple[Column, ...]] | None:
        """The columns of the queries inside a clause, by their texts; None, and reports, if one is wrong."""
        found: dict[str, tuple[Column, ...]] = {}
        before = len(self.findings.diagnostics)
        for query in nested_queries(parsed):
            if self.untrusted:
                message = "a subquery inside MATCH_RECOGNIZE, which untrusted text may not have"
                self.findings.report("NEEL4064", message, query.span, None)
            elif query.text not in found and can_be_computed(query, self.findings):
                found[query.text] = self._nested_columns(query, clause, others, statement)
        return None if len(self.findings.diagnostics) > before else found

    def _nested_columns(
        self, query: NestedQuery, clause: HostClause, others: Sequence[HostClause], statement: HostStatement
    ) -> tuple[Column, ...]:
        assert query.place is not None
        if self.describe is None:
            understanding = SimpleQueryReader(self.source, self.tables, self.arguments, self.findings)
            try:
                known = understanding.nested(query)
            except NotSimple:
                unknown_query(query, self.findings)
                return ()
            return () if known is None else known.columns
        text = self._texts(others, statement).nested(query.place, clause, self._literals())
        try:
            described = self.describe(Relations((*self.lets, Let(free("nested", set(self.taken)), text))))
        except SparkRejection as refusal:
            refused_at(refusal, query.place, self.findings, SEES_ITS_OWN)
            return ()
        for name, kind in described.others:
            message = f"not supported yet: column `{name}` of type {kind}"
            self.findings.report("NEEL4001", message, query.span, None)
        return described.columns

    def _extended(
        self,
        reads: str,
        bound: Recognize,
        clause: HostClause,
        others: Sequence[HostClause],
        statement: HostStatement,
    ) -> str:
        """A relation with the columns of queries inside a clause."""
        texts = self._texts(others, statement)
        query = texts.extended(reads, bound.nested, clause, self._literals())
        name = free("nested", self.taken)
        self.lets.append(Let(name, query, "What queries inside the clause give each row."))
        return name

    def _table(self, clause: HostClause) -> HostTable | None:
        """The stream that a clause reads, if it reads one."""
        if len(clause.table) != 1 or find(written(clause.table[0]), map(written, clause.defined)):
            return None
        return known(clause.table[0], self.tables)

    def _read(self, table: HostTable) -> str:
        """The relation of a stream."""
        if table.name not in self.relations:
            self.relations[table.name] = free(variable_name(table.name), self.taken)
            self.lets.append(Let(self.relations[table.name], table.read, f"The stream {table.name}."))
        return self.relations[table.name]

    def _described(self, clause: HostClause) -> DescribedColumns:
        """The columns of what a clause reads, the last relation; none, and a report, if nobody knows."""
        assert clause.source is not None
        if self.describe is not None:
            try:
                return self.describe(Relations(tuple(self.lets)))
            except SparkRejection as refusal:
                refused_at(refusal, clause.source, self.findings, ALONE if clause.is_inside else None)
                return DescribedColumns(())
        columns = understood_columns(self.source, clause.source, self.tables, self.arguments)
        if columns is None:
            unknown_columns(clause, self._text(clause), self.findings)
        return DescribedColumns(columns or ())

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

    def _texts(self, found: Sequence[HostClause], statement: HostStatement) -> SparkTextWriter:
        mentioned = [table for name, table in self.tables.items() if statement.mentions(name)]
        names = [*self.queries, *(table.name for table in mentioned)]
        for table in mentioned:
            self._read(table)
        return SparkTextWriter(self.source.text, found, self.relations, tuple(names))

    def _text(self, clause: HostClause) -> str:
        assert clause.source is not None
        return self.source.text[clause.source.start : clause.source.end]

    def _literals(self) -> dict[str, str]:
        """The values of parameters, as SQL."""
        found = {name: to_constant(value) for name, value in self.arguments.items()}
        return {name: sql(value, lambda _: None) for name, value in found.items() if value is not None}


def compiled_host(
    statements: Sequence[HostStatement],
    source: Source,
    tables: Tables,
    arguments: Mapping[str, object],
    describe: Describe | None,
    untrusted: bool = False,
) -> CompiledHostQuery:
    """The last of the queries, with those before it that have names; raises `NeelError`."""
    findings = Findings(source)
    text = without_comments(source, statements) if untrusted else source
    compiling = HostCompiler(text, dict(tables), arguments, describe, findings, untrusted)
    *before, last = statements
    for statement in before:
        if statement.name is not None and last.mentions(statement.name):
            compiling.add(statement, is_last=False)
    compiling.add(last, is_last=True)
    if findings.diagnostics:
        raise NeelError(findings.diagnostics, source)
    relations = Relations(tuple(compiling.lets))
    strategies = tuple((one.relation, one.strategy) for one in compiling.recognized)
    title = source.text[last.span.start : last.span.end]
    return CompiledHostQuery(CompiledScript(relations, title, (), strategies), tuple(compiling.recognized))


def _is_inside(one: HostClause, other: HostClause) -> bool:
    source = other.source
    within = source is not None and source.start <= one.span.start and one.span.end <= source.end
    return within or any(
        definition.span.start <= one.span.start and one.span.end <= definition.span.end
        for group in other.visible
        for definition in group.definitions
    )


def _name_behind(clause: HostClause, statement: HostStatement) -> str | None:
    """The name that the query gives the result of a clause."""
    after: list[Token] = [token for token in statement.tokens if token.start >= clause.span.end][:2]
    if clause.is_named and after and after[0].says("AS"):
        after = after[1:]
    return bare(after[0].text) if clause.is_named and after and after[0].is_name else clause.name
