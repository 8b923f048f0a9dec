"""Equalities between values of events: `a.x = b.y`, and what follows from several of them.

A term is an expression that speaks of one variable and has one value in a match: `a.x`, `CAST(a.n AS
BIGINT)`, `b[1].x`; or a constant. Where `s = t` and `t = u` are both TRUE, so is `s = u`: none of the
three is NULL, both comparisons are made in the same type (casts are part of a term), and Spark's order on
the values of a type is total, with NaN equal to itself and -0.0 equal to 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Binary, Expr
from neelc.rewrite.judging import range_of


@dataclass(frozen=True)
class Equality:
    """`left = right`, both of them terms."""

    left: Expr
    right: Expr

    @property
    def sides(self) -> tuple[Expr, Expr]:
        return self.left, self.right

    def condition(self) -> Expr:
        return Binary("=", self.left, self.right)


def equality(conjunct: Expr) -> Equality | None:
    """The equality that a condition is, if it is one.

    >>> from neelc.rewrite.examples import query
    >>> def read(text):
    ...     return equality(query(text).pattern.where)
    >>> [str(side) for side in read("SEQ(A a, B b) WHERE a.x + 1 = b.n").sides]
    ['a.x + 1', 'b.n']

    Not one between sums over several variables, nor one that is said of each element of a list: if the
    list is empty it says nothing.

    >>> read("SEQ(A a, B b) WHERE a.x + b.x = 1"), read("SEQ(A a, B* b[]) WHERE a.x = b[i].x")
    (None, None)
    """
    match conjunct:
        case Binary("=", left, right) if left != right:
            single = len(names_in(left)) <= 1 and len(names_in(right)) <= 1 and names_in(conjunct)
            return Equality(left, right) if single and range_of(conjunct)[0] is None else None
    return None


def equalities(conditions: Iterable[Expr]) -> Iterator[Equality]:
    """Those of the conditions that are equalities."""
    for condition in conditions:
        if (found := equality(condition)) is not None:
            yield found


def classes(known: Iterable[Equality]) -> tuple[tuple[Expr, ...], ...]:
    """The terms that equalities make equal, class by class, in the order they are first named.

    >>> from neelc.ir.conjuncts import conjuncts
    >>> from neelc.rewrite.examples import query
    >>> where = query("SEQ(A a, B b, C c) WHERE a.x = b.x AND a.id = 5 AND c.x = b.x").pattern.where
    >>> for terms in classes(equalities(conjuncts(where))):
    ...     print(*terms)
    a.x b.x c.x
    a.id 5
    """
    groups: dict[Expr, dict[Expr, None]] = {}
    number: dict[Expr, int] = {}
    for equal in known:
        for side in equal.sides:
            number.setdefault(side, len(number))
        sides = [groups.setdefault(side, {side: None}) for side in equal.sides]
        first, second = sorted(sides, key=lambda group: number[next(iter(group))])
        if first is not second:
            first.update(second)
            groups.update(dict.fromkeys(second, first))
    found = {id(group): group for group in groups.values()}
    return tuple(tuple(group) for group in found.values())
