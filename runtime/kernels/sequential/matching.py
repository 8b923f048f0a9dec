"""The matches of events in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neelc.runtime.coding import coded
from neelc.runtime.failures import COUNT_OVERFLOW, FailureDetails, KernelFailure
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.sequential.program import (
    BACK,
    BITS,
    CURRENT,
    LAST,
    PREVIOUS,
    TIME,
    SequentialProgram,
    columns_in,
    condition_columns,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import EventName, Value
from neelc.runtime.values.operations import holds

# Events as instants: what can be read at the events of each instant.

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def spread(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Several numbers from each first one on: which they belong to, and the numbers.

    >>> spread(np.array([5, 9]), np.array([2, 1]))
    (array([0, 0, 1]), array([5, 6, 9]))
    """
    which = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    return which, first[which] + within


@dataclass(frozen=True, eq=False)
class Emitters:
    """The events at which one thing can be read, such as a symbol: `rows`, in order. Of instant i they are
    the `count[i]` from `begin[i]` on."""

    rows: Ints
    begin: Ints
    count: Ints

    def of(self, instants: Ints) -> tuple[Ints, Ints]:
        """For each of the instants all its events: which of the instants, and the row."""
        which, places = spread(self.begin[instants], self.count[instants])
        return which, self.rows[places]


@dataclass(frozen=True, eq=False)
class EventInstants:
    """Instants of events that are sorted by key and time. `begin` are their first rows, `time` their times;
    `first` says which are the first of their key. There are so many `rows`."""

    begin: Ints
    time: Ints
    first: Bools
    emitters: tuple[Emitters, ...]
    rows: int

    @property
    def size(self) -> int:
        return len(self.begin)

    @cached_property
    def last(self) -> Bools:
        """Which instants are the last of their key."""
        return np.append(self.first[1:], True)[: self.size]

    @cached_property
    def heads(self) -> Ints:
        """The first instants of keys."""
        return np.flatnonzero(self.first)

    @cached_property
    def sizes(self) -> Ints:
        """How many instants each key has."""
        return np.diff(self.heads, append=self.size)

    @cached_property
    def of_row(self) -> Ints:
        """The instant of each event."""
        return np.repeat(np.arange(self.size), self.count)

    @cached_property
    def count(self) -> Ints:
        """The number of events of each instant."""
        return np.diff(self.begin, append=self.rows)

    @cached_property
    def first_of_key(self) -> Ints:
        """For each instant the first one of its key."""
        return np.repeat(self.heads, self.sizes)

    @cached_property
    def last_of_key(self) -> Ints:
        """For each instant the last one of its key."""
        return np.repeat(self.heads + self.sizes - 1, self.sizes)

    @cached_property
    def is_emitted(self) -> tuple[Bools, ...]:
        """For each symbol, the instants at which an event emits it."""
        return tuple(one.count > 0 for one in self.emitters)


def timeline(time: Ints, bits: Ints, heads: Ints, symbols: int) -> EventInstants:
    """The instants of events whose keys begin at the rows `heads`.

    >>> rows = np.array([5, 5, 7, 5]), np.array([1, 3, 2, 1]), np.array([0, 3])
    >>> found = timeline(*rows, symbols=2)
    >>> found.begin.tolist(), found.first.tolist(), [one.count.tolist() for one in found.emitters]
    ([0, 2, 3], [True, False, True], [[2, 0, 1], [1, 1, 0]])
    """
    is_head = np.zeros(len(time), dtype=np.bool_)
    is_head[heads] = True
    changes = is_head.copy()
    changes[1:] |= time[1:] != time[:-1]
    begin = np.flatnonzero(changes)
    instant = np.cumsum(changes) - 1 if symbols else begin
    emitters = []
    for symbol in range(symbols):
        rows = np.flatnonzero(bits >> symbol & 1)
        count = np.bincount(instant[rows], minlength=len(begin))
        emitters.append(Emitters(rows, np.cumsum(count) - count, count))
    return EventInstants(begin, time[begin], is_head[begin], tuple(emitters), len(time))


def reversed_in_time(line: EventInstants) -> tuple[Bools, tuple[Bools, ...]]:
    """The first instants of keys and the instants of symbols, read from the end."""
    return line.last[::-1], tuple(one[::-1] for one in line.is_emitted)


# The latest start with which a state can be reached at each instant.
#
# It shows whether a partial match can be completed inside the window, so no way is ever followed in vain:
# of all that lead to a state, the one that started last reaches furthest.

Edge = tuple[int | None, int, int]
"""State, symbol, next state; from None a way starts."""

NONE = -1


