"""A query answered through the bridge, in process: its events come in batches, as Spark would bring them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import pyarrow as pa
from in_kernel import planned_for

from neelc.ir import program as ir
from neelc.ir.program import Match
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.runtime.kernels.pattern_kernel import kernel
from neelc.runtime.program import PatternProgram
from neelc.runtime.reference import Result, Tables, read
from neelc.runtime.reference.model import Binding, ReferenceEvent
from neelc.runtime.reference.results import Answer, result, rows_of
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.tools.cases.streaming import pattern
from neelc.tools.cases.streaming.pattern import (
    as_spark_has_it,
    binding_of,
    complete,
    event_columns,
    functions_of,
    key,
    role_masks,
)

BATCHES = (1, 2, 3, 7)


@dataclass(frozen=True)
class Way:
    """How the events come: rows in a batch, rows that are searched at once, the chunk of time, if any, in
    quarters of a window, the grain of time that they are sorted by, if any, and what ties are broken by."""

    batch: int
    rows_at_once: int
    chunk: int | None
    grain: int | None
    seed: int


def way(seed: int) -> Way:
    """One of many ways."""
    chance = Random(seed)
    chunk = chance.choice([None, None, 1, 2, 5, 32])
    batch, rows_at_once = chance.choice(BATCHES), chance.choice([1, 2, 5, 1000])
    return Way(batch, rows_at_once, chunk, chance.choice([None, 1, 4, 1 << 40]), seed)


def bridge_matches(
    match: Match, tables: Tables, way: Way, planned: KernelPlan | None = None
) -> list[Binding]:
    """The bindings that come back; `UnsupportedQuery` if the kernel cannot find them."""
    return matches_among(match, list(read(match, tables, {})), planned or planned_for(match), way)


def run(program: ir.Program, tables: Tables, way: Way) -> Result:
    """The result of a script's last query; `UnsupportedQuery` if the kernel does not execute all of them."""
    known: dict[str, Answer] = {}
    units: dict[str, str] = {}
    for query in program.queries:
        if not isinstance(query.query, Match):
            raise UnsupportedQuery("SELECT")
        match = query.match
        unit = unit_of(match, units)
        rows = rows_of(match, list(_weighed(match, list(read(match, tables, known)), unit, way)))
        if query.name is not None:
            known[query.name], units[query.name] = Answer(match, rows), unit
    return result(match, rows)


def _weighed(match: Match, events: list[ReferenceEvent], unit: str, way: Way) -> Iterator[WeighedMatch]:
    """The matches, each with its confidence."""
    if match.is_imprecise:
        from in_imprecise import weighed_among

        for binding, confidence in weighed_among(match, events, way):
            yield WeighedMatch(binding, Fraction(confidence))
        return
    planned = kernel_plan(match, partition_keys(match), unit)
    for binding in matches_among(match, events, planned, way):
        yield WeighedMatch(binding, Fraction(1))


def matches_among(match: Match, events: list[ReferenceEvent], planned: KernelPlan, way: Way) -> list[Binding]:
    program = numbered(planned.program, way.chunk)
    if program.keys:
        program = replace(program, grain=way.grain)
    Random(way.seed).shuffle(events)
    table = as_table(planned, program, match, events)
    batches = iter(table.combine_chunks().to_batches(max_chunksize=way.batch))
    run = kernel(program, way.rows_at_once, aggregates=functions_of(match))
    found = [row for batch in run(batches) for row in batch.to_pylist()]
    return complete(planned, [binding_of(program, row, events) for row in found])


def numbered(program: PatternProgram, chunk: int | None) -> PatternProgram:
    """The program, with the numbers of events as its result; cut into chunks if time can be cut."""
    program = pattern.numbered(program)
    if chunk is None or program.reach is None or program.kept is not None:
        return program
    width = max(1, program.reach * chunk // 4)
    return replace(program, keys=(*program.keys, "chunk"), chunk=width)


def as_table(
    planned: KernelPlan, program: PatternProgram, match: Match, events: Sequence[ReferenceEvent]
) -> pa.Table:
    """The rows in the order that Spark brings them in: by key, chunk and start, or by a hash of key and
    chunk, and the tick that they start in."""
    unit = LENGTHS[planned.plan.unit]
    keys = [as_spark_has_it(key(planned, match, event)) for event in events]
    masks = role_masks(planned, match, events)
    rows: list[tuple[object, int, int, int]] = sorted(
        (repr(keys[number]), chunk, event.start // unit, number)
        for number, event in enumerate(events)
        if masks[number] or program.everything
        for chunk in chunks(program, event.start // unit)
    )
    if (grain := program.grain) is not None:
        rows.sort(key=lambda row: (len(str(row[0])) % 2, row[1] % 3, row[2] // grain, row[3]))
    columns = event_columns(planned, program, match, events, masks, [number for *_, number in rows])
    return pa.table({**columns, "chunk": pa.array([row[1] for row in rows], pa.int64())})


def chunks(program: PatternProgram, start: int) -> Sequence[int]:
    """The chunks that an event is needed in."""
    if program.chunk is None or program.reach is None:
        return (0,)
    last = start + program.reach if program.looks_back else start
    return range((start - program.reach) // program.chunk, last // program.chunk + 1)
