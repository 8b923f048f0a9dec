"""The best plan there is, for a few expressions: what the plan finder is compared with."""

from __future__ import annotations

from itertools import combinations

from neelc.cost.plan_finder import Plan, in_order
from neelc.cost.sharing_operators import Members, Workload


def best_plan(workload: Workload) -> Plan:
    """A plan of least cost, by trying all: for a few expressions only.

    The first expression is in some group; for each group that it may be in, what is left is solved by itself.
    """
    known: dict[Members, tuple[float, Plan]] = {frozenset(): (0.0, ())}

    def solve(left: Members) -> tuple[float, Plan]:
        if left not in known:
            first, *others = sorted(left)
            chosen = (
                frozenset((first, *more)) for size in range(len(left)) for more in combinations(others, size)
            )
            options = ((group, solve(left - group)) for group in chosen)
            plans = ((workload.cost(group) + cost, (group, *plan)) for group, (cost, plan) in options)
            known[left] = min(plans, key=lambda plan: plan[0])
        return known[left]

    return in_order(workload, solve(frozenset(range(len(workload.expressions))))[1])
