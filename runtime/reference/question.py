"""A pattern query, the events it is asked of, and what is known of each part of its pattern."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from neelc.ir import pattern as p
from neelc.ir.expr import Expr, Same
from neelc.ir.logical import Match
from neelc.ir.node import walk
from neelc.runtime.reference.conditions import Condition, conditions, same_attributes
from neelc.runtime.reference.events import in_order, members
from neelc.runtime.reference.model import Binding, Event, attribute, bound_events, comparable
from neelc.runtime.reference.scopes import Scope

ELEMENT = ""
"""The variable of the body of `B+ b[]`, which has no name of its own."""


@dataclass(frozen=True)
class Facts:
    """What is known of a part: the variables it binds, all names in it (those inside closures and those
    that EXISTS drops too), its conditions, and the attributes of its `[id]`s."""

    variables: frozenset[str]
    names: frozenset[str]
    conditions: tuple[Condition, ...]
    same: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Question:
    """A query and the events of its FROM streams, in order of time."""

    whole: p.And
    """The query's pattern as the only part of an AND, which carries the query's window and partition."""
    match: Match
    events: tuple[Event, ...]
    members: Mapping[str, tuple[Event, ...]]
    known: Mapping[int, Facts]

    def facts(self, part: p.Pattern) -> Facts:
        return self.known[id(part)]

    def events_in(self, part: p.Pattern, binding: Binding) -> tuple[Event, ...]:
        """The events bound in a part."""
        found = (bound_events(binding[name]) for name in self.facts(part).names if name in binding)
        return tuple(dict.fromkeys(event for events in found for event in events))

    def is_of_type(self, event: Event, type: str) -> bool:
        return event in self.sets[type]

    def events_of_type(self, type: str, scope: Scope) -> Iterator[Event]:
        """The events of a type that lie inside a scope, in order of time."""
        events = self.members[type]
        for place in range(bisect_left(events, scope.low, key=lambda event: event.start), len(events)):
            if events[place].start > scope.high:
                return
            if scope.contains(events[place]):
                yield events[place]

    def partition(self, event: Event) -> tuple[Event, ...]:
        """The events of the FROM streams in the partition of `event`: all, when there is no partition."""
        return self._partitions.get(partition_key(self.match, event), ())

    def starts(self, event: Event) -> tuple[int, ...]:
        """When the events in the partition of `event` start."""
        return self._starts.get(partition_key(self.match, event), ())

    @cached_property
    def sets(self) -> dict[str, frozenset[Event]]:
        return {type: frozenset(events) for type, events in self.members.items()}

    @cached_property
    def _partitions(self) -> dict[object, tuple[Event, ...]]:
        found: dict[object, list[Event]] = {}
        for event in self.events:
            found.setdefault(partition_key(self.match, event), []).append(event)
        return {key: tuple(events) for key, events in found.items()}

    @cached_property
    def _starts(self) -> dict[object, tuple[int, ...]]:
        return {key: tuple(event.start for event in events) for key, events in self._partitions.items()}


def partition_key(match: Match, event: Event) -> object:
    return tuple(comparable(attribute(event, name)) for name in match.partition)


def question(match: Match, events: Iterable[Event]) -> Question:
    """The question that `match` asks of `events`.

    "The scope of the whole pattern is [end - w, start + w]" of the complete match, and PARTITION BY a means
    `[a]`: both are said of an AND around the pattern.
    """
    where: Expr | None = Same(match.partition) if match.partition else None
    whole = p.And((match.pattern,), where=where, within=match.within)
    ordered = in_order(events)
    known = {id(part): facts(part) for part in walk(whole) if isinstance(part, p.Pattern)}
    return Question(whole, match, ordered, members(match.types, ordered), known)


def again(question: Question, events: Iterable[Event]) -> Question:
    """The same question asked of some of its events at other times."""
    ordered = in_order(events)
    types = {
        type: tuple(event for event in ordered if event in known) for type, known in question.sets.items()
    }
    return Question(question.whole, question.match, ordered, types, question.known)


def facts(part: p.Pattern) -> Facts:
    return Facts(variables(part), names(part), conditions(part.where), same_attributes(part.where))


def variables(part: p.Pattern) -> frozenset[str]:
    """ "A match is a binding of the pattern's positive variables to events": those of a part.

    >>> parts = (p.Event("A", "a"), p.Not(p.Event("B", "b")), p.Repeat(p.Event("C"), 1, None, "c"))
    >>> sorted(variables(p.Seq(parts)))
    ['a', 'c']
    """
    match part:
        case p.Event():
            return frozenset([part.variable or ELEMENT])
        case p.Repeat():
            return frozenset([part.variable or ELEMENT])
        case p.Exists():
            return variables(part.part) - set(part.variables)
        case p.Optional():
            return variables(part.part)
        case p.Seq() | p.And() | p.AndNeg() | p.Or():
            return frozenset(name for inner in part.parts for name in variables(inner))
    return frozenset()


def names(part: p.Pattern) -> frozenset[str]:
    """Every positive name in a part. The element of a list has none: its name is every list's."""
    match part:
        case p.Repeat():
            return variables(part) | (names(part.part) - {ELEMENT})
        case p.Exists() | p.Optional():
            return names(part.part)
        case p.Seq() | p.And() | p.AndNeg() | p.Or():
            return frozenset(name for inner in part.parts for name in names(inner))
    return variables(part)


def iteration(part: p.Repeat, element: object) -> Binding:
    """What the variables of a closure's body stand for in one of its elements."""
    if isinstance(part.part, p.Event):
        return {part.part.variable or ELEMENT: element}
    assert isinstance(element, Mapping), "an element of a composite closure is a binding"
    return element


def element(part: p.Repeat, binding: Binding) -> object:
    """The element of a closure that stands for these values of its body's variables."""
    if isinstance(part.part, p.Event):
        return binding[part.part.variable or ELEMENT]
    return {name: binding[name] for name in sorted(variables(part.part))}
