"""Aggregates over matches that are counted: a kernel gives parts of them, Spark adds the parts up."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.emit.expressions import sql
from neelc.emit.kernel_relations import ordered_events
from neelc.emit.literals import alias, identifier, literal, spark_type
from neelc.emit.relations import Aggregate, Items, Kernel, Let, Select
from neelc.emit.results import Matches
from neelc.emit.scans import Sources, free
from neelc.ir.expr import Expr
from neelc.ir.logical import Match
from neelc.ir.typeof import type_of
from neelc.ir.types import BIGINT, DOUBLE, STRING
from neelc.plan.aggregate_plan import AggregatePlan, sentence
from neelc.plan.aggregate_tallies import Tallied
from neelc.plan.event_columns import NUMBER
from neelc.plan.kernel_outputs import START
from neelc.plan.kernel_plan import KernelPlan
from neelc.runtime.failures import too_large_to_sum, too_many_to_count
from neelc.runtime.kernels.counting_chain import AVERAGE, COUNT, SUM
from neelc.runtime.reference.results import is_over_matches

WHOLE = "DECIMAL(38, 0)"


def aggregate_relations(
    query: Match, found: AggregatePlan, sources: Sources, taken: set[str], name: str, chunked: bool = False
) -> Iterator[Let]:
    """The relations of a query whose matches are counted."""
    planned = found.planned
    lets, program = ordered_events(query, planned, sources, taken, chunked)
    yield from lets
    parts = free("parts", taken)
    comment = f"Of {planned.text}, {sentence(program)}"
    yield Let(parts, Kernel(lets[-1].name, program, _schema(found)), comment)
    matches = Matches(parts, query, planned.plan.unit, planned.struct, planned.field, frozenset())
    groups: Items = tuple(
        (matches.sql(output.expression), f"group_{number}")
        for number, output in enumerate(query.outputs)
        if not is_over_matches(output.expression)
    )
    added = free("added", taken)
    items: Items = tuple((_united(one), one.tally.name) for one in found.tallied)
    yield Let(added, Aggregate(parts, groups, items), "The parts of each group, added up.")
    columns: dict[Expr, str] = {one.node: identifier(one.tally.name) for one in found.tallied}
    results: Items = tuple(
        (
            _result(output.expression, columns) if is_over_matches(output.expression) else f"group_{n}",
            output.name,
        )
        for n, output in enumerate(query.outputs)
    )
    yield Let(name, Select(added, results), "RETURN: aggregates over all matches.")


def _result(expression: Expr, columns: dict[Expr, str]) -> str:
    return sql(expression, columns.get)


def _united(one: Tallied) -> str:
    """What is to be done with the parts of a tally."""
    name = identifier(one.tally.name)
    if one.tally.wide:
        return _wide(one, name)
    match one.tally.function:
        case "count":
            total = f"coalesce(sum({name}), 0)"
            raised = f"raise_error({literal(too_many_to_count(), STRING)})"
            return f"CAST(CASE WHEN {total} > 9223372036854775807 THEN {raised} ELSE {total} END AS BIGINT)"
        case "sum":
            # A sum that does not fit is NULL, as it is where matches are enumerated.
            return f"sum({name})" if type_of(one.node) == DOUBLE else f"try_cast(sum({name}) AS BIGINT)"
        case "avg":
            return f"sum({name}_sum) / nullif(sum({name}_count), 0)"
        case function:
            return f"{function}({name})"


def _wide(one: Tallied, name: str) -> str:
    """A count, or a sum of whole numbers, of 38 digits."""
    failure, nothing = (
        (too_many_to_count(wide=True), "0") if one.tally.function == COUNT else (too_large_to_sum(), "NULL")
    )
    raised = f"raise_error({literal(failure, STRING)})"
    total = f"try_sum({name})"
    return (
        f"CASE WHEN {total} IS NOT NULL THEN {total} WHEN count({name}) > 0 THEN {raised} ELSE {nothing} END"
    )


def _schema(found: AggregatePlan) -> str:
    """The columns that the kernel gives back, as Spark writes a schema."""
    types = _types(found.planned)
    columns = [
        f"{alias(output.name)} STRUCT<"
        + ", ".join(f"{alias(field)}: {types[column]}" for field, column in output.fields)
        + ">"
        for output in found.program.outputs
    ]
    return ", ".join([*columns, *(text for one in found.tallied for text in _columns(one))])


def _types(planned: KernelPlan) -> dict[str, str]:
    types = {c.name: spark_type(BIGINT if c.form == NUMBER else c.type) for c in planned.columns}
    return {**types, START: spark_type(BIGINT)}


def _columns(one: Tallied) -> Iterator[str]:
    name = one.tally.name
    if one.tally.function == AVERAGE:
        yield from (f"{name}_sum DOUBLE", f"{name}_count DOUBLE")
    elif one.tally.function == COUNT or (one.tally.function == SUM and type_of(one.node) != DOUBLE):
        yield f"{name} {WHOLE}"
    else:
        yield f"{name} {spark_type(DOUBLE if one.tally.function == SUM else one.type)}"
