"""The kernel's operations against the reference's, on the numbers where they could differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from neelc.ir import expressions as e
from neelc.ir.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, DataType
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers
from neelc.runtime.kernels.folding import FUNCTIONS
from neelc.runtime.program import (
    FOLDS,
    Absent,
    Apply,
    ColumnValue,
    Constant,
    EventName,
    FilterStep,
    PatternProgram,
    Value,
)
from neelc.runtime.reference import evaluate as reference
from neelc.runtime.reference.evaluate import call
from neelc.runtime.reference.model import EvaluationContext
from neelc.runtime.values.operations import check, compiled, evaluate, holds
from neelc.runtime.values.order import order
from neelc.runtime.values.types import cast, fit
from neelc.scalar.type_of import value_type

INTEGERS: dict[DataType, int] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
DTYPES: dict[DataType, str] = {
    TINYINT: "i1",
    SMALLINT: "i2",
    INT: "i4",
    BIGINT: "i8",
    FLOAT: "f4",
    DOUBLE: "f8",
    BOOLEAN: "?",
}
FLOATS = (
    0.0,
    -0.0,
    0.1,
    1.0,
    -1.0,
    2.5,
    -2.5,
    3e38,
    1e300,
    -1e300,
    2.0**63,
    -(2.0**63),
    2147483647.5,
    -129.9,
)
TYPES = (*INTEGERS, FLOAT, DOUBLE)

Table = list[tuple[object, ...]]


def samples(kind: DataType) -> list[object]:
    """NULL, and the numbers of the type that are next to a limit, to zero, or ordinary."""
    if kind == BOOLEAN:
        return [None, True, False]
    if kind in (FLOAT, DOUBLE):
        return [None, *(fit(value, value_type(kind)) for value in (*FLOATS, math.nan, math.inf, -math.inf))]
    limit = 1 << (INTEGERS[kind] - 1)
    root = math.isqrt(limit)
    return [None, -limit, 1 - limit, limit - 1, limit // 2, -1, 0, 1, 2, 3, -7, 100, root, root + 1, -root]


def rows(kinds: Sequence[DataType]) -> Table:
    return list(product(*map(samples, kinds)))


def computed(
    operation: str, table: Table, kinds: Sequence[DataType], type: str | None = None
) -> list[object]:
    """What the kernel makes of the columns of a table; single values give the same."""
    columns = {}
    for place, kind in enumerate(kinds):
        entries = [row[place] for row in table]
        values = np.array([0 if entry is None else entry for entry in entries], DTYPES[kind])
        columns[str(place)] = NullableArray(values, np.array([entry is not None for entry in entries]))
    none = np.zeros(0, np.int64)
    events = KernelEvents(none, none, none, {}, columns, (none, none))
    value = Apply(operation, tuple(ColumnValue("a", str(place)) for place in range(len(kinds))), type)
    numbers = np.arange(len(table))
    with np.errstate(all="ignore"):
        found = evaluate(value, lambda name: numbers if name == "a" else None, events)
    values = np.broadcast_to(found.values, len(table)).tolist()
    valid = [True] * len(table) if found.valid is None else np.broadcast_to(found.valid, len(table)).tolist()
    by_columns = [one if known else None for one, known in zip(values, valid, strict=True)]
    single = compiled(value, lambda column: int(column.name))
    assert differences(table, by_columns, lambda *row: single(row)) == []
    return by_columns


def differences(table: Table, found: list[object], expected: Callable[..., object]) -> list[object]:
    wrong: list[object] = []
    for row, value in zip(table, found, strict=True):
        correct = expected(*row)
        if (value is None, type(value)) != (correct is None, type(correct)) or order(value, correct):
            wrong.append((row, value, correct))
    return wrong


def literals(values: Sequence[object], kind: DataType) -> list[e.Expr]:
    return [e.Literal(value, kind) for value in values if value is None or isinstance(value, int | float)]


ARITHMETIC = [(op, kind) for op in "+-*%" for kind in TYPES] + [("/", DOUBLE), ("DIV", BIGINT)]


@pytest.mark.parametrize(("operation", "kind"), ARITHMETIC, ids=str)
def test_arithmetic(operation: str, kind: DataType) -> None:
    def expected(*values: object) -> object:
        return reference.evaluate(e.Binary(operation, *literals(values, kind)), EvaluationContext({}))

    table = rows((kind, kind))
    assert differences(table, computed(operation, table, (kind, kind), str(kind).lower()), expected) == []


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_signs(kind: DataType) -> None:
    def negative(*values: object) -> object:
        return reference.evaluate(e.Unary("-", *literals(values, kind)), EvaluationContext({}))

    def absolute(value: object) -> object:
        return call("abs", [value], kind)

    table = rows((kind,))
    assert differences(table, computed("neg", table, (kind,), str(kind).lower()), negative) == []
    assert differences(table, computed("abs", table, (kind,), str(kind).lower()), absolute) == []


@pytest.mark.parametrize("operation", e.COMPARISONS)
@pytest.mark.parametrize("kind", (*TYPES, BOOLEAN), ids=str)
def test_comparisons(operation: str, kind: DataType) -> None:
    table = rows((kind, kind))
    found = computed(operation, table, (kind, kind))
    assert differences(table, found, lambda *values: reference.compared(operation, *values)) == []


@pytest.mark.parametrize("target", (*TYPES, BOOLEAN), ids=str)
@pytest.mark.parametrize("source", (*TYPES, BOOLEAN), ids=str)
def test_casts(source: DataType, target: DataType) -> None:
    table = rows((source,))
    found = computed("cast", table, (source,), str(target).lower())
    assert differences(table, found, lambda value: cast(value, value_type(source), value_type(target))) == []


@pytest.mark.parametrize("operation", ("greatest", "least", "coalesce"))
@pytest.mark.parametrize("kind", (TINYINT, BIGINT, DOUBLE), ids=str)
def test_choices(operation: str, kind: DataType) -> None:
    table = rows((kind, kind, kind))
    found = computed(operation, table, (kind, kind, kind), str(kind).lower())
    assert differences(table, found, lambda *values: call(operation, list(values), kind)) == []


@pytest.mark.parametrize("operation", ("case", "if"))
def test_cases(operation: str) -> None:
    table = rows((BOOLEAN, SMALLINT, SMALLINT))
    found = computed(operation, table, (BOOLEAN, SMALLINT, SMALLINT), "smallint")
    assert differences(table, found, lambda test, one, other: one if test is True else other) == []
    found = computed("case", table, (BOOLEAN, SMALLINT))
    assert differences(table, found, lambda test, one, _: one if test is True else None) == []


TRUTHS: dict[str, Callable[..., e.Expr]] = {
    "and": lambda *operands: e.Conjunction(operands),
    "or": lambda *operands: e.Disjunction(operands),
    "not": e.Negation,
    "isnull": e.IsNull,
    "isnotnull": lambda operand: e.IsNull(operand, True),
    "istrue": lambda operand: e.IsTruth(operand, True),
    "isfalse": lambda operand: e.IsTruth(operand, False),
}


@pytest.mark.parametrize("operation", TRUTHS)
def test_truth(operation: str) -> None:
    kinds = (BOOLEAN,) * (3 if operation in ("and", "or") else 1)
    table = rows(kinds)

    def expected(*values: object) -> object:
        return reference.evaluate(TRUTHS[operation](*literals(values, BOOLEAN)), EvaluationContext({}))

    assert differences(table, computed(operation, table, kinds), expected) == []


def test_absent_events_agree_with_all() -> None:
    """[id] on an event that is absent asks nothing; on one whose id is NULL it does."""
    id = NullableArray(np.array([1, 1, 2, 0]), np.array([True, True, True, False]))
    times = np.arange(4)
    events = KernelEvents(times, times, times * 0, {}, {"id": id}, (times[:1], times[:1]))
    bound: dict[EventName, Numbers] = {
        "a": np.array([0, 0, -1, 0, 3, -1]),
        "b": np.array([1, 2, 2, -1, 0, 3]),
    }
    lookup = bound.get
    agree: Value = Apply("agrees", (ColumnValue("a", "id"), ColumnValue("b", "id")))
    assert holds(agree, lookup, events, 6).tolist() == [True, False, True, True, False, True]
    absent: Value = Apply("agrees", (ColumnValue("a", "id"), ColumnValue("c", "id")))
    assert holds(absent, lookup, events, 6).tolist() == [True] * 6
    assert not holds(Constant(None), lookup, events, 6).any()


def test_folds_are_those_of_the_table() -> None:
    assert FUNCTIONS.keys() == FOLDS


def test_unknown_operations_are_refused() -> None:
    unknown = FilterStep(Apply("and", (Constant(True), Apply("soundex", ()))))
    with pytest.raises(KeyError, match="soundex"):
        check(PatternProgram((Absent((unknown,)),), (), ()))