def latest_starts(edges: Sequence[Edge], states: int, first: Bools, is_emitted: Sequence[Bools]) -> Ints:
    """For each state and instant: the latest instant at which a way into the state can have started that
    takes this instant last, NONE if there is no such way. Ways do not cross the `first` instant of a key.

    >>> every, second = np.array([True] * 3), np.array([False, True, False])
    >>> first = np.array([True, False, False])
    >>> latest_starts([(None, 1, 0), (0, 0, 0)], 1, first, [every, second]).tolist()
    [[-1, 1, 1]]
    """
    size = len(first)
    found = np.full((states, size), NONE, dtype=np.int64)
    for component in _components(edges, states):
        entering = [edge for edge in edges if edge[2] in component and edge[0] not in component]
        inner = [edge for edge in edges if edge[2] in component and edge[0] in component]
        for source, symbol, target in entering:
            start = np.arange(size) if source is None else _before(found[source], first)
            np.maximum(found[target], np.where(is_emitted[symbol], start, NONE), out=found[target])
        if len(component) == 1 and inner:
            state = component[0]
            goes_on = np.logical_or.reduce([is_emitted[symbol] for _, symbol, _ in inner]) & ~first
            found[state] = _running_latest(found[state], goes_on)
        elif inner:
            _step_by_step(found, component, inner, first, is_emitted)
    return found


def _before(values: Ints, first: Bools) -> Ints:
    """The value of the instant before, in the same key."""
    shifted = np.concatenate([[NONE], values[:-1]])[: len(values)]
    return np.where(first, NONE, shifted)


def _running_latest(values: Ints, goes_on: Bools) -> Ints:
    """The greatest value since the last instant that does not go on."""
    width = len(values) + 2
    offset = np.cumsum(~goes_on) * width
    return np.maximum.accumulate(values + 1 + offset) - 1 - offset if len(values) else values


def _step_by_step(
    found: Ints, component: list[int], inner: list[Edge], first: Bools, is_emitted: Sequence[Bools]
) -> None:
    """States that lead to each other: closures of groups."""
    columns = {state: found[state].tolist() for state in component}
    edges = [
        (columns[source], is_emitted[symbol].tolist(), columns[to]) for source, symbol, to in _known(inner)
    ]
    for instant in np.flatnonzero(~first).tolist():
        for source, emitted, target in edges:
            if emitted[instant] and source[instant - 1] > target[instant]:
                target[instant] = source[instant - 1]
    for state, values in columns.items():
        found[state] = values


def _known(edges: Sequence[Edge]) -> list[tuple[int, int, int]]:
    return [(source, symbol, to) for source, symbol, to in edges if source is not None]


def _components(edges: Sequence[Edge], states: int) -> list[list[int]]:
    """States that lead to each other together, those that lead to others before these."""
    reached = [1 << state for state in range(states)]
    pairs = sorted({(source, to) for source, _, to in _known(edges) if source != to}, reverse=True)
    changed = True
    while changed:
        changed = False
        for source, to in pairs:
            more = reached[source] | reached[to]
            changed |= more != reached[source]
            reached[source] = more
    groups: dict[int, list[int]] = {}
    for state in range(states):
        groups.setdefault(reached[state], []).append(state)
    return [groups[mask] for mask in sorted(groups, key=lambda mask: -mask.bit_count())]


# Partial matches as rows of a table, and what is found.

ABSENT = -1
MOST_TOGETHER = 200_000
"""How many partial matches are followed at the same time; the rest waits."""
ENOUGH = 10_000
HEAVIEST = 2**62


@dataclass(frozen=True, eq=False)
class PartialSequences:
    """Partial matches: the instant that comes next, the state, the instant of the end that is known already,
    how many matches it stands for, and for each of the tracked symbols the row of its event."""

    instant: Ints
    state: Ints
    end: Ints
    weight: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.instant)

    def chosen(self, which: Ints | Bools) -> PartialSequences:
        if which.dtype == np.bool_:
            if which.all():
                return self
            which = np.flatnonzero(which)  # five columns are taken by it: numbers are faster than a mask
        return PartialSequences(*(getattr(self, one.name)[which] for one in fields(self)))

    def times(self, counts: Ints) -> PartialSequences:
        """Each standing for `counts` times as many matches."""
        if len(counts) and int(self.weight.max()) > HEAVIEST // int(counts.max()):
            raise KernelFailure(FailureDetails(COUNT_OVERFLOW, "more matches than a BIGINT can count"))
        return replace(self, weight=self.weight * counts)

    def tracking(self, place: int, rows: Ints) -> PartialSequences:
        changed = self.rows.copy()
        changed[:, place] = rows
        return replace(self, rows=changed)


def joined(parts: Sequence[PartialSequences]) -> PartialSequences:
    if len(parts) == 1:
        return parts[0]
    return PartialSequences(
        *(np.concatenate([getattr(one, f.name) for one in parts]) for f in fields(PartialSequences))
    )


def pieces(ways: PartialSequences) -> Iterator[PartialSequences]:
    """Not too many at once."""
    if len(ways) <= MOST_TOGETHER:
        if len(ways):
            yield ways
        return
    for low in range(0, len(ways), MOST_TOGETHER):
        yield ways.chosen(np.arange(low, min(low + MOST_TOGETHER, len(ways))))


