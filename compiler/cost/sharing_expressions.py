"""The expressions of a query that may share work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.cost.sharing_expression import Expression
from neelc.cost.sharing_sequence import sequence, whole
from neelc.cost.sharing_surroundings import Around
from neelc.ir import pattern as p
from neelc.ir.logical import Match
from neelc.ir.parts import inner_parts


def expressions(query: Match, number: int = 0, first: int = 1) -> tuple[Expression, ...]:
    """The expressions of a query, named E1, E2 ... from `first` on; `number` is the query's own.

    Of a disjunction, its branches (NEEL, definition 5):

    >>> from neelc.rewrite.examples import query
    >>> for found in expressions(query("OR(SEQ(A a, !B b, C c), EXISTS d : SEQ(A e, !B f, D d, C g))")):
    ...     print(found.name, found.positive, [column.text for column in found.columns])
    E1 SEQ(A, C) ['!B']
    E2 SEQ(A, C) ['(!B, D)']

    Of a conjunction and of a nested AND/SEQ expression, the SEQs in the AND (definitions 6 and 7), without
    what lies before and after them, which only the whole AND can judge:

    >>> for found in expressions(query("AND(SEQ(A a, B b, !C c), SEQ(D d, E e), F f) WITHIN 9")):
    ...     print(found.name, found.slice(0, 2))
    E1 SEQ(A, B)
    E2 SEQ(D, E)

    Conditions count, wherever they were written; the names of variables do not:

    >>> one, two = expressions(query("OR(SEQ((A a : a.x > b.x), B b), SEQ(A c, B d WHERE c.x > d.x))"))
    >>> one.positive == two.positive
    True

    A condition over the whole OR is judged in every branch, with NULL for the variables of the others:

    >>> one, two = expressions(query("OR(SEQ(A a, B b), SEQ(A c, B d)) WHERE a.x > b.x"))
    >>> one.positive == two.positive
    False

    What cannot be taken apart is an expression of one component:

    >>> (found,) = expressions(query("SEQ(A a, B? b, C c)"))
    >>> print(found.positive)
    SEQ(SEQ(A a, B? b, C c))
    """
    windows = (query.within,) if query.within else ()
    found = _found(query.pattern, Around(query, windows=windows))
    return tuple(
        replace(one, name=f"E{place}", number=number) for place, one in enumerate(found, start=first)
    )


def _found(part: p.Pattern, around: Around) -> Iterator[Expression]:
    match part:
        case p.Or(branches):
            for branch in branches:
                yield from _found(branch, around.inside(part))
        case p.And() | p.AndNeg():
            yield from _leaves(part, around)
        case _:
            found = sequence(part, around)
            if found is None and not around.leaf:
                found = whole(part, around)
            if found is not None and len(found.components) + (not around.leaf) > 1:
                yield found
            if isinstance(part, p.Seq):
                for inner in part.parts:
                    if isinstance(inner, p.And | p.AndNeg):
                        yield from _leaves(inner, around.inside(part))


def _leaves(part: p.Pattern, around: Around) -> Iterator[Expression]:
    """The SEQs in an AND: "the bottommost event expressions" (NEEL, IV)."""
    for inner in inner_parts(part):
        if not isinstance(inner, p.Not | p.Event):
            yield from _found(inner, replace(around.inside(part), leaf=True))
