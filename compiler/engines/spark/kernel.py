"""The kernel strategy: events of a key together and in order, and one program that walks over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from neelc.engines.spark.relations import (
    AggregateRows,
    Extend,
    Items,
    Join,
    Kernel,
    Let,
    SelectColumns,
    Sorted,
    Where,
)
from neelc.engines.spark.results import MatchRelation, results
from neelc.engines.spark.scans import ScanRequest, StreamRelations, free, has_role, role_bit, scans
from neelc.ir.expressions import Expr
from neelc.ir.program import Match
from neelc.ir.types import BIGINT, DOUBLE, STRING
from neelc.pattern.plan.columns import NUMBER, EventColumn, order_names
from neelc.pattern.plan.counting.plan import AggregatePlan, TalliedAggregate, sentence
from neelc.pattern.plan.kernel_plan import START, KernelPlan, RoleCut
from neelc.pattern.plan.plan_to_program import may_be_absent
from neelc.pattern.plan.strategies import WINDOWS
from neelc.runtime.failures import too_large_to_sum, too_many_to_count
from neelc.runtime.kernels.counting.chain import AVERAGE, COUNT, SUM
from neelc.runtime.program import CHUNK as CHUNK_NUMBER
from neelc.runtime.program import CHUNK_WIDTH, ImpreciseProgram, PatternProgram, VariableOutput, Weigh
from neelc.runtime.reference.results import is_over_matches
from neelc.scalar.spark.expressions import GRAIN, floor_divided, sort_number, sql
from neelc.scalar.spark.trees import alias, identifier, literal, spark_type
from neelc.scalar.type_of import type_of


def kernel_relations(
    query: Match,
    planned: KernelPlan,
    sources: StreamRelations,
    taken: set[str],
    name: str,
    as_stream: bool,
    most_matches: int | None = None,
) -> Iterator[Let]:
    """The relations of a query that the kernel executes."""
    weighed = isinstance(planned.program, ImpreciseProgram)
    lets, program = (_ordered if weighed else ordered_events)(query, planned, sources, taken)
    yield from lets
    matched = free("matches", taken)
    schema = f"{kernel_schema(planned)}{', confidence DOUBLE' if weighed else ''}"
    how = f", with their confidence{_weighed_by(planned.program)}." if weighed else ""
    comment = f"Matches of {planned.text}{how}"
    yield Let(matched, Kernel(lets[-1].name, program, schema, most_matches), comment)
    matches = MatchRelation(
        matched,
        query,
        planned.plan.unit,
        planned.struct,
        planned.field,
        frozenset(may_be_absent(planned.plan.steps)),
        planned.inner,
        weighed=weighed,
    )
    yield from results(matches, planned.residual, taken, name, as_stream)


def _weighed_by(program: PatternProgram) -> str:
    return " by dynamic programming" if isinstance(program.steps[-1], Weigh) else ""


def ordered_events(
    query: Match, planned: KernelPlan, sources: StreamRelations, taken: set[str]
) -> tuple[list[Let], PatternProgram]:
    """The relations up to the events that a kernel reads, and the program that reads them in this order."""
    program = planned.program
    if program.chunk is None and program.keys and (program.reach is None or program.reach >= GRAIN):
        program = replace(program, grain=GRAIN)
    request = ScanRequest(
        query,
        planned.plan.unit,
        planned.plan.roles,
        planned.columns,
        planned.keys,
        program.lasting,
        program.everything,
        program.chunk is not None,
    )
    lets = list(scans(request, sources, taken))
    all_events = events = lets[-1].name
    for cut in planned.cuts:
        lets += _cut(cut, planned, all_events, events, request, taken)
        events = lets[-1].name
    lets += in_kernel_order(events, program, taken)
    return lets, program


def in_kernel_order(events: str, program: PatternProgram, taken: set[str]) -> Iterator[Let]:
    """The relations that put events in the order in which a program reads them."""
    if program.chunk is not None:
        cut_up = free("chunked", taken)
        yield Let(cut_up, Extend(events, ((_chunks(program), "chunk"),)), _chunk_comment(program))
        events = cut_up
    keys = tuple(map(identifier, program.keys))
    order = Sorted(events, keys, _order(program, keys))
    yield Let(free("ordered", taken), order, _order_comment(program))


def _cut(
    cut: RoleCut, planned: KernelPlan, all_events: str, events: str, request: ScanRequest, taken: set[str]
) -> Iterator[Let]:
    """Events without those that could only be in a match with a value that is not there."""
    values, column = free("values", taken), identifier(cut.inner_column)
    is_inner = has_role(planned.plan.roles, cut.inner)
    yield Let(
        values,
        SelectColumns(
            all_events, ((column, "value"),), f"{is_inner} AND {column} IS NOT NULL", distinct=True
        ),
        f"The values of {column} that can be met.",
    )
    kept, bit = free("kept", taken), role_bit(planned.plan.roles, cut.outer)
    names = [name for name in columns(request) if name != "roles"]
    roles = f"IF(v.value IS NULL, e.roles & ~{bit}, e.roles)"
    on = f"{identifier(cut.outer_column, 'e')} = v.value"
    items = (*((identifier(name, "e"), name) for name in names), (roles, "roles"))
    joined = free("looked_up", taken)
    yield Let(
        joined,
        Join((events, "e"), (values, "v"), on, "LEFT OUTER", items),
        "Events with other values play no role.",
    )
    yield Let(kept, Where(joined, "roles <> 0"))


def columns(request: ScanRequest) -> tuple[str, ...]:
    """The columns of events."""
    keys = (key.name for key in request.keys if not key.is_column)
    times = ("start", "end") if request.lasting else ("start",)
    order = order_names(request.query)
    names = (*times, *request.shapes, *order, "roles", *keys)
    return (*names, *(column.name for column in request.columns))


def _chunks(program: PatternProgram) -> str:
    """The chunks of time that an event is needed in: where a match may start that it can concern."""
    assert program.chunk is not None and program.reach is not None
    last = f"start + {program.reach}L" if program.looks_back else "start"
    first = floor_divided(f"(start - {program.reach}L)", program.chunk)
    return f"explode(sequence({first}, {floor_divided(f'({last})', program.chunk)}))"


def _chunk_comment(program: PatternProgram) -> str:
    why = "No key" if program.keys == ("chunk",) else "Few keys have most of the events"
    return f"{why}: time is cut into chunks, and each match belongs to the chunk that it starts in."


def _order(program: PatternProgram, keys: tuple[str, ...]) -> tuple[str, ...]:
    if program.grain is None:
        return (*keys, "start")
    return (sort_number(keys, "start"),)


def _order_comment(program: PatternProgram) -> str:
    if program.chunk is not None:
        return "The events of a chunk together, in the order of time."
    if program.grain is not None:
        return "The events of a key together, nearly in the order of time: sorting one number is fastest."
    if program.keys:
        return "The events of a key together, in the order of time."
    return "All events together, in the order of time."


def kernel_schema(planned: KernelPlan) -> str:
    """The columns that the kernel gives back, as Spark writes a schema."""
    types = column_types(planned.columns)
    named = (output for output in planned.program.outputs if output.name)
    columns = [f"{alias(output.name)} {output_type(output, types)}" for output in named]
    return ", ".join([*columns, "match_start BIGINT", "match_end BIGINT"])


def column_types(columns: Iterable[EventColumn]) -> dict[str, str]:
    """The types of columns of events, as Spark writes them."""
    types = {c.name: spark_type(BIGINT if c.form == NUMBER else c.type) for c in columns}
    return {**types, START: spark_type(BIGINT)}


def output_type(output: VariableOutput, types: Mapping[str, str]) -> str:
    """The type of a variable's column."""
    fields = [f"{alias(field)}: {types[column]}" for field, column in output.fields]
    fields += [f"{alias(inner.name)}: {output_type(inner, types)}" for inner in output.inner if inner.name]
    struct = f"STRUCT<{', '.join(fields)}>"
    return f"ARRAY<{struct}>" if output.listed else struct


