"""Queries over imprecise times answered by the kernel, in process: through the bridge, as Spark would bring
the events, and compared with the enumeration of worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
from in_bridge import Way

from neelc.ir.program import Match
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.imprecise import imprecise_plan
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.kernels.confidence.kernel import imprecise
from neelc.runtime.program import CHUNK, CHUNK_WIDTH, TIME_WEIGHTS, ImpreciseProgram
from neelc.runtime.reference import Tables, read
from neelc.runtime.reference.model import Binding, ReferenceEvent, bound_events
from neelc.tools.cases.streaming.pattern import (
    NUMBER,
    as_spark_has_it,
    bound,
    complete,
    functions_of,
    key,
    numbered_output,
    value_columns,
)
from neelc.tools.cases.streaming.pattern import roles as numbers_of_roles

Weighed = list[tuple[Binding, float]]


def weighed(match: Match, tables: Tables, way: Way) -> Weighed:
    """The bindings that come back, each with its confidence; `Unsupported` if they cannot be weighed."""
    return weighed_among(match, list(read(match, tables, {})), way)


def weighed_among(match: Match, events: list[ReferenceEvent], way: Way) -> Weighed:
    planned = imprecise_plan(match, partition_keys(match), unit_of(match))
    program = planned.program
    assert isinstance(program, ImpreciseProgram)
    outputs = tuple(numbered_output(output, f"v{n}") for n, output in enumerate(program.outputs))
    program = replace(program, outputs=outputs)
    if way.chunk is not None and program.reach is not None:
        program = replace(program, keys=(*program.keys, CHUNK_WIDTH, CHUNK))
    Random(way.seed).shuffle(events)
    table = as_table(planned, program, match, events, way)
    batches = iter(table.combine_chunks().to_batches(max_chunksize=way.batch))
    run = imprecise(program, way.rows_at_once, aggregates=functions_of(match))
    rows = [row for batch in run(batches) for row in batch.to_pylist()]
    found = [
        ({str(output.variable): bound(output, row[output.name], events) for output in program.outputs}, row)
        for row in rows
    ]
    kept = {id(binding) for binding in complete(planned, [binding for binding, _ in found])}
    for binding, row in found:
        check_times(binding, row, planned)
    return [(binding, row["confidence"]) for binding, row in found if id(binding) in kept]


def check_times(binding: Binding, row: dict[str, Any], planned: KernelPlan) -> None:
    """The start and the end of a match are the least and the greatest time of its events."""
    events = list(bound_events(binding))
    unit = LENGTHS[planned.plan.unit]
    assert row["match_start"] == min(event.start for event in events) // unit
    assert row["match_end"] == max(event.end for event in events) // unit


def as_table(
    planned: KernelPlan, program: ImpreciseProgram, match: Match, events: Sequence[ReferenceEvent], way: Way
) -> pa.Table:
    """The rows by key, chunk and earliest time."""
    unit = LENGTHS[planned.plan.unit]
    keys = [as_spark_has_it(key(planned, match, event)) for event in events]
    masks = [0] * len(events)
    for bit, (_, numbers) in enumerate(numbers_of_roles(planned, match, events)):
        for number in numbers:
            masks[number] |= 1 << bit
    times = [(event.start // unit, event.end // unit) for event in events]
    read = [bool(mask) or program.everything for mask in masks]
    span = max((hi - lo for (lo, hi), is_read in zip(times, read, strict=True) if is_read), default=0)
    width = max(1, (program.reach or 0) * (way.chunk or 0) // 4, span)
    rows = sorted(
        (repr(keys[number]), chunk, times[number][0], number)
        for number in range(len(events))
        if read[number]
        for chunk in chunks(program, *times[number], width, span)
    )
    places = [number for *_, number in rows]
    columns = {
        "start": pa.array([times[n][0] for n in places], pa.int64()),
        "end": pa.array([times[n][1] for n in places], pa.int64()),
        "roles": pa.array([masks[n] for n in places], pa.int32()),
        CHUNK: pa.array([row[1] for row in rows], pa.int64()),
        CHUNK_WIDTH: pa.array([width] * len(rows), pa.int64()),
        NUMBER: pa.array(places, pa.int64()),
        **dict(value_columns(planned, match, events, places)),
        **{name: shape_column(name, match, events, places) for name in program.shapes},
    }
    for place, column in enumerate(planned.keys):
        if not column.is_column or program.everything:  # events of other types count, and have a key
            columns[column.name] = pa.array([repr(keys[n][place]) for n in places], pa.string())
    return pa.table(columns)


def shape_column(
    name: str, match: Match, events: Sequence[ReferenceEvent], places: Sequence[int]
) -> pa.Array:
    """How likely times are, as the relations have it."""
    streams = {stream.name: stream for stream in match.streams}
    values = []
    for event in (events[place] for place in places):
        stream = streams[event.stream]
        column = stream.weights if name == TIME_WEIGHTS else stream.shape_column
        values.append(event.attributes[column] if column else None if name == TIME_WEIGHTS else stream.shape)
    return pa.array(values, pa.list_(pa.float64()) if name == TIME_WEIGHTS else pa.string())


def chunks(program: ImpreciseProgram, lo: int, hi: int, width: int, span: int) -> Iterator[int]:
    """The chunks that an event is needed in, as the relations have them."""
    if not program.is_cut or program.reach is None:
        return iter((0,))
    later = span + (program.reach if program.looks_back else 0) if program.has_checks else 0
    return iter(range((lo - program.reach) // width, (hi + later) // width + 1))
