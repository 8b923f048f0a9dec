"""Statistics of small text files: what is in them is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from neelc import syntax as parse
from neelc.catalog.inputs import complete
from neelc.catalog.statistics.parquet import counted_in
from neelc.program import bind
from neelc.source import Source

CSV = "ts,kind,x\n1,A,5\n3,B,\n61,A,5\n,A,7\n"


def counted(text: str, directory: Path) -> list[str]:
    source = Source(text)
    inputs = complete(parse.read(source), source, [], directory)
    program = bind(inputs.script, source)
    (stream,) = program.streams
    return [
        " ".join(filter(None, (one.type, one.measure, one.column, *map(str, one.numbers), one.unit)))
        for one in counted_in(inputs, stream)
    ]


def test_counts(tmp_path: Path) -> None:
    """An event without a time is none."""
    (tmp_path / "e.csv").write_text(CSV)
    columns = "(ts BIGINT, kind STRING, x INT)"
    text = f"CREATE STREAM E {columns} TIMESTAMP BY ts UNIT SECONDS TYPE BY kind FROM 'e.csv'; PATTERN A a"
    assert counted(text, tmp_path) == [
        "EVENTS 3",
        "SPAN 60 SECOND",
        "A EVENTS 2",
        "B EVENTS 1",
        "DISTINCT kind 2",
        "DISTINCT x 1",
    ]


@pytest.mark.parametrize("time", ["TIMESTAMP", "TIMESTAMP_NTZ", "DATE"])
def test_spans(time: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("ts\n2024-03-01\n2024-03-03\n")
    text = f"CREATE STREAM E (ts {time}) TIMESTAMP BY ts FROM 'e.csv'; PATTERN E e"
    assert counted(text, tmp_path) == ["EVENTS 2", "SPAN 172800 SECOND"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("e.csv", "ts\nx\n"), ("e.csv", "ts\n" + "1\n" * 300_000), ("e.parquet", "no"), ("no.csv", "ts\n1\n")],
    ids=["malformed", "large", "parquet", "missing"],
)
def test_what_is_not_counted(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    kind = "parquet" if name.endswith("parquet") else "csv"
    text = f"CREATE STREAM E (ts BIGINT) TIMESTAMP BY ts FROM 'e.{kind}'; PATTERN E e"
    assert counted(text, tmp_path) == []
