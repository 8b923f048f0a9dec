"""Operations on columns, with NumPy: comparisons, truth, arithmetic, casts, choices. NULLs are Spark's.

NaN equals NaN and is greater than all else; -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.events import NullableArray, Numbers, Truths
from neelc.runtime.values.types import BITS

Array = NDArray[Any]


def is_valid(operand: NullableArray) -> Truths:
    """Where the operand is not NULL; one entry stands for all rows."""
    return np.ones(1, bool) if operand.valid is None else operand.valid


def all_valid(operands: tuple[NullableArray, ...]) -> Truths | None:
    """Where no operand is NULL; None: everywhere."""
    valid = None
    for operand in operands:
        if operand.valid is not None:
            valid = operand.valid if valid is None else valid & operand.valid
    return valid


def is_true(operand: NullableArray) -> Truths:
    values = operand.values.astype(bool, copy=False)
    return values if operand.valid is None else values & operand.valid


def is_false(operand: NullableArray) -> Truths:
    values = ~operand.values.astype(bool, copy=False)
    return values if operand.valid is None else values & operand.valid


def is_null(operand: NullableArray) -> NullableArray:
    return NullableArray(~is_valid(operand))


def is_not_null(operand: NullableArray) -> NullableArray:
    return NullableArray(is_valid(operand))


def nans(values: Array) -> Truths | None:
    return np.isnan(values) if values.dtype.kind == "f" else None


def equal(left: Array, right: Array) -> Truths:
    result: Truths = np.equal(left, right)
    one, other = nans(left), nans(right)
    return result if one is None or other is None else result | (one & other)


def less(left: Array, right: Array) -> Truths:
    result: Truths = np.less(left, right)
    one, other = nans(left), nans(right)
    if other is None:
        return result
    return result | (other if one is None else other & ~one)


COMPARISONS: dict[str, Callable[[Array, Array], Truths]] = {
    "=": equal,
    "<>": lambda left, right: ~equal(left, right),
    "<": less,
    "<=": lambda left, right: ~less(right, left),
    ">": lambda left, right: less(right, left),
    ">=": lambda left, right: ~less(left, right),
}


def comparison(name: str) -> Callable[[NullableArray, NullableArray], NullableArray]:
    compare = COMPARISONS[name]
    return lambda left, right: NullableArray(compare(left.values, right.values), all_valid((left, right)))


def same(left: NullableArray, right: NullableArray) -> NullableArray:
    """`<=>`: NULL is like NULL, and unlike all else."""
    one, other = is_valid(left), is_valid(right)
    return NullableArray(np.where(one & other, equal(left.values, right.values), one == other))


def conjunction(*operands: NullableArray) -> NullableArray:
    true, false = np.ones(1, bool), np.zeros(1, bool)
    for operand in operands:
        true, false = true & is_true(operand), false | is_false(operand)
    return NullableArray(true, None if all_valid(operands) is None else true | false)


def disjunction(*operands: NullableArray) -> NullableArray:
    true, false = np.zeros(1, bool), np.ones(1, bool)
    for operand in operands:
        true, false = true | is_true(operand), false & is_false(operand)
    return NullableArray(true, None if all_valid(operands) is None else true | false)


def negation(operand: NullableArray) -> NullableArray:
    return NullableArray(~operand.values.astype(bool, copy=False), operand.valid)


# Arithmetic and casts on columns. What does not fit its type is NULL; nothing wraps around.

LEAST = -(2**63)

Computed = tuple[Array, Truths | None]
"""Values, and where they are right."""


def fitted(values: Array, valid: Truths | None, type: str | None) -> NullableArray:
    """Values as values of the type: rounded to it, NULL where they are out of its range."""
    if type in ("float", "double"):
        return NullableArray(values.astype(np.float32 if type == "float" else np.float64, copy=False), valid)
    bits = BITS.get(type or "", 64)
    if values.dtype.kind != "i" or bits == 64:
        return NullableArray(values, valid)
    limit = 1 << (bits - 1)
    return NullableArray(values, both(valid, (values >= -limit) & (values < limit)))


def both(one: Truths | None, other: Truths | None) -> Truths | None:
    if one is None or other is None:
        return one if other is None else other
    return one & other


def numbers(values: Array) -> Array:
    """All integers as 64 bits, all else as DOUBLE."""
    return values.astype(np.int64 if values.dtype.kind in "biu" else np.float64, copy=False)


def plus(left: Array, right: Array) -> Computed:
    total = left + right
    return (total, None) if total.dtype.kind == "f" else (total, ((left ^ total) & (right ^ total)) >= 0)


def minus(left: Array, right: Array) -> Computed:
    rest = left - right
    return (rest, None) if rest.dtype.kind == "f" else (rest, ((left ^ right) & (left ^ rest)) >= 0)


def times(left: Array, right: Array) -> Computed:
    product = left * right
    if product.dtype.kind == "f" or not product.size or largest(left) * largest(right) < 2.0**62:
        return product, None
    # Dividing undoes a product that did not wrap; -1 is left out: the least number has no opposite.
    safe = np.where((left == 0) | (left == -1), 1, left)
    fits = np.where(left == -1, right != LEAST, (left == 0) | (product // safe == right))
    return product, fits & ((product == 0) | ((product < 0) == ((left < 0) != (right < 0))))


def largest(values: Array) -> float:
    return float(np.abs(values.astype(np.float64)).max())


def over(left: Array, right: Array) -> Computed:
    return left.astype(np.float64) / np.where(right == 0, 1.0, right), right != 0


def remainder(left: Array, right: Array) -> Computed:
    """The sign is the dividend's."""
    if left.dtype.kind == right.dtype.kind == "i":
        rest = np.fmod(left, np.where((right == 0) | (right == -1), 1, right))
    else:
        rest = np.fmod(left, np.where(right == 0, 1.0, right))
    return rest, right != 0


