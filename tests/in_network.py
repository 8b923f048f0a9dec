"""Scripts whose queries read each other, answered over streams in process: all queries run in one kernel, as
one operator of Spark runs them. What Spark would compute of events from outside is computed by the
reference."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from in_rows import column as clause_column
from in_rows import mask
from in_stream import FAR, Arrival, arrived

from neelc.algebra.plan.streamed import with_selects_inlined
from neelc.arguments import Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.reference import executable
from neelc.engines.streaming.network_plan import (
    Keys,
    PatternNode,
    QueryNode,
    RecognizeNode,
    SelectNode,
    StreamNetwork,
    common_unit,
    query_node,
    stream_network,
)
from neelc.ir import algebra as a
from neelc.ir.bound_rows import HostQuery
from neelc.ir.node import walk
from neelc.ir.program import Clock, Match, Program
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import kernel_plan
from neelc.pattern.plan.stream_network import network_columns, rows_of_matches
from neelc.pipeline import plan_queries
from neelc.program import bind
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.kernels.network_stream import NetworkStream, arrow_type_of, projected
from neelc.runtime.kernels.snapshots.program import SOURCE
from neelc.runtime.program import NODE
from neelc.runtime.reference import Tables
from neelc.runtime.reference.algebra import events as select_events
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import ValidPayload, read_events
from neelc.runtime.reference.model import ReferenceEvent
from neelc.runtime.reference.results import valid_of
from neelc.runtime.streaming import (
    StreamMemory,
    StreamProgram,
    called,
    memory_from_bytes,
    memory_to_bytes,
)
from neelc.runtime.user_calls import python_values
from neelc.runtime.values.order import comparable
from neelc.scalar.type_of import type_of, value_type
from neelc.source import Source
from neelc.syntax import read as parse
from neelc.tools.cases.streaming import as_spark_has_it, key, raw_values, roles


def bound_script(text: str) -> Program:
    source = Source(text)
    program = bind(parse(source), source)
    return executable(program, range(len(program.queries)), source)


def planned_network(program: Program) -> StreamNetwork:
    """The network of the last query of a script; raises `UnsupportedQuery`. A PATTERN is as it is written,
    another query as the pipeline plans it."""
    program = with_selects_inlined(program)
    needed = [program.queries[place] for place in program.needed([len(program.queries) - 1])]
    unit = common_unit(named.query for named in needed)
    planned = plan_queries([(named, True) for named in needed], Options(streaming=True), Statistics())
    nodes: list[QueryNode] = []
    for one in planned:
        query = one.named.query
        if isinstance(query, Match):
            nodes.append(PatternNode(one.named.name, kernel_plan(query, partition_keys(query), unit)))
            continue
        if isinstance(one.plan, UnsupportedQuery):
            raise one.plan
        nodes.append(query_node(one.named.name, one.plan))
    return stream_network(nodes)


@dataclass(frozen=True)
class OutsideRows:
    """What the queries of a network read from outside: for each input of a query the rows of its events, and
    the places among them that each event has. `inputs` are the numbers of the query and of its input."""

    inputs: tuple[tuple[int, int], ...]
    tables: tuple[pa.Table, ...]
    places: tuple[Mapping[ReferenceEvent, Sequence[int]], ...]

    def buckets(self, keys: Sequence[Keys], count: int) -> list[OutsideRows]:
        """The rows of each bucket, by the values of columns of each input's events."""
        chosen = []
        for (query, input), table in zip(self.inputs, self.tables, strict=True):
            columns = [table[name].to_pylist() for name in keys[query][input]]
            rows = zip(*columns, strict=True)
            chosen.append([zlib.crc32(repr(comparable(row)).encode()) % count for row in rows])
        return [
            replace(
                self,
                places=tuple(
                    {event: [row for row in rows if own[row] == bucket] for event, rows in places.items()}
                    for places, own in zip(self.places, chosen, strict=True)
                ),
            )
            for bucket in range(count)
        ]

    def of(self, events: Sequence[ReferenceEvent]) -> list[pa.RecordBatch]:
        batches = []
        for table, places in zip(self.tables, self.places, strict=True):
            rows = pa.array([row for one in events for row in places.get(one, ())], pa.int64())
            batches += table.take(rows).combine_chunks().to_batches()
        return [batch for batch in batches if batch.num_rows]


Found = tuple[pa.Table, dict[ReferenceEvent, Sequence[int]]]


def outside_rows(
    network: StreamNetwork, events: Sequence[ReferenceEvent], relations: Tables | None = None
) -> OutsideRows:
    inputs, found = [], []
    for number, one in enumerate(network.queries):
        if isinstance(one, PatternNode):
            inputs.append((number, 0))
            found.append(_rows(one, events, number))
        elif isinstance(one, RecognizeNode):
            inputs.append((number, 0))
            found.append(_clause_rows(one, events, number))
        elif isinstance(one, SelectNode):
            for input, given in enumerate(one.streamed.inputs):
                if given.read is None:
                    inputs.append((number, input))
                    found.append(_select_rows(one, input, events, number, relations or {}))
    return OutsideRows(tuple(inputs), tuple(table for table, _ in found), tuple(p for _, p in found))


