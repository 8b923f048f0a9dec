"""SELECT over streams compared with the reference: random networks, streams, micro-batches and orders of
arrival; what is kept is written and read between any two calls. Part of `make fuzz`.

    python -m algebra_stream_fuzz --networks 2000 --seed 1
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from zlib import crc32

import pyarrow as pa
from algebra_fuzz import TYPES, same_rows, shown, table_of
from fuzz_runner import fuzz
from generate.networks import Network, networks
from in_stream import FAR, Arrival, arrival

from neelc.algebra.cost.network import chosen_network
from neelc.algebra.plan.streamed import StreamedInput, StreamedNetwork, whole_network, with_queries
from neelc.algebra.rules.optimise import rewritten_network
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import algebra as a
from neelc.ir.node import walk
from neelc.ir.types import LENGTHS
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import network_unit
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.kernels.snapshots import program as p
from neelc.runtime.kernels.snapshots.stream import SnapshotStream
from neelc.runtime.reference import Tables
from neelc.runtime.reference.algebra import events
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import ValidPayload
from neelc.runtime.reference.results import valid_of
from neelc.runtime.reference.snapshots import differences, snapshot
from neelc.scalar.type_of import type_of
from neelc.tools.cases.streaming.arrival import StreamedBucket
from neelc.tools.cases.streaming.network import is_counted

Row = tuple[object, ...]


@dataclass(frozen=True)
class StreamedSelect:
    """A SELECT over streams, and rows for them. `times` are the columns of the streams' times."""

    query: a.Algebra
    network: StreamedNetwork
    tables: Tables

    @property
    def unit(self) -> int:
        return LENGTHS[self.network.unit]

    @property
    def streams(self) -> Mapping[str, str]:
        """The streams that are read, and the columns of their times."""
        return {one.name: one.start for one in self.query.streams if not one.is_relation}

    def reference(self, tables: Tables) -> list[Row]:
        """The rows that are defined, with their times in units; those without an end are left out: over a
        stream they are never sure."""
        return [row for row in self.all_rows(tables) if row[-1] is not None]

    def all_rows(self, tables: Tables) -> list[Row]:
        found = events(self.query.root, lambda source: self._read(source, tables), self.query.clock)
        return [
            (
                *_values(one, self.query.root),
                int(one.start) // self.unit,
                int(one.end) // self.unit if one.end < FAR * self.unit else None,
            )
            for one in found
        ]

    def _read(self, source: a.StreamSource | a.RelationSource, tables: Tables) -> list[ValidPayload]:
        return valid_of(source, tables, {}, self.query.clock)

    def input_rows(self, number: int, stream: str, event: Mapping[str, object]) -> list[dict[str, Any]]:
        """What Spark makes of one event for an input of the kernel."""
        given = self.network.inputs[number]
        empty: Tables = {name: [] for name in self.streams}
        tables = {**self.tables, **empty, stream: [event]}
        found = events(given.operator, lambda source: self._read(source, tables), self.query.clock)
        return [
            {
                **{name: evaluate(one, row.context) for one, name in given.columns},
                "start": int(row.start) // self.unit,
                "end": int(row.end) // self.unit,
                p.SOURCE: number,
            }
            for row in found
            if row.start < row.end
        ]


def _values(event: ValidPayload, root: a.Operator) -> Row:
    return tuple(evaluate(one, event.context) for one in root.payload)


def select_of(network: Network, rewritten: bool) -> StreamedSelect:
    """The last query of a script, with those that it reads in it; raises `UnsupportedQuery`."""
    done: dict[str, a.Algebra] = {}
    for bound in network.program.queries:
        query = bound.query
        assert isinstance(query, a.Algebra)
        is_last = bound is network.program.queries[-1]
        root = with_queries(query.root, done)
        if rewritten:
            root = chosen_network(rewritten_network(root, is_read=not is_last), Statistics()).root
        last = replace(query, root=root)
        if bound.name is not None:
            done[bound.name] = last
    return StreamedSelect(last, whole_network(last.root, network_unit(last), {}), network.tables)


def source_of(given: StreamedInput) -> str:
    return next(node.stream.name for node in walk(given.operator) if isinstance(node, a.StreamSource))


@dataclass(frozen=True)
class SelectRun:
    """What came out, call by call, each with the watermark; the events that were on time; what was left."""

    calls: list[tuple[int, list[Row]]]
    tables: Tables
    left: int

    @property
    def rows(self) -> list[Row]:
        return [row for _, rows in self.calls for row in rows]


def run_stream(select: StreamedSelect, how: Arrival, buckets: int = 1) -> SelectRun:
    """The SELECT over its streams, as they arrive, each bucket with a memory of its own."""
    stream_events = [(name, row) for name in select.streams for row in select.tables[name]]
    starts = [int(row[select.streams[name]]) for name, row in stream_events]  # type: ignore[call-overload]
    assert select.network.kernel is not None
    several = [StreamedBucket(SnapshotStream(select.network.kernel)) for _ in range(buckets)]
    calls = []
    late: set[int] = set()
    for batch, now in batches_of(starts, how):
        late |= {number for number in batch if starts[number] <= now}
        rows = [row for number in batch for row in rows_of(select, *stream_events[number])]
        found: list[Row] = []
        for number, bucket in enumerate(several):
            own = [row for row in rows if bucket_of(select, row, buckets) == number]
            results = bucket.call(as_batches(select, own), now)
            assert bucket.wake is None or bucket.wake > now, "the next call is in the future"
            found += [row for result in results for row in as_rows(select, result)]
        calls.append((now, found))
    on_time: dict[str, list[Mapping[str, object]]] = {name: [] for name in select.streams}
    for number, (name, row) in enumerate(stream_events):
        if number not in late:
            on_time[name].append(row)
    left = sum(bucket.memory.rows for bucket in several)
    return SelectRun(calls, {**select.tables, **on_time}, left)


