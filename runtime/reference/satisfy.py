"""The meaning of a pattern: whether a binding satisfies it inside a scope. Everything else only searches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from neelc.ir import patterns as p
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.candidates import candidates
from neelc.runtime.reference.model import Binding, ReferenceEvent, bound_events
from neelc.runtime.reference.question import (
    ELEMENT,
    EVERYWHERE,
    Extent,
    ReferenceQuery,
    Scope,
    agree,
    between,
    extent,
    holds,
    holds_at,
    in_sequence,
    iteration,
    reach,
    room,
)


@dataclass(frozen=True)
class PartContext:
    """What a part is checked with: the binding of every variable it may name, its scope, and the `[id]`s of
    the parts around it, each with the events that it has brought together so far. `last` is the time that
    scopes of negations may not reach beyond."""

    binding: Binding
    scope: Scope = EVERYWHERE
    same: tuple[tuple[tuple[str, ...], tuple[ReferenceEvent, ...]], ...] = ()
    last: float = math.inf


def is_match(question: ReferenceQuery, binding: Binding) -> bool:
    """ "A match is a binding of the pattern's positive variables to events", at least one; "one event is
    never bound to two variables of the same match".

    WHEN COMPLETE: "the scope of each of its negations ends before the data do, or with them".
    """
    events = list(bound_events(binding))
    view = PartContext(binding, last=question.last_time if question.match.complete else math.inf)
    return 0 < len(events) == len(set(events)) and satisfies(question, question.whole, view)


def satisfies(question: ReferenceQuery, part: p.Pattern, view: PartContext) -> bool:
    """Whether `part` is satisfied by the binding of its variables.

    WITHIN on a part "must hold for that part's own events, and that part's scope is cut to [end - w, start
    + w] of its own events". A part that is absent is as if it were not there.
    """
    if isinstance(part, p.Optional) and is_absent(question, part, view.binding):
        return True
    inside = within(question, part, view)
    if inside is None or not is_satisfied_inside(question, part, inside):
        return False
    # What a closure must lack lies between its elements and the part before it, whatever its own window is.
    outside = replace(inside, scope=view.scope)
    return not isinstance(part, p.Repeat) or all(lacks(question, part, gap, outside) for gap in part.gaps)


def within(question: ReferenceQuery, part: p.Pattern, view: PartContext) -> PartContext | None:
    """What the parts of `part` are checked with; None when its window or one of its conditions does not
    hold."""
    facts = question.facts(part)
    events = question.events_in(part, view.binding)
    reached = reach(question, part.within, events)
    same = tuple((attributes, events) for attributes in facts.same)
    if (
        reached is None
        or not all(agree(attributes, concerned) for attributes, concerned in same)
        or not all(holds(condition, view.binding) for condition in facts.conditions)
    ):
        return None
    return replace(view, scope=view.scope & reached, same=view.same + same)


def is_satisfied_inside(question: ReferenceQuery, part: p.Pattern, view: PartContext) -> bool:
    """What each operator requires, apart from its own conditions and window."""
    match part:
        case p.Event():
            event = view.binding.get(part.variable or ELEMENT)
            return (
                isinstance(event, ReferenceEvent)
                and question.is_of_type(event, part.type)
                and view.scope.contains(event)
            )
        case p.Seq():
            return satisfies_sequence(question, [(inner, view.binding) for inner in part.parts], view)
        case p.And():
            return all(satisfies(question, inner, view) for inner in part.parts)
        case p.AndNeg():
            return satisfies_and_neg(question, part, view)
        case p.Or():
            return satisfies_or(question, part, view)
        case p.Not():
            return satisfies_not(question, part, view)
        case p.Exists():
            return any(
                satisfies(question, part.part, wider) for wider, _ in extensions(question, part.part, view)
            )
        case p.Repeat():
            return satisfies_repeat(question, part, view)
        case p.Optional():
            present = bool(question.events_in(part, view.binding))
            return present and satisfies(question, part.part, view)
    raise TypeError(f"{type(part).__name__} is not a pattern")


def satisfies_sequence(
    question: ReferenceQuery, parts: Sequence[tuple[p.Pattern, Binding]], view: PartContext
) -> bool:
    """ "SEQ(q1..qn): each positive part is satisfied, and each ends strictly before the next one starts",
    each part in its own scope."""
    extents = [extent(question.events_in(part, binding)) for part, binding in parts]
    return in_sequence(extents) and all(
        satisfies(question, part, replace(view, binding=binding, scope=room(extents, place, view.scope)))
        for place, (part, binding) in enumerate(parts)
    )


def satisfies_and_neg(question: ReferenceQuery, part: p.AndNeg, view: PartContext) -> bool:
    """ "AND_NEG(A a, !C c, B b): no c strictly between a and b, whichever comes first"; AND otherwise."""
    extents = [extent(question.events_in(inner, view.binding)) for inner in part.parts]
    positive = [not isinstance(inner, p.Not) for inner in part.parts]

    def neighbour(places: range) -> Extent | None:
        return next((extents[place] for place in places if positive[place]), None)

    for place, inner in enumerate(part.parts):
        scope = view.scope
        if not positive[place]:
            before, after = neighbour(range(place - 1, -1, -1)), neighbour(range(place + 1, len(extents)))
            scope = scope & between(before, after)
        if not satisfies(question, inner, replace(view, scope=scope)):
            return False
    return True


def satisfies_or(question: ReferenceQuery, part: p.Or, view: PartContext) -> bool:
    """ "OR(q1..qn): one branch is satisfied; the variables of the other branches are NULL in that match."

    In a query all variables differ. In a rewritten one branches may share some: those are not NULL.
    """
    bound = {name for name in question.facts(part).variables if view.binding.get(name) is not None}
    return any(
        bound <= question.facts(branch).variables and satisfies(question, branch, view)
        for branch in part.parts
    )


def satisfies_not(question: ReferenceQuery, part: p.Not, view: PartContext) -> bool:
    """ "!q: there is no binding of q's variables, extending the match, that satisfies q inside that part's
    scope."

    A binding of q must bind an event: `!(B? b)` is `!B b`. What EXISTS drops counts as bound here. `!!q`: q
    exists; that is known as soon as it does, so it does not matter when the data end. Nor does it for what is
    negative inside q: that ends where q's scope does, or before.
    """
    if isinstance(part.part, p.Not):
        inner = part.part.part
        if isinstance(inner, p.Not):
            return satisfies_not(question, inner, view)
        return not satisfies_not(question, part.part, replace(view, last=math.inf))
    if view.scope.high > view.last:
        return False
    view = replace(view, last=math.inf)
    return not any(
        satisfies(question, part.part, wider) and binds_an_event(question, part.part, wider)
        for wider, _ in extensions(question, part.part, view)
    )


def binds_an_event(question: ReferenceQuery, part: p.Pattern, view: PartContext) -> bool:
    """Whether a part that is satisfied is so by some event, be it one that EXISTS drops."""
    if question.events_in(part, view.binding):
        return True
    inside = within(question, part, view)
    if inside is None:
        return False
    match part:
        case p.Exists():
            wider = (wider for wider, _ in extensions(question, part.part, inside))
            return any(
                satisfies(question, part.part, view) and binds_an_event(question, part.part, view)
                for view in wider
            )
        case p.Or():
            return any(
                satisfies(question, branch, inside) and binds_an_event(question, branch, inside)
                for branch in part.parts
            )
        case p.Joint():
            # Without events that are bound, nothing in it has less room than the whole.
            return any(binds_an_event(question, inner, inside) for inner in part.parts)
    return False


def satisfies_repeat(question: ReferenceQuery, part: p.Repeat, view: PartContext) -> bool:
    """ "`B+ b[]` binds a non-empty list of events, strictly increasing in time, each ending before the next
    starts"; "a closure of a composite is judged like a SEQ of its iterations". Each iteration binds an
    event."""
    elements = view.binding.get(part.variable or ELEMENT)
    if not isinstance(elements, tuple) or len(elements) < part.least:
        return False
    if part.most is not None and len(elements) > part.most:
        return False
    iterations = [(part.part, {**view.binding, **iteration(part, element)}) for element in elements]
    return (
        all(any(bound_events(element)) for element in elements)
        and satisfies_sequence(question, iterations, view)
        and are_near(question, part, elements)
    )


def are_near(question: ReferenceQuery, part: p.Repeat, elements: Sequence[object]) -> bool:
    """ "EACH WITHIN 5 SECONDS for the longest time from one element to the next": two neighbours fit into
    it."""
    pairs = pairwise([tuple(bound_events(element)) for element in elements])
    return all(reach(question, part.each_within, (*one, *other)) is not None for one, other in pairs)


def lacks(question: ReferenceQuery, part: p.Repeat, gap: p.ClosureGap, view: PartContext) -> bool:
    """Whether a closure lacks what it must lack: "no such c" in the room that the gap speaks of."""
    elements = view.binding.get(part.variable or ELEMENT)
    assert isinstance(elements, tuple), "a closure that is satisfied has a list"
    extents = [one for element in elements if (one := extent(tuple(bound_events(element))))]
    if not extents:
        return True
    first, last = extents[0], extents[-1]
    match gap.reach:
        case p.GapReach.FIRST:
            rooms: list[Scope] = [Scope(view.scope.low, first.start - 1)]
        case p.GapReach.EACH:
            rooms = [Scope(one.end + 1, other.start - 1) for one, other in pairwise(extents)]
            return all(not is_in_gap(question, gap, place, view, room) for place, room in enumerate(rooms, 1))
        case p.GapReach.UNTIL:
            rooms = [Scope(view.scope.low, last.start - 1)]
        case p.GapReach.WITHOUT:
            rooms = [Scope(first.end + 1, last.start - 1)]
    return all(satisfies_not(question, p.Not(gap.part), replace(view, scope=room)) for room in rooms)


def is_in_gap(
    question: ReferenceQuery, gap: p.ClosureGap, place: int, view: PartContext, room: Scope
) -> bool:
    """Whether an event lies in the gap before the element at `place`, which is i in its conditions. What
    holds by definition of the first element is no question here: there is no gap before it."""
    taken = set(bound_events(view.binding))
    # A rewritten query may have an OR of types in the place of a concept.
    kinds = gap.part.parts if isinstance(gap.part, p.Or) else (gap.part,)
    return any(
        event not in taken
        and all(agree(attributes, (*concerned, event)) for attributes, concerned in view.same)
        and all(
            holds_at(condition, {**view.binding, kind.variable or ELEMENT: event}, place)
            for condition in question.facts(kind).conditions
        )
        for kind in kinds
        if isinstance(kind, p.Event)
        for event in question.events_of_type(kind.type, room)
    )


def extensions(
    question: ReferenceQuery, part: p.Pattern, view: PartContext
) -> Iterator[tuple[PartContext, tuple[ReferenceEvent, ...]]]:
    """Every way to bind the variables of `part` that are not yet bound, and the events this adds.

    The events lie in the part's scope, differ from all events of the match and from each other, and agree
    with every `[id]` around the part.
    """
    taken = set(bound_events(view.binding))
    for binding in candidates(question, part, view.binding, view.scope):
        added = {name: value for name, value in binding.items() if name not in view.binding}
        events = tuple(bound_events(added))
        if len(set(events)) < len(events) or taken.intersection(events):
            continue
        same = tuple((attributes, (*concerned, *events)) for attributes, concerned in view.same)
        if all(agree(attributes, concerned) for attributes, concerned in same):
            yield replace(view, binding=binding, same=same), events


def is_absent(question: ReferenceQuery, part: p.Pattern, binding: Binding) -> bool:
    """Whether all variables of a part are NULL: an OR branch that was not taken, or an optional part left
    out."""
    return all(binding.get(name) is None for name in question.facts(part).variables)