# Aggregates over matches that are counted: a kernel gives parts of them, Spark adds the parts up.

WHOLE = "DECIMAL(38, 0)"


def aggregate_relations(
    query: Match, plan: AggregatePlan, sources: StreamRelations, taken: set[str], name: str
) -> Iterator[Let]:
    """The relations of a query whose matches are counted."""
    planned = plan.planned
    lets, program = ordered_events(query, planned, sources, taken)
    yield from lets
    parts = free("parts", taken)
    comment = f"Of {planned.text}, {sentence(program)}"
    yield Let(parts, Kernel(lets[-1].name, program, tally_schema(plan)), comment)
    added = free("added", taken)
    items: Items = tuple((_united(one), one.tally.name) for one in plan.tallied)
    yield Let(
        added,
        AggregateRows(parts, grouped_items(query, plan, parts), items),
        "The parts of each group, added up.",
    )
    yield tallied_results(query, plan, added, name)


def grouped_items(query: Match, plan: AggregatePlan, parts: str) -> Items:
    """What matches are grouped by, computed of their `parts`."""
    planned = plan.planned
    matches = MatchRelation(parts, query, planned.plan.unit, planned.struct, planned.field, frozenset())
    return tuple(
        (matches.sql(output.expression), f"group_{number}")
        for number, output in enumerate(query.outputs)
        if not is_over_matches(output.expression)
    )


