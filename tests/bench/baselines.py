"""Plans as the papers' systems had them before they were optimised: what ours is measured against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from neelc.algebra.cost.order import written_order
from neelc.algebra.plan.network import QueryPlan, network_plan
from neelc.ir.algebra import Algebra
from neelc.ir.program import Match, NamedQuery
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.cost.choose import FormChoice
from neelc.pattern.plan.blocks import UnsupportedQuery, event_names, renamed
from neelc.pattern.plan.kernel_plan import KernelPlan, plan_to_kernel
from neelc.pattern.plan.match_to_plan import match_to_plan
from neelc.pattern.plan.plan import Plan, PlanStep, Role
from neelc.pattern.plan.strategies import PlanningContext, in_kernel, planning_task
from neelc.pipeline import QueryChoice
from neelc.runtime.program import ALL, Absent, EventName, FilterStep, Present, Rename, Take, names_of_step

Change = Callable[[Plan], Plan]


def baseline_plan(
    query: Match, keys: tuple[Key, ...], unit: str, changed: Change, nested: bool = False
) -> KernelPlan:
    """The plan of a query for the kernel, `changed` before it becomes a program; `nested` checks look for all
    matches of their part."""
    if query.strategy != SelectionStrategy.ANY_MATCH:
        raise UnsupportedQuery(query.strategy)
    found = plan_to_kernel(query, changed(match_to_plan(query, keys, unit, follows=True)), keys)
    return replace(found, program=replace(found.program, nested=nested))


# Planners for `neelc.pipeline`.


def plan_nested(named: NamedQuery, choice: QueryChoice, context: PlanningContext) -> QueryPlan:
    """The query as it is written, with the kernel, but without any of what makes it fast."""
    if not isinstance(choice, FormChoice):
        raise UnsupportedQuery("SELECT under the strategy nested", named.query.span)
    task = planning_task(choice, context)
    planned = baseline_plan(task.written, partition_keys(task.written), task.unit, iterative, nested=True)
    return in_kernel(task, task.written, planned)


def plan_late(named: NamedQuery, choice: QueryChoice, context: PlanningContext) -> QueryPlan:
    """Conditions are judged on complete matches; networks are executed as they are written."""
    if isinstance(choice, FormChoice):
        task = planning_task(choice, context)
        return in_kernel(task, task.query, baseline_plan(task.query, task.keys, task.unit, judged_last))
    query = named.query
    assert isinstance(query, Algebra)
    planned = network_plan(query, query.root, context)
    orders = {one: written_order(one, context.statistics).places for one in planned.orders}
    return replace(planned, orders=orders, filters={})


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
                place = others if shared & set(names_of_step(step, event_names)) else checks
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
                place = first if shared & set(names_of_step(step, event_names)) else last
                place.append(replace(step, steps=_judged_last(inner, roles)))
            case _:
                first.append(step)
    return (*first, *last)