def gathered(found: Iterator[PartialSequences]) -> Iterator[PartialSequences]:
    """Not too few at once, either."""
    waiting: list[PartialSequences] = []
    for ways in found:
        waiting.append(ways)
        if sum(map(len, waiting)) >= ENOUGH:
            yield joined(waiting)
            waiting = []
    if waiting:
        yield joined(waiting)


def places_of(program: SequentialProgram, tracked: Sequence[int | None]) -> list[list[int]]:
    """For each reading the places of `PartialSequences.rows` that its event has."""
    return [
        [place for place, one in enumerate(tracked) if one is None or one in reading.symbols]
        for reading in program.alphabet
    ]


class MatchWindow:
    """Whether the ends of a match are close enough."""

    def __init__(self, line: EventInstants, reach: int | None, rows: int | None = None) -> None:
        self.reach, self.rows = reach, rows
        # Both ends are known to be in order, so that their distance cannot overflow without a sign.
        self.time = line.time.astype(np.int64).view(np.uint64)

    def holds(self, start: Ints, end: Ints) -> Bools:
        """For starts that are not after the ends; there may be none (-1), and then it does not hold."""
        found = start >= 0
        if self.reach is not None:
            found &= self.time[end] - self.time[start] <= np.uint64(self.reach)
        if self.rows is not None:
            found &= end - start < self.rows
        return found

    def lowest(self, low: Ints, end: Ints) -> Ints:
        """For each end the first instant from `low` on, in its key, that is close enough; by halving."""
        if self.reach is None and self.rows is None:
            return low
        low, high = low.copy(), end.copy()
        while (open_ := low < high).any():
            middle = (low + high) // 2
            near = self.holds(middle, end)
            high = np.where(open_ & near, middle, high)
            low = np.where(open_ & ~near, middle + 1, low)
        return low

    def highest(self, start: Ints, high: Ints) -> Ints:
        """For each start the last instant up to `high`, in its key, that is close enough; by halving."""
        if self.reach is None and self.rows is None:
            return high
        low, high = start.copy(), high.copy()
        while (open_ := low < high).any():
            middle = (low + high + 1) // 2
            near = self.holds(start, middle)
            low = np.where(open_ & near, middle, low)
            high = np.where(open_ & ~near, middle - 1, high)
        return high


# All matches, from their ends to their starts, where no condition depends on the events before.
#
# A match outputs the last events of symbols: read backwards, the first ones met. So a stretch in
# which a closure has no choice is crossed in one step, and the time is that of the events and of the
# matches, however long these are.


@dataclass(frozen=True, eq=False)
class ClosureStretches:
    """Of a state that a closure goes round in: the tracked places of its symbols; for each instant the first
    of those up to it between which there is no choice but to go round; the instants at which other states
    lead to this one."""

    tracked: list[int]
    begin: Ints
    entries: Ints


