"""Scripts whose queries read each other, answered over streams in process: all queries run in one kernel, as
one operator of Spark runs them. What Spark would compute of events from outside is computed by the
reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from in_stream import FAR, Arrival, arrived

from neelc.algebra.plan.streamed import with_selects_inlined
from neelc.engines.reference import executable
from neelc.engines.streaming.network_plan import StreamNetwork, query_node, stream_network
from neelc.ir.program import Program
from neelc.ir.types import LENGTHS
from neelc.program import bind
from neelc.runtime.reference import Tables
from neelc.runtime.reference.model import ReferenceEvent
from neelc.runtime.values.order import comparable
from neelc.source import Source
from neelc.syntax import read as parse
from neelc.tools.cases.streaming import plans_in_process
from neelc.tools.cases.streaming.network import network_rows, outside_events, outside_rows


def bound_script(text: str) -> Program:
    source = Source(text)
    program = bind(parse(source), source)
    return executable(program, range(len(program.queries)), source)


def planned_network(program: Program) -> StreamNetwork:
    """The network of the last query of a script; raises `UnsupportedQuery`."""
    program = with_selects_inlined(program)
    needed = [program.queries[place] for place in program.needed([len(program.queries) - 1])]
    return stream_network([query_node(named.name, plan) for named, plan in plans_in_process(needed)])


@dataclass(frozen=True)
class StreamedRows:
    """What a run over a stream gave, and the rows of the streams that were not late."""

    rows: list[tuple[object, ...]]
    tables: Tables


def streamed_rows(
    program: Program, tables: Tables, how: Arrival, network: StreamNetwork | None = None
) -> StreamedRows:
    """What comes out; `UnsupportedQuery` if a query cannot run over a stream."""
    network = network or planned_network(program)
    events = outside_events(network, tables)
    unit = LENGTHS[network.queries[-1].unit]
    late: set[ReferenceEvent] = set()
    moments = []
    for batch, now in arrived(events, how, unit):
        late |= {events[n] for n in batch if events[n].start // unit <= now}
        moments.append(([events[n] for n in batch], now))
    outside = outside_rows(network, events, tables)
    buckets = outside.split(network, 2)
    found = [network_rows(network, bucket, [*moments, ([], FAR)]) for bucket in buckets]
    on_time = {
        name: [row for number, row in enumerate(several) if (name, number) not in _names(late)]
        for name, several in tables.items()
    }
    return StreamedRows([row for rows in found for _, row in rows], on_time)


def _names(events: set[ReferenceEvent]) -> set[tuple[str, int]]:
    return {(event.stream, event.row) for event in events}


def counted(rows: Sequence[tuple[object, ...]]) -> Counter[object]:
    return Counter(comparable(row) for row in rows)
