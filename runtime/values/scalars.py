"""Conditions on single values, as functions: what `kernels/operations.py` does for columns, for one row.

NULL is None. What does not fit its type is NULL; NaN equals NaN and is greater than all else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from neelc.runtime.program import Apply, ColumnValue, Constant, Value
from neelc.runtime.values.arithmetic import BITS

Scalar = Callable[[list[Any]], Any]
"""The values of the names that a condition asks for -> its own value."""


def compiled(value: Value, names: tuple[str, ...]) -> Scalar:
    """The value of an expression whose columns are `names`.

    >>> rises = Apply(">", (ColumnValue("a", "x"), Apply("+", (ColumnValue("b", "y"), Constant(1)), "int")))
    >>> test = compiled(rises, ("x", "y"))
    >>> test([3, 1]), test([2, 1]), test([None, 1]), test([3, 2**31 - 1])
    (True, False, None, None)
    """
    match value:
        case Constant(constant):
            return lambda values: constant
        case ColumnValue(name=name):
            place = names.index(name)
            return lambda values: values[place]
        case Apply(operation, operands, type):
            parts = [compiled(operand, names) for operand in operands]
            if operation in STRICT:
                return _strict(STRICT[operation], parts, type)
            computed = LAZY[operation]
            return lambda values: fitted(computed([part(values) for part in parts]), type)
    raise TypeError(value)


def _strict(compute: Callable[..., Any], parts: list[Scalar], type: str | None) -> Scalar:
    """NULL if an operand is."""
    if len(parts) == 1:
        (only,) = parts

        def one(values: list[Any]) -> Any:
            operand = only(values)
            return None if operand is None else fitted(compute(operand), type)

        return one
    left, right = parts

    def both(values: list[Any]) -> Any:
        first = left(values)
        if first is None:
            return None
        second = right(values)
        return None if second is None else fitted(compute(first, second), type)

    return both


def fitted(value: Any, type: str | None) -> Any:
    """A value of the type, cut towards zero; NULL if it has no such value.

    >>> fitted(2.7, "int"), fitted(128, "tinyint"), fitted(1, "double"), fitted(float("nan"), "bigint")
    (2, None, 1.0, None)
    """
    if value is None or type is None:
        return value
    if type == "double":
        return float(value)
    if type == "float":
        return float(np.float32(value))
    if type == "boolean":
        return bool(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        # No DOUBLE is nearer to the largest BIGINT than 2^63, and Java makes the one of the other.
        value = 2**63 - 1 if value == 2.0**63 and type == "bigint" else int(value)
    limit = 1 << (BITS[type] - 1)
    return int(value) if -limit <= value < limit else None


def less(left: Any, right: Any) -> bool:
    if left != left:
        return False
    return bool(right != right or left < right)


def equal(left: Any, right: Any) -> bool:
    return bool(left == right or (left != left and right != right))


def remainder(left: Any, right: Any) -> Any:
    """The sign is the dividend's."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return math.nan if math.isinf(left) else math.fmod(left, right)


def quotient(left: int, right: int) -> int | None:
    if right == 0:
        return None
    whole = abs(left) // abs(right)
    return -whole if (left < 0) != (right < 0) else whole


STRICT: Mapping[str, Callable[..., Any]] = {
    "=": equal,
    "<>": lambda left, right: not equal(left, right),
    "<": less,
    "<=": lambda left, right: not less(right, left),
    ">": lambda left, right: less(right, left),
    ">=": lambda left, right: not less(left, right),
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: None if right == 0 else float(left) / right,
    "%": remainder,
    "DIV": quotient,
    "neg": lambda operand: -operand,
    "abs": abs,
    "cast": lambda operand: operand,
    "not": lambda operand: not operand,
}


def conjunction(operands: list[Any]) -> bool | None:
    if any(operand is False for operand in operands):
        return False
    return None if None in operands else True


def disjunction(operands: list[Any]) -> bool | None:
    if any(operand is True for operand in operands):
        return True
    return None if None in operands else False


def case(operands: list[Any]) -> Any:
    """Condition, result, condition, result, ... and what holds otherwise."""
    for condition, result in zip(operands[:-1:2], operands[1::2], strict=False):
        if condition is True:
            return result
    return operands[-1] if len(operands) % 2 else None


def _extreme(is_better: Callable[[Any, Any], bool]) -> Callable[[list[Any]], Any]:
    def extreme(operands: list[Any]) -> Any:
        known = [operand for operand in operands if operand is not None]
        return reduce(lambda one, other: other if is_better(other, one) else one, known) if known else None

    return extreme


LAZY: Mapping[str, Callable[[list[Any]], Any]] = {
    "and": conjunction,
    "or": disjunction,
    "coalesce": lambda operands: next((one for one in operands if one is not None), None),
    "case": case,
    "if": case,
    "greatest": _extreme(lambda one, other: less(other, one)),
    "least": _extreme(less),
    "<=>": lambda operands: (None not in operands and equal(*operands)) or operands == [None, None],
    "isnull": lambda operands: operands[0] is None,
    "isnotnull": lambda operands: operands[0] is not None,
    "istrue": lambda operands: operands[0] is True,
    "isfalse": lambda operands: operands[0] is False,
}