class BackwardMatcher:
    """Finds the matches of a program without conditions; `tracked` are the symbols whose last events are
    needed, None for the last event of all."""

    def __init__(
        self, program: SequentialProgram, line: EventInstants, tracked: tuple[int | None, ...]
    ) -> None:
        self.line, self.tracked = line, tracked
        self.places = places_of(program, tracked)
        self.accepting = program.automaton.accepting
        self.edges: list[Edge] = [
            (source or None, symbol, to) for source, symbol, to in program.automaton.edges
        ]
        self.starts = latest_starts(self.edges, program.automaton.states, line.first, line.is_emitted)
        self.window = MatchWindow(line, program.reach, program.rows)
        self.into = {edge[2]: [one for one in self.edges if one[2] == edge[2]] for edge in self.edges}
        self.stretches = {state: self._stretches(state) for state in self.into}

    def matches(self, ends: Bools) -> Iterator[PartialSequences]:
        """The matches that end at these instants."""
        for state in self.accepting:
            instants = np.flatnonzero(ends & self.window.holds(self.starts[state], np.arange(self.line.size)))
            waiting = list(pieces(self._beginning(instants, state)))
            while waiting:
                ways = waiting.pop()
                if len(ways) > 1 and self._entering(ways) > MOST_TOGETHER:
                    half = len(ways) // 2
                    waiting += [ways.chosen(np.arange(half)), ways.chosen(np.arange(half, len(ways)))]
                    continue
                done, open_ways = self._step(ways)
                yield from done
                if open_ways:
                    waiting += pieces(joined(open_ways))

    def _beginning(self, instants: Ints, state: int) -> PartialSequences:
        states = np.full(len(instants), state)
        rows = np.full((len(instants), len(self.tracked)), ABSENT, dtype=np.int64)
        return PartialSequences(instants, states, instants, np.ones_like(instants), rows)

    def _step(self, ways: PartialSequences) -> tuple[list[PartialSequences], list[PartialSequences]]:
        """The ways, one event longer: those that are complete, and those that are not."""
        done, going = [], []
        for state in np.unique(ways.state).tolist():
            here, leaving = self._along(ways.chosen(ways.state == state), state)
            for source, symbol, _ in self.into.get(state, ()):
                able = here if source == state else joined([here, leaving])
                taken = able.chosen(self._is_possible(able, source, symbol))
                if not len(taken):
                    continue
                taken = self._taking(taken, symbol)
                if source is None:
                    done.append(taken)
                else:
                    states = np.full(len(taken), source)
                    going.append(
                        PartialSequences(taken.instant - 1, states, taken.end, taken.weight, taken.rows)
                    )
        return done, going

    def _is_possible(self, ways: PartialSequences, source: int | None, symbol: int) -> Bools:
        possible = self.line.is_emitted[symbol][ways.instant]
        if source is None:
            return possible & self.window.holds(ways.instant, ways.end)
        possible = possible & ~self.line.first[ways.instant]
        return possible & self.window.holds(self.starts[source][ways.instant - 1], ways.end)

    def _taking(self, ways: PartialSequences, symbol: int) -> PartialSequences:
        """The ways with an event of the symbol: with each one if it is tracked, else with any."""
        emitters, places = self.line.emitters[symbol], self.places[symbol]
        is_open = np.zeros(len(ways), dtype=np.bool_)
        for place in places:
            is_open |= ways.rows[:, place] == ABSENT
        closed = ways.chosen(~is_open)
        closed = closed.times(emitters.count[closed.instant])
        opened = ways.chosen(is_open)
        which, rows = emitters.of(opened.instant)
        opened = opened.chosen(which)
        for place in places:
            known = opened.rows[:, place]
            opened = opened.tracking(place, np.where(known == ABSENT, rows, known))
        return joined([closed, opened])

    def _stretches(self, state: int) -> ClosureStretches | None:
        """For a state that a closure goes round in: where it has no choice, and where others lead to it."""
        loops = [symbol for source, symbol, to in self.into[state] if source == to]
        if not loops:
            return None
        line = self.line
        choices = np.sum([line.emitters[symbol].count for symbol in loops], axis=0)
        begin = np.maximum.accumulate(np.where(line.first | (choices != 1), np.arange(line.size), 0))
        is_entry = np.zeros(line.size, dtype=np.bool_)
        for source, symbol, to in self.into[state]:
            if source is None:
                is_entry |= line.is_emitted[symbol]
            elif source != to:
                before = np.concatenate([[ABSENT], self.starts[source][:-1]])[: line.size]
                is_entry |= line.is_emitted[symbol] & (before >= 0)
        places = sorted({place for symbol in loops for place in self.places[symbol]})
        return ClosureStretches(places, begin, np.flatnonzero(is_entry))

    def _along(self, ways: PartialSequences, state: int) -> tuple[PartialSequences, PartialSequences]:
        """Ways in a state, those in a closure gone round as long as there is no choice: where they are then,
        and before that at each instant at which they could come from elsewhere, and then must."""
        stretches = self.stretches.get(state)
        if stretches is None:
            return ways, ways.chosen(np.zeros(0, dtype=np.int64))
        may_go = (ways.rows[:, stretches.tracked] != ABSENT).all(axis=1)
        staying, going = ways.chosen(~may_go), ways.chosen(may_go)
        first, count = self._entries(going, stretches)
        which, places = spread(first, count)
        leaving = replace(going.chosen(which), instant=stretches.entries[places])
        return joined([staying, replace(going, instant=stretches.begin[going.instant])]), leaving

    def _entries(self, ways: PartialSequences, stretches: ClosureStretches) -> tuple[Ints, Ints]:
        """The first of the entries that each way comes by inside the window, and how many there are."""
        begin = stretches.begin[ways.instant]
        low = np.maximum(begin + 1, self.window.lowest(begin, ways.end))
        first = np.searchsorted(stretches.entries, low)
        count = np.searchsorted(stretches.entries, ways.instant, side="right") - first
        return first, np.maximum(count, 0)

    def _entering(self, ways: PartialSequences) -> int:
        """How many ways there would be one step further, because of closures."""
        found = 0
        for state, stretches in self.stretches.items():
            if stretches is not None:
                found += int(self._entries(ways.chosen(ways.state == state), stretches)[1].sum())
        return found


# All matches, from their starts to their ends, where conditions depend on the events before.
#
# That is the table of active instances of the JEPC thesis (9.2.3), for all starts at the same time.
# Instances that can no longer be distinguished are one that stands for several.


