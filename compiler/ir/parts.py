"""What a part of a pattern binds and needs: questions that every stage asks."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import pattern as p
from neelc.ir.node import children, remembered, walk

Listing = p.Seq | p.And | p.AndNeg | p.Or
LISTS = (p.Seq, p.And, p.AndNeg, p.Or)
"""The operators over a list of parts."""


def inner_parts(part: p.Pattern) -> Iterator[p.Pattern]:
    """The parts directly below `part`, conditions and windows left aside."""
    for child in children(part):
        if isinstance(child, p.Pattern):
            yield child


def all_parts(part: p.Pattern) -> Iterator[p.Pattern]:
    """`part` and every part below it."""
    for node in walk(part):
        if isinstance(node, p.Pattern):
            yield node


@remembered
def targets(part: p.Pattern) -> tuple[str, ...]:
    """The variables a part binds, in order, each once. Those inside a closure are the closure's own.

    >>> from neelc.parse import pattern
    >>> targets(pattern("SEQ(A a, !B b, C+ c[], EXISTS d : SEQ(D d, E e))"))
    ('a', 'c', 'e')
    """
    return tuple(dict.fromkeys(_targets(part)))


def _targets(part: p.Pattern) -> Iterator[str]:
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable):
            yield variable or ""
        case p.Not():
            return
        case p.Exists(variables, inner):
            yield from (name for name in _targets(inner) if name not in variables)
        case _:
            for inner in inner_parts(part):
                yield from _targets(inner)


def declared(part: p.Pattern) -> frozenset[str]:
    """Every name declared in a part: in negative parts, under EXISTS and in closures too.

    >>> from neelc.parse import pattern
    >>> sorted(declared(pattern("SEQ(A a, !B b, SEQ(C c, D d)+ k[])")))
    ['a', 'b', 'c', 'd', 'k']
    """
    found = (node.variable for node in all_parts(part) if isinstance(node, p.Event | p.Repeat))
    return frozenset(name for name in found if name)


def may_be_empty(part: p.Pattern) -> bool:
    """Whether a part can be satisfied without binding an event: then it takes no room in a SEQ.

    >>> from neelc.parse import pattern
    >>> [may_be_empty(pattern(text)) for text in ("A? a", "A* a[]", "SEQ(A? a, B b)", "OR(A a, B? b)")]
    [True, True, False, True]
    >>> may_be_empty(pattern("EXISTS a : SEQ(!B b, A a)"))
    True
    """
    match part:
        case p.Event():
            return False
        case p.Optional() | p.Not():
            return True
        case p.Repeat(least=least):
            return least == 0  # each iteration binds an event
        case p.Exists(variables, inner):
            return may_be_empty(_without(inner, frozenset(variables)))
        case p.Or(parts):
            return any(map(may_be_empty, parts))
    return all(map(may_be_empty, inner_parts(part)))


def _without(part: p.Pattern, dropped: frozenset[str]) -> p.Pattern:
    """`part` with the components of these variables made optional: what EXISTS drops takes no room."""
    from neelc.ir.node import transform

    def change(node: object) -> p.Pattern | None:
        if isinstance(node, p.Event | p.Repeat) and node.variable in dropped:
            return p.Optional(node)
        return None

    changed = transform(part, change)
    assert isinstance(changed, p.Pattern)
    return changed


def satisfiable_by_nothing(part: p.Pattern) -> bool:
    """Whether a part can be satisfied by no events at all, those that EXISTS drops included.

    >>> from neelc.parse import pattern
    >>> satisfiable_by_nothing(pattern("A? a")), satisfiable_by_nothing(pattern("EXISTS a : A a"))
    (True, False)
    """
    match part:
        case p.Exists(_, inner):
            return satisfiable_by_nothing(inner)
        case p.Or(parts):
            return any(map(satisfiable_by_nothing, parts))
        case p.Seq() | p.And() | p.AndNeg():
            return all(map(satisfiable_by_nothing, inner_parts(part)))
    return may_be_empty(part)
