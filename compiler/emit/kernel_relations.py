"""The kernel strategy: events of a key together and in order, and one program that walks over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from neelc.emit.literals import alias, identifier, spark_type
from neelc.emit.relations import Extend, Join, Kernel, Let, Select, Sorted, Where
from neelc.emit.results import Matches, results
from neelc.emit.scans import Sources, Wanted, free, has_role, role_bit, scans
from neelc.emit.sort_number import GRAIN, sort_number
from neelc.emit.times import floor_divided
from neelc.ir.logical import Match
from neelc.ir.types import BIGINT
from neelc.plan.event_columns import NUMBER
from neelc.plan.kernel_outputs import START
from neelc.plan.kernel_plan import Cut, KernelPlan
from neelc.plan.plan_to_program import may_be_absent
from neelc.plan.widths import LONGEST
from neelc.runtime.program import Output, Program

CHUNK = 8
"""How many windows make a chunk of time. Events near its ends are read by two chunks: about an eighth, or a
quarter where a pattern looks back."""


def kernel_relations(
    query: Match,
    planned: KernelPlan,
    sources: Sources,
    taken: set[str],
    name: str,
    as_stream: bool,
    chunked: bool = False,
    most_matches: int | None = None,
) -> Iterator[Let]:
    """The relations of a query that the kernel executes. Time is cut into chunks if it is `chunked`, or
    without a key; that requires a window of time."""
    lets, program = ordered_events(query, planned, sources, taken, chunked)
    yield from lets
    ordered = lets[-1].name
    found = free("matches", taken)
    schema = kernel_schema(planned)
    yield Let(found, Kernel(ordered, program, schema, most_matches), f"Matches of {planned.text}")
    matches = Matches(
        found,
        query,
        planned.plan.unit,
        planned.struct,
        planned.field,
        frozenset(may_be_absent(planned.plan.steps)),
        planned.inner,
    )
    yield from results(matches, planned.residual, taken, name, as_stream)


def ordered_events(
    query: Match, planned: KernelPlan, sources: Sources, taken: set[str], chunked: bool = False
) -> tuple[list[Let], Program]:
    """The relations up to the events that a kernel reads, and the program that reads them in this order."""
    program = planned.program
    if (chunked or not program.keys) and program.reach is not None:
        chunk = min(CHUNK * max(1, program.reach), LONGEST)
        program = replace(program, keys=(*program.keys, "chunk"), chunk=chunk)
    elif program.keys and (program.reach is None or program.reach >= GRAIN):
        program = replace(program, grain=GRAIN)
    wanted = Wanted(
        query,
        planned.plan.unit,
        planned.plan.roles,
        planned.columns,
        planned.keys,
        program.lasting,
        program.everything,
        program.chunk is not None,
    )
    lets = list(scans(wanted, sources, taken))
    all_events = events = lets[-1].name
    for cut in planned.cuts:
        lets += _cut(cut, planned, all_events, events, wanted, taken)
        events = lets[-1].name
    if program.chunk is not None:
        cut_up = free("chunked", taken)
        lets.append(Let(cut_up, Extend(events, ((_chunks(program), "chunk"),)), _chunk_comment(program)))
        events = cut_up
    ordered = free("ordered", taken)
    keys = tuple(map(identifier, program.keys))
    lets.append(Let(ordered, Sorted(events, keys, _order(program, keys)), _order_comment(program)))
    return lets, program


def _cut(
    cut: Cut, planned: KernelPlan, all_events: str, events: str, wanted: Wanted, taken: set[str]
) -> Iterator[Let]:
    """Events without those that could only be in a match with a value that is not there."""
    values, column = free("values", taken), identifier(cut.inner_column)
    is_inner = has_role(planned.plan.roles, cut.inner)
    yield Let(
        values,
        Select(all_events, ((column, "value"),), f"{is_inner} AND {column} IS NOT NULL", distinct=True),
        f"The values of {column} that can be met.",
    )
    kept, bit = free("kept", taken), role_bit(planned.plan.roles, cut.outer)
    names = [name for name in columns(wanted) if name != "roles"]
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


def columns(wanted: Wanted) -> tuple[str, ...]:
    """The columns of events."""
    keys = (key.name for key in wanted.keys if not key.is_column)
    times = ("start", "end") if wanted.lasting else ("start",)
    return (*times, "roles", *keys, *(column.name for column in wanted.columns))


def _chunks(program: Program) -> str:
    """The chunks of time that an event is needed in: where a match may start that it can concern."""
    assert program.chunk is not None and program.reach is not None
    last = f"start + {program.reach}L" if program.looks_back else "start"
    first = floor_divided(f"(start - {program.reach}L)", program.chunk)
    return f"explode(sequence({first}, {floor_divided(f'({last})', program.chunk)}))"


def _chunk_comment(program: Program) -> str:
    why = "No key" if program.keys == ("chunk",) else "Few keys have most of the events"
    return f"{why}: time is cut into chunks, and each match belongs to the chunk that it starts in."


def _order(program: Program, keys: tuple[str, ...]) -> tuple[str, ...]:
    if program.grain is None:
        return (*keys, "start")
    return (sort_number(keys, "start"),)


def _order_comment(program: Program) -> str:
    if program.chunk is not None:
        return "The events of a chunk together, in the order of time."
    if program.grain is not None:
        return "The events of a key together, nearly in the order of time: sorting one number is fastest."
    if program.keys:
        return "The events of a key together, in the order of time."
    return "All events together, in the order of time."


def kernel_schema(planned: KernelPlan) -> str:
    """The columns that the kernel gives back, as Spark writes a schema."""
    types = {
        column.name: spark_type(BIGINT if column.form == NUMBER else column.type)
        for column in planned.columns
    }
    types[START] = spark_type(BIGINT)
    named = (output for output in planned.program.outputs if output.name)
    columns = [f"{alias(output.name)} {_type(output, types)}" for output in named]
    return ", ".join([*columns, "match_start BIGINT", "match_end BIGINT"])


def _type(output: Output, types: Mapping[str, str]) -> str:
    fields = [f"{alias(field)}: {types[column]}" for field, column in output.fields]
    fields += [f"{alias(inner.name)}: {_type(inner, types)}" for inner in output.inner if inner.name]
    struct = f"STRUCT<{', '.join(fields)}>"
    return f"ARRAY<{struct}>" if output.listed else struct
