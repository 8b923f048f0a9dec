"""Matches that Spark has found, as bindings to the events that are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from neelc.ir import pattern as p
from neelc.ir.logical import EventType, Match
from neelc.ir.names import bare
from neelc.report.choosing import hashable
from neelc.report.picture import Found, Lane
from neelc.report.variant import binding_parts
from neelc.runtime.reference.events import members
from neelc.runtime.reference.model import Event, attribute, bound_events, comparable
from neelc.runtime.reference.times import nanoseconds

Row = Sequence[Any]
"""A row of the query that `drawable` makes."""


class NotDrawn(Exception):
    """An event of a match is not among those that are drawn."""


def first_starts(rows: Iterable[Row], match: Match, keys: Mapping[str, Sequence[str]]) -> dict[Lane, int]:
    """When the first match of each lane starts, that has one."""
    parts = binding_parts(match.pattern)
    types = {type.name: type for type in match.types}
    unit = match.clock.unit or "MILLISECOND"
    starts: dict[Lane, int] = {}
    for row in rows:
        start = nanoseconds(row[len(parts)], unit, match.clock) or 0
        for part, value in zip(parts, row, strict=False):
            for type, struct in _structs(part, value):
                lane = hashable(_lane(struct, types[type], keys))
                starts[lane] = min(starts.get(lane, start), start)
    return starts


def _structs(part: p.Pattern, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The events in a value, each as a struct with its type."""
    if value is None:
        return
    match part:
        case p.Event(type):
            yield type, value
        case p.Repeat(inner):
            for element in value:
                if isinstance(inner, p.Event):
                    yield from _structs(inner, element)
                else:
                    for body in binding_parts(inner):
                        yield from _structs(body, element[bare(body.variable or "")])


def _lane(struct: Mapping[str, Any], type: EventType, keys: Mapping[str, Sequence[str]]) -> Lane:
    if not keys:
        return (type.name,)
    names = next((keys[member.stream] for member in type.members if member.stream in keys), ())
    return tuple(struct.get(name) for name in names)


class Recovery:
    """Finds events by what they hold: of two that are equal in everything, either will do."""

    def __init__(self, match: Match, events: Sequence[Event]) -> None:
        self.parts = binding_parts(match.pattern)
        self.types = {type.name: type for type in match.types}
        self.events: dict[tuple[str, object], list[Event]] = {}
        for type, found in members(match.types, events).items():
            for event in found:
                values = [attribute(event, column.name) for column in self.types[type].columns]
                self.events.setdefault((type, comparable(values)), []).append(event)

    def found(self, row: Row) -> Found | None:
        """The match of a row; None if one of its events is not drawn."""
        binding: dict[str, object] = {}
        try:
            for part, value in zip(self.parts, row, strict=False):
                binding[part.variable or ""] = self._bound(part, value, frozenset(bound_events(binding)))
        except NotDrawn:
            return None
        return Found(binding, tuple(row[len(self.parts) + 1 :]))

    def _bound(self, part: p.Pattern, value: Any, taken: frozenset[Event]) -> object:
        if value is None:
            return None
        if isinstance(part, p.Event):
            return self._event(part.type, value, taken)
        assert isinstance(part, p.Repeat)
        elements: list[object] = []
        for element in value:
            held = taken | frozenset(bound_events(tuple(elements)))
            elements.append(self._element(part.part, element, held))
        return tuple(elements)

    def _element(self, body: p.Pattern, value: Any, taken: frozenset[Event]) -> object:
        if isinstance(body, p.Event):
            return self._event(body.type, value, taken)
        bound: dict[str, object] = {}
        for part in binding_parts(body):
            name = part.variable or ""
            bound[name] = self._bound(part, value[bare(name)], taken | frozenset(bound_events(bound)))
        return bound

    def _event(self, type: str, struct: Mapping[str, Any], taken: frozenset[Event]) -> Event:
        values = [struct[column.name] for column in self.types[type].columns]
        for event in self.events.get((type, comparable(values)), ()):
            if event not in taken:
                return event
        raise NotDrawn
