"""What a condition claims when it is TRUE: which value is at most which other, and what is NULL or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.ir import expr as e
from neelc.rewrite.constants import FALSE, TRUE
from neelc.rewrite.truth import OPPOSITE, negated


@dataclass(frozen=True)
class AtMost:
    """`left <= right`, or `left < right` when `strict`; none of them is NULL."""

    left: e.Expr
    right: e.Expr
    strict: bool = False


@dataclass(frozen=True)
class Differ:
    """`left <> right`; none of them is NULL."""

    left: e.Expr
    right: e.Expr


@dataclass(frozen=True)
class Null:
    """The term is NULL."""

    term: e.Expr


@dataclass(frozen=True)
class Present:
    """The term is not NULL."""

    term: e.Expr


@dataclass(frozen=True)
class Either:
    """One of the conditions is TRUE. Of none, nothing can be."""

    conditions: tuple[e.Expr, ...]


Claim = AtMost | Differ | Null | Present | Either


def claims(condition: e.Expr) -> Iterator[Claim]:
    """What follows when a condition is TRUE. What it does not understand it takes as a term that is TRUE.

    >>> from neelc.rewrite.examples import query
    >>> for claim in claims(query("A a WHERE a.n BETWEEN 1 AND 5 AND a.x IS NULL").pattern.where):
    ...     print(type(claim).__name__, *map(str, vars(claim).values()))
    AtMost 1 a.n False
    AtMost a.n 5 False
    Null a.x
    """
    match spelled_out(condition):
        case e.Literal(value):
            yield from () if value is True else (Either(()),)
        case e.Conjunction(operands):
            for operand in operands:
                yield from claims(operand)
        case e.Disjunction(operands):
            yield Either(operands)
        case e.Binary(op, left, right) if op in OPPOSITE:
            yield from _comparison(op, left, right)
        case e.IsNull(operand, inverse):
            yield Present(operand) if inverse else Null(operand)
        case e.Negation(operand):
            yield from _comparison("=", operand, FALSE)
        case e.Like(negated=True) as unlike:
            yield from _comparison("=", replace(unlike, negated=False), FALSE)
        case other:
            yield from _comparison("=", other, TRUE)


def _comparison(op: str, left: e.Expr, right: e.Expr) -> Iterator[Claim]:
    if op == "<>":
        yield Differ(left, right)
    if op in ("=", "<", "<="):
        yield AtMost(left, right, strict=op == "<")
    if op in ("=", ">", ">="):
        yield AtMost(right, left, strict=op == ">")


def spelled_out(condition: e.Expr) -> e.Expr:
    """A condition that is TRUE for the same values, said with comparisons, IS NULL, AND and OR.

    >>> from neelc.rewrite.examples import query
    >>> print(spelled_out(query("A a WHERE a.x NOT BETWEEN a.n AND 5").pattern.where))
    a.x < a.n OR a.x > 5
    >>> print(spelled_out(query("A a WHERE a.x IS DISTINCT FROM a.n").pattern.where))
    a.x <> a.n OR a.x IS NULL AND a.n IS NOT NULL OR a.x IS NOT NULL AND a.n IS NULL
    """
    match condition:
        case e.Between(operand, low, high, inverse):
            inside = e.Conjunction((e.Binary(">=", operand, low), e.Binary("<=", operand, high)))
            return negated(inside) if inverse else inside
        case e.InList(operand, items, inverse):
            tests = tuple(e.Binary("<>" if inverse else "=", operand, item) for item in items)
            return e.Conjunction(tests) if inverse else e.Disjunction(tests)
        case e.Binary("<=>", left, right) | e.IsDistinct(left, right, True):
            both = e.Conjunction((e.IsNull(left), e.IsNull(right)))
            return e.Disjunction((e.Binary("=", left, right), both))
        case e.IsDistinct(left, right):
            one = e.Conjunction((e.IsNull(left), e.IsNull(right, negated=True)))
            other = e.Conjunction((e.IsNull(left, negated=True), e.IsNull(right)))
            return e.Disjunction((e.Binary("<>", left, right), one, other))
        case e.IsTruth(operand, None, inverse):
            return e.IsNull(operand, inverse)
        case e.IsTruth(operand, value, False):
            return operand if value else negated(operand)
        case e.IsTruth(operand, value):
            return e.Disjunction((negated(operand) if value else operand, e.IsNull(operand)))
    return condition
