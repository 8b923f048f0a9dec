"""Streaming queries that are killed, run out of disk, or get data that they cannot read: each match is
written once, and the error has a sentence. `tests/stream_faults.py` kills more, and at random."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults import resize_disk, small_disk
from stream_faults import (
    FAR,
    OTHER_FORMAT,
    QueryDirectories,
    altered,
    killing_workers,
    run_to_end,
    run_until_killed,
    write_events,
    write_file,
)

import neelc


@pytest.fixture
def files(tmp_path: Path) -> QueryDirectories:
    return QueryDirectories(tmp_path)


def failure_of(query: Any) -> neelc.NeelRunError:
    """What neelc says about a query that fails."""
    with pytest.raises(Exception) as raised:
        query.awaitTermination()
    found = neelc.explain_failure(raised.value)
    assert found is not None, str(raised.value)[:3000]
    return found


# Processes that are killed ---------------------------------------------------------------------------------


@pytest.mark.thorough
def test_what_was_killed_goes_on_from_its_checkpoint(spark: Any, files: QueryDirectories) -> None:
    write_events(files.events, files=5)
    ends = [run_until_killed(files, after=0.3), run_until_killed(files, after=Random(1).uniform(0, 1))]
    assert "in mid-batch" in ends and "done" not in ends
    run_to_end(files, dying=1)
    assert len(list(files.notes.iterdir())) == 1, "a worker was killed, and its task was tried again"
    assert files.found(spark) == files.expected(spark) != {}


@pytest.mark.thorough
def test_a_killed_worker_fails_the_query_and_writes_nothing(spark: Any, files: QueryDirectories) -> None:
    """The session of the tests tries a task once."""
    write_events(files.events, files=3)
    query = files.start(spark, lambda source: killing_workers(source, files.notes, times=1))
    assert "a Python worker of Spark ended in the middle of its work" in str(failure_of(query))
    assert len(list(files.notes.iterdir())) == 1
    expected = files.expected(spark)
    assert files.found(spark) < expected
    files.start(spark).awaitTermination()
    assert files.found(spark) == expected


# A checkpoint that cannot be written, or read ---------------------------------------------------------------


@pytest.mark.thorough
def test_a_full_disk_at_the_checkpoint(spark: Any, files: QueryDirectories) -> None:
    write_events(files.events, files=6)
    files.checkpoint.mkdir()
    with small_disk(files.checkpoint, "300k"):
        failure = failure_of(files.start(spark))
        assert "no space left on a disk" in str(failure) and "checkpoint" in str(failure)
        expected = files.expected(spark)
        assert files.found(spark) < expected
        resize_disk(files.checkpoint, "50m")
        files.start(spark).awaitTermination()
        assert files.found(spark) == expected


def test_state_of_another_format(spark: Any, files: QueryDirectories) -> None:
    write_events(files.events, files=2)
    (files.events / "002.parquet").rename(files.root / "002.parquet")
    files.start(spark, lambda source: altered(source, OTHER_FORMAT)).awaitTermination()
    before = files.found(spark)
    (files.root / "002.parquet").rename(files.events / "002.parquet")
    failure = failure_of(files.start(spark))
    assert failure.kind == "STATE"
    assert "the state has format 1, and this neelc reads format 2" in str(failure)
    assert files.found(spark) == before


# Records that cannot be read --------------------------------------------------------------------------------

GOOD = [(1, "A", 1), (5, "B", 1), (400, "X", 1)]
MORE = [(500, "A", 2), (510, "B", 2), (900, "X", 1)]
FIRST, SECOND = (1, 1, 5), (2, 500, 510)


def write_json(files: QueryDirectories, number: int, lines: list[str]) -> None:
    path = files.events / f"{number:03}.json"
    path.write_text("\n".join(lines))
    os.utime(path, (number + 1, number + 1))


def json_lines(events: list[tuple[int, str, int]]) -> list[str]:
    return [json.dumps(dict(zip(("ts", "kind", "id"), one, strict=True))) for one in events]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"ts": 505, "ki', "Unexpected end-of-input"),
        ('{"ts": 505, "kind": "A", "id": "two"}', "Cannot parse the field name 'id' and the value two"),
    ],
)
def test_a_line_that_cannot_be_read(spark: Any, files: QueryDirectories, line: str, why: str) -> None:
    files.events.mkdir()
    write_json(files, 0, json_lines(GOOD))
    write_json(files, 1, json_lines([(450, "X", 1)]))
    write_json(files, 2, [*json_lines(MORE[:1]), line, *json_lines(MORE[1:])])
    failure = failure_of(files.start(spark, format="json"))
    assert str(failure).startswith("error[NEEL5004]: ") and f"/002.json cannot be read: {why}" in str(failure)
    assert set(files.found(spark)) == {FIRST}
    write_json(files, 2, json_lines(MORE))
    write_json(files, 3, json_lines([(FAR, "X", 1)]))
    files.start(spark, format="json").awaitTermination()
    assert dict(files.found(spark)) == {FIRST: 1, SECOND: 1}


@pytest.mark.thorough
def test_a_file_with_another_schema(spark: Any, files: QueryDirectories) -> None:
    files.events.mkdir()
    write_file(files.events, 0, GOOD)
    write_file(files.events, 1, [(FAR, "X", 1)])
    path = files.events / "001.parquet"
    pq.write_table(pq.read_table(path).set_column(2, "id", pa.array(["one"])), path)
    os.utime(path, (2, 2))
    failure = failure_of(files.start(spark))
    assert str(failure).startswith("error[NEEL5001]: ") and "001.parquet cannot be read: " in str(failure)
    assert set(files.found(spark)) <= {FIRST}
    write_file(files.events, 1, [(FAR, "X", 1)])
    files.start(spark).awaitTermination()
    assert dict(files.found(spark)) == {FIRST: 1}
