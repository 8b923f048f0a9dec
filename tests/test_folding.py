"""Aggregates along the path of a match: after any pushes and pops they are what the reference makes of the
values that are left."""

from __future__ import annotations

import datetime
import decimal
from random import Random

import pyarrow as pa
import pytest
from in_rows import bound

from neelc.ir.program import Column
from neelc.ir.types import BIGINT, BOOLEAN, DAY_INTERVAL, DOUBLE, INT, STRING, Array, DataType, Decimal
from neelc.rows.plan.plan import row_plan
from neelc.runtime.kernels.rows.kernel import recognizer
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.values.order import comparable
from neelc.runtime.values.path_folds import FOLDS, PathAggregate, aggregate_of
from neelc.runtime.values.statistics import PAIRED
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, READ_AS, ROW_AGGREGATE_SIGNATURES
from neelc.scalar.type_of import value_type

WHOLE = (0, 1, 7, -3, 2**62, -(2**62), None)
REAL = (0.1, -0.0, 0.0, 1e16, -1e16, 2.5, float("nan"), float("inf"), None)
MONEY = (decimal.Decimal("0.10"), decimal.Decimal("-7.25"), decimal.Decimal("99999999.99"), None)
SPANS = (datetime.timedelta(days=1), datetime.timedelta(microseconds=-1), None)
TEXTS = ("a", "B", "é", "", None)
TRUTHS = (True, False, None)
NUMBERS = ("sum", "min", "max", "count")
SPREADS = ("avg", "mean", "stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance")
KINDS: tuple[tuple[tuple[str, ...], tuple[object, ...], DataType], ...] = (
    (NUMBERS, WHOLE, BIGINT),
    ((*NUMBERS, *SPREADS), REAL, DOUBLE),
    ((*NUMBERS, "avg"), MONEY, Decimal(11, 2)),
    ((*NUMBERS, "avg"), SPANS, DAY_INTERVAL),
    (("min", "max", "count"), TEXTS, STRING),
    (("any", "some", "every", "bool_and", "bool_or", "count_if"), TRUTHS, BOOLEAN),
)


@pytest.mark.parametrize(
    ("name", "values", "type"),
    [(name, values, type) for names, values, type in KINDS for name in names],
)
@pytest.mark.parametrize("distinct", [False, True])
def test_pushes_and_pops(name: str, values: tuple[object, ...], type: DataType, distinct: bool) -> None:
    chance = Random(f"{name} {type} {distinct}")
    running = PathAggregate(FOLDS[name], value_type(type), distinct)
    left: list[object] = []
    for _ in range(60):
        if left and chance.random() < 0.4:
            left.pop()
            running.pop()
        else:
            left.append(chance.choice(values))
            running.push(left[-1])
        expected = aggregate(name, [value for value in left if value is not None], type, distinct)
        assert repr(running.value()).replace("-0.0", "0.0") == repr(expected).replace("-0.0", "0.0")


AGGREGATED = sorted({*AGGREGATE_SIGNATURES, *ROW_AGGREGATE_SIGNATURES} - {*READ_AS})
REALS = (*REAL, 1e308, -1e308, 1.7e-308)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("name", AGGREGATED)
def test_workers_have_every_aggregate_of_a_whole_list(name: str, distinct: bool) -> None:
    """Over the events of an interval of a stream, for one."""
    chance, kinds = Random(f"{name} {distinct}"), {"bool": TRUTHS, "any": TRUTHS, "every": TRUTHS}
    values: tuple[object, ...] = (
        TRUTHS if name in {"some", "count_if", *kinds} or name.startswith("bool") else REALS
    )
    type: DataType = BIGINT if name in ("count", "count_if", "regr_count") else DOUBLE
    if values is TRUTHS and name != "count_if":
        type = BOOLEAN
    if name.startswith("bit_"):
        values, type = WHOLE, BIGINT
    if name.startswith("collect_"):
        type = Array(type)
    for _ in range(300):
        rows: list[object] = [chance.choice(values) for _ in range(chance.randrange(6))]
        if name in PAIRED or name.endswith("_by"):
            pairs = [(one, 0.5 if name == "percentile" else chance.choice(REALS)) for one in rows]
            rows = [None if None in pair else {"value": pair[0], "by": pair[1]} for pair in pairs]
        expected = aggregate(name, [one for one in rows if one is not None], type, distinct)
        found = aggregate_of(name, value_type(type), distinct, rows)
        assert comparable(found) == comparable(expected), rows


def test_each_row_is_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match of many rows asks for its sum at each of them."""
    pushed = 0
    push = PathAggregate.push

    def counted(running: PathAggregate, value: object) -> None:
        nonlocal pushed
        pushed += 1
        push(running, value)

    monkeypatch.setattr(PathAggregate, "push", counted)
    text = "ORDER BY t MEASURES count(*) AS c PATTERN (A+ B) DEFINE A AS sum(A.x) < 2000, B AS sum(x) >= 2000"
    plan = row_plan(bound(text, (Column("t", INT), Column("x", INT))))
    rows = pa.table({"x": pa.array([1] * 2000, pa.int32())})
    found = [batch.to_pylist() for batch in recognizer(plan.program)(iter(rows.to_batches()))]
    assert [row["out_1"] for rows in found for row in rows] == [2000]
    assert pushed < 3 * 2000
