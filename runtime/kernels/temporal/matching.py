"""The matches of events in memory: joins of runs, by the order of their end points.

The runs of a symbol in a key are in the order of their starts and of their ends. So a word that a run forms
with one that is bound leaves a range of numbers of runs, which a binary search finds; several words leave the
hull of theirs, of which the exact ones are chosen afterwards. There is no loop over events or matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Bools, Ints
from neelc.runtime.failures import MAX_PARTIAL, KernelError
from neelc.runtime.kernels.sequential.matching import spread
from neelc.runtime.kernels.temporal.program import (
    BACK,
    CURRENT,
    END_OF,
    START_OF,
    AbsentRun,
    RunEvent,
    RunPart,
    TemporalAlternative,
    TemporalConstraint,
    TemporalProgram,
    Word,
    columns_read,
    events_read,
)
from neelc.runtime.kernels.temporal.runs import (
    MATCHED,
    SPOILING,
    StreamInstants,
    SymbolRuns,
    TemporalEvents,
)
from neelc.runtime.kernels.temporal.words import Codes, Hull, WordTable, codes_of
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import joint_numbers
from neelc.runtime.program import EventName

MOST_TOGETHER = 1 << 19
"""As many partial matches are made at once."""

MOST_PARTIAL = 500_000_000
"""As many partial matches are tried in one search."""


def later(time: Ints, by: int) -> Ints:
    """Times after others; no later than the last there is."""
    return np.minimum(time, LAST_TIME - by) + by


def before_by(time: Ints, by: int) -> Ints:
    """Times before others; no earlier than the first there is."""
    return np.maximum(time, FIRST_TIME + by) - by


class KeyTimes:
    """The instants of each key that are not before a time, or not after it."""

    def __init__(self, time: Ints, key: Ints) -> None:
        first, last = int(time.min()), int(time.max())
        self.origin = first
        self.low, self.high = max(FIRST_TIME, first - 1), min(LAST_TIME, last + 1)
        self.ranks: Ints | None = None
        joint = joint_numbers(key, time, gap=2)
        if joint is None:  # times so far apart that they are numbered
            self.ranks = np.unique(time)
            self.width = len(self.ranks) + 2
            joint = key * self.width + np.searchsorted(self.ranks, time)
        else:
            self.width = last - first + 3
        self.joint = joint

    def first_from(self, key: Ints, time: Ints) -> Ints:
        """The first instant of a key that is not before a time; behind the key, if there is none."""
        found: Ints = np.searchsorted(self.joint, self._number(key, time, "left"), side="left")
        return found

    def last_until(self, key: Ints, time: Ints) -> Ints:
        """The last instant of a key that is not after a time; before the key, if there is none."""
        found: Ints = np.searchsorted(self.joint, self._number(key, time, "right"), side="right") - 1
        return found

    def _number(self, key: Ints, time: Ints, side: str) -> Ints:
        if self.ranks is not None:
            rank = np.searchsorted(self.ranks, time, side="left" if side == "left" else "right")
            return key * self.width + (rank if side == "left" else rank - 1)
        return key * self.width + (np.clip(time, self.low, self.high) - self.origin)


@dataclass(frozen=True, eq=False)
class RunBindings:
    """Partial matches: for each symbol that they have, the ends of its run as numbers of instants, and
    whether it may go on; the events that conditions or outputs name. `first` and `last` are the least and the
    greatest of the starts, `decided` is the time at which all that was checked is decided."""

    start: Mapping[int, Ints]
    end: Mapping[int, Ints]
    is_open: Mapping[int, Bools]
    row: Mapping[RunEvent, Ints]
    first: Ints
    last: Ints
    decided: Ints

    def __len__(self) -> int:
        return len(self.first)

    def chosen(self, which: Ints | Bools | slice) -> RunBindings:
        if isinstance(which, np.ndarray) and which.dtype == np.bool_:
            if which.all():
                return self
            which = np.flatnonzero(which)
        return RunBindings(
            {symbol: column[which] for symbol, column in self.start.items()},
            {symbol: column[which] for symbol, column in self.end.items()},
            {symbol: column[which] for symbol, column in self.is_open.items()},
            {event: column[which] for event, column in self.row.items()},
            self.first[which],
            self.last[which],
            self.decided[which],
        )

    def points(self, constraint: TemporalConstraint) -> tuple[Ints, Ints, Ints, Ints]:
        """The end points of the two runs of a constraint."""
        one, other = constraint.first, constraint.second
        return self.start[one], self.end[one], self.start[other], self.end[other]


RunEnds = tuple[Ints, Ints]
"""The starts and the ends of runs, as numbers of instants."""


@dataclass(frozen=True, eq=False)
class RunCandidates:
    """Runs for some of the bindings: `which` they are for, in order."""

    which: Ints
    runs: SymbolRuns


@dataclass(frozen=True, eq=False)
class RunRanges:
    """The instants between which a run must start, and those between which it must end."""

    first_start: Ints
    last_start: Ints
    first_end: Ints
    last_end: Ints


@dataclass(frozen=True, eq=False)
class TemporalMatches:
    """Matches with the symbols of an alternative, and the times at which they are valid."""

    alternative: TemporalAlternative
    bindings: RunBindings
    time: Ints

    def __len__(self) -> int:
        return len(self.time)

    def chosen(self, which: Bools | Ints | slice) -> TemporalMatches:
        return TemporalMatches(self.alternative, self.bindings.chosen(which), self.time[which])


class RunMatcher:
    """Finds the matches of a program among events, which are all that there are."""

    def __init__(self, program: TemporalProgram, events: TemporalEvents) -> None:
        self.program, self.events = program, events
        self.line, self.time, self.key = events.line, events.time, events.key
        self.independent: dict[tuple[int, int], SymbolRuns] = {}
        self.tables: dict[tuple[Word, ...], WordTable] = {}
        self.tried = 0

    def runs(self, symbol: int, role: int = MATCHED) -> SymbolRuns | None:
        """The runs of a symbol that match, or spoil matches; None if they depend on other symbols."""
        if self.events.conditions[symbol][1]:
            return None
        known = (symbol, MATCHED if self.events.roles is None else role)
        if known not in self.independent:
            self.independent[known] = self.events.runs(*known)
        return self.independent[known]

    @cached_property
    def times(self) -> KeyTimes:
        return KeyTimes(self.line.time, self.key)

    def matches(self) -> Iterator[TemporalMatches]:
        """Each once."""
        for number, alternative in enumerate(self.program.alternatives):
            for bound in self._complete(alternative, 0, self._begun(alternative)):
                events = [event for event in self.named if event.symbol in alternative.symbols]
                for whole in self._with_events(events, bound):
                    found = self._checked(number, alternative, whole)
                    if len(found):
                        yield found

    def alike(self, alternative: TemporalAlternative) -> list[tuple[int, TemporalAlternative]]:
        """The alternatives with the same symbols, itself included, by number."""
        symbols = set(alternative.symbols)
        return [one for one in enumerate(self.program.alternatives) if set(one[1].symbols) == symbols]

    def _checked(self, number: int, alternative: TemporalAlternative, found: RunBindings) -> TemporalMatches:
        """The matches among the bindings that an alternative of some number has found, but for those that one
        before it finds."""
        found = found.chosen(self._is_inside(found, found.decided))
        if alternative.absent:
            found = found.chosen(self._is_absent(alternative, found, found.decided))
        decided = found.decided
        for place, other in self.alike(alternative):
            if place != number:
                holds, time = self._judged(other, found)
                decided = np.where(holds & (time < decided), time, decided)
                if place < number:
                    found, decided = found.chosen(~holds), decided[~holds]
        return TemporalMatches(alternative, found, self._valid(alternative, found, decided))

    # Joins.

    def _begun(self, alternative: TemporalAlternative) -> Iterator[RunBindings]:
        symbol = alternative.symbols[0]
        runs = self.runs(symbol)
        assert runs is not None, "the first symbol depends on no other"
        for low in range(0, len(runs), MOST_TOGETHER):
            some = slice(low, low + MOST_TOGETHER)
            start, end = runs.start[some], runs.end[some]
            row = {} if runs.row is None else {RunEvent(symbol, RunPart.START): runs.row[some]}
            decided = self._lasting(symbol, start, end)
            yield RunBindings(
                {symbol: start}, {symbol: end}, {symbol: runs.is_open[some]}, row, start, start, decided
            )

    def _complete(
        self, alternative: TemporalAlternative, place: int, parts: Iterator[RunBindings]
    ) -> Iterator[RunBindings]:
        """The partial matches with the symbols behind a place, too."""
        for part in parts:
            if not len(part):
                continue
            if place + 1 == len(alternative.symbols):
                yield part
            else:
                yield from self._complete(alternative, place + 1, self._joined(alternative, place + 1, part))

    def _joined(
        self, alternative: TemporalAlternative, place: int, bound: RunBindings
    ) -> Iterator[RunBindings]:
        """Partial matches with the next symbol."""
        symbol, before = alternative.symbols[place], alternative.symbols[:place]
        constraints = [
            one
            for one in alternative.constraints
            if {one.first, one.second} <= {symbol, *before} and symbol in (one.first, one.second)
        ]
        for part in self._with_events(self._named_by(symbol), bound):
            ranges = self._inside(part, self._ranges(part, symbol, constraints))
            for found in self._candidates(part, symbol, ranges):
                yield self._extended(part, symbol, constraints, found)

    def _extended(
        self,
        bound: RunBindings,
        symbol: int,
        constraints: Sequence[TemporalConstraint],
        found: RunCandidates,
    ) -> RunBindings:
        """The bindings with the candidates that form one of the words with them."""
        which, runs = found.which, found.runs

        def column(of: Mapping[int, Ints], own: Ints, number: int) -> Ints:
            return own if number == symbol else of[number][which]

        allowed = np.ones(len(which), dtype=np.bool_)
        decided = np.maximum(bound.decided[which], self._lasting(symbol, runs.start, runs.end))
        for one in constraints:
            points = tuple(
                column(of, own, number)
                for number in (one.first, one.second)
                for of, own in ((bound.start, runs.start), (bound.end, runs.end))
            )
            table = self._table(one)
            codes: Codes = codes_of(*points)
            allowed &= table.allows(codes)
            decided = np.maximum(decided, self.time[table.decided(codes, points)])
        first = np.minimum(bound.first[which], runs.start)
        if self.program.reach is not None:
            allowed &= self._is_near(self.time[first], decided)
        chosen = np.flatnonzero(allowed)
        runs, part, first = runs.chosen(chosen), bound.chosen(which[chosen]), first[chosen]
        row = dict(part.row)
        if runs.row is not None:
            row[RunEvent(symbol, RunPart.START)] = runs.row
        return RunBindings(
            {**part.start, symbol: runs.start},
            {**part.end, symbol: runs.end},
            {**part.is_open, symbol: runs.is_open},
            row,
            first,
            np.maximum(part.last, runs.start),
            decided[chosen],
        )

    def _lasting(self, symbol: int, start: Ints, end: Ints) -> Ints:
        """The times at which it is known that a symbol's runs have begun and last as long as they do."""
        definition = self.program.symbols[symbol]
        if definition.most is not None:
            return self.time[end]
        if definition.least is not None and definition.least > 0:
            return later(self.time[start], definition.least)
        return self.time[start]

    def _table(self, constraint: TemporalConstraint) -> WordTable:
        if constraint.words not in self.tables:
            self.tables[constraint.words] = WordTable(constraint.words)
        return self.tables[constraint.words]

    def _ranges(
        self, bound: RunBindings, symbol: int, constraints: Sequence[TemporalConstraint]
    ) -> RunRanges:
        """Where runs of a symbol must start and end to form one of the words of each constraint."""
        low, high = self._key_ends(bound.first)
        found = RunRanges(low, high, low, high)
        for one in constraints:
            is_first = one.first != symbol
            table, other = self._table(one), one.first if is_first else one.second
            start, end = bound.start[other], bound.end[other]
            hulls = table.hulls if is_first else table.mirrored_hulls
            found = _cut(found, start, end, hulls)
        return found

    def _key_ends(self, instant: Ints) -> tuple[Ints, Ints]:
        first = self.line.heads[self.key[instant]]
        return first, first + self.line.sizes[self.key[instant]] - 1

    def _inside(self, bound: RunBindings, ranges: RunRanges) -> RunRanges:
        """What of the ranges is inside the window of the bindings."""
        reach = self.program.reach
        if reach is None:
            return ranges
        key = self.key[bound.first]
        high = self.times.last_until(key, later(self.time[bound.first], reach))
        low = self.times.first_from(key, before_by(np.maximum(bound.decided, self.time[bound.last]), reach))
        return replace(
            ranges,
            first_start=np.maximum(ranges.first_start, low),
            last_start=np.minimum(ranges.last_start, high),
        )

    def _is_near(self, start: Ints, end: Ints) -> Bools:
        reach = self.program.reach
        assert reach is not None
        # In order, so that the distance cannot overflow without a sign.
        return end.view(np.uint64) - start.view(np.uint64) <= np.uint64(reach)

    def _is_inside(self, bound: RunBindings, decided: Ints) -> Bools:
        """Whether the window holds."""
        if self.program.reach is None:
            return np.ones(len(bound), dtype=np.bool_)
        return self._is_near(self.time[bound.first], decided)

    def _candidates(
        self, bound: RunBindings, symbol: int, ranges: RunRanges, role: int = MATCHED
    ) -> Iterator[RunCandidates]:
        """All runs of a symbol in the ranges, and maybe more, for the bindings."""
        runs = self.runs(symbol, role)
        if runs is None:
            definition = self.program.symbols[symbol]
            for found in self._dependent(bound, symbol, ranges):
                lasting = np.flatnonzero(self.events.lasts(definition, found.runs.start, found.runs.end))
                yield RunCandidates(found.which[lasting], found.runs.chosen(lasting))
            return
        first = np.searchsorted(runs.start, ranges.first_start)
        behind = np.searchsorted(runs.start, ranges.last_start, side="right")
        if self.program.symbols[symbol].is_interval:
            first = np.maximum(first, np.searchsorted(runs.end, ranges.first_end))
            behind = np.minimum(behind, np.searchsorted(runs.end, ranges.last_end, side="right"))
        for which, places in self._spread(first, np.maximum(behind - first, 0)):
            yield RunCandidates(which, runs.chosen(places))

    def _spread(self, first: Ints, count: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Numbers from each first one on, not too many at once: which they belong to, and the numbers."""
        for some in self._some(count):
            which, places = spread(first[some], count[some])
            if len(places) <= MOST_TOGETHER:
                yield which + some.start, places
                continue
            for low in range(0, len(places), MOST_TOGETHER):
                part = slice(low, low + MOST_TOGETHER)
                yield which[part] + some.start, places[part]

    def _some(self, count: Ints) -> Iterator[slice]:
        """Slices of things that each have so many parts, such that together these are not too many."""
        total = np.cumsum(count)
        if len(total):
            self._try(int(total[-1]))
        low = done = 0
        while low < len(total) and done < int(total[-1]):
            high = max(low + 1, int(np.searchsorted(total, done + MOST_TOGETHER, side="right")))
            yield slice(low, high)
            low, done = high, int(total[high - 1])

    def _try(self, count: int) -> None:
        self.tried += count
        if self.tried > MOST_PARTIAL:
            message = (
                f"more than {MOST_PARTIAL} partial matches are tried for the rows that are searched at once"
            )
            raise KernelError(MAX_PARTIAL, message, number=self.tried, limit=MOST_PARTIAL)

    # Symbols whose conditions depend on others: their runs, for each partial match.

    def _named_by(self, symbol: int) -> tuple[RunEvent, ...]:
        return events_read(self.events.conditions[symbol][1])

    def _floor(self, bound: RunBindings, symbol: int) -> Ints:
        """The first instant at which all that a symbol's conditions name is set."""
        floor = bound.first * 0
        for event in self._named_by(symbol):
            if event.part is RunPart.START and self.program.symbols[event.symbol].is_interval:
                floor = np.maximum(floor, bound.start[event.symbol])
            else:
                floor = np.maximum(floor, bound.end[event.symbol] + 1)
        return floor

    def _dependent(self, bound: RunBindings, symbol: int, ranges: RunRanges) -> Iterator[RunCandidates]:
        """The runs of such a symbol that start in the ranges, however long they last."""
        stream = self.events.stream(symbol)
        if not len(stream.instants):
            return
        high = np.minimum(ranges.last_start, self._key_ends(bound.first)[1])
        floor = np.minimum(self._floor(bound, symbol), self.line.size)
        low = np.minimum(np.maximum(floor, ranges.first_start), self.line.size)
        events = np.maximum(stream.events_before[high + 1] - stream.events_before[low], 0)
        for some in self._some(events + 1):
            part = bound.chosen(some)
            if self.program.symbols[symbol].is_interval:
                found = self._dependent_runs(part, symbol, stream, floor[some], low[some], high[some])
            else:
                found = self._dependent_points(part, symbol, stream, low[some], high[some])
            yield RunCandidates(found.which + some.start, found.runs)

    def _dependent_points(
        self, bound: RunBindings, symbol: int, stream: StreamInstants, low: Ints, high: Ints
    ) -> RunCandidates:
        which, rows = stream.events_between(np.minimum(low, high + 1), high)
        met = self._meets(bound, symbol, which, rows)
        which, rows = which[met], rows[met]
        instant = self.line.of_row[rows]
        return RunCandidates(which, SymbolRuns(instant, instant, np.zeros(len(rows), np.bool_), rows))

    def _meets(self, bound: RunBindings, symbol: int, which: Ints, rows: Ints) -> Bools:
        """Whether events meet the whole condition of a symbol, given what some bindings have."""
        found = self.events.meets_alone(symbol)[rows].copy()
        places = np.flatnonzero(found)
        named: dict[EventName, Ints] = {}
        for column in columns_read(self.events.conditions[symbol][1]):
            name = str(column.variable)
            if name != CURRENT and not name.startswith(BACK):
                named[name] = bound.row[self._event(name)][which[places]]
        tests = self.events.conditions[symbol][1]
        found[places] = self.events.are_met(symbol, tests, rows[places], named)
        return found

    def _event(self, name: str) -> RunEvent:
        """The event that a condition names."""
        is_start = name.startswith(START_OF)
        symbol = int(name.removeprefix(START_OF if is_start else END_OF))
        part = RunPart.START if is_start or not self.program.symbols[symbol].is_interval else RunPart.END
        return RunEvent(symbol, part)

    def _are_true(
        self, bound: RunBindings, symbol: int, stream: StreamInstants, which: Ints, places: Ints
    ) -> Bools:
        """Whether all events at instants of a stream meet the condition."""
        instants = stream.instants[places]
        pair, rows = stream.events_at(instants)
        met = self._meets(bound, symbol, which[pair], rows)
        if len(rows) == len(places):
            return met
        found: Bools = np.logical_and.reduceat(met, np.flatnonzero(np.diff(pair, prepend=-1)))
        return found

    def _dependent_runs(
        self, bound: RunBindings, symbol: int, stream: StreamInstants, floor: Ints, low: Ints, high: Ints
    ) -> RunCandidates:
        # One instant more than those at which runs may start: it shows whether one had begun before.
        begin = stream.instants_before[floor]
        first = np.maximum(begin, stream.instants_before[low] - 1)
        last = stream.instants_before[high + 1] - 1
        which, places = spread(first, np.maximum(last - first + 1, 0))
        is_true = self._are_true(bound, symbol, stream, which, places)
        is_new = np.diff(which, prepend=-1) != 0
        is_last = np.append(is_new[1:], True)[: len(which)]
        before = np.append(False, is_true[:-1])[: len(which)] & ~is_new
        after = np.append(is_true[1:], False)[: len(which)] & ~is_last
        begins, ends = np.flatnonzero(is_true & ~before), np.flatnonzero(is_true & ~after)
        # A run may have begun before the first of several instants, unless nothing is set there.
        is_whole = ~is_new[begins] | (first == begin)[which[begins]]
        begins, ends = begins[is_whole], ends[is_whole]
        of, start, end = which[begins], places[begins], places[ends].copy()
        going = np.flatnonzero(is_last[ends])
        end[going] = self._ends(bound, symbol, stream, of[going], end[going])
        is_open = stream.last_of_key[end] == end
        return RunCandidates(of, SymbolRuns(stream.instants[start], stream.instants[end], is_open))

    def _ends(
        self, bound: RunBindings, symbol: int, stream: StreamInstants, which: Ints, places: Ints
    ) -> Ints:
        """The last instants of runs that go on at these."""
        found = places.copy()
        going, width = np.arange(len(places)), 4
        while len(going):
            left = stream.last_of_key[found[going]] - found[going]
            going = going[left > 0]
            count = np.minimum(left[left > 0], width)
            self._try(int(count.sum()))
            pair, next_places = spread(found[going] + 1, count)
            is_true = self._are_true(bound, symbol, stream, which[going][pair], next_places)
            # As many as are true before the first that is not.
            first_false = count.copy()
            false = np.flatnonzero(~is_true)
            begin = np.cumsum(count) - count
            np.minimum.at(first_false, pair[false], false - begin[pair[false]])
            found[going] += first_false
            going = going[first_false == count]
            width *= 2
        return found

    # Events that are named.

    @cached_property
    def named(self) -> tuple[RunEvent, ...]:
        """The events of runs that outputs or conditions name."""
        outputs = (RunEvent(one.symbol, one.part) for one in self.program.outputs)
        tests = [test for symbol in self.program.symbols for test in symbol.conditions]
        named = {one for one in (*outputs, *events_read(tests)) if one.part is not RunPart.ALL}
        return tuple(sorted(named, key=lambda one: (one.symbol, one.part)))

    def _with_events(self, events: Sequence[RunEvent], bound: RunBindings) -> Iterator[RunBindings]:
        """The bindings with each of the events that are meant, in every combination."""
        if not events:
            yield bound
            return
        for part in self._with_event(events[0], bound):
            yield from self._with_events(events[1:], part)

    def _with_event(self, event: RunEvent, bound: RunBindings) -> Iterator[RunBindings]:
        symbol = event.symbol
        if not self.program.symbols[symbol].is_interval or event in bound.row:
            yield bound
            return
        is_start = event.part is RunPart.START
        at = bound.start[symbol] if is_start else bound.end[symbol]
        other = RunEvent(symbol, RunPart.END if is_start else RunPart.START)
        stream = self.events.stream(symbol)
        begin = stream.events_before[at]
        count = stream.events_before[at + 1] - begin
        if other in bound.row:  # of a run of one instant, one event is the first and the last
            count = np.where(bound.start[symbol] == bound.end[symbol], 1, count)
        for which, places in self._spread(begin, count):
            part, rows = bound.chosen(which), stream.rows[places]
            if other in bound.row:
                rows = np.where(part.start[symbol] == part.end[symbol], part.row[other], rows)
            yield replace(part, row={**part.row, event: rows})

    # Whole matches.

    def _judged(self, alternative: TemporalAlternative, bound: RunBindings) -> tuple[Bools, Ints]:
        """Whether an alternative with the same symbols holds, and when that is decided."""
        holds, decided = self._decided(alternative, bound)
        if alternative.absent:
            holds = holds.copy()
            places = np.flatnonzero(holds)
            part = bound.chosen(places)
            holds[places] = self._is_absent(alternative, part, decided[places])
        return holds, decided

    def _decided(self, alternative: TemporalAlternative, bound: RunBindings) -> tuple[Bools, Ints]:
        """The same, of all but negated symbols."""
        holds = np.ones(len(bound), dtype=np.bool_)
        decided = self.time[bound.last]
        for symbol in alternative.symbols:
            start, end = bound.start[symbol], bound.end[symbol]
            decided = np.maximum(decided, self._lasting(symbol, start, end))
            holds &= self.events.lasts(self.program.symbols[symbol], start, end)
        for one in alternative.constraints:
            points, table = bound.points(one), self._table(one)
            codes = codes_of(*points)
            holds &= table.allows(codes)
            decided = np.maximum(decided, self.time[table.decided(codes, points)])
        return holds & self._is_inside(bound, decided), decided

    def _valid(self, alternative: TemporalAlternative, bound: RunBindings, decided: Ints) -> Ints:
        """When rows are valid: when their ends are known that outputs read, too."""
        for symbol in self._ended & set(alternative.symbols):
            decided = np.maximum(decided, self.time[bound.end[symbol]])
        return decided

    @cached_property
    def _ended(self) -> frozenset[int]:
        """The symbols whose ends outputs read."""
        return frozenset(one.symbol for one in self.program.outputs if one.part is not RunPart.START)

    # Negated symbols.

    def _is_absent(self, alternative: TemporalAlternative, bound: RunBindings, decided: Ints) -> Bools:
        """Whether no run of a negated symbol is there."""
        found = np.ones(len(bound), dtype=np.bool_)
        for absent in alternative.absent:
            places = np.flatnonzero(found)
            if not len(places):
                break
            found[places] = ~self._is_there(absent, bound.chosen(places), decided[places])
        return found

    def _scope(self, bound: RunBindings, decided: Ints) -> tuple[Ints, Ints]:
        """The first and the last instant of the scope of matches."""
        low, high = self._key_ends(bound.first)
        reach = self.program.reach
        if reach is None:
            return low, high
        key = self.key[bound.first]
        first = self.times.first_from(key, before_by(decided, reach))
        last = self.times.last_until(key, later(self.time[bound.first], reach))
        return np.maximum(first, low), np.minimum(last, high)

    def _is_there(self, absent: AbsentRun, bound: RunBindings, decided: Ints) -> Bools:
        """Whether a run of a negated symbol is inside the scope."""
        low, high = self._scope(bound, decided)
        ranges = self._ranges(bound, absent.symbol, absent.constraints)
        ranges = RunRanges(
            np.maximum(ranges.first_start, low),
            np.minimum(ranges.last_start, high),
            np.maximum(ranges.first_end, low),
            np.minimum(ranges.last_end, high),
        )
        found = np.zeros(len(bound), dtype=np.bool_)
        for one in self._candidates(bound, absent.symbol, ranges, SPOILING):
            which, runs = one.which, one.runs
            hit = (runs.start >= low[which]) & (runs.end <= high[which])
            for constraint in absent.constraints:
                other = partner(constraint, absent.symbol)
                others = (bound.start[other][which], bound.end[other][which])
                hit &= self.forms(constraint, absent.symbol, (runs.start, runs.end), others)
            found[which[hit]] = True
        return found

    def forms(self, constraint: TemporalConstraint, symbol: int, own: RunEnds, others: RunEnds) -> Bools:
        """Whether runs of a symbol form one of the words with other runs."""
        points = (*own, *others) if constraint.first == symbol else (*others, *own)
        return self._table(constraint).allows(codes_of(*points))


def partner(constraint: TemporalConstraint, symbol: int) -> int:
    """The other symbol that a constraint is about."""
    return constraint.second if constraint.first == symbol else constraint.first


def _cut(ranges: RunRanges, start: Ints, end: Ints, hulls: tuple[Hull | None, ...]) -> RunRanges:
    """The ranges without what is outside of the hulls around runs: that of intervals and that of points."""
    is_point = start == end
    if hulls[0] == hulls[1] or not is_point.any():
        return _cut_by(ranges, start, end, hulls[0])
    if is_point.all():
        return _cut_by(ranges, start, end, hulls[1])
    intervals, points = (_cut_by(ranges, start, end, hull) for hull in hulls)
    return RunRanges(
        np.where(is_point, points.first_start, intervals.first_start),
        np.where(is_point, points.last_start, intervals.last_start),
        np.where(is_point, points.first_end, intervals.first_end),
        np.where(is_point, points.last_end, intervals.last_end),
    )


def _cut_by(ranges: RunRanges, start: Ints, end: Ints, hull: Hull | None) -> RunRanges:
    if hull is None:
        nothing = np.full(len(start), -1)
        return replace(ranges, last_start=nothing)

    def least(known: Ints, region: int) -> Ints:
        if region == 0:
            return known
        return np.maximum(known, (start, start + 1, end, end + 1)[region - 1])

    def most(known: Ints, region: int) -> Ints:
        if region == 4:
            return known
        return np.minimum(known, (start - 1, start, end - 1, end)[region])

    return RunRanges(
        least(ranges.first_start, hull.least_start),
        most(ranges.last_start, hull.most_start),
        least(ranges.first_end, hull.least_end),
        most(ranges.last_end, hull.most_end),
    )
