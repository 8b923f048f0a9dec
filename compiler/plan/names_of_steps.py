"""The variables that a step looks at."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir.conjuncts import names_in
from neelc.plan.list_names import is_of_iteration, list_of, lists_of
from neelc.plan.steps import (
    Absent,
    AnyBound,
    Bounds,
    EachElement,
    Filter,
    Present,
    Rename,
    Repeat,
    Step,
    Take,
)


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
        case Take(bounds=bounds, differs=differs, where=where, variable=variable):
            yield from names_of_bounds(bounds)
            yield from differs
            yield from (name for condition in where for name in names_in(condition) if name != variable)
        case Rename(variable):
            yield variable
        case Filter(condition):
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
        case Repeat(variable, first=first, next=following):
            inner_names = (name for inner in (*first, *following) for name in names_of_step(inner))
            yield from (name for name in inner_names if list_of(name) != variable)
