"""Plans: a query as a list of steps, whoever executes them: a kernel, or joins.

The steps are those of `neelc.runtime.program`, with conditions that are still expressions of the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from neelc.ir.expressions import Expr
from neelc.ir.node import remembered
from neelc.runtime.program import (
    Closure,
    EventName,
    IterationName,
    Rename,
    RepeatStep,
    Step,
    inner_of,
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
    variable: EventName
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
    leader: EventName | None = None
    unique: bool = False
    collapsed: bool = False


# The types of the events that steps bind.


@remembered
def types_of_variables(plan: Plan) -> Mapping[EventName, tuple[str, ...]]:
    """The types of the events of each variable: several where branches share it."""
    types = {role.name: role.type for role in plan.roles}
    by_name: dict[EventName, tuple[str, ...]] = {}
    for take in takes(plan.steps):
        # Keys call an event of an iteration, a negative one too, by its name in the body of the closure.
        for name in {take.variable, inner_of(take.variable) or take.variable}:
            by_name[name] = tuple(dict.fromkeys((*by_name.get(name, ()), types[take.role])))
    for step in plan.steps:
        if isinstance(step, Rename):
            by_name[step.new] = tuple(dict.fromkeys((*by_name.get(step.new, ()), *by_name[step.variable])))
    for repeat in lists_bound(plan.steps):
        by_name.update(_types_of_elements(repeat, by_name))
    return by_name


def _types_of_elements(
    repeat: RepeatStep[Expr] | Closure, types: dict[EventName, tuple[str, ...]]
) -> dict[EventName, tuple[str, ...]]:
    """The types of the names that a list's events have: those of their elements."""
    by_name: dict[EventName, tuple[str, ...]] = {}
    for name in repeat.names:
        by_name |= dict.fromkeys(other_elements(name, repeat.places, repeat.lags), types[name])
        # Keys call an event of a list by the list's name, or by its own in the body of the closure.
        by_name[name.inner or repeat.variable] = types[name]
    return by_name


def other_elements(
    name: IterationName, places: tuple[int, ...], lags: tuple[int, ...]
) -> Iterator[EventName]:
    """The names of an iteration's event that may have none: of other elements, by place or by distance."""
    yield from (name.at(place) for place in (1, -1, *places))
    yield from (replace(name, lag=lag) for lag in (1, *lags))
