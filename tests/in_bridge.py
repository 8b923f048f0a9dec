"""A query answered through the bridge, in process: its events come in batches, as Spark would bring them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
from in_kernel import complete, functions_of, key, planned_for, raw_values
from in_kernel import roles as numbers_of_roles

from neelc.ir import program as ir
from neelc.ir.program import Match
from neelc.ir.types import BIGINT, DOUBLE, INT, LENGTHS, STRING, DataType
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.runtime.coding import called_columns, condition_columns
from neelc.runtime.kernels.pattern_kernel import kernel
from neelc.runtime.program import PatternProgram, VariableOutput
from neelc.runtime.reference import Result, Tables, read
from neelc.runtime.reference.model import Binding, ReferenceEvent
from neelc.runtime.reference.results import Answer, result, rows_of
from neelc.runtime.reference.worlds import WeighedMatch

TYPES: dict[DataType, Any] = {INT: pa.int32(), BIGINT: pa.int64(), STRING: pa.string(), DOUBLE: pa.float64()}
BATCHES = (1, 2, 3, 7)
NUMBER = "event number"


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
        planned = kernel_plan(match, partition_keys(match), unit)
        bindings = matches_among(match, list(read(match, tables, known)), planned, way)
        rows = rows_of(match, [WeighedMatch(binding, Fraction(1)) for binding in bindings])
        if query.name is not None:
            known[query.name], units[query.name] = Answer(match, rows), unit
    return result(match, rows)


def matches_among(match: Match, events: list[ReferenceEvent], planned: KernelPlan, way: Way) -> list[Binding]:
    program = numbered(planned.program, way.chunk)
    if program.keys:
        program = replace(program, grain=way.grain)
    Random(way.seed).shuffle(events)
    table = as_table(planned, program, match, events)
    batches = iter(table.combine_chunks().to_batches(max_chunksize=way.batch))
    run = kernel(program, way.rows_at_once, aggregates=functions_of(match))
    found = [row for batch in run(batches) for row in batch.to_pylist()]
    bindings = [
        {str(output.variable): bound(output, row[output.name], events) for output in program.outputs}
        for row in found
    ]
    return complete(planned, bindings)


def bound(output: VariableOutput, value: Any, events: Sequence[ReferenceEvent]) -> object:
    """What a variable is bound to, given the numbers of its events."""
    if value is None:
        return None
    if output.listed:
        one = replace(output, listed=False)
        return tuple(bound(one, element, events) for element in value)
    if output.inner:
        return {
            str(inner.variable): bound(inner, value[inner.name], events)
            for inner in sorted(output.inner, key=lambda inner: str(inner.variable))
        }
    return events[value[NUMBER]]


def numbered(program: PatternProgram, chunk: int | None) -> PatternProgram:
    """The program, with the numbers of events as its result; cut into chunks if time can be cut."""
    outputs = tuple(numbered_output(output, f"v{n}") for n, output in enumerate(program.outputs))
    if chunk is None or program.reach is None:
        return replace(program, outputs=outputs)
    width = max(1, program.reach * chunk // 4)
    return replace(program, outputs=outputs, keys=(*program.keys, "chunk"), chunk=width)


def numbered_output(output: VariableOutput, name: str) -> VariableOutput:
    fields = () if output.inner else ((NUMBER, NUMBER),)
    inner = tuple(numbered_output(one, f"w{n}") for n, one in enumerate(output.inner))
    return replace(output, name=name, fields=fields, inner=inner)


def as_table(
    planned: KernelPlan, program: PatternProgram, match: Match, events: Sequence[ReferenceEvent]
) -> pa.Table:
    """The rows in the order that Spark brings them in: by key, chunk and start, or by a hash of key and
    chunk, and the tick that they start in."""
    unit = LENGTHS[planned.plan.unit]
    keys = [as_spark_has_it(key(planned, match, event)) for event in events]
    masks = [0] * len(events)
    for bit, (_, numbers) in enumerate(numbers_of_roles(planned, match, events)):
        for number in numbers:
            masks[number] |= 1 << bit
    rows: list[tuple[object, int, int, int]] = sorted(
        (repr(keys[number]), chunk, event.start // unit, number)
        for number, event in enumerate(events)
        if masks[number] or program.everything
        for chunk in chunks(program, event.start // unit)
    )
    if (grain := program.grain) is not None:
        rows.sort(key=lambda row: (len(str(row[0])) % 2, row[1] % 3, row[2] // grain, row[3]))
    places = [number for *_, number in rows]
    columns = {
        "start": pa.array([events[n].start // unit for n in places], pa.int64()),
        "end": pa.array([events[n].end // unit for n in places], pa.int64()),
        "roles": pa.array([masks[n] for n in places], pa.int32()),
        "chunk": pa.array([row[1] for row in rows], pa.int64()),
        NUMBER: pa.array(places, pa.int64()),
        **dict(value_columns(planned, match, events, places)),
    }
    compared = condition_columns(program)
    for place, column in enumerate(planned.keys):
        if column.name in compared and program.everything:
            columns[column.name] = pa.array([keys[n][place] for n in places], TYPES.get(column.type))
        elif not column.is_column or program.everything:  # events of other types count, and have a key
            columns[column.name] = pa.array([repr(keys[n][place]) for n in places], pa.string())
    return pa.table(columns)


def as_spark_has_it(key: object) -> Any:
    """A key whose zeros have no sign."""
    if isinstance(key, tuple):
        return tuple(map(as_spark_has_it, key))
    return 0.0 if isinstance(key, float) and key == 0 else key


def value_columns(
    planned: KernelPlan, match: Match, events: Sequence[ReferenceEvent], places: Sequence[int]
) -> Iterator[tuple[str, pa.Array]]:
    program = planned.program
    needed = {*condition_columns(program), *called_columns(program), *program.keys}
    for column in planned.columns:
        if column.name not in needed:
            continue
        values = list(raw_values(column, match, events))
        kind = TYPES.get(column.type, pa.int64() if all(v is None for v in values) else None)
        yield column.name, pa.array([values[n] for n in places], kind)


def chunks(program: PatternProgram, start: int) -> Sequence[int]:
    """The chunks that an event is needed in."""
    if program.chunk is None or program.reach is None:
        return (0,)
    last = start + program.reach if program.looks_back else start
    return range((start - program.reach) // program.chunk, last // program.chunk + 1)