class EventTests:
    """Whether events meet the conditions that depend on events before them.

    PREV is about the partition, not the match. Where an instant has several events, the one that the match
    has is meant, and where it has none, any of them: then `recent` of the last events of a way are
    remembered, behind those that are tracked.
    """

    def __init__(
        self,
        program: SequentialProgram,
        line: EventInstants,
        tracked: tuple[int | None, ...],
        events: KernelEvents,
    ) -> None:
        self.line, self.tracked, self.events = line, tracked, events
        self.of: list[list[Value]] = [[] for _ in program.alphabet]
        for one in program.conditions:
            self.of[one.reading].append(one.test)
        self.back = [_distances(tests) for tests in self.of]
        self.recent = program.back if line.size < line.rows else 0

    def are_met(self, reading: int, ways: PartialSequences, rows: Ints) -> Bools:
        """For each way and the event that comes after it."""
        which, before = self._events_before(self.back[reading], ways, rows)
        size = len(which)

        def lookup(name: EventName) -> Ints:
            text = str(name)
            if text == CURRENT:
                return rows[which]
            if text.startswith(BACK):
                return before[int(text.removeprefix(BACK))]
            symbol = None if text == PREVIOUS else int(text.removeprefix(LAST))
            last: Ints = ways.rows[which, self.tracked.index(symbol)]
            return last

        met = np.ones(size, dtype=np.bool_)
        for test in self.of[reading]:
            met &= holds(test, lookup, self.events, size)
        found = np.zeros(len(ways), dtype=np.bool_)
        found[which[met]] = True
        return found

    def _events_before(
        self, distances: Sequence[int], ways: PartialSequences, rows: Ints
    ) -> tuple[Ints, dict[int, Ints]]:
        """What PREV can mean: for some numbers of ways, the event at each distance."""
        which: Ints = np.arange(len(ways))
        found: dict[int, Ints] = {}
        for distance in distances:
            current = self.line.of_row[rows[which]]
            is_there = current - distance >= self.line.first_of_key[current]
            instant = np.where(is_there, current - distance, 0)
            first = np.where(is_there, self.line.begin[instant], ABSENT)
            if self.recent:
                taken = np.where(is_there, self._taken_at(ways.rows[which], instant), ABSENT)
                first = np.where(taken == ABSENT, first, taken)
                count = np.where(is_there & (taken == ABSENT), self.line.count[instant], 1)
                chosen, first = spread(first, count)
                which = which[chosen]
                found = {known: several[chosen] for known, several in found.items()}
            found[distance] = first
        return which, found

    def _taken_at(self, rows: Ints, instant: Ints) -> Ints:
        """The event of the way at an instant, ABSENT if it has none."""
        found = np.full(len(instant), ABSENT, dtype=np.int64)
        for place in range(rows.shape[1] - self.recent, rows.shape[1]):
            known = rows[:, place]
            found = np.where((known >= 0) & (self.line.of_row[known] == instant), known, found)
        return found

    def remembering(self, ways: PartialSequences, rows: Ints) -> PartialSequences:
        """The ways that have taken these events."""
        if not self.recent:
            return ways
        changed = ways.rows.copy()
        begin = changed.shape[1] - self.recent
        changed[:, begin + 1 :] = ways.rows[:, begin:-1]
        changed[:, begin] = rows
        return replace(ways, rows=changed)


def without_certain_conditions(
    program: SequentialProgram, line: EventInstants, events: KernelEvents
) -> tuple[SequentialProgram, EventInstants]:
    """The program without conditions on events and those before them in the partition, and the events that
    meet these. Where no events are simultaneous, they do not depend on the match."""
    certain = [one for one in program.conditions if _is_certain(one.test)]
    if not certain or line.size < line.rows:
        return program, line
    tests = EventTests(replace(program, conditions=tuple(certain)), line, (), events)
    emitters = list(line.emitters)
    for reading in {one.reading for one in certain}:
        rows = emitters[reading].rows
        none = np.zeros((len(rows), 0), dtype=np.int64)
        met = tests.are_met(reading, PartialSequences(rows, rows, rows, rows, none), rows)
        count = np.bincount(line.of_row[rows[met]], minlength=line.size)
        emitters[reading] = Emitters(rows[met], np.cumsum(count) - count, count)
    others = tuple(one for one in program.conditions if one not in certain)
    return replace(program, conditions=others), replace(line, emitters=tuple(emitters))


def _is_certain(test: Value) -> bool:
    names = {str(one.variable) for one in columns_in([test])}
    return all(name == CURRENT or name.startswith(BACK) for name in names)


def _distances(tests: Sequence[Value]) -> list[int]:
    names = {str(one.variable) for one in columns_in(tests)}
    return sorted(int(name.removeprefix(BACK)) for name in names if name.startswith(BACK))


FEW = 1_000
"""Fewer instances are not worth the search for equal ones."""


