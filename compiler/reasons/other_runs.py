"""The runs of a start beside the furthest: each way to bind the first steps that no next step continues."""

from __future__ import annotations

from itertools import islice

from neelc.ir.parts import declared
from neelc.reasons.asking import Asker
from neelc.reasons.courses import Course
from neelc.reasons.model import OtherRun
from neelc.reasons.stopping import Run
from neelc.reasons.telling import told_binding
from neelc.runtime.reference.model import Binding, Event, LimitReached, binding_key

MOST_RUNS = 200
"""How many runs of a start are told; of more than that, none but the furthest is."""

TOO_MANY_RUNS = f"there are more than {MOST_RUNS} runs: only the furthest is told"


def other_runs(asker: Asker, furthest: Run, start: Event) -> tuple[tuple[OtherRun, ...], tuple[str, ...]]:
    """The runs of the course beside the furthest, those that came furthest first, and what is to be said of
    them."""
    try:
        ended = _ended(asker, furthest.course, start)
    except LimitReached:
        ended = None
    if ended is None:
        return (), (TOO_MANY_RUNS,)
    told = _key(furthest.binding)
    others = [run for run in ended if _key(run.binding) != told]
    others.sort(key=lambda run: -run.reached)
    return tuple(OtherRun(run.reached, told_binding(run.binding, start)) for run in others), ()


def _ended(asker: Asker, course: Course, start: Event) -> list[Run] | None:
    """All runs of a course, each as far as it came; None if there are too many."""
    runs: list[Run] = []
    before: list[Run] = []
    for count in course.counts():
        found = list(islice(asker.matches(course.prefix(count), start, course.first()), MOST_RUNS + 1))
        if len(runs) + len(found) > MOST_RUNS:
            return None
        continued = {_key(_of_steps(course, before[0].reached, one)) for one in found} if before else set()
        runs += [run for run in before if _key(run.binding) not in continued]
        before = [Run(course, count, binding) for binding in found]
        if not found:
            break
    return runs + before


def _of_steps(course: Course, count: int, binding: Binding) -> Binding:
    """What the first steps bind."""
    names = {name for step in course.steps[:count] for name in declared(step)}
    return {name: bound for name, bound in binding.items() if name in names}


def _key(binding: Binding) -> object:
    return binding_key({name: bound for name, bound in binding.items() if bound is not None})
