"""Snapshot aggregates: what the kernel finds is what the definition says, instant by instant."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels.snapshots import aggregating as listing
from neelc.runtime.kernels.snapshots.kernel import coalescing, snapshots
from neelc.runtime.kernels.snapshots.program import (
    FOREVER,
    FUNCTIONS,
    CoalesceProgram,
    SnapshotAggregate,
    SnapshotProgram,
)

Row = tuple[str | None, int, int, Any]

ALL = tuple(SnapshotAggregate(name, "x", name) for name in FUNCTIONS)


def run(
    rows: Sequence[Row],
    kind: pa.DataType,
    folds: Sequence[SnapshotAggregate] = ALL,
    at_once: int = 5,
    batch: int = 3,
) -> list[dict[str, Any]]:
    """The results for rows (key, start, end, x), in batches of a few rows."""
    schema = pa.schema([("k", pa.string()), ("start", pa.int64()), ("end", pa.int64()), ("x", kind)])
    ordered = sorted(rows, key=lambda row: (row[0] is not None, row[0] or "", row[1]))
    columns = [pa.array([row[n] for row in ordered], schema.field(n).type) for n in range(4)]
    whole = pa.RecordBatch.from_arrays(columns, schema=schema)
    batches = (whole.slice(first, batch) for first in range(0, len(rows), batch))
    program = SnapshotProgram(("k",), tuple(folds))
    return [one for found in snapshots(program, at_once)(batches) for one in found.to_pylist()]


def expected(rows: Sequence[Row], name: str, key: str | None, instant: int) -> Any:
    """By the definition: the aggregate over what is valid at an instant."""
    values = [x for k, start, end, x in rows if k == key and start <= instant < end and x is not None]
    if name in ("count", "count_distinct"):
        return len(values if name == "count" else set(values))
    if not values or (name.endswith("_samp") and len(values) == 1):
        return None
    exact: dict[str, Any] = {
        "min": min, "max": max, "sum": sum, "avg": lambda v: float(Fraction(sum(v)) / len(v)),
        "stddev_samp": statistics.stdev, "stddev_pop": statistics.pstdev,
        "var_samp": statistics.variance, "var_pop": statistics.pvariance,
    }  # fmt: skip
    return exact[name](values)


def random_rows(random: Random, values: Sequence[Any], queue: bool) -> Iterator[Row]:
    window = random.randint(1, 6)
    for _ in range(random.randint(0, 25)):
        start = random.randint(-5, 12)
        end = start + (window if queue else random.randint(1, 9))
        forever = not queue and random.random() < 0.1
        yield random.choice(["a", "é", None]), start, FOREVER if forever else end, random.choice(values)


@pytest.mark.parametrize("queue", [True, False])
@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64()])
def test_every_instant_is_as_defined(queue: bool, kind: pa.DataType) -> None:
    random = Random(f"{queue}{kind}")
    values = [None, 0, 1, 2, 5, -3] if pa.types.is_integer(kind) else [None, 0.5, 0.25, -3.0, 7.0]
    for _ in range(30):
        rows = list(random_rows(random, values, queue))
        found = run(rows, kind, at_once=random.randint(1, 30), batch=random.randint(1, 9))
        for key in ("a", "é", None):
            for instant in range(-6, 23):
                valid = [row for row in rows if row[0] == key and row[1] <= instant < row[2]]
                at = [one for one in found if one["k"] == key and one["start"] <= instant < one["end"]]
                assert len(at) == (1 if valid else 0), (rows, key, instant)
                for name in set(FUNCTIONS) - {"list"} if valid else ():
                    assert is_close(at[0][name], expected(rows, name, key, instant)), (name, rows)
                if valid:
                    assert sorted(at[0]["list"], key=repr) == sorted((row[3] for row in valid), key=repr)


def is_close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def test_results_change_only_where_events_begin_or_end() -> None:
    rows: list[Row] = [("a", 1, 5, 1), ("a", 3, 9, 2), ("a", 20, FOREVER, 3)]
    found = run(rows, pa.int64())
    assert [(one["start"], one["end"]) for one in found] == [(1, 3), (3, 5), (5, 9), (20, FOREVER)]


@pytest.mark.parametrize("queue", [True, False])
def test_what_has_left_the_window_leaves_no_trace(queue: bool) -> None:
    """A sum kept by adding and taking away would stay NaN, infinite, or without what 1e16 swallowed."""
    for poison in (math.nan, math.inf, -math.inf, 1e16, 1e300):
        values = [1.0, 2.0, poison, -poison, 3.0, 0.125, 0.25]
        rows: list[Row] = [("a", 2 * n, 2 * n + 3, x) for n, x in enumerate(values)]
        if not queue:
            rows.append(("a", 0, 100, 0.0))
        last = next(one for one in run(rows, pa.float64()) if one["start"] == 12)
        assert (last["sum"], last["max"], last["avg"]) == (0.125 + 0.25, 0.25, 0.1875 if queue else 0.125)


@pytest.mark.parametrize("queue", [True, False])
def test_sums_and_deviations_do_not_cancel(queue: bool) -> None:
    """1e16 + 1 is 1e16: added one by one, a thousand ones would be lost; and the squares of values near 1e9
    agree in all digits that a DOUBLE has."""
    rows: list[Row] = [("a", 0, 10, 1e16), *[("a", 0, 10, 1.0)] * 1000, ("a", 0, 10 if queue else 9, -1e16)]
    (first, *_) = run(rows, pa.float64(), at_once=5000, batch=5000)
    assert first["sum"] == 1000.0
    near: list[Row] = [("a", 0, 10 + (0 if queue else n % 3), 1e9 + n % 2) for n in range(1000)]
    (first, *_) = run(near, pa.float64(), at_once=5000, batch=5000)
    assert first["stddev_pop"] == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("queue", [True, False])
def test_sliding_aggregates_are_those_of_exact_arithmetic(queue: bool) -> None:
    """Values of all magnitudes come and go. Compared with fractions, sums are as if they were made with 31
    digits and rounded once, also where nearly all of what is added cancels."""
    random = Random(f"exact {queue}")
    choices = [1e16, -1e16, 1e9, 1.0, 0.1, -0.1, 3e-9, 1e9 + 0.25, -1e9]
    rows: list[Row] = [
        ("a", n, n + (9 if queue else random.randint(1, 30)), random.choice(choices)) for n in range(300)
    ]
    for one in run(rows, pa.float64(), at_once=64, batch=50):
        valid = [Fraction(x) for _, start, end, x in rows if start <= one["start"] < end]
        total, mean = sum(valid), sum(valid) / len(valid)
        lost = 1e-31 * float(sum(map(abs, valid)))
        assert one["sum"] == pytest.approx(float(total), rel=1e-15, abs=lost)
        assert one["avg"] == pytest.approx(float(mean), rel=1e-15, abs=lost)
        squares = sum((x - mean) ** 2 for x in valid) / len(valid)
        assert one["var_pop"] == pytest.approx(float(squares), rel=1e-12)


def test_a_list_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_LISTED", 5)
    rows: list[Row] = [("a", n, n + 9, n) for n in range(4)]
    with pytest.raises(KernelFailure, match="are given 16 values") as failure:
        run(rows, pa.int64(), [SnapshotAggregate("list", "x", "list")])
    assert failure.value.facts.limit == 5


def test_whole_numbers_are_exact() -> None:
    most = 2**63 - 1
    rows: list[Row] = [("a", 0, 10, most), ("a", 1, 11, most), ("a", 2, 3, -most), ("a", 4, 9, None)]
    found = {
        one["start"]: one["sum"] for one in run(rows, pa.int64(), [SnapshotAggregate("sum", "x", "sum")])
    }
    assert found == {0: most, 1: None, 2: most, 3: None, 4: None, 9: None, 10: most}


def test_decimals() -> None:
    kind = pa.decimal128(20, 2)
    folds = [
        SnapshotAggregate("sum", "x", "sum", (30, 2)),
        SnapshotAggregate("avg", "x", "avg", (24, 6)),
        SnapshotAggregate("min", "x", "min"),
        SnapshotAggregate("max", "x", "max"),
    ]
    big = Decimal("999999999999999999.99")
    rows: list[Row] = [("a", 0, 5, big), ("a", 1, 5, big), ("a", 2, 5, Decimal("-0.01")), ("a", 3, 4, None)]
    found = run(rows, kind, folds)
    assert [one["sum"] for one in found][:3] == [big, 2 * big, 2 * big - Decimal("0.01")]
    assert found[2]["avg"] == Decimal("666666666666666666.656667")
    assert (found[2]["min"], found[2]["max"]) == (Decimal("-0.01"), big)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.string(), ["b", "é", "a", None, "z"]),
        (pa.bool_(), [True, False, None]),
        (pa.date32(), [3, 1, None, -7]),
        (pa.timestamp("us"), [3, 1, None, -7]),
        (pa.float32(), [0.5, math.inf, None, -1.5]),
        (pa.int8(), [-128, 127, None]),
    ],
)
def test_extremes_of_all_kinds(kind: pa.DataType, values: list[Any]) -> None:
    random = Random(1)
    folds = [SnapshotAggregate("min", "x", "min"), SnapshotAggregate("max", "x", "max")]
    typed = pa.array(values, kind).to_pylist()
    for queue in (True, False):
        rows = list(random_rows(random, typed, queue))
        for one in run(rows, kind, folds):
            for name in ("min", "max"):
                assert one[name] == expected(rows, name, one["k"], one["start"])


def test_nan_is_the_greatest() -> None:
    rows: list[Row] = [("a", 0, 9, math.nan), ("a", 1, 9, 1.0), ("a", 2, 9, math.inf)]
    found = run(
        rows, pa.float64(), [SnapshotAggregate("min", "x", "min"), SnapshotAggregate("max", "x", "max")]
    )
    assert math.isnan(found[0]["min"]) and math.isnan(found[2]["max"]) and found[2]["min"] == 1.0


def test_a_chunk_has_its_own_instants_only() -> None:
    table = pa.record_batch({"chunk": [-1, 0, 0], "start": [-3, -3, 7], "end": [4, 4, 14], "x": [1, 1, 2]})
    program = SnapshotProgram(("chunk",), (SnapshotAggregate("sum", "x", "sum"),), chunk=10)
    found = [one for batch in snapshots(program)(iter([table])) for one in batch.to_pylist()]
    assert [(one["start"], one["end"], one["sum"]) for one in found] == [(-3, 0, 1), (0, 4, 1), (7, 10, 2)]


def test_rows_out_of_order_are_a_failure() -> None:
    table = pa.record_batch({"start": [3, 1], "end": [4, 4]})
    program = SnapshotProgram((), (SnapshotAggregate("count", None, "n"),), label="SELECT count(*)")
    with pytest.raises(KernelFailure, match="not in the order of their start"):
        list(snapshots(program)(iter([table])))


def test_coalesced_intervals_are_the_longest() -> None:
    random = Random(7)
    for _ in range(60):
        rows = list(random_rows(random, [0], False))
        ordered = sorted(rows, key=lambda row: (row[0] is not None, row[0] or "", row[1]))
        table = pa.record_batch(
            {name: [row[n] for row in ordered] for n, name in enumerate(("k", "start", "end"))},
            schema=pa.schema([("k", pa.string()), ("start", pa.int64()), ("end", pa.int64())]),
        )
        size = random.randint(1, 9)
        batches = (table.slice(first, size) for first in range(0, len(rows), size))
        run_coalescing = coalescing(CoalesceProgram(("k",)), random.randint(1, 20))
        found = [one for batch in run_coalescing(batches) for one in batch.to_pylist()]
        expected = [one for key in ("a", "é", None) for one in canonical(key, rows)]
        made = [(one["k"], one["start"], one["end"]) for one in found]
        assert sorted(made, key=repr) == sorted(expected, key=repr), rows


def canonical(key: str | None, rows: Sequence[Row]) -> Iterator[tuple[str | None, int, int]]:
    """By the definition: for every k the longest intervals with at least k valid events."""
    own = [(start, end) for k, start, end, _ in rows if k == key]
    instants = sorted({time for pair in own for time in pair})
    counts = [sum(start <= at < end for start, end in own) for at in instants]
    for k in range(1, len(own) + 1):
        begin = None
        for at, count in zip(instants, counts, strict=True):
            if count >= k and begin is None:
                begin = at
            if count < k and begin is not None:
                yield key, begin, at
                begin = None
