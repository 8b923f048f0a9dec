"""The rule `flatten_conjunction`."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from neelc.ir.expressions import conjoin, has_same
from neelc.ir.patterns import And, Pattern
from neelc.pattern.analysis.regions import QueryFacts


def flatten_conjunction(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """An AND directly inside an AND requires nothing more: splice it in.

    Each part of an AND is looked for in the AND's own scope, negative ones too, and the scope of the inner
    AND is that of the outer one. A condition on the inner AND moves to the outer one: both are evaluated on
    the same match.

    >>> from pattern_examples import after
    >>> print(after(flatten_conjunction, "AND(A a, AND(B b, !C c, D d WHERE b.x = a.x)) WITHIN 9"))
    AND(A a, B b, !C c, D d WHERE b.x = a.x)

    Not when the inner AND has a window or an `[id]`: they are about its own events only, and the window also
    cuts the scope of its negations. Nor inside AND_NEG, where a negation looks between its neighbours.

    >>> after(flatten_conjunction, "AND(A a, AND(B b, C c) WITHIN 5)")
    >>> after(flatten_conjunction, "AND(A a, AND(B b, C c WHERE [id]))")
    >>> after(flatten_conjunction, "AND_NEG(AND(A a, B b), !N n, C c)")
    """
    if not isinstance(part, And) or not any(map(_is_plain, part.parts)):
        return None
    spliced = tuple(new for old in part.parts for new in (old.parts if _is_plain(old) else (old,)))
    moved = [old.where for old in part.parts if _is_plain(old)]
    return replace(part, parts=spliced, where=conjoin([part.where, *moved]))


def _is_plain(part: Pattern) -> TypeGuard[And]:
    return isinstance(part, And) and part.within is None and not has_same(part.where)
