"""The steps inside of steps, and the types of the events that they bind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neelc.ir.node import remembered
from neelc.plan import steps as s
from neelc.plan.list_names import BEFORE, CURRENT, FIRST, LAST, element, inner_of


@remembered
def types_of_variables(plan: s.Plan) -> Mapping[str, tuple[str, ...]]:
    """The types of the events of each variable: several where branches share it."""
    types = {role.name: role.type for role in plan.roles}
    found: dict[str, tuple[str, ...]] = {}
    for take in takes(plan.steps):
        # Keys call an event of an iteration, a negative one too, by its name in the body of the closure.
        for name in {take.variable, inner_of(take.variable) or take.variable}:
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), types[take.role])))
    for step in plan.steps:
        if isinstance(step, s.Rename):
            found[step.new] = tuple(dict.fromkeys((*found.get(step.new, ()), *found[step.variable])))
    for repeat in repeats(plan.steps):
        found.update(_types_of_elements(repeat, found))
    return found


def _types_of_elements(repeat: s.Repeat, types: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The types of the names that a list's events have: those of their elements."""
    found: dict[str, tuple[str, ...]] = {}
    for name in repeat.names:
        inner = name.removeprefix(element(repeat.variable, CURRENT))
        places = (FIRST, LAST, BEFORE, *repeat.places)
        found |= {element(repeat.variable, place) + inner: types[name] for place in places}
        # Keys call an event of a list by the list's name, or by its own in the body of the closure.
        found[inner.removeprefix(".") or repeat.variable] = types[name]
    return found


def takes(steps: tuple[s.Step, ...]) -> Iterator[s.Take]:
    for step in steps:
        match step:
            case s.Take():
                yield step
            case s.Absent(inner) | s.Present(inner) | s.EachElement(steps=inner):
                yield from takes(inner)
            case s.Repeat(first=first, next=following):
                yield from takes((*first, *following))
            case s.Follow(moves=moves):
                yield from (move.take for move in moves)


def repeats(steps: tuple[s.Step, ...]) -> Iterator[s.Repeat]:
    for step in steps:
        match step:
            case s.Repeat():
                yield step
            case s.Follow(closures=closures):
                yield from (
                    s.Repeat(one.variable, one.names, (), (), 0, None, places=one.places) for one in closures
                )
            case s.Absent(inner) | s.Present(inner) | s.EachElement(steps=inner):
                yield from repeats(inner)
