"""The ways to read rows as a row pattern, the preferred one first: the standard's ordered set of parsings.

A parsing is a list of rows, one after the other, each mapped to a variable whose condition it meets. They are
tried one by one, in the order of preference, so that the first that is found is the match.

A part can often be read in several ways that come to the same: `(A+)+` reads ten rows of A in 512 ways. What
can follow depends on the rows that were read and on their variables, and not on how the part was divided. So
of those ways the first one is tried, and no other: it is preferred, and if nothing fits behind it, nothing
fits behind the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from neelc.ir import rows as r
from neelc.runtime.reference.row_values import Mapped

Parsing = tuple[Mapped, ...]
Judge = Callable[[Parsing], bool]
"""Whether the last row of a parsing meets the condition of its variable."""
Reached = set[Hashable]
"""Where a part was read up to, and what was read."""


def variables(parsing: Parsing) -> Hashable:
    """What conditions can know of the rows that were read: their variables. Rows come one after the other."""
    return tuple(one.variable for one in parsing)


@dataclass(frozen=True)
class Parser:
    """Reads the rows from `start` on; the partition has `count` rows. `known` is what conditions can know of
    what was read, besides its first row: parsings that are equal in it have the same continuations."""

    start: int
    count: int
    judge: Judge
    excluded: bool = False
    known: Callable[[Parsing], Hashable] = variables

    def parsings(self, pattern: r.RowPattern, before: Parsing = ()) -> Iterator[Parsing]:
        """The ways to read the pattern after the rows of `before`, the preferred way first; of several that
        have the same continuations, the preferred one."""
        reached: Reached = set()
        for found in self._all(pattern, before):
            if self._is_new(0, found, reached):
                yield found

    def _is_new(self, place: int, parsing: Parsing, reached: Reached) -> bool:
        """Whether a place of the pattern is reached for the first time with such a parsing."""
        key = (place, self.known(parsing))
        if key in reached:
            return False
        reached.add(key)
        return True

    def _all(self, pattern: r.RowPattern, before: Parsing) -> Iterator[Parsing]:
        row = self.start + len(before)
        match pattern:
            case r.RowVariable(name):
                if row < self.count:
                    longer = (*before, Mapped(row, name, self.excluded))
                    if self.judge(longer):
                        yield longer
            case r.RowSequence(parts):
                yield from self._sequence(parts, before, set())
            case r.RowAlternation(parts):
                for part in parts:
                    yield from self.parsings(part, before)
            case r.RowPermute(parts):
                for order in permutations(parts):
                    yield from self._sequence(order, before, set())
            case r.RowRepeat():
                yield from self._repeated(pattern, 0, before, set())
            case r.RowExclusion(part):
                yield from replace(self, excluded=True).parsings(part, before)
            case r.RowAnchor(kind):
                if row == (0 if kind == "^" else self.count):
                    yield before
            case r.RowEmpty():
                yield before

    def _sequence(
        self, parts: tuple[r.RowPattern, ...], before: Parsing, reached: Reached
    ) -> Iterator[Parsing]:
        if not parts:
            yield before
            return
        for first in self.parsings(parts[0], before):
            if self._is_new(len(parts), first, reached):
                yield from self._sequence(parts[1:], first, reached)

    def _repeated(
        self, repeat: r.RowRepeat, done: int, before: Parsing, reached: Reached
    ) -> Iterator[Parsing]:
        """A greedy quantifier prefers one more time, a reluctant one prefers to stop. A time that is not
        needed takes a row: else there would be no end of them. Without an upper bound it is the same how
        often a part was read, once that is enough."""
        if not self._is_new(min(done, repeat.least) if repeat.most is None else done, before, reached):
            return
        enough = done >= repeat.least
        if enough and repeat.reluctant:
            yield before
        if repeat.most is None or done < repeat.most:
            for longer in self.parsings(repeat.part, before):
                if len(longer) > len(before) or not enough:
                    yield from self._repeated(repeat, done + 1, longer, reached)
        if enough and not repeat.reluctant:
            yield before
