"""The smallest relaxations of a query that would match from a start, each tried on the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from neelc.ir.conjuncts import names_in
from neelc.ir.logical import Match
from neelc.ir.node import Node, transform
from neelc.ir.parts import all_parts
from neelc.ir.pattern import Exists, Pattern, Repeat, Window
from neelc.reasons.asking import Asker, Steps
from neelc.reasons.judging import size
from neelc.reasons.relaxing import Change, changed, without
from neelc.reasons.requirements import ANY, NEXT, Requirement, requirements
from neelc.reasons.texts import window_of, window_size
from neelc.runtime.reference.model import Binding, Event, LimitReached
from neelc.runtime.reference.question import Question

MAX_CHANGES = 2
"""How many requirements are dropped at once beside those that must be dropped in any case."""
MAX_TRIES = 200
"""How many relaxations are tried for one start."""
MAX_CANDIDATES_OF_RELAXATIONS = 5_000
"""How many bindings all these tries together may go through: what is told beside the verdict is not worth a
long wait."""
MAX_WIDENING = 8
"""How many times as large windows are tried in any case."""

MONOTONE = ("condition", "same", "partition", "window")
"""What can only take matches away: if it allows no match alone, it must go."""


@dataclass(frozen=True)
class Relaxation:
    """Requirements that are dropped or widened, the query that remains, and a match of it.

    `match` is the query that is relaxed: paths of requirements lead through its pattern.
    """

    requirements: tuple[Requirement, ...]
    change: Change
    match: Match
    relaxed: Match
    binding: Binding


@dataclass(frozen=True)
class Relaxations:
    """All relaxations of the least size. `is_complete` is False if there was too much to try them all;
    `is_missing` if no choice of events has the types and the order of the pattern."""

    found: tuple[Relaxation, ...] = ()
    is_complete: bool = True
    is_missing: bool = False


@dataclass(frozen=True, eq=False)
class Relaxing:
    """A query, a start from which it has no match, and the variable that the start is bound to."""

    asker: Asker
    match: Match
    start: Event
    first: str | None
    steps: Steps = field(default_factory=lambda: Steps(MAX_CANDIDATES_OF_RELAXATIONS))

    def smallest(self) -> Relaxations:
        """The relaxations with the fewest changes."""
        asked = requirements(self.match)
        if self.is_there(shortened(without(replace(self.match, strategy=ANY), asked))) is False:
            return Relaxations(is_missing=True)
        needed = tuple(one for one in asked if one.kind in MONOTONE and self.must_go(one, asked))
        rest = [one for one in asked if one not in needed]
        is_complete, tries = True, 0
        for more in range(0 if needed else 1, MAX_CHANGES + 1):
            found: list[Relaxation] = []
            for chosen in combinations(rest, more):
                tries += 1
                if tries > MAX_TRIES:
                    return Relaxations(tuple(found), False)
                try:
                    found += self.relaxed(tuple(one for one in asked if one in (*needed, *chosen)))
                except LimitReached:
                    is_complete = False
            if found:
                return Relaxations(tuple(found), is_complete)
        return Relaxations(is_complete=False)

    def is_there(self, match: Match) -> bool | None:
        """Whether a query has a match from the start; None if that would take too long."""
        try:
            return self.asker.first(match, self.start, self.first, self.steps) is not None
        except LimitReached:
            return None

    def must_go(self, one: Requirement, asked: Sequence[Requirement]) -> bool:
        """Whether nothing would match even if this were all that is required.

        Whatever a strategy chooses is a choice of SKIP TILL ANY MATCH, so it is judged under that.
        """
        alone = without(replace(self.match, strategy=ANY), [other for other in asked if other != one])
        lists = {part.variable for part in all_parts(alone.pattern) if isinstance(part, Repeat)}
        return self.is_there(alone if names_in(one.expression) & lists else shortened(alone)) is False

    def relaxed(self, chosen: tuple[Requirement, ...]) -> list[Relaxation]:
        """The query with these requirements relaxed as little as possible, if it has a match then."""
        for strategy in _strategies(self.match, chosen):
            for change in self.changes(chosen, strategy):
                relaxed = changed(self.match, change)
                binding = self.asker.first(relaxed, self.start, self.first, self.steps)
                if binding is not None:
                    return [Relaxation(chosen, change, self.match, relaxed, binding)]
        return []

    def changes(self, chosen: tuple[Requirement, ...], strategy: str) -> Iterator[Change]:
        """Ways to relax the requirements, the narrowest windows first."""
        windows = [one for one in chosen if one.window is not None]
        dropped = frozenset(chosen)
        if not windows:
            yield Change(dropped, strategy=strategy)
        for sizes in self.sizes(windows, dropped, strategy) if windows else ():
            pairs = zip(windows, sizes, strict=True)
            yield Change(
                dropped, {one: window_of(wide, one.window) for one, wide in pairs if one.window}, strategy
            )

    def sizes(
        self, windows: Sequence[Requirement], dropped: frozenset[Requirement], strategy: str
    ) -> Iterator[tuple[int, ...]]:
        """The sizes that the windows have in matches without negations, the smallest first.

        A match that is as long as its window is in the narrowest scopes that it can be in: no other size of
        the window needs to be tried for it. Windows grow step by step, so that the nearest matches are found
        before there are too many.
        """
        negations = frozenset(one for one in requirements(self.match) if one.kind == "negation")
        asked = self.asker.question(self.match)
        tried = {tuple(window_size(one.window) for one in windows if one.window)}
        for wide in self.widenings(windows, dropped | negations, strategy):
            positive = changed(self.match, Change(dropped | negations, wide, strategy))
            bindings = self.asker.matches(positive, self.start, self.first, self.steps)
            found = {tuple(self.needed(asked, one, binding) for one in windows) for binding in bindings}
            yield from sorted(found - tried)
            tried |= found
            if found and any(isinstance(part, Exists) for part in all_parts(self.match.pattern)):
                # The events that EXISTS drops must be in the window too, but are in no binding.
                yield tuple(window_size(wide[one]) for one in windows)

    def needed(self, asked: Question, one: Requirement, binding: Binding) -> int:
        """How large a window must be for a match: not smaller than it is, which would be no relaxation."""
        assert one.window is not None, "a window"
        return max(size(asked, one, binding), window_size(one.window))

    def widenings(
        self, windows: Sequence[Requirement], dropped: frozenset[Requirement], strategy: str
    ) -> Iterator[dict[Requirement, Window]]:
        """The windows twice as large, four times, and so on; beyond MAX_WIDENING only if there is a match
        without them, up to its size."""
        factor = 2
        while factor <= MAX_WIDENING or factor < 2 * self.furthest(windows, dropped, strategy):
            yield {one: wider(one.window, factor) for one in windows if one.window}
            factor *= 2

    def furthest(self, windows: Sequence[Requirement], dropped: frozenset[Requirement], strategy: str) -> int:
        """How many times as large windows have to be for one of the matches that there are without them."""
        open_ended = changed(self.match, Change(dropped, strategy=strategy))
        found = self.asker.first(open_ended, self.start, self.first, self.steps)
        if found is None:
            return 0
        asked = self.asker.question(self.match)
        sizes = ((self.needed(asked, one, found), window_size(one.window)) for one in windows if one.window)
        return max(-(-needed // max(size, 1)) for needed, size in sizes)


def wider(window: Window, factor: int) -> Window:
    """
    >>> from neelc.ir.expr import Literal
    >>> from neelc.ir.types import INT
    >>> print(wider(Window(Literal(5, INT), "MINUTE"), 2))
    10 MINUTES
    """
    return window_of(max(window_size(window), 1) * factor, window)


def shortened(match: Match) -> Match:
    """The query with lists as short as they can be, which are far fewer. Where nothing is said of a list,
    there is a match with a short one if there is any.

    >>> from neelc.rewrite.examples import query
    >>> print(shortened(query("SEQ(A a, B+ b[])")).pattern)
    SEQ(A a, B{1} b[])
    """

    def change(node: Node) -> Node | None:
        return replace(node, most=max(node.least, 1)) if isinstance(node, Repeat) else None

    pattern = transform(match.pattern, change)
    assert isinstance(pattern, Pattern)
    return replace(match, pattern=pattern)


def _strategies(match: Match, chosen: Sequence[Requirement]) -> tuple[str, ...]:
    if not any(one.kind == "strategy" for one in chosen) or match.strategy == NEXT:
        return (ANY,)
    return (NEXT, ANY)
