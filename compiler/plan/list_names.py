"""Names for the elements of lists: to the steps of a plan, `b[i]` is a variable like any other.

b[i]  b[i-1]  b[1]  b[last]          of `B+ b[]`
k[i].a  k[i-1].a  k[1].a  k[last].a  of `SEQ(A a, B b)+ k[]`; k[1] and k[last]: its first and last event
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from neelc.ir.expr import At, Each, EventRef, Expr, Index, Inner, Variable
from neelc.ir.node import Node, map_children, walk
from neelc.runtime.program import Between, Bounds

FIRST, LAST, CURRENT, BEFORE = "1", "last", "i", "i-1"

_PLACES = {("FIRST", 0): FIRST, ("LAST", 0): LAST, ("CURRENT", 0): CURRENT, ("CURRENT", -1): BEFORE}
_INDEXES = {place: Index(*index) for index, place in _PLACES.items()}
_DERIVED = re.compile(r"(`(?:[^`]|``)*`|[^`\[\]]+)\[(1|last|i|i-1)\](?:\.(.+))?\Z")


def element(variable: str, place: str, inner: str | None = None) -> str:
    """
    >>> element("b", LAST), element("k", CURRENT, "a")
    ('b[last]', 'k[i].a')
    """
    return f"{variable}[{place}]" + (f".{inner}" if inner else "")


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

    >>> last = At(Variable("k"), Index("LAST"))
    >>> variable_of(Inner(last, "a")), variable_of(last)
    ('a', 'k')
    """
    match reference:
        case Variable(name) | Inner(_, name):
            return name
        case At(base) | Each(base):
            return variable_of(base)
    raise AssertionError(f"{reference} reaches no variable")


def is_of_iteration(name: str) -> bool:
    """Whether a name changes with each iteration: `b[i]` and `b[i-1]`."""
    found = _DERIVED.match(name)
    return found is not None and found[2] in (CURRENT, BEFORE)


def with_names(expression: Expr) -> Expr:
    """An expression with names in the place of references into lists; those that have no name stay.

    >>> from neelc.rewrite.examples import query
    >>> text = "SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x AND max(b[..i-1].x) < b[last].x"
    >>> where = query(text).pattern.where
    >>> print(with_names(where))
    b[i].x > b[i-1].x AND max(b[..i-1].x) < b[last].x
    >>> from neelc.ir.conjuncts import names_in
    >>> sorted(names_in(with_names(where)))
    ['b', 'b[i-1]', 'b[i]', 'b[last]']
    """
    changed = _named(expression)
    assert isinstance(changed, Expr)
    return changed


def _named(node: Node) -> Node:
    match node:
        case Inner(At(Variable(name), index), inner) if (index.anchor, index.offset) in _PLACES:
            return Variable(element(name, _PLACES[index.anchor, index.offset], inner))
        case At(Variable(name), index) if (index.anchor, index.offset) in _PLACES:
            return Variable(element(name, _PLACES[index.anchor, index.offset]))
    return map_children(node, _named)


def without_names(expression: Expr) -> Expr:
    """The expression as it was written, with references into lists."""
    changed = _unnamed(expression)
    assert isinstance(changed, Expr)
    return changed


def _unnamed(node: Node) -> Node:
    if isinstance(node, Variable) and (found := _DERIVED.match(node.name)):
        reference: EventRef = At(Variable(found[1]), _INDEXES[found[2]])
        return Inner(reference, found[3]) if found[3] else reference
    return map_children(node, _unnamed)


def looks_back(expression: Expr) -> bool:
    """Whether a condition about `b[i]` looks at earlier elements: it holds for the first by definition."""
    return any(_is_lag(node) for node in walk(expression))


def _is_lag(node: Node) -> bool:
    match node:
        case Variable(name):
            found = _DERIVED.match(name)
            return found is not None and found[2] == BEFORE
        case Each(_, Index("CURRENT", offset)) | At(_, Index("CURRENT", offset)):
            return offset < 0
    return False


def ranges(expression: Expr) -> frozenset[str]:
    """The lists whose elements, one by one, a condition is about: those of its `i`."""
    names = (_ranged(node) for node in walk(expression))
    return frozenset(name for name in names if name is not None)


def _ranged(node: Node) -> str | None:
    match node:
        case Variable(name) if is_of_iteration(name):
            return list_of(name)
        case At(base, Index("CURRENT")) | Each(base, Index("CURRENT")):
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
            Between(changed(between.one, FIRST, LAST), changed(between.other, FIRST, LAST))
            for between in bounds.between
        ),
    )
