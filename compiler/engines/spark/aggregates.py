"""Aggregators: a kernel that walks over the events of a group in the order of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neelc.algebra.plan.aggregates import AggregatorPlan, result_type
from neelc.algebra.rules.rule import place_of
from neelc.engines.spark.correlations import EventRelation, RelationBuilder, named
from neelc.engines.spark.relations import (
    CalledFunctions,
    Extend,
    FunctionCall,
    Items,
    Kernel,
    SelectColumns,
    Sorted,
)
from neelc.ir.algebra import Aggregator, Coalesced
from neelc.ir.expressions import Aggregate, Expr
from neelc.ir.types import DOUBLE, FLOAT, DataType
from neelc.runtime.kernels.snapshots.program import LIST, CoalesceProgram, SnapshotAggregate, SnapshotProgram
from neelc.scalar.spark.expressions import floor_divided, sql
from neelc.scalar.spark.trees import alias, identifier, spark_type
from neelc.scalar.type_of import type_of

CHUNK = 8
"""How many times the longest validity make a chunk of time: an eighth of the events is read twice."""


@dataclass(frozen=True)
class _Columns:
    """What the kernel reads: keys, arguments, and the aggregates over them by their expressions."""

    keys: tuple[tuple[str, DataType], ...]
    arguments: Items
    folded: Mapping[Expr, SnapshotAggregate]


def emit_aggregator(
    emitting: RelationBuilder,
    aggregator: Aggregator,
    planned: AggregatorPlan,
    stage: EventRelation,
    chunked: bool,
) -> EventRelation:
    """The aggregates of what is valid at an instant, for each group. Without a group, or if it is `chunked`,
    time is cut into chunks, if it is known how long events are valid."""
    keys_of_groups = tuple((f"group_{number}", one.type) for number, one in enumerate(aggregator.groups, 1))
    arguments = tuple((stage.sql(argument), name) for argument, name in planned.arguments.items())
    columns = _Columns(keys_of_groups, arguments, planned.folded)
    items: Items = (
        *((_normal(stage.sql(one.expression), one.type), name)
          for one, (name, _) in zip(aggregator.groups, columns.keys, strict=True)),
        ("start", "start"),
        ("`end`", "end"),
        *columns.arguments,
    )  # fmt: skip
    read = emitting.let("grouped", SelectColumns(stage.relation, items), "What is aggregated, and by what.")
    keys = tuple(name for name, _ in columns.keys)
    chunk = None
    if stage.length is not None and (chunked or not keys):
        chunk = CHUNK * max(1, stage.length)
        read = emitting.let("chunked", Extend(read, ((_chunks(chunk), "chunk"),)), _chunk_comment(keys))
        keys = (*keys, "chunk")
    read = emitting.let("ordered", _sorted(read, keys), _order_comment(keys))
    program = SnapshotProgram(keys, tuple(columns.folded.values()), chunk, _label(aggregator))
    types = [(name, spark_type(type)) for name, type in columns.keys]
    types += [("chunk", "BIGINT")] if chunk is not None else []
    types += [("start", "BIGINT"), ("end", "BIGINT")]
    types += [(one.name, _given_type(node, one)) for node, one in columns.folded.items()]
    schema = ", ".join(f"{alias(name)} {type}" for name, type in types)
    found = emitting.let(
        "at_instants", Kernel(read, program, schema), f"{_label(aggregator)}, at every instant."
    )
    return _result(emitting, aggregator, stage, columns, _called(emitting, columns, found))


def _given_type(node: Expr, one: SnapshotAggregate) -> str:
    """What the kernel gives: a list for a function of a user."""
    if one.function != LIST:
        return spark_type(result_type(node))
    assert isinstance(node, Aggregate) and node.argument is not None, "a list is one of values"
    return f"ARRAY<{spark_type(type_of(node.argument))}>"


def _called(emitting: RelationBuilder, columns: _Columns, source: str) -> str:
    """The relation with what functions of users give, in place of their lists."""
    calls = [
        FunctionCall(node.name, one.name, f"{one.name} of {node.name}", spark_type(result_type(node)))
        for node, one in columns.folded.items()
        if isinstance(node, Aggregate) and one.function == LIST
    ]
    if not calls:
        return source
    return emitting.let("called", CalledFunctions(source, tuple(calls)), "What users' functions give.")


def _result(
    emitting: RelationBuilder, aggregator: Aggregator, stage: EventRelation, columns: _Columns, found: str
) -> EventRelation:
    """The payload of the aggregator, computed of groups and aggregates."""
    groups = {one.expression: name for one, (name, _) in zip(aggregator.groups, columns.keys, strict=True)}

    def refs(node: Expr) -> str | None:
        if isinstance(node, Aggregate) and node in columns.folded:
            one = columns.folded[node]
            return identifier(f"{one.name} of {node.name}") if one.function == LIST else one.name
        return groups.get(node)

    names = named(aggregator.payload)
    made = (*aggregator.groups, *aggregator.aggregates)
    items: Items = (
        *((sql(one.expression, refs), name) for one, name in zip(made, names.values(), strict=True)),
        ("start", "start"),
        ("`end`", "end"),
    )
    name = emitting.let("aggregated", SelectColumns(found, items), "The payload of each result.")
    return EventRelation(name, names, stage.length)


def emit_coalesced(emitting: RelationBuilder, operator: Coalesced, stage: EventRelation) -> EventRelation:
    """The same snapshots in the longest intervals: a payload is a key here."""
    types = {place_of(one): one.type for one in operator.payload}
    keys = tuple(stage.columns.values())
    items: Items = (
        *((_normal(identifier(name), types[key]), name) for key, name in stage.columns.items()),
        ("start", "start"),
        ("`end`", "end"),
    )
    read = emitting.let("payloads", SelectColumns(stage.relation, items), "Equal payloads are equal keys.")
    read = emitting.let("ordered", _sorted(read, keys), _order_comment(keys))
    schema = ", ".join(f"{alias(name)} {spark_type(types[key])}" for key, name in stage.columns.items())
    schema += f"{', ' if schema else ''}start BIGINT, `end` BIGINT"
    program = CoalesceProgram(keys)
    name = emitting.let("longest", Kernel(read, program, schema), "Equal payloads that meet are one event.")
    return EventRelation(name, stage.columns)


def _sorted(source: str, keys: tuple[str, ...]) -> Sorted:
    names = tuple(map(identifier, keys))
    return Sorted(source, names, (*names, "start"))


def _chunks(chunk: int) -> str:
    """The chunks of time in which an event is valid."""
    first, last = floor_divided("start", chunk), floor_divided("(`end` - 1L)", chunk)
    return f"explode(sequence({first}, {last}))"


def _chunk_comment(keys: tuple[str, ...]) -> str:
    why = "Groups are cut" if keys else "No group: time is cut"
    return f"{why} into chunks, and each event stands in all chunks in which it is valid."


def _order_comment(keys: tuple[str, ...]) -> str:
    if not keys:
        return (
            "Nobody knows how long events are valid, so time is not cut; there is no group either: all "
            "together, one sequence in the order of time, on one core."
        )
    return "Those of a key together, in the order of time."


def _label(aggregator: Aggregator) -> str:
    made = ", ".join(str(one.expression) for one in (*aggregator.groups, *aggregator.aggregates))
    return f"SELECT {made}"


def _normal(text: str, type: DataType) -> str:
    """Equal numbers must be equal as keys: zero has two forms, and NaN many."""
    if type == FLOAT:
        return f"CAST(nanvl({text} + 0.0D, double('NaN')) AS FLOAT)"
    return f"nanvl({text} + 0.0D, double('NaN'))" if type == DOUBLE else text
