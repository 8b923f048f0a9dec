"""The algebra of conditions, in three-valued logic.

`simpler` keeps the value of an expression, UNKNOWN included. `as_condition` keeps only for which events it
is TRUE, which is all that a condition is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from neelc.ir import expressions as e
from neelc.ir.node import Node, transform
from neelc.scalar.evaluate_constants import FALSE, TRUE, UNKNOWN

Junction = e.Conjunction | e.Disjunction
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def simpler(expression: e.Expr) -> e.Expr:
    """An expression that always has the same value, with NOT before nothing that can be turned around.

    >>> from pattern_examples import query
    >>> def shown(text): return str(simpler(query(f"A a WHERE {text}").pattern.where))
    >>> shown("NOT (a.x > 1 OR a.n IS NULL AND TRUE)"), shown("a.n IN (7)"), shown("a.x <=> a.x")
    ('a.x <= 1 AND a.n IS NOT NULL', 'a.n = 7', 'TRUE')

    `a.x OR NOT a.x` is not TRUE: it may be UNKNOWN.

    >>> shown("a.n > 1 OR NOT a.n > 1")
    'a.n > 1 OR a.n <= 1'
    """
    changed = transform(expression, _law)
    assert isinstance(changed, e.Expr)
    return changed


def _law(node: Node) -> e.Expr | None:
    match node:
        case e.Negation(operand):
            return negated(operand)
        case e.Conjunction() | e.Disjunction():
            return _joined(node)
        case e.Binary("<=>", left, right) if left == right:
            return TRUE
        case e.IsDistinct(left, right, inverse) if left == right:
            return TRUE if inverse else FALSE
        case e.Binary(op, left, right) if op in OPPOSITE and (_is_null(left) or _is_null(right)):
            return UNKNOWN
        case e.InList(operand, items, inverse):
            different = tuple(dict.fromkeys(items))
            if len(different) == 1:
                comparison = e.Binary("<>" if inverse else "=", operand, different[0], span=node.span)
                return _law(comparison) or comparison
            return node if different == items else replace(node, items=different)
    return None


def _is_null(expression: e.Expr) -> bool:
    return isinstance(expression, e.Literal) and expression.value is None


def _joined(node: Junction) -> e.Expr:
    """AND or OR without what adds nothing: the same again, TRUE in an AND, FALSE in an OR."""
    kind = type(node)
    neutral, decisive = (TRUE, FALSE) if kind is e.Conjunction else (FALSE, TRUE)
    nested = (operand.operands if isinstance(operand, kind) else (operand,) for operand in node.operands)
    flat = chain.from_iterable(nested)
    kept = tuple(dict.fromkeys(operand for operand in flat if operand != neutral))
    if decisive in kept:
        return decisive
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return node if kept == node.operands else replace(node, operands=kept)


def negated(condition: e.Expr) -> e.Expr:
    """`NOT condition`, with the same value.

    Values of one type are in order, NaN last, so what is not less is greater or equal, or UNKNOWN.

    >>> from pattern_examples import query
    >>> print(negated(query("A a WHERE a.x > 1 AND a.user NOT LIKE 'x%'").pattern.where))
    a.x <= 1 OR a.user LIKE 'x%'
    """
    match condition:
        case e.Literal(value):
            return UNKNOWN if value is None else FALSE if value else TRUE
        case e.Negation(operand):
            return operand
        case e.Binary(op) if op in OPPOSITE:
            return replace(condition, op=OPPOSITE[op])
        case e.Binary("<=>", left, right):
            return e.IsDistinct(left, right, span=condition.span)
        case e.Between() | e.InList() | e.Like() | e.IsNull() | e.IsTruth() | e.IsDistinct():
            return replace(condition, negated=not condition.negated)
        case e.Conjunction(operands):
            return _joined(e.Disjunction(tuple(map(negated, operands)), span=condition.span))
        case e.Disjunction(operands):
            return _joined(e.Conjunction(tuple(map(negated, operands)), span=condition.span))
    return e.Negation(condition, span=condition.span)


def as_condition(expression: e.Expr) -> e.Expr:
    """A condition that is TRUE for the same events; what is UNKNOWN may have become FALSE.

    Only AND and OR pass this on to their operands: NOT makes TRUE of FALSE, and not of UNKNOWN.

    >>> from pattern_examples import query
    >>> def shown(text): return str(as_condition(query(f"A a WHERE {text}").pattern.where))
    >>> shown("a.x = a.x OR a.x < a.x OR CAST(NULL AS BOOLEAN)"), shown("NOT a.x < a.x")
    ('a.x IS NOT NULL OR CAST(NULL AS BOOLEAN)', 'NOT a.x < a.x')
    """
    match expression:
        case e.Literal(None):
            return FALSE
        case e.Conjunction(operands) | e.Disjunction(operands):
            changed = tuple(map(as_condition, operands))
            same = all(old is new for old, new in zip(operands, changed, strict=True))
            return expression if same else _joined(replace(expression, operands=changed))
        case e.Binary("=" | "<=" | ">=", left, right) if left == right:
            return e.IsNull(left, negated=True, span=expression.span)
        case e.Binary("<>" | "<" | ">", left, right) if left == right:
            return FALSE
        case e.IsTruth(operand, True, False):
            return as_condition(operand)
        case e.InList(_, items, inverse) if any(map(_is_null, items)):
            known = tuple(item for item in items if not _is_null(item))
            return FALSE if inverse or not known else simpler(replace(expression, items=known))
    return expression


# What a condition claims when it is TRUE: which value is at most which other, and what is NULL or not.


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
class NotNull:
    """The term is not NULL."""

    term: e.Expr


@dataclass(frozen=True)
class Either:
    """One of the conditions is TRUE. Of none, nothing can be."""

    conditions: tuple[e.Expr, ...]


Claim = AtMost | Differ | Null | NotNull | Either


def claims(condition: e.Expr) -> Iterator[Claim]:
    """What follows when a condition is TRUE. What it does not understand it takes as a term that is TRUE.

    >>> from pattern_examples import query
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
            yield NotNull(operand) if inverse else Null(operand)
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

    >>> from pattern_examples import query
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
