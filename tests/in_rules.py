"""Many queries answered by one pass of the worker, in process: what Spark would compute for it is computed by
the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
from in_bridge import Way, as_table
from in_kernel import planned_for

from neelc.ir.program import Match
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.pattern.plan.plan import Plan
from neelc.pattern.plan.rule_keys import RulePlan
from neelc.pattern.plan.rule_sets import RuleSetPlan, rule_sets
from neelc.runtime.kernels.rules.kernel import rules_kernel
from neelc.runtime.kernels.rules.program import BITS, RuleSet, word_name
from neelc.runtime.program import PatternProgram, VariableOutput
from neelc.runtime.reference import Tables, read
from neelc.runtime.reference.model import Binding, ReferenceEvent
from neelc.tools.cases.streaming.pattern import (
    NUMBER,
    TYPES,
    as_spark_has_it,
    bound,
    complete,
    functions_of,
    key,
    numbered_output,
    raw_values,
    role_masks,
)


def rule_plans(queries: Sequence[Match]) -> list[RulePlan]:
    """The plans of queries, each as if it were alone; `UnsupportedQuery` if the kernel cannot find one's
    matches."""
    return [
        RulePlan(f"R{number}", query, planned_for(query), partition_keys(query))
        for number, query in enumerate(queries)
    ]


def rules_matches(plans: Sequence[RulePlan], tables: Tables, way: Way) -> dict[str, list[Binding]]:
    """The bindings of each rule, executed together."""
    found: dict[str, list[Binding]] = {plan.name: [] for plan in plans}
    for made in rule_sets(plans):
        found |= set_matches(made, tables, way)
    return found


def set_matches(made: RuleSetPlan, tables: Tables, way: Way) -> dict[str, list[Binding]]:
    """The bindings of each rule of a set."""
    events = list(read(made.events, tables, {}))
    Random(way.seed).shuffle(events)
    rules = numbered_rules(as_it_comes(made.program, way))
    table = set_table(made, rules, events)
    batches = iter(table.combine_chunks().to_batches(max_chunksize=way.batch))
    functions = {name: function for rule in made.plans for name, function in functions_of(rule.query).items()}
    run = rules_kernel(rules, way.rows_at_once, aggregates=functions)
    found: dict[str, list[Binding]] = {rule.name: [] for rule in made.plans}
    for row in (row for batch in run(batches) for row in batch.to_pylist()):
        rule, plan = rules.rules[row["rule"]], made.plans[row["rule"]]
        shape = row[f"shape_{rules.shapes[rule.program] + 1}"]
        outputs = zip(plan.planned.program.outputs, rules.programs[rule.program].outputs, strict=True)
        found[rule.name].append(
            {
                str(own.variable): bound(numbered_output(own, one.name), shape[one.name], events)
                for own, one in outputs
            }
        )
    return {rule.name: complete(rule.planned, found[rule.name]) for rule in made.plans}


def as_it_comes(rules: RuleSet, way: Way) -> RuleSet:
    """The set, with time cut into chunks or sorted by grains, if that can be."""
    events = replace(rules.events, chunk=None, keys=tuple(key for key in rules.events.keys if key != "chunk"))
    if way.chunk is not None and events.reach is not None:
        width = max(1, events.reach * way.chunk // 4)
        events = replace(events, keys=(*events.keys, "chunk"), chunk=width)
    return replace(rules, events=replace(events, grain=way.grain if events.keys else None))


def numbered_rules(rules: RuleSet) -> RuleSet:
    """The set, with the numbers of events as its results."""
    programs = tuple(replace(one, outputs=numbered_outputs(one.outputs)) for one in rules.programs)
    trees = tuple(replace(tree, outputs=tuple(map(numbered_outputs, tree.outputs))) for tree in rules.trees)
    shapes: dict[object, int] = {}
    for program in programs:
        shapes.setdefault(program.outputs, len(shapes))
    numbers = tuple(shapes[program.outputs] for program in programs)
    return replace(rules, programs=programs, trees=trees, shapes=numbers, columns=(*rules.columns, NUMBER))


def numbered_outputs(outputs: Sequence[VariableOutput]) -> tuple[VariableOutput, ...]:
    return tuple(numbered_output(output, f"e{place}") for place, output in enumerate(outputs))


def set_table(made: RuleSetPlan, rules: RuleSet, events: Sequence[ReferenceEvent]) -> pa.Table:
    """The rows in the order that Spark brings them in."""
    plan = Plan((), made.roles, (), made.unit)
    common = KernelPlan(plan, rules.events, made.columns, made.keys, (), made.events)
    words = [
        role_masks(
            replace(common, plan=replace(plan, roles=made.roles[first : first + BITS])), made.events, events
        )
        for first in range(0, len(made.roles), BITS)
    ]
    any_role = [int(any(masks[number] for masks in words)) for number in range(len(events))]
    table = rows_in_order(common, rules.events, made.events, events, any_role)
    places = table.column(NUMBER).to_pylist()
    for number, masks in enumerate(words):
        table = with_column(table, word_name(number), pa.array([masks[n] for n in places], pa.int64()))
    keys = [as_spark_has_it(key(common, made.events, event)) for event in events]
    key_places = {one.name: place for place, one in enumerate(made.keys)}
    for column in made.columns:
        if column.name in rules.columns:
            values = list(raw_values(column, made.events, events))
            if column.name in key_places:
                values = [one[key_places[column.name]] for one in keys]
            kind = TYPES.get(column.type, pa.int64() if all(v is None for v in values) else None)
            table = with_column(table, column.name, pa.array([values[n] for n in places], kind))
    return table


def with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    if name in table.column_names:
        table = table.drop_columns([name])
    return table.append_column(name, values)


def rows_in_order(
    common: KernelPlan,
    program: PatternProgram,
    events_of: Match,
    events: Sequence[ReferenceEvent],
    masks: Sequence[int],
) -> pa.Table:
    """As `as_table`, for events that have a role in one of the words."""
    from unittest.mock import patch

    with patch("in_bridge.role_masks", lambda *_: list(masks)):
        return as_table(common, program, events_of, events)