def bucket_of(select: StreamedSelect, row: Mapping[str, Any], buckets: int) -> int:
    if not select.network.is_keyed:
        return 0
    values = [row[name] for name in select.network.inputs[row[p.SOURCE]].keys]
    return crc32(repr(shown(values)).encode()) % buckets


def rows_of(select: StreamedSelect, stream: str, event: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    for number, given in enumerate(select.network.inputs):
        if source_of(given) == stream:
            yield from select.input_rows(number, stream, event)


def batches_of(starts: Sequence[int], how: Arrival) -> list[tuple[list[int], int]]:
    """The numbers of the events in each micro-batch, and the watermark before it."""
    chance = Random(how.seed)
    order = sorted(range(len(starts)), key=lambda n: (starts[n] + chance.uniform(0, how.delay), n))
    found, watermark, latest = [], FIRST_TIME, FIRST_TIME
    for first in range(0, len(order), how.size):
        batch = order[first : first + how.size]
        found.append((batch, watermark))
        latest = max([latest, *(starts[n] for n in batch)])
        watermark = max(watermark, latest - how.slack - 1)
        while chance.random() < 0.4:
            found.append(([], watermark))
            watermark += (
                chance.choice([0, 0, 1, 2]) if how.slack == 0 and first + how.size >= len(order) else 0
            )
    return [*found, ([], FAR)]


def as_batches(select: StreamedSelect, rows: Sequence[dict[str, Any]]) -> list[pa.RecordBatch]:
    if not rows:
        return []
    types = {name: TYPES[type_of(one)] for given in select.network.inputs for one, name in given.columns}
    types |= {"start": pa.int64(), "end": pa.int64(), p.SOURCE: pa.int32()}
    arrays = [pa.array([row.get(name) for row in rows], type) for name, type in types.items()]
    return [pa.RecordBatch.from_arrays(arrays, names=list(types))]


def as_rows(select: StreamedSelect, batch: pa.RecordBatch) -> Iterator[Row]:
    names = [*select.network.columns.values(), "start", "end"]
    for row in batch.to_pylist():
        yield tuple(row[name] for name in names)


def problems(select: StreamedSelect, run: SelectRun, tally: Counter[str]) -> Iterator[str]:
    """What is wrong with a run: other snapshots, rows that came too late, and rows that are kept for
    nothing."""
    expected = select.reference(run.tables)
    endless = select.all_rows(run.tables)
    for time, one, other in differences(expected, run.rows):
        if not _is_between(one, other, snapshot(endless, time)):
            yield f"at {time}: {one} expected, {other} found"
            return
    if same_rows(table_of(run.rows), table_of(expected)):
        yield from _delays(expected, run)
    else:
        # Equal payloads are one event: so the last digit of a sum decides how snapshots are cut.
        tally["cut otherwise"] += 1
    if run.left and not any(map(is_counted, walk(select.query.root))):
        yield f"{run.left} rows are kept for nothing"


def _is_between(least: Sequence[Sequence[object]], found: Sequence[Sequence[object]],
                most: Sequence[Sequence[object]]) -> bool:  # fmt: skip
    """Whether what was found beyond `least` has no end by definition: where the last digit of a number
    changes, such a row has one."""
    counts = [Counter(map(shown, several)) for several in (least, found, most)]
    return counts[0] <= counts[1] <= counts[2]


def _delays(expected: Sequence[Row], run: SelectRun) -> Iterator[str]:
    """Rows that had not come when the watermark reached their end."""
    so_far: Counter[tuple[str, ...]] = Counter()
    for now, rows in run.calls:
        so_far.update(map(shown, rows))
        due = Counter(shown(row) for row in expected if row[-1] <= now)  # type: ignore[operator]
        if due - so_far:
            yield f"at the watermark {now} these had not come: {due - so_far}"
            return


def check(network: Network, seed: int, tally: Counter[str]) -> Iterator[str]:
    """What is wrong with a network over streams."""
    for rewritten in (False, True):
        try:
            select = select_of(network, rewritten)
        except UnsupportedQuery as refusal:
            tally[f"refused: {refusal.what.partition('`')[0].strip()}"] += 1
            continue
        tally["networks"] += 1
        for how in (arrival(seed), arrival(seed + 1), Arrival(1000, 0, 0, seed)):
            run = run_stream(select, how, buckets=1 + how.seed % 3)
            tally["runs"] += 1
            tally["with several buckets"] += select.network.is_keyed and how.seed % 3 > 0
            tally["rows"] += len(run.rows)
            for problem in problems(select, run, tally):
                yield f"{how}: {problem}\n{network.text}\n{network.tables}\n{select.query.root}"
                return


def check_number(number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the network of a number."""
    for network in networks(Random(number), 1):
        seen["pairs"] += 1
        yield from check(network, number, seen)


if __name__ == "__main__":
    sys.exit(fuzz(check_number, "algebra_stream_fuzz", 2000))
