"""Queries that read queries over streams without end: Spark reads the events of each query, one stateful
operator runs all queries, and Spark computes what the last one returns.

Each query has a scan of its own, and its events are packed on their own, with the number of the query: so a
row has the columns of one query only. A stream that two queries read is read twice. One scan for both would
have to keep the columns and the roles of both in every row, also of events that only one of them needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from neelc.engines.spark.algebra import NetworkWriter
from neelc.engines.spark.correlations import RelationBuilder
from neelc.engines.spark.host import clause_results
from neelc.engines.spark.relations import Extend, KernelOnStream, Let
from neelc.engines.spark.results import results
from neelc.engines.spark.rows import RowRelations
from neelc.engines.spark.scans import StreamRelations, free, scans, variable_name
from neelc.engines.streaming.algebra import (
    select_identity,
    select_inputs,
    select_results,
    select_schema,
)
from neelc.engines.streaming.network_plan import (
    Keys,
    PatternNode,
    QueryNode,
    RecognizeNode,
    SelectNode,
    StreamNetwork,
)
from neelc.engines.streaming.pattern import (
    METRICS,
    bucket,
    columns_kept,
    group_results,
    list_results,
    match_schema,
    matches_of,
    observed_streams,
    scan_request,
)
from neelc.engines.streaming.rows import clause_identity, clause_inputs
from neelc.ir.types import LENGTHS
from neelc.runtime.program import NODE
from neelc.scalar.spark.trees import identifier


def network_relations(
    network: StreamNetwork,
    sources: StreamRelations,
    taken: set[str],
    name: str,
    most_matches: int | None,
    buckets: int,
) -> Iterator[Let]:
    """The relations of a network."""
    outside = {stream.name: stream for one in network.queries for stream in one.outside}
    lets, sources = observed_streams(outside.values(), sources, taken)
    yield from lets
    packed: list[str] = []
    for number, one in enumerate(network.queries):
        keys = {} if network.buckets is None else network.buckets[number]
        own, lets = _inputs(network, number, one, keys, sources, taken, buckets)
        packed += own
        yield from lets
    last = network.queries[-1]
    first, *others = packed
    on_stream = KernelOnStream(
        first,
        network.program,
        _schema(last),
        LENGTHS[last.unit],
        tuple(_identity(network, buckets)),
        METRICS,
        buckets,
        most_matches,
        tuple(others),
    )
    if isinstance(last, SelectNode):
        emitting = RelationBuilder(last.unit, last.clock, sources, taken)
        yield from select_results(emitting, last.plan, last.streamed, on_stream, name)
        return
    if isinstance(last, PatternNode) and last.plan.counted is not None:
        yield from group_results(last.query, last.plan.counted, on_stream, taken, name)
        return
    if isinstance(last, PatternNode) and last.plan.is_listed:
        yield from list_results(last.plan, on_stream, taken, name)
        return
    matched = free("matches", taken)
    read = ", ".join(f"`{one.name}`" for one in network.queries[:-1])
    together = f"as soon as they are sure, with {read} in the same operator."
    if isinstance(last, RecognizeNode):
        yield Let(matched, on_stream, f"Matches of {last.clause.plan.query.pattern}, {together}")
        yield from clause_results(last.plan, matched, sources.names, taken, name)
        return
    assert isinstance(last, PatternNode)
    yield Let(matched, on_stream, f"Matches of {last.planned.text}, {together}")
    yield from results(matches_of(last.planned, matched), last.planned.residual, taken, name, as_stream=False)


def _schema(last: QueryNode) -> str:
    """The columns of what the operator gives, as Spark writes them."""
    if isinstance(last, SelectNode):
        return select_schema(last.streamed)
    if isinstance(last, RecognizeNode):
        return RowRelations(last.clause.plan, "", "", set()).schema()
    assert isinstance(last, PatternNode)
    return match_schema(last.plan)


def _inputs(
    network: StreamNetwork,
    number: int,
    one: QueryNode,
    keys: Keys,
    sources: StreamRelations,
    taken: set[str],
    buckets: int,
) -> tuple[list[str], list[Let]]:
    """What a query reads from outside: the names of the relations, and all relations."""
    if isinstance(one, SelectNode):
        emitting = RelationBuilder(one.unit, one.clock, sources, taken)
        writer = NetworkWriter(emitting, one.plan)
        own = list(select_inputs(writer, one.streamed, keys, buckets, ((str(number), NODE),)))
        return own, emitting.lets
    if not one.outside:
        return [], []
    if isinstance(one, RecognizeNode):
        source = sources.names[one.clause.bound.reads or ""]
        rows = RowRelations(one.clause.plan, source, "", taken)
        lets = list(clause_inputs(one.clause, rows, keys.get(0, ()), buckets, ((str(number), NODE),)))
        return [lets[-1].name], lets
    assert isinstance(one, PatternNode)
    lets = list(scans(scan_request(one.planned, one.outside, observed=False), sources, taken))
    by = tuple(map(identifier, keys.get(0, ())))
    items = ((bucket(by, buckets), "bucket"), (str(number), NODE))
    name = free(f"{variable_name(one.name)}_bucketed" if one.name else "bucketed", taken)
    return [name], [*lets, Let(name, Extend(lets[-1].name, items), _comment(network, one))]


def _comment(network: StreamNetwork, one: QueryNode) -> str:
    if network.buckets is None:
        return f"What {one.title} reads. All events are in one bucket: {network.reason}."
    return f"What {one.title} reads, by the key that all queries share."


def _identity(network: StreamNetwork, buckets: int) -> Iterator[tuple[str, str]]:
    """What the state depends on."""
    for one in network.queries:
        what = f" of {one.name}" if one.name else ""
        if isinstance(one, SelectNode):
            yield from select_identity(one.plan, one.streamed, what or " of the last query")
            continue
        if isinstance(one, RecognizeNode):
            yield from clause_identity(one.clause, what)
            continue
        assert isinstance(one, PatternNode)
        query = one.query
        yield f"pattern{what}", str(query.pattern)
        yield f"window{what}", str(query.within or "none")
        yield f"strategy{what}", str(query.strategy)
        yield (
            f"returned{what}",
            ", ".join(f"{output.expression} AS {output.name}" for output in query.outputs),
        )
        if query.order_types:
            yield f"then by{what}", ", ".join(map(str, query.order_types))
        yield f"columns{what}", ", ".join(columns_kept(one.plan))
    yield "buckets", str(1 if network.buckets is None else buckets)