def quotient(left: Array, right: Array) -> Computed:
    """Division that cuts towards zero."""
    wraps = (left == LEAST) & (right == -1)
    divisor: Numbers = np.where((right == 0) | wraps, 1, right)
    whole = left // divisor
    whole = whole + ((whole * divisor != left) & ((left < 0) != (divisor < 0)))
    return whole, (right != 0) & ~wraps


BINARY: dict[str, Callable[[Array, Array], Computed]] = {
    "+": plus,
    "-": minus,
    "*": times,
    "/": over,
    "%": remainder,
    "DIV": quotient,
}


def binary(name: str) -> Callable[..., NullableArray]:
    compute = BINARY[name]

    def operation(left: NullableArray, right: NullableArray, type: str | None) -> NullableArray:
        values, right_places = compute(numbers(left.values), numbers(right.values))
        return fitted(values, both(all_valid((left, right)), right_places), type)

    return operation


def negative(operand: NullableArray, type: str | None) -> NullableArray:
    values = numbers(operand.values)
    fits = None if values.dtype.kind == "f" else values != LEAST
    return fitted(-values, both(operand.valid, fits), type)


def absolute(operand: NullableArray, type: str | None) -> NullableArray:
    values = numbers(operand.values)
    fits = None if values.dtype.kind == "f" else values != LEAST
    return fitted(np.abs(values), both(operand.valid, fits), type)


def cast(operand: NullableArray, type: str | None) -> NullableArray:
    """Cut towards zero; NULL where the type has no such number."""
    values = operand.values
    if type == "boolean":
        return NullableArray(values.astype(bool), operand.valid)
    if values.dtype.kind != "f" or type not in BITS:
        return fitted(values if type in ("float", "double") else numbers(values), operand.valid, type)
    limit = 2.0 ** (BITS[type] - 1)
    cut = np.trunc(values.astype(np.float64))
    # No DOUBLE is nearer to the largest BIGINT than 2^63, and Java makes the one of the other.
    fits = (cut >= -limit) & ((cut <= limit) if type == "bigint" else (cut < limit))
    whole = np.where(fits & (cut < limit), cut, 0).astype(np.int64)
    return NullableArray(np.where(cut == 2.0**63, 2**63 - 1, whole), both(operand.valid, fits))


# Choices between columns.

NULL = NullableArray(np.zeros(1, bool), np.zeros(1, bool))


def coalesce(*operands: NullableArray, type: str | None) -> NullableArray:
    """The first that is not NULL."""
    return _typed(reduce(lambda one, other: _chosen(is_valid(one), one, other), operands), type)


def case(*operands: NullableArray, type: str | None) -> NullableArray:
    """Condition, result, condition, result, ... and what holds otherwise."""
    *branches, result = operands if len(operands) % 2 else (*operands, NULL)
    for condition, value in reversed(list(zip(branches[::2], branches[1::2], strict=True))):
        result = _chosen(is_true(condition), value, result)
    return _typed(result, type)


def _chosen(which: Truths, one: NullableArray, other: NullableArray) -> NullableArray:
    values = np.where(which, one.values, other.values)
    if one.valid is None and other.valid is None:
        return NullableArray(values)
    return NullableArray(values, np.where(which, is_valid(one), is_valid(other)))


def greatest(*operands: NullableArray, type: str | None) -> NullableArray:
    return _typed(reduce(lambda one, other: _preferred(one, other, COMPARISONS[">"]), operands), type)


def least(*operands: NullableArray, type: str | None) -> NullableArray:
    return _typed(reduce(lambda one, other: _preferred(one, other, COMPARISONS["<"]), operands), type)


def _preferred(
    one: NullableArray, other: NullableArray, is_better: Callable[[Array, Array], Truths]
) -> NullableArray:
    """NULLs do not count."""
    known = is_valid(one) & is_valid(other)
    better = is_better(one.values, other.values)
    return _chosen(np.where(known, better, is_valid(one)), one, other)


def _typed(result: NullableArray, type: str | None) -> NullableArray:
    return result if type is None else cast(result, type)
