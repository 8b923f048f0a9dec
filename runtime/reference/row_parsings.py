"""The ways to read rows as a row pattern, the preferred one first: the standard's ordered set of parsings.

A parsing is a list of rows, one after the other, each mapped to a variable whose condition it meets. They are
tried one by one, in the order of preference, so that the first that is found is the match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from neelc.ir import rows as r
from neelc.runtime.reference.row_values import Mapped

Parsing = tuple[Mapped, ...]
Judge = Callable[[Parsing], bool]
"""Whether the last row of a parsing meets the condition of its variable."""


@dataclass(frozen=True)
class Parser:
    """Reads the rows from `start` on; the partition has `count` rows."""

    start: int
    count: int
    judge: Judge
    excluded: bool = False

    def parsings(self, pattern: r.RowPattern, before: Parsing = ()) -> Iterator[Parsing]:
        """Every way to read the pattern after the rows of `before`, the preferred way first."""
        row = self.start + len(before)
        match pattern:
            case r.RowVariable(name):
                if row < self.count:
                    longer = (*before, Mapped(row, name, self.excluded))
                    if self.judge(longer):
                        yield longer
            case r.RowSequence(parts):
                yield from self._sequence(parts, before)
            case r.RowAlternation(parts):
                for part in parts:
                    yield from self.parsings(part, before)
            case r.RowPermute(parts):
                for order in permutations(parts):
                    yield from self._sequence(order, before)
            case r.RowRepeat():
                yield from self._repeated(pattern, 0, before)
            case r.RowExclusion(part):
                yield from replace(self, excluded=True).parsings(part, before)
            case r.RowAnchor(kind):
                if row == (0 if kind == "^" else self.count):
                    yield before
            case r.RowEmpty():
                yield before

    def _sequence(self, parts: tuple[r.RowPattern, ...], before: Parsing) -> Iterator[Parsing]:
        if not parts:
            yield before
            return
        for first in self.parsings(parts[0], before):
            yield from self._sequence(parts[1:], first)

    def _repeated(self, repeat: r.RowRepeat, done: int, before: Parsing) -> Iterator[Parsing]:
        """A greedy quantifier prefers one more time, a reluctant one prefers to stop. A time that is not
        needed takes a row: else there would be no end of them."""
        enough = done >= repeat.least
        if enough and repeat.reluctant:
            yield before
        if repeat.most is None or done < repeat.most:
            for longer in self.parsings(repeat.part, before):
                if len(longer) > len(before) or not enough:
                    yield from self._repeated(repeat, done + 1, longer)
        if enough and not repeat.reluctant:
            yield before