class ForwardMatcher:
    """Finds the matches of a program; `tracked` are the symbols whose last events are needed,
    None for the last event of all. `Ways.end` is the start of a way here: the end that is known."""

    def __init__(
        self,
        program: SequentialProgram,
        line: EventInstants,
        tracked: tuple[int | None, ...],
        events: KernelEvents,
    ) -> None:
        self.line, self.tracked = line, tracked
        self.places = places_of(program, tracked)
        self.tests = EventTests(program, line, tracked, events)
        automaton = program.automaton
        self.accepting = frozenset(automaton.accepting)
        self.out_of = {
            source: [e for e in automaton.edges if e[0] == source] for source, *_ in automaton.edges
        }
        self.window = MatchWindow(line, program.reach, program.rows)
        self.ends = self._earliest_ends(program, line)

    def matches(self, ends: Bools) -> Iterator[PartialSequences]:
        """The matches that end at these instants."""
        instants = np.flatnonzero(self._can_go_on(0, np.arange(self.line.size), np.arange(self.line.size)))
        rows = np.full((len(instants), len(self.tracked) + self.tests.recent), ABSENT, dtype=np.int64)
        every = PartialSequences(instants, np.zeros_like(instants), instants, np.ones_like(instants), rows)
        waiting = list(pieces(every))
        while waiting:
            for found, going in self._step(waiting.pop()):
                done = found.chosen(ends[found.end])
                if len(done):
                    yield done
                if len(going):
                    waiting += pieces(_merged(going))

    def _can_go_on(self, state: int, instant: Ints, start: Ints) -> Bools:
        """Whether a way in a state can take the instant and be completed, for all that is known without the
        conditions that depend on it."""
        end: Ints = self.ends[state][instant]
        inside: Bools = self.window.holds(start, np.maximum(end, 0))
        inside[end < 0] = False
        return inside

    def _step(self, ways: PartialSequences) -> Iterator[tuple[PartialSequences, PartialSequences]]:
        done, going = [], []
        for state in np.unique(ways.state).tolist():
            here = ways.chosen(ways.state == state)
            for _, symbol, to in self.out_of.get(state, ()):
                taken = self._taking(here.chosen(self.line.is_emitted[symbol][here.instant]), symbol)
                if not len(taken):
                    continue
                if to in self.accepting:
                    inside = taken.chosen(self.window.holds(taken.end, taken.instant))
                    done.append(
                        PartialSequences(inside.end, inside.state, inside.instant, inside.weight, inside.rows)
                    )
                going.append(self._moved(taken, to))
        if going:
            finished = joined(done) if done else going[0].chosen(np.zeros(0, dtype=np.int64))
            yield finished, joined(going)

    def _moved(self, ways: PartialSequences, state: int) -> PartialSequences:
        """At the next instant of the key, if the match can be completed from there."""
        if state not in self.out_of:
            return ways.chosen(np.zeros(0, dtype=np.int64))
        ways = ways.chosen(~self.line.last[ways.instant])
        moved = PartialSequences(
            ways.instant + 1, np.full(len(ways), state), ways.end, ways.weight, ways.rows
        )
        return moved.chosen(self._can_go_on(state, moved.instant, moved.end))

    def _taking(self, ways: PartialSequences, reading: int) -> PartialSequences:
        """The ways with an event of their instants."""
        emitters, places = self.line.emitters[reading], self.places[reading]
        if not places and not self.tests.of[reading] and not self.tests.recent:
            return ways.times(emitters.count[ways.instant])
        which, rows = emitters.of(ways.instant)
        ways = ways.chosen(which)
        if self.tests.of[reading]:
            met = self.tests.are_met(reading, ways, rows)
            ways, rows = ways.chosen(met), rows[met]
        for place in places:
            ways = ways.tracking(place, rows)
        return self.tests.remembering(ways, rows)

    def _earliest_ends(self, program: SequentialProgram, line: EventInstants) -> Ints:
        """For each state and instant: the earliest instant at which a match can end that takes this one
        next."""
        automaton = program.automaton
        edges: list[Edge] = [
            (source, symbol, to)
            for to, symbol, end in automaton.edges
            for source in ((end, None) if end in automaton.accepting else (end,))
        ]
        first, is_emitted = reversed_in_time(line)
        found = latest_starts(edges, automaton.states, first, is_emitted)[:, ::-1]
        return np.where(found >= 0, line.size - 1 - found, ABSENT)


def _merged(ways: PartialSequences) -> PartialSequences:
    """Ways that do not differ in what is needed are merged."""
    if len(ways) < FEW:
        return ways
    table = np.column_stack([ways.instant, ways.state, ways.end, ways.rows])
    order = np.lexsort(table.T)
    table = table[order]
    is_new = np.append(True, (table[1:] != table[:-1]).any(axis=1))
    begin = np.flatnonzero(is_new)
    kept = ways.chosen(order[begin])
    weight = np.add.reduceat(ways.weight[order], begin)
    if float(ways.weight.astype(np.float64).sum()) > HEAVIEST:
        raise KernelFailure(FailureDetails(COUNT_OVERFLOW, "more matches than a BIGINT can count"))
    return PartialSequences(kept.instant, kept.state, kept.end, weight, kept.rows)


# All matches whose symbols follow eventually: from an event to all that can be the next one.


