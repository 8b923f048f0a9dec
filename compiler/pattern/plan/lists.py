"""Names for the elements of lists: to the steps of a plan, `b[i]` is a variable like any other.

b[i]  b[i-1]  b[1]  b[last]          of `B+ b[]`; also b[i-2], b[2], b[last-1]
k[i].a  k[i-1].a  k[1].a  k[last].a  of `SEQ(A a, B b)+ k[]`; k[1] and k[last]: its first and last event
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from neelc.ir.expressions import EventRef, EveryElement, Expr, Index, InnerVariable, ListElement, Variable
from neelc.ir.node import Node, map_children, remembered, walk
from neelc.runtime.program import BetweenGroups, Bounds

FIRST, LAST, CURRENT, BEFORE = "1", "last", "i", "i-1"

AFTER = "i+1"
"""The element after `b[i]`: no condition names it, but what lies between two iterations must know it."""

_PLACE = r"[0-9]+|last(?:-[0-9]+)?|i(?:[-+][0-9]+)?"
_DERIVED = re.compile(rf"(`(?:[^`]|``)*`|[^`\[\]]+)\[({_PLACE})\](?:\.(.+))?\Z")


def _place(index: Index) -> str:
    """
    >>> [_place(Index(*index)) for index in (("FIRST", 0), ("LAST", -1), ("CURRENT", 0), ("CURRENT", -2))]
    ['1', 'last-1', 'i', 'i-2']
    """
    if index.anchor == "FIRST":
        return str(index.offset + 1)
    return {"LAST": LAST, "CURRENT": CURRENT}[index.anchor] + (f"{index.offset}" if index.offset else "")


def _index(place: str) -> Index:
    """
    >>> _index("2"), _index("last-1") == Index("LAST", -1)
    (Index(anchor='FIRST', offset=1), True)
    """
    if place.isdigit():
        return Index("FIRST", int(place) - 1)
    anchor, sign, number = place.partition("-")
    return Index({LAST: "LAST", CURRENT: "CURRENT"}[anchor], -int(number) if sign else 0)


def element(variable: str, place: str, inner: str | None = None) -> str:
    """
    >>> element("b", LAST), element("k", CURRENT, "a")
    ('b[last]', 'k[i].a')
    """
    return f"{variable}[{place}]" + (f".{inner}" if inner else "")


def lists_of(variable: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The lists that the names of an iteration make.

    >>> lists_of("b", ("b[i]",)), lists_of("k", ("k[i].a", "k[i].b"))
    (('b',), ('k.a', 'k.b'))
    """
    return tuple(variable + name.removeprefix(element(variable, CURRENT)) for name in names)


def list_of(name: str) -> str | None:
    """The list that an element's name belongs to; None if it is no such name.

    >>> list_of("b[last]"), list_of("`k [i]`[i-1].a"), list_of("`b[1]`")
    ('b', '`k [i]`', None)
    """
    found = _DERIVED.match(name)
    return found[1] if found else None


def base_of(name: str) -> str:
    """The variable that must be bound for a name to mean something."""
    return list_of(name) or name


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


def place_of(name: str) -> str | None:
    """Which element of its list a name means; None if it is no such name.

    >>> place_of("b[i-1]"), place_of("k[2].a"), place_of("b")
    ('i-1', '2', None)
    """
    found = _DERIVED.match(name)
    return found[2] if found else None


def inner_of(name: str) -> str | None:
    """The variable of an iteration that a name means.

    >>> inner_of("k[i].a"), inner_of("b[i]"), inner_of("b")
    ('a', None, None)
    """
    found = _DERIVED.match(name)
    return found[3] if found else None


def is_of_iteration(name: str) -> bool:
    """Whether a name changes with each iteration: `b[i]` and `b[i-1]`."""
    place = place_of(name)
    return place is not None and place.startswith(CURRENT)


def with_names(expression: Expr) -> Expr:
    """An expression with names in the place of references into lists; those that have no name stay.

    >>> from neelc.pattern.rules.examples import query
    >>> text = "SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x AND max(b[..i-1].x) < b[last].x"
    >>> where = query(text).pattern.where
    >>> print(with_names(where))
    b[i].x > b[i-1].x AND max(b[..i-1].x) < b[last].x
    >>> from neelc.ir.conditions import names_in
    >>> sorted(names_in(with_names(where)))
    ['b', 'b[i-1]', 'b[i]', 'b[last]']
    """
    changed = _named(expression)
    assert isinstance(changed, Expr)
    return changed


def _named(node: Node) -> Node:
    match node:
        case InnerVariable(ListElement(Variable(name), index), inner):
            return Variable(element(name, _place(index), inner))
        case ListElement(Variable(name), index):
            return Variable(element(name, _place(index)))
    return map_children(node, _named)


def without_names(expression: Expr) -> Expr:
    """The expression as it was written, with references into lists."""
    changed = _unnamed(expression)
    assert isinstance(changed, Expr)
    return changed


def _unnamed(node: Node) -> Node:
    if isinstance(node, Variable) and (found := _DERIVED.match(node.name)):
        reference: EventRef = ListElement(Variable(found[1]), _index(found[2]))
        return InnerVariable(reference, found[3]) if found[3] else reference
    return map_children(node, _unnamed)


@remembered
def looks_back(expression: Expr) -> bool:
    """Whether a condition about `b[i]` looks at earlier elements: it holds for the first by definition."""
    return any(_lag(node) > 0 for node in walk(expression))


def lag(expression: Expr, variable: str) -> int:
    """How many elements before `b[i]` of this list a condition looks back: it holds by definition for as many
    of the first ones.

    >>> from neelc.pattern.rules.examples import query
    >>> where = with_names(query("SEQ(A a, B+ b[]) WHERE b[i].x > b[i-2].x").pattern.where)
    >>> lag(where, "b"), lag(where, "a")
    (2, 0)
    """
    return max((_lag(node) for node in walk(expression) if _ranged(node) == variable), default=0)


def _lag(node: Node) -> int:
    match node:
        case Variable(name) if is_of_iteration(name):
            return -_index(place_of(name) or CURRENT).offset
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
        case Variable(name) if is_of_iteration(name):
            return list_of(name)
        case ListElement(base, Index("CURRENT")) | EveryElement(base, Index("CURRENT")):
            return next((found.name for found in walk(base) if isinstance(found, Variable)), None)
    return None


def ends(bounds: Bounds, is_list: Callable[[str], bool]) -> Bounds:
    """Bounds that speak of lists as bounds that speak of their first and last events.

    >>> ends(Bounds(after=("a", "b"), before=("b",)), lambda name: name == "b")
    Bounds(after=('a', 'b[last]'), before=('b[1]',), within=(), between=())
    """

    def changed(names: tuple[str, ...], *places: str) -> tuple[str, ...]:
        return tuple(
            end
            for name in names
            for end in ([element(name, place) for place in places] if is_list(name) else [name])
        )

    return Bounds(
        changed(bounds.after, LAST),
        changed(bounds.before, FIRST),
        tuple(replace(within, events=changed(within.events, FIRST, LAST)) for within in bounds.within),
        tuple(
            BetweenGroups(changed(between.one, FIRST, LAST), changed(between.other, FIRST, LAST))
            for between in bounds.between
        ),
    )
