"""Which matches are certain, though more events may come.

A run that ends with the last event of its stream may end there, or go on after all that is known. A match
is certain if it is there, and valid at the same time, in all these cases, and no run of a negated symbol that
spoils it can come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np

from neelc.runtime.columns import LAST_TIME, Bools, Ints
from neelc.runtime.kernels.temporal.matching import (
    RunBindings,
    RunMatcher,
    RunRanges,
    TemporalMatches,
    later,
    partner,
)
from neelc.runtime.kernels.temporal.program import (
    AbsentRun,
    RunPart,
    TemporalAlternative,
    TemporalConstraint,
    TemporalProgram,
)
from neelc.runtime.kernels.temporal.runs import ABSENT, TemporalEvents
from neelc.runtime.kernels.temporal.words import codes_of


class CertainMatcher(RunMatcher):
    """Finds the matches that are certain. The events of a key that `is_final` are all that it has. Of the
    others all are known up to the time `now`.

    Once all are found, `pending` is for each key the least start of the matches that would be there if
    nothing came any more, but are not certain.
    """

    def __init__(self, program: TemporalProgram, events: TemporalEvents, is_final: Bools, now: Ints) -> None:
        super().__init__(program, events)
        self.is_final, self.now = is_final, now
        self.pending = np.full(len(is_final), LAST_TIME)
        self.never = self.line.size
        """Behind all instants that are known. Numbers after it are instants after that."""

    def matches(self) -> Iterator[TemporalMatches]:
        """All that are certain, each once."""
        for found in super().matches():
            certain = self._is_certain(found)
            waiting = found.bindings.first[~certain]
            np.minimum.at(self.pending, self.key[waiting], self.time[waiting])
            if certain.any():
                yield found.chosen(certain)

    def _is_certain(self, matches: TemporalMatches) -> Bools:
        bound = matches.bindings
        key = self.key[bound.first]
        is_final = self.is_final[key]
        if is_final.all():
            return is_final
        found = is_final | (matches.time <= self.now[key])
        for symbol in self._closed & set(bound.is_open):
            found &= is_final | ~bound.is_open[symbol]
        alternatives = [one for _, one in self.alike(matches.alternative)]
        if len(alternatives) == 1:
            found &= is_final | self._is_in_time(alternatives[0], bound, matches.time)
        mattering = {symbol: self._matters(symbol, bound, alternatives) for symbol in bound.is_open}
        for symbols in _subsets([symbol for symbol, matters in mattering.items() if matters.any()]):
            able = found & ~is_final
            if not able.any():
                break
            for symbol in symbols:
                able &= mattering[symbol]
            places = np.flatnonzero(able)
            if len(places):
                part = self._going_on(bound.chosen(places), symbols)
                found[places] = self._is_same(part, alternatives, matches.time[places])
        return found

    # There are as many cases as sets of open runs, but relations are between two. Most ends do not matter
    # to any relation, whatever the others do, and need not be tried; most that make one undo a relation.

    def _is_in_time(self, alternative: TemporalAlternative, bound: RunBindings, time: Ints) -> Bools:
        """Whether each relation by itself and duration holds and is decided by a time, whichever of its
        runs go on. What is certain is so, if there is no other alternative."""
        found = np.ones(len(bound), dtype=np.bool_)
        for symbol in alternative.symbols:
            if self.program.symbols[symbol].most is not None:
                found &= ~bound.is_open[symbol]
        for one in alternative.constraints:
            for symbols in _subsets([one.first, one.second]):
                is_case = np.ones(len(bound), dtype=np.bool_)
                for symbol in symbols:
                    is_case &= bound.is_open[symbol]
                if is_case.any():
                    allowed, decided = self._formed(one, self._going_on(bound, symbols))
                    found &= ~is_case | (allowed & (decided <= time))
        return found

    def _matters(self, symbol: int, bound: RunBindings, alternatives: Sequence[TemporalAlternative]) -> Bools:
        """Whether it can make a difference that the open runs of a symbol go on: to a duration, a negated
        symbol, or a relation, whether the other run of that goes on or not."""
        is_open = bound.is_open[symbol]
        found = np.zeros(len(bound), dtype=np.bool_)
        if not is_open.any():
            return found
        for alternative in alternatives:
            related = (one for absent in alternative.absent for one in absent.constraints)
            if self.program.symbols[symbol].most is not None or _concerns(related, symbol):
                return is_open
            for one in alternative.constraints:
                if symbol in (one.first, one.second):
                    other = partner(one, symbol)
                    found |= self._differs(one, symbol, bound)
                    if bound.is_open[other].any():
                        goes_on = self._differs(one, symbol, self._going_on(bound, [other]))
                        found |= goes_on & bound.is_open[other]
        return found & is_open

    def _differs(self, one: TemporalConstraint, symbol: int, bound: RunBindings) -> Bools:
        """Whether a relation is another, or decided at another time, if the runs of a symbol go on."""
        allowed, decided = self._formed(one, bound)
        still, later_decided = self._formed(one, self._going_on(bound, [symbol]))
        found: Bools = (allowed != still) | (allowed & (decided != later_decided))
        return found

    def _formed(self, one: TemporalConstraint, bound: RunBindings) -> tuple[Bools, Ints]:
        """Whether a relation holds, and when that is decided."""
        points, table = bound.points(one), self._table(one)
        codes = codes_of(*points)
        return table.allows(codes), self.time[table.decided(codes, points)]

    @cached_property
    def _closed(self) -> frozenset[int]:
        """The symbols whose ends must be known: events there are named, or all of a run."""
        return self._ended | {event.symbol for event in self.named if event.part is RunPart.END}

    def _going_on(self, bound: RunBindings, symbols: Sequence[int]) -> RunBindings:
        """The bindings, if the runs of some symbols go on."""
        changed = {symbol: np.full(len(bound), self.never) for symbol in symbols}
        return replace(bound, end={**bound.end, **changed})

    def _is_same(self, bound: RunBindings, alternatives: Sequence[TemporalAlternative], time: Ints) -> Bools:
        """Whether matches, as they are bound, are there and valid at these times, whatever comes."""
        possible, certain = np.full(len(bound), LAST_TIME), np.full(len(bound), LAST_TIME)
        for alternative in alternatives:
            holds, decided = self._judged(alternative, bound)
            possible = np.where(holds, np.minimum(possible, decided), possible)
            for absent in alternative.absent:
                places = np.flatnonzero(holds)
                can_come = self._can_come(absent, bound.chosen(places), decided[places])
                holds = holds.copy()
                holds[places[can_come]] = False
            certain = np.where(holds, np.minimum(certain, decided), certain)
        is_known = certain <= self.now[self.key[bound.first]]
        valid = self._valid(alternatives[0], bound, certain)
        found: Bools = is_known & (possible == certain) & (valid == time)
        return found

    # Runs of negated symbols that may come.

    def _can_come(self, absent: AbsentRun, bound: RunBindings, decided: Ints) -> Bools:
        """Whether a run of a negated symbol could still come, or the last one go on, inside the scope. Each
        of its constraints is judged by itself."""
        symbol = self.program.symbols[absent.symbol]
        now, end = self.now[self.key[bound.first]], self._scope_end(bound)
        room = np.where(end > now, end.view(np.uint64) - now.view(np.uint64), np.uint64(0))
        least = np.uint64(max(0, symbol.least or 0))
        most = np.uint64(LAST_TIME if symbol.most is None else max(0, symbol.most))
        every = np.arange(len(bound))
        begins = np.full(len(bound), self.never + 1)
        found = np.zeros(len(bound), dtype=np.bool_)
        if symbol.is_interval:
            going = self._open_runs(absent, bound)
            for which, begun in going:
                lasted = self.time[begun].view(np.uint64)
                soonest = now[which].view(np.uint64) + np.uint64(1) - lasted
                latest = end[which].view(np.uint64) - lasted
                fits = (room[which] >= 1) & (soonest <= most) & (latest >= least)
                fits &= begun >= self._scope(bound, decided)[0][which]
                fits &= self._could_form(absent, bound, which, begun, False)
                found[which[fits]] = True
            # The next run is not the same one: there is an instant between them.
            busy = [which for which, _ in going if self.runs(absent.symbol) is not None]
            for which in busy:
                room[which] -= np.minimum(room[which], np.uint64(1))
            shortest = max(least, np.uint64(1))
            if most >= shortest:
                is_room = room >= np.uint64(1) + shortest
                found |= is_room & self._could_form(absent, bound, every, begins, False)
        if least == 0:  # a point
            found |= (room >= 1) & self._could_form(absent, bound, every, begins, True)
        return found

    def _scope_end(self, bound: RunBindings) -> Ints:
        if self.program.reach is None:
            return np.full(len(bound), LAST_TIME)
        return later(self.time[bound.first], self.program.reach)

    def _open_runs(self, absent: AbsentRun, bound: RunBindings) -> list[tuple[Ints, Ints]]:
        """Which bindings have a run of a negated symbol in their key that may go on, and its start."""
        if self.runs(absent.symbol) is not None:
            begun = self._open_starts(absent.symbol)[self.key[bound.first]]
            which = np.flatnonzero(begun != ABSENT)
            return [(which, begun[which])]
        low, high = self._key_ends(bound.first)
        every = self._dependent(bound, absent.symbol, RunRanges(low, high, low, high))
        return [(one.which[one.runs.is_open], one.runs.start[one.runs.is_open]) for one in every]

    def _open_starts(self, symbol: int) -> Ints:
        """For each key the start of the last run of a symbol, if it may go on, however long it lasts."""
        stream = self.events.stream(symbol)
        found = np.full(len(self.is_final), ABSENT)
        is_true = self.events.all_meet(symbol)
        before = np.append(False, is_true[:-1])[: len(is_true)]
        begins = np.where(is_true & (stream.is_first | ~before), np.arange(len(is_true)), 0)
        last = np.flatnonzero(is_true & stream.is_last)
        start = stream.instants[np.maximum.accumulate(begins)[last]]
        found[self.key[start]] = start
        return found

    def _could_form(
        self, absent: AbsentRun, bound: RunBindings, which: Ints, begun: Ints, is_point: bool
    ) -> Bools:
        """Whether runs that end after all that is known could form one of the words with each that is
        bound."""
        own = (begun, begun if is_point else np.full(len(which), self.never + 3))
        found = np.ones(len(which), dtype=np.bool_)
        for constraint in absent.constraints:
            other = partner(constraint, absent.symbol)
            start, end = bound.start[other][which], bound.end[other][which]
            found &= self._could_form_with(constraint, absent.symbol, own, start, end)
        return found

    def _could_form_with(
        self, constraint: TemporalConstraint, symbol: int, own: tuple[Ints, Ints], start: Ints, end: Ints
    ) -> Bools:
        unknown = end >= self.never
        found = self.forms(constraint, symbol, own, (start, end))
        if unknown.any():
            # It is before, at, between or behind the ends of the run that may come.
            for place in range(1, 5):
                others = (start, np.where(unknown, self.never + place, end))
                found |= self.forms(constraint, symbol, own, others)
        return found


def _concerns(constraints: Iterable[TemporalConstraint], symbol: int) -> bool:
    """Whether one of them is about a symbol."""
    return any(symbol in (one.first, one.second) for one in constraints)


def _subsets(symbols: Sequence[int]) -> Iterator[list[int]]:
    """All subsets of some symbols, the empty one first.

    >>> list(_subsets([2, 5]))
    [[], [5], [2], [2, 5]]
    """
    for chosen in product((False, True), repeat=len(symbols)):
        yield [symbol for symbol, is_chosen in zip(symbols, chosen, strict=True) if is_chosen]
