"""Negations as bounds: between two events there must be no C, so the second one comes before the first C.

    SEQ(A a, !SEQ(C c, D d), B b)     b starts no later than the earliest D after the earliest C after a ends

The check would first need every b in the window. With the bound, only those are looked at that pass it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neelc.runtime.program import ANY, EARLIEST, Absent, Bounds, Rename, Step, Take, When


def until_negation(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with each check that can be one made a bound of the event that it looks up to.

    >>> check = Absent((Take("c", "C", Bounds(after=("a",), before=("b",)), pick=ANY),))
    >>> steps = (Take("a", "A"), Take("b", "B", Bounds(after=("a",))), check)
    >>> [step.until for step in until_negation(steps)]
    [(), ((Take(variable='c', role='C', bounds=Bounds(after=('a',), before=(), within=(), between=()), \
differs=(), where=(), pick='EARLIEST', when=(), until=()),),)]

    Proof. The events of the check lie after events that are bound before b, and before b. Each is the one
    that ends earliest among those after the ones that it comes after, so together they end as early as such
    events can. There is a hit before b if and only if these end before b starts. """
    found = list(steps)
    for check in [step for step in steps if isinstance(step, Absent)]:
        place = _place(check, found)
        if place is not None:
            take = found[place]
            assert isinstance(take, Take)
            found[place] = replace(take, until=(*take.until, _chain(check, take.variable)))
            found.remove(check)
    return tuple(found)


def _place(check: Absent, steps: Sequence[Step]) -> int | None:
    """The place of the step whose event the check looks up to, if all it needs besides is bound before."""
    inner = [step for step in check.steps if isinstance(step, Take) and _is_plain(step)]
    ends = {name for step in inner for name in step.bounds.before}
    if len(inner) < len(check.steps) or len(ends) != 1 or not all(step.bounds.before for step in inner):
        return None
    (last,) = ends
    own = {step.variable for step in inner}
    needed = {name for step in inner for name in step.bounds.after} - own
    bound: dict[str, When] = {}
    for place, step in enumerate(steps):
        if isinstance(step, Rename):
            return None  # names of events change: what is bound before may be another's
        if isinstance(step, Take):
            if step.variable == last:
                alone = sum(isinstance(s, Take) and s.variable == last for s in steps) == 1
                sure = {name for name, when in bound.items() if set(when) <= set(step.when)}
                return place if alone and needed and needed <= sure and step.when == check.when else None
            bound[step.variable] = step.when
    return None


def _is_plain(step: Take) -> bool:
    """Whether time alone says which events fit, and the one that ends earliest is enough."""
    bounds = step.bounds
    simple = not (step.where or step.differs or step.when or bounds.within or bounds.between)
    return simple and step.pick in (ANY, EARLIEST) and not set(bounds.before) & set(bounds.after)


def _chain(check: Absent, last: str) -> tuple[Take, ...]:
    takes = (step for step in check.steps if isinstance(step, Take))
    return tuple(replace(step, bounds=Bounds(after=step.bounds.after), pick=EARLIEST) for step in takes)
