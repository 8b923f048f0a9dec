"""Questions to the reference interpreter: the matches of a query that start with a given event.

Nothing here decides what a match is: the reference proposes bindings and checks them. A search for the
matches of one start looks only at events from that start on, which changes no match of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction

from neelc.ir.expressions import Expr
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.candidates import BindingSearch, extend
from neelc.runtime.reference.events import ENDLESS, last_time
from neelc.runtime.reference.model import Binding, LimitReached, ReferenceEvent, binding_key, bound_events
from neelc.runtime.reference.partial import PartialMatch
from neelc.runtime.reference.question import ReferenceQuery, Scope, end_of_data, question
from neelc.runtime.reference.runs import runs
from neelc.runtime.reference.satisfy import is_match
from neelc.runtime.reference.worlds import WeighedMatch, find_matches
from neelc.tools.why.courses import starters
from neelc.tools.why.model import shown

MAX_CANDIDATES_PER_START = 20_000
"""How many bindings, complete or not, a search for the matches of one start may go through."""


@dataclass(frozen=True)
class DataEnd:
    """When the data end, and how that is written."""

    time: float
    text: str

    @classmethod
    def of(cls, match: Match, events: Sequence[ReferenceEvent]) -> DataEnd:
        """That of a query's streams with all of these events."""
        time = end_of_data(match.complete_until, match.clock, events)
        last = next((event for event in events if last_time([event]) == time), None)
        at = match.complete_until if last is None else last.times[0 if last.end == ENDLESS else 1]
        return cls(time, str(at) if isinstance(at, Expr) else shown(at))


@dataclass(frozen=True, eq=False)
class AnswerCache:
    """The events of a key, and the results of earlier queries on them. `data_end` is when the data of all
    keys end, for WHEN COMPLETE, if that is not known by these events."""

    events: tuple[ReferenceEvent, ...]
    data_end: DataEnd | None = None
    questions: dict[Match, ReferenceQuery] = field(default_factory=dict)
    worlds: dict[Match, list[WeighedMatch]] = field(default_factory=dict)

    def question(self, match: Match) -> ReferenceQuery:
        if match not in self.questions:
            known = next(iter(self.questions.values()), None)
            end = None if self.data_end is None else self.data_end.time
            # Which events are of which type is the same for all forms of a query: computed once.
            if known is None or known.match.types != match.types:
                self.questions[match] = replace(question(match, self.events), data_end=end)
            else:
                bare = question(match, ())
                self.questions[match] = replace(
                    bare, events=known.events, members=known.members, data_end=end
                )
        return self.questions[match]

    def end(self, match: Match) -> DataEnd:
        """When the data end."""
        return self.data_end or DataEnd.of(match, self.events)

    def matches(
        self,
        match: Match,
        start: ReferenceEvent,
        first: str | None = None,
        steps: Iterator[int] | None = None,
    ) -> Iterator[Binding]:
        """The matches that start with an event, each once; `first` is the variable it must be bound to, if
        that is known. `LimitReached` when there is more to look at than `steps` allow."""
        if match.is_imprecise:
            names = {name for _, name in starters(match.pattern)}
            yield from (one.binding for one in self.found(match) if leads(one.binding, start, names))
            return
        query = self.question(match)
        seen = set()
        for binding in offered(query, start, first, steps or StepLimit(MAX_CANDIDATES_PER_START)):
            key = binding_key(binding)
            if key not in seen and begins(binding, start):
                seen.add(key)
                if is_match(query, binding):
                    yield binding

    def first(
        self,
        match: Match,
        start: ReferenceEvent,
        first: str | None = None,
        steps: Iterator[int] | None = None,
    ) -> Binding | None:
        """One of the matches that start with an event, None when there is none."""
        return next(self.matches(match, start, first, steps), None)

    def found(self, match: Match) -> list[WeighedMatch]:
        """All matches, where times are imprecise: whether there is one depends on all possible worlds."""
        if match not in self.worlds:
            self.worlds[match] = find_matches(match, self.events)
        return self.worlds[match]

    def confidence(self, match: Match, binding: Binding) -> Fraction:
        key = binding_key(binding)
        return next(one.confidence for one in self.found(match) if binding_key(one.binding) == key)


def offered(
    query: ReferenceQuery, start: ReferenceEvent, first: str | None, steps: Iterator[int]
) -> Iterator[Binding]:
    """What the reference's search proposes from `start` on."""
    search = BindingSearch(query, steps=steps)
    if query.match.strategy != SelectionStrategy.ANY_MATCH:
        yield from runs(query, [start], search)
        return
    bound: Mapping[str, object] = {first: start} if first is not None else {}
    for partial in extend(search, query.whole, PartialMatch(bound), Scope(start.first, math.inf)):
        yield partial.binding


class StepLimit:
    """Counts the steps of searches, and ends them all when there were too many.

    >>> steps = StepLimit(2)
    >>> next(steps), next(steps)
    (1, 2)
    """

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self.taken += 1
        if self.taken > self.most:
            detail = "the matches that start with one event have too many candidates"
            raise LimitReached("MAX_CANDIDATES_PER_START", self.most, detail)
        return self.taken


def begins(binding: Binding, start: ReferenceEvent) -> bool:
    """Whether a match starts with an event: it is bound in it, and no other bound event is earlier."""
    events = list(bound_events(binding))
    return start in events and all(start.first <= event.first for event in events)


def leads(binding: Binding, start: ReferenceEvent, names: Collection[str]) -> bool:
    """Where times are imprecise, there is no earliest event: a match starts with what stands first in the
    pattern."""
    bound = (binding.get(name) for name in names)
    return any(next(bound_events(value), None) == start for value in bound)
