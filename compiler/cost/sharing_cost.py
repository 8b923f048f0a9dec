"""What building sequences costs: the number of partial matches, after NEEL+ 5.2.

A sequence is built backwards from its last component, as the papers do. Each step multiplies the partial
matches by the events of the next component in the window, and halves them, because of two events in any
order half are in the right one (the selectivity Pt of NEEL+). Each partial match costs one, each look into a
gap costs one, and so does each result, which must be compared with those of other expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from neelc.cost.sharing_expression import Component, Constraint, Expression

IN_ORDER = 0.5
"""Pt: how often two events are in the order of the sequence."""
MOST = 1e200
"""Where counting stops: beyond it, sums of products would no longer be numbers."""

Sizes = Callable[[Component], float]
"""The expected events of a component in one window, its own conditions taken into account."""
Chances = Callable[[Constraint], float]
"""How often a condition between components, or what is asked of a gap, holds."""


def certain(constraint: Constraint) -> float:
    """The chance that is assumed where nothing is known: all partial matches are kept."""
    return 1.0


def one_key(component: Component) -> float:
    """How many keys there are where nothing is known, or where there is no key."""
    return 1.0


@dataclass(frozen=True)
class Model:
    """What the costs rest on. With a key, `sizes` are for one of its values, and there are `keys` of them."""

    sizes: Sizes
    chances: Chances = certain
    keys: Sizes = one_key


@dataclass(frozen=True)
class Check:
    """A constraint as far as costs go: judged once the components `first` to `last` are known."""

    first: int
    last: int
    in_gap: bool
    chance: float


class Building:
    """What it costs to build an expression, or any part of it, step by step.

    >>> from neelc.cost.sharing_expressions import expressions
    >>> from neelc.rewrite.examples import query
    >>> (found,) = expressions(query("SEQ(A a, !X x, B b, C c)"))
    >>> building = building_of(found, Model(lambda component: 4))
    >>> building.part(1, 3), building.part(0, 3)  # 4*4/2 of b c; 8*4/2 of a b c, and as many looks for x
    (8.0, 40.0)
    >>> building.alone, building.rest(1, 3)  # with 16 results
    (56.0, 48.0)
    """

    def __init__(self, sizes: Sequence[float], checks: Iterable[Check], keys: float = 1.0) -> None:
        self.sizes, self.keys = sizes, keys
        self.checks: dict[int, list[Check]] = {}
        for check in checks:
            for end in {check.first, check.last}:
                self.checks.setdefault(end, []).append(check)
        self._grow()

    def _grow(self) -> None:
        """`matches[i, j]` are the matches of the components from i up to j. `leftwards[i, j]` is the work to
        come there from a single component j - 1, to the left only, and `rightwards[i, j]` the work to come
        there from a single component i, to the right only."""
        self.matches: dict[tuple[int, int], float] = {}
        self.leftwards: dict[tuple[int, int], float] = {}
        self.rightwards: dict[tuple[int, int], float] = {}
        for stop in range(1, len(self.sizes) + 1):
            here = stop - 1, stop
            self.leftwards[here], self.matches[here] = self._step(self.keys, stop - 1, here)
            self.rightwards[here] = self.leftwards[here]
            for start in range(stop - 2, -1, -1):
                here, shorter, left = (start, stop), (start, stop - 1), (start + 1, stop)
                work, self.matches[here] = self._step(self.matches[left] * IN_ORDER, start, here)
                self.leftwards[here] = self.leftwards[left] + work
                work, _ = self._step(self.matches[shorter] * IN_ORDER, stop - 1, here)
                self.rightwards[here] = self.rightwards[shorter] + work

    def _step(self, before: float, place: int, known: tuple[int, int]) -> tuple[float, float]:
        """The work of joining a component, and the matches that are left."""
        matches = min(before * self.sizes[place], MOST)
        work = matches if known[1] - known[0] > 1 else 0.0
        for check in self.checks.get(place, ()):
            if known[0] <= check.first and check.last < known[1]:
                work += matches if check.in_gap else 0.0
                matches *= check.chance
        return work, matches

    @cached_property
    def results(self) -> float:
        return self.matches[0, len(self.sizes)]

    @cached_property
    def alone(self) -> float:
        """The whole expression, with its results."""
        return self.part(0, len(self.sizes)) + self.results

    def part(self, start: int, stop: int) -> float:
        """The components from `start` up to `stop`, built backwards."""
        return self.leftwards[start, stop]

    def rest(self, start: int, stop: int) -> float:
        """The whole expression with its results, when the components from `start` up to `stop` are there: it
        is built on to both sides, in the cheaper order of the two."""
        count, left, right = len(self.sizes), self.leftwards, self.rightwards
        left_first = left[0, stop] - left[start, stop] + right[0, count] - right[0, stop]
        right_first = right[start, count] - right[start, stop] + left[0, count] - left[start, count]
        return min(left_first, right_first) + self.results


def building_of(expression: Expression, model: Model, gaps: bool = True) -> Building:
    """What it costs to build an expression; without `gaps`, its positive part."""
    checks = [
        Check(c.needs[0], c.needs[-1], c.gap is not None, model.chances(c))
        for c in expression.constraints
        if gaps or c.gap is None
    ]
    sizes = [model.sizes(component) for component in expression.components]
    return Building(sizes, checks, model.keys(expression.components[0]))
