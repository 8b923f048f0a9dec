"""Plans as the papers' systems had them before they were optimised: what ours is measured against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neelc.plan.event_roles import renamed
from neelc.plan.steps import Absent, Filter, Plan, Present, Role, Step, Take
from neelc.runtime.program import ALL


def iterative(plan: Plan) -> Plan:
    """NEEL's iterative nested execution: outer matches are complete before a check is made, and a check
    looks for all matches of its part. Nothing is dropped early."""
    return replace(plan, steps=_iterative(plan.steps))


def _iterative(steps: Sequence[Step]) -> tuple[Step, ...]:
    kept = [step for step in steps if not (isinstance(step, Present) and not step.part)]
    checks = [step for step in kept if isinstance(step, Absent | Present)]
    others = [
        replace(step, pick=ALL) if isinstance(step, Take) else step for step in kept if step not in checks
    ]
    return (*others, *(replace(check, steps=_iterative(check.steps)) for check in checks))


def judged_last(plan: Plan) -> Plan:
    """NEEL+ without push-in: conditions are judged when all events of their part are bound."""
    conditions = {role.name: role for role in plan.roles if role.conditions}
    roles = tuple(replace(role, conditions=()) for role in plan.roles)
    return replace(plan, roles=roles, steps=_judged_last(plan.steps, conditions))


def _judged_last(steps: Sequence[Step], roles: Mapping[str, Role]) -> tuple[Step, ...]:
    first: list[Step] = []
    last: list[Step] = []
    for step in steps:
        match step:
            case Take(variable=variable, where=where, when=when):
                role = roles.get(step.role)
                own = tuple(renamed(c, role.variable, variable) for c in role.conditions) if role else ()
                first.append(replace(step, where=(), pick=ALL))
                last += [Filter(condition, when) for condition in (*own, *where)]
            case Filter():
                last.append(step)
            case Present(part=""):
                continue
            case Absent(inner) | Present(inner):
                last.append(replace(step, steps=_judged_last(inner, roles)))
            case _:
                first.append(step)
    return (*first, *last)
