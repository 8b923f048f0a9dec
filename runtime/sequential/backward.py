"""All matches, from their ends to their starts, where no condition depends on the events before.

What a match tells are the last events of symbols: read backwards, the first ones met. So a stretch in which a
closure has no choice is crossed in one step, and the time is that of the events and of the matches, however
long these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from neelc.runtime.sequential.labels import Edge, latest_starts
from neelc.runtime.sequential.program import SequentialProgram
from neelc.runtime.sequential.timeline import Bools, Ints, Timeline, spread
from neelc.runtime.sequential.ways import ABSENT, MOST_TOGETHER, Ways, Window, joined, pieces


@dataclass(frozen=True, eq=False)
class Stretches:
    """Of a state that a closure goes round in: the tracked places of its symbols; for each instant the first
    of those up to it between which there is no choice but to go round; the instants at which other states
    lead to this one."""

    wanted: list[int]
    begin: Ints
    entries: Ints


class Backward:
    """Finds the matches of a program without conditions; `tracked` are the symbols whose last events are
    wanted, None for the last event of all."""

    def __init__(self, program: SequentialProgram, line: Timeline, tracked: tuple[int | None, ...]) -> None:
        self.line, self.tracked = line, tracked
        self.accepting = program.automaton.accepting
        self.edges: list[Edge] = [
            (source or None, symbol, to) for source, symbol, to in program.automaton.edges
        ]
        self.starts = latest_starts(self.edges, program.automaton.states, line.first, line.is_emitted)
        self.window = Window(program, line)
        self.into = {edge[2]: [one for one in self.edges if one[2] == edge[2]] for edge in self.edges}
        self.stretches = {state: self._stretches(state) for state in self.into}

    def matches(self, ends: Bools) -> Iterator[Ways]:
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

    def _beginning(self, instants: Ints, state: int) -> Ways:
        states = np.full(len(instants), state)
        rows = np.full((len(instants), len(self.tracked)), ABSENT, dtype=np.int64)
        return Ways(instants, states, instants, np.ones_like(instants), rows)

    def _step(self, ways: Ways) -> tuple[list[Ways], list[Ways]]:
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
                    going.append(Ways(taken.instant - 1, states, taken.end, taken.weight, taken.rows))
        return done, going

    def _is_possible(self, ways: Ways, source: int | None, symbol: int) -> Bools:
        possible = self.line.is_emitted[symbol][ways.instant]
        if source is None:
            return possible & self.window.holds(ways.instant, ways.end)
        possible = possible & ~self.line.first[ways.instant]
        return possible & self.window.holds(self.starts[source][ways.instant - 1], ways.end)

    def _taking(self, ways: Ways, symbol: int) -> Ways:
        """The ways with an event of the symbol: with each one if it is wanted which, else with any."""
        emitters = self.line.emitters[symbol]
        wanted = [place for place, one in enumerate(self.tracked) if one is None or one == symbol]
        is_open = np.zeros(len(ways), dtype=np.bool_)
        for place in wanted:
            is_open |= ways.rows[:, place] == ABSENT
        closed = ways.chosen(~is_open)
        closed = closed.times(emitters.count[closed.instant])
        opened = ways.chosen(is_open)
        which, rows = emitters.of(opened.instant)
        opened = opened.chosen(which)
        for place in wanted:
            known = opened.rows[:, place]
            opened = opened.tracking(place, np.where(known == ABSENT, rows, known))
        return joined([closed, opened])

    def _stretches(self, state: int) -> Stretches | None:
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
        wanted = [place for place, one in enumerate(self.tracked) if one is None or one in loops]
        return Stretches(wanted, begin, np.flatnonzero(is_entry))

    def _along(self, ways: Ways, state: int) -> tuple[Ways, Ways]:
        """Ways in a state, those in a closure gone round as long as there is no choice: where they are then,
        and before that at each instant at which they could come from elsewhere, and then must."""
        stretches = self.stretches.get(state)
        if stretches is None:
            return ways, ways.chosen(np.zeros(0, dtype=np.int64))
        may_go = (ways.rows[:, stretches.wanted] != ABSENT).all(axis=1)
        staying, going = ways.chosen(~may_go), ways.chosen(may_go)
        first, count = self._entries(going, stretches)
        which, places = spread(first, count)
        leaving = replace(going.chosen(which), instant=stretches.entries[places])
        return joined([staying, replace(going, instant=stretches.begin[going.instant])]), leaving

    def _entries(self, ways: Ways, stretches: Stretches) -> tuple[Ints, Ints]:
        """The first of the entries that each way comes by inside the window, and how many there are."""
        begin = stretches.begin[ways.instant]
        low = np.maximum(begin + 1, self.window.lowest(begin, ways.end))
        first = np.searchsorted(stretches.entries, low)
        count = np.searchsorted(stretches.entries, ways.instant, side="right") - first
        return first, np.maximum(count, 0)

    def _entering(self, ways: Ways) -> int:
        """How many ways there would be one step further, because of closures."""
        found = 0
        for state, stretches in self.stretches.items():
            if stretches is not None:
                found += int(self._entries(ways.chosen(ways.state == state), stretches)[1].sum())
        return found
