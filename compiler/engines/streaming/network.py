"""Queries that read queries over streams without end: Spark reads the events of each query, one stateful
operator runs all queries, and Spark computes what the last one returns.

Each query has a scan of its own, and its events are packed on their own, with the number of the query: so a
row has the columns of one query only. A stream that two queries read is read twice. One scan for both would
have to keep the columns and the roles of both in every row, also of events that only one of them needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from neelc.engines.spark.kernel import kernel_schema
from neelc.engines.spark.relations import Extend, KernelOnStream, Let
from neelc.engines.spark.results import results
from neelc.engines.spark.scans import StreamRelations, free, scans, variable_name
from neelc.engines.streaming.pattern import (
    METRICS,
    bucket,
    columns_kept,
    matches_of,
    observed_streams,
    scan_request,
)
from neelc.ir.types import LENGTHS
from neelc.pattern.plan.emission import StreamPlan
from neelc.pattern.plan.stream_network import StreamedQuery, StreamNetwork
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
    packed = []
    for number, one in enumerate(network.queries):
        if not one.outside:
            continue
        lets = list(scans(scan_request(one.planned, one.outside, observed=False), sources, taken))
        yield from lets
        keys = () if network.buckets is None else tuple(map(identifier, network.buckets[number]))
        items = ((bucket(keys, buckets), "bucket"), (str(number), NODE))
        packed.append(free(f"{variable_name(one.name)}_bucketed" if one.name else "bucketed", taken))
        yield Let(packed[-1], Extend(lets[-1].name, items), _comment(network, one))
    last = network.queries[-1].planned
    first, *others = packed
    on_stream = KernelOnStream(
        first,
        network.program,
        kernel_schema(last),
        LENGTHS[last.plan.unit],
        tuple(_identity(network, buckets)),
        METRICS,
        buckets,
        most_matches,
        tuple(others),
    )
    matched = free("matches", taken)
    read = ", ".join(f"`{one.name}`" for one in network.queries[:-1])
    comment = f"Matches of {last.text}, as soon as they are sure, with {read} in the same operator."
    yield Let(matched, on_stream, comment)
    yield from results(matches_of(last, matched), last.residual, taken, name, as_stream=False)


def _comment(network: StreamNetwork, one: StreamedQuery) -> str:
    whose = f"`{one.name}`" if one.name else "the last query"
    if network.buckets is None:
        return f"What {whose} reads. All events are in one bucket: {network.reason}."
    return f"What {whose} reads, by the key that all queries share."


def _identity(network: StreamNetwork, buckets: int) -> Iterator[tuple[str, str]]:
    """What the state depends on."""
    for one, node in zip(network.queries, network.program.nodes, strict=True):
        what = f" of {one.name}" if one.name else ""
        query = one.query
        yield f"pattern{what}", str(query.pattern)
        yield f"window{what}", str(query.within)
        yield f"strategy{what}", str(query.strategy)
        yield (
            f"returned{what}",
            ", ".join(f"{output.expression} AS {output.name}" for output in query.outputs),
        )
        yield f"columns{what}", ", ".join(columns_kept(StreamPlan(one.planned, node.program)))
    yield "buckets", str(1 if network.buckets is None else buckets)
