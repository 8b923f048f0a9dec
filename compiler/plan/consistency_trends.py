"""What becomes of a value, and of a condition, when the list it is computed from loses elements.

L is a list, L' a part of it. A condition about element i is judged for one event of both; all other
conditions for L and L' as they are. Truth has three values, and NULL and NaN are values like others here:
NaN is the greatest number. A `Claim` is what has to be known for a statement to hold for all L and L'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from neelc.ir import expr as e
from neelc.ir.node import walk
from neelc.ir.typeof import type_of
from neelc.ir.types import BIGINT, DOUBLE, DataType, Decimal
from neelc.plan.consistency_known import Known
from neelc.plan.consistency_shape import is_current
from neelc.plan.consistency_values import INTEGERS, keeps_order, number, over_list, sign, uncast

Claim = frozenset[e.Expr] | None
"""What must not be NULL for any element; None if the statement cannot be made at all."""
SURE: frozenset[e.Expr] = frozenset()

LEAST = ("min", "bool_and", "every")
GREATEST = ("max", "bool_or", "any", "some")
COUNTS = ("count", "count_if")


def together(claims: Iterable[Claim]) -> Claim:
    """All of these statements."""
    found = SURE
    for claim in claims:
        if claim is None:
            return None
        found |= claim
    return found


def only_if(is_so: bool, claim: Claim = SURE) -> Claim:
    return claim if is_so else None


@dataclass(frozen=True)
class Trend:
    """A value of L' against that of L, where neither is NULL: never less (`rises`), never greater (`falls`).

    `stays_null`: NULL for L is NULL for L'. `stays_known`: what is not NULL for L is not NULL for L'.
    """

    rises: bool
    falls: bool
    stays_null: bool
    stays_known: Claim


FIXED = Trend(True, True, True, SURE)
ANY = Trend(False, False, False, None)


@dataclass(frozen=True)
class Truths:
    """Of a condition: TRUE for L is TRUE for L'; the same of FALSE, of not TRUE and of not FALSE."""

    true: Claim
    false: Claim
    not_true: Claim
    not_false: Claim


def truths(condition: e.Expr, known: Known) -> Truths:
    """What stays of a condition's truth."""
    match condition:
        case e.Same():  # equal values, none NULL: so are fewer of them
            return Truths(SURE, None, None, None)
        case e.Conjunction(operands) | e.Disjunction(operands):
            return _all([truths(operand, known) for operand in operands])
        case e.Negation(operand):
            return _opposite(truths(operand, known))
        case e.IsTruth(operand, value, negated):
            found = _is_truth(truths(operand, known), value)
            return _opposite(found) if negated else found
        case e.IsNull(operand, negated):
            trend = value_trend(operand, known)
            found = _two_valued(only_if(trend.stays_null), trend.stays_known)
            return _opposite(found) if negated else found
        case e.Between(operand, low, high, negated):
            middle = value_trend(operand, known)
            above = _compared(">=", middle, value_trend(low, known))
            inside = _all([above, _compared("<=", middle, value_trend(high, known))])
            return _opposite(inside) if negated else inside
        case e.Binary(op, left, right) if op in e.COMPARISONS:
            return _compared(op, value_trend(left, known), value_trend(right, known))
    return _compared(">=", value_trend(condition, known), FIXED)  # FALSE < TRUE


def _all(parts: list[Truths]) -> Truths:
    """AND and OR alike: what stays of each operand stays of the whole, since both are monotone in TRUE, in
    FALSE and in what is neither."""
    return Truths(
        together(part.true for part in parts),
        together(part.false for part in parts),
        together(part.not_true for part in parts),
        together(part.not_false for part in parts),
    )


def _opposite(found: Truths) -> Truths:
    return Truths(found.false, found.true, found.not_false, found.not_true)


def _two_valued(true: Claim, false: Claim) -> Truths:
    return Truths(true, false, false, true)


def _is_truth(found: Truths, value: bool | None) -> Truths:
    match value:
        case True:
            return _two_valued(found.true, found.not_true)
        case False:
            return _two_valued(found.false, found.not_false)
    return _two_valued(together((found.not_true, found.not_false)), together((found.true, found.false)))


def _compared(op: str, left: Trend, right: Trend) -> Truths:
    """`left > right` stays TRUE if left never falls and right never rises and neither becomes NULL; it
    stays not TRUE if left never rises and right never falls and NULL remains NULL. The rest is alike."""
    up, down = left.rises and right.falls, left.falls and right.rises
    if op in ("<", "<="):
        up, down = down, up
    elif op not in (">", ">="):
        up = down = up and down
    nulls = only_if(left.stays_null and right.stays_null)
    known = together((left.stays_known, right.stays_known))
    if op == "<=>":
        nulls = known = together((nulls, known))
    return Truths(only_if(up, known), only_if(down, known), only_if(down, nulls), only_if(up, nulls))


