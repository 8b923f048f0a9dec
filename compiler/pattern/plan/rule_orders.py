"""In which order rules take their events, so that they have steps in common.

A rule alone takes its events in the order of its text, or of their numbers. Together with others it may pay
to begin with what they share: the plan finder (NEEL, section V) says which sequences several rules build
once, wherever they stand in a rule, and those are taken first. An AND, which has no order, takes that of a
SEQ of the same events: so the SEQ is found among the rows of the AND (MQOS, definition 10).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.program import Match
from neelc.pattern.plan.blocks import renamed
from neelc.pattern.plan.columns import EVENT
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Take
from neelc.sharing.plan_finder import SearchLimits
from neelc.sharing.sharing import ExpressionGroup, Sharing, share_queries

MOST_SEARCHED = 400
"""Up to so many rules, the plan finder looks for the cheapest groups; more share what they begin with."""

MANY_RULES = SearchLimits(rounds=20, patience=3)
"""How long it looks where there are many."""

FEW = 60
"""Up to so many rules, it looks as long as for one query."""


@dataclass(frozen=True)
class RuleOrders:
    """The variables that each rule takes first, by the number of the rule, and the groups that say so."""

    first: Mapping[int, tuple[str, ...]]
    sharing: Sharing


def rule_orders(queries: Sequence[Match], plans: Sequence[KernelPlan], statistics: Statistics) -> RuleOrders:
    """The orders of rules that are executed together."""
    if not 1 < len(queries) <= MOST_SEARCHED:
        return RuleOrders({}, Sharing(()))
    limits = None if len(queries) <= FEW else MANY_RULES
    found = share_queries(queries, statistics, stop=limits)
    first: dict[int, tuple[str, ...]] = {}
    for group in found.groups:
        for number, variables in _of_group(group):
            first.setdefault(number, variables)
    first = {n: names for n, names in first.items() if names != _taken(plans[n])[: len(names)]}
    for number, variables in _of_conjunctions(plans):
        if number not in first and variables != _taken(plans[number]):
            first[number] = variables
    return RuleOrders(first, found)


def _of_group(group: ExpressionGroup) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The variables that the rules of a group share, each with the number of the rule."""
    for member, variables in zip(group.members, group.first, strict=False):
        yield member.number, variables


def _taken(plan: KernelPlan) -> tuple[str, ...]:
    """The variables of single events, in the order in which they are taken."""
    steps = (step for step in plan.program.steps if isinstance(step, Take))
    return tuple(str(step.variable) for step in steps)


def _of_conjunctions(plans: Sequence[KernelPlan]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """For each rule whose events have no order, the order of a rule with the same events that have one."""
    ordered: dict[frozenset[tuple[object, int]], list[object]] = {}
    for plan in plans:
        takes = [step for step in plan.program.steps if isinstance(step, Take)]
        if len(takes) > 1 and all(step.bounds.after for step in takes[1:]):
            kinds = [_kind(plan, step.role) for step in takes]
            ordered.setdefault(frozenset(Counter(kinds).items()), kinds)
    for number, plan in enumerate(plans):
        takes = [step for step in plan.program.steps if isinstance(step, Take)]
        if any(step.bounds.after or step.bounds.before or step.when for step in takes):
            continue
        kinds = [_kind(plan, step.role) for step in takes]
        wanted = ordered.get(frozenset(Counter(kinds).items()))
        if wanted is not None:
            left = [(kind, str(step.variable)) for kind, step in zip(kinds, takes, strict=True)]
            yield number, tuple(_popped(left, kind) for kind in wanted)


def _popped(left: list[tuple[object, str]], kind: object) -> str:
    place = next(n for n, (other, _) in enumerate(left) if other == kind)
    return left.pop(place)[1]


def _kind(plan: KernelPlan, role: str) -> object:
    """What events of a role are: those of other rules with the same are the same events."""
    found = next(one for one in plan.plan.roles if one.name == role)
    members = next(known.members for known in plan.query.types if known.name == found.type)
    return members, frozenset(renamed(one, found.variable, EVENT) for one in found.conditions)
