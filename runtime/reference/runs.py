"""SKIP TILL NEXT MATCH, STRICT CONTIGUITY and PARTITION CONTIGUITY: matches grow event by event.

They are defined for SEQ of single and Kleene components and negations, and for OR of such; the binder refuses
others. "Negations are filters on complete matches, under every strategy": runs do not look at them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from neelc.ir import patterns as p
from neelc.ir.node import walk
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.candidates import BindingSearch
from neelc.runtime.reference.model import Binding, ReferenceEvent, bound_events
from neelc.runtime.reference.partial import PartialMatch
from neelc.runtime.reference.question import ELEMENT, ReferenceQuery, element, reach

# What a run can do next: the steps of a pattern that is read event by event.


@dataclass(frozen=True)
class PendingLoop:
    """Still to do: leave the closure, or begin one more element."""

    repeat: p.Repeat


@dataclass(frozen=True)
class PendingFinish:
    """Still to do: the element of the closure is over."""

    repeat: p.Repeat


Todo = tuple[p.Pattern | PendingLoop | PendingFinish, ...]


@dataclass(frozen=True)
class ReferenceRun:
    """What is bound, what is still to do, and the event taken last."""

    partial: PartialMatch
    todo: Todo
    last: ReferenceEvent | None = None


@dataclass(frozen=True)
class RunStep:
    """A component that can take the next event, or None when the run is already complete; and the run
    before it."""

    component: p.Event | None
    before: ReferenceRun


def steps(question: ReferenceQuery, run: ReferenceRun) -> Iterator[RunStep]:
    """ "The run's next step (one more element of the current Kleene, or the next component)": with every
    way to skip optional parts before it."""
    if not run.todo:
        yield RunStep(None, run)
        return
    head, rest = run.todo[0], run.todo[1:]
    match head:
        case p.Not():
            yield from steps(question, replace(run, todo=rest))
        case p.Event():
            yield RunStep(head, ReferenceRun(run.partial.begin(question, head), rest, run.last))
        case p.Seq():
            yield from steps(
                question, ReferenceRun(run.partial.begin(question, head), (*head.parts, *rest), run.last)
            )
        case p.Or():
            begun = run.partial.begin(question, head)
            for branch in head.parts:
                names = question.facts(head).variables - question.facts(branch).variables
                yield from steps(question, ReferenceRun(begun.leave_out(names), (branch, *rest), run.last))
        case p.Optional():
            absent = run.partial.leave_out(question.facts(head).variables)
            yield from steps(
                question, ReferenceRun(run.partial.begin(question, head), (head.part, *rest), run.last)
            )
            yield from steps(question, ReferenceRun(absent, rest, run.last))
        case p.Repeat():
            begun = run.partial.begin(question, head).bind(head.variable or ELEMENT, (), grows=True)
            yield from steps(question, ReferenceRun(begun, (PendingLoop(head), *rest), run.last))
        case PendingLoop(repeat):
            yield from steps_of_loop(question, repeat, run, rest)
        case PendingFinish(repeat):
            if finished := finish(question, repeat, run.partial):
                yield from steps(question, ReferenceRun(finished, (PendingLoop(repeat), *rest), run.last))
        case _:
            raise TypeError(f"{type(head).__name__} has no meaning under {question.match.strategy}")


def steps_of_loop(
    question: ReferenceQuery, repeat: p.Repeat, run: ReferenceRun, rest: Todo
) -> Iterator[RunStep]:
    """One more element, below the maximum; or what comes after the closure, once the minimum is met."""
    name = repeat.variable or ELEMENT
    elements = run.partial.binding[name]
    assert isinstance(elements, tuple), "a closure binds a list"
    if repeat.most is None or len(elements) < repeat.most:
        partial = run.partial if isinstance(repeat.part, p.Event) else begin_iteration(repeat, run.partial)
        yield from steps(
            question, ReferenceRun(partial, (repeat.part, PendingFinish(repeat), *rest), run.last)
        )
    if len(elements) >= repeat.least:
        yield from steps(question, ReferenceRun(run.partial.bind(name, elements), rest, run.last))


def begin_iteration(repeat: p.Repeat, partial: PartialMatch) -> PartialMatch:
    """With an iteration of a composite that is not over."""
    name = repeat.variable or ELEMENT
    elements = partial.binding[name]
    assert isinstance(elements, tuple), "a closure binds a list"
    return replace(partial.bind(name, elements, may_grow(repeat, elements)), begun=repeat)


def may_grow(repeat: p.Repeat, elements: tuple[object, ...]) -> bool:
    """Whether the list may become longer by more than one element."""
    return repeat.most is None or len(elements) + 1 < repeat.most


def finish(question: ReferenceQuery, repeat: p.Repeat, partial: PartialMatch) -> PartialMatch | None:
    """The element of a closure, whose variables are all decided, put into its list; None when it binds no
    event.

    Conditions of this element that are not checked yet keep the values of its variables.
    """
    name = repeat.variable or ELEMENT
    value = element(repeat, partial.binding)
    elements = partial.binding[name]
    if not any(bound_events(value)):
        return None
    assert isinstance(elements, tuple), "a closure binds a list"
    inner = question.facts(repeat.part).names
    local = {key: partial.binding[key] for key in inner if key in partial.binding}
    outer = {key: bound for key, bound in partial.binding.items() if key not in inner}
    inside = {id(part) for part in walk(repeat.part)}
    duties = tuple(
        replace(duty, local={**local, **duty.local}) if id(duty.part) in inside else duty
        for duty in partial.duties
    )
    over = replace(
        partial, binding=outer, duties=duties, begun=None if repeat is partial.begun else partial.begun
    )
    return over.bind(name, (*elements, value), may_grow(repeat, elements))


def runs(
    question: ReferenceQuery,
    starts: Sequence[ReferenceEvent] | None = None,
    search: BindingSearch | None = None,
) -> Iterator[Binding]:
    """The bindings that complete runs end with: "a run ends at a match or when the window closes".

    "Every event that qualifies for the first component starts a run"; with `starts`, only those do.
    """
    search = search or BindingSearch(question)
    begin = ReferenceRun(PartialMatch({}).begin(question, question.whole), (question.match.pattern,))
    first = list(steps(question, begin))
    begun = question.events if starts is None else starts
    waiting = [run for event in begun for run in taken(search, event, first)]
    while waiting:
        run = waiting.pop()
        following = list(steps(question, run))
        yield from (step.before.partial.binding for step in following if step.component is None)
        waiting.extend(successors(search, run, following))


def taken(search: BindingSearch, event: ReferenceEvent, following: list[RunStep]) -> Iterator[ReferenceRun]:
    """The runs that take `event`: one for each step it qualifies for; "if it qualifies for both, the run
    splits"."""
    for step in following:
        if step.component is None or not search.question.is_of_type(event, step.component.type):
            continue
        bound = step.before.partial.bind(step.component.variable or ELEMENT, event)
        match step.before.todo:
            case (PendingFinish(repeat), *rest):
                partial, todo = finish(search.question, repeat, bound), (PendingLoop(repeat), *rest)
            case todo:
                partial = bound
        if partial and (passed := search.checked(partial)):
            yield ReferenceRun(passed, todo, event)


