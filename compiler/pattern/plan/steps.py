"""Steps: a query as a list of things to do, whoever does them: a kernel, or joins.

They are those of `neelc.runtime.program`, with conditions that are still expressions of the language.
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
    ALL,
    EVERYWHERE,
    AnyBound,
    BetweenGroups,
    Bounds,
    Choose,
    Closure,
    Marks,
    Rename,
    State,
    When,
    Within,
)

__all__ = [
    "AnyBound", "BetweenGroups", "Bounds", "Choose", "Closure", "Plan", "PlannedAbsent",
    "PlannedEachElement", "PlannedFilter", "PlannedFollow", "PlannedMove", "PlannedMoveCondition",
    "PlannedPresent", "PlannedRepeat", "PlannedTake", "Rename", "Role", "State", "Step", "When", "Within",
]  # fmt: skip


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


@dataclass(frozen=True)
class PlannedTake:
    """Bind `variable` to each event of `role` that lies within `bounds`, differs from `differs` and meets
    `where`."""

    variable: str
    role: str
    bounds: Bounds = EVERYWHERE
    differs: tuple[str, ...] = ()
    where: tuple[Expr, ...] = ()
    pick: str = ALL
    when: When = ()


@dataclass(frozen=True)
class PlannedFilter:
    """Keep the rows for which the condition is true."""

    condition: Expr
    when: When = ()


@dataclass(frozen=True)
class PlannedAbsent:
    """Keep the rows that `steps` cannot extend. `part` is the negative part, as written."""

    steps: tuple[Step, ...]
    when: When = ()
    part: str = ""


@dataclass(frozen=True)
class PlannedPresent:
    """Keep the rows that `steps` can extend, each once. Without a `part` it is not asked for by the
    pattern: it drops early what cannot become a match."""

    steps: tuple[Step, ...]
    when: When = ()
    part: str = ""


@dataclass(frozen=True)
class PlannedRepeat:
    """Bind a list: see `runtime.program.Repeat`."""

    variable: str
    names: tuple[str, ...]
    first: tuple[Step, ...]
    next: tuple[Step, ...]
    least: int
    most: int | None
    early: tuple[Expr, ...] = ()
    when: When = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedEachElement:
    """Judge each element of a list: see `runtime.elements.EachElement`."""

    variable: str
    names: tuple[str, ...]
    steps: tuple[Step, ...]
    skipped: int = 0
    when: When = ()
    marks: Marks = ()
    unfinished: bool = False


@dataclass(frozen=True)
class PlannedMoveCondition:
    """A condition of a move: see `runtime.moves.Judged`."""

    condition: Expr
    present: tuple[str, ...] = ()
    each: str | None = None
    looks_back: bool = False


@dataclass(frozen=True)
class PlannedMove:
    """How a run goes on: see `runtime.moves.Move`."""

    source: int
    target: int
    take: PlannedTake
    least: int = 0
    most: int | None = None
    iteration: str = "FIRST"
    renames: tuple[tuple[str, str], ...] = ()
    judged: tuple[PlannedMoveCondition, ...] = ()
    checks: tuple[Step, ...] = ()


@dataclass(frozen=True)
class PlannedFollow:
    """Bind all variables of a SEQ, event by event: see `runtime.program.Follow`."""

    states: tuple[State, ...]
    moves: tuple[PlannedMove, ...]
    closures: tuple[Closure, ...] = ()
    contiguous: bool = False
    marks: tuple[tuple[str, str], ...] = ()
    when: When = ()


Step = (
    Choose
    | PlannedTake
    | Rename
    | PlannedFilter
    | AnyBound
    | PlannedAbsent
    | PlannedPresent
    | PlannedRepeat
    | PlannedEachElement
    | PlannedFollow
)


@dataclass(frozen=True)
class Plan:
    """How the matches of a query are found.

    `variables` are those of a match. `unit` is the unit that times are counted in. `everything`, `reach`,
    `looks_back`, `leader`, `unique` and `collapsed` are explained at `runtime.program.Program`."""

    steps: tuple[Step, ...]
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


# The steps inside of steps, and the types of the events that they bind.


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
    for repeat in repeats(plan.steps):
        found.update(_types_of_elements(repeat, found))
    return found


def _types_of_elements(
    repeat: PlannedRepeat, types: dict[str, tuple[str, ...]]
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


def takes(steps: tuple[Step, ...]) -> Iterator[PlannedTake]:
    for step in steps:
        match step:
            case PlannedTake():
                yield step
            case PlannedAbsent(inner) | PlannedPresent(inner) | PlannedEachElement(steps=inner):
                yield from takes(inner)
            case PlannedRepeat(first=first, next=following):
                yield from takes((*first, *following))
            case PlannedFollow(moves=moves):
                yield from (move.take for move in moves)


def repeats(steps: tuple[Step, ...]) -> Iterator[PlannedRepeat]:
    for step in steps:
        match step:
            case PlannedRepeat():
                yield step
            case PlannedFollow(closures=closures):
                yield from (
                    PlannedRepeat(one.variable, one.names, (), (), 0, None, places=one.places)
                    for one in closures
                )
            case PlannedAbsent(inner) | PlannedPresent(inner) | PlannedEachElement(steps=inner):
                yield from repeats(inner)


# The variables that a step looks at.


def names_of_bounds(bounds: Bounds) -> Iterator[str]:
    yield from bounds.after
    yield from bounds.before
    for window in bounds.within:
        yield from window.events
    for between in bounds.between:
        yield from (*between.one, *between.other)


def names_of_step(step: Step) -> Iterator[str]:
    """Every variable that a step names but does not bind itself; an inner step's own ones are among them."""
    match step:
        case PlannedTake(bounds=bounds, differs=differs, where=where, variable=variable):
            yield from names_of_bounds(bounds)
            yield from differs
            yield from (name for condition in where for name in names_in(condition) if name != variable)
        case Rename(variable):
            yield variable
        case PlannedFilter(condition):
            yield from names_in(condition)
        case AnyBound(variables):
            yield from variables
        case PlannedAbsent(steps) | PlannedPresent(steps):
            for inner in steps:
                yield from names_of_step(inner)
        case PlannedEachElement(variable, names, steps):
            yield from lists_of(variable, names)
            for name in (name for inner in steps for name in names_of_step(inner)):
                if not is_of_iteration(name) or list_of(name) != variable:
                    yield name
        case PlannedRepeat(variable, first=first, next=following):
            inner_names = (name for inner in (*first, *following) for name in names_of_step(inner))
            yield from (name for name in inner_names if list_of(name) != variable)