def tallied_results(query: Match, plan: AggregatePlan, added: str, name: str) -> Let:
    """The result, computed of complete tallies."""
    columns: dict[Expr, str] = {one.node: identifier(one.tally.name) for one in plan.tallied}
    results: Items = tuple(
        (
            _result(output.expression, columns) if is_over_matches(output.expression) else f"group_{n}",
            output.name,
        )
        for n, output in enumerate(query.outputs)
    )
    return Let(name, SelectColumns(added, results), "RETURN: aggregates over all matches.")


def _result(expression: Expr, columns: dict[Expr, str]) -> str:
    return sql(expression, columns.get)


def _united(one: TalliedAggregate) -> str:
    """What is to be done with the parts of a tally."""
    if one.tally.wide:
        return _wide(one, identifier(one.tally.name))
    return _tally(one, "coalesce(sum({}), 0)", "sum({})", f"{one.tally.function}({{}})")


def complete_tally(one: TalliedAggregate) -> str:
    """The value of a tally that has one part."""
    return identifier(one.tally.name) if one.tally.wide else _tally(one, "{}", "{}", "{}")


def _tally(one: TalliedAggregate, count: str, sum: str, other: str) -> str:
    """The value of a tally; in the texts, how parts become one."""
    name = identifier(one.tally.name)
    match one.tally.function:
        case "count":
            total = count.format(name)
            raised = f"raise_error({literal(too_many_to_count(), STRING)})"
            return f"CAST(CASE WHEN {total} > 9223372036854775807 THEN {raised} ELSE {total} END AS BIGINT)"
        case "sum":
            # A sum that does not fit is NULL, as in the enumeration of matches.
            total = sum.format(name)
            return total if type_of(one.node) == DOUBLE else f"try_cast({total} AS BIGINT)"
        case "avg":
            return f"{sum.format(f'{name}_sum')} / nullif({sum.format(f'{name}_count')}, 0)"
    return other.format(name)


def _wide(one: TalliedAggregate, name: str) -> str:
    """A count, or a sum of whole numbers, of 38 digits."""
    failure, nothing = (
        (too_many_to_count(wide=True), "0") if one.tally.function == COUNT else (too_large_to_sum(), "NULL")
    )
    raised = f"raise_error({literal(failure, STRING)})"
    total = f"try_sum({name})"
    return (
        f"CASE WHEN {total} IS NOT NULL THEN {total} WHEN count({name}) > 0 THEN {raised} ELSE {nothing} END"
    )


