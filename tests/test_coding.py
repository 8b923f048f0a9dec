"""Columns as numbers: ranks keep the order that Spark has, over all the columns compared with each other."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neelc.runtime.coding import coded, plain, ranks
from neelc.runtime.failures import KernelFailure

TEXTS = st.lists(st.none() | st.text(max_size=3), max_size=8)


def listed(columns: list[pa.Array]) -> list[list[object]]:
    """The ranks of each column, None for NULL."""
    return [
        [int(v) if values.valid is None or values.valid[n] else None for n, v in enumerate(values.values)]
        for values in ranks(columns)
    ]


@given(TEXTS, TEXTS)
def test_text_has_the_order_of_its_bytes(one: list[str | None], other: list[str | None]) -> None:
    order = sorted({text.encode() for text in (*one, *other) if text is not None})
    expected = [[None if t is None else order.index(t.encode()) for t in column] for column in (one, other)]
    assert listed([pa.array(one, pa.string()), pa.array(other, pa.string())]) == expected


COLUMNS: dict[str, tuple[list[pa.Array], list[list[Any]]]] = {
    "decimals": ([pa.array([Decimal("10.0"), Decimal("9.5"), None])], [[1, 0, None]]),
    "decimals of different scales, and whole numbers": (
        [
            pa.array([Decimal("10.0"), Decimal("-9.5")], pa.decimal128(38, 1)),
            pa.array([Decimal("10.00")], pa.decimal128(4, 2)),
            pa.array([11, 10], pa.int64()),
        ],
        [[1, 0], [1], [2, 1]],
    ),
    "bytes": ([pa.array([b"\xff", b"", b"\x00"])], [[2, 0, 1]]),
    "text of several types": (
        [pa.array(["b", "a"]), pa.array(["a", "c"], pa.large_string()), pa.array(["c"]).dictionary_encode()],
        [[1, 0], [0, 2], [2]],
    ),
    "times": ([pa.array([5, 3, 5], pa.timestamp("us", "UTC"))], [[1, 0, 1]]),
    "structs": ([pa.array([{"x": 2.0}, {"x": None}, None, {"x": float("nan")}])], [[2, 1, None, 3]]),
    "arrays": ([pa.array([["é"], ["z"], [], ["z", None]])], [[3, 1, 0, 2]]),
    "nothing but NULL": ([pa.array([None, None], pa.string())], [[None, None]]),
    "no rows": ([pa.array([], pa.string())], [[]]),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_ranks(what: str) -> None:
    columns, expected = COLUMNS[what]
    found = listed(columns)
    # NULL inside an array or a struct counts as a value; the rank of a whole NULL is never read.
    assert found == expected


def test_a_slice_is_coded_like_a_column() -> None:
    column = pa.array(["q", "b", None, "a"]).slice(1)
    assert listed([column, column.dictionary_encode()]) == [[1, None, 0], [1, None, 0]]


@pytest.mark.parametrize("type", [pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_()])
def test_numbers_stay_as_they_are(type: pa.DataType) -> None:
    full, holes = pa.array([0, 1, 1]).cast(type), pa.array([0, None, 1]).cast(type)
    assert plain("x", full).values.tolist() == full.to_pylist()
    assert plain("x", full).valid is None
    values = plain("x", holes)
    assert values.values[[0, 2]].tolist() == [0, 1]
    assert values.valid is not None
    assert values.valid.tolist() == [True, False, True]
    assert values.values.dtype == type.to_pandas_dtype()


def test_numbers_are_not_copied() -> None:
    column = pa.array([1, 2, 3])
    assert plain("x", column).values.ctypes.data == column.buffers()[1].address


def test_numbers_of_a_coding_are_compared_as_numbers() -> None:
    columns = {"x": pa.array([1.5]), "y": pa.array([7]).dictionary_encode()}
    found = coded(columns, [("x", "y", "not read")])
    assert [found[name].values.tolist() for name in "xy"] == [[1.5], [7]]


def test_types_that_cannot_be_compared() -> None:
    with pytest.raises(KernelFailure, match="cannot compare columns of types double, string"):
        ranks([pa.array(["a"]), pa.array([1.5])])


def test_a_worker_loads_no_more_than_it_needs() -> None:
    program = "import neelc.runtime.kernels.pattern_kernel, sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded & {"pyspark", "pandas", "numba", "sqlglot", "networkx", "antlr4"} == set()
    # What the package itself needs to be imported is all that comes of the compiler.
    assert {name for name in loaded if name.startswith("neelc.")} >= {"neelc.runtime.kernels.pattern_kernel"}
    assert [name for name in loaded if name.startswith(("neelc.syntax", "neelc.pattern", "neelc.ir"))] == []
