"""Sharing: which expressions of a query, or of several, are executed together, and how.

>>> from neelc.rewrite.examples import query
>>> from neelc.cost.statistics import Statistics
>>> text = "SEQ(A, B, C) OR SEQ(A, !X, C) OR SEQ(A, !Y, C) OR SEQ(D, A, B, C) OR SEQ(E, F) WITHIN 10 SECONDS"
>>> print(share(query(text), Statistics()))
[E1, E4] suffix clustering of SEQ(A, B, C): cost 3,050, apart 3,350
[E2, E3] bit-marking on SEQ(A, C): cost 250, apart 300
[E5] single: cost 100
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neelc.cost.bit_marking import EMap, emap_of
from neelc.cost.plan_finder import Stop, find_plan
from neelc.cost.sharing_cost import Model
from neelc.cost.sharing_expression import Expression
from neelc.cost.sharing_expressions import expressions
from neelc.cost.sharing_operators import MARKING, SINGLE, Members, Workload
from neelc.cost.sharing_sizes import model_of
from neelc.cost.statistics import Statistics
from neelc.ir.logical import Match


@dataclass(frozen=True)
class Group:
    """Expressions that are executed together.

    `shared` is what is built once for all of them; `emap` is there for bit-marking. `cost_apart` is what they
    would cost one by one. Costs are partial matches, looks into gaps and results in one window: they compare
    groups with each other, not with the estimates of whole queries.
    """

    operator: str
    members: tuple[Expression, ...]
    shared: str
    cost: float
    cost_apart: float
    emap: EMap | None = None

    def __str__(self) -> str:
        names = ", ".join(member.name for member in self.members)
        if self.operator == SINGLE:
            return f"[{names}] {SINGLE}: cost {_number(self.cost)}"
        what = f"{self.operator} {'on' if self.emap else 'of'} {self.shared}"
        return f"[{names}] {what}: cost {_number(self.cost)}, apart {_number(self.cost_apart)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < 1e15 else f"{value:.3g}"


@dataclass(frozen=True)
class Sharing:
    """The groups, in the order of their first expression: each expression is in exactly one."""

    groups: tuple[Group, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions, in order."""
        found = [member for group in self.groups for member in group.members]
        return tuple(sorted(found, key=lambda expression: (expression.number, int(expression.name[1:]))))

    @property
    def shared(self) -> tuple[Group, ...]:
        """The groups that share something."""
        return tuple(group for group in self.groups if group.operator != SINGLE)

    @property
    def cost(self) -> float:
        return sum(group.cost for group in self.groups)

    @property
    def cost_apart(self) -> float:
        return sum(group.cost_apart for group in self.groups)

    def __str__(self) -> str:
        return "\n".join(map(str, self.groups))


def share(query: Match, statistics: Statistics, seed: int = 0, stop: Stop | None = None) -> Sharing:
    """What the expressions of a query in normal form share."""
    return share_queries((query,), statistics, seed, stop)


def share_queries(
    queries: Sequence[Match], statistics: Statistics, seed: int = 0, stop: Stop | None = None
) -> Sharing:
    """What the expressions of several queries of a script share. Windows and keys must agree for that.

    >>> from neelc.rewrite.examples import query
    >>> two = [query(f"SEQ(A a, B b, {last} c) WHERE [id] WITHIN 10 SECONDS") for last in ("C", "D")]
    >>> print(share_queries(two, Statistics()))
    [E1, E2] prefix caching of SEQ(A, B): cost 0.051, apart 0.101
    >>> other = query("SEQ(A a, B b, C c) WHERE [id] WITHIN 20 SECONDS")
    >>> len(share_queries([two[0], other], Statistics()).shared)
    0
    """
    found: list[Expression] = []
    for number, query in enumerate(queries):
        found += expressions(query, number, first=len(found) + 1)
    return share_expressions(found, model_of(statistics), seed, stop)


def share_expressions(
    found: Sequence[Expression], model: Model, seed: int = 0, stop: Stop | None = None
) -> Sharing:
    """What expressions share, at costs that rest on a model."""
    if not found:
        return Sharing(())
    workload = Workload(found, model)
    return Sharing(tuple(_group(workload, members) for members in find_plan(workload, seed, stop)))


def _group(workload: Workload, numbers: Members) -> Group:
    price = workload.price(numbers)
    members = tuple(workload.expressions[number] for number in sorted(numbers))
    shared = "" if price.shared is None else str(price.shared)
    emap = emap_of(members) if price.operator == MARKING else None
    return Group(price.operator, members, shared, price.cost, workload.cost_apart(numbers), emap)
