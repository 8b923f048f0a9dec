"""A temporal pattern matcher of the event algebra as relations: events and what they meet, their order, the
matches, their measures."""

from __future__ import annotations

from neelc.algebra.plan.sequential import without_spans
from neelc.algebra.plan.temporal import TemporalPlan
from neelc.algebra.rules.rule import place_of
from neelc.engines.spark.correlations import EventRelation, RelationBuilder, named
from neelc.engines.spark.relations import Kernel, SelectColumns
from neelc.engines.spark.results import ListValues, over_list
from neelc.engines.spark.sequential import MOMENT, EventWriter, ordered_events
from neelc.ir.algebra import TemporalMatcher, instant
from neelc.ir.expressions import AtRow, Expr, OverRows
from neelc.ir.types import BIGINT, LENGTHS
from neelc.pattern.plan.columns import NUMBER
from neelc.runtime.kernels.temporal.program import BITS, RunPart
from neelc.scalar.spark.expressions import sql
from neelc.scalar.spark.trees import identifier, spark_type
from neelc.scalar.type_of import type_of


def emit_temporal_matcher(
    emitting: RelationBuilder, operator: TemporalMatcher, plan: TemporalPlan, below: EventRelation
) -> EventRelation:
    """The matches among events, each valid for the instant at which it is decided, and all that it tells."""
    writer = EventWriter(plan.columns, plan.program.keys, below)
    events = emitting.let(
        "judged",
        SelectColumns(below.relation, (*writer.items(), (writer.bits(plan.bits), BITS))),
        "What each event meets by itself, as bits.",
    )
    ordered = ordered_events(emitting, events, plan.program.keys, "an interval may begin at any time")
    kernel = Kernel(ordered, plan.program, schema(plan), emitting.most_matches)
    matches = emitting.let("matches", kernel, f"Matches of {operator.clause.text}")
    names, lasting = named(operator.payload), instant(operator.clock) // LENGTHS[emitting.unit]
    measures = [
        (_measure(measure.expression, plan), names[place_of(attribute)])
        for measure, attribute in zip(operator.clause.measures, operator.payload, strict=True)
    ]
    times = ((MOMENT, "start"), (f"{MOMENT} + {lasting}L", "end"))
    result = emitting.let("matched", SelectColumns(matches, (*measures, *times)), "MEASURES")
    return EventRelation(result, names, lasting)


def _measure(expression: Expr, plan: TemporalPlan) -> str:
    """A measure as text over the outputs of the program."""

    def taken(node: Expr) -> str | None:
        if not isinstance(node, AtRow | OverRows):
            return None
        known = without_spans(node)
        column = identifier(plan.outputs[known])
        if isinstance(node, AtRow):
            return column
        if node.argument is None:
            written = f"CAST(array_size({column}) AS BIGINT)"
        else:
            values = ListValues(column, type_of(node.argument))
            written = over_list(node.name, values, node.type, node.distinct)
        # A symbol that the match does not have.
        return f"IF({column} IS NULL, NULL, {written})"

    return sql(expression, taken)


def schema(plan: TemporalPlan) -> str:
    """The columns of the kernel's result."""
    fields = []
    for one in plan.program.outputs:
        column = plan.column(one.column)
        type = spark_type(BIGINT if column.form == NUMBER else column.type)
        fields.append(f"{one.name} {f'ARRAY<{type}>' if one.part is RunPart.ALL else type}")
    return ", ".join((*fields, f"{MOMENT} BIGINT"))
