"""A start without a match: how far it came, what stopped it there, and what would match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from neelc.ir.logical import Match
from neelc.ir.show_pattern import as_written
from neelc.reasons.asking import Asker
from neelc.reasons.courses import Course
from neelc.reasons.hits import hits
from neelc.reasons.model import Judged, Proposal, Stop
from neelc.reasons.relaxing import Change
from neelc.reasons.requirements import ANY, requirements
from neelc.reasons.smallest import Relaxation, Relaxations, Relaxing
from neelc.reasons.telling import failed, hit, proposal, told_binding
from neelc.runtime.reference.model import Binding, Event, bound_events

NO_EVENT = "some step has no event, whatever is required of it"
RUNS_LOOKED_AT = 20
TOO_MANY = "too many choices of events to look at all of them"


@dataclass(frozen=True)
class Run:
    """How far a course was followed: the steps reached, and the events bound there."""

    course: Course
    reached: int
    binding: Binding

    @property
    def share(self) -> float:
        """The part of the way that was reached."""
        return self.reached / len(self.course.steps)


def furthest(asker: Asker, course: Course, start: Event) -> Run:
    """The furthest run of a course. Whoever reaches a step has reached those before it, so the first one
    that is not reached ends the run."""
    run = Run(course, 0, {})
    for count in course.counts():
        found = _longest(asker, course.prefix(count), start, course.first())
        if found is None:
            break
        run = Run(course, count, found)
    return run


def _longest(asker: Asker, match: Match, start: Event, first: str | None) -> Binding | None:
    """A match; under a strategy that makes runs grow, of the first ones that with the longest lists."""
    found = asker.matches(match, start, first)
    return max(islice(found, 1 if match.strategy == ANY else RUNS_LOOKED_AT), key=_events, default=None)


def _events(binding: Binding) -> int:
    return sum(1 for _ in bound_events(binding))


def stops(asker: Asker, run: Run, start: Event) -> tuple[Stop, ...]:
    """What kept a run from its next step, or from being a match: each thing that alone was the reason."""
    course = run.course
    if run.reached == len(course.steps):
        return (Stop("", _rejecting(asker, run, start)),)
    return (*_stopped_before(asker, run, start), *_stopped_at_next(asker, run, start))


def _stopped_before(asker: Asker, run: Run, start: Event) -> tuple[Stop, ...]:
    """The negations between steps that were reached, if they reject all ways to reach them."""
    guarded = run.course.guarded(run.reached)
    if guarded is None or asker.first(guarded.match, start, guarded.first()) is not None:
        return ()
    rejecting = _rejecting(asker, Run(guarded, run.reached, run.binding), start)
    return (Stop("", rejecting),) if rejecting else ()


def _stopped_at_next(asker: Asker, run: Run, start: Event) -> tuple[Stop, ...]:
    course = run.course
    count = next(count for count in course.counts() if count > run.reached)
    relaxed = Relaxing(asker, course.prefix(count), start, course.first()).smallest()
    step = str(as_written(course.steps[count - 1]))
    if relaxed.is_missing:
        return (Stop(step, (), is_missing=True),)
    beside = list(bound_events(run.binding))
    return tuple(
        Stop(
            step,
            tuple(failed(asker, one, required, start) for required in one.requirements),
            told_binding(one.binding, start, beside),
        )
        for one in relaxed.found
    ) or (Stop(step, ()),)


def _rejecting(asker: Asker, run: Run, start: Event) -> tuple[Judged, ...]:
    """The negations that reject the events of a run which has all its steps."""
    match = run.course.match
    negations = [one for one in requirements(match) if one.kind == "negation"]
    change = Change(frozenset(negations), strategy=match.strategy)
    whole = Relaxation(tuple(negations), change, match, match, run.binding)
    found = [(one, hits(asker, whole, one)) for one in negations]
    return tuple(hit(one, events, start) for one, events in found if events is not None)


def proposals(
    asker: Asker, concerned: Sequence[Course], start: Event
) -> tuple[tuple[Proposal, ...], tuple[str, ...]]:
    """The smallest relaxations of all courses, and what is to be said of them."""
    looked = [Relaxing(asker, course.match, start, course.first()).smallest() for course in concerned]
    found = [one for relaxed in looked for one in relaxed.found]
    least = min((len(one.requirements) for one in found), default=0)
    told = [proposal(asker, one, start) for one in found if len(one.requirements) == least]
    notes = dict.fromkeys(note for relaxed in looked if (note := _note(relaxed)))
    return tuple({one.text: one for one in reversed(told)}.values())[::-1], tuple(notes)


def _note(relaxed: Relaxations) -> str | None:
    if relaxed.is_missing:
        return NO_EVENT
    if relaxed.is_complete:
        return None
    if relaxed.found:
        return f"there may be other relaxations that are as small: {TOO_MANY}"
    return "no small relaxation was found: too many things fail together, or there is too much to try"
