"""Regions: the parts of a pattern whose conditions are judged together, on one binding.

A region is the whole pattern, a branch of an OR, or the body of an optional part, a negation, a
repetition or an EXISTS. Inside it, through SEQ and AND, a condition says the same wherever it stands:
every part of the region is judged whenever the region is, and on the same binding. In the body of an
EXISTS the binding holds the dropped variables too, so a condition there that names none of them is also
one of the region around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjoin, conjuncts, names_in
from neelc.ir.expr import Expr, Same
from neelc.ir.node import Node, map_children

TOGETHER = (p.Seq, p.And, p.AndNeg)
"""Lists all of whose positive parts belong to the region of the list."""


@dataclass(frozen=True)
class Spot:
    """A part in a region. `hidden` are the variables that an EXISTS around it, in the region, drops."""

    part: p.Pattern
    hidden: frozenset[str] = frozenset()

    def sees(self, conjunct: Expr) -> bool:
        """Whether a condition of the part is one of the region: it names nothing hidden."""
        return not names_in(conjunct) & self.hidden


def spots(part: p.Pattern, hidden: frozenset[str] = frozenset()) -> Iterator[Spot]:
    """`part`, and the parts below it that belong to its region.

    >>> from neelc.rewrite.examples import query
    >>> pattern = query("SEQ(A a, !B b, OR(C c, D d), E? e, EXISTS f : SEQ(F f, G+ g[]))").pattern
    >>> for spot in spots(pattern.parts[4]):
    ...     print(spot.part, *spot.hidden)
    EXISTS f : SEQ(F f, G+ g[])
    SEQ(F f, G+ g[]) f
    F f f
    G+ g[] f
    >>> [str(spot.part) for spot in spots(pattern)][1:3]
    ['A a', 'OR(C c, D d)']
    """
    yield Spot(part, hidden)
    for inner in _members(part):
        dropped = part.variables if isinstance(part, p.Exists) else ()
        yield from spots(inner, hidden.union(dropped))


def _members(part: p.Pattern) -> Iterator[p.Pattern]:
    """The parts directly below `part` that are judged whenever it is."""
    match part:
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts):
            yield from (inner for inner in parts if is_member(inner))
        case p.Exists(_, inner) if is_member(inner):
            yield inner


def is_member(part: p.Pattern) -> bool:
    """Whether a part of a list belongs to the list's region. A condition on an optional part is not judged
    when the part is absent; one in a negation says what must not be."""
    return not isinstance(part, p.Not | p.Optional)


def region_conjuncts(part: p.Pattern) -> Iterator[Expr]:
    """The conditions of the region of `part`, at it and below it, without `[id]`: it speaks of its part."""
    for spot in spots(part):
        for conjunct in conjuncts(spot.part.where):
            if not isinstance(conjunct, Same) and spot.sees(conjunct):
                yield conjunct


Keep = Callable[[Expr, Spot], bool]


def filtered(part: p.Pattern, keep: Keep, hidden: frozenset[str] = frozenset()) -> p.Pattern:
    """`part` with only those conditions in its region that are kept; the same object when all are.

    >>> from neelc.rewrite.examples import query
    >>> pattern = query("SEQ((A a : a.x > 1), !(B b : b.x > 1), C c WHERE c.x > 1)").pattern
    >>> print(filtered(pattern, lambda conjunct, spot: False))
    SEQ(A a, !(B b : b.x > 1), C c)
    """
    members = {id(inner) for inner in _members(part)}
    inside = hidden.union(part.variables if isinstance(part, p.Exists) else ())

    def change(child: Node) -> Node:
        if isinstance(child, p.Pattern) and id(child) in members:
            return filtered(child, keep, inside)
        return child

    changed = map_children(part, change)
    old = conjuncts(part.where)
    kept = tuple(conjunct for conjunct in old if keep(conjunct, Spot(part, hidden)))
    return changed if len(kept) == len(old) else replace(changed, where=conjoin(kept))


def with_condition(part: p.Pattern, *conditions: Expr | None) -> p.Pattern:
    """`part` with these conditions added to its own."""
    return replace(part, where=conjoin([part.where, *conditions]))
