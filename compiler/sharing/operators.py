"""How a group of expressions is executed together, and what that costs (NEEL, IV and V-A)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from functools import cached_property

from neelc.ir.patterns import Repeat
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.sharing.cost import BuildCost, CostModel, MarkingCost, building_of
from neelc.sharing.expressions import Expression, ExpressionSlice

# Which sequences of adjacent components occur in more than one expression: prefixes, suffixes, middles.

Place = tuple[int, int]
"""An expression, by its number in the list, and the place of the first component."""


@dataclass
class Numbering:
    """A number for each thing, the same for equal things: numbers are faster to compare than trees."""

    known: dict[Hashable, int] = field(default_factory=dict)

    def __call__(self, thing: Hashable) -> int:
        return self.known.setdefault(thing, len(self.known))


@dataclass(frozen=True)
class SharedSlice:
    """`length` adjacent components that several expressions have; where they begin in each."""

    length: int
    starts: dict[int, tuple[int, ...]]


def shared_slices(expressions: Sequence[Expression]) -> list[SharedSlice]:
    """Every slice of two components or more that is in at least two expressions.

    A slice is identified by the two slices that are shorter by one, and by the constraints that need both its
    ends. So longer ones are looked for only where shorter ones were found.

    >>> from neelc.sharing.expressions import expressions
    >>> from pattern_examples import query
    >>> found = expressions(query("OR(SEQ(A a, B b, !X x, C c), SEQ(D d, A e, B f, !X y, C g))"))
    >>> for shared in shared_slices(found):
    ...     print(found[0].slice(shared.starts[0][0], shared.starts[0][0] + shared.length), shared.starts)
    SEQ(A, B) {0: (0,), 1: (1,)}
    SEQ(B, !X, C) {0: (1,), 1: (2,)}
    SEQ(A, B, !X, C) {0: (0,), 1: (1,)}
    """
    number = Numbering()
    spans = [_spans(expression, number) for expression in expressions]
    level: dict[Place, int] = {
        (one, start): number((number(component), spans[one].get((start, start))))
        for one, expression in enumerate(expressions)
        for start, component in enumerate(expression.components)
    }
    shared: list[SharedSlice] = []
    length = 1
    while level := _longer(level, spans, length, number):
        length += 1
        places: dict[int, list[Place]] = defaultdict(list)
        for place, slice in level.items():
            places[slice].append(place)
        common = {slice: at for slice, at in places.items() if len({one for one, _ in at}) > 1}
        shared += [
            SharedSlice(length, found)
            for at in common.values()
            if (found := _starts(expressions, at, length))
        ]
        level = {place: slice for slice, at in common.items() for place in at}
    return shared


Spans = dict[tuple[int, int], frozenset[int]]
"""The constraints that need these two components and may need those between them."""


def _spans(expression: Expression, number: Numbering) -> Spans:
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for constraint in expression.constraints:
        first, last = constraint.needs[0], constraint.needs[-1]
        found[first, last].add(number(constraint.moved(first)))
    return {ends: frozenset(constraints) for ends, constraints in found.items()}


def _longer(level: dict[Place, int], spans: list[Spans], length: int, number: Numbering) -> dict[Place, int]:
    """The slices that are longer by one than those of the level."""
    found = {}
    for (one, start), slice in level.items():
        other = level.get((one, start + 1))
        if other is not None:
            found[one, start] = number((slice, other, spans[one].get((start, start + length))))
    return found


def _starts(
    expressions: Sequence[Expression], places: list[Place], length: int
) -> dict[int, tuple[int, ...]]:
    """Where a slice can be shared. Where the order of events decides which are taken, a run depends on what
    was taken before, so that only prefixes are the same for two expressions; and a repetition goes on
    depending on what comes after it, so it does not end one."""
    starts: dict[int, tuple[int, ...]] = {}
    for one, start in places:
        components = expressions[one].components
        last = components[start + length - 1]
        if last.context.strategy == SelectionStrategy.ANY_MATCH or (
            start == 0 and not isinstance(last.part, Repeat)
        ):
            starts[one] = (*starts.get(one, ()), start)
    return starts if len(starts) > 1 else {}


Members = frozenset[int]
"""Expressions, by their numbers."""

SINGLE = "single"
PREFIX = "prefix caching"
SUFFIX = "suffix clustering"
MIDDLE = "shared middle"
MARKING = "bit-marking"
APART = "apart"
"""The operators of a group; a group to which none applies is executed apart, at the cost of its members."""

ROUNDING = 1e-9
"""How much sums may differ that were added up in another order."""


@dataclass(frozen=True)
class GroupPrice:
    """The cheapest operator for a group, its cost, and what is shared."""

    operator: str
    cost: float
    shared: ExpressionSlice | None = None
    starts: tuple[int, ...] | None = None
    """Where the shared components begin in each member, in the order of their numbers."""


@dataclass(frozen=True)
class ShareableSlice:
    """A slice that several expressions can share: what it costs, and what is left to do for each of them."""

    slice: SharedSlice
    work: float
    rests: dict[int, float]

    def cost(self, group: Members) -> float:
        return self.work + sum(map(self.rests.__getitem__, group))


@dataclass
class Workload:
    """Expressions, and the cost of every group of them that was computed.

    `effort` is what it took to find these costs: a number for each term that was added up.
    """

    expressions: Sequence[Expression]
    model: CostModel
    costs: dict[Members, float] = field(default_factory=dict)
    effort: int = 0

    @cached_property
    def buildings(self) -> list[BuildCost]:
        return [building_of(expression, self.model) for expression in self.expressions]

    @cached_property
    def alone(self) -> list[float]:
        """What each expression costs alone."""
        return [building.alone for building in self.buildings]

    @cached_property
    def positives(self) -> list[int]:
        """The positive part of each expression: equal numbers for equal parts."""
        return list(map(Numbering(), (expression.positive for expression in self.expressions)))

    @cached_property
    def marking(self) -> MarkingCost:
        return MarkingCost(self.expressions, self.model)

    @cached_property
    def slices(self) -> list[ShareableSlice]:
        """What can be shared, without what is never better than something longer that the same share."""
        found = [self._shareable(slice) for slice in shared_slices(self.expressions)]
        longer = {
            (one, start, shareable.slice.length): shareable
            for shareable in found
            for one, starts in shareable.slice.starts.items()
            for start in starts
        }
        return [
            shareable
            for shareable in found
            if not any(_never_worse(other, shareable) for other in _extensions(shareable, longer))
        ]

    def _shareable(self, slice: SharedSlice) -> ShareableSlice:
        one, (start, *_) = next(iter(slice.starts.items()))
        rests = {
            number: min(self.buildings[number].rest(start, start + slice.length) for start in starts)
            for number, starts in slice.starts.items()
        }
        return ShareableSlice(slice, self.buildings[one].part(start, start + slice.length), rests)

    @cached_property
    def owned(self) -> list[Members]:
        """The slices of each expression, by number."""
        found: list[set[int]] = [set() for _ in self.expressions]
        for place, shareable in enumerate(self.slices):
            for number in shareable.rests:
                found[number].add(place)
        return [frozenset(slices) for slices in found]

    def cost(self, group: Members) -> float:
        """What a group costs when it is executed in the cheapest way."""
        known = self.costs.get(group)
        if known is None:
            known = self.costs[group] = min(cost for cost, _, _ in self._options(group))
        return known

    def cost_apart(self, group: Members) -> float:
        return sum(map(self.alone.__getitem__, group))

    def price(self, group: Members) -> GroupPrice:
        """The cheapest way to execute a group."""
        cost, operator, place = min(self._options(group), key=lambda option: option[0])
        first = min(group)
        if place is not None:
            slice = self.slices[place].slice
            start = slice.starts[first][0]
            shared = self.expressions[first].slice(start, start + slice.length)
            starts = tuple(self._cheapest_start(slice, number) for number in sorted(group))
            return GroupPrice(self._name(slice, group), cost, shared, starts)
        if operator != MARKING:
            return GroupPrice(operator, cost)
        return GroupPrice(operator, cost, self.expressions[first].positive, (0,) * len(group))

    def _cheapest_start(self, slice: SharedSlice, number: int) -> int:
        building = self.buildings[number]
        return min(slice.starts[number], key=lambda start: building.rest(start, start + slice.length))

    def _options(self, group: Members) -> Iterator[tuple[float, str, int | None]]:
        """The operators that apply, each with its cost and the slice that is shared."""
        yield self.cost_apart(group), SINGLE if len(group) == 1 else APART, None
        if len(group) == 1:
            return
        common = frozenset.intersection(*(self.owned[number] for number in group))
        self.effort += len(group) * (1 + len(common))
        if common:
            yield min((self.slices[slice].cost(group), MIDDLE, slice) for slice in common)
        if len({self.positives[number] for number in group}) == 1:
            self.effort += 5 * len(group)
            yield self.marking.cost(group), MARKING, None

    def _name(self, slice: SharedSlice, group: Members) -> str:
        """A slice with which all members begin is a prefix, one with which all end a suffix."""
        if all(0 in slice.starts[number] for number in group):
            return PREFIX
        ends = {number: len(self.expressions[number].components) - slice.length for number in group}
        return SUFFIX if all(end in slice.starts[number] for number, end in ends.items()) else MIDDLE


def _extensions(
    shareable: ShareableSlice, known: dict[tuple[int, int, int], ShareableSlice]
) -> Iterator[ShareableSlice]:
    """The slices that are longer by one, to either side, and belong to the same expressions."""
    one, (start, *_) = next(iter(shareable.slice.starts.items()))
    for place in (start - 1, start):
        found = known.get((one, place, shareable.slice.length + 1))
        if found and found.rests.keys() == shareable.rests.keys():
            yield found


def _never_worse(longer: ShareableSlice, shorter: ShareableSlice) -> bool:
    """Whether what two members save with the longer slice already pays for it, but for errors of rounding."""
    more = (longer.work - shorter.work) / 2
    return all(
        shorter.rests[number] * (1 + ROUNDING) - rest >= more * (1 - ROUNDING)
        for number, rest in longer.rests.items()
    )