def value_trend(expression: e.Expr, known: Known) -> Trend:
    """How a value changes."""
    if is_fixed(expression):
        return FIXED
    match expression:
        case e.Aggregate():
            return _aggregate_trend(expression, known)
        case e.Cast(operand, type) if keeps_order(type_of(operand), type):
            return value_trend(operand, known)
        case e.Binary(op, left, right):
            operand, constant = (right, left) if op in "+*" and number(right) is None else (left, right)
            return value_trend(operand, known) if _keeps_order(op, operand, constant) else ANY
    return ANY


def is_fixed(expression: e.Expr) -> bool:
    """Whether a value does not depend on the list: it speaks of `b[i]` and of single variables only."""
    return not any(
        isinstance(node, e.Aggregate | e.Each | e.Same | e.MatchProperty)
        or (isinstance(node, e.At) and not is_current(node))
        for node in walk(expression)
    )


def _keeps_order(op: str, operand: e.Expr, constant: e.Expr) -> bool:
    """Whether arithmetic with a constant keeps the order and never fails. Integers may overflow, to NULL;
    counts are far from that. Negative factors are out: NaN, the greatest number, would remain it."""
    by = number(constant)
    if by is None:
        return False
    if type_of(operand) == DOUBLE == type_of(constant):
        return op in ("+", "-") or (op in ("*", "/") and by > 0 and float(by) > 0)
    match uncast(operand):
        case e.Aggregate(name):
            is_count = name in COUNTS and type_of(operand) == BIGINT
            return is_count and op in ("+", "-") and -(2**31) < by < 2**31
    return False


def _aggregate_trend(node: e.Aggregate, known: Known) -> Trend:
    """A part of the list has less of everything: its greatest value is not greater, its least not less.
    An aggregate is NULL where no value is; so it stays NULL, and may become NULL."""
    each = _one_list(node)
    if node.argument is None or each is None:
        return ANY
    if node.name in COUNTS:
        return Trend(False, True, True, SURE)
    solid = _solid(node.argument, each, known)
    if node.name in LEAST:
        return Trend(True, False, True, solid)
    if node.name in GREATEST:
        return Trend(False, True, True, solid)
    direction = sign(node.argument, known.positive)
    # Of DOUBLEs too: added from left to right, as the reference does, fewer summands that are not negative
    # give no greater sum, since rounding keeps the order. Of distinct ones the order may change.
    if node.name != "sum" or direction is None or (node.distinct and node.type == DOUBLE):
        return ANY
    return Trend(direction < 0, direction > 0, _never_overflows(node.argument, node.type), solid)


def _one_list(node: e.Aggregate) -> e.Each | None:
    """The list an aggregate ranges over, if a part of it is what the aggregate of a part ranges over.

    That is so for `b[]`, and for `b[..i-k]` and `b[..last-k]`: what has k elements after it in L' has k
    after it in L. It is not for `b[..2]`: another element moves up.
    """
    ranges = [inner for inner in walk(node) if isinstance(inner, e.Each)]
    others = (inner for inner in walk(node) if isinstance(inner, e.Aggregate | e.At) and inner is not node)
    if len(set(ranges)) != 1 or not all(is_current(other) for other in others):
        return None
    each = ranges[0]
    grows = each.upper is None or each.upper.anchor in ("CURRENT", "LAST")
    return each if grows and isinstance(each.base, e.Variable) else None


def _solid(argument: e.Expr, each: e.Each, known: Known) -> Claim:
    """What must not be NULL so that the aggregate is not: for each element the argument, unless it is known
    to be none; and there must be an element. `b[..i-k]` has one where k elements are before."""
    assert isinstance(each.base, e.Variable)
    is_running = each.upper is not None and each.upper.anchor == "CURRENT"
    is_whole = each.upper is None or each.upper == e.Index("LAST")
    if not is_running and not (is_whole and each.base.name in known.filled):
        return None
    match uncast(argument):
        case e.EventTime(e.Each()) | e.Whole(e.Each()):
            return SURE
        case e.Literal(value) if value is not None:
            return SURE
        case bare:
            found = over_list(bare)
            return SURE if found in known.solid else frozenset([found])


def _never_overflows(argument: e.Expr, type: DataType) -> bool:
    """Whether no sum of fewer than 2^32 values becomes NULL."""
    if type == DOUBLE:
        return True
    match type_of(uncast(argument), True), type:
        case Decimal(precision, scale), Decimal(wide, finer):
            return wide - finer >= precision - scale + 10
        case narrow, _:
            return type == BIGINT and narrow in INTEGERS and narrow != BIGINT
