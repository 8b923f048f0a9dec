"""What the reference interpreter talks about: events, bindings and the context an expression is judged in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from neelc.ir.names import find

Binding = Mapping[str, object]
"""A variable's name, in source form, and what it stands for: an event; None where its OR branch was not taken
or its optional part is absent; a tuple of events (`B+ b[]`); a tuple of bindings, one for each iteration of a
composite closure (`SEQ(A a, B b)+ k[]`)."""


@dataclass(frozen=True)
class Event:
    """A row with attributes (by bare name), a type, and a valid time `[start, end]` in nanoseconds.

    Two events are equal when they are the same row of the same stream, whatever their attributes.

    >>> Event("Trades", 0, "A", 1, 1, {}, (1, 1)) == Event("Trades", 0, "A", 5, 5, {}, (5, 5))
    True
    """

    stream: str
    row: int
    type: object = field(compare=False)
    start: int = field(compare=False)
    end: int = field(compare=False)
    attributes: Mapping[str, object] = field(compare=False, repr=False)
    times: tuple[object, object] = field(compare=False, repr=False)
    """`ts` and `te` as values of the timestamp column's type."""


@dataclass(frozen=True)
class Context:
    """What an expression is judged with.

    `current` is the place, from 0, of the Kleene element that `i` stands for; `properties` are `match_start`,
    `match_end` and `confidence`; `matches` is the group that aggregates over matches range over.
    """

    binding: Binding
    current: int | None = None
    properties: Mapping[str, object] = field(default_factory=dict)
    matches: Sequence[Context] | None = None


def bound_events(value: object) -> Iterator[Event]:
    """Every event in a binding, or in what one variable is bound to.

    >>> a, b = (Event("S", row, "A", row, row, {}, (row, row)) for row in (1, 2))
    >>> [event.row for event in bound_events({"a": a, "k": ({"b": b, "c": None},)})]
    [1, 2]
    """
    if isinstance(value, Event):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from bound_events(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from bound_events(inner)


def binding_key(value: object) -> object:
    """A binding as a value that sets can hold.

    >>> binding_key({"b": (), "a": None})
    (('a', None), ('b', ()))
    """
    if isinstance(value, Mapping):
        return tuple((name, binding_key(value[name])) for name in sorted(value))
    if isinstance(value, tuple):
        return tuple(binding_key(inner) for inner in value)
    return value


def attribute(event: Event, name: str) -> object:
    """The value of the attribute `name`, in source form; NULL where the event has none of that name.

    >>> attribute(Event("S", 0, "A", 1, 1, {"Price": 5}, (1, 1)), "price")
    5
    """
    if name in event.attributes:
        return event.attributes[name]
    return event.attributes.get(find(name, event.attributes) or "")


def comparable(value: object) -> object:
    """A value that sets can hold and that is equal where SQL groups values together: NaN is one value.

    >>> comparable(float("nan")) == comparable(float("nan")), comparable([1, {"x": None}])
    (True, (1, frozenset({('x', None)})))
    """
    match value:
        case float() if value != value:
            return ("NaN",)
        case list() | tuple():
            return tuple(comparable(item) for item in value)
        case dict():
            return frozenset((key, comparable(item)) for key, item in value.items())
    return value


class LimitReached(Exception):
    """A query needs more work than the reference interpreter is made for; nothing is cut off silently.

    `query` is the query's place in its program, from 0.
    """

    query: int | None = None

    def __init__(self, name: str, limit: int, detail: str) -> None:
        self.name = name
        self.limit = limit
        self.detail = detail
        super().__init__(f"{detail}: the limit {name} is {limit}")