def tally_schema(plan: AggregatePlan) -> str:
    """The columns that the kernel gives back, as Spark writes a schema."""
    types = column_types(plan.planned.columns)
    columns = [
        f"{alias(output.name)} STRUCT<"
        + ", ".join(f"{alias(field)}: {types[column]}" for field, column in output.fields)
        + ">"
        for output in plan.program.outputs
    ]
    return ", ".join([*columns, *(text for one in plan.tallied for text in _columns(one))])


def _columns(one: TalliedAggregate) -> Iterator[str]:
    name = one.tally.name
    if one.tally.function == AVERAGE:
        yield from (f"{name}_sum DOUBLE", f"{name}_count DOUBLE")
    elif one.tally.function == COUNT or (one.tally.function == SUM and type_of(one.node) != DOUBLE):
        yield f"{name} {WHOLE}"
    else:
        yield f"{name} {spark_type(DOUBLE if one.tally.function == SUM else one.type)}"


# Events with imprecise times: sorted by the earliest of them, and one program that weighs what it finds.


def _ordered(
    query: Match, planned: KernelPlan, sources: StreamRelations, taken: set[str]
) -> tuple[list[Let], ImpreciseProgram]:
    """The relations up to the events that the kernel reads, and the program that reads them in this order."""
    program = planned.program
    assert isinstance(program, ImpreciseProgram)
    roles, unit = planned.plan.roles, planned.plan.unit
    is_cut = program.is_cut
    request = ScanRequest(
        query,
        unit,
        roles,
        planned.columns,
        planned.keys,
        lasting=True,
        everything=program.everything,
        computed=is_cut,
        shapes=program.shapes,
    )
    lets = list(scans(request, sources, taken))
    if is_cut:
        lets += _imprecise_chunks(program, request, lets[-1].name, taken)
    keys = tuple(map(identifier, program.keys))
    together = "The events of a key" if keys else "All events"
    together = "The events of a chunk" if program.is_cut else together
    order = Sorted(lets[-1].name, keys, (*keys, "start"))
    lets.append(Let(free("ordered", taken), order, f"{together} together, by their earliest time."))
    return lets, program


def _imprecise_chunks(
    program: ImpreciseProgram, request: ScanRequest, events: str, taken: set[str]
) -> Iterator[Let]:
    """Events in each chunk of time that they concern. None is shorter than the widest range of times: so no
    event is in more than a few."""
    assert program.reach is not None
    widest = free("widest", taken)
    width = f"greatest({WINDOWS * max(1, program.reach)}L, max(`end` - start))"
    yield Let(
        widest,
        AggregateRows(events, (), (("max(`end` - start)", "span"), (width, CHUNK_WIDTH))),
        "How imprecise the times are at most.",
    )
    joined = free("with_width", taken)
    items = (
        *((identifier(column, "e"), column) for column in columns(request)),
        ("w.span", "span"),
        (f"w.{CHUNK_WIDTH}", CHUNK_WIDTH),
    )
    yield Let(joined, Join((events, "e"), (widest, "w"), "TRUE", "INNER", items))
    why = "No key" if program.keys == (CHUNK_WIDTH, CHUNK_NUMBER) else "Few keys have most of the events"
    belongs = "a match belongs to the chunk in which the first of its events has its latest time"
    yield Let(
        free("chunked", taken),
        Extend(joined, ((_numbers(program), CHUNK_NUMBER),)),
        f"{why}: time is cut into chunks, and {belongs}.",
    )


def _numbers(program: ImpreciseProgram) -> str:
    """The chunks that an event is needed in. What may spoil a match can be before its latest times by as much
    as times are imprecise, and if the pattern looks back, by a window more."""
    later = f" + span{f' + {program.reach}L' if program.looks_back else ''}" if program.has_checks else ""
    first, last = _floor(f"(start - {program.reach}L)"), _floor(f"(`end`{later})")
    return f"explode(sequence({first}, {last}))"


def _floor(text: str) -> str:
    """Division that rounds down, below zero too, by a column."""
    return f"({text} - pmod({text}, {CHUNK_WIDTH})) DIV {CHUNK_WIDTH}"
