"""All matches, from their ends to their starts, where no condition depends on the events before.

What a match tells are the last events of symbols: read backwards, the first ones met. So a stretch in which a
closure has no choice is crossed in one step, and the time is that of the events and of the matches, however
long these are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neelc.runtime.sequential.labels import Edge, latest_starts
from neelc.runtime.sequential.program import SequentialProgram
from neelc.runtime.sequential.timeline import Bools, Ints, Timeline
from neelc.runtime.sequential.ways import ABSENT, Ways, Window, joined, pieces


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
        self.stops = {state: self._stops(state) for state in self.into}

    def matches(self, ends: Bools) -> Iterator[Ways]:
        """The matches that end at these instants."""
        for state in self.accepting:
            instants = np.flatnonzero(ends & self.window.holds(self.starts[state], np.arange(self.line.size)))
            waiting = list(pieces(self._beginning(instants, state)))
            while waiting:
                done, open_ways = self._step(waiting.pop())
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
            here = ways.chosen(ways.state == state)
            here = self._jumped(here, state)
            for source, symbol, _ in self.into.get(state, ()):
                taken = here.chosen(self._is_possible(here, source, symbol))
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

    def _stops(self, state: int) -> tuple[list[int], Ints] | None:
        """For a state that a closure goes round in: the places of its symbols that are tracked, and for each
        instant the last one up to it at which there is a choice."""
        loops = [symbol for source, symbol, to in self.into[state] if source == to]
        if not loops:
            return None
        line = self.line
        choices = np.sum([line.emitters[symbol].count for symbol in loops], axis=0)
        is_stop = line.first | (choices != 1)
        for source, symbol, to in self.into[state]:
            if source is None:
                is_stop |= line.is_emitted[symbol]
            elif source != to:
                before = np.concatenate([[ABSENT], self.starts[source][:-1]])[: line.size]
                is_stop |= line.is_emitted[symbol] & (before >= 0)
        stops = np.maximum.accumulate(np.where(is_stop, np.arange(line.size), 0))
        wanted = [place for place, one in enumerate(self.tracked) if one is None or one in loops]
        return wanted, stops

    def _jumped(self, ways: Ways, state: int) -> Ways:
        stops = self.stops.get(state)
        if stops is None:
            return ways
        wanted, last_stop = stops
        may_jump = (ways.rows[:, wanted] != ABSENT).all(axis=1)
        instant = np.where(may_jump, last_stop[ways.instant], ways.instant)
        return Ways(instant, ways.state, ways.end, ways.weight, ways.rows)
