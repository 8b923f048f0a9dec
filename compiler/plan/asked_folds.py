"""The folds over the elements before `b[i]` that steps of a program ask for."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.plan.kernel_values import KernelValues
from neelc.runtime import program as r


def running_folds(variable: str, steps: tuple[r.Step, ...], values: KernelValues) -> tuple[r.Fold, ...]:
    """Those over a list that some steps ask for."""
    asked = set(_totals(steps))
    mine = (found for found in values.folds.values() if found.variable == variable and found.running)
    return tuple(found.fold for found in mine if found.fold.name in asked)


def _totals(steps: tuple[r.Step, ...]) -> Iterator[str]:
    for step in steps:
        match step:
            case r.Filter(condition):
                yield from _totals_in(condition)
            case r.Take(where=where):
                for condition in where:
                    yield from _totals_in(condition)
            case r.Absent(inner) | r.Present(inner) | r.EachElement(steps=inner):
                yield from _totals(inner)
            case r.Repeat(first=first, next=following):
                yield from _totals((*first, *following))


def _totals_in(value: r.Value) -> Iterator[str]:
    match value:
        case r.Total(name):
            yield name
        case r.Apply(operands=operands):
            for operand in operands:
                yield from _totals_in(operand)