def successors(search: BindingSearch, run: ReferenceRun, following: list[RunStep]) -> Iterator[ReferenceRun]:
    """The run with one more event, in every way its strategy allows."""
    assert run.last is not None, "a run begins with an event"
    question = search.question
    if question.match.strategy == SelectionStrategy.NEXT_MATCH:
        return next_instant(search, run, following)
    partitioned = question.match.strategy == SelectionStrategy.PARTITION
    events = question.partition(run.last) if partitioned else question.events
    return (longer for event in contiguous(events, run.last) for longer in taken(search, event, following))


def next_instant(
    search: BindingSearch, run: ReferenceRun, following: list[RunStep]
) -> Iterator[ReferenceRun]:
    """ "At each later event, in time order: if it qualifies for the run's next step it must be taken; if
    for neither, it is skipped." Simultaneous events have no order: each of them that qualifies makes a run
    of its own."""
    question = search.question
    allowed = reach(question, question.whole.within, tuple(bound_events(run.partial.binding)))
    for instant, events in groupby(later(question.events, run.last), lambda event: event.first):
        if allowed and instant > allowed.high:
            return
        longer = [longer for event in events for longer in taken(search, event, following)]
        if longer:
            yield from longer
            return


def contiguous(events: Sequence[ReferenceEvent], last: ReferenceEvent) -> list[ReferenceEvent]:
    """ "The events of a match are consecutive in the stream": no event lies, all of it, between `last` and
    these.

    >>> times = [(1, 1), (2, 4), (3, 3), (4, 4)]
    >>> events = [ReferenceEvent("S", row, "A", *time, {}, time) for row, time in enumerate(times)]
    >>> [event.row for event in contiguous(events, events[0])]
    [1, 2]
    """
    result: list[ReferenceEvent] = []
    for event in later(events, last):
        if result and event.first > min(other.last for other in result):
            break
        result.append(event)
    return [event for event in result if event.first <= min(other.last for other in result)]


def later(events: Sequence[ReferenceEvent], last: ReferenceEvent | None) -> Iterator[ReferenceEvent]:
    """The events that start after `last` ends, in order of time."""
    place = bisect_right(events, last.last, key=lambda event: event.first) if last else 0
    return (events[place] for place in range(place, len(events)))
