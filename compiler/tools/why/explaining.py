"""From a query and the events of a key to an explanation of each start event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from neelc.errors import Diagnostic, NeelError
from neelc.ir.names import bare
from neelc.ir.program import Match, NamedQuery
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Tables, events_read
from neelc.runtime.reference.kept import start_of
from neelc.runtime.reference.model import Binding, LimitReached, ReferenceEvent, binding_key, bound_events
from neelc.source import Source, Span
from neelc.tools.why.courses import Course, courses, starters
from neelc.tools.why.model import StartExplanation, Why, time_of
from neelc.tools.why.questions import AnswerCache, DataEnd, begins
from neelc.tools.why.reading import KeyEvents, WhyRequest, groups
from neelc.tools.why.stopping import (
    NO_EVENT,
    TOO_MANY,
    furthest,
    held,
    other_runs,
    proposals,
    reported_binding,
    reported_event,
    stops,
)


@dataclass(frozen=True, eq=False)
class StartExplainer:
    """A query and the events it is evaluated on: those of one key, where there are keys."""

    match: Match
    cache: AnswerCache

    def starts(self) -> list[ReferenceEvent]:
        """The events that a match could start with, by their types."""
        query = self.cache.question(self.match)
        types = {type for type, _ in starters(self.match.pattern)}
        return [event for event in query.events if any(query.is_of_type(event, type) for type in types)]

    def explanation(self, start: ReferenceEvent, key: Mapping[str, str]) -> StartExplanation:
        """Why there are matches that start with an event, or why there are none."""
        concerned = [course for course in courses(self.match) if self.variable(course, start)]
        known = StartExplanation(key, reported_event(start, self.variable(concerned[0], start) or ""), None)
        try:
            for course in concerned:
                found = self.cache.first(course.match, start, course.first())
                if found is not None:
                    return self.matching(course, found, concerned, start, known)
            return self.missing(concerned, start, known)
        except LimitReached as limit:
            return replace(known, notes=(str(limit),))

    def variable(self, course: Course, start: ReferenceEvent) -> str | None:
        """The variable that the event is bound to if a match of the course starts with it; None if none
        does, by its type."""
        query = self.cache.question(self.match)
        return next((bare(name) for type, name in course.starters() if query.is_of_type(start, type)), None)

    def matching(
        self,
        course: Course,
        found: Binding,
        concerned: Sequence[Course],
        start: ReferenceEvent,
        known: StartExplanation,
    ) -> StartExplanation:
        """A start with matches: the first of them, what it fulfils, and how many there are."""
        count, notes = self.counted(concerned, start)
        return replace(
            known,
            start=reported_event(start, self.variable(course, start) or ""),
            matches=True,
            steps=len(course.steps),
            reached=len(course.steps),
            count=count,
            branch=course.branch,
            events=reported_binding(found, start),
            held=held(self.cache, course.match, found),
            notes=(*self.dropped(start), *notes),
        )

    def dropped(self, start: ReferenceEvent) -> Iterator[str]:
        """That none of the matches that start with an event is kept, and which was kept before them."""
        if self.match.kept is None:
            return
        try:
            kept = [one.binding for one in self.cache.found(self.match)]
        except LimitReached as limit:
            yield f"which matches are kept is not known: {limit}"
            return
        if any(begins(binding, start) for binding in kept):
            return
        before = [binding for binding in kept if start_of(binding) <= start.first]
        text = f"found, but not kept: {self.match.kept}"
        if before:
            events = list(bound_events(max(before, key=start_of)))
            first = min(events, key=lambda event: event.first)
            last = max(events, key=lambda event: event.last)
            text += f"; the last match kept before it is from {time_of(first)} to {time_of(last)}"
        yield text

    def counted(self, concerned: Sequence[Course], start: ReferenceEvent) -> tuple[int, tuple[str, ...]]:
        """How many matches start with an event, and whether these are all."""
        seen = set()
        try:
            for course in concerned:
                for binding in self.cache.matches(course.match, start, course.first()):
                    seen.add(
                        binding_key({name: bound for name, bound in binding.items() if bound is not None})
                    )
        except LimitReached:
            return len(seen), (f"there may be more matches: {TOO_MANY}",)
        return len(seen), ()

    def missing(
        self, concerned: Sequence[Course], start: ReferenceEvent, known: StartExplanation
    ) -> StartExplanation:
        """A start without a match: the furthest run, what stopped it, and what would match."""
        runs = [furthest(self.cache, course, start) for course in concerned]
        best = max(runs, key=lambda run: run.share)
        found, notes = proposals(self.cache, concerned, start)
        others = (
            f"{run.course.branch}: {run.reached} of {len(run.course.steps)} steps"
            for run in runs
            if run.course.branch not in (None, best.course.branch)
        )
        stopped = stops(self.cache, best, start)
        runs_beside, notes_on_runs = other_runs(self.cache, best, start)
        if any(stop.is_missing for stop in stopped):
            notes = tuple(note for note in notes if note != NO_EVENT)
        return replace(
            known,
            start=reported_event(start, self.variable(best.course, start) or ""),
            matches=False,
            steps=len(best.course.steps),
            reached=best.reached,
            branch=best.course.branch,
            events=reported_binding(best.binding, start),
            stopped=stopped,
            proposals=found,
            notes=(*notes, *dict.fromkeys(others), *notes_on_runs),
            others=runs_beside,
        )


# Why: from the rows of streams to the explanations of all requested start events.

MAX_EVENTS = 20_000
"""How many events of the requested keys and times may be examined."""
MAX_STARTS = 1_000
"""How many start events are explained at once."""
FEWER = "ask for one key, or for less time: --key and --between"


def why(request: WhyRequest, tables: Tables, source: Source) -> Why:
    """The explanations of a query's start events; `NeelError` if there is more to look at than is allowed."""
    try:
        everything = _all_events(request, tables)
    except LimitReached as limit:
        raise limited(request, source, str(limit)) from None
    events = _in_range(request, everything)
    end = DataEnd.of(request.match, everything) if request.needs_end else None
    found = groups(request.match, events, request.keys)
    count = sum(len(group.events) for group in found)
    if count > MAX_EVENTS:
        raise too_many(request, source, count)
    starts = [(group, _starts(request, group)) for group in found]
    count = sum(len(of_group) for _, of_group in starts)
    if count > MAX_STARTS:
        raise limited(request, source, f"{count:,} start events: the limit MAX_STARTS is {MAX_STARTS:,}")
    return Why(
        str(request.match.pattern),
        tuple(one for group, of_group in starts for one in _explained(request.match, group, of_group, end)),
    )


