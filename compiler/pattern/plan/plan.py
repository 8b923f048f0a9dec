"""Plans: a query as a list of steps, whoever executes them: a kernel, or joins.

The steps are those of `neelc.runtime.program`, with conditions that are still expressions of the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from neelc.ir.expressions import Expr
from neelc.ir.node import remembered
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    EventName,
    IterationName,
    Rename,
    Step,
    takes,
    variable_of,
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


@dataclass(frozen=True, eq=False)
class VariableTypes(Mapping[EventName, tuple[str, ...]]):
    """Types by what the pattern calls an event, or the list that it is in; and so by every name that an event
    can have: `b[1]`, `k[i-1].a`."""

    by_variable: Mapping[str, tuple[str, ...]]

    def __getitem__(self, name: EventName) -> tuple[str, ...]:
        return self.by_variable[variable_of(name)]

    def __iter__(self) -> Iterator[EventName]:
        return iter(self.by_variable)

    def __len__(self) -> int:
        return len(self.by_variable)


@remembered
def types_of_variables(plan: Plan) -> VariableTypes:
    """The types of the events of each variable: several where branches share it."""
    types = {role.name: role.type for role in plan.roles}
    found: dict[str, tuple[str, ...]] = {}

    def add(name: EventName, *more: str) -> None:
        variable = variable_of(name)
        found[variable] = tuple(dict.fromkeys((*found.get(variable, ()), *more)))

    for take in takes(plan.steps):
        add(take.variable, types[take.role])
    for step in plan.steps:
        if isinstance(step, Rename):
            add(step.new, *found[variable_of(step.variable)])
    return VariableTypes(found)


def other_elements(
    name: IterationName, places: tuple[int, ...], lags: tuple[int, ...]
) -> Iterator[EventName]:
    """The names of an iteration's event that may have none: of other elements, by place or by distance."""
    yield from (name.at(place) for place in (1, -1, *places))
    yield from (replace(name, lag=lag) for lag in (1, *lags))
