"""Queries around MATCH_RECOGNIZE as relations: each clause becomes one, the query a text that names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from neelc.arguments import BUCKETS
from neelc.engines.spark.relations import Let
from neelc.engines.spark.rows import RowRelations, row_relations
from neelc.engines.spark.scans import free, variable_name
from neelc.engines.streaming.rows import row_stream_relations
from neelc.ir.bound_rows import BoundClause, HostQuery
from neelc.rows.bind.host import literals
from neelc.rows.bind.host_text import SparkTextWriter
from neelc.rows.plan.plan import ClausePlan, HostPlan
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span


@dataclass
class HostWriter:
    """Writes one query. `relations` has the names of relations: of what the query reads by the bare names, of
    clauses by their places."""

    query: HostQuery
    relations: dict[Span | str, str]
    taken: set[str]
    arguments: Mapping[str, str] = field(default_factory=dict)
    buckets: int = BUCKETS

    def clause(self, planned: ClausePlan) -> Iterator[Let]:
        """The relations of a clause, after those of what it reads."""
        bound = planned.bound
        reads = None if bound.reads is None else self.relations[bound.reads]
        if reads is None:
            reads = free(variable_name(bound.clause.name or "source"), self.taken)
            text = self._texts().source(bound.clause, self.arguments)
            yield Let(reads, text, "What the clause reads.")
        if bound.recognize.nested:
            extended = self._texts().extended(reads, bound.recognize.nested, bound.clause, self.arguments)
            reads = free("nested", self.taken)
            yield Let(reads, extended, "What queries inside the clause give each row.")
        name = free(variable_name(_result_name(bound)), self.taken)
        if planned.streamed is None:
            yield from row_relations(planned.plan, reads, name, self.taken)
        else:
            yield from row_stream_relations(planned, reads, name, self.taken, self.buckets)
        self.relations[bound.clause.span] = name

    def result(self, name: str) -> Let:
        """The query itself."""
        query = self._texts().query(self.query.place, self.arguments)
        return Let(name, query, "The query itself, by Spark.")

    def _texts(self) -> SparkTextWriter:
        names = tuple(stream.name for stream in self.query.streams)
        clauses = [one.clause for one in self.query.clauses]
        return SparkTextWriter(self.query.text, clauses, self.relations, names)


def _result_name(bound: BoundClause) -> str:
    return bound.clause.result or bound.clause.name or "recognized"


def host_relations(
    plan: HostPlan,
    relations: Mapping[str, str],
    taken: set[str],
    name: str,
) -> Iterator[Let]:
    """The relations of a query; the last is its result. `relations` are those of what it reads."""
    query = plan.query
    writer = HostWriter(query, dict(relations.items()), taken, literals(query.arguments), plan.buckets)
    for clause in plan.clauses:
        yield from writer.clause(clause)
    yield writer.result(name)


def clause_results(
    plan: HostPlan, matches: str, relations: Mapping[str, str], taken: set[str], name: str
) -> Iterator[Let]:
    """The relations of a query whose only clause has `matches`: an operator found them, which also runs the
    query that the clause reads."""
    streams = tuple(one for one in plan.query.streams if one.producer is None)
    query, (clause,) = replace(plan.query, streams=streams), plan.clauses
    measured = free(variable_name(_result_name(clause.bound)), taken)
    yield from RowRelations(clause.plan, "", measured, taken).measures(matches)
    writer = HostWriter(query, dict(relations.items()), taken, literals(query.arguments), plan.buckets)
    writer.relations[clause.bound.clause.span] = measured
    yield writer.result(name)
