"""A start without a match: how far it came, what stopped it there, and what would match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from neelc.ir import patterns as p
from neelc.ir.expressions import RelatedEvents
from neelc.ir.names import bare
from neelc.ir.patterns import all_parts, declared
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import Binding, LimitReached, ReferenceEvent, binding_key, bound_events
from neelc.runtime.reference.question import ReferenceQuery
from neelc.runtime.reference.satisfy import is_absent, is_match
from neelc.syntax.print_patterns import as_written, show_window
from neelc.tools.why.courses import Course, checked_in, part_at, size, values, views
from neelc.tools.why.model import (
    CheckedRequirement,
    OtherRun,
    Proposal,
    ReportedEvent,
    StopReason,
    length_text,
    shown,
    size_text,
    time_of,
    window_size,
)
from neelc.tools.why.questions import AnswerCache
from neelc.tools.why.reading import Relaxation, Relaxations, RelaxationSearch
from neelc.tools.why.related import relations_held
from neelc.tools.why.requirements import Requirement, RequirementChange, changed, requirements

# Which events hit a negation: found by leaving events out until the reference reports no hit.


@dataclass(frozen=True, eq=False)
class _Rejection:
    """A binding that a negation rejects. `among` are the events that the negation may look at."""

    query: ReferenceQuery
    binding: Binding
    among: Sequence[ReferenceEvent]

    def holds_with(self, kept: Sequence[ReferenceEvent]) -> bool:
        """Whether the binding is still rejected when, of `among`, only the events `kept` are there."""
        gone = set(self.among).difference(kept)
        members = {
            type: tuple(event for event in events if event not in gone)
            for type, events in self.query.members.items()
        }
        # Windows of events go on counting all of them: only what negations can find is less.
        return not is_match(replace(self.query, members=members), self.binding)


def hits(cache: AnswerCache, found: Relaxation, negation: Requirement) -> tuple[ReferenceEvent, ...] | None:
    """The events that hit a negation which a relaxation drops: of those that do, a small choice. Whether the
    data end before the negation is decided is another requirement.

    None if the negation does not reject the match that the relaxation has found. Empty if it does so without
    any event, as `!!A` where there is no A, or if times are imprecise: then other worlds have other events.
    """
    assert negation.path is not None, "a negation is a part"
    if found.match.is_imprecise:
        return ()
    kept = found.change.dropped - {negation}
    relaxed = changed(found.match, RequirementChange(kept, found.change.windows, found.change.strategy))
    query = cache.question(replace(relaxed, complete=False))
    part = part_at(found.match.pattern, negation.path)
    types = {one.type for one in all_parts(part) if isinstance(one, p.Event)}
    bound = set(bound_events(found.binding))
    among = [e for e in query.events if e not in bound and any(query.is_of_type(e, type) for type in types)]
    if is_match(query, found.binding):
        return None
    return tuple(smallest(_Rejection(query, found.binding, among)))


def smallest(rejection: _Rejection) -> list[ReferenceEvent]:
    """A minimal set of rejecting events, early ones if possible: tries without the later half first, then
    without quarters, and at last without single events."""
    kept = list(rejection.among)
    chunk = max(1, len(kept) // 2)
    while True:
        place = len(kept)
        while place > 0:
            fewer = kept[: max(0, place - chunk)] + kept[place:]
            if rejection.holds_with(fewer):
                kept = fewer
            place -= chunk
        if chunk == 1:
            return kept
        chunk = max(1, chunk // 2)


# Bindings and requirements as the values that are reported.


def reported_event(
    event: ReferenceEvent, variable: str, start: ReferenceEvent | None = None
) -> ReportedEvent:
    """An event of a match or of a run that begins with `start`."""
    after = "" if start is None or event == start else _after(event.start - start.start)
    attributes = {name: shown(value) for name, value in event.attributes.items()}
    type = "NULL" if event.type is None else str(event.type)
    return ReportedEvent(variable, type, time_of(event), time_of(event, start), after, attributes)


def _after(nanoseconds: int) -> str:
    """
    >>> _after(-(10**9)), _after(0)
    ('-1 second', '+0 seconds')
    """
    return f"{'-' if nanoseconds < 0 else '+'}{length_text(abs(nanoseconds))}"


def reported_binding(
    binding: Binding, start: ReferenceEvent, beside: Iterable[ReferenceEvent] = ()
) -> tuple[ReportedEvent, ...]:
    """The events of a match, in order of time, those left out that stand `beside` it already."""
    left_out = set(beside)
    found = sorted(_bound(binding, ""), key=lambda pair: (pair[1].first, pair[1].last))
    return tuple(reported_event(event, name, start) for name, event in found if event not in left_out)


def _bound(value: object, name: str) -> Iterator[tuple[str, ReferenceEvent]]:
    """Each event with the name it is bound to: `a`, `b[2]`, `k[1].c`."""
    match value:
        case ReferenceEvent():
            yield name, value
        case Mapping():
            for inner, bound in value.items():
                yield from _bound(bound, f"{name}.{bare(inner)}" if name else bare(inner))
        case tuple():
            for place, bound in enumerate(value, 1):
                yield from _bound(bound, f"{name}[{place}]")


def held(cache: AnswerCache, match: Match, binding: Binding) -> tuple[CheckedRequirement, ...]:
    """What a match fulfils, with the values that were checked."""
    return tuple(
        _held(cache, match, one, binding)
        for one in requirements(match)
        if one.kind == "negation" or is_present(cache.question(match), one, binding)
    )


def is_present(query: ReferenceQuery, one: Requirement, binding: Binding) -> bool:
    """Whether the part that a requirement applies to binds events; without events nothing is required."""
    if one.path is None:
        return True
    pattern = query.match.pattern
    part = part_at(pattern, one.path)
    return any(not is_absent(query, part, view) for view in views(pattern, one.path, binding))


def _held(cache: AnswerCache, match: Match, one: Requirement, binding: Binding) -> CheckedRequirement:
    if one.window is not None:
        amount = size(cache.question(match), one, binding)
        return CheckedRequirement(one.kind, one.text, size_text(amount, one.window))
    if one.kind == "negation":
        return CheckedRequirement(one.kind, one.text, _NOTHING.get(one.word, "none found"))
    if one.kind == "confidence":
        return CheckedRequirement(one.kind, one.text, confidence_text(cache.confidence(match, binding)))
    if one.kind == "complete":
        return CheckedRequirement(one.kind, one.text, f"the data go on until {cache.end(match).text}")
    if one.kind == "strategy":
        return CheckedRequirement(one.kind, one.text, "")
    return _with_values(match, one, binding)


def _with_values(match: Match, one: Requirement, binding: Binding) -> CheckedRequirement:
    found = values(match, one, binding)
    return CheckedRequirement(
        one.kind, one.text, ", ".join(f"{name} = {text}" for name, text in found), dict(found)
    )


def _with_relation(match: Match, one: Requirement, binding: Binding) -> CheckedRequirement:
    """What a condition failed with; of relations that are required, those that events have instead."""
    checked = _with_values(match, one, binding)
    if one.expression is None or one.kind != "condition":
        return checked
    context = checked_in(match, one, binding)
    instead = "" if context is None else relations_held(one.expression, context)
    if not instead or isinstance(one.expression, RelatedEvents):
        return replace(checked, detail=instead or checked.detail)
    return replace(checked, detail=f"{instead}, {checked.detail}")


def failed(
    cache: AnswerCache, found: Relaxation, one: Requirement, start: ReferenceEvent
) -> CheckedRequirement:
    """A requirement that a relaxation drops or widens, with what it failed with."""
    if one.window is not None:
        amount = size(cache.question(found.match), one, found.binding)
        over = amount - window_size(one.window)
        if over <= 0:  # the events that EXISTS drops are in no binding, but must be in the window
            return CheckedRequirement(one.kind, one.text, "too short for what EXISTS looks for")
        much = f"{over:,} too many" if one.window.unit == "EVENT" else f"{length_text(over)} too long"
        return CheckedRequirement(one.kind, one.text, f"{size_text(amount, one.window)}, {much}")
    if one.kind == "negation":
        return hit(one, hits(cache, found, one) or (), start)
    if one.kind == "complete":
        return CheckedRequirement(one.kind, one.text, _undecided(cache, found))
    if one.kind == "confidence":
        return CheckedRequirement(
            one.kind, one.text, confidence_text(cache.confidence(found.relaxed, found.binding))
        )
    if one.kind == "strategy":
        had_to = (
            "another event had to be taken"
            if found.match.strategy == SelectionStrategy.NEXT_MATCH
            else "others come between"
        )
        return CheckedRequirement(one.kind, one.text, had_to)
    return _with_relation(found.match, one, found.binding)


def _undecided(cache: AnswerCache, found: Relaxation) -> str:
    """That the data end too early for a match, and for which of its negations."""
    negations = [one for one in requirements(found.match) if one.kind == "negation"]
    open_ended = []
    for one in [one for one in negations if one not in found.change.dropped] or negations:
        alone = replace(found.change, dropped=frozenset(negations) - {one})
        asked = replace(changed(found.match, alone), complete=True)
        if not is_match(cache.question(asked), found.binding):
            open_ended.append(one.text)
    verb = "is" if len(open_ended) == 1 else "are"
    return f"the data end at {cache.end(found.match).text}, before {' and '.join(open_ended)} {verb} decided"


_NOTHING: dict[p.FollowKind | None, str] = {
    p.FollowKind.NEXT: "none came first",
    p.FollowKind.STRICT: "nothing lies between",
}
_CAME = {p.FollowKind.NEXT: "came first", p.FollowKind.STRICT: "lies between"}


def hit(negation: Requirement, events: Sequence[ReferenceEvent], start: ReferenceEvent) -> CheckedRequirement:
    """A negation and the events that hit it."""
    named = tuple(reported_event(event, "", start) for event in events)
    if negation.word is not None and named:
        between = ", ".join(f"{event.type} at {event.clock}" for event in named)
        return CheckedRequirement(
            "negation", negation.text, f"{between} {_CAME[negation.word]}", is_word=True
        )
    text = ", ".join(f"{event.type} {event.clock}" for event in named)
    return CheckedRequirement("negation", negation.text, f"hit by {text}" if text else "", events=named)


def proposal(cache: AnswerCache, found: Relaxation, start: ReferenceEvent) -> Proposal:
    """A relaxation as what would be written instead."""
    changes = tuple(failed(cache, found, one, start) for one in found.requirements)
    texts = tuple(_change(cache, found, one) for one in found.requirements)
    return Proposal(texts, changes, reported_binding(found.binding, start), found.relaxed)


def _change(cache: AnswerCache, found: Relaxation, one: Requirement) -> str:
    if one.window is not None:
        return f"WITHIN {show_window(found.change.windows[one])}{_place(found.match, one)}"
    if one.kind == "strategy":
        return f"USING {found.relaxed.strategy}"
    if one.kind == "confidence":
        return f"WITH CONFIDENCE >= {confidence_text(cache.confidence(found.relaxed, found.binding))}"
    return f"without {one.text}"


def _place(match: Match, one: Requirement) -> str:
    """The part that a window belongs to, if it is not the query's."""
    if one.path is None:
        return ""
    part = replace(part_at(match.pattern, one.path), within=None, where=None)
    return f" on {as_written(part)}"


