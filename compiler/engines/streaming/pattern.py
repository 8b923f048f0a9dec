"""PATTERN over streams without end: Spark reads the events that can play a role and groups them into
buckets; one stateful operator finds the matches; Spark computes what is returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from neelc.engines.spark.kernel import (
    complete_tally,
    grouped_items,
    kernel_schema,
    tallied_results,
    tally_schema,
)
from neelc.engines.spark.relations import Extend, KernelOnStream, Let, SelectColumns, Watermark
from neelc.engines.spark.results import MatchRelation, listed_results, results
from neelc.engines.spark.scans import OBSERVED, ScanRequest, StreamRelations, free, scans
from neelc.ir.expressions import Attribute, EventTime, MatchProperty
from neelc.ir.program import Clock, Match, Stream
from neelc.ir.types import LENGTHS, TIMESTAMP
from neelc.pattern.plan.counting.plan import AggregatePlan, sentence
from neelc.pattern.plan.emission import StreamPlan, group_items
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.pattern.plan.plan_to_program import may_be_absent
from neelc.runtime.program import MATCHES, ImpreciseProgram, StreamedGroups, StreamedPattern
from neelc.scalar.spark.expressions import as_number
from neelc.scalar.spark.trees import identifier

METRICS = "neelc"
"""The name of what is observed of each micro-batch."""


def stream_relations(
    query: Match,
    plan: StreamPlan,
    sources: StreamRelations,
    taken: set[str],
    name: str,
    most_matches: int | None,
    buckets: int,
) -> Iterator[Let]:
    """The relations of a query over streams."""
    planned = plan.planned
    lets = list(scans(scan_request(planned, query.streams, observed=True), sources, taken))
    yield from lets
    bucketed = free("bucketed", taken)
    keys = tuple(map(identifier, plan.together))
    buckets = buckets if keys else 1
    yield Let(bucketed, Extend(lets[-1].name, ((bucket(keys, buckets), "bucket"),)), bucket_comment(keys))
    identity = tuple(state_identity(query, plan, buckets))
    found = KernelOnStream(
        bucketed,
        plan.streamed,
        match_schema(plan),
        LENGTHS[planned.plan.unit],
        identity,
        METRICS,
        buckets,
        most_matches,
    )
    if plan.counted is not None:
        yield from group_results(query, plan.counted, found, taken, name)
        return
    if plan.is_listed:
        yield from list_results(plan, found, taken, name)
        return
    matched = free("matches", taken)
    yield Let(matched, found, f"Matches of {planned.text}, as soon as they are sure.")
    yield from results(matches_of(planned, matched), planned.residual, taken, name, as_stream=False)


def scan_request(planned: KernelPlan, streams: tuple[Stream, ...], observed: bool) -> ScanRequest:
    """What is read of these streams."""
    return ScanRequest(
        replace(planned.query, streams=streams),
        planned.plan.unit,
        planned.plan.roles,
        planned.columns,
        planned.keys,
        planned.program.lasting,
        planned.program.everything,
        observed=observed,
    )


def observed_streams(
    streams: Iterable[Stream], sources: StreamRelations, taken: set[str]
) -> tuple[list[Let], StreamRelations]:
    """Streams with their events counted, for what reads them more than once. This also holds back Spark's
    optimiser: it would filter events before the watermark is computed, and where only others come, time would
    stand still."""
    lets, names = [], dict(sources.names)
    for stream in streams:
        source = names[stream.name]
        names[stream.name] = free(f"{source}_events", taken)
        items = tuple((identifier(column.name), column.name) for column in stream.columns)
        relation = SelectColumns(source, items, observed=f"{OBSERVED}{stream.name}")
        lets.append(Let(names[stream.name], relation, f"The events of {stream.name}, counted."))
    return lets, replace(sources, names=names)


def matches_of(planned: KernelPlan, name: str) -> MatchRelation:
    """What RETURN is computed from. What is distinct is found by the kernel."""
    return MatchRelation(
        name,
        replace(planned.query, distinct=False),
        planned.plan.unit,
        planned.struct,
        planned.field,
        frozenset(may_be_absent(planned.plan.steps)),
        planned.inner,
        weighed=isinstance(planned.program, ImpreciseProgram),
    )


def match_schema(plan: StreamPlan) -> str:
    """The columns of matches, or of their groups, as Spark writes them."""
    if plan.counted is not None:
        return tally_schema(plan.counted)
    schema = kernel_schema(plan.planned)
    if plan.is_listed:
        return f"{MATCHES} ARRAY<STRUCT<{schema}>>"
    return f"{schema}, confidence DOUBLE" if isinstance(plan.program, ImpreciseProgram) else schema


def list_results(plan: StreamPlan, found: KernelOnStream, taken: set[str], name: str) -> Iterator[Let]:
    """The relations from the matches of groups, which are enumerated, to the result."""
    planned = plan.planned
    groups = free("groups", taken)
    yield Let(groups, found, f"Matches of {planned.text}: those of a group, when it is complete.")
    matches = replace(matches_of(planned, groups), match=f"get({MATCHES}, 0)", listed=MATCHES)
    apart = tuple(item.expression for item in group_items(planned) if item.value is None)
    yield from listed_results(matches, planned.residual, apart, taken, name)


def group_results(
    query: Match, counted: AggregatePlan, found: KernelOnStream, taken: set[str], name: str
) -> Iterator[Let]:
    """The relations from what a kernel has counted to the result."""
    groups = free("groups", taken)
    how = sentence(counted.program)
    yield Let(groups, found, f"Of {counted.planned.text}, each group when it is complete; {how}")
    added = free("tallies", taken)
    items = tuple((complete_tally(one), one.tally.name) for one in counted.tallied)
    yield Let(added, SelectColumns(groups, (*grouped_items(query, counted, groups), *items)))
    yield tallied_results(query, counted, added, name)


def state_identity(query: Match, plan: StreamPlan, buckets: int) -> Iterator[tuple[str, str]]:
    """What the state of a query depends on: another query, or one with other columns, cannot read it. Where
    a match is one event, nothing is kept."""
    if isinstance(plan.streamed, StreamedPattern) and plan.streamed.single:
        return
    yield "pattern", str(query.pattern)
    yield "window", str(query.within or "none")
    yield "strategy", str(query.strategy)
    if query.kept is not None:
        yield "matches kept", str(query.kept)
    if isinstance(plan.streamed, StreamedGroups) or query.distinct:
        values = [one.expression for one in group_items(plan.planned) if one.value is not None]
        computed = [str(one) for one in values if not isinstance(one, REFERENCES)]
        yield "grouped by", ", ".join((*plan.together, *computed))
    if query.order_types:
        yield "then by", ", ".join(map(str, query.order_types))
    yield "columns", ", ".join(columns_kept(plan))
    yield "buckets", str(buckets)


REFERENCES = (Attribute, EventTime, MatchProperty)
"""What a group can be equal in without being computed."""

EVENT_TIME = "event_time"
"""The column of times for a stream whose own are no TIMESTAMPs."""


def declared_watermark(source: str, stream: Stream, clock: Clock | None) -> Watermark:
    """The watermark that a script declares for a stream; `source` is the relation that reads it."""
    assert stream.watermark is not None, "a watermark is declared"
    delay = _interval(stream.watermark)
    type = next((column.type for column in stream.columns if column.name == stream.start), TIMESTAMP)
    if type == TIMESTAMP:
        return Watermark(source, stream.start, delay)
    number = as_number(identifier(stream.start), type, stream.unit, "MICROSECOND", clock)
    taken = {column.name.casefold() for column in stream.columns}
    return Watermark(source, free(EVENT_TIME, taken), delay, f"timestamp_micros({number})")


def _interval(microseconds: int) -> str:
    """
    >>> _interval(10_000_000), _interval(1), _interval(0)
    ('10 seconds', '1 microseconds', '0 seconds')
    """
    whole, rest = divmod(microseconds, 1_000_000)
    return f"{microseconds} microseconds" if rest else f"{whole} seconds"


def bucket(keys: tuple[str, ...], buckets: int) -> str:
    """The bucket of an event: of all events of a key the same.

    >>> bucket(("id",), 16), bucket((), 16)
    ('CAST(pmod(xxhash64(id), 16) AS INT)', '0')
    """
    return f"CAST(pmod(xxhash64({', '.join(keys)}), {buckets}) AS INT)" if keys else "0"


def bucket_comment(keys: tuple[str, ...]) -> str:
    if not keys:
        return "No key that keeps results apart: all events are in one bucket, and one task finds them all."
    return "Events are grouped by bucket, not by key: one call finds the matches of all keys of a bucket."


def columns_kept(plan: StreamPlan) -> Iterator[str]:
    """The columns of the events that are kept, with their types."""
    types = {column.name: str(column.type) for column in plan.planned.columns}
    types |= {key.name: str(key.type) for key in plan.planned.keys}
    yield from (f"{name} {types[name]}" for name in sorted(types))
