"""What building sequences costs: the number of partial matches, after NEEL+ 5.2.

A sequence is built backwards from its last component, as the papers do. Each step multiplies the partial
matches by the events of the next component in the window, and halves them, because of two events in any
order half are in the right one (the selectivity Pt of NEEL+). Each partial match costs one, each look into a
gap costs one, and so does each result, which must be compared with those of other expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cached_property
from math import prod

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import patterns as p
from neelc.ir.expressions import Expr
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.program import Match
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.selectivity import truth
from neelc.pattern.cost.setting import CostSetting
from neelc.runtime.late_dataclass import dataclass
from neelc.sharing.expressions import Constraint, Expression, ExpressionSlice, SequenceComponent

IN_ORDER = 0.5
"""Pt: how often two events are in the order of the sequence."""
MOST = 1e200
"""Where counting stops: beyond it, sums of products would no longer be numbers."""

Sizes = Callable[[SequenceComponent], float]
"""The expected events of a component in one window, its own conditions taken into account."""
Chances = Callable[[Constraint], float]
"""How often a condition between components, or what is required of a gap, holds."""


def certain(constraint: Constraint) -> float:
    """The chance that is assumed where nothing is known: all partial matches are kept."""
    return 1.0


def one_key(component: SequenceComponent) -> float:
    """How many keys there are where nothing is known, or where there is no key."""
    return 1.0


@dataclass(frozen=True)
class CostModel:
    """What the costs rest on. With a key, `sizes` are for one of its values, and there are `keys` of them."""

    sizes: Sizes
    chances: Chances = certain
    keys: Sizes = one_key


@dataclass(frozen=True)
class ConstraintCheck:
    """A constraint as far as costs go: checked once the components `first` to `last` are known."""

    first: int
    last: int
    in_gap: bool
    chance: float


class BuildCost:
    """What it costs to build an expression, or any part of it, step by step.

    >>> from neelc.sharing.expressions import expressions
    >>> from pattern_examples import query
    >>> (found,) = expressions(query("SEQ(A a, !X x, B b, C c)"))
    >>> building = building_of(found, CostModel(lambda component: 4))
    >>> building.part(1, 3), building.part(0, 3)  # 4*4/2 of b c; 8*4/2 of a b c, and as many looks for x
    (8.0, 40.0)
    >>> building.alone, building.rest(1, 3)  # with 16 results
    (56.0, 48.0)
    """

    def __init__(self, sizes: Sequence[float], checks: Iterable[ConstraintCheck], keys: float = 1.0) -> None:
        self.sizes, self.keys = sizes, keys
        self.checks: dict[int, list[ConstraintCheck]] = {}
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


def building_of(expression: Expression, model: CostModel, gaps: bool = True) -> BuildCost:
    """What it costs to build an expression; without `gaps`, its positive part."""
    checks = [
        ConstraintCheck(c.needs[0], c.needs[-1], c.gap is not None, model.chances(c))
        for c in expression.constraints
        if gaps or c.gap is None
    ]
    sizes = [model.sizes(component) for component in expression.components]
    return BuildCost(sizes, checks, model.keys(expression.components[0]))


# The numbers that the costs of sharing rest on, from statistics.


def model_of(statistics: Statistics) -> CostModel:
    """Events in a window from rates and from the selectivity of a component's own conditions; chances of
    conditions between components; values of the key. What is required of a gap is assumed to hold always, so
    that no plan counts on rejecting much.

    >>> from neelc.sharing.expressions import expressions
    >>> from pattern_examples import query
    >>> (found,) = expressions(query("SEQ((A a : a.id = 7), B b WHERE a.x < b.x) WITHIN 10 SECONDS"))
    >>> model = model_of(Statistics())
    >>> [model.sizes(component) for component in found.components]
    [0.01, 10.0]
    >>> round(model.chances(found.constraints[0]), 2)
    0.5
    >>> (found,) = expressions(query("SEQ(A a, B b WHERE [id]) WITHIN 10 SECONDS"))
    >>> model.sizes(found.components[0]), model.keys(found.components[0])
    (0.01, 1000.0)
    """
    estimates = _Estimates(statistics)
    return CostModel(estimates.size, estimates.chance, estimates.keys)


@dataclass
class _Estimates:
    statistics: Statistics
    settings: dict[int, CostSetting] = field(default_factory=dict)

    def setting(self, query: Match) -> CostSetting:
        """By identity: the setting keeps the query, so that no other has its id."""
        if id(query) not in self.settings:
            self.settings[id(query)] = CostSetting(Ledger(query, self.statistics))
        return self.settings[id(query)]

    def size(self, component: SequenceComponent) -> float:
        setting = self.setting(component.query)
        seconds = min(map(setting.seconds, component.context.windows), default=setting.duration)
        return self._ways(component.original, setting, seconds / self.keys(component))

    def chance(self, constraint: Constraint) -> float:
        condition = constraint.original
        return self._share(condition, constraint.query) if isinstance(condition, Expr) else 1.0

    def keys(self, component: SequenceComponent) -> float:
        type = next(part.type for part in all_parts(component.original) if isinstance(part, p.Event))
        names = component.context.key
        found = (self.statistics.distinct(component.query, type, name).value for name in names)
        return prod(max(1.0, values) for values in found)

    def _share(self, condition: Expr | None, query: Match) -> float:
        return 1.0 if condition is None else truth(condition, self.setting(query).ledger).true

    def _ways(self, part: p.Pattern, setting: CostSetting, seconds: float) -> float:
        """Roughly how many bindings of a part there are in this time."""
        share = self._share(part.where, setting.query)
        inner = [self._ways(one, setting, seconds) for one in inner_parts(part)]
        match part:
            case p.Event(type):
                return setting.ledger.rate(type) * seconds * share
            case p.Seq():
                return prod(inner) * IN_ORDER ** (len(inner) - 1) * share
            case p.Or():
                return sum(inner) * share
            case p.Not():
                return 1.0
        return prod(inner) * share


# What bit-marking costs for a group of expressions with the same positive part.


@dataclass
class MarkingCost:
    """The positive part once; one look for each distinct column while an expression may still be satisfied;
    one result for all members of a query with the same variables.

    >>> from neelc.sharing.expressions import expressions
    >>> from pattern_examples import query
    >>> found = expressions(query("SEQ(A, !X, B) OR SEQ(A, !Y, B) OR SEQ(A, !X, !Y, B)"))
    >>> model = CostModel(lambda component: 4)
    >>> MarkingCost(found, model).cost([0, 1, 2])  # 8 matches, 2 * 8 looks, 3 * 8 results
    48.0
    """

    expressions: Sequence[Expression]
    model: CostModel
    columns: list[Constraint] = field(init=False)
    required: list[frozenset[int]] = field(init=False)
    positives: dict[ExpressionSlice, BuildCost] = field(default_factory=dict)
    buildings: dict[int, BuildCost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers: dict[Constraint, int] = {}
        self.required = [
            frozenset(numbers.setdefault(column, len(numbers)) for column in expression.columns)
            for expression in self.expressions
        ]
        self.columns = list(numbers)
        self.chances = [self.model.chances(column) for column in self.columns]

    def cost(self, group: Iterable[int]) -> float:
        building = self.building(min(group))
        count = len(building.sizes)
        alive = dict.fromkeys(group, 1.0)
        left = float(len(alive))  # a partial match goes on while an expression is live
        columns_at: dict[int, list[int]] = {}
        for column in frozenset[int]().union(*(self.required[number] for number in alive)):
            columns_at.setdefault(self.columns[column].needs[0], []).append(column)
        work = done = 0.0
        for place in reversed(range(count)):
            work += (building.part(place, count) - done) * min(1.0, left)
            done = building.part(place, count)
            for column in columns_at.get(place, ()):
                work += building.matches[place, count] * min(1.0, left)
                if self.chances[column] < 1:
                    left -= self._lose(alive, column)
        return work + building.results * self._results(alive)

    def building(self, number: int) -> BuildCost:
        """What the positive part of an expression costs."""
        if number not in self.buildings:
            one = self.expressions[number]
            if one.positive not in self.positives:
                self.positives[one.positive] = building_of(one, self.model, gaps=False)
            self.buildings[number] = self.positives[one.positive]
        return self.buildings[number]

    def _lose(self, alive: dict[int, float], column: int) -> float:
        """Subtract what a column rejects from the expressions that require it; returns the sum."""
        lost = 0.0
        for number, share in alive.items():
            if column in self.required[number]:
                alive[number] = share * self.chances[column]
                lost += share - alive[number]
        return lost

    def _results(self, alive: dict[int, float]) -> float:
        """How many results come of one match of the positive part."""
        shares: dict[tuple[int, tuple[str, ...]], float] = {}
        for number, share in alive.items():
            one = self.expressions[number]
            before = shares.get((one.number, one.variables), 0.0)
            shares[one.number, one.variables] = min(1.0, before + share)
        return sum(shares.values())
