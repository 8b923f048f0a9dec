"""Plans as the papers' systems had them before they were optimised: what ours is measured against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neelc.pattern.plan.lists import event_names, renamed
from neelc.pattern.plan.steps import Plan, PlanStep, Role, names_of_step
from neelc.runtime.program import ALL, Absent, EventName, FilterStep, Present, Rename, Take


def iterative(plan: Plan) -> Plan:
    """NEEL's iterative nested execution: outer matches are complete before a check is made, and a check
    looks for all matches of its part. Nothing is dropped early."""
    return replace(plan, steps=_iterative(plan.steps))


def _iterative(steps: Sequence[PlanStep]) -> tuple[PlanStep, ...]:
    kept = [step for step in steps if not (isinstance(step, Present) and not step.part)]
    shared = _shared(steps)
    others: list[PlanStep] = []
    checks: list[PlanStep] = []
    for step in kept:
        match step:
            case Absent(inner) | Present(inner):
                place = others if shared & set(names_of_step(step)) else checks
                place.append(replace(step, steps=_iterative(inner)))
            case Take():
                others.append(replace(step, pick=ALL))
            case _:
                others.append(step)
    return (*others, *checks)


def _shared(steps: Sequence[PlanStep]) -> set[EventName]:
    """What branches share has another name later on: what names it is judged while it still has this one."""
    return {step.variable for step in steps if isinstance(step, Rename)}


def judged_last(plan: Plan) -> Plan:
    """NEEL+ without push-in: conditions are judged when all events of their part are bound."""
    conditions = {role.name: role for role in plan.roles if role.conditions}
    roles = tuple(replace(role, conditions=()) for role in plan.roles)
    return replace(plan, roles=roles, steps=_judged_last(plan.steps, conditions))


def _judged_last(steps: Sequence[PlanStep], roles: Mapping[str, Role]) -> tuple[PlanStep, ...]:
    first: list[PlanStep] = []
    last: list[PlanStep] = []
    shared = _shared(steps)
    for step in steps:
        match step:
            case Take(variable=variable, where=where, when=when):
                role = roles.get(step.role)
                own = tuple(renamed(c, role.variable, variable) for c in role.conditions) if role else ()
                now = [one for one in (*own, *where) if event_names(one) & shared]
                first.append(replace(step, where=tuple(now), pick=ALL))
                last += [FilterStep(condition, when) for condition in (*own, *where) if condition not in now]
            case Present(part=""):
                continue
            case FilterStep():
                (first if shared & event_names(step.condition) else last).append(step)
            case Absent(inner) | Present(inner):
                place = first if shared & set(names_of_step(step)) else last
                place.append(replace(step, steps=_judged_last(inner, roles)))
            case _:
                first.append(step)
    return (*first, *last)
