"""Events with imprecise times: sorted by the earliest of them, and one program that weighs what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.emit.kernel_relations import CHUNK, columns, kernel_schema
from neelc.emit.literals import identifier
from neelc.emit.relations import Aggregate, Extend, Join, Kernel, Let, Sorted
from neelc.emit.results import Matches, results
from neelc.emit.scans import Sources, Wanted, free, scans
from neelc.ir.logical import Match
from neelc.plan.kernel_plan import KernelPlan
from neelc.plan.plan_to_program import may_be_absent
from neelc.runtime.imprecise_program import CHUNK as NUMBER
from neelc.runtime.imprecise_program import CHUNK_WIDTH, Imprecise
from neelc.runtime.weighing import Weigh


def imprecise_relations(
    query: Match,
    planned: KernelPlan,
    sources: Sources,
    taken: set[str],
    name: str,
    as_stream: bool,
    chunked: bool = False,
    most_matches: int | None = None,
) -> Iterator[Let]:
    """The relations of a query over imprecise times. Time is cut into chunks if it is `chunked`, or without a
    key; that requires a window."""
    lets, program = _ordered(query, planned, sources, taken, chunked)
    yield from lets
    found = free("matches", taken)
    schema = f"{kernel_schema(planned)}, confidence DOUBLE"
    comment = f"Matches of {planned.text}, with their confidence by dynamic programming."
    yield Let(found, Kernel(lets[-1].name, program, schema, most_matches), comment)
    matches = Matches(
        found,
        query,
        planned.plan.unit,
        planned.struct,
        planned.field,
        frozenset(may_be_absent(planned.plan.steps)),
        planned.inner,
        weighed=True,
    )
    yield from results(matches, planned.residual, taken, name, as_stream)


def _ordered(
    query: Match, planned: KernelPlan, sources: Sources, taken: set[str], chunked: bool
) -> tuple[list[Let], Imprecise]:
    """The relations up to the events that the kernel reads, and the program that reads them in this order."""
    program = planned.program
    assert isinstance(program, Imprecise)
    roles, unit = planned.plan.roles, planned.plan.unit
    is_cut = (chunked or not program.keys) and program.reach is not None
    wanted = Wanted(query, unit, roles, planned.columns, planned.keys, lasting=True, computed=is_cut)
    lets = list(scans(wanted, sources, taken))
    if is_cut:
        program = replace(program, keys=(*program.keys, CHUNK_WIDTH, NUMBER))
        lets += _chunks(program, wanted, lets[-1].name, taken)
    keys = tuple(map(identifier, program.keys))
    together = "The events of a key" if keys else "All events"
    together = "The events of a chunk" if program.is_cut else together
    order = Sorted(lets[-1].name, keys, (*keys, "start"))
    lets.append(Let(free("ordered", taken), order, f"{together} together, by their earliest time."))
    return lets, program


def _chunks(program: Imprecise, wanted: Wanted, events: str, taken: set[str]) -> Iterator[Let]:
    """Events in each chunk of time that they concern. None is shorter than the widest range of times: so no
    event is in more than a few."""
    assert program.reach is not None
    widest = free("widest", taken)
    width = f"greatest({CHUNK * max(1, program.reach)}L, max(`end` - start))"
    yield Let(
        widest,
        Aggregate(events, (), (("max(`end` - start)", "span"), (width, CHUNK_WIDTH))),
        "How imprecise the times are at most.",
    )
    joined = free("with_width", taken)
    items = (
        *((identifier(column, "e"), column) for column in columns(wanted)),
        ("w.span", "span"),
        (f"w.{CHUNK_WIDTH}", CHUNK_WIDTH),
    )
    yield Let(joined, Join((events, "e"), (widest, "w"), "TRUE", "INNER", items))
    why = "No key" if program.keys == (CHUNK_WIDTH, NUMBER) else "Few keys have most of the events"
    belongs = "a match belongs to the chunk in which the first of its events has its latest time"
    yield Let(
        free("chunked", taken),
        Extend(joined, ((_numbers(program), NUMBER),)),
        f"{why}: time is cut into chunks, and {belongs}.",
    )


def _numbers(program: Imprecise) -> str:
    """The chunks that an event is needed in. What may spoil a match can be before its latest times by as much
    as times are imprecise, and if the pattern looks back, by a window more."""
    steps = [step for step in program.steps if isinstance(step, Weigh)]
    later = f" + span{f' + {program.reach}L' if program.looks_back else ''}" if steps[-1].negations else ""
    first, last = _floor(f"(start - {program.reach}L)"), _floor(f"(`end`{later})")
    return f"explode(sequence({first}, {last}))"


def _floor(text: str) -> str:
    """Division that rounds down, below zero too, by a column."""
    return f"({text} - pmod({text}, {CHUNK_WIDTH})) DIV {CHUNK_WIDTH}"
