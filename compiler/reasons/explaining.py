"""From a query and the events of a key to an explanation of each start event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from neelc.ir.logical import Match
from neelc.ir.names import bare
from neelc.reasons.asking import Asker
from neelc.reasons.courses import Course, courses, starters
from neelc.reasons.model import Explanation
from neelc.reasons.other_runs import other_runs
from neelc.reasons.stopping import NO_EVENT, TOO_MANY, furthest, proposals, stops
from neelc.reasons.telling import held, told, told_binding
from neelc.runtime.reference.model import Binding, Event, LimitReached, binding_key


@dataclass(frozen=True, eq=False)
class Explaining:
    """A query and the events it is asked of: those of one key, where there are keys."""

    match: Match
    asker: Asker

    def starts(self) -> list[Event]:
        """The events that a match could start with, by their types."""
        asked = self.asker.question(self.match)
        types = {type for type, _ in starters(self.match.pattern)}
        return [event for event in asked.events if any(asked.is_of_type(event, type) for type in types)]

    def explanation(self, start: Event, key: Mapping[str, str]) -> Explanation:
        """Why there are matches that start with an event, or why there are none."""
        concerned = [course for course in courses(self.match) if self.variable(course, start)]
        known = Explanation(key, told(start, self.variable(concerned[0], start) or ""), None)
        try:
            for course in concerned:
                found = self.asker.first(course.match, start, course.first())
                if found is not None:
                    return self.matching(course, found, concerned, start, known)
            return self.missing(concerned, start, known)
        except LimitReached as limit:
            return replace(known, notes=(str(limit),))

    def variable(self, course: Course, start: Event) -> str | None:
        """The variable that the event is bound to if a match of the course starts with it; None if none
        does, by its type."""
        asked = self.asker.question(self.match)
        return next((bare(name) for type, name in course.starters() if asked.is_of_type(start, type)), None)

    def matching(
        self, course: Course, found: Binding, concerned: Sequence[Course], start: Event, known: Explanation
    ) -> Explanation:
        """A start with matches: the first of them, what it fulfils, and how many there are."""
        count, notes = self.counted(concerned, start)
        return replace(
            known,
            start=told(start, self.variable(course, start) or ""),
            matches=True,
            steps=len(course.steps),
            reached=len(course.steps),
            count=count,
            branch=course.branch,
            events=told_binding(found, start),
            held=held(self.asker, course.match, found),
            notes=notes,
        )

    def counted(self, concerned: Sequence[Course], start: Event) -> tuple[int, tuple[str, ...]]:
        """How many matches start with an event, and whether these are all."""
        seen = set()
        try:
            for course in concerned:
                for binding in self.asker.matches(course.match, start, course.first()):
                    seen.add(
                        binding_key({name: bound for name, bound in binding.items() if bound is not None})
                    )
        except LimitReached:
            return len(seen), (f"there may be more matches: {TOO_MANY}",)
        return len(seen), ()

    def missing(self, concerned: Sequence[Course], start: Event, known: Explanation) -> Explanation:
        """A start without a match: the furthest run, what stopped it, and what would match."""
        runs = [furthest(self.asker, course, start) for course in concerned]
        best = max(runs, key=lambda run: run.share)
        found, notes = proposals(self.asker, concerned, start)
        others = (
            f"{run.course.branch}: {run.reached} of {len(run.course.steps)} steps"
            for run in runs
            if run.course.branch not in (None, best.course.branch)
        )
        stopped = stops(self.asker, best, start)
        runs_beside, said = other_runs(self.asker, best, start)
        if any(stop.is_missing for stop in stopped):
            notes = tuple(note for note in notes if note != NO_EVENT)
        return replace(
            known,
            start=told(start, self.variable(best.course, start) or ""),
            matches=False,
            steps=len(best.course.steps),
            reached=best.reached,
            branch=best.course.branch,
            events=told_binding(best.binding, start),
            stopped=stopped,
            proposals=found,
            notes=(*notes, *dict.fromkeys(others), *said),
            others=runs_beside,
        )
