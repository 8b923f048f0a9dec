"""Rows of MATCH_RECOGNIZE sorted by one number are put in their order, whatever that number leaves."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa
import pytest

from neelc.runtime.kernels.rows.kernel import ArrivedRows, RowPatternSearch, SearchProgress, recognizer
from neelc.runtime.kernels.rows.program import Machine, RowLocation, RowOrder, RowProgram, ValueOutput

NOTHING = Machine((), (), (), (), (), ())
Cell = int | str | None


def sorted_by_one_number(rows: list[tuple[Cell, Cell]], order: RowOrder) -> list[tuple[Cell, Cell]]:
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


def sorted_times(rows: list[tuple[Cell, Cell]], order: RowOrder) -> dict[Cell, list[Cell]]:
    """The times of each key in their order."""
    found: dict[Cell, list[Cell]] = {}
    for key, time in rows:
        found.setdefault(key, []).append(time)
    for key, times in found.items():
        there = sorted((one for one in times if isinstance(one, int)), reverse=order.descending)
        nulls = [None] * (len(times) - len(there))
        found[key] = [*there, *nulls] if order.nulls_last else [*nulls, *there]
    return found


Shown = tuple[Cell, Cell, Cell]


@pytest.mark.parametrize("seed", range(300))
def test_rows_are_put_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And are searched once each, be it in pieces, with the row before them in sight."""
    chance = random.Random(seed)
    order = RowOrder("t", chance.choice((1, 4, 1 << 20)), chance.random() < 0.5, chance.random() < 0.5)
    times = [*range(-9, 10), -(2**63), 2**63 - 1, *[None] * chance.choice((0, 0, 3))]
    keys = ["a", "b", "éé", "dd", None][: chance.randint(1, 5)]
    rows: list[tuple[Cell, Cell]] = [
        (chance.choice(keys), chance.choice(times)) for _ in range(chance.randint(1, 60))
    ]
    before = ValueOutput("before", RowLocation(0, shift=-1), "t")
    program = RowProgram(NOTHING, (), ("key",), (before,), order=order)
    size, at_once = chance.randint(1, 20), chance.randint(1, 20)
    monkeypatch.setattr(RowPatternSearch, "_searched", lambda self, arrived: searched(arrived, chance))
    monkeypatch.setattr(RowPatternSearch, "gather", lambda self, piece: iter((piece,)))
    batches = in_batches(sorted_by_one_number(rows, order), size)
    shown: list[Any] = list(recognizer(program, at_once)(batches))
    expected = [
        (key, time, before)
        for key, times in sorted_times(rows, order).items()
        for before, time in zip([None, *times[:-1]], times, strict=True)
    ]
    found = {key: [row for row in shown if row[0] == key] for key in keys}
    assert found == {key: [row for row in expected if row[0] == key] for key in keys}


def searched(arrived: ArrivedRows, chance: random.Random) -> Generator[Shown, None, SearchProgress]:
    """The rows, each with the time of the row before it in its partition. Of a key whose end has not come, as
    many as chance will have it are decided."""
    rows, progress = arrived.rows.to_pylist(), arrived.progress or SearchProgress()
    decided = chance.randint(progress.begin, len(rows)) if arrived.is_open else len(rows)
    for head, tail in zip(arrived.heads.tolist(), [*arrived.heads[1:].tolist(), len(rows)], strict=True):
        assert len({row["key"] for row in rows[head:tail]}) == 1
        for row in range(max(head, progress.begin), min(tail, decided)):
            before = rows[row - 1]["t"] if row > head else None
            yield rows[row]["key"], rows[row]["t"], before
    return SearchProgress(progress.before, decided)
