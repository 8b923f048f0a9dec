"""MATCH_RECOGNIZE_SEQUENTIAL, executed by its definition: universes, symbols, sequences that match.

A universe has one of the events of each instant, in the order of time, and each of its events has one of the
symbols that it emits, if any (JEPC thesis, 6.2 and 6.3.3.4). Matches are distinguished by their events and by
what is read at each, so universes are only followed from the first event of a match to its last. Of an
instant that the match has no event of, some event is meant, for each condition anew.

What a pattern reads at an event is a symbol, a negated symbol, or a conjunction of some (15.2.2). Where
symbols follow eventually, a negated symbol that stands alone reads nothing: it bars events in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from neelc.ir.bound_rows import Sequential
from neelc.ir.expressions import AtRow
from neelc.ir.node import walk
from neelc.ir.row_patterns import (
    RowAlternation,
    RowConjunction,
    RowEmpty,
    RowNegation,
    RowPattern,
    RowRepeat,
    RowSequence,
    RowVariable,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.question import length, size
from neelc.runtime.reference.recognize import MappedRow, Row, RowContext, value_at
from neelc.runtime.values.order import comparable, place_of

# What is left of a pattern once the first of what it reads has been read (partial derivatives).


def after(pattern: RowPattern, read: RowPattern) -> set[RowPattern]:
    """The patterns for the rest of a sequence that begins with `read`: one of them must match; none if the
    sequence cannot begin so.

    >>> a, b = RowVariable("A"), RowVariable("B")
    >>> sorted(map(str, after(RowSequence((RowRepeat(a, 0, None), b)), a)))
    ['A* B']
    >>> sorted(map(str, after(RowSequence((RowRepeat(a, 0, None), b)), b)))
    ['()']
    >>> after(a, b)
    set()
    """
    match pattern:
        case RowVariable() | RowConjunction() | RowNegation():
            return {RowEmpty()} if pattern == read else set()
        case RowAlternation(parts):
            return {way for part in parts for way in after(part, read)}
        case RowSequence((first, *others)):
            rest = RowSequence(tuple(others)) if others else RowEmpty()
            ways = {_then(way, rest) for way in after(first, read)}
            return ways | after(rest, read) if is_matched(first) else ways
        case RowRepeat(part, least, most):
            if most == 0:
                return set()
            fewer = RowRepeat(part, max(0, least - 1), None if most is None else most - 1)
            return {_then(way, fewer) for way in after(part, read)}
    return set()


def readings(pattern: RowPattern) -> set[RowPattern]:
    """What a pattern can read.

    >>> a, b = RowVariable("A"), RowVariable("B")
    >>> sorted(map(str, readings(RowSequence((a, RowConjunction((a, RowNegation(b))), RowNegation(b))))))
    ['!B', '(A, !B)', 'A']
    """
    match pattern:
        case RowVariable() | RowConjunction() | RowNegation():
            return {pattern}
        case RowSequence(parts) | RowAlternation(parts):
            return {one for part in parts for one in readings(part)}
        case RowRepeat(part):
            return readings(part)
    return set()


def symbols_of(read: RowPattern) -> tuple[str, ...]:
    """The symbols that are emitted where this is read."""
    parts = read.parts if isinstance(read, RowConjunction) else (read,)
    return tuple(part.name for part in parts if isinstance(part, RowVariable))


def barred_symbols(read: RowPattern) -> tuple[str, ...]:
    """The symbols that are not emitted where this is read."""
    parts = read.parts if isinstance(read, RowConjunction) else (read,)
    inner = (part.part for part in parts if isinstance(part, RowNegation))
    return tuple(one.name for one in inner if isinstance(one, RowVariable))


def is_matched(pattern: RowPattern) -> bool:
    """Whether a pattern matches what is no symbol at all.

    >>> is_matched(RowRepeat(RowVariable("A"), 0, 1)), is_matched(RowVariable("A"))
    (True, False)
    """
    match pattern:
        case RowSequence(parts):
            return all(map(is_matched, parts))
        case RowAlternation(parts):
            return any(map(is_matched, parts))
        case RowRepeat(part, least):
            return least == 0 or is_matched(part)
    return isinstance(pattern, RowEmpty)


def _then(first: RowPattern, rest: RowPattern) -> RowPattern:
    """One after the other, in one form whatever the parts are made of, so that equal rests are the same."""
    parts = (*_parts(first), *_parts(rest))
    if len(parts) == 1:
        return parts[0]
    return RowSequence(parts) if parts else RowEmpty()


def _parts(pattern: RowPattern) -> tuple[RowPattern, ...]:
    match pattern:
        case RowSequence(parts):
            return parts
        case RowEmpty() | RowRepeat(most=0):
            return ()
    return (pattern,)


MAX_SEQUENCES = 1_000_000
PAST_LAST = "PAST LAST EVENT"


@dataclass(frozen=True)
class TakenEvent:
    """An event of a match: its row number, the number of its instant, and what was read at it."""

    row: int
    instant: int
    read: RowPattern


@dataclass(frozen=True)
class SequentialMatch:
    """A match: its events in the order of time, and the measures."""

    events: tuple[TakenEvent, ...]
    values: tuple[object, ...]


def sequential(query: Sequential, rows: Sequence[Row], times: Sequence[int | None]) -> list[SequentialMatch]:
    """All matches in events with these times, in nanoseconds; what has no time is no event."""
    followed = [0]
    found: list[SequentialMatch] = []
    for instants in _partitions(query, rows, times):
        every = list(_Matcher(query, rows, times, instants, followed).matches())
        found += skipping(query, rows, every) if query.skip else every
    return found


def skipping(
    query: Sequential, rows: Sequence[Row], every: Sequence[SequentialMatch]
) -> list[SequentialMatch]:
    """AFTER MATCH SKIP, as of PATTERN: in the order of start and end, "TO NEXT EVENT: of those with the same
    start, the first", and "PAST LAST EVENT: a match is kept if it starts after the end of the last one kept".
    Of matches with the same start and end, the first by the values that their measures read."""
    assert query.skip is not None
    read = [node for one in query.measures for node in walk(one.expression) if isinstance(node, AtRow)]

    def place(match: SequentialMatch) -> tuple[object, ...]:
        mapped = _mapped(match.events)
        seen = RowContext([rows[one.row] for one in match.events], mapped, mapped, None)
        values = tuple(place_of(value_at(node, seen)) for node in read)
        return match.events[0].instant, match.events[-1].instant, values

    kept: list[SequentialMatch] = []
    for match in sorted(every, key=place):
        last = kept[-1].events if kept else None
        if last is None or match.events[0].instant > last[-1 if query.skip.kind == PAST_LAST else 0].instant:
            kept.append(match)
    return kept


Instants = Sequence[Sequence[int]]
"""The row numbers of the events of each instant, in the order of time."""


def _partitions(query: Sequential, rows: Sequence[Row], times: Sequence[int | None]) -> list[Instants]:
    groups: dict[object, dict[int, list[int]]] = {}
    for number, (row, time) in enumerate(zip(rows, times, strict=True)):
        if time is not None:
            key = tuple(comparable(row[name]) for name in query.partition)
            groups.setdefault(key, {}).setdefault(time, []).append(number)
    return [[group[time] for time in sorted(group)] for group in groups.values()]


Rest = frozenset[RowPattern]
"""What is left to be read: one of these."""
Barred = frozenset[RowPattern]
"""Negated symbols: no event in between emits one of them."""
Events = tuple[TakenEvent, ...]


class _Matcher:
    """Finds the matches of one partition. `followed` counts the events that were checked, in all of them."""

    def __init__(
        self,
        query: Sequential,
        rows: Sequence[Row],
        times: Sequence[int | None],
        instants: Instants,
        followed: list[int],
    ) -> None:
        self.query, self.rows, self.times, self.instants = query, rows, times, instants
        found = sorted(readings(query.pattern), key=str)
        is_bar = [query.following.eventually and isinstance(one, RowNegation) for one in found]
        self.bars = [one for one, bars in zip(found, is_bar, strict=True) if bars]
        self.reads = [one for one, bars in zip(found, is_bar, strict=True) if not bars]
        self.conditions = {one.variable: one.condition for one in query.definitions}
        self.followed = followed

    def matches(self) -> Iterator[SequentialMatch]:
        for first in range(len(self.instants)):
            yield from self._taking((), first, frozenset({self.query.pattern}))

    def _from(self, events: Events, rest: Rest) -> Iterator[SequentialMatch]:
        """The matches that begin with these events; one of `rest` is to be read after them."""
        if any(map(is_matched, rest)):
            yield SequentialMatch(events, self._measures(events))
        for barred, left in self._barred(rest).items():
            for instant in self._following(events, barred):
                yield from self._taking(events, instant, left)

    def _barred(self, rest: Rest) -> dict[Barred, Rest]:
        """The negated symbols that can be read next, without an event, with what is left then."""
        found: dict[Barred, set[RowPattern]] = {frozenset(): set(rest)}
        pending = [(frozenset[RowPattern](), pattern) for pattern in rest]
        while pending:
            barred, pattern = pending.pop()
            for bar in self.bars:
                more, known = barred | {bar}, found.setdefault(barred | {bar}, set())
                new = after(pattern, bar) - known
                known |= new
                pending += [(more, one) for one in new]
        return {barred: frozenset(left) for barred, left in found.items() if left}

    def _following(self, events: Events, barred: Barred) -> Iterator[int]:
        """The instants of which the next event can be."""
        within = self.query.following.within
        last = events[-1]
        for instant in range(last.instant + 1, len(self.instants)):
            if within is not None and self._distance(last.instant, instant) > length(within):
                return
            yield instant
            if not self.query.following.eventually or not self._is_clear(events, instant, barred):
                return

    def _is_clear(self, events: Events, instant: int, barred: Barred) -> bool:
        """Whether some event of an instant emits none of the symbols."""
        read = RowConjunction(tuple(barred))
        return any(self._emits(events, TakenEvent(row, instant, read)) for row in self.instants[instant])

    def _taking(self, events: Events, instant: int, rest: Rest) -> Iterator[SequentialMatch]:
        """The matches that go on with an event of the instant."""
        for row in self.instants[instant]:
            for read in self.reads:
                more = frozenset(way for pattern in rest for way in after(pattern, read))
                taken = TakenEvent(row, instant, read)
                if more and self._is_within((*events, taken)) and self._emits(events, taken):
                    yield from self._from((*events, taken), more)

    def _emits(self, events: Events, taken: TakenEvent) -> bool:
        """Whether an event that comes after the others emits what is read, whatever happened at the instants
        that the match has no event of."""
        self.followed[0] += 1
        if self.followed[0] > MAX_SEQUENCES:
            detail = f"there are many universes up to row {taken.row + 1}"
            raise LimitReached("MAX_SEQUENCES", MAX_SEQUENCES, detail)
        wanted, barred = symbols_of(taken.read), barred_symbols(taken.read)
        back = sorted({one for name in (*wanted, *barred) for one in self._back(name)})
        known = {one.instant: (one.row,) for one in events}
        before = [known.get(taken.instant - one, self._events_at(taken.instant - one)) for one in back]
        for chosen in product(*before):
            past = dict(zip(back, chosen, strict=True))
            if all(self._is_met(name, events, taken, past) for name in wanted) and not any(
                self._is_met(name, events, taken, past) for name in barred
            ):
                return True
        return False

    def _back(self, symbol: str) -> Iterator[int]:
        """How far PREV goes back in the condition of a symbol."""
        if symbol in self.conditions:
            for node in walk(self.conditions[symbol]):
                if isinstance(node, AtRow) and node.shift:
                    yield -node.shift

    def _events_at(self, instant: int) -> Sequence[int | None]:
        return self.instants[instant] if instant >= 0 else (None,)

    def _is_met(self, symbol: str, events: Events, taken: TakenEvent, past: dict[int, int | None]) -> bool:
        """Whether the condition of a symbol is TRUE of an event, with these events before it."""
        condition = self.conditions.get(symbol)
        if condition is None:
            return True
        none = dict.fromkeys(column.name for column in self.query.columns)
        furthest = max(past, default=0)
        numbers = [past.get(back) for back in range(furthest, 0, -1)]
        before = [none if number is None else self.rows[number] for number in numbers]
        rows = [*(self.rows[one.row] for one in events), *before, self.rows[taken.row]]
        mapped = [*_mapped(events), MappedRow(len(rows) - 1, symbol)]
        return value_at(condition, RowContext(rows, mapped, mapped, None)) is True

    def _is_within(self, events: Events) -> bool:
        within, first, last = self.query.within, events[0], events[-1]
        if within is None:
            return True
        if within.unit == "EVENT":
            return last.instant - first.instant < size(within)
        return self._distance(first.instant, last.instant) <= length(within)

    def _distance(self, first: int, last: int) -> int:
        """The time between two instants."""
        one, other = (self.times[self.instants[instant][0]] for instant in (first, last))
        assert one is not None and other is not None
        return other - one

    def _measures(self, events: Events) -> tuple[object, ...]:
        mapped = _mapped(events)
        seen = RowContext([self.rows[one.row] for one in events], mapped, mapped, None)
        return tuple(value_at(measure.expression, seen) for measure in self.query.measures)


def _mapped(events: Events) -> list[MappedRow]:
    """The events of a match, each with all the symbols that were read at it."""
    return [
        MappedRow(place, symbol)
        for place, one in enumerate(events)
        for symbol in symbols_of(one.read) or ("",)
    ]