def confidence_text(confidence: Fraction) -> str:
    """
    >>> confidence_text(Fraction(1, 3)), confidence_text(Fraction(1, 2))
    ('0.3333', '0.5')
    """
    # Rounded down: a suggested threshold must be one that the match reaches.
    return f"{int(confidence * 10_000) / 10_000:g}"


NO_EVENT = "some step has no event, whatever is required of it"
RUNS_LOOKED_AT = 20
TOO_MANY = "too many choices of events to look at all of them"


@dataclass(frozen=True)
class CourseProgress:
    """How far a course was followed: the steps reached, and the events bound there."""

    course: Course
    reached: int
    binding: Binding

    @property
    def share(self) -> float:
        """The part of the way that was reached."""
        return self.reached / len(self.course.steps)


def furthest(cache: AnswerCache, course: Course, start: ReferenceEvent) -> CourseProgress:
    """The furthest run of a course. Whoever reaches a step has reached those before it, so the first one
    that is not reached ends the run."""
    run = CourseProgress(course, 0, {})
    for count in course.counts():
        found = _longest(cache, course.prefix(count), start, course.first())
        if found is None:
            break
        run = CourseProgress(course, count, found)
    return run


def _longest(cache: AnswerCache, match: Match, start: ReferenceEvent, first: str | None) -> Binding | None:
    """A match; under a strategy that makes runs grow, of the first ones that with the longest lists."""
    found = cache.matches(match, start, first)
    return max(
        islice(found, 1 if match.strategy == SelectionStrategy.ANY_MATCH else RUNS_LOOKED_AT),
        key=_events,
        default=None,
    )


