"""What bit-marking costs for a group of expressions with the same positive part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from neelc.cost.sharing_cost import Building, Model, building_of
from neelc.cost.sharing_expression import Constraint, Expression, Slice


@dataclass
class Marking:
    """The positive part once; one look for each distinct column while an expression may still be satisfied;
    one result for all members of a query with the same variables.

    >>> from neelc.cost.sharing_expressions import expressions
    >>> from neelc.rewrite.examples import query
    >>> found = expressions(query("SEQ(A, !X, B) OR SEQ(A, !Y, B) OR SEQ(A, !X, !Y, B)"))
    >>> Marking(found, Model(lambda component: 4)).cost([0, 1, 2])  # 8 matches, 2 * 8 looks, 3 * 8 results
    48.0
    """

    expressions: Sequence[Expression]
    model: Model
    columns: list[Constraint] = field(init=False)
    wanted: list[frozenset[int]] = field(init=False)
    positives: dict[Slice, Building] = field(default_factory=dict)
    buildings: dict[int, Building] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers: dict[Constraint, int] = {}
        self.wanted = [
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
        judged: dict[int, list[int]] = {}
        for column in frozenset[int]().union(*(self.wanted[number] for number in alive)):
            judged.setdefault(self.columns[column].needs[0], []).append(column)
        work = done = 0.0
        for place in reversed(range(count)):
            work += (building.part(place, count) - done) * min(1.0, left)
            done = building.part(place, count)
            for column in judged.get(place, ()):
                work += building.matches[place, count] * min(1.0, left)
                if self.chances[column] < 1:
                    left -= self._lose(alive, column)
        return work + building.results * self._results(alive)

    def building(self, number: int) -> Building:
        """What the positive part of an expression costs."""
        if number not in self.buildings:
            one = self.expressions[number]
            if one.positive not in self.positives:
                self.positives[one.positive] = building_of(one, self.model, gaps=False)
            self.buildings[number] = self.positives[one.positive]
        return self.buildings[number]

    def _lose(self, alive: dict[int, float], column: int) -> float:
        """Take from the expressions that ask for a column what it rejects; gives how much that is."""
        lost = 0.0
        for number, share in alive.items():
            if column in self.wanted[number]:
                alive[number] = share * self.chances[column]
                lost += share - alive[number]
        return lost

    def _results(self, alive: dict[int, float]) -> float:
        """How many results come of one match of the positive part."""
        shares: dict[tuple[int, tuple[str, ...]], float] = {}
        for number, share in alive.items():
            one = self.expressions[number]
            known = shares.get((one.number, one.variables), 0.0)
            shares[one.number, one.variables] = min(1.0, known + share)
        return sum(shares.values())
