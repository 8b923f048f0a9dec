"""All matches, from their starts to their ends, where conditions depend on the events before.

That is the table of active instances of the JEPC thesis (9.2.3), for all starts at the same time. Instances
that cannot be told apart any more are one that stands for several.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neelc.runtime.failures import COUNT_OVERFLOW, Facts, KernelFailure
from neelc.runtime.kernels.events import Events
from neelc.runtime.kernels.operations import Lookup, holds
from neelc.runtime.sequential.labels import Edge, latest_starts
from neelc.runtime.sequential.program import CURRENT, LAST, PREVIOUS, SequentialProgram
from neelc.runtime.sequential.timeline import Bools, Ints, Timeline, reversed_in_time
from neelc.runtime.sequential.ways import ABSENT, HEAVIEST, Ways, Window, joined, pieces

FEW = 1_000
"""So many instances are not worth the search for equal ones."""


class Forward:
    """Finds the matches of a program; `tracked` are the symbols whose last events are wanted or asked for,
    None for the last event of all. `Ways.end` is the start of a way here: the end that is known."""

    def __init__(
        self, program: SequentialProgram, line: Timeline, tracked: tuple[int | None, ...], events: Events
    ) -> None:
        self.line, self.tracked, self.events = line, tracked, events
        automaton = program.automaton
        self.accepting = frozenset(automaton.accepting)
        self.out_of = {
            source: [e for e in automaton.edges if e[0] == source] for source, *_ in automaton.edges
        }
        self.tests = {
            symbol: [one.test for one in program.conditions if one.symbol == symbol]
            for symbol in range(len(program.names))
        }
        self.window = Window(program, line)
        self.ends = _earliest_ends(program, line)

    def matches(self, ends: Bools) -> Iterator[Ways]:
        """The matches that end at these instants."""
        instants = np.flatnonzero(self._can_go_on(0, np.arange(self.line.size), np.arange(self.line.size)))
        rows = np.full((len(instants), len(self.tracked)), ABSENT, dtype=np.int64)
        every = Ways(instants, np.zeros_like(instants), instants, np.ones_like(instants), rows)
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

    def _step(self, ways: Ways) -> Iterator[tuple[Ways, Ways]]:
        done, going = [], []
        for state in np.unique(ways.state).tolist():
            here = ways.chosen(ways.state == state)
            for _, symbol, to in self.out_of.get(state, ()):
                taken = self._taking(here.chosen(self.line.is_emitted[symbol][here.instant]), symbol)
                if not len(taken):
                    continue
                if to in self.accepting:
                    inside = taken.chosen(self.window.holds(taken.end, taken.instant))
                    done.append(Ways(inside.end, inside.state, inside.instant, inside.weight, inside.rows))
                going.append(self._moved(taken, to))
        if going:
            finished = joined(done) if done else going[0].chosen(np.zeros(0, dtype=np.int64))
            yield finished, joined(going)

    def _moved(self, ways: Ways, state: int) -> Ways:
        """At the next instant of the key, if the match can be completed from there."""
        if state not in self.out_of:
            return ways.chosen(np.zeros(0, dtype=np.int64))
        ways = ways.chosen(~self.line.last[ways.instant])
        moved = Ways(ways.instant + 1, np.full(len(ways), state), ways.end, ways.weight, ways.rows)
        return moved.chosen(self._can_go_on(state, moved.instant, moved.end))

    def _taking(self, ways: Ways, symbol: int) -> Ways:
        emitters = self.line.emitters[symbol]
        wanted = [place for place, one in enumerate(self.tracked) if one is None or one == symbol]
        if not wanted and not self.tests[symbol]:
            return ways.times(emitters.count[ways.instant])
        which, rows = emitters.of(ways.instant)
        ways = ways.chosen(which)
        for test in self.tests[symbol]:
            met = holds(test, self._seen(ways, rows), self.events, len(ways))
            ways, rows = ways.chosen(met), rows[met]
        for place in wanted:
            ways = ways.tracking(place, rows)
        return ways

    def _seen(self, ways: Ways, rows: Ints) -> Lookup:
        def lookup(name: str) -> Ints:
            if name == CURRENT:
                return rows
            symbol = None if name == PREVIOUS else int(name.removeprefix(LAST))
            return ways.rows[:, self.tracked.index(symbol)]

        return lookup


def _earliest_ends(program: SequentialProgram, line: Timeline) -> Ints:
    """For each state and instant: the earliest instant at which a match can end that takes this one next."""
    automaton = program.automaton
    edges: list[Edge] = [
        (source, symbol, to)
        for to, symbol, end in automaton.edges
        for source in ((end, None) if end in automaton.accepting else (end,))
    ]
    first, is_emitted = reversed_in_time(line)
    found = latest_starts(edges, automaton.states, first, is_emitted)[:, ::-1]
    return np.where(found >= 0, line.size - 1 - found, ABSENT)


def _merged(ways: Ways) -> Ways:
    """Ways that differ in nothing that is asked for are one."""
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
        raise KernelFailure(Facts(COUNT_OVERFLOW, "more matches than a BIGINT can count"))
    return Ways(kept.instant, kept.state, kept.end, weight, kept.rows)
