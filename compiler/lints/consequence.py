"""What it means for a query that a part of it has no match."""

from __future__ import annotations

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
    >>> twice = asked("SEQ(A a, !!(B b : b.x > 1), C c)")
    >>> consequence(twice.match.pattern.parts[1].part.part, twice)
    'the query finds nothing'
    """
    way = _way(asked.match.pattern, part)
    while way:
        match way:
            case [*around, p.Not(), p.Not()]:  # `!!q` asks for q
                way = around
                continue
            case [*_, p.Not()]:
                return "the negative part excludes nothing"
            case [*_, p.Or(), _]:
                return "this branch finds nothing"
            case [*_, p.Optional() | p.Repeat(least=0)]:
                return "this part is always absent"
        way = way[:-1]
    return "the query finds nothing"


def _way(whole: p.Pattern, part: p.Pattern) -> list[p.Pattern]:
    """The parts from the whole pattern down to one of its parts."""
    if whole is part:
        return [whole]
    for inner in inner_parts(whole):
        if found := _way(inner, part):
            return [whole, *found]
    return []