def _events(binding: Binding) -> int:
    return sum(1 for _ in bound_events(binding))


def stops(cache: AnswerCache, run: CourseProgress, start: ReferenceEvent) -> tuple[StopReason, ...]:
    """What kept a run from its next step, or from being a match: each thing that alone was the reason."""
    course = run.course
    if run.reached == len(course.steps):
        return (StopReason("", _rejecting(cache, run, start)),)
    return (*_stopped_before(cache, run, start), *_stopped_at_next(cache, run, start))


def _stopped_before(cache: AnswerCache, run: CourseProgress, start: ReferenceEvent) -> tuple[StopReason, ...]:
    """The negations between steps that were reached, if they reject all ways to reach them."""
    guarded = run.course.guarded(run.reached)
    if guarded is None or cache.first(guarded.match, start, guarded.first()) is not None:
        return ()
    rejecting = _rejecting(cache, CourseProgress(guarded, run.reached, run.binding), start)
    return (StopReason("", rejecting),) if rejecting else ()


def _stopped_at_next(
    cache: AnswerCache, run: CourseProgress, start: ReferenceEvent
) -> tuple[StopReason, ...]:
    course = run.course
    count = next(count for count in course.counts() if count > run.reached)
    relaxed = RelaxationSearch(cache, course.prefix(count), start, course.first()).smallest()
    step = str(as_written(course.steps[count - 1]))
    if relaxed.is_missing:
        return (StopReason(step, (), is_missing=True),)
    beside = list(bound_events(run.binding))
    return tuple(
        StopReason(
            step,
            tuple(failed(cache, one, required, start) for required in one.requirements),
            reported_binding(one.binding, start, beside),
        )
        for one in relaxed.found
    ) or (StopReason(step, ()),)


