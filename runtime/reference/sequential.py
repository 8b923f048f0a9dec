"""MATCH_RECOGNIZE_SEQUENTIAL, executed by its definition: universes, symbols, sequences that match.

A universe has one of the events of each instant, in the order of time, and each of its events has one of the
symbols that it emits, if any (JEPC thesis, 6.2 and 6.3.3.4). Matches are distinguished by their events and
symbols, so universes are only followed from the first event of a match to its last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neelc.ir.bound_rows import Sequential
from neelc.ir.node import walk
from neelc.ir.row_patterns import RowAlternation, RowEmpty, RowPattern, RowRepeat, RowSequence, RowVariable
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.question import length, size
from neelc.runtime.reference.recognize import MappedRow, Row, RowContext, value_at
from neelc.runtime.values.order import comparable

# What is left of a pattern over symbols once its first symbol has been read (partial derivatives).


def after(pattern: RowPattern, symbol: str) -> set[RowPattern]:
    """The patterns for the rest of a sequence that begins with `symbol`: one of them must match; none if the
    sequence cannot begin so.

    >>> a, b = RowVariable("A"), RowVariable("B")
    >>> sorted(map(str, after(RowSequence((RowRepeat(a, 0, None), b)), "A")))
    ['A* B']
    >>> sorted(map(str, after(RowSequence((RowRepeat(a, 0, None), b)), "B")))
    ['()']
    >>> after(a, "B")
    set()
    """
    match pattern:
        case RowVariable(name):
            return {RowEmpty()} if name == symbol else set()
        case RowAlternation(parts):
            return {way for part in parts for way in after(part, symbol)}
        case RowSequence((first, *others)):
            rest = RowSequence(tuple(others)) if others else RowEmpty()
            ways = {_then(way, rest) for way in after(first, symbol)}
            return ways | after(rest, symbol) if is_matched(first) else ways
        case RowRepeat(part, least, most):
            if most == 0:
                return set()
            fewer = RowRepeat(part, max(0, least - 1), None if most is None else most - 1)
            return {_then(way, fewer) for way in after(part, symbol)}
    return set()


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


@dataclass(frozen=True)
class SequentialMatch:
    """A match: the events in the order of time, by their row numbers, the symbol of each, the measures."""

    rows: tuple[int, ...]
    symbols: tuple[str, ...]
    values: tuple[object, ...]


def sequential(query: Sequential, rows: Sequence[Row], times: Sequence[int | None]) -> list[SequentialMatch]:
    """All matches in events with these times, in nanoseconds; what has no time is no event."""
    matcher = _Matcher(query, rows, times)
    return [match for instants in _partitions(query, rows, times) for match in matcher.matches(instants)]


Instants = Sequence[Sequence[int]]
"""The row numbers of the events of each instant, in the order of time."""


def _partitions(query: Sequential, rows: Sequence[Row], times: Sequence[int | None]) -> list[Instants]:
    groups: dict[object, dict[int, list[int]]] = {}
    for number, (row, time) in enumerate(zip(rows, times, strict=True)):
        if time is not None:
            key = tuple(comparable(row[name]) for name in query.partition)
            groups.setdefault(key, {}).setdefault(time, []).append(number)
    return [[group[time] for time in sorted(group)] for group in groups.values()]


class _Matcher:
    def __init__(self, query: Sequential, rows: Sequence[Row], times: Sequence[int | None]) -> None:
        self.query = query
        self.rows = rows
        self.times = times
        self.symbols = sorted({n.name for n in walk(query.pattern) if isinstance(n, RowVariable)})
        self.conditions = {one.variable: one.condition for one in query.definitions}
        self.followed = 0

    def matches(self, instants: Instants) -> Iterator[SequentialMatch]:
        for first in range(len(instants)):
            yield from self._from((), (), frozenset({self.query.pattern}), instants[first:])

    def _from(
        self, rows: tuple[int, ...], symbols: tuple[str, ...], rest: frozenset[RowPattern], instants: Instants
    ) -> Iterator[SequentialMatch]:
        """The matches that begin with these events; `rest` of the pattern is to be matched at `instants`."""
        if rows and any(map(is_matched, rest)):
            yield SequentialMatch(rows, symbols, self._measures(rows, symbols))
        for row in instants[0] if instants else ():
            for symbol in self.symbols:
                more = frozenset(way for pattern in rest for way in after(pattern, symbol))
                if more and self._emits((*rows, row), (*symbols, symbol)):
                    yield from self._from((*rows, row), (*symbols, symbol), more, instants[1:])

    def _emits(self, rows: tuple[int, ...], symbols: tuple[str, ...]) -> bool:
        """Whether the last of the events emits its symbol, after the others, and still is in the window."""
        self.followed += 1
        if self.followed > MAX_SEQUENCES:
            detail = f"there are many universes from row {rows[0] + 1} on"
            raise LimitReached("MAX_SEQUENCES", MAX_SEQUENCES, detail)
        condition = self.conditions.get(symbols[-1])
        seen = self._seen(rows, symbols)
        return self._is_within(rows) and (condition is None or value_at(condition, seen) is True)

    def _is_within(self, rows: tuple[int, ...]) -> bool:
        within = self.query.within
        if within is None:
            return True
        if within.unit == "EVENT":
            return len(rows) <= size(within)
        first, last = self.times[rows[0]], self.times[rows[-1]]
        assert first is not None and last is not None
        return last - first <= length(within)

    def _seen(self, rows: tuple[int, ...], symbols: tuple[str, ...]) -> RowContext:
        mapped = [MappedRow(place, symbol) for place, symbol in enumerate(symbols)]
        return RowContext([self.rows[row] for row in rows], mapped, mapped, None)

    def _measures(self, rows: tuple[int, ...], symbols: tuple[str, ...]) -> tuple[object, ...]:
        seen = self._seen(rows, symbols)
        return tuple(value_at(measure.expression, seen) for measure in self.query.measures)
