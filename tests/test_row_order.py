"""Rows of MATCH_RECOGNIZE sorted by one number are put in their order, whatever that number leaves."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest

from neelc.runtime.rows.arriving import complete_keys
from neelc.runtime.rows.program import Machine, Order, RowProgram

NOTHING = Machine((), (), (), (), (), ())
Cell = int | str | None


def sorted_by_one_number(rows: list[tuple[Cell, Cell]], order: Order) -> list[tuple[Cell, Cell]]:
    """As Spark does it, with a hash of two values: keys come mixed."""

    def number(row: tuple[Cell, Cell]) -> tuple[int, float]:
        key, at = row
        if at is None:
            return len(str(key)) % 2, float("inf") if order.nulls_last else float("-inf")
        assert isinstance(at, int)
        return len(str(key)) % 2, (~at if order.descending else at) // order.grain

    return sorted(rows, key=number)


def in_batches(rows: list[tuple[Cell, Cell]], size: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(rows), size):
        keys, times = zip(*rows[first : first + size], strict=True)
        yield pa.record_batch({"key": pa.array(keys, pa.string()), "t": pa.array(times, pa.int64())})


def wanted(rows: list[tuple[Cell, Cell]], order: Order) -> dict[Cell, list[Cell]]:
    """The times of each key in their order."""
    found: dict[Cell, list[Cell]] = {}
    for key, time in rows:
        found.setdefault(key, []).append(time)
    for key, times in found.items():
        there = sorted((one for one in times if isinstance(one, int)), reverse=order.descending)
        nulls = [None] * (len(times) - len(there))
        found[key] = [*there, *nulls] if order.nulls_last else [*nulls, *there]
    return found


@pytest.mark.parametrize("seed", range(200))
def test_rows_are_put_in_order(seed: int) -> None:
    chance = random.Random(seed)
    order = Order("t", chance.choice((1, 4, 1 << 20)), chance.random() < 0.5, chance.random() < 0.5)
    times = [*range(-9, 10), -(2**63), 2**63 - 1, *[None] * chance.choice((0, 0, 3))]
    keys = ["a", "b", "éé", "dd", None][: chance.randint(1, 5)]
    rows: list[tuple[Cell, Cell]] = [
        (chance.choice(keys), chance.choice(times)) for _ in range(chance.randint(1, 60))
    ]
    program = RowProgram(NOTHING, (), ("key",), (), order=order)
    found: dict[Cell, list[Cell]] = {}
    size, at_once = chance.randint(1, 20), chance.randint(1, 20)
    for piece, heads in complete_keys(program, at_once, in_batches(sorted_by_one_number(rows, order), size)):
        listed = list(zip(*(piece.column(name).to_pylist() for name in ("key", "t")), strict=True))
        for begin, end in zip(heads, [*heads[1:], len(listed)], strict=True):
            key = listed[begin][0]
            assert key not in found, "a key came in two pieces"
            found[key] = [time for of, time in listed[begin:end] if of == key]
            assert len(found[key]) == end - begin
    assert found == wanted(rows, order)
