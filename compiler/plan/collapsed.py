"""RETURN COLLAPSED: for each choice of the single variables, the union of the lists that go with it.

The kernel unites the lists of all matches. Often it needs no more than lists of one element for that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir.conjuncts import names_in
from neelc.plan.list_names import base_of
from neelc.plan.names_of_steps import names_of_step
from neelc.plan.steps import Plan, Present, Repeat, Step, Take
from neelc.plan.unsupported import Unsupported


def collapsed(plan: Plan) -> Plan:
    """The plan for a query that collapses its matches. Unless one event starts all matches of a choice, they
    can begin far from one another: then time must not be cut."""
    for step in plan.steps:
        if isinstance(step, Repeat) and step.names != (f"{step.variable}[i]",):
            raise Unsupported("RETURN COLLAPSED with a closure of a composite")
    steps = tuple(
        replace(step, most=1) if isinstance(step, Repeat) and one_is_enough(step, plan.steps) else step
        for step in plan.steps
    )
    return replace(plan, steps=steps, reach=plan.reach if plan.leader else None, collapsed=True)


def one_is_enough(step: Repeat, steps: tuple[Step, ...]) -> bool:
    """Whether an element of any list is also a list by itself.

    So it is if no condition is about the list as a whole or about its first element alone, and no negation
    looks at where the list begins or ends: what holds for an element in a list holds for it alone, since
    conditions that look back hold for the first element by definition.
    """
    if step.least > 1 or not set(_conditions(step.first)) <= set(_conditions(step.next)):
        return False
    others = (other for other in steps if other is not step and not _drops_early(other))
    return not any(base_of(name) == step.variable for other in others for name in _named(other))


def _drops_early(step: Step) -> bool:
    """Whether a step only drops what cannot become a match: it has names of its own."""
    return isinstance(step, Present) and not step.part


def _conditions(steps: tuple[Step, ...]) -> Iterator[object]:
    for step in steps:
        match step:
            case Take(where=where):
                yield from where
            case _:
                yield step


def _named(step: Step) -> Iterator[str]:
    """What a step looks at; where the next list may begin is no matter."""
    if isinstance(step, Repeat):
        for inner in (*step.first, *step.next):
            match inner:
                case Take(where=where, differs=differs):
                    yield from (name for condition in where for name in names_in(condition))
                    yield from differs
                case _:
                    yield from names_of_step(inner)
    else:
        yield from names_of_step(step)
