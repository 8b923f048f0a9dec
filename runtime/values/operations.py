"""The table of operations, and the value of an expression for many rows at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.events import Events, Numbers, Truths, Values
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.program import Apply, Column, Constant, Program, Total, Value
from neelc.runtime.values import arithmetic
from neelc.runtime.values import arithmetic as logic

Lookup = Callable[[str], Numbers | Values | None]
"""A variable -> its event in each row, -1 where it is absent; None: in all rows. The name of a fold -> what
was computed."""

NULL = Values(np.zeros(1, bool), np.zeros(1, bool))


def coalesce(*operands: Values, type: str | None) -> Values:
    """The first that is not NULL."""
    return _typed(reduce(lambda one, other: _chosen(logic.is_valid(one), one, other), operands), type)


def case(*operands: Values, type: str | None) -> Values:
    """Condition, result, condition, result, ... and what holds otherwise."""
    *branches, result = operands if len(operands) % 2 else (*operands, NULL)
    for condition, value in reversed(list(zip(branches[::2], branches[1::2], strict=True))):
        result = _chosen(logic.is_true(condition), value, result)
    return _typed(result, type)


def _chosen(which: Truths, one: Values, other: Values) -> Values:
    values = np.where(which, one.values, other.values)
    if one.valid is None and other.valid is None:
        return Values(values)
    return Values(values, np.where(which, logic.is_valid(one), logic.is_valid(other)))


def greatest(*operands: Values, type: str | None) -> Values:
    return _typed(reduce(lambda one, other: _preferred(one, other, logic.COMPARISONS[">"]), operands), type)


def least(*operands: Values, type: str | None) -> Values:
    return _typed(reduce(lambda one, other: _preferred(one, other, logic.COMPARISONS["<"]), operands), type)


def _preferred(one: Values, other: Values, is_better: Callable[[logic.Array, logic.Array], Truths]) -> Values:
    """NULLs do not count."""
    known = logic.is_valid(one) & logic.is_valid(other)
    better = is_better(one.values, other.values)
    return _chosen(np.where(known, better, logic.is_valid(one)), one, other)


def _typed(result: Values, type: str | None) -> Values:
    return result if type is None else arithmetic.cast(result, type)


# With the type of the result.
TYPED: dict[str, Callable[..., Values]] = {
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
PLAIN: dict[str, Callable[..., Values]] = {
    **{name: logic.comparison(name) for name in logic.COMPARISONS},
    "<=>": logic.same,
    "agrees": logic.comparison("="),
    "and": logic.conjunction,
    "or": logic.disjunction,
    "not": logic.negation,
    "isnull": lambda operand: Values(~logic.is_valid(operand)),
    "isnotnull": lambda operand: Values(logic.is_valid(operand)),
    "istrue": lambda operand: Values(logic.is_true(operand)),
    "isfalse": lambda operand: Values(logic.is_false(operand)),
}

OPERATIONS = frozenset((*TYPED, *PLAIN))


def check(program: Program) -> None:
    """Refuses a program with an operation that is not in the table."""
    pending = list(mentions.values(program.steps))
    while pending:
        value = pending.pop()
        if isinstance(value, Apply):
            if value.operation not in OPERATIONS:
                raise KeyError(value.operation)
            pending.extend(value.operands)


def evaluate(value: Value, lookup: Lookup, events: Events) -> Values:
    """The value in each row; one entry stands for all rows."""
    match value:
        case Constant(None):
            return NULL
        case Constant(constant):
            return Values(np.array([constant]))
        case Column(variable, name):
            return _column(events.columns[name], _numbers(variable, lookup))
        case Total(name):
            total = lookup(name)
            return total if isinstance(total, Values) else NULL
        case Apply(operation, operands, type):
            arguments = [evaluate(operand, lookup, events) for operand in operands]
            if operation in TYPED:
                return TYPED[operation](*arguments, type=type)
            result = PLAIN[operation](*arguments)
            return _agreed(result, value, lookup) if operation == "agrees" else result
    raise TypeError(value)


def seen(frontier: Frontier) -> Lookup:
    """What the rows of a table have."""
    return lambda name: frontier.totals[name] if name in frontier.totals else frontier.variables.get(name)


def _numbers(variable: str, lookup: Lookup) -> Numbers | None:
    found = lookup(variable)
    assert not isinstance(found, Values), "a variable has events"
    return found


def _column(column: Values, numbers: Numbers | None) -> Values:
    if numbers is None or not len(column.values):
        return NULL
    values = column.values[numbers]
    present = numbers >= 0
    if column.valid is not None:
        return Values(values, present & column.valid[numbers])
    return Values(values, None if present.all() else present)


def _agreed(equal: Values, value: Apply, lookup: Lookup) -> Values:
    """True also where one of the events is absent."""
    absent = np.zeros(1, bool)
    for variable in mentions.of_value(value):
        numbers = _numbers(variable, lookup)
        absent = absent | (np.ones(1, bool) if numbers is None else numbers < 0)
    return Values(absent | equal.values, None if equal.valid is None else absent | equal.valid)


def holds(condition: Value, lookup: Lookup, events: Events, rows: int) -> Truths:
    """The rows in which the condition is true."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(logic.is_true(evaluate(condition, lookup, events)), (rows,))
