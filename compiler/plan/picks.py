"""Which one of many events is enough, where only existence is asked for.

If nothing later looks at an event but to start after its end, the one that ends earliest leaves the most
room: if any other can be extended, so can it. This is what makes `!SEQ(B b, C c, D d)` a walk instead of an
enumeration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from neelc.ir.conjuncts import names_in
from neelc.plan.steps import Absent, AnyBound, EachElement, Filter, Present, Rename, Repeat, Step, Take
from neelc.runtime.program import ALL, ANY, EARLIEST, LATEST

_PICKS = {frozenset[str](): ANY, frozenset({"after"}): EARLIEST, frozenset({"before"}): LATEST}


def with_picks(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a check, each taking no more events than matter.

    >>> from neelc.runtime.program import Bounds
    >>> chain = (Take("b", "B"), Take("c", "C", Bounds(after=("b",))))
    >>> [step.pick for step in with_picks(chain)]
    ['EARLIEST', 'ANY']
    """
    return tuple(
        replace(step, pick=_PICKS.get(frozenset(later.get(step.variable, ())), ALL))
        if isinstance(step, Take)
        else step
        for step, later in with_later_uses(steps)
    )


Uses = Mapping[str, AbstractSet[str]]
"""How variables are looked at: to start `after` their event, to end `before` it, or in an `other` way."""


def with_later_uses(steps: Sequence[Step]) -> list[tuple[Step, Uses]]:
    """Each step, and how those after it use the variables that it binds."""
    found: list[tuple[Step, Uses]] = []
    later: dict[str, set[str]] = {}
    for step in reversed(steps):
        bound = [step.variable] if isinstance(step, Take) else []
        found.append((step, {name: frozenset(later.get(name, ())) for name in bound}))
        for name, use in uses(step):
            later.setdefault(name, set()).add(use)
    return found[::-1]


def uses(step: Step) -> Iterator[tuple[str, str]]:
    """The variables that a step looks at, and how."""
    match step:
        case Take(bounds=bounds, differs=differs, where=where):
            yield from ((name, "after") for name in bounds.after)
            yield from ((name, "before") for name in bounds.before)
            named = {name for window in bounds.within for name in window.events}
            named |= {name for between in bounds.between for name in (*between.one, *between.other)}
            named |= {*differs, *(name for condition in where for name in names_in(condition))}
            yield from ((name, "other") for name in named)
        case Rename(variable):
            yield variable, "other"
        case Filter(condition):
            yield from ((name, "other") for name in names_in(condition))
        case Absent(steps) | Present(steps) | EachElement(steps=steps):
            yield from ((name, "other") for inner in steps for name, _ in uses(inner))
        case Repeat(first=first, next=following):
            yield from ((name, "other") for inner in (*first, *following) for name, _ in uses(inner))
        case AnyBound():
            return  # it asks whether there is an event, not which
