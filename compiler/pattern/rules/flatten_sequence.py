"""The rule `flatten_sequence`."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from neelc.ir.expressions import conjoin, has_same
from neelc.ir.patterns import Pattern, Seq
from neelc.pattern.analysis.regions import QueryFacts


def flatten_sequence(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """A SEQ directly inside a SEQ adds no order of its own: splice it in (NEEL, table II).

    The scope of a part runs from the end of the positive part before it to the start of the one after it. At
    the ends of the inner SEQ these are the neighbours of the inner SEQ itself, so every part, negative ones
    too, keeps its scope. A condition on the inner SEQ moves to the outer one: both are evaluated on the
    same match.

    >>> from pattern_examples import after
    >>> print(after(flatten_sequence, "SEQ(E1, SEQ(E5, !E6, E7))"))
    SEQ(E1 E1, E5 E5, !E6 E6, E7 E7)
    >>> print(after(flatten_sequence, "SEQ(A a, SEQ(B b, C c WHERE b.x = a.x))"))
    SEQ(A a, B b, C c WHERE b.x = a.x)

    Not when the inner SEQ has a window, which holds for its own events only; nor an `[id]`, which does too;
    nor under a repetition: (B C){2} is not B{2} C{2}.

    >>> after(flatten_sequence, "SEQ(A a, SEQ(B b, C c) WITHIN 5)")
    >>> after(flatten_sequence, "SEQ(A a, SEQ(B b, C c WHERE [id]))")
    >>> after(flatten_sequence, "SEQ(A a, SEQ(B b, C c){2} k[])")
    """
    if not isinstance(part, Seq) or not any(map(_is_plain, part.parts)):
        return None
    spliced = tuple(new for old in part.parts for new in (old.parts if _is_plain(old) else (old,)))
    moved = [old.where for old in part.parts if _is_plain(old)]
    return replace(part, parts=spliced, where=conjoin([part.where, *moved]))


def _is_plain(part: Pattern) -> TypeGuard[Seq]:
    return isinstance(part, Seq) and part.within is None and not has_same(part.where)
