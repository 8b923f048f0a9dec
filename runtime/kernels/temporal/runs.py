"""From events to symbol events: runs, of all keys at once.

Instants are numbered over all keys, in the order of key and time. So the ends of runs are small numbers:
those of two runs of a key compare as their times do, and those of other keys are out of the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neelc.runtime.coding import coded
from neelc.runtime.columns import LAST_TIME, Bools, Ints, taken
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.sequential.matching import EventInstants, spread, timeline
from neelc.runtime.kernels.temporal.program import (
    BACK,
    BITS,
    CURRENT,
    TIME,
    TemporalProgram,
    TemporalSymbol,
    distances,
    events_read,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import EventName, Value, columns_of_value
from neelc.runtime.values.operations import holds

ABSENT = -1
"""Instead of the number of an event."""

Roles = NDArray[np.int8]

SHOWN, SPOILING, MATCHED = 0, 1, 2
"""What events that were kept may be in: in nothing, they show what was before the others; in runs of negated
symbols; in all runs."""

Arrays = Mapping[str, pa.Array]


@dataclass(frozen=True, eq=False)
class StreamInstants:
    """The instants at which one stream has events. `rows` are its events, `instants` the numbers of the
    instants. Before instant i of all streams there are `events_before[i]` of the events, and
    `instants_before[i]` of the instants. `is_first` says which of the instants are the first of their key,
    `is_last` which are the last ones."""

    rows: Ints
    instants: Ints
    events_before: Ints
    instants_before: Ints
    is_first: Bools
    is_last: Bools

    def events_at(self, instant: Ints) -> tuple[Ints, Ints]:
        """For each instant all events there: which of the instants, and the events."""
        return self.events_between(instant, instant)

    def events_between(self, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """For each pair of instants all events from the one to the other: which of the pairs, and the
        events."""
        begin = self.events_before[first]
        which, places = spread(begin, np.maximum(self.events_before[last + 1] - begin, 0))
        return which, self.rows[places]

    @cached_property
    def place(self) -> Ints:
        """For each event the place of its instant."""
        return np.repeat(
            np.arange(len(self.instants)), np.diff(self.events_before[self.instants], append=len(self.rows))
        )

    @cached_property
    def first_of_key(self) -> Ints:
        """For each of the instants the place of the first one of its key."""
        heads = np.flatnonzero(self.is_first)
        return np.repeat(heads, np.diff(heads, append=len(self.instants)))

    @cached_property
    def last_of_key(self) -> Ints:
        """For each of the instants the place of the last one of its key."""
        ends = np.flatnonzero(self.is_last)
        return np.repeat(ends, np.diff(ends, prepend=-1))


@dataclass(frozen=True, eq=False)
class SymbolRuns:
    """The runs of a symbol, in the order of their starts: both `start` and `end`, the numbers of instants,
    do not fall. A point symbol's runs have an event each, `row`. A run is open if its end is that of the
    events of its stream and key: it may go on if there are more."""

    start: Ints
    end: Ints
    is_open: Bools
    row: Ints | None = None

    def __len__(self) -> int:
        return len(self.start)

    def chosen(self, which: Bools | Ints) -> SymbolRuns:
        row = None if self.row is None else self.row[which]
        return SymbolRuns(self.start[which], self.end[which], self.is_open[which], row)


class TemporalEvents:
    """The events of keys that begin at `heads`, sorted by key and time. Their `roles` do not fall in a key;
    None: they may be in all runs."""

    def __init__(
        self, program: TemporalProgram, columns: Arrays, heads: Ints, roles: Roles | None = None
    ) -> None:
        self.program, self.columns, self.roles = program, columns, roles
        time = np.asarray(columns[TIME]).astype(np.int64, copy=False)
        bits = columns[BITS].fill_null(0) if columns[BITS].null_count else columns[BITS]
        self.bits = np.asarray(bits).astype(np.int64, copy=False)
        self.line: EventInstants = timeline(time, self.bits, heads, 0)
        self.streams: dict[int | None, StreamInstants] = {}
        self.conditions = [_split(symbol) for symbol in program.symbols]
        self.met: dict[int, Bools] = {}
        self.all_met: dict[int, Bools] = {}

    @cached_property
    def time(self) -> Ints:
        """The time of each instant; behind them one that is after all times."""
        return np.append(self.line.time, LAST_TIME)

    @cached_property
    def key(self) -> Ints:
        """The number of the key of each instant."""
        return np.repeat(np.arange(len(self.line.heads)), self.line.sizes)

    @cached_property
    def values(self) -> KernelEvents:
        """What conditions read."""
        tests = (test for symbol in self.program.symbols for test in symbol.conditions)
        names = {column.name for test in tests for column in columns_of_value(test)}
        columns = coded({name: self.columns[name] for name in names}, self.program.codings)
        none = np.zeros(0, dtype=np.int64)
        values = partial(_python_values, self.columns)
        return KernelEvents(none, none, none, {}, columns, (none, none), values=values)

    def stream(self, symbol: int) -> StreamInstants:
        """The stream that a symbol is about."""
        bit = self.program.symbols[symbol].stream
        if bit not in self.streams:
            self.streams[bit] = self._stream(bit)
        return self.streams[bit]

    def _stream(self, bit: int | None) -> StreamInstants:
        line = self.line
        if bit is None:
            begin = np.append(line.begin, line.rows)
            every = np.arange(line.size + 1)
            return StreamInstants(np.arange(line.rows), every[:-1], begin, every, line.first, line.last)
        rows = np.flatnonzero(self.bits >> bit & 1)
        count = np.bincount(line.of_row[rows], minlength=line.size)
        instants = np.flatnonzero(count)
        keys = self.key[instants]
        is_first = np.diff(keys, prepend=-1) != 0
        is_last = np.append(is_first[1:], True)[: len(keys)]
        return StreamInstants(
            rows, instants, _before(count), _before((count > 0).astype(np.int64)), is_first, is_last
        )

    def meets_alone(self, symbol: int) -> Bools:
        """Which events meet all of a symbol's condition that does not depend on other symbols."""
        if symbol not in self.met:
            definition, (alone, _) = self.program.symbols[symbol], self.conditions[symbol]
            bit = definition.stream if definition.bit is None else definition.bit
            found = (
                np.ones(self.line.rows, dtype=np.bool_)
                if bit is None
                else (self.bits >> bit & 1).astype(np.bool_)
            )
            if alone:
                rows = np.flatnonzero(found)
                found[rows] = self.are_met(symbol, alone, rows, {})
            self.met[symbol] = found
        return self.met[symbol]

    def all_meet(self, symbol: int) -> Bools:
        """For each instant of a symbol's stream whether all events there meet that."""
        if symbol not in self.all_met:
            stream, met = self.stream(symbol), self.meets_alone(symbol)
            of_stream = met if len(met) == len(stream.rows) else met[stream.rows]
            if len(stream.rows) > len(stream.instants):
                found = np.ones(len(stream.instants), dtype=np.bool_)
                found[stream.place[~of_stream]] = False
                of_stream = found
            self.all_met[symbol] = of_stream
        return self.all_met[symbol]

    def are_met(
        self, symbol: int, tests: Sequence[Value], rows: Ints, bound: Mapping[EventName, Ints]
    ) -> Bools:
        """For some events whether they meet conditions, with the events that these name besides: if several
        events are at an instant before it, some of them must do."""
        which, before = self._events_before(symbol, distances(tests), rows)

        def lookup(name: EventName) -> Ints:
            if name in before:
                return before[name]
            return (rows if name == CURRENT else bound[name])[which]

        met = np.ones(len(which), dtype=np.bool_)
        for test in tests:
            met &= holds(test, lookup, self.values, len(which))
        found = np.zeros(len(rows), dtype=np.bool_)
        found[which[met]] = True
        return found

    def _events_before(
        self, symbol: int, distances: Sequence[int], rows: Ints
    ) -> tuple[Ints, dict[EventName, Ints]]:
        """What PREV can mean: for some of the rows, by number, the event at each distance."""
        which: Ints = np.arange(len(rows))
        found: dict[EventName, Ints] = {}
        if not distances:
            return which, found
        stream = self.stream(symbol)
        for distance in distances:
            place = stream.instants_before[self.line.of_row[rows[which]]]
            is_there = place - distance >= stream.first_of_key[place]
            instant = stream.instants[np.where(is_there, place - distance, 0)]
            begin = stream.events_before[instant]
            count = np.where(is_there, stream.events_before[instant + 1] - begin, 1)
            chosen, places = spread(begin, count)
            events = np.where(is_there[chosen], stream.rows[places], ABSENT)
            which = which[chosen]
            found = {known: several[chosen] for known, several in found.items()}
            found[f"{BACK}{distance}"] = events
        return which, found

    def runs(self, symbol: int, role: int = SPOILING) -> SymbolRuns:
        """The runs of a symbol that depends on no other, if these last as long as they must, of events with
        a role at least."""
        definition = self.program.symbols[symbol]
        if definition.is_interval:
            runs = longest_runs(self.all_meet(symbol), self.stream(symbol))
        else:
            rows = np.flatnonzero(self.meets_alone(symbol))
            instant = self.line.of_row[rows]
            runs = SymbolRuns(instant, instant, np.zeros(len(rows), dtype=np.bool_), rows)
        wanted = self.lasts(definition, runs.start, runs.end)
        if self.roles is not None:
            wanted = wanted & (self.roles[self.line.begin[runs.start]] >= role)
        return runs if wanted.all() else runs.chosen(wanted)

    def lasts(self, symbol: TemporalSymbol, start: Ints, end: Ints) -> Bools:
        """Whether runs last as long as those of a symbol must."""
        found = np.ones(len(start), dtype=np.bool_)
        if symbol.least is None and symbol.most is None:
            return found
        # In order, so that the distance cannot overflow without a sign.
        length = self.time[end].view(np.uint64) - self.time[start].view(np.uint64)
        if symbol.least is not None:
            found &= length >= np.uint64(max(0, symbol.least))
        if symbol.most is not None:
            found &= length <= np.uint64(symbol.most) if symbol.most >= 0 else False
        return found


def _split(symbol: TemporalSymbol) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The conditions of a symbol that are about its stream alone, and those that name other symbols."""
    others = [test for test in symbol.conditions if events_read([test])]
    if others:  # PREV means the same event in all of them
        others = [test for test in symbol.conditions if events_read([test]) or distances([test])]
    return tuple(test for test in symbol.conditions if test not in others), tuple(others)


def _python_values(columns: Arrays, name: str, numbers: Ints) -> list[object]:
    values: list[object] = taken(columns[name], pa.array(numbers)).to_pylist()
    return values


def _before(count: Ints) -> Ints:
    """How many come before each place, and all together.

    >>> _before(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(count)])


def longest_runs(is_true: Bools, stream: StreamInstants) -> SymbolRuns:
    """The longest runs of instants of a stream at which a condition is true, none across keys."""
    is_begin, is_end = stream.is_first.copy(), stream.is_last.copy()
    is_begin[1:] |= ~is_true[:-1]
    is_end[:-1] |= ~is_true[1:]
    begins = np.flatnonzero(is_true & is_begin)
    ends = np.flatnonzero(is_true & is_end)
    return SymbolRuns(stream.instants[begins], stream.instants[ends], stream.is_last[ends])
