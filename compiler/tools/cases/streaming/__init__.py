"""Cases as streams, in process: their events come in micro-batches, in order and out of it, and the kernels
that Spark's workers run over streams must find what the case expects, each row once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.algebra.plan.network import QueryPlan
from neelc.algebra.plan.streamed import with_selects_inlined
from neelc.arguments import Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.reference import Tables, executable
from neelc.engines.streaming.network_plan import RecognizeNode, query_node, stream_network
from neelc.ir.algebra import Algebra, TemporalMatcher
from neelc.ir.bound_rows import HostQuery, Recognize
from neelc.ir.expressions import Attribute
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.program import NamedQuery, Program
from neelc.ir.row_patterns import SortItem
from neelc.ir.types import BIGINT, INT
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.emission import StreamPlan
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.pipeline import compile_program, is_read_as_events, plan_queries
from neelc.rows.plan.plan import HostPlan
from neelc.runtime.reference import rows_read_by, run
from neelc.runtime.reference.temporal import streams_go_on
from neelc.scalar.type_of import DATETIMES, type_of
from neelc.source import Source
from neelc.tools.cases.streaming.arrival import MICRO_BATCHINGS, MicroBatching, StreamResult
from neelc.tools.cases.streaming.network import NetworkCase
from neelc.tools.cases.streaming.pattern import PatternCase
from neelc.tools.cases.streaming.rows import ClauseCase

STREAMING = Options(streaming=True)


class RequiresSpark(Exception):
    """A query that runs over streams on Spark, but not without it; the text says why."""


def stream_results(
    program: Program, tables: Tables, source: Source, ways: Sequence[MicroBatching] = MICRO_BATCHINGS
) -> Iterator[StreamResult]:
    """What the last query of a script gives over streams, for each way in which its events may come. Raises
    `UnsupportedQuery` if it is refused on streams, and `RequiresSpark`."""
    program = with_times(executable(program, [len(program.queries) - 1], source))
    compile_program(program, options=STREAMING)
    try:
        streamed = _streamed(program, tables)
    except UnsupportedQuery as refusal:
        raise RequiresSpark(refusal.what) from None
    in_order = isinstance(streamed, ClauseCase) and streamed.has_ties
    for way in ways:
        if not (in_order and way.shuffled):
            yield streamed.result(way)


def _streamed(program: Program, tables: Tables) -> PatternCase | ClauseCase | NetworkCase:
    last = len(program.queries) - 1
    inlined = with_selects_inlined(program)
    match plans_in_process([inlined.queries[place] for place in inlined.needed([last])]):
        case [(_, StrategyPlan(plan=StreamPlan() as plan))]:
            return PatternCase.of(plan, tables)
        case [(_, HostPlan(query, (clause,)))]:
            return ClauseCase.of(query, clause, rows_read_by(program, last, tables))
        case plans:
            needed = tuple(program.queries[place] for place in program.needed([last]))
            network = stream_network([query_node(one.name, plan, one.span) for one, plan in plans])
            _, expected = run(replace(program, queries=needed), tables)[-1]
            decided = None
            if isinstance(node := network.queries[-1], RecognizeNode):
                rows = rows_read_by(program, last, tables)
                decided = ClauseCase.of(node.plan.query, node.clause, rows).decided
            elif any(isinstance(node, TemporalMatcher) for one in needed for node in walk(one.query)):
                with streams_go_on():
                    _, decided = run(replace(program, queries=needed), tables)[-1]
            return NetworkCase.of(network, tables, expected, decided)


def plans_in_process(queries: Sequence[NamedQuery]) -> list[tuple[NamedQuery, QueryPlan]]:
    """Each query with its plan. In process, no SELECT leaves anything to Spark: so it is planned as one that
    is read by another query."""
    read = [
        (named, isinstance(named.query, Algebra) or is_read_as_events(named, queries)) for named in queries
    ]
    plans: list[tuple[NamedQuery, QueryPlan]] = []
    for one in plan_queries(read, STREAMING, Statistics()):
        if isinstance(one.plan, UnsupportedQuery):
            raise one.plan
        plans.append((one.named, one.plan))
    return plans


# Times that a case does not declare.


def with_times(program: Program) -> Program:
    """The script, with event times for rows that a MATCH_RECOGNIZE reads: where a stream declares none, they
    are in the column that comes first in ORDER BY, if it can hold times."""
    queries = (
        replace(named, query=_with_times(named.query)) if isinstance(named.query, HostQuery) else named
        for named in program.queries
    )
    return replace(program, queries=tuple(queries))


def _with_times(query: HostQuery) -> HostQuery:
    names = {one.reads: _time(one.recognize) for one in query.clauses}
    streams = (
        one if one.start or one.producer else replace(one, start=names.get(one.name) or "")
        for one in query.streams
    )
    return replace(query, streams=tuple(streams))


def _time(query: Recognize) -> str | None:
    match query.order:
        case (SortItem(Attribute(_, name) as column, descending=False), *_):
            return bare(name) if type_of(column) in (INT, BIGINT, *DATETIMES) else None
    return None
