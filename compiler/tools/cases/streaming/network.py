"""SELECT, and queries that read queries, over a case's events as streams, in process: one kernel runs all of
them, as one operator of Spark's does. What Spark computes of events from outside is computed by the reference
interpreter."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from neelc.engines.streaming.network_plan import (
    Keys,
    PatternNode,
    QueryNode,
    RecognizeNode,
    SelectNode,
    StreamNetwork,
)
from neelc.ir import algebra as a
from neelc.ir.node import walk
from neelc.ir.program import Clock
from neelc.ir.types import LENGTHS
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.stream_network import network_columns
from neelc.runtime.kernels.list_aggregates import arrow_type_of
from neelc.runtime.kernels.network_stream import NetworkStream, projected
from neelc.runtime.kernels.snapshots.program import SOURCE
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import NODE, StreamedPattern
from neelc.runtime.reference import Result, Tables
from neelc.runtime.reference.algebra import events as select_events
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import ValidPayload, read_events, with_derived
from neelc.runtime.reference.model import ReferenceEvent, moment
from neelc.runtime.reference.results import valid_of
from neelc.runtime.user_calls import python_values
from neelc.runtime.values.order import comparable
from neelc.scalar.type_of import type_of, value_type
from neelc.tools.cases.streaming.arrival import (
    FARTHEST,
    MicroBatching,
    StreamedBucket,
    StreamResult,
    declared_delay,
)
from neelc.tools.cases.streaming.pattern import as_spark_has_it, key, raw_values, role_masks
from neelc.tools.cases.streaming.rows import as_bag, clause_column, mask

BUCKETS = 2


@dataclass(frozen=True, eq=False)
class NetworkCase:
    """The queries of a network, and the events that they read from outside. The reference finds
    `expected` for the last of them; `decided` are those of its rows that rows to come cannot change, if it is
    a MATCH_RECOGNIZE."""

    network: StreamNetwork
    events: Sequence[ReferenceEvent]
    outside: OutsideRows
    expected: Result
    decided: Result | None = None

    @classmethod
    def of(
        cls, network: StreamNetwork, tables: Tables, expected: Result, decided: Result | None = None
    ) -> NetworkCase:
        last = network.queries[-1]
        program = last.program()
        if isinstance(program, StreamedPattern) and program.events is not None:
            raise UnsupportedQuery("a window of EVENTS over the results of other queries")
        events = outside_events(network, tables)
        run = cls(network, events, outside_rows(network, events, tables), expected, decided)
        if any(abs(start) >= FARTHEST for start in run.starts):
            raise UnsupportedQuery("its times are too far away for a watermark")
        return run

    @property
    def unit(self) -> int:
        return LENGTHS[self.network.queries[-1].unit]

    @property
    def starts(self) -> list[int]:
        return [event.start // self.unit for event in self.events]

    def result(self, way: MicroBatching) -> StreamResult:
        """The rows of the last query; and those that it must have, if some have no end: of these a stream is
        never sure."""
        streams = (stream for one in self.network.queries for stream in one.outside)
        batches = way.batches(self.starts, declared_delay(streams, self.unit))
        moments = [([self.events[n] for n in batch], now) for batch, now in batches]
        found = []
        for bucket in self.outside.split(self.network, BUCKETS):
            found += [row for _, row in network_rows(self.network, bucket, moments)]
        expected, last = self.expected, self.network.queries[-1]
        if not isinstance(last, SelectNode):
            return StreamResult(way, replace(expected, rows=found), self._sure(found))
        found = [(*row[:-2], *(self._moment(time) for time in row[-2:])) for row in found]
        ended = [row for row in expected.rows if row[-1] is not None]
        is_whole = len(ended) == len(expected.rows)
        sure = None if is_whole else replace(expected, rows=ended)
        if self.decided is not None:  # the last intervals of a stream have no end
            sure = None if as_bag(self.decided) == as_bag(expected) else self.decided
        return StreamResult(way, replace(expected, rows=found), sure)

    def _sure(self, found: list[tuple[object, ...]]) -> Result | None:
        """What must have come of a MATCH_RECOGNIZE if some of its matches are not decided."""
        if self.decided is None or as_bag(self.decided) == as_bag(self.expected):
            return None
        rows = replace(self.expected, rows=found)
        is_fine = as_bag(self.decided) <= as_bag(rows) <= as_bag(self.expected)
        return rows if is_fine else self.decided

    def _moment(self, number: object) -> object:
        assert isinstance(number, int), "times are numbers"
        return moment(number * self.unit, self.network.queries[-1].clock)


def network_rows(
    network: StreamNetwork, outside: OutsideRows, moments: Sequence[tuple[Sequence[ReferenceEvent], int]]
) -> Iterator[tuple[int, tuple[object, ...]]]:
    """The rows of the last query, each with the watermark of the call that gave it; their times, if it is a
    SELECT, as numbers. `moments` are micro-batches, each with the watermark at which it comes."""
    last = network.queries[-1]
    shown = last.rows(())
    bucket = StreamedBucket(NetworkStream(network.program))
    for batch, now in moments:
        for result in bucket.call(outside.of(batch), now):
            of_call = projected(shown, result)
            columns = [python_values(of_call[column.name]) for column in shown.columns]
            if isinstance(last, SelectNode):
                columns = [*columns[:-1], _ends(columns[-1], last)]
            elif isinstance(last, PatternNode):
                columns = columns[: len(last.query.outputs)]
            yield from ((now, row) for row in zip(*columns, strict=True))
    assert bucket.memory.is_empty or any(map(counts_events, network.queries)), (
        "what nothing needs is forgotten"
    )


def _ends(lasts: list[object], one: SelectNode) -> list[object]:
    """The first instants at which results are no longer valid."""
    return [last + one.instant for last in lasts if isinstance(last, int)]


def counts_events(one: QueryNode) -> bool:
    """Whether something is kept until other events come, however long that takes."""
    if isinstance(one, PatternNode):
        program = one.program()
        return isinstance(program, StreamedPattern) and program.window is None and not program.single
    if isinstance(one, RecognizeNode):
        is_endless = one.clause.plan.program.reach is None
        return bool(is_endless or one.program().behind or one.program().remembers_keys)
    return isinstance(one, SelectNode) and any(map(is_counted, walk(one.query.root)))


def is_counted(node: object) -> bool:
    """Whether an operator counts events, and not time."""
    if isinstance(node, a.PatternMatcher) and node.clause.looks_back:
        return True
    if isinstance(node, a.TemporalMatcher):
        return True  # an interval ends with an event
    if isinstance(node, a.PatternMatcher):
        return node.clause.within is None or node.clause.within.unit == "EVENT"
    return isinstance(node, a.CountWindow)


# Events from outside, with what Spark computes of each.


def outside_events(network: StreamNetwork, tables: Tables) -> list[ReferenceEvent]:
    """The events of all streams, each once."""
    read = {stream.name: (stream, one.clock) for one in network.queries for stream in one.outside}
    return [
        event
        for stream, clock in read.values()
        for event in with_derived(stream, read_events(stream, tables[stream.name], clock), tables)
    ]


@dataclass(frozen=True)
class OutsideRows:
    """What the queries of a network read from outside: for each input of a query the rows of its events, and
    the places among them that each event has. `inputs` are the numbers of the query and of its input."""

    inputs: tuple[tuple[int, int], ...]
    tables: tuple[pa.Table, ...]
    places: tuple[Mapping[ReferenceEvent, Sequence[int]], ...]

    def split(self, network: StreamNetwork, count: int) -> list[OutsideRows]:
        """The rows of each bucket; all are in one, if there is no key that all queries have."""
        return [self] if network.buckets is None else self._by_keys(network.buckets, count)

    def _by_keys(self, keys: Sequence[Keys], count: int) -> list[OutsideRows]:
        chosen = []
        for (query, input), table in zip(self.inputs, self.tables, strict=True):
            columns = [table[name].to_pylist() for name in keys[query][input]]
            rows = zip(*columns, strict=True)
            chosen.append(
                [zlib.crc32(repr(comparable(as_spark_has_it(row))).encode()) % count for row in rows]
            )
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


QueryRows = tuple[pa.Table, dict[ReferenceEvent, Sequence[int]]]


def outside_rows(network: StreamNetwork, events: Sequence[ReferenceEvent], relations: Tables) -> OutsideRows:
    inputs, found = [], []
    for number, one in enumerate(network.queries):
        if isinstance(one, PatternNode):
            inputs.append((number, 0))
            found.append(_rows(one, events, number))
        elif isinstance(one, RecognizeNode) and one.outside:
            inputs.append((number, 0))
            found.append(_clause_rows(one, events, number))
        elif isinstance(one, SelectNode):
            for input, given in enumerate(one.streamed.inputs):
                if given.read is None:
                    inputs.append((number, input))
                    found.append(_select_rows(one, input, events, number, relations))
    return OutsideRows(tuple(inputs), tuple(table for table, _ in found), tuple(p for _, p in found))


def _select_rows(
    one: SelectNode, input: int, events: Sequence[ReferenceEvent], number: int, relations: Tables
) -> QueryRows:
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


def _clause_rows(one: RecognizeNode, events: Sequence[ReferenceEvent], number: int) -> QueryRows:
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


def _rows(one: PatternNode, events: Sequence[ReferenceEvent], number: int) -> QueryRows:
    names = {stream.name for stream in one.outside}
    own = [event for event in events if event.stream in names]
    planned, unit = one.planned, LENGTHS[one.planned.plan.unit]
    masks = role_masks(planned, one.query, own)
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
    for place, name in enumerate(planned.program.order):
        columns[name] = [own[n].order[place] for n in read]
    for place, part in enumerate(planned.keys):
        if not part.is_column:
            columns[part.name] = [as_spark_has_it(keys[n])[place] for n in read]
    arrays = {name: pa.array(columns[name], arrow_type_of(type)) for name, type in network_columns(planned)}
    table = pa.table({**arrays, NODE: pa.array([number] * len(read), pa.int32())})
    return table, {own[n]: [place] for place, n in enumerate(read)}
