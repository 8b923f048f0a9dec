"""Parts that only ask whether something is there: what they keep, and the marks of the latest candidate."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjoin, conjuncts, names_in
from neelc.ir.expr import Expr
from neelc.ir.parts import targets
from neelc.rewrite.names import renamed


def is_filter(part: p.Pattern) -> bool:
    """Whether a part binds nothing: a negation, or an EXISTS that drops all its variables.

    >>> from neelc.rewrite.examples import query
    >>> pattern = query("SEQ(A a, !B b, EXISTS c : SEQ(C c, D d), EXISTS e : E e)").pattern
    >>> [is_filter(inner) for inner in pattern.parts]
    [False, True, False, True]
    """
    return isinstance(part, p.Not) or (isinstance(part, p.Exists) and not targets(part))


def is_latest(part: p.Pattern, after: p.Pattern) -> bool:
    """Whether `after` says that `part` is the latest of its kind: `C c, !C c_2`.

    >>> from neelc.rewrite.examples import query
    >>> one, two, three = query("SEQ((C c : c.x > 1), !(C d : d.x > 1), B b) WITHIN 5").pattern.parts
    >>> is_latest(one, two), is_latest(two, three)
    (True, False)
    """
    if not isinstance(part, p.Event) or not isinstance(after, p.Not) or not isinstance(after.part, p.Event):
        return False
    names = {after.part.variable or "": part.variable or ""}
    return part.type == after.part.type and renamed(after.part, names) == part


def constrained(part: p.Pattern, where: Expr | None) -> p.Pattern:
    """`part` with one more condition."""
    return part if where is None else replace(part, where=conjoin([where, part.where]))


def without(part: p.Pattern, dropped: frozenset[str]) -> p.Pattern | None:
    """What is left of a part when some variables are dropped, with all that is said about them; None when
    nothing is. Negations are about the dropped events as well, so they go too, and so does what an EXISTS
    inside drops.

    >>> from neelc.rewrite.examples import query
    >>> pattern = query("SEQ(A a, !N n, B b, OR(C c, D d) WHERE a.x < b.x AND a.x < 3)").pattern
    >>> print(without(pattern, frozenset({"b", "c"})))
    SEQ(A a, OR(D d) WHERE a.x < 3)
    """
    where = conjoin(c for c in conjuncts(part.where) if not names_in(c) & dropped)
    match part:
        case p.Event(variable=name) | p.Repeat(variable=name):
            return None if name in dropped else replace(part, where=where)
        case p.Not():
            return None
        case p.Optional(inner):
            left = without(inner, dropped)
            return None if left is None else replace(part, part=left, where=where)
        case p.Exists(variables, inner):
            left = without(inner, dropped.union(variables))
            return None if left is None else constrained(left, where)
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts) | p.Or(parts):
            found = [without(inner, dropped) for inner in parts]
            kept = tuple(inner for inner in found if inner is not None)
            return replace(part, parts=kept, where=where) if kept else None
    raise AssertionError(type(part).__name__)
