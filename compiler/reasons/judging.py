"""What a requirement is judged with in a binding: which part, in which iteration, with which values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from neelc.ir import pattern as p
from neelc.ir.expr import Aggregate, Attribute, EventTime, Expr, Field, Item, Same
from neelc.ir.logical import Match
from neelc.ir.node import children
from neelc.ir.parts import inner_parts
from neelc.ir.typeof import type_of
from neelc.reasons.requirements import Path, Requirement
from neelc.reasons.texts import shown
from neelc.runtime.reference.conditions import condition, holds_at, places_of
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Binding, Context, Event, attribute, bound_events
from neelc.runtime.reference.question import ELEMENT, Question, iteration
from neelc.runtime.reference.scopes import extent

Values = tuple[tuple[str, str], ...]
"""Names and the texts of what they stand for."""


def part_at(pattern: p.Pattern, path: Path) -> p.Pattern:
    """The part that a path leads to."""
    for place in path:
        pattern = list(inner_parts(pattern))[place]
    return pattern


def views(pattern: p.Pattern, path: Path, binding: Binding) -> Iterator[Binding]:
    """What the part at a path is judged with: the binding, once for each iteration of the closures around."""
    if not path:
        yield binding
        return
    inner = list(inner_parts(pattern))[path[0]]
    if not isinstance(pattern, p.Repeat):
        yield from views(inner, path[1:], binding)
        return
    elements = binding.get(pattern.variable or ELEMENT)
    for element in elements if isinstance(elements, tuple) else ():
        yield from views(inner, path[1:], {**binding, **iteration(pattern, element)})


def values(match: Match, requirement: Requirement, binding: Binding) -> Values:
    """The values that a condition is judged with: where it fails, else where it says something, `b[i-1]`
    not before the second element.

    >>> from neelc.rewrite.examples import query
    >>> from neelc.reasons.requirements import requirements
    >>> asked = query("SEQ(A a, B+ b[]) WHERE b[i].x > a.x")
    >>> a, b, c = (Event("S", n, "A", n, n, {"x": float(x)}, (n, n)) for n, x in enumerate([5, 6, 3]))
    >>> values(asked, requirements(asked)[0], {"a": a, "b": (b, c)})
    (('i', '2'), ('b[i].x', '3.0'), ('a.x', '5.0'))
    """
    pattern, path = match.pattern, requirement.path or ()
    if requirement.kind in ("same", "partition"):
        names = requirement.expression.attributes if isinstance(requirement.expression, Same) else ()
        events = [event for view in views(pattern, path, binding) for event in bound_events(view)]
        return _values_of_attributes(names or match.partition, events)
    assert requirement.expression is not None, "a condition has an expression"
    judged = condition(requirement.expression)
    found = [(view, place) for view in views(pattern, path, binding) for place in places_of(judged, view)]
    failing = [(view, place) for view, place in found if not holds_at(judged, view, place)]
    telling = [(view, place) for view, place in found if place is None or place >= judged.lag]
    for view, place in (failing or telling or found)[:1]:
        index = () if place is None else (("i", str(place + 1)),)
        return (*index, *dict.fromkeys(_values_in(requirement.expression, Context(view, place))))
    return ()


def _values_of_attributes(names: Sequence[str], events: Sequence[Event]) -> Values:
    texts = {name: dict.fromkeys(shown(attribute(event, name)) for event in events) for name in names}
    return tuple((name, " and ".join(found)) for name, found in texts.items())


def _values_in(expression: Expr, context: Context) -> Iterator[tuple[str, str]]:
    if isinstance(expression, Attribute | EventTime | Field | Item | Aggregate):
        yield str(expression), shown(evaluate(expression, context), type_of(expression))
        return
    for child in children(expression):
        if isinstance(child, Expr):
            yield from _values_in(child, context)


def size(asked: Question, requirement: Requirement, binding: Binding) -> int:
    """How large the window of a requirement would have to be: nanoseconds, or a number of events."""
    assert requirement.window is not None, "a window"
    if requirement.path is None:
        parts = [tuple(bound_events(binding))]
    else:
        part = part_at(asked.match.pattern, requirement.path)
        parts = [
            asked.events_in(part, view) for view in views(asked.match.pattern, requirement.path, binding)
        ]
    return max((_size(asked, requirement.window, events) for events in parts if events), default=0)


def _size(asked: Question, window: p.Window, events: Sequence[Event]) -> int:
    bounds = extent(events)
    assert bounds is not None, "a part that is not absent"
    if window.unit != "EVENT":
        return bounds.end - bounds.start
    starts = asked.starts(events[0])
    return bisect_right(starts, bounds.end) - bisect_left(starts, bounds.start)
