"""Elements of lists in conditions: an expression refers to them, and steps have names for them.

b[i]  b[i-1]  b[1]  b[last]          of `B+ b[]`; also b[i-2], b[2], b[last-1]
k[i].a  k[i-1].a  k[1].a  k[last].a  of `SEQ(A a, B b)+ k[]`; k[1] and k[last]: its first and last event
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from neelc.ir.expressions import EventRef, EveryElement, Expr, Index, InnerVariable, ListElement, Variable
from neelc.ir.node import Node, children, map_children, remembered, walk
from neelc.runtime.program import (
    BetweenGroups,
    Bounds,
    ElementName,
    EventName,
    InnerList,
    IterationName,
    list_of,
)


def name_of(reference: Node) -> EventName | None:
    """The name of the event that a reference reaches; None if it reaches no one event.

    >>> b = Variable("b")
    >>> [str(name_of(ListElement(b, Index(*at)))) for at in (("FIRST", 1), ("LAST", -1), ("CURRENT", -2))]
    ['b[2]', 'b[last-1]', 'b[i-2]']
    >>> print(name_of(InnerVariable(ListElement(Variable("k"), Index("LAST")), "a")))
    k[last].a
    >>> name_of(EveryElement(b)) is None
    True
    """
    match reference:
        case Variable(name):
            return name
        case ListElement(Variable(name), index):
            return _element(name, index)
        case InnerVariable(ListElement(Variable(name), index), inner):
            return _element(name, index, inner)
    return None


def _element(name: str, index: Index, inner: str | None = None) -> ElementName | IterationName:
    match index:
        case Index("FIRST", offset):
            return ElementName(name, offset + 1, inner)
        case Index("LAST", offset):
            return ElementName(name, offset - 1, inner)
    return IterationName(name, inner, -index.offset)


def reference_to(name: EventName) -> EventRef:
    """The reference that reaches the event of a name: the inverse of `name_of`."""
    match name:
        case str():
            return Variable(name)
        case ElementName(of, place, inner):
            index = Index("FIRST", place - 1) if place > 0 else Index("LAST", place + 1)
        case IterationName(of, inner, lag):
            index = Index("CURRENT", -lag)
        case InnerList():
            raise AssertionError(f"{name} is no event")
    element = ListElement(Variable(of), index)
    return element if inner is None else InnerVariable(element, inner)


def references_in(node: Node) -> Iterator[Node]:
    """The node and what is below it, but not what references to events are made of."""
    yield node
    if name_of(node) is None:
        for child in children(node):
            yield from references_in(child)


@remembered
def event_names(expression: Expr) -> frozenset[EventName]:
    """The events and lists that an expression names.

    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x AND max(b[..i-1].x) < b[last].x"
    >>> sorted(map(str, event_names(query(text).pattern.where)))
    ['b', 'b[i-1]', 'b[i]', 'b[last]']
    """
    names = (name_of(node) for node in references_in(expression))
    return frozenset(name for name in names if name is not None)


def with_lists(names: Iterable[EventName]) -> frozenset[EventName]:
    """The names, and the lists that elements among them belong to."""
    found = frozenset(names)
    return found | {of for name in found if (of := list_of(name)) is not None}


def renamed(expression: Expr, old: EventName, new: EventName) -> Expr:
    """The expression with another name for an event."""
    return with_other_names(expression, {old: new})


def with_other_names(expression: Expr, names: Mapping[EventName, EventName]) -> Expr:
    """The expression with other names for some events."""

    def change(node: Node) -> Node:
        name = name_of(node)
        if name is None:
            return map_children(node, change)
        return reference_to(names[name]) if name in names else node

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def variable_of(reference: EventRef) -> str:
    """The variable whose event, list or iteration is reached.

    >>> last = ListElement(Variable("k"), Index("LAST"))
    >>> variable_of(InnerVariable(last, "a")), variable_of(last)
    ('a', 'k')
    """
    match reference:
        case Variable(name) | InnerVariable(_, name):
            return name
        case ListElement(base) | EveryElement(base):
            return variable_of(base)
    raise AssertionError(f"{reference} reaches no variable")


@remembered
def looks_back(expression: Expr) -> bool:
    """Whether a condition about `b[i]` looks at earlier elements: it holds for the first by definition."""
    return any(_lag(node) > 0 for node in walk(expression))


def lag(expression: Expr, variable: str) -> int:
    """How many elements before `b[i]` of this list a condition looks back: it holds by definition for as many
    of the first ones.

    >>> from pattern_examples import query
    >>> where = query("SEQ(A a, B+ b[]) WHERE b[i].x > b[i-2].x").pattern.where
    >>> lag(where, "b"), lag(where, "a")
    (2, 0)
    """
    return max((_lag(node) for node in walk(expression) if _ranged(node) == variable), default=0)


def _lag(node: Node) -> int:
    match node:
        case EveryElement(_, Index("CURRENT", offset)) | ListElement(_, Index("CURRENT", offset)):
            return -offset
    return 0


@remembered
def ranges(expression: Expr) -> frozenset[str]:
    """The lists whose elements, one by one, a condition is about: those of its `i`."""
    names = (_ranged(node) for node in walk(expression))
    return frozenset(name for name in names if name is not None)


def _ranged(node: Node) -> str | None:
    match node:
        case ListElement(base, Index("CURRENT")) | EveryElement(base, Index("CURRENT")):
            return next((found.name for found in walk(base) if isinstance(found, Variable)), None)
    return None


def ends(bounds: Bounds, is_list: Callable[[EventName], bool]) -> Bounds:
    """Bounds that speak of lists as bounds that speak of their first and last events.

    >>> found = ends(Bounds(after=("a", "b"), before=("b",)), lambda name: name == "b")
    >>> [str(name) for name in (*found.after, *found.before)]
    ['a', 'b[last]', 'b[1]']
    """

    def changed(names: tuple[EventName, ...], *places: int) -> tuple[EventName, ...]:
        return tuple(
            end
            for name in names
            for end in ([ElementName(str(name), place) for place in places] if is_list(name) else [name])
        )

    return Bounds(
        changed(bounds.after, -1),
        changed(bounds.before, 1),
        tuple(replace(within, events=changed(within.events, 1, -1)) for within in bounds.within),
        tuple(
            BetweenGroups(changed(between.one, 1, -1), changed(between.other, 1, -1))
            for between in bounds.between
        ),
    )
