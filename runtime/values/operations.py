"""The table of operations, and the value of an expression for many rows at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers, Truths
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.program import (
    Apply,
    ColumnValue,
    Constant,
    EventName,
    PatternProgram,
    Total,
    Value,
    conditions,
)
from neelc.runtime.values import arithmetic
from neelc.runtime.values import arithmetic as logic

Lookup = Callable[[EventName], Numbers | NullableArray | None]
"""A variable -> its event in each row, -1 where it is absent; None: in all rows. The name of a fold -> what
was computed."""

NULL = NullableArray(np.zeros(1, bool), np.zeros(1, bool))


def coalesce(*operands: NullableArray, type: str | None) -> NullableArray:
    """The first that is not NULL."""
    return _typed(reduce(lambda one, other: _chosen(logic.is_valid(one), one, other), operands), type)


def case(*operands: NullableArray, type: str | None) -> NullableArray:
    """Condition, result, condition, result, ... and what holds otherwise."""
    *branches, result = operands if len(operands) % 2 else (*operands, NULL)
    for condition, value in reversed(list(zip(branches[::2], branches[1::2], strict=True))):
        result = _chosen(logic.is_true(condition), value, result)
    return _typed(result, type)


def _chosen(which: Truths, one: NullableArray, other: NullableArray) -> NullableArray:
    values = np.where(which, one.values, other.values)
    if one.valid is None and other.valid is None:
        return NullableArray(values)
    return NullableArray(values, np.where(which, logic.is_valid(one), logic.is_valid(other)))


def greatest(*operands: NullableArray, type: str | None) -> NullableArray:
    return _typed(reduce(lambda one, other: _preferred(one, other, logic.COMPARISONS[">"]), operands), type)


def least(*operands: NullableArray, type: str | None) -> NullableArray:
    return _typed(reduce(lambda one, other: _preferred(one, other, logic.COMPARISONS["<"]), operands), type)


def _preferred(
    one: NullableArray, other: NullableArray, is_better: Callable[[logic.Array, logic.Array], Truths]
) -> NullableArray:
    """NULLs do not count."""
    known = logic.is_valid(one) & logic.is_valid(other)
    better = is_better(one.values, other.values)
    return _chosen(np.where(known, better, logic.is_valid(one)), one, other)


def _typed(result: NullableArray, type: str | None) -> NullableArray:
    return result if type is None else arithmetic.cast(result, type)


# With the type of the result.
TYPED: dict[str, Callable[..., NullableArray]] = {
    **{name: arithmetic.binary(name) for name in arithmetic.BINARY},
    "neg": arithmetic.negative,
    "abs": arithmetic.absolute,
    "cast": arithmetic.cast,
    "coalesce": coalesce,
    "case": case,
    "if": case,
    "greatest": greatest,
    "least": least,
}

# `agrees` is equality of what is not absent: `evaluate` sees to the rest.
PLAIN: dict[str, Callable[..., NullableArray]] = {
    **{name: logic.comparison(name) for name in logic.COMPARISONS},
    "<=>": logic.same,
    "agrees": logic.comparison("="),
    "and": logic.conjunction,
    "or": logic.disjunction,
    "not": logic.negation,
    "isnull": lambda operand: NullableArray(~logic.is_valid(operand)),
    "isnotnull": lambda operand: NullableArray(logic.is_valid(operand)),
    "istrue": lambda operand: NullableArray(logic.is_true(operand)),
    "isfalse": lambda operand: NullableArray(logic.is_false(operand)),
}

OPERATIONS = frozenset((*TYPED, *PLAIN))


def check(program: PatternProgram) -> None:
    """Refuses a program with an operation that is not in the table."""
    pending = list(conditions(program.steps))
    while pending:
        value = pending.pop()
        if isinstance(value, Apply):
            if value.operation not in OPERATIONS:
                raise KeyError(value.operation)
            pending.extend(value.operands)


def evaluate(value: Value, lookup: Lookup, events: KernelEvents) -> NullableArray:
    """The value in each row; one entry stands for all rows."""
    match value:
        case Constant(None):
            return NULL
        case Constant(constant):
            return NullableArray(np.array([constant]))
        case ColumnValue(variable, name):
            return _column(events.columns[name], _numbers(variable, lookup))
        case Total(name):
            total = lookup(name)
            return total if isinstance(total, NullableArray) else NULL
        case Apply(operation, operands, type):
            arguments = [evaluate(operand, lookup, events) for operand in operands]
            if operation in TYPED:
                return TYPED[operation](*arguments, type=type)
            result = PLAIN[operation](*arguments)
            return _agreed(result, value, lookup) if operation == "agrees" else result
    raise TypeError(value)


def seen(frontier: Frontier) -> Lookup:
    """What the rows of a table have."""

    def lookup(name: EventName) -> Numbers | NullableArray | None:
        if isinstance(name, str) and name in frontier.totals:
            return frontier.totals[name]
        return frontier.variables.get(name)

    return lookup


def _numbers(variable: EventName, lookup: Lookup) -> Numbers | None:
    found = lookup(variable)
    assert not isinstance(found, NullableArray), "a variable has events"
    return found


def _column(column: NullableArray, numbers: Numbers | None) -> NullableArray:
    if numbers is None or not len(column.values):
        return NULL
    values = column.values[numbers]
    present = numbers >= 0
    if column.valid is not None:
        return NullableArray(values, present & column.valid[numbers])
    return NullableArray(values, None if present.all() else present)


def _agreed(equal: NullableArray, value: Apply, lookup: Lookup) -> NullableArray:
    """True also where one of the events is absent."""
    absent = np.zeros(1, bool)
    for variable in mentions.of_value(value):
        numbers = _numbers(variable, lookup)
        absent = absent | (np.ones(1, bool) if numbers is None else numbers < 0)
    return NullableArray(absent | equal.values, None if equal.valid is None else absent | equal.valid)


def holds(condition: Value, lookup: Lookup, events: KernelEvents, rows: int) -> Truths:
    """The rows in which the condition is true."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(logic.is_true(evaluate(condition, lookup, events)), (rows,))
