"""Steps of a kernel that are counted: the same matches, and one more row with what was done."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from bridging import PROGRAMS, Row, batches, table

from neelc.runtime.kernels.measuring import MEASURED, StepMeasures
from neelc.runtime.kernels.pattern_kernel import kernel
from neelc.runtime.program import PatternProgram


def rows() -> list[Row]:
    chance = Random(5)
    return [Row(chance.choice("ab"), 1, chance.randint(0, 30), chance.randint(0, 7)) for _ in range(60)]


def measured(
    program: PatternProgram, rows: list[Row], rows_at_once: int = 1000
) -> tuple[list[pa.RecordBatch], StepMeasures | None]:
    """Batches without the column of counts, and the counts."""
    run = kernel(program, rows_at_once, measured=True)
    found = list(run(batches(table(rows, program.lasting, grain=program.grain), 7)))
    texts = [text for batch in found for text in batch.column(MEASURED).to_pylist() if text is not None]
    kept = [batch.filter(batch.column(MEASURED).is_null()) for batch in found]
    return [b.drop_columns([MEASURED]) for b in kept if b.num_rows], StepMeasures.added(texts)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("rows_at_once", [5, 1000])
def test_counting_changes_no_match(name: str, rows_at_once: int) -> None:
    program = PROGRAMS[name]
    plain = list(kernel(program, rows_at_once)(batches(table(rows(), program.lasting), 7)))
    found, counts = measured(program, rows(), rows_at_once)
    assert found == plain
    assert counts is not None and counts.events == len(rows())
    assert len(counts.rows_out) == len(program.steps)
    if not (program.unique or program.collapsed or program.furthest) and program.steps:
        # Of what the last step leaves, a search keeps the matches that start in its own range.
        assert counts.rows_out[-1] >= sum(batch.num_rows for batch in plain)
        assert rows_at_once < 1000 or counts.rows_out[-1] == sum(batch.num_rows for batch in plain)


def test_a_step_is_given_what_the_one_before_it_left() -> None:
    for program in PROGRAMS.values():
        _, counts = measured(program, rows())
        assert counts is not None
        assert counts.rows_in[1:] == counts.rows_out[:-1]
        assert all(seconds >= 0 for seconds in counts.seconds)


def test_a_task_without_rows_has_no_counts() -> None:
    program = next(iter(PROGRAMS.values()))
    assert list(kernel(program, measured=True)(iter(()))) == []
    assert StepMeasures.added([]) is None


def test_nothing_is_counted_unless_asked_for() -> None:
    program = next(iter(PROGRAMS.values()))
    for batch in kernel(program)(batches(table(rows(), program.lasting), 7)):
        assert MEASURED not in batch.schema.names


def test_tasks_are_added_up() -> None:
    program = next(iter(PROGRAMS.values()))
    halves = [row for row in rows() if row.room == "a"], [row for row in rows() if row.room == "b"]
    (_, one), (_, other), (_, whole) = (measured(program, part) for part in (*halves, rows()))
    assert one is not None and other is not None and whole is not None
    both = StepMeasures.added([one.to_json(), other.to_json()])
    assert both is not None and both.rows_out == whole.rows_out
    assert replace(both, seconds=[], rows_in=[]) == replace(whole, seconds=[], rows_in=[])
