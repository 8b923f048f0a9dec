"""What files tell about the unit of their times before they are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neelc import syntax as parse
from neelc.catalog import inputs
from neelc.catalog.data_warnings import PEEKED, unit_notes
from neelc.program import bind
from neelc.source import Source

TIMES = [1700000000 + number for number in range(20_000)]


def notes(directory: Path, name: str, unit: str = "") -> list[str]:
    text = f"CREATE STREAM log (ts BIGINT) TIMESTAMP BY ts{unit} FROM '{name}'; PATTERN log a RETURN a.ts"
    source = Source(text)
    found = inputs.complete(parse.read(source), source, [], directory)
    return list(unit_notes(found, bind(found.script, source, found.streams)))


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet", "parts"])
def test_a_file_that_is_not_read_whole(name: str, tmp_path: Path) -> None:
    if name == "log.csv":
        (tmp_path / name).write_text("ts\n" + "".join(f"{time}\n" for time in TIMES))
    elif name == "log.jsonl":
        (tmp_path / name).write_text("".join(f'{{"ts": {time}}}\n' for time in TIMES))
    else:
        folder = tmp_path / ("" if name == "log.parquet" else name)
        folder.mkdir(exist_ok=True)
        pq.write_table(pa.table({"ts": TIMES}), folder / "log.parquet")
    (note,) = notes(tmp_path, name)
    assert note == (
        "`ts` of stream `log` is read in milliseconds: its first time is 1970-01-20; if it counts seconds "
        "(2023-11-14), say TIMESTAMP BY ts UNIT SECONDS, or unit=s"
    )
    assert notes(tmp_path, name, " UNIT MILLISECONDS") == []


def test_what_cannot_be_read_is_told_by_others(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(b"ts\n\xff\n")
    (tmp_path / "long.csv").write_text("ts\n" + "1" * PEEKED)
    assert [notes(tmp_path, name) for name in ("log.csv", "long.csv", "none.csv")] == [[], [], []]