def _rejecting(
    cache: AnswerCache, run: CourseProgress, start: ReferenceEvent
) -> tuple[CheckedRequirement, ...]:
    """The negations that reject the events of a run which has all its steps."""
    match = run.course.match
    negations = [one for one in requirements(match) if one.kind == "negation"]
    change = RequirementChange(frozenset(negations), strategy=match.strategy)
    whole = Relaxation(tuple(negations), change, match, match, run.binding)
    found = [(one, hits(cache, whole, one)) for one in negations]
    hit_ones = tuple(hit(one, events, start) for one, events in found if events is not None)
    completeness = [one for one in requirements(match) if one.kind == "complete"]
    return hit_ones or tuple(failed(cache, whole, one, start) for one in completeness)


def proposals(
    cache: AnswerCache, concerned: Sequence[Course], start: ReferenceEvent
) -> tuple[tuple[Proposal, ...], tuple[str, ...]]:
    """The smallest relaxations of all courses, and notes on them."""
    looked = [RelaxationSearch(cache, course.match, start, course.first()).smallest() for course in concerned]
    found = [one for relaxed in looked for one in relaxed.found]
    least = min((len(one.requirements) for one in found), default=0)
    smallest_ones = [proposal(cache, one, start) for one in found if len(one.requirements) == least]
    notes = dict.fromkeys(note for relaxed in looked if (note := _note(relaxed)))
    return tuple({one.text: one for one in reversed(smallest_ones)}.values())[::-1], tuple(notes)


def _note(relaxed: Relaxations) -> str | None:
    if relaxed.is_missing:
        return NO_EVENT
    if relaxed.is_complete:
        return None
    if relaxed.found:
        return f"there may be other relaxations that are as small: {TOO_MANY}"
    return "no small relaxation was found: too many things fail together, or there is too much to try"


# The runs of a start beside the furthest: each way to bind the first steps that no next step continues.

MOST_RUNS = 200
"""How many runs of a start are reported; if there are more, only the furthest is."""

TOO_MANY_RUNS = f"there are more than {MOST_RUNS} runs: only the furthest is shown"


def other_runs(
    cache: AnswerCache, furthest: CourseProgress, start: ReferenceEvent
) -> tuple[tuple[OtherRun, ...], tuple[str, ...]]:
    """The runs of the course beside the furthest, those that came furthest first, and notes on
    them."""
    try:
        ended = _ended(cache, furthest.course, start)
    except LimitReached:
        ended = None
    if ended is None:
        return (), (TOO_MANY_RUNS,)
    reported = _key(furthest.binding)
    others = [run for run in ended if _key(run.binding) != reported]
    others.sort(key=lambda run: -run.reached)
    return tuple(OtherRun(run.reached, reported_binding(run.binding, start)) for run in others), ()


def _ended(cache: AnswerCache, course: Course, start: ReferenceEvent) -> list[CourseProgress] | None:
    """All runs of a course, each as far as it came; None if there are too many."""
    runs: list[CourseProgress] = []
    before: list[CourseProgress] = []
    for count in course.counts():
        found = list(islice(cache.matches(course.prefix(count), start, course.first()), MOST_RUNS + 1))
        if len(runs) + len(found) > MOST_RUNS:
            return None
        continued = {_key(_of_steps(course, before[0].reached, one)) for one in found} if before else set()
        runs += [run for run in before if _key(run.binding) not in continued]
        before = [CourseProgress(course, count, binding) for binding in found]
        if not found:
            break
    return runs + before


def _of_steps(course: Course, count: int, binding: Binding) -> Binding:
    """What the first steps bind."""
    names = {name for step in course.steps[:count] for name in declared(step)}
    return {name: bound for name, bound in binding.items() if name in names}


def _key(binding: Binding) -> object:
    return binding_key({name: bound for name, bound in binding.items() if bound is not None})
