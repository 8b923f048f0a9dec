"""Attributes that are equal on several events: `[id]`, and chains of `a.id = b.id`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log

from neelc.cost.ledger import term_of
from neelc.cost.truth import without_casts
from neelc.ir.expr import At, Attribute, Binary, Expr, Index, Variable

Term = tuple[str, str]
"""A variable and an attribute of its events."""


def equal_terms(condition: Expr) -> tuple[Term, Term] | None:
    """The two sides of an equality between attributes of different variables, be it of each element.

    >>> from neelc.rewrite.examples import query
    >>> where = query("SEQ(A a, B+ b[]) WHERE b[i].id = a.n").pattern.where
    >>> equal_terms(where)
    (('b', 'id'), ('a', 'n'))
    """
    if not isinstance(condition, Binary) or condition.op != "=":
        return None
    left, right = without_casts(condition.left), without_casts(condition.right)
    if not (isinstance(left, Attribute) and isinstance(right, Attribute)):
        return None
    if not all(_is_one(side) for side in (left, right)):
        return None
    one, two = term_of(left), term_of(right)
    return None if one[0] == two[0] else (one, two)


def _is_one(attribute: Attribute) -> bool:
    match attribute.event:
        case Variable() | At(Variable(), Index("CURRENT", 0)):
            return True
    return False


def classes(equal: Iterable[Iterable[Term]]) -> tuple[frozenset[Term], ...]:
    """What is equal to each other, directly or through others.

    >>> a, b, c, d = ((name, "id") for name in "abcd")
    >>> [sorted(v for v, _ in one) for one in classes([(a, b), (c, d), (b, c)])]
    [['a', 'b', 'c', 'd']]
    """
    found: list[frozenset[Term]] = []
    for terms in equal:
        new = frozenset(terms)
        found = [*(one for one in found if not one & new), new.union(*(one for one in found if one & new))]
    return tuple(found)


@dataclass(frozen=True)
class Spread:
    """How many values an attribute has, and the share of the commonest; the others are equally common."""

    values: float
    most_frequent: float = 0.0

    def agreement(self, others: int) -> float:
        """How often another event has the value that `others` events have in common, given that they agree.

        The chance that m events agree is the sum of p^m over all values of shares p, so it is the quotient of
        two such sums. Skew makes agreement likelier the more events have agreed before.

        >>> round(Spread(100.0).agreement(1), 9), Spread(1.0).agreement(3)
        (0.01, 1.0)
        >>> round(Spread(11.0, 0.5).agreement(1), 3), round(Spread(11.0, 0.5).agreement(5), 3)
        (0.275, 0.5)
        """
        if self.values <= 1 or self.most_frequent >= 1:
            return 1.0
        share = max(self.most_frequent, 1 / self.values)
        rest = (1 - share) / (self.values - 1)
        # Both sums divided by share^others, so that neither vanishes.
        weight = exp(log(self.values - 1) + others * log(rest / share)) if rest > 0 else 0.0
        return (share + rest * weight) / (1 + weight)
