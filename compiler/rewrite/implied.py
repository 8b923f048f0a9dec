"""Equalities that an `[id]` at the root of a pattern makes needless."""

from __future__ import annotations

from neelc.ir import pattern as p
from neelc.ir.expr import At, Attribute, Binary, EventRef, Expr, Index, Variable
from neelc.ir.names import same
from neelc.ir.node import Node, map_children
from neelc.rewrite.regions import Spot, filtered, spots
from neelc.rewrite.roles import plain


def without_implied(part: p.Pattern, name: str, sure: frozenset[str] = frozenset()) -> p.Pattern:
    """`part`, the root of a region, without equalities of the attribute `name` that an `[id]` around it
    implies.

    `sure` are variables that are bound whenever the region is judged. An equality with another one says
    also that it is bound, so it stays:

    >>> from neelc.rewrite.examples import query
    >>> pattern = query("SEQ(A a, (B b : b.id = a.id), C? c) WHERE a.id = c.id AND a.x = b.x").pattern
    >>> print(without_implied(pattern, "id"))
    SEQ(A a, B b, C? c WHERE a.id = c.id AND a.x = b.x)
    """
    sure = sure.union(*(_bound(spot.part) for spot in spots(part)))

    def stays(conjunct: Expr, spot: Spot) -> bool:
        return not _is_implied(conjunct, name, sure)

    return _inside(filtered(part, stays), name, sure)


def _bound(part: p.Pattern) -> frozenset[str]:
    """The variable of an event, or of a list that is not empty."""
    match part:
        case p.Event(_, str() as variable) | p.Repeat(p.Event(), int(), _, str() as variable):
            empty = isinstance(part, p.Repeat) and part.least == 0
            return frozenset() if empty else frozenset([variable])
    return frozenset()


def _inside(part: p.Pattern, name: str, sure: frozenset[str]) -> p.Pattern:
    """`part` with the same done in the regions inside it."""
    has_regions = isinstance(part, p.Or | p.Not | p.Optional | p.Repeat)

    def change(child: Node) -> Node:
        if not isinstance(child, p.Pattern):
            return child
        return without_implied(child, name, sure) if has_regions else _inside(child, name, sure)

    return map_children(part, change)


def _is_implied(conjunct: Expr, name: str, sure: frozenset[str]) -> bool:
    match conjunct:
        case Binary("=", left, right):
            match plain(left), plain(right):
                case Attribute(one, first), Attribute(other, second):
                    both = same(name, first) and same(name, second)
                    return both and _is_bound(one, sure) and _is_bound(other, sure)
    return False


def _is_bound(event: EventRef, sure: frozenset[str]) -> bool:
    """Whether there is such an event wherever the condition must hold: of `b[i]`, for each i there is."""
    match event:
        case Variable(variable):
            return variable in sure
        case At(Variable(), Index("CURRENT")):
            return True
        case At(Variable(variable), Index("FIRST" | "LAST", 0)):
            return variable in sure
    return False
