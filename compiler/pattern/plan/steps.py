"""Plans: a query as a list of steps, whoever executes them: a kernel, or joins.

The steps are those of `neelc.runtime.program`, with conditions that are still expressions of the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from neelc.ir.conditions import names_in
from neelc.ir.expressions import Expr
from neelc.ir.node import remembered
from neelc.pattern.plan.lists import (
    BEFORE,
    CURRENT,
    FIRST,
    LAST,
    element,
    inner_of,
    is_of_iteration,
    list_of,
    lists_of,
)
from neelc.runtime.program import (
    Absent,
    AnyBound,
    Bounds,
    Closure,
    EachElement,
    FilterStep,
    Present,
    Rename,
    RepeatStep,
    Step,
    Take,
    lists_bound,
    takes,
)


@dataclass(frozen=True)
class Role:
    """Events that can stand for a variable: those of `type` that meet `conditions`, which name them
    `variable`.

    Variables with the same conditions share a role, under the name of the first of them.
    """

    name: str
    type: str
    variable: str
    conditions: tuple[Expr, ...] = ()


PlanStep = Step[Expr]


@dataclass(frozen=True)
class Plan:
    """How the matches of a query are found.

    `variables` are those of a match. `unit` is the unit that times are counted in. `everything`, `reach`,
    `looks_back`, `leader`, `unique` and `collapsed` are explained at `runtime.program.Program`."""

    steps: tuple[PlanStep, ...]
    roles: tuple[Role, ...]
    variables: tuple[str, ...]
    unit: str
    reach: int | None = None
    counted: bool = False
    everything: bool = False
    lasting: bool = False
    looks_back: bool = True
    leader: str | None = None
    unique: bool = False
    collapsed: bool = False


# The types of the events that steps bind.


@remembered
def types_of_variables(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """The types of the events of each variable: several where branches share it."""
    types = {role.name: role.type for role in plan.roles}
    found: dict[str, tuple[str, ...]] = {}
    for take in takes(plan.steps):
        # Keys call an event of an iteration, a negative one too, by its name in the body of the closure.
        for name in {take.variable, inner_of(take.variable) or take.variable}:
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), types[take.role])))
    for step in plan.steps:
        if isinstance(step, Rename):
            found[step.new] = tuple(dict.fromkeys((*found.get(step.new, ()), *found[step.variable])))
    for repeat in lists_bound(plan.steps):
        found.update(_types_of_elements(repeat, found))
    return found


def _types_of_elements(
    repeat: RepeatStep[Expr] | Closure, types: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """The types of the names that a list's events have: those of their elements."""
    found: dict[str, tuple[str, ...]] = {}
    for name in repeat.names:
        inner = name.removeprefix(element(repeat.variable, CURRENT))
        places = (FIRST, LAST, BEFORE, *repeat.places)
        found |= {element(repeat.variable, place) + inner: types[name] for place in places}
        # Keys call an event of a list by the list's name, or by its own in the body of the closure.
        found[inner.removeprefix(".") or repeat.variable] = types[name]
    return found


# The variables that a step looks at.


def names_of_bounds(bounds: Bounds) -> Iterator[str]:
    yield from bounds.after
    yield from bounds.before
    for window in bounds.within:
        yield from window.events
    for between in bounds.between:
        yield from (*between.one, *between.other)


def names_of_step(step: PlanStep) -> Iterator[str]:
    """Every variable that a step names but does not bind itself; an inner step's own ones are among them."""
    match step:
        case Take(bounds=bounds, differs=differs, where=where, variable=variable):
            yield from names_of_bounds(bounds)
            yield from differs
            yield from (name for condition in where for name in names_in(condition) if name != variable)
        case Rename(variable):
            yield variable
        case FilterStep(condition):
            yield from names_in(condition)
        case AnyBound(variables):
            yield from variables
        case Absent(steps) | Present(steps):
            for inner in steps:
                yield from names_of_step(inner)
        case EachElement(variable, names, steps):
            yield from lists_of(variable, names)
            for name in (name for inner in steps for name in names_of_step(inner)):
                if not is_of_iteration(name) or list_of(name) != variable:
                    yield name
        case RepeatStep(variable, first=first, next=following):
            inner_names = (name for inner in (*first, *following) for name in names_of_step(inner))
            yield from (name for name in inner_names if list_of(name) != variable)
