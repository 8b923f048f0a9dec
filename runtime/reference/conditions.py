"""Conditions: what each conjunct speaks about, and whether it holds."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from neelc.ir.expr import At, Conjunction, Each, EventRef, Expr, Index, Inner, Same, Variable
from neelc.ir.logical import Clock
from neelc.ir.node import walk
from neelc.ir.types import TIMESTAMP
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Binding, Context, Event, attribute, comparable
from neelc.runtime.reference.times import nanoseconds


@dataclass(frozen=True)
class Condition:
    """One conjunct: the variables it names, and the list, `ranged`, that `i` ranges over, if it holds an `i`.

    `lag` is the k of `b[i-k]` or `b[..i-k]`. A condition that `grows` speaks of the list `grows` only up
    to its element i, so that it can be judged for each element while the list still grows.
    """

    expression: Expr
    names: frozenset[str]
    ranged: EventRef | None
    lag: int
    grows: str | None


def conjuncts(where: Expr | None) -> Iterator[Expr]:
    """The conjuncts of a condition."""
    if isinstance(where, Conjunction):
        for operand in where.operands:
            yield from conjuncts(operand)
    elif where is not None:
        yield where


def conditions(where: Expr | None) -> tuple[Condition, ...]:
    """The conjuncts that are judged by evaluating them."""
    return tuple(condition(conjunct) for conjunct in conjuncts(where) if not isinstance(conjunct, Same))


def same_attributes(where: Expr | None) -> tuple[tuple[str, ...], ...]:
    """The attributes of each `[id]` among the conjuncts."""
    return tuple(conjunct.attributes for conjunct in conjuncts(where) if isinstance(conjunct, Same))


def condition(expression: Expr) -> Condition:
    """What `expression` speaks about."""
    nodes = list(walk(expression))
    names = frozenset(node.name for node in nodes if isinstance(node, Variable))
    places = [
        (node.base, place) for node in nodes if isinstance(node, At | Each) and (place := place_of(node))
    ]
    running = [(base, place) for base, place in places if place.anchor == "CURRENT"]
    lag = max((-place.offset for _, place in running), default=0)
    ranged = running[0][0] if running else None
    grows = ranged.name if isinstance(ranged, Variable) else None
    if grows is not None:
        uses = sum(isinstance(node, Variable) and node.name == grows for node in nodes)
        backward = sum(base == ranged and is_backward(place) for base, place in places)
        grows = grows if uses == backward else None
    return Condition(expression, names, ranged, max(lag, 0), grows)


def place_of(reference: At | Each) -> Index | None:
    return reference.index if isinstance(reference, At) else reference.upper


def is_backward(place: Index) -> bool:
    """Whether the place is known as soon as element i is: `b[i-1]` and `b[1]` are, `b[last]` is not."""
    return place.offset <= 0 if place.anchor == "CURRENT" else (place.anchor == "FIRST" and place.offset == 0)


def holds(condition: Condition, binding: Binding) -> bool:
    """ "... for which the condition is TRUE (SQL's three-valued logic)"; one with `i`, for every i.

    "A condition with `b[i-1]` or `b[..i-1]` holds for the first element by definition." Where there is no
    list, because its OR branch was not taken, there is no i either.
    """
    return all(holds_at(condition, binding, current) for current in places_of(condition, binding))


def places_of(condition: Condition, binding: Binding) -> Sequence[int | None]:
    """What i stands for, one after the other; None, once, if there is no i."""
    if condition.ranged is None:
        return (None,)
    elements = referred(condition.ranged, binding)
    return range(len(elements)) if isinstance(elements, tuple) else ()


def holds_at(condition: Condition, binding: Binding, current: int | None) -> bool:
    """Whether the condition holds for one i."""
    if current is not None and current < condition.lag:
        return True
    return evaluate(condition.expression, Context(binding, current)) is True


def referred(reference: EventRef, binding: Binding) -> object:
    """What a reference without `i` stands for: `k`, or `k[last].c`."""
    match reference:
        case Variable(name):
            return binding.get(name)
        case Inner(base, name):
            iteration = referred(base, binding)
            return iteration.get(name) if isinstance(iteration, Mapping) else None
        case At(base, Index(anchor, offset)):
            elements = referred(base, binding)
            if not isinstance(elements, tuple):
                return None
            place = offset if anchor == "FIRST" else len(elements) - 1 + offset
            return elements[place] if 0 <= place < len(elements) else None
    return None


def agree(attributes: Iterable[str], events: Iterable[Event]) -> bool:
    """ "`[id]` means: equal `id` on every event, the negative parts' included. NULL equals nothing."

    >>> one, two, no = (Event("S", row, "A", 0, 0, {"id": id}, (0, 0)) for row, id in enumerate([7, 7, None]))
    >>> agree(["id"], [one, two]), agree(["id"], [no]), agree(["id"], [])
    (True, False, True)
    """
    events = tuple(events)
    for name in attributes:
        values = set(map(comparable, as_numbers([attribute(event, name) for event in events])))
        if None in values or len(values) > 1:
            return False
    return True


def as_numbers(values: Sequence[object]) -> list[object]:
    """A DATE equals the TIMESTAMP of its midnight, a TIMESTAMP_NTZ that of the session's clock: events of
    different streams may have either."""
    zoned = any(isinstance(value, datetime.datetime) and value.tzinfo for value in values)
    clock = Clock(TIMESTAMP) if zoned else None
    return [
        nanoseconds(value, "DAY", clock) if isinstance(value, datetime.date) else value for value in values
    ]
