"""SKIP TILL ANY MATCH: every choice of events that could satisfy a pattern. satisfy.py decides which do.

The search takes only events that fit by type, by order, by window and by the conditions that can be checked
early. It may offer too much, never too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import count

from neelc.ir import patterns as p
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import Binding, LimitReached, ReferenceEvent, bound_events
from neelc.runtime.reference.partial import PartialMatch, checked
from neelc.runtime.reference.question import (
    ELEMENT,
    EVERYWHERE,
    ReferenceQuery,
    Scope,
    element,
    extent,
    reach,
    room,
)

MAX_CANDIDATES = 1_000_000
"""How many bindings, complete or not, one search may go through."""


@dataclass(frozen=True)
class BindingSearch:
    """A search for bindings. `dropped` are variables of an EXISTS, which satisfy.py looks for; `around` are
    the parts with a window that the search is inside of."""

    question: ReferenceQuery
    dropped: frozenset[str] = frozenset()
    around: tuple[p.Pattern, ...] = ()
    steps: Iterator[int] = field(default_factory=lambda: count(1))

    def reach(self, binding: Binding) -> Scope:
        """How far the windows around still allow events."""
        scope = EVERYWHERE
        for part in self.around:
            allowed = reach(self.question, part.within, self.question.events_in(part, binding))
            scope = scope & allowed if allowed else scope
        return scope

    def checked(self, partial: PartialMatch) -> PartialMatch | None:
        """See partial.py; here each binding that passes is counted."""
        passed = checked(self.question, partial)
        if passed and next(self.steps) > MAX_CANDIDATES:
            raise LimitReached("MAX_CANDIDATES", MAX_CANDIDATES, "the pattern has too many candidate matches")
        return passed


def candidates(
    question: ReferenceQuery, part: p.Pattern, binding: Binding, scope: Scope
) -> Iterator[Binding]:
    """`binding` extended, in every way that fits, by those variables of `part` that it does not hold yet."""
    for partial in extend(BindingSearch(question), part, PartialMatch(binding), scope):
        yield partial.binding


def extend(
    search: BindingSearch, part: p.Pattern, partial: PartialMatch, scope: Scope
) -> Iterator[PartialMatch]:
    """`partial` extended by the variables of `part`."""
    begun = partial.begin(search.question, part)
    if part.within:
        search = replace(search, around=(*search.around, part))
    match part:
        case p.Event():
            yield from extend_by_event(search, part, begun, scope)
        case p.Seq():
            yield from extend_in_order(search, part.parts, 0, begun, scope)
        case p.And() | p.AndNeg():
            yield from extend_by_all(search, part.parts, begun, scope)
        case p.Or():
            for branch in part.parts:
                if without := leave_out(search, other_variables(search, part, branch), begun):
                    yield from extend(search, branch, without, scope)
        case p.Optional():
            if without := leave_out(search, search.question.facts(part).variables, partial):
                yield without
            yield from extend(search, part.part, begun, scope)
        case p.Exists():
            inside = replace(search, dropped=search.dropped.union(part.variables))
            yield from extend(inside, part.part, begun, scope)
        case p.Repeat():
            yield from extend_by_list(search, part, begun, scope)
        case p.Not():
            yield partial
        case _:
            raise TypeError(f"{type(part).__name__} is not a pattern")


def extend_by_event(
    search: BindingSearch, part: p.Event, partial: PartialMatch, scope: Scope
) -> Iterator[PartialMatch]:
    """One event of the type, unless the variable is bound already."""
    name = part.variable or ELEMENT
    if name in search.dropped:
        yield partial
    elif name in partial.binding:
        if isinstance(partial.binding[name], ReferenceEvent):
            yield partial
    else:
        for event in search.question.events_of_type(part.type, scope & search.reach(partial.binding)):
            if passed := search.checked(partial.bind(name, event)):
                yield passed


def extend_in_order(
    search: BindingSearch, parts: Sequence[p.Pattern], place: int, partial: PartialMatch, scope: Scope
) -> Iterator[PartialMatch]:
    """The parts of a SEQ from `place` on, each in the room its neighbours leave it."""
    if place == len(parts):
        yield partial
        return
    extents = [extent(search.question.events_in(part, partial.binding)) for part in parts]
    for extended in extend(search, parts[place], partial, room(extents, place, scope)):
        yield from extend_in_order(search, parts, place + 1, extended, scope)


def extend_by_all(
    search: BindingSearch, parts: Sequence[p.Pattern], partial: PartialMatch, scope: Scope
) -> Iterator[PartialMatch]:
    """The parts of an AND, each in the AND's scope."""
    if not parts:
        yield partial
        return
    for extended in extend(search, parts[0], partial, scope):
        yield from extend_by_all(search, parts[1:], extended, scope)


def extend_by_list(
    search: BindingSearch, part: p.Repeat, partial: PartialMatch, scope: Scope
) -> Iterator[PartialMatch]:
    """ "For Kleene, every qualifying non-empty sub-list" that follows in time."""
    name = part.variable or ELEMENT
    if name in search.dropped:
        yield partial
    elif name in partial.binding:
        if isinstance(partial.binding[name], tuple):
            yield partial
    else:
        growing = [partial.bind(name, (), grows=True)]
        while growing:
            start = growing.pop()
            elements = start.binding[name]
            assert isinstance(elements, tuple), "a closure binds a list"
            if len(elements) >= part.least and (closed := search.checked(start.bind(name, elements))):
                yield closed
            if part.most is None or len(elements) < part.most:
                growing.extend(reversed(list(lengthen(search, part, elements, start, scope))))


def lengthen(
    search: BindingSearch, part: p.Repeat, elements: tuple[object, ...], partial: PartialMatch, scope: Scope
) -> Iterator[PartialMatch]:
    """The list of a closure with one more element, after those it has."""
    name = part.variable or ELEMENT
    extents = [extent(list(bound_events(last))) for last in elements[-1:]]
    for extended in extend(search, part.part, partial, room(extents, 1, scope)):
        last = element(part, extended.binding)
        longer = partial.bind(name, (*elements, last), grows=True)
        if any(bound_events(last)) and (passed := search.checked(longer)):
            yield passed


def other_variables(search: BindingSearch, part: p.Or, branch: p.Pattern) -> frozenset[str]:
    """The variables that are NULL when `branch` is taken: those it does not bind itself."""
    return search.question.facts(part).variables - search.question.facts(branch).variables


def leave_out(search: BindingSearch, names: frozenset[str], partial: PartialMatch) -> PartialMatch | None:
    """`partial` with these variables NULL; None when it has already bound one of them."""
    names = names - search.dropped
    if any(partial.binding.get(name) is not None for name in names):
        return None
    return partial.leave_out(names)
