"""The events that can be bound by a Take whatever the row has, ready to be searched."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.events import Events, Numbers, Truths
from neelc.runtime.kernels.operations import holds
from neelc.runtime.kernels.timeline import Timeline
from neelc.runtime.program import Program, Take, Value


@dataclass(frozen=True, eq=False)
class Players:
    """Events in ascending order: their numbers, and where they lie on the axes."""

    numbers: Numbers
    start: Numbers
    end: Numbers
    first: Numbers | None
    beyond: Numbers | None
    indexes: dict[str, object] = field(default_factory=dict)

    @cached_property
    def ends_from(self) -> Numbers:
        """For each place: the first end of all events at it or after it. What lies beyond a time, lies beyond
        it from some place on."""
        return self.start if self.end is self.start else np.minimum.accumulate(self.end[::-1])[::-1]

    @cached_property
    def soonest(self) -> Numbers:
        """For each place: where at it or after it the event is that ends first.

        Events of later segments end after all of this one: no segment looks beyond itself but from its end.
        """
        places = np.where(self.end == self.ends_from, np.arange(len(self.end)), len(self.end))
        return np.minimum.accumulate(places[::-1])[::-1]


@dataclass(frozen=True, eq=False)
class Search:
    """What all steps of a run share. `positive` is for the steps whose events are part of the match; one that
    `prunes` drops, where only existence is asked for, what no later step looks at."""

    program: Program
    events: Events
    timeline: Timeline
    most_rows: int
    positive: bool = True
    prunes: bool = True
    found: dict[object, Players] = field(default_factory=dict)
    tried: list[int] = field(default_factory=lambda: [0])
    """How many lists were tried."""

    def unowned(self) -> Search:
        """The same for steps inside Absent and Present."""
        return replace(self, positive=False) if self.positive else self

    @cached_property
    def is_cut(self) -> bool:
        """Does a segment have events outside of its owned range?"""
        first = self.timeline.first
        last = np.append(first[1:], len(self.events.start)) - 1
        low, high = (limit[self.events.segment[first]] for limit in self.events.owned)
        return bool((self.events.start[first] < low).any() or (self.events.start[last] >= high).any())

    def players(self, take: Take) -> Players:
        """The events that a step can bind: found once."""
        own = tuple(condition for condition in take.where if is_own(condition, take))
        members = tuple((w.counted, w.width) for w in take.bounds.within if w.member)
        owner = (
            self.positive and self.is_cut and any(o.variable == take.variable for o in self.program.outputs)
        )
        leads = owner and take.variable == self.program.leader
        key = (take.role, repr(own), members, owner, leads)
        if key not in self.found:
            self.found[key] = self._players(take, own, owner, leads)
        return self.found[key]

    def _players(self, take: Take, own: tuple[Value, ...], owner: bool, leads: bool) -> Players:
        numbers = self.events.roles[take.role]
        for within in take.bounds.within:
            if within.member:
                numbers = numbers[self._length(numbers, within.counted) <= within.width]
        if owner:
            numbers = numbers[self._owned(numbers, leads)]
        for condition in own:
            numbers = numbers[holds(condition, {take.variable: numbers}.get, self.events, len(numbers))]
        time, place = self.timeline.time, self.timeline.place
        start = time.start[numbers]
        return Players(
            numbers,
            start,
            time.end[numbers] if self.events.lasting else start,
            None if place is None else place.start[numbers],
            None if place is None else place.end[numbers],
        )

    def _length(self, numbers: Numbers, counted: bool) -> Numbers:
        axis = self.timeline.place if counted else self.timeline.time
        assert axis is not None, "a window counts, but the events are not counted"
        return axis.end[numbers] - axis.start[numbers]

    def _owned(self, numbers: Numbers, leader: bool) -> Truths:
        """No event of a match starts before its start, which is in the owned range."""
        low, high = self.events.owned
        start, segment = self.events.start[numbers], self.events.segment[numbers]
        owned: Truths = start >= low[segment]
        return owned & (start < high[segment]) if leader else owned


def is_own(condition: Value, take: Take) -> bool:
    """Does the condition concern no event but the one to be bound?"""
    return set(mentions.of_value(condition)) <= {take.variable}
