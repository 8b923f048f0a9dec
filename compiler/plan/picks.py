"""Which one of many events is enough, where only existence is asked for.

If nothing later looks at an event but to start after its end, the one that ends earliest leaves the most
room: if any other can be extended, so can it. This is what makes `!SEQ(B b, C c, D d)` a walk instead of an
enumeration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir.conjuncts import names_in
from neelc.plan.steps import Absent, AnyBound, EachElement, Filter, Present, Repeat, Step, Take
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
        replace(step, pick=_pick(step.variable, steps[place + 1 :])) if isinstance(step, Take) else step
        for place, step in enumerate(steps)
    )


def _pick(variable: str, later: Sequence[Step]) -> str:
    found = frozenset(use for step in later for use in uses(variable, step))
    return _PICKS.get(found, ALL)


def uses(variable: str, step: Step) -> Iterator[str]:
    """How a step looks at a variable's event: to start `after` it, to end `before` it, or otherwise."""
    match step:
        case Take(bounds=bounds, differs=differs, where=where):
            yield from ("after" for name in bounds.after if name == variable)
            yield from ("before" for name in bounds.before if name == variable)
            named = {name for window in bounds.within for name in window.events}
            named |= {name for between in bounds.between for name in (*between.one, *between.other)}
            if variable in named | set(differs) | {name for c in where for name in names_in(c)}:
                yield "other"
        case Filter(condition) if variable in names_in(condition):
            yield "other"
        case Absent(steps) | Present(steps) | EachElement(steps=steps):
            if any(use for inner in steps for use in uses(variable, inner)):
                yield "other"
        case Repeat(first=first, next=following):
            if any(use for inner in (*first, *following) for use in uses(variable, inner)):
                yield "other"
        case AnyBound():
            return  # it asks whether there is an event, not which
