"""Which matches are kept: ONE MATCH PER, AFTER MATCH SKIP and SUPPRESS, one match after the other.

"After the set of matches is known, per partition, in the order of (start, end, then the events of the
variables in the order they are declared)." Where columns order events of the same time (THEN BY), starts and
ends are compared in that order; SUPPRESS measures time alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.ir.program import Match
from neelc.ir.script import KeptMatches, MatchSkip, SkipPlace
from neelc.runtime.reference.model import Binding, ReferenceEvent, attribute, binding_key, bound_events
from neelc.runtime.reference.partial import MatchOrder
from neelc.runtime.reference.question import as_numbers, length
from neelc.runtime.values.order import comparable


def kept(match: Match, chosen: KeptMatches, bindings: Sequence[Binding]) -> list[Binding]:
    """The matches that are left of all of them."""
    order = MatchOrder(match, chosen.order)
    found: list[Binding] = []
    for partition in partitions(chosen.partition, bindings):
        left = sorted(partition, key=lambda binding: (start_of(binding), order.place(binding)))
        left = first_of_each(left, chosen.one_per) if chosen.one_per else left
        left = skipping(left, chosen.skip) if chosen.skip else left
        found += suppressing(left, length(chosen.suppress)) if chosen.suppress else left
    return found


def partitions(attributes: Sequence[str], bindings: Sequence[Binding]) -> list[list[Binding]]:
    """Matches with the same values of the attributes, which are equal on all events of one."""
    firsts = [next(bound_events(binding)) for binding in bindings]
    columns = [as_numbers([attribute(event, name) for event in firsts]) for name in attributes]
    groups: dict[object, list[Binding]] = {}
    for place, binding in enumerate(bindings):
        groups.setdefault(tuple(comparable(column[place]) for column in columns), []).append(binding)
    return list(groups.values())


def start_of(binding: Binding) -> int:
    """The moment at which a match starts."""
    return min(event.first for event in bound_events(binding))


def end_of(binding: Binding) -> int:
    """The moment at which a match ends."""
    return max(event.last for event in bound_events(binding))


def last_time(binding: Binding) -> int:
    return max(event.end for event in bound_events(binding))


def first_of_each(ordered: Sequence[Binding], variables: Sequence[str]) -> list[Binding]:
    """ "`ONE MATCH PER a, b`: of the matches with the same events for these variables, the first." No event
    is no event: a list that is empty is like one that is not there."""
    groups: dict[object, Binding] = {}
    for binding in ordered:
        groups.setdefault(tuple(binding_key(binding.get(name) or None) for name in variables), binding)
    return list(groups.values())


def skipping(ordered: Sequence[Binding], skip: MatchSkip) -> list[Binding]:
    """AFTER MATCH SKIP: each match is compared with the last one kept."""
    found: list[Binding] = []
    for binding in ordered:
        if not found or may_follow(found[-1], binding, skip):
            found.append(binding)
    return found


def may_follow(last: Binding, binding: Binding, skip: MatchSkip) -> bool:
    """Whether a match is kept after the last one that was.

    "PAST LAST EVENT: a match is kept if it starts after the end of the last one kept. TO NEXT EVENT: of those
    with the same start, the first. TO FIRST x, TO LAST x: a match is kept if it starts at or after that event
    of the last one kept, and not at its start." Where that has no x, only its start counts.
    """
    if skip.place == SkipPlace.PAST_LAST:
        return start_of(binding) > end_of(last)
    if start_of(binding) == start_of(last):
        return False
    event = event_at(last, skip)
    return event is None or start_of(binding) >= event.first


def event_at(binding: Binding, skip: MatchSkip) -> ReferenceEvent | None:
    """The event that is skipped to: of a list, the first or the last in the order of time."""
    if skip.variable is None:
        return None
    events = sorted(bound_events(binding.get(skip.variable)), key=lambda event: event.first)
    if not events:
        return None
    return events[0] if skip.place == SkipPlace.FIRST else events[-1]


def suppressing(ordered: Sequence[Binding], width: int) -> list[Binding]:
    """ "`SUPPRESS 1 HOUR`: a match is dropped if it ends at most that long after the end of the last one
    kept." """
    found: list[Binding] = []
    for binding in ordered:
        if not found or last_time(binding) - last_time(found[-1]) > width:
            found.append(binding)
    return found