def _select_rows(
    one: SelectNode, input: int, events: Sequence[ReferenceEvent], number: int, relations: Tables
) -> Found:
    """What Spark makes of each event for an input of a SELECT."""
    given, unit = one.streamed.inputs[input], LENGTHS[one.unit]
    (source,) = (node for node in walk(given.operator) if isinstance(node, a.StreamSource))
    rows: list[dict[str, object]] = []
    places: dict[ReferenceEvent, Sequence[int]] = {}
    for event in events:
        if event.stream != source.stream.name:
            continue
        payload = ValidPayload({source.variable: event}, event.start, event.end + a.instant(source.clock))
        valid = _of_one_event(given.operator, payload, relations, one.clock)
        places[event] = range(len(rows), len(rows) + len(valid))
        for row in valid:
            values = {name: evaluate(expression, row.context) for expression, name in given.columns}
            rows.append({**values, "start": int(row.start) // unit, "end": int(row.end) // unit})
    types = {name: value_type(type_of(expression)) for expression, name in given.columns}
    types |= {"start": "bigint", "end": "bigint"}
    arrays = {
        name: pa.array([row[name] for row in rows], arrow_type_of(type)) for name, type in types.items()
    }
    if len(one.streamed.inputs) > 1:
        arrays[SOURCE] = pa.array([input] * len(rows), pa.int32())
    return pa.table({**arrays, NODE: pa.array([number] * len(rows), pa.int32())}), places


def _clause_rows(one: RecognizeNode, events: Sequence[ReferenceEvent], number: int) -> Found:
    """What Spark computes of each row for a clause."""
    own = [event for event in events if event.stream == one.clause.bound.reads]
    rows, plan = [event.attributes for event in own], one.clause.plan
    arrays = {NODE: pa.array([number] * len(own), pa.int32())}
    arrays["start"] = pa.array([event.start // LENGTHS[one.unit] for event in own], pa.int64())
    for name in one.program().columns:
        if name == "bits":
            arrays[name] = pa.array([mask(plan, [row], 0) for row in rows], pa.int64())
        elif name != "start":
            arrays[name] = clause_column(plan, name, rows)
    return pa.table(arrays), {event: [place] for place, event in enumerate(own)}


def _of_one_event(
    operator: a.Operator, event: ValidPayload, relations: Tables, clock: Clock
) -> list[ValidPayload]:
    def read(source: a.StreamSource | a.RelationSource) -> list[ValidPayload]:
        return [event] if isinstance(source, a.StreamSource) else valid_of(source, relations, {}, clock)

    return [one for one in select_events(operator, read, clock) if one.lasts]


def _rows(one: PatternNode, events: Sequence[ReferenceEvent], number: int) -> Found:
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
    return table, {own[n]: [place] for place, n in enumerate(read)}


@dataclass(frozen=True)
class StreamedRows:
    """What a run over a stream gave, and the rows of the streams that were not late."""

    rows: list[tuple[object, ...]]
    tables: Tables


def outside_events(program: Program, tables: Tables) -> list[ReferenceEvent]:
    """The events of all streams. The clocks of all queries are the same here."""
    clock = next(one.query.clock for one in program.queries if not isinstance(one.query, HostQuery))
    read = {stream.name: stream for one in program.queries for stream in one.query.streams}
    return [
        event
        for stream in read.values()
        if stream.producer is None and not stream.is_relation
        for event in read_events(stream, tables[stream.name], clock)
    ]


def streamed_rows(
    program: Program, tables: Tables, how: Arrival, network: StreamNetwork | None = None
) -> StreamedRows:
    """What comes out; `UnsupportedQuery` if a query cannot run over a stream."""
    network = network or planned_network(program)
    events = outside_events(program, tables)
    unit = LENGTHS[network.queries[-1].unit]
    late: set[ReferenceEvent] = set()
    moments = []
    for batch, now in arrived(events, how, unit):
        late |= {events[n] for n in batch if events[n].start // unit <= now}
        moments.append(([events[n] for n in batch], now))
    outside = outside_rows(network, events, tables)
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
    last = network.queries[-1]
    shown = rows_of_matches(last.planned) if isinstance(last, PatternNode) else last.rows(last.streams[0])
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
            columns = [python_values(of_call[column.name]) for column in shown.columns]
            columns = (
                [*columns[:-1], _ends(columns[-1], last)] if isinstance(last, SelectNode) else columns[:-2]
            )
            found += [(now, row) for row in zip(*columns, strict=True)]
    left = memory_from_bytes(memory)[0]
    assert left.is_empty or any(map(_counts_events, network.queries)), "what no match can need is forgotten"
    return found


def _ends(lasts: list[object], one: SelectNode) -> list[object]:
    """The first instants at which results are no longer valid."""
    return [last + one.instant for last in lasts if isinstance(last, int)]


def _counts_events(one: QueryNode) -> bool:
    """Whether something is kept until other events come, however long that takes."""
    if isinstance(one, PatternNode):
        return one.program().window is None
    if isinstance(one, RecognizeNode):
        return bool(one.program().behind or one.program().remembers_keys)
    return isinstance(one, SelectNode) and any(
        isinstance(node, a.CountWindow) for node in walk(one.query.root)
    )


def counted(rows: Sequence[tuple[object, ...]]) -> Counter[object]:
    return Counter(comparable(row) for row in rows)
