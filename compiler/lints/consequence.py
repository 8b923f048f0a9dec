"""What it means for a query that a part of it has no match."""

from __future__ import annotations

from itertools import pairwise

from neelc.ir import pattern as p
from neelc.ir.parts import inner_parts
from neelc.lints.lint import Asked


def consequence(part: p.Pattern, asked: Asked) -> str:
    """What becomes of a query, if nothing satisfies one of its parts.

    >>> from neelc.lints.examples import asked
    >>> query = asked("SEQ(A a, EXISTS b : B b, OR(C c, D d), !SEQ(E e, F f), G? g) WITHIN 9")
    >>> _, b, c, e, g = query.match.pattern.parts
    >>> consequence(query.match.pattern, query), consequence(b.part, query)
    ('the query finds nothing', 'the query finds nothing')
    >>> consequence(c.parts[1], query), consequence(e.part, query), consequence(g, query)
    ('this branch finds nothing', 'the negative part excludes nothing', 'this part is always absent')
    """
    way = _way(asked.match.pattern, part)
    for outer, inner in reversed(list(pairwise(way))):
        match outer:
            case p.Not():
                return "the negative part excludes nothing"
            case p.Or():
                return "this branch finds nothing"
            case p.Optional() | p.Repeat(least=0):
                return "this part is always absent"
        if isinstance(inner, p.Optional) or (isinstance(inner, p.Repeat) and inner.least == 0):
            return "this part is always absent"
    return "the query finds nothing"


def _way(whole: p.Pattern, part: p.Pattern) -> list[p.Pattern]:
    """The parts from the whole pattern down to one of its parts."""
    if whole is part:
        return [whole]
    for inner in inner_parts(whole):
        if found := _way(inner, part):
            return [whole, *found]
    return []
