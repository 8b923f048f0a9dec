"""Comparisons and truth with NULLs: Spark's. NaN equals NaN and is greater than all else; -0.0 equals 0.0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.kernels.events import Truths, Values

Array = NDArray[Any]


def is_valid(operand: Values) -> Truths:
    """Where the operand is not NULL; one entry stands for all rows."""
    return np.ones(1, bool) if operand.valid is None else operand.valid


def all_valid(operands: tuple[Values, ...]) -> Truths | None:
    """Where no operand is NULL; None: everywhere."""
    valid = None
    for operand in operands:
        if operand.valid is not None:
            valid = operand.valid if valid is None else valid & operand.valid
    return valid


def is_true(operand: Values) -> Truths:
    values = operand.values.astype(bool, copy=False)
    return values if operand.valid is None else values & operand.valid


def is_false(operand: Values) -> Truths:
    values = ~operand.values.astype(bool, copy=False)
    return values if operand.valid is None else values & operand.valid


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


def comparison(name: str) -> Callable[[Values, Values], Values]:
    compare = COMPARISONS[name]
    return lambda left, right: Values(compare(left.values, right.values), all_valid((left, right)))


def same(left: Values, right: Values) -> Values:
    """`<=>`: NULL is like NULL, and unlike all else."""
    one, other = is_valid(left), is_valid(right)
    return Values(np.where(one & other, equal(left.values, right.values), one == other))


def conjunction(*operands: Values) -> Values:
    true, false = np.ones(1, bool), np.zeros(1, bool)
    for operand in operands:
        true, false = true & is_true(operand), false | is_false(operand)
    return Values(true, None if all_valid(operands) is None else true | false)


def disjunction(*operands: Values) -> Values:
    true, false = np.zeros(1, bool), np.ones(1, bool)
    for operand in operands:
        true, false = true | is_true(operand), false & is_false(operand)
    return Values(true, None if all_valid(operands) is None else true | false)


def negation(operand: Values) -> Values:
    return Values(~operand.values.astype(bool, copy=False), operand.valid)
