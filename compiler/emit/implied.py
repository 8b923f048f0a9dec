"""Casts that need not be written, because Spark makes the same ones, strict or not."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.emit.written import INTEGERS
from neelc.ir import decimals
from neelc.ir.expr import Cast, Expr, Literal, Unary
from neelc.ir.typeof import type_of
from neelc.ir.types import DOUBLE, DataType, Decimal


def implied(operands: Sequence[Expr], op: str | None = None) -> list[Expr]:
    """The operands without the casts that Spark implies; `op` is an operator of arithmetic.

    An integer beside a wider integer, or beside a DOUBLE, becomes one. Beside a FLOAT it depends on the mode.

    >>> from neelc.ir.types import BIGINT, INT
    >>> long, short = Literal(2**40, BIGINT), Cast(Literal(1, INT), BIGINT, implicit=True)
    >>> print(*implied((short, long)))
    1 1099511627776L
    """
    targets = {type_of(operand) for operand in operands}
    if all(isinstance(target, Decimal) for target in targets):
        return _of_decimals(operands, op)
    if len(targets) > 1:
        return list(operands)
    (target,) = targets
    divided = op == "/" and target == DOUBLE and all(_source(o) in (*INTEGERS, DOUBLE) for o in operands)
    if divided or any(not _is_implicit(operand) for operand in operands):
        return [_without(operand) if _widens(operand, target) else operand for operand in operands]
    return list(operands)


def _is_implicit(operand: Expr) -> bool:
    return isinstance(operand, Cast) and operand.implicit


def _source(operand: Expr) -> DataType:
    """The type of what is written down."""
    return type_of(operand.operand if isinstance(operand, Cast) and operand.implicit else operand)


def _without(operand: Expr) -> Expr:
    return operand.operand if isinstance(operand, Cast) and operand.implicit else operand


def _widens(operand: Expr, target: DataType) -> bool:
    return _is_implicit(operand) and _source(operand) in INTEGERS and target in (*INTEGERS, DOUBLE)


def _of_decimals(operands: Sequence[Expr], op: str | None) -> list[Expr]:
    sources = [_source(operand) for operand in operands]
    exact = [decimals.as_decimal(source) for source in sources if source in INTEGERS or _is_decimal(source)]
    if len(exact) < len(operands) or not any(_is_decimal(source) for source in sources):
        return list(operands)
    if op is None:
        # Compared are the numbers: their types make no difference as long as no digit is lost.
        target = type_of(operands[0])
        assert isinstance(target, Decimal)
        wide = all(
            one is not None
            and one.scale <= target.scale
            and one.precision - one.scale <= target.precision - target.scale
            for one in exact
        )
        return [_without(operand) for operand in operands] if wide else list(operands)
    return [_without(operand) if _is_same(operand) else operand for operand in operands]


def _is_decimal(type: DataType) -> bool:
    return isinstance(type, Decimal)


def _is_same(operand: Expr) -> bool:
    """Whether Spark makes the same DECIMAL of an integer: by its type, of a literal by its digits."""
    source, target = _source(operand), type_of(operand)
    written = _without(operand)
    if isinstance(written, Literal):
        return isinstance(written.value, int) and target == Decimal(len(str(abs(written.value))), 0)
    if isinstance(written, Unary) and source in INTEGERS:
        return False  # -(-5) may be written 5
    return source == target or decimals.EXACT.get(source) == target
