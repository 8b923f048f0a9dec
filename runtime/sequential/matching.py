"""The matches of events in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neelc.runtime.coding import coded
from neelc.runtime.kernels.events import Events
from neelc.runtime.program import Apply, Column, Value
from neelc.runtime.sequential.backward import Backward
from neelc.runtime.sequential.forward import Forward
from neelc.runtime.sequential.labels import Edge, latest_starts
from neelc.runtime.sequential.program import BITS, LAST, PREVIOUS, TIME, SequentialProgram
from neelc.runtime.sequential.timeline import Ints, Timeline, timeline
from neelc.runtime.sequential.ways import Ways

Arrays = Mapping[str, pa.Array]


@dataclass(frozen=True, eq=False)
class Matcher:
    """The events of complete instants, sorted by key and time, whose keys begin at `heads`."""

    program: SequentialProgram
    columns: Arrays
    heads: Ints

    def line(self) -> Timeline:
        time = np.asarray(self.columns[TIME]).astype(np.int64, copy=False)
        bits = np.asarray(self.columns[BITS].fill_null(0)).astype(np.int64, copy=False)
        return timeline(time, bits, self.heads, len(self.program.names))

    def matches(self, line: Timeline, from_row: int = 0) -> Iterator[Ways]:
        """The matches that end in rows from `from_row` on."""
        ends = line.begin >= from_row
        finder = Forward if self.program.conditions else Backward
        if finder is Backward:
            yield from Backward(self.program, line, tracked(self.program)).matches(ends)
        else:
            yield from Forward(self.program, line, tracked(self.program), self._events()).matches(ends)

    def _events(self) -> Events:
        names = {one.name for condition in self.program.conditions for one in _columns(condition.test)}
        none = np.zeros(0, dtype=np.int64)
        values = coded({name: self.columns[name] for name in names}, self.program.codings)
        return Events(none, none, none, {}, values, (none, none))


def tracked(program: SequentialProgram) -> tuple[int | None, ...]:
    """The symbols whose last events are asked for, by outputs or by conditions."""
    asked = {one.symbol for one in program.outputs}
    for variable in (one.variable for test in program.conditions for one in _columns(test.test)):
        if variable == PREVIOUS:
            asked.add(None)
        elif variable.startswith(LAST):
            asked.add(int(variable.removeprefix(LAST)))
    return tuple(sorted(asked, key=lambda symbol: -1 if symbol is None else symbol))


def _columns(value: Value) -> Iterator[Column]:
    match value:
        case Column():
            yield value
        case Apply(operands=operands):
            for operand in operands:
                yield from _columns(operand)


def first_needed(program: SequentialProgram, line: Timeline, head: int) -> int:
    """The first instant, from `head` on, that a match which ends after all these instants can have."""
    last = line.size - 1
    edges: list[Edge] = [(source or None, symbol, to) for source, symbol, to in program.automaton.edges]
    going = sorted({source for source, _, _ in program.automaton.edges} - {0})
    starts = latest_starts(edges, program.automaton.states, line.first, line.is_emitted)[going, head:]
    # What is open now was open at every instant since it started.
    idle = np.flatnonzero((starts < 0).all(axis=0)) if going else np.arange(line.size - head)
    needed = head + (int(idle[-1]) + 1 if len(idle) else 0)
    if program.rows is not None:
        needed = max(needed, last + 2 - program.rows)
    if program.reach is not None:
        distance = line.time[last : last + 1].view(np.uint64) - line.time[needed:].view(np.uint64)
        needed += int(np.count_nonzero(distance > np.uint64(program.reach)))
    return needed
