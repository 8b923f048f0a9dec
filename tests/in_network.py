"""Scripts whose queries read each other, answered over streams in process: all queries run in one kernel, as
one operator of Spark runs them. What Spark would compute of events from outside is computed by the
reference."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from in_stream import FAR, Arrival, arrived

from neelc.ir.program import Program
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.kernel_plan import kernel_plan
from neelc.pattern.plan.stream_network import (
    StreamedQuery,
    StreamNetwork,
    common_unit,
    network_columns,
    rows_of_matches,
    stream_network,
)
from neelc.program import bind
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.kernels.network_stream import NetworkStream, arrow_type_of, projected
from neelc.runtime.program import NODE
from neelc.runtime.reference import Tables
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.model import ReferenceEvent
from neelc.runtime.streaming import (
    StreamMemory,
    StreamProgram,
    called,
    memory_from_bytes,
    memory_to_bytes,
)
from neelc.runtime.user_calls import python_values
from neelc.runtime.values.order import comparable
from neelc.source import Source
from neelc.syntax import read as parse
from neelc.tools.cases.streaming import as_spark_has_it, key, raw_values, roles


def bound_script(text: str) -> Program:
    source = Source(text)
    return bind(parse(source), source)


def planned_network(program: Program) -> StreamNetwork:
    """The network of the last query of a script; raises `UnsupportedQuery`."""
    needed = [program.queries[place] for place in program.needed([len(program.queries) - 1])]
    unit = common_unit(named.match for named in needed)
    return stream_network(
        [
            StreamedQuery(named.name, kernel_plan(named.match, partition_keys(named.match), unit))
            for named in needed
        ]
    )


@dataclass(frozen=True)
class OutsideRows:
    """What the queries of a network read from outside: for each query the rows of its events, and the place
    of each event among them."""

    tables: tuple[pa.Table, ...]
    places: tuple[Mapping[ReferenceEvent, int], ...]

    def buckets(self, columns: Sequence[Sequence[str]], count: int) -> list[OutsideRows]:
        """The rows of each bucket, by the values of columns of each query's events."""
        chosen = [
            [
                zlib.crc32(repr(row).encode()) % count
                for row in zip(*(table[n].to_pylist() for n in names), strict=True)
            ]
            for table, names in zip(self.tables, columns, strict=True)
        ]
        return [
            replace(
                self,
                places=tuple(
                    {event: place for event, place in places.items() if own[place] == bucket}
                    for places, own in zip(self.places, chosen, strict=True)
                ),
            )
            for bucket in range(count)
        ]

    def of(self, events: Sequence[ReferenceEvent]) -> list[pa.RecordBatch]:
        batches = []
        for table, places in zip(self.tables, self.places, strict=True):
            rows = pa.array([places[one] for one in events if one in places], pa.int64())
            batches += table.take(rows).combine_chunks().to_batches()
        return batches


def outside_rows(network: StreamNetwork, events: Sequence[ReferenceEvent]) -> OutsideRows:
    found = [_rows(one, events, number) for number, one in enumerate(network.queries)]
    return OutsideRows(tuple(table for table, _ in found), tuple(places for _, places in found))


def _rows(
    one: StreamedQuery, events: Sequence[ReferenceEvent], number: int
) -> tuple[pa.Table, dict[ReferenceEvent, int]]:
    names = {stream.name for stream in one.outside}
    own = [event for event in events if event.stream in names]
    planned, unit = one.planned, LENGTHS[one.planned.plan.unit]
    masks = [0] * len(own)
    for bit, (_, players) in enumerate(roles(planned, one.query, own)):
        for player in players:
            masks[player] |= 1 << bit
    read = [n for n, mask in enumerate(masks) if mask or planned.program.everything]
    columns: dict[str, list[object]] = {
        "start": [own[n].start // unit for n in read],
        "end": [own[n].end // unit for n in read],
        "roles": [masks[n] for n in read],
    }
    keys = [key(planned, one.query, event) for event in own]
    for column in planned.columns:
        values = list(raw_values(column, one.query, own))
        columns[column.name] = [values[n] for n in read]
    for place, part in enumerate(planned.keys):
        if not part.is_column:
            columns[part.name] = [as_spark_has_it(keys[n])[place] for n in read]
    arrays = {name: pa.array(columns[name], arrow_type_of(type)) for name, type in network_columns(planned)}
    table = pa.table({**arrays, NODE: pa.array([number] * len(read), pa.int32())})
    return table, {own[n]: place for place, n in enumerate(read)}


@dataclass(frozen=True)
class StreamedRows:
    """What a run over a stream gave, and the rows of the streams that were not late."""

    rows: list[tuple[object, ...]]
    tables: Tables


def outside_events(program: Program, tables: Tables) -> list[ReferenceEvent]:
    """The events of all streams. The clocks of all queries are the same here."""
    clock = program.queries[-1].match.clock
    read = {stream.name: stream for one in program.queries for stream in one.match.streams}
    return [
        event
        for stream in read.values()
        if stream.producer is None
        for event in read_events(stream, tables[stream.name], clock)
    ]


def streamed_rows(
    program: Program, tables: Tables, how: Arrival, network: StreamNetwork | None = None
) -> StreamedRows:
    """What comes out; `UnsupportedQuery` if a query cannot run over a stream."""
    network = network or planned_network(program)
    events = outside_events(program, tables)
    unit = LENGTHS[network.queries[-1].planned.plan.unit]
    late: set[ReferenceEvent] = set()
    moments = []
    for batch, now in arrived(events, how, unit):
        late |= {events[n] for n in batch if events[n].start // unit <= now}
        moments.append(([events[n] for n in batch], now))
    outside = outside_rows(network, events)
    split = [outside] if network.buckets is None else outside.buckets(network.buckets, 2)
    found = [run_network(network, bucket, [*moments, ([], FAR)]) for bucket in split]
    on_time = {
        name: [row for number, row in enumerate(several) if (name, number) not in _names(late)]
        for name, several in tables.items()
    }
    return StreamedRows([row for rows in found for _, row in rows], on_time)


def _names(events: set[ReferenceEvent]) -> set[tuple[str, int]]:
    return {(event.stream, event.row) for event in events}


def run_network(
    network: StreamNetwork, outside: OutsideRows, moments: Sequence[tuple[Sequence[ReferenceEvent], int]]
) -> list[tuple[int, tuple[object, ...]]]:
    """The rows of the last query, each with the watermark of the call that gave it: `moments` are
    micro-batches, each with the watermark at which it comes. As Spark does, a call without new rows is made
    only if the one before has asked for it."""
    stream = StreamProgram(NetworkStream(network.program))
    shown = rows_of_matches(network.queries[-1].planned)
    memory, wake = memory_to_bytes(StreamMemory(), FIRST_TIME), None
    found: list[tuple[int, tuple[object, ...]]] = []
    for batch, now in moments:
        kept, before = memory_from_bytes(memory)
        arriving = outside.of(batch)
        if not arriving and (wake is None or now < wake):
            continue
        call = called(stream, kept, before, arriving, now)
        memory, wake = memory_to_bytes(call.step.memory, call.watermark), call.step.wake
        for result in call.step.results:
            of_call = projected(shown, result)
            columns = [python_values(of_call[column.name]) for column in shown.columns[:-2]]
            found += [(now, row) for row in zip(*columns, strict=True)]
    assert memory_from_bytes(memory)[0].is_empty, "what no match can need is forgotten"
    return found


def counted(rows: Sequence[tuple[object, ...]]) -> Counter[object]:
    return Counter(comparable(row) for row in rows)
