"""What both halves of the oracle need: windows and conditions, judged on given events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from neelc.ir.expressions import Conjunction, EveryElement, Expr, ListElement, Literal, SameAttributes
from neelc.ir.node import walk
from neelc.ir.patterns import Pattern, Window
from neelc.ir.program import Match
from neelc.ir.types import LENGTHS
from neelc.runtime.reference.evaluate import compared, evaluate, list_of
from neelc.runtime.reference.events import is_member
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent, attribute

Span = tuple[float, float]
"""A scope, both ends included: times are whole numbers, so that an open end is one further in."""
EVERYWHERE: Span = (-math.inf, math.inf)


@dataclass(frozen=True)
class Question:
    """A query and all events of its FROM streams."""

    match: Match
    events: tuple[ReferenceEvent, ...]

    def of_type(self, name: str) -> list[ReferenceEvent]:
        known = next(kind for kind in self.match.types if kind.name == name)
        return [e for e in self.events if any(is_member(e, member) for member in known.members)]

    def fits(self, own: Sequence[ReferenceEvent], within: Window | None) -> bool:
        """ "`WITHIN w` holds when end - start <= w"; "when at most n events have a `ts` in [start, end]"."""
        if within is None or not own:
            return True
        start, end = extent(own)
        return (
            self.are_few(own, start, end, within) if within.unit == "EVENT" else end - start <= size(within)
        )

    def are_few(self, own: Sequence[ReferenceEvent], start: float, end: float, within: Window) -> bool:
        """Of the partition: events that have the values of the match's."""
        counted = [e for e in self.events if start <= e.start <= end and self.are_together((own[0], e))]
        return len(counted) <= size(within)

    def are_together(self, events: Sequence[ReferenceEvent]) -> bool:
        return are_same(self.match.partition, events)

    def reach(self, own: Sequence[ReferenceEvent], within: Window | None) -> Span:
        """ "[end - w, start + w]"; of n events, "as far as the extended match would still hold at most n"."""
        if within is None or not own:
            return EVERYWHERE
        start, end = extent(own)
        if within.unit != "EVENT":
            return end - size(within), start + size(within)
        lows = [e.start for e in self.events if self.are_few(own, min(e.start, start), end, within)]
        highs = [e.end for e in self.events if self.are_few(own, start, max(e.end, end), within)]
        return min(lows), max(highs)


def size(within: Window) -> int:
    """In nanoseconds, or in events."""
    assert isinstance(within.count, Literal) and isinstance(within.count.value, int)
    return within.count.value * LENGTHS.get(within.unit or "", 1)


def extent(events: Sequence[ReferenceEvent]) -> Span:
    """ "The least `ts` and the greatest `te` of all events"."""
    return min(event.start for event in events), max(event.end for event in events)


def are_same(attributes: Iterable[str], events: Sequence[ReferenceEvent]) -> bool:
    """ "`[id]` means: equal `id` on every event. NULL equals nothing"."""
    values = [[attribute(event, name) for event in events] for name in attributes]
    return all(compared("=", of_name[0], value) is True for of_name in values for value in of_name)


def conditions(node: Pattern) -> Iterator[Expr]:
    where = node.where
    yield from where.operands if isinstance(where, Conjunction) else [where] if where is not None else []


def own_attributes(node: Pattern) -> list[str]:
    """Those of `[id]` in the part's own conditions."""
    return [name for same in conditions(node) if isinstance(same, SameAttributes) for name in same.attributes]


def instances(condition: Expr, binding: Mapping[str, object]) -> Iterator[EvaluationContext]:
    """What `condition` must be TRUE in. If it speaks of `b[i]`: each i for which all its elements are there
    ("holds for the first element by definition")."""
    running = {
        (node.base, index.offset)
        for node in walk(condition)
        for index in [
            node.index
            if isinstance(node, ListElement)
            else node.upper
            if isinstance(node, EveryElement)
            else None
        ]
        if isinstance(node, ListElement | EveryElement) and index is not None and index.anchor == "CURRENT"
    }
    if not running:
        yield EvaluationContext(binding)
    for base in {base for base, _ in running}:
        for place in range(len(list_of(base, EvaluationContext(binding)))):
            if all(place + offset >= 0 for _, offset in running):
                yield EvaluationContext(binding, place)


def is_true(condition: Expr, binding: Mapping[str, object]) -> bool:
    return all(evaluate(condition, context) is True for context in instances(condition, binding))