def _events(request: WhyRequest, tables: Tables) -> list[ReferenceEvent]:
    """The events of the query's streams that can matter."""
    return _in_range(request, _all_events(request, tables))


def _all_events(request: WhyRequest, tables: Tables) -> list[ReferenceEvent]:
    needed = request.needed()
    return events_read(needed, len(needed.queries) - 1, tables)


def _in_range(request: WhyRequest, events: Iterable[ReferenceEvent]) -> list[ReferenceEvent]:
    span = request.range()
    return [event for event in events if span is None or span[0] <= event.start <= span[1]]


def rows_looked_at(request: WhyRequest, tables: Tables) -> Tables:
    """The rows of the streams without those of other keys and times."""
    found = groups(request.match, _events(request, tables), request.keys)
    kept = {(event.stream, event.row) for group in found for event in group.events}
    direct = {stream.name for stream, is_filtered in request.streams() if is_filtered}
    return {
        name: [row for place, row in enumerate(rows) if name not in direct or (name, place) in kept]
        for name, rows in tables.items()
    }


def _starts(request: WhyRequest, group: KeyEvents) -> list[ReferenceEvent]:
    explaining = StartExplainer(request.match, AnswerCache(group.events))
    return [event for event in explaining.starts() if request.starts(event)]


def _explained(
    match: Match, group: KeyEvents, starts: list[ReferenceEvent], end: DataEnd | None
) -> list[StartExplanation]:
    explaining = StartExplainer(match, AnswerCache(group.events, end))
    return [
        replace(
            explaining.explanation(start, group.key),
            place=(group.values if group.key else (start.type,), start.times[0]),
        )
        for start in starts
    ]


def too_many(request: WhyRequest, source: Source, count: int | None = None) -> NeelError:
    """More events than may be looked at."""
    there = "too many events" if count is None else f"{count:,} events"
    return limited(request, source, f"{there} to explain: the limit MAX_EVENTS is {MAX_EVENTS:,}")


def limited(request: WhyRequest, source: Source, message: str) -> NeelError:
    """A limit is reached."""
    place = span_of(request.program.queries[request.place])
    return NeelError([Diagnostic("NEEL5007", message, place, FEWER)], source)


def span_of(named: NamedQuery) -> Span:
    """Where a query stands."""
    pattern = named.query.pattern.span if isinstance(named.query, Match) else None
    return pattern or named.query.span or named.span or Span(0, 1)


def refuse(named: NamedQuery, source: Source) -> None:
    """Raise `NeelError` for a query without start events and steps."""
    if not isinstance(named.query, Match):
        hint = "make a PATTERN of what it looks for, or ask why of the queries that it reads"
        message = "not possible: why for a SELECT; it has no matches that start with an event"
        raise NeelError([Diagnostic("NEEL4001", message, span_of(named), hint)], source)


ROWS_IT_READS = "why executes what a PATTERN reads by itself, which requires a simple query"
