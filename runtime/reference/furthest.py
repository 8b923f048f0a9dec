"""WITH PARTIAL MATCHES: of each start, the match that comes furthest, and what tells why not further."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from neelc.ir import expr as e
from neelc.ir.logical import Furthest, Match
from neelc.ir.names import bare
from neelc.ir.node import Node, children
from neelc.ir.parts import targets
from neelc.ir.types import DataType, Struct
from neelc.runtime.reference.model import Binding, Event, attribute, bound_events
from neelc.runtime.value_order import Place, place_of

Events = Sequence[Event | None]


def furthest(match: Match, partial: Furthest, found: Sequence[Binding]) -> list[Binding]:
    """ "The furthest prefix that has a match from a start": an event of the first step. Each branch of the
    pattern has a variable of its own for it."""
    names = [name for level in partial.levels for name in (level.start, *level.hints)]
    starts: dict[Event, dict[str, list[Binding]]] = {}
    for binding in found:
        for name in names:
            if isinstance(start := binding.get(name), Event):
                starts.setdefault(start, {}).setdefault(name, []).append(binding)
    order = Order(match)
    kept: list[Binding] = []
    for start, branches in starts.items():
        reached = [level for level in partial.levels if level.start in branches][-1:]
        for level in reached:
            best = min(branches[level.start], key=order.place)
            why = [hint for hint in level.hints if hint in branches][:1]
            kept.append({**best, **dict.fromkeys(why, start)})
    return kept


class Order:
    """Which of the matches of one prefix is kept: the one that ends first; then by the times of its events,
    variable by variable; then by the values that RETURN names. The order of the input never matters."""

    def __init__(self, match: Match) -> None:
        self.variables = targets(match.pattern)
        outputs = [output.expression for output in match.outputs]
        self.mentioned = cache(
            lambda name: tuple(dict.fromkeys(m for o in outputs for m in mentions(name, o)))
        )

    def place(self, binding: Binding) -> tuple[int, Place, Place]:
        lists = [one for name in self.variables for one in leaves(name, binding.get(name))]
        end = max(event.end for event in bound_events(binding))
        times = [None if events is None else [_time(event) for event in events] for _, events in lists]
        values = [[self._values(name, event) for event in events or ()] for name, events in lists]
        return end, place_of(times), place_of(values)

    def _values(self, name: str, event: Event | None) -> list[object]:
        return [None if event is None else attribute(event, one) for one in self.mentioned(name)]


def _time(event: Event | None) -> list[int] | None:
    return None if event is None else [event.start, event.end]


def leaves(name: str, value: object) -> Iterator[tuple[str, Events | None]]:
    """The events of a variable, None if it is absent; those of a closure of a composite by its variables.

    >>> a, b = (Event("S", row, "A", row, row, {}, (row, row)) for row in (1, 2))
    >>> [(name, len(events)) for name, events in leaves("k", ({"a": a, "b": b}, {"a": b, "b": None}))]
    [('a', 2), ('b', 2)]
    """
    match value:
        case Event():
            yield name, (value,)
        case (Mapping() as first, *_):
            for inner in sorted(first):
                yield inner, tuple(event for one in value for event in _in_iteration(one, inner))
        case tuple():
            yield name, tuple(bound_events(value))
        case _:
            yield name, None


def _in_iteration(iteration: object, name: str) -> Events:
    assert isinstance(iteration, Mapping), "an iteration of a composite is a binding"
    value = iteration[name]
    return (None,) if value is None else tuple(bound_events(value))


def mentions(variable: str, node: Node) -> Iterator[str]:
    """The attributes of a variable that an expression names; all of them where it names the whole event."""
    match node:
        case e.Aggregate("count", e.Whole(), distinct=False):
            return
        case e.Attribute(event, name) if _variable(event) == variable:
            yield name
        case e.Whole(event, kind):
            yield from _fields(variable, _variable(event), kind)
    for child in children(node):
        yield from mentions(variable, child)


def _fields(variable: str, whole: str, kind: DataType) -> Iterator[str]:
    """The fields of a struct that is an event of the variable, or an iteration that has one."""
    for part in kind.fields if isinstance(kind, Struct) else ():
        if whole == variable:
            yield part.name
        elif bare(part.name) == bare(variable) and isinstance(part.type, Struct):
            yield from (inner.name for inner in part.type.fields)


def _variable(event: e.EventRef) -> str:
    match event:
        case e.At(base) | e.Each(base):
            return _variable(base)
        case e.Variable(name) | e.Inner(_, name):
            return name
    raise AssertionError(f"{event} is of no variable")