class GapMatcher(ForwardMatcher):
    """Finds the matches of a program with any events between those of a match. `Ways.instant` is that of
    the last event of a way here."""

    def __init__(
        self,
        program: SequentialProgram,
        line: EventInstants,
        tracked: tuple[int | None, ...],
        events: KernelEvents,
    ) -> None:
        super().__init__(program, line, tracked, events)
        every = np.arange(line.size)
        self.furthest = self.window.highest(every, line.last_of_key)
        self.next_until = MatchWindow(line, program.step).highest(every, line.last_of_key)
        self.clear = [reading.clear for reading in program.alphabet]
        self.emitted_at = [np.flatnonzero(one) for one in line.is_emitted]

    def matches(self, ends: Bools) -> Iterator[PartialSequences]:
        """The matches that end at these instants."""
        waiting: list[PartialSequences] = []
        for done, going in self._starts():
            yield from self._ended(done, ends)
            waiting += pieces(going)
        while waiting:
            ways = waiting.pop()
            steps = list(self._steps(ways))
            if len(ways) > 1 and sum(step.size for step in steps) > MOST_TOGETHER:
                half = len(ways) // 2
                waiting += [ways.chosen(np.arange(half)), ways.chosen(np.arange(half, len(ways)))]
                continue
            found = [self._arrived(self._moved_on(step), step.reading, step.to) for step in steps]
            yield from self._ended([one for done, _ in found for one in done], ends)
            going_on = [one for _, one in found if len(one)]
            if going_on:
                waiting += pieces(_merged(joined(going_on)))

    def _ended(self, done: Sequence[PartialSequences], ends: Bools) -> Iterator[PartialSequences]:
        for one in done:
            wanted = one.chosen(ends[one.end])
            if len(wanted):
                yield wanted

    def _starts(self) -> Iterator[tuple[list[PartialSequences], PartialSequences]]:
        for _, reading, to in self.out_of.get(0, ()):
            instants = self.emitted_at[reading]
            rows = np.full((len(instants), len(self.tracked) + self.tests.recent), ABSENT, dtype=np.int64)
            every = PartialSequences(
                instants, np.zeros_like(instants), instants, np.ones_like(instants), rows
            )
            for ways in pieces(every):
                yield self._arrived(ways, reading, to)

    def _arrived(
        self, ways: PartialSequences, reading: int, state: int
    ) -> tuple[list[PartialSequences], PartialSequences]:
        """Ways that take an event of their instants and then are in a state: those that are complete, and
        those that can go on."""
        taken = self._taking(ways, reading)
        done = []
        if state in self.accepting:
            done = [PartialSequences(taken.end, taken.state, taken.instant, taken.weight, taken.rows)]
        end = self.ends[state][taken.instant]
        going = replace(taken, state=np.full(len(taken), state)).chosen(end <= self.furthest[taken.end])
        return done, going

    def _steps(self, ways: PartialSequences) -> Iterator[GapStep]:
        """What the ways can read next, and where."""
        for state in np.unique(ways.state).tolist():
            here = ways.chosen(ways.state == state)
            for _, reading, to in self.out_of.get(state, ()):
                high = np.minimum(self.furthest[here.end], self.next_until[here.instant])
                clear = self.clear[reading]
                if clear is not None:
                    high = np.minimum(high, self._first_blocked(clear)[here.instant])
                positions = self.emitted_at[reading]
                first = np.searchsorted(positions, here.instant + 1)
                count = np.maximum(np.searchsorted(positions, high, side="right") - first, 0)
                last = positions[first + count - 1] if len(positions) else here.instant
                size = int(count.sum())
                if clear is not None and self.tests.of[clear]:
                    size += int(np.where(count > 0, last - here.instant, 0).sum())
                if size:
                    yield GapStep(here, reading, to, first, count, last, size)

    def _first_blocked(self, clear: int) -> Ints:
        """For each instant the first one behind it that no event leaves clear, whatever was before."""
        blocked = np.append(np.flatnonzero(~self.line.is_emitted[clear]), self.line.size)
        found: Ints = blocked[np.searchsorted(blocked, np.arange(self.line.size) + 1)]
        return found

    def _moved_on(self, step: GapStep) -> PartialSequences:
        """The ways at the instants where they can take their next event."""
        which, places = spread(step.first, step.count)
        moved = replace(step.ways.chosen(which), instant=self.emitted_at[step.reading][places])
        clear = self.clear[step.reading]
        if clear is None or not self.tests.of[clear]:
            return moved
        return moved.chosen(moved.instant <= self._blocked(clear, step)[which])

    def _blocked(self, clear: int, step: GapStep) -> Ints:
        """For each way the first instant that none of its events leaves clear, given the events before."""
        between = np.where(step.count > 0, step.last - step.ways.instant - 1, 0)
        which, instants = spread(step.ways.instant + 1, between)
        pair, rows = self.line.emitters[clear].of(instants)
        met = self.tests.are_met(clear, step.ways.chosen(which[pair]), rows)
        is_clear = np.zeros(len(which), dtype=np.bool_)
        is_clear[pair[met]] = True
        found = np.full(len(step.ways), self.line.size)
        np.minimum.at(found, which[~is_clear], instants[~is_clear])
        return found

    def _earliest_ends(self, program: SequentialProgram, line: EventInstants) -> Ints:
        """For each state and instant: an instant before which no match ends that has its last event here;
        beyond all instants if none does."""
        size, automaton = line.size, program.automaton
        following = []
        for emitted in line.is_emitted:
            at = np.append(np.flatnonzero(emitted), size)
            after = at[np.searchsorted(at, np.arange(size) + 1)]
            following.append(np.where(after <= line.last_of_key, after, size))
        found = np.full((automaton.states, size + 1), size, dtype=np.int64)
        changed = True
        while changed:
            changed = False
            for source, reading, to in automaton.edges:
                after = following[reading]
                end = after if to in automaton.accepting else found[to][after]
                if (end < found[source][:size]).any():
                    changed = True
                    np.minimum(found[source][:size], end, out=found[source][:size])
        return found


