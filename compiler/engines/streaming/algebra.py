"""SELECT over streams without end: Spark computes what depends on one event, one stateful operator runs the
network of windows, correlators and aggregators, and Spark computes what depends on one of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neelc.algebra.plan.aggregates import AggregatorPlan
from neelc.algebra.plan.network import NetworkPlan
from neelc.algebra.plan.streamed import StreamedNetwork, kept_of
from neelc.algebra.rules.rule import place_of
from neelc.engines.spark.algebra import (
    KernelAggregates,
    NetworkWriter,
    aggregator_result,
    algebra_relations,
    called_functions,
    given_type,
    normal_key,
    result_of,
)
from neelc.engines.spark.correlations import EventRelation, RelationBuilder
from neelc.engines.spark.relations import Items, KernelOnStream, Let, SelectColumns
from neelc.engines.spark.scans import StreamRelations
from neelc.engines.streaming.pattern import METRICS, bucket, observed_streams
from neelc.ir import algebra as a
from neelc.ir.types import LENGTHS
from neelc.runtime.kernels.snapshots.program import SOURCE
from neelc.scalar.spark.trees import alias, spark_type
from neelc.scalar.type_of import type_of


def select_relations(
    plan: NetworkPlan, streamed: StreamedNetwork, sources: StreamRelations, taken: set[str], name: str
) -> Iterator[Let]:
    """The relations of a SELECT over streams."""
    if streamed.core is None:
        yield from algebra_relations(plan, sources, taken, name, as_stream=False)
        return
    timed = (stream for stream in plan.query.streams if not stream.is_relation)
    lets, observed = observed_streams(timed, sources, taken)
    yield from lets
    emitting = RelationBuilder(plan.unit, plan.query.clock, observed, taken)
    keys = {number: one.keys for number, one in enumerate(streamed.inputs) if streamed.is_keyed}
    first, *others = select_inputs(NetworkWriter(emitting, plan), streamed, keys, plan.buckets)
    assert streamed.kernel is not None, "there is something with a state"
    relation = KernelOnStream(
        first,
        streamed.kernel,
        select_schema(streamed),
        LENGTHS[plan.unit],
        tuple(select_identity(plan, streamed, "")),
        METRICS,
        plan.buckets,
        plan.most_matches,
        tuple(others),
    )
    yield from select_results(emitting, plan, streamed, relation, name)


def select_inputs(
    writer: NetworkWriter,
    streamed: StreamedNetwork,
    keys: Mapping[int, tuple[str, ...]],
    buckets: int,
    items: Items = (),
) -> Iterator[str]:
    """The relations that the kernel reads from outside, each with its bucket and some more `items`; `keys`
    are columns of each."""
    for number, given in enumerate(streamed.inputs):
        if given.read is None:
            yield _input(writer, streamed, number, keys.get(number, ()), buckets, items)


def select_results(
    emitting: RelationBuilder,
    plan: NetworkPlan,
    streamed: StreamedNetwork,
    relation: KernelOnStream,
    name: str,
) -> Iterator[Let]:
    """The relations of a SELECT from what its kernel gives on."""
    assert streamed.core is not None, "there is something with a state"
    core = _core(emitting, streamed, streamed.core, relation)
    stage = NetworkWriter(emitting, plan, {streamed.core: core}).stage(plan.root, plan.query.root.payload)
    yield from emitting.lets
    yield result_of(plan, stage, name, as_stream=False)


def _core(
    emitting: RelationBuilder, streamed: StreamedNetwork, core: a.Operator, relation: KernelOnStream
) -> EventRelation:
    """The rows of the operator that the kernel gives."""
    comment = "What is valid at every instant, as soon as it is known until when. "
    comment += f"Kept are {', '.join(kept_of(core))}."
    found = emitting.let("at_instants", relation, comment)
    if streamed.aggregation is None:
        return EventRelation(found, streamed.columns)
    assert isinstance(core, a.Aggregator), "an aggregation is that of an aggregator"
    columns = _columns(core, streamed, streamed.aggregation)
    called = called_functions(emitting, columns, found)
    return aggregator_result(emitting, core, EventRelation(found, {}), columns, called)


def _columns(aggregator: a.Aggregator, streamed: StreamedNetwork, plan: AggregatorPlan) -> KernelAggregates:
    keys = tuple((streamed.groups[one.expression], one.type) for one in aggregator.groups)
    return KernelAggregates(keys, (), plan.folded)


def _input(
    writer: NetworkWriter,
    streamed: StreamedNetwork,
    number: int,
    columns: tuple[str, ...],
    buckets: int,
    more: Items,
) -> str:
    """What the kernel reads of one source."""
    given = streamed.inputs[number]
    stage = writer.stage(given.operator, [one for one, _ in given.columns])
    types = {name: type_of(one) for one, name in given.columns}
    texts = {name: stage.sql(one) for one, name in given.columns}
    keys = tuple(normal_key(texts[name], types[name]) for name in columns)
    items: Items = (
        *((text, name) for name, text in texts.items()),
        ("start", "start"),
        ("`end`", "end"),
        *([(str(number), SOURCE)] if len(streamed.inputs) > 1 else []),
        *more,
        (bucket(keys, buckets), "bucket"),
    )
    return writer.emitting.let("bucketed", SelectColumns(stage.relation, items), _comment(columns))


def _comment(keys: tuple[str, ...]) -> str:
    if not keys:
        return "No key that all operators have: all events are in one bucket, and one task reads them."
    return f"Events are grouped by bucket, a hash of {', '.join(keys)}: one call sees all keys of it."


def select_schema(streamed: StreamedNetwork) -> str:
    """The columns that the kernel gives, with their types."""
    return ", ".join(f"{alias(name)} {type}" for name, type in _schema(streamed))


def _schema(streamed: StreamedNetwork) -> Iterator[tuple[str, str]]:
    """The columns that the kernel gives, with their types."""
    assert streamed.kernel is not None and streamed.core is not None
    types = {streamed.columns[place_of(one)]: spark_type(type_of(one)) for one in streamed.core.payload
             if place_of(one) in streamed.columns}  # fmt: skip
    types |= {name: spark_type(type_of(one)) for one, name in streamed.groups.items()}
    if streamed.aggregation is not None:
        types |= {fold.name: given_type(one, fold) for one, fold in streamed.aggregation.folded.items()}
    yield from ((name, types[name]) for name in streamed.kernel.columns)
    yield from (("start", "BIGINT"), ("end", "BIGINT"))


def select_identity(plan: NetworkPlan, streamed: StreamedNetwork, whose: str) -> Iterator[tuple[str, str]]:
    """What the state of a SELECT depends on; `whose` it is, if it is one of several queries."""
    yield f"network{whose}", str(streamed.core)
    for number, given in enumerate(streamed.inputs, 1):
        columns = (f"{name} {type_of(one)}" for one, name in given.columns)
        yield f"columns of input {number}{whose}", ", ".join(columns)
    if not whose:
        yield "buckets", str(plan.buckets if streamed.is_keyed else 1)
