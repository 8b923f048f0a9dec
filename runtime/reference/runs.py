"""SKIP TILL NEXT MATCH, STRICT CONTIGUITY and PARTITION CONTIGUITY: matches grow event by event.

They are defined for SEQ of single and Kleene components and negations, and for OR of such; the binder refuses
others. "Negations are filters on complete matches, under every strategy": runs do not look at them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from neelc.runtime.reference.candidates import Search
from neelc.runtime.reference.model import Binding, Event, bound_events
from neelc.runtime.reference.partial import Partial
from neelc.runtime.reference.question import ELEMENT, Question
from neelc.runtime.reference.steps import Finish, Loop, Run, Step, finish, steps
from neelc.runtime.reference.windows import reach


def runs(
    question: Question, starts: Sequence[Event] | None = None, search: Search | None = None
) -> Iterator[Binding]:
    """The bindings that complete runs end with: "a run ends at a match or when the window closes".

    "Every event that qualifies for the first component starts a run"; with `starts`, only those do.
    """
    search = search or Search(question)
    begin = Run(Partial({}).begin(question, question.whole), (question.match.pattern,))
    first = list(steps(question, begin))
    begun = question.events if starts is None else starts
    waiting = [run for event in begun for run in taken(search, event, first)]
    while waiting:
        run = waiting.pop()
        following = list(steps(question, run))
        yield from (step.before.partial.binding for step in following if step.component is None)
        waiting.extend(successors(search, run, following))


def taken(search: Search, event: Event, following: list[Step]) -> Iterator[Run]:
    """The runs that take `event`: one for each step it qualifies for; "if it qualifies for both, the run
    splits"."""
    for step in following:
        if step.component is None or not search.question.is_of_type(event, step.component.type):
            continue
        bound = step.before.partial.bind(step.component.variable or ELEMENT, event)
        match step.before.todo:
            case (Finish(repeat), *rest):
                partial, todo = finish(search.question, repeat, bound), (Loop(repeat), *rest)
            case todo:
                partial = bound
        if partial and (passed := search.judged(partial)):
            yield Run(passed, todo, event)


def successors(search: Search, run: Run, following: list[Step]) -> Iterator[Run]:
    """The run with one more event, in every way its strategy allows."""
    assert run.last is not None, "a run begins with an event"
    question = search.question
    if question.match.strategy == "SKIP TILL NEXT MATCH":
        return next_instant(search, run, following)
    partitioned = question.match.strategy == "PARTITION CONTIGUITY"
    events = question.partition(run.last) if partitioned else question.events
    return (longer for event in contiguous(events, run.last) for longer in taken(search, event, following))


def next_instant(search: Search, run: Run, following: list[Step]) -> Iterator[Run]:
    """ "At each later event, in time order: if it qualifies for the run's next step it must be taken; if
    for neither, it is skipped." Simultaneous events have no order: each of them that qualifies makes a run
    of its own."""
    question = search.question
    allowed = reach(question, question.whole.within, tuple(bound_events(run.partial.binding)))
    for instant, events in groupby(later(question.events, run.last), lambda event: event.start):
        if allowed and instant > allowed.high:
            return
        longer = [longer for event in events for longer in taken(search, event, following)]
        if longer:
            yield from longer
            return


def contiguous(events: Sequence[Event], last: Event) -> list[Event]:
    """ "The events of a match are consecutive in the stream": no event lies, all of it, between `last` and
    these.

    >>> times = [(1, 1), (2, 4), (3, 3), (4, 4)]
    >>> events = [Event("S", row, "A", *time, {}, time) for row, time in enumerate(times)]
    >>> [event.row for event in contiguous(events, events[0])]
    [1, 2]
    """
    found: list[Event] = []
    for event in later(events, last):
        if found and event.start > min(other.end for other in found):
            break
        found.append(event)
    return [event for event in found if event.start <= min(other.end for other in found)]


def later(events: Sequence[Event], last: Event | None) -> Iterator[Event]:
    """The events that start after `last` ends, in order of time."""
    place = bisect_right(events, last.end, key=lambda event: event.start) if last else 0
    return (events[place] for place in range(place, len(events)))
