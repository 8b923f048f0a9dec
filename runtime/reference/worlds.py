"""Imprecise timestamps: possible worlds, and the matches of a query with their confidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

from neelc.ir import patterns as p
from neelc.ir.expressions import Literal
from neelc.ir.node import walk
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import LENGTHS
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.candidates import candidates
from neelc.runtime.reference.events import in_order
from neelc.runtime.reference.kept import kept
from neelc.runtime.reference.model import Binding, LimitReached, ReferenceEvent, binding_key, bound_events
from neelc.runtime.reference.partial import furthest
from neelc.runtime.reference.question import EVERYWHERE, ReferenceQuery, again, length, question
from neelc.runtime.reference.runs import runs
from neelc.runtime.reference.satisfy import is_match

# RETURN COLLAPSED: SASE++'s collapsed format.


def collapse(bindings: Iterable[Binding]) -> list[Binding]:
    """ "One row per choice of the single variables, with the superset list of each Kleene variable": the
    union of the lists it has in these matches, in order of time.

    >>> from neelc.runtime.reference.model import ReferenceEvent
    >>> events = [ReferenceEvent("S", row, "A", row, row, {}, (row, row)) for row in range(3)]
    >>> short, long = {"a": events[0], "b": (events[2],)}, {"a": events[0], "b": (events[1],)}
    >>> [[event.row for event in binding["b"]] for binding in collapse([short, long])]
    [[1, 2]]
    """
    groups: dict[object, list[Binding]] = {}
    for binding in bindings:
        groups.setdefault(singles(binding), []).append(binding)
    return [joined(group) for group in groups.values()]


def singles(binding: Binding) -> object:
    """The choice of single variables; of a list only whether its OR branch was taken."""
    return binding_key({name: () if isinstance(value, tuple) else value for name, value in binding.items()})


def joined(group: list[Binding]) -> Binding:
    """Matches with the same single variables as one."""

    def join(name: str, value: object) -> object:
        if not isinstance(value, tuple):
            return value
        return in_order(set(bound_events(tuple(binding[name] for binding in group))))

    return {name: join(name, value) for name, value in group[0].items()}


MAX_WORLDS = 100_000
"""How many possible worlds one group of events may have."""


@dataclass(frozen=True)
class WeighedMatch:
    """A match and its confidence."""

    binding: Binding
    confidence: Fraction


def find_matches(match: Match, events: Iterable[ReferenceEvent]) -> list[WeighedMatch]:
    """ "A match's confidence is the sum of the probabilities of the possible worlds in which it is a match";
    "the threshold prunes".

    Where all times are precise there is one world, and it is certain.
    """
    query = question(match, events)
    units = {stream.name: LENGTHS[stream.unit] for stream in match.streams if stream.latest is not None}
    if not units:
        matches = [WeighedMatch(binding, Fraction(1)) for binding in matches_in(query)]
    else:
        groups = independent(match, relevant(query))
        matches = [item for group in groups for item in matches_in_worlds(query, group, units)]
    return [item for item in matches if is_confident(match, item.confidence)]


def matches_in(question: ReferenceQuery) -> list[Binding]:
    """ "The result of a query is the set of matches (no duplicates, no order)", in one world."""
    if question.match.strategy == SelectionStrategy.ANY_MATCH:
        offered = candidates(question, question.whole, {}, EVERYWHERE)
    else:
        offered = runs(question)
    distinct = {binding_key(binding): binding for binding in offered}
    matches = [binding for binding in distinct.values() if is_match(question, binding)]
    if question.match.partial is not None:
        return furthest(question.match, question.match.partial, matches)
    if question.match.kept is not None:
        return kept(question.match, question.match.kept, matches)
    return collapse(matches) if question.match.collapsed else matches


def matches_in_worlds(
    query: ReferenceQuery, events: Sequence[ReferenceEvent], units: Mapping[str, int]
) -> list[WeighedMatch]:
    """The matches among `events`, each bound to events with all of their possible time."""
    whole = {event: event for event in events}
    choices = [instants(event, units) for event in events]
    count = prod(len(choice) for choice in choices)
    if count > MAX_WORLDS:
        detail = (
            f"{len(events)} events whose imprecise times matter to each other have {count} possible worlds"
        )
        raise LimitReached("MAX_WORLDS", MAX_WORLDS, detail)
    sums: dict[object, WeighedMatch] = {}
    for choice in product(*choices):
        world = [event for event, _ in choice]
        chance = prod((share for _, share in choice), start=Fraction(1))
        for found in matches_in(again(query, world)):
            binding = restored(found, whole)
            if query.match.collapsed:
                binding = in_one_order(binding)
            key = binding_key(binding)
            before = sums.get(key, WeighedMatch(binding, Fraction(0)))
            sums[key] = replace(before, confidence=before.confidence + chance)
    return list(sums.values())


def instants(event: ReferenceEvent, units: Mapping[str, int]) -> list[tuple[ReferenceEvent, Fraction]]:
    """ "Integers, uniform over lo..hi" unless the stream says how likely each is: the event at each of its
    possible times, with the probability of that."""
    if event.stream not in units:
        return [(event, Fraction(1))]
    unit = units[event.stream]
    times = range(event.start // unit, event.end // unit + 1)
    shares = event.weights or [Fraction(1, len(times))] * len(times)
    return [
        (replace(event, start=time * unit, end=time * unit, times=(time, time)), share)
        for time, share in zip(times, shares, strict=True)
        if share
    ]


def restored(value: object, whole: Mapping[ReferenceEvent, ReferenceEvent]) -> dict[str, object]:
    """A binding to events of one world, as a binding to the events with all of their possible time."""

    def restore(value: object) -> object:
        match value:
            case ReferenceEvent():
                return whole[value]
            case tuple():
                return tuple(restore(item) for item in value)
            case Mapping():
                return {name: restore(item) for name, item in value.items()}
        return value

    assert isinstance(value, Mapping)
    return {name: restore(item) for name, item in value.items()}


def in_one_order(binding: Binding) -> dict[str, object]:
    """ "Worlds that differ only in the order of the elements give one row": the elements of each list by
    their earliest time, and then by their latest one."""
    return {
        name: in_order(bound_events(value)) if isinstance(value, tuple) else value
        for name, value in binding.items()
    }


def relevant(question: ReferenceQuery) -> list[ReferenceEvent]:
    """The events that can matter: those of the pattern's types; all, where events are counted or must be
    consecutive."""
    parts = [part for part in walk(question.whole) if isinstance(part, p.Pattern)]
    counted = any(part.within and part.within.unit == "EVENT" for part in parts)
    if counted or question.match.strategy != SelectionStrategy.ANY_MATCH:
        return list(question.events)
    types = {part.type for part in parts if isinstance(part, p.Event)}
    members = {event for type in types for event in question.members[type]}
    return [event for event in question.events if event in members]


def independent(match: Match, events: Sequence[ReferenceEvent]) -> list[list[ReferenceEvent]]:
    """The events in groups that do not matter to each other.

    Events further apart than the window, in every world, are never in one match, and neither is ever in the
    scope of a match of the other: [end - w, start + w]. So the worlds of the groups need no combining.
    Without such a window, and for COLLAPSED lists, which bring matches together, there is one group.
    """
    if match.within is None or match.within.unit == "EVENT" or match.collapsed:
        return [list(events)]
    groups: list[list[ReferenceEvent]] = []
    latest = 0
    for event in sorted(events, key=lambda event: event.start):
        if not groups or event.start - latest > length(match.within):
            groups.append([])
            latest = event.end
        groups[-1].append(event)
        latest = max(latest, event.end)
    return groups


def is_confident(match: Match, confidence: Fraction) -> bool:
    """WITH CONFIDENCE >= threshold."""
    if match.confidence is None:
        return True
    threshold = match.confidence.threshold
    assert isinstance(threshold, Literal), "a bound threshold is a literal"
    # A literal's text is what was meant: 0.6 is six tenths, not the double next to it.
    least = Fraction(str(threshold.value))
    return confidence > least or (match.confidence.op == ">=" and confidence == least)
