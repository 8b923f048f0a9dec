"""What of a Kleene closure a condition speaks of: that decides when a kernel can judge it."""

from __future__ import annotations

from enum import Flag, auto

from neelc.ir import expr as e
from neelc.ir.conjuncts import names_in
from neelc.ir.node import Node, walk


class Shape(Flag):
    """The places of lists that a condition mentions; a mixture has several."""

    NONE = 0
    ELEMENT = auto()
    """`b[i]`: the event that is judged."""
    ADJACENT = auto()
    """`b[i-1]`: the element before it."""
    EARLIER = auto()
    """`b[i-2]` and before."""
    FIRST = auto()
    """`b[1]`."""
    RUNNING = auto()
    """`b[..i-1]` or `b[..i]`: what is there when element i is taken."""
    FINAL = auto()
    """`b[]`, `b[last]`, `b[2]`: known for sure when the list is complete."""
    NESTED = auto()
    """`k[i].b[last]`: a list inside an iteration."""
    SAME = auto()
    """`[id]`: all events of the part it stands at."""


PER_PAIR = Shape.ELEMENT | Shape.ADJACENT


def shapes(condition: e.Expr) -> tuple[tuple[str, Shape], ...]:
    """Each list that a condition mentions, and which places of it, in the order of the text.

    >>> from neelc.rewrite.examples import query
    >>> pattern = query("SEQ(A a, B+ b[], C+ c[]) WHERE b[i].x > b[i-1].x + a.x + max(c[].x)").pattern
    >>> [(name, shape.name) for name, shape in shapes(pattern.where)]
    [('b', 'ELEMENT|ADJACENT'), ('c', 'FINAL')]
    """
    found: dict[str, Shape] = {}
    for node in walk(condition):
        if isinstance(node, e.At | e.Each):
            for name in names_in(node):
                found[name] = found.get(name, Shape.NONE) | _shape(node)
    return tuple(found.items())


def singles(condition: e.Expr) -> tuple[str, ...]:
    """The variables that stand for one event each, sorted.

    >>> from neelc.rewrite.examples import query
    >>> singles(query("SEQ(A a, B+ b[], C c) WHERE b[i].x > a.x + c.x").pattern.where)
    ('a', 'c')
    """
    return tuple(sorted(names_in(condition) - dict(shapes(condition)).keys()))


def place_of(reference: e.At | e.Each) -> e.Index | None:
    return reference.index if isinstance(reference, e.At) else reference.upper


def running(condition: e.Expr) -> tuple[frozenset[e.EventRef], int]:
    """The lists that `i` ranges over, and the k of `b[i-k]` or `b[..i-k]`: for the first k elements the
    condition holds by definition."""
    places = [
        (node.base, place)
        for node in walk(condition)
        if isinstance(node, e.At | e.Each) and (place := place_of(node)) and place.anchor == "CURRENT"
    ]
    return frozenset(base for base, _ in places), max((-place.offset for _, place in places), default=0)


def is_current(node: Node) -> bool:
    """Whether a reference is `b[i]`: the same event in every part of the list that holds it.

    >>> is_current(e.At(e.Variable("b"), e.Index("CURRENT"))), is_current(e.Each(e.Variable("b")))
    (True, False)
    """
    match node:
        case e.At(e.Variable(), e.Index("CURRENT", 0)):
            return True
    return False


def _shape(node: e.At | e.Each) -> Shape:
    match node:
        case e.At(e.Variable(), e.Index("CURRENT", offset)):
            return {0: Shape.ELEMENT, -1: Shape.ADJACENT}.get(offset, Shape.EARLIER)
        case e.At(e.Variable(), e.Index("FIRST", 0)):
            return Shape.FIRST
        case e.Each(e.Variable(), e.Index("CURRENT")):
            return Shape.RUNNING
        case e.At(e.Variable()) | e.Each(e.Variable()):
            return Shape.FINAL
    return Shape.NESTED