@dataclass(frozen=True, eq=False)
class GapStep:
    """Ways that read something next, at one of the `count` instants from number `first` on at which that is
    emitted, the last of which is `last`; and how large that is."""

    ways: PartialSequences
    reading: int
    to: int
    first: Ints
    count: Ints
    last: Ints
    size: int


Arrays = Mapping[str, pa.Array]


@dataclass(frozen=True, eq=False)
class Matcher:
    """The events of complete instants, sorted by key and time, whose keys begin at `heads`."""

    program: SequentialProgram
    columns: Arrays
    heads: Ints

    def line(self) -> EventInstants:
        time = np.asarray(self.columns[TIME]).astype(np.int64, copy=False)
        return timeline(time, self._bits(), self.heads, len(self.program.alphabet))

    def _bits(self) -> Ints:
        """The symbols of each event: bit s of those that emit symbol s."""
        places = self.program.places
        if not places:
            return _numbers(self.columns[BITS])
        words = {name: _numbers(self.columns[name]) for name, _ in places}
        found = np.zeros(len(self.columns[TIME]), dtype=np.int64)
        for symbol, (name, number) in enumerate(places):
            found |= (words[name] >> number & 1) << symbol
        return found

    def matches(self, line: EventInstants, ends: Bools) -> Iterator[PartialSequences]:
        """The matches that end at these instants."""
        needed, events = tracked(self.program), self._events()
        program, line = without_certain_conditions(self.program, line, events)
        if program.eventually:
            yield from GapMatcher(program, line, needed, events).matches(ends)
        elif program.conditions:
            yield from ForwardMatcher(program, line, needed, events).matches(ends)
        else:
            yield from BackwardMatcher(program, line, needed).matches(ends)

    def _events(self) -> KernelEvents:
        names = {one.name for one in condition_columns(self.program)}
        none = np.zeros(0, dtype=np.int64)
        values = coded({name: self.columns[name] for name in names}, self.program.codings)
        return KernelEvents(none, none, none, {}, values, (none, none))


def _numbers(column: pa.Array) -> Ints:
    return np.asarray(column.fill_null(0)).astype(np.int64, copy=False)


def tracked(program: SequentialProgram) -> tuple[int | None, ...]:
    """The symbols whose last events are needed, by outputs or by conditions."""
    symbols = {one.symbol for one in program.outputs}
    for variable in (str(one.variable) for one in condition_columns(program)):
        if variable == PREVIOUS:
            symbols.add(None)
        elif variable.startswith(LAST):
            symbols.add(int(variable.removeprefix(LAST)))
    return tuple(sorted(symbols, key=lambda symbol: -1 if symbol is None else symbol))


def first_needed(program: SequentialProgram, line: EventInstants) -> Ints:
    """For each key the first of its instants that a match which ends after all of them can have, or its
    conditions can look at; where there is none, the instant behind its last one."""
    heads = np.flatnonzero(line.first)
    return np.maximum(heads, first_open(program, line) - program.back)


def first_open(program: SequentialProgram, line: EventInstants) -> Ints:
    """The same without what conditions look at."""
    heads, last = np.flatnonzero(line.first), np.flatnonzero(line.last)
    needed = heads if program.eventually else np.maximum(heads, _after_idle(program, line))
    if program.rows is not None:
        needed = np.maximum(needed, last + 2 - program.rows)
    inside = MatchWindow(line, program.reach, program.rows).lowest(np.minimum(needed, last), last)
    needed = np.where(needed > last, last + 1, inside)
    if program.eventually:
        needed = np.minimum(last + 1, _next_start(program, line, needed))
    return needed


def _after_idle(program: SequentialProgram, line: EventInstants) -> Ints:
    """For each key the instant behind the last one at which no match was under way."""
    edges: list[Edge] = [(source or None, symbol, to) for source, symbol, to in program.automaton.edges]
    going = sorted({source for source, _, _ in program.automaton.edges} - {0})
    starts = latest_starts(edges, program.automaton.states, line.first, line.is_emitted)[going]
    # What is open now was open at every instant since it started.
    idle = (starts < 0).all(axis=0)
    behind: Ints = np.where(idle, np.arange(1, line.size + 1), 0)
    return np.maximum.reduceat(behind, np.flatnonzero(line.first))


def _next_start(program: SequentialProgram, line: EventInstants, instants: Ints) -> Ints:
    """The first instant from each of these on at which a match can start."""
    starting = [line.is_emitted[reading] for source, reading, _ in program.automaton.edges if source == 0]
    can_start = np.logical_or.reduce(starting) if starting else np.zeros(line.size, dtype=np.bool_)
    at = np.append(np.flatnonzero(can_start), line.size)
    found: Ints = at[np.searchsorted(at, instants)]
    return found
