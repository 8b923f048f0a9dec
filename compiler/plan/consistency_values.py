"""Small facts about values: constants, signs, and casts that keep the order."""

from __future__ import annotations

import decimal
import math
from collections.abc import Collection

from neelc.ir import expr as e
from neelc.ir.node import Node, transform
from neelc.ir.typeof import type_of
from neelc.ir.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, DataType, Decimal
from neelc.plan.consistency_shape import is_current

DIGITS: dict[DataType, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 19}
"""Integers, from the narrowest, and the digits they need as decimals."""
INTEGERS: tuple[DataType, ...] = tuple(DIGITS)
NEVER_NEGATIVE = ("abs", "char_length", "length")


def number(expression: e.Expr) -> int | float | decimal.Decimal | None:
    """The value of a number that is written as one; None for everything else, and for NaN and infinities.

    >>> number(e.Cast(e.Literal(3, INT), DOUBLE)), number(e.Unary("-", e.Literal(3, INT)))
    (3, -3)
    """
    match expression:
        case e.Cast(operand, type) if keeps_order(type_of(operand), type):
            return number(operand)
        case e.Unary("-", e.Literal() as literal):
            value = number(literal)
            return None if value is None else -value
        case e.Literal(bool()):
            return None
        case e.Literal(int() | float() | decimal.Decimal() as value) if math.isfinite(value):
            return value
    return None


def keeps_order(source: DataType, target: DataType) -> bool:
    """Whether a cast never fails and never turns an order around; it may make two values equal.

    >>> keeps_order(INT, DOUBLE), keeps_order(BIGINT, INT), keeps_order(INT, Decimal(10, 0))
    (True, False, True)
    """
    if source == target:
        return True
    match source, target:
        case Decimal(precision, scale), Decimal(wide, finer):
            return finer >= scale and wide - finer >= precision - scale
        case _, Decimal(wide, finer) if source in INTEGERS:
            return wide - finer >= DIGITS[source]
        case Decimal(), _:
            return target == DOUBLE
    if source in INTEGERS and target in INTEGERS:
        return INTEGERS.index(source) < INTEGERS.index(target)
    return target == DOUBLE and (source in INTEGERS or source == FLOAT)


def uncast(expression: e.Expr) -> e.Expr:
    """The expression without casts that keep the order; NULL exactly where it was NULL before."""
    match expression:
        case e.Cast(operand, type) if keeps_order(type_of(operand, True), type):
            return uncast(operand)
    return expression


def sign(expression: e.Expr, positive: Collection[e.Expr]) -> int | None:
    """1 if a number is never negative, where NaN is greater than all, as in Spark's order; -1 if it is never
    positive, nor NaN; None if that is not known. What is in `positive` is known to be not negative.

    >>> sign(e.Binary("*", e.Literal(2, INT), e.Literal(3, INT)), ()), sign(e.Literal(-1, INT), ())
    (1, -1)
    """
    if over_list(expression) in positive:
        return 1
    constant = number(expression)
    if constant is not None:
        return 1 if constant >= 0 else -1
    match expression:
        case e.Cast(operand, type) if keeps_order(type_of(operand, True), type):
            return sign(operand, positive)
        case e.Call(name) if name in NEVER_NEGATIVE:
            return 1
        case e.Binary("+" | "*" | "/", left, right):
            both = {sign(left, positive), sign(right, positive)}
            return 1 if both == {1} else None
        case e.Unary("-", operand) if type_of(operand, True) in INTEGERS:
            opposite = sign(operand, positive)
            return None if opposite is None else -opposite
    return None


def over_list(expression: e.Expr) -> e.Expr:
    """What is said of each element, however it is named: `b[i].x`, `b[..i-1].x` and `b[].x` become `b[].x`.

    Where `b[i]` stands beside a list, it is not one of the elements the list runs over, and stays.
    """
    has_list = False

    def widened(node: Node) -> Node | None:
        nonlocal has_list
        has_list = has_list or isinstance(node, e.Each)
        return e.Each(node.base) if isinstance(node, e.Each) and node.upper is not None else None

    def spread(node: Node) -> Node | None:
        return e.Each(node.base) if isinstance(node, e.At) and is_current(node) else None

    found = transform(expression, widened)
    found = found if has_list else transform(found, spread)
    assert isinstance(found, e.Expr)
    return found
