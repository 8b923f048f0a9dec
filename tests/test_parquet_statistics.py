"""Statistics from the footers of Parquet files, compared with numbers counted by hand."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from statistics_sources import gathered

from neelc.catalog.statistics.parquet import footer_statistics
from neelc.ir.program import Column, Stream
from neelc.ir.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType


def write(path: Path, columns: dict[str, Any], groups: int | None = None) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="notimpl: needs the extra neelc[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.table(columns), path, row_group_size=groups)
    return path


def values_and_notes(
    path: Path, columns: dict[str, DataType], unit: str = "MILLISECOND", most: int = 1000
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the footers of a file say about a stream with these columns, the time first; and the notes."""
    stream = Stream("S", tuple(Column(n, t) for n, t in columns.items()), next(iter(columns)), unit=unit)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    found = footer_statistics(stream, files, most)
    return {" ".join((s.measure, s.column or "")).strip(): s.numbers for s in found.statistics}, found.notes


def test_footers(tmp_path: Path) -> None:
    columns = {
        "ts": [1000, None, 3000, 9000],
        "id": [7, 7, None, 3],
        "price": [1.5, 2.5, None, None],
        "name": ["a", None, "b", "c"],
        "size": [Decimal("1.50"), None, None, Decimal("0.25")],
        "none": [1, None, None, None],
    }
    path = write(tmp_path / "a.parquet", columns, groups=2)
    types: dict[str, DataType] = {
        "ts": BIGINT,
        "ID": INT,
        "price": DOUBLE,
        "name": STRING,
        "size": DOUBLE,
        "none": BIGINT,
        "away": INT,
    }
    found, notes = values_and_notes(path, types)
    assert found == {
        "EVENTS": (3,),  # a row without a time is no event
        "SPAN": (8,),
        "RANGE ts": (1000, 9000),
        "NULLS ID": (Decimal("0.25"),),
        "RANGE ID": (3, 7),
        "NULLS price": (Decimal("0.5"),),
        "RANGE price": (Decimal("1.5"), Decimal("2.5")),
        "NULLS name": (Decimal("0.25"),),
        "NULLS size": (Decimal("0.5"),),
        "RANGE size": (Decimal("0.25"), Decimal("1.50")),
        "NULLS none": (Decimal("0.75"),),
        "RANGE none": (1, 1),
    }
    assert notes == ()


@pytest.mark.parametrize(
    ("values", "type", "seconds"),
    [
        ([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 1, tzinfo=UTC)], TIMESTAMP, 3600),
        ([date(2024, 2, 28), date(2024, 3, 1)], DATE, 2 * 86_400),
        ([timedelta(seconds=3), timedelta(seconds=5)], TIMESTAMP, None),
        ([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)], BIGINT, None),
        ([5, 5], BIGINT, None),
    ],
)
def test_the_span_of_times(tmp_path: Path, values: list[Any], type: DataType, seconds: int | None) -> None:
    found, _ = values_and_notes(write(tmp_path / "a.parquet", {"ts": values}), {"ts": type}, unit="SECOND")
    assert found.get("SPAN") == (None if seconds is None else (seconds,))
    assert found["EVENTS"] == (2,)


def test_nanoseconds_are_not_cut(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    times = pyarrow.array([1, 2_000_000_001], pyarrow.timestamp("ns"))
    found, _ = values_and_notes(write(tmp_path / "a.parquet", {"ts": times}), {"ts": TIMESTAMP})
    assert found["SPAN"] == (2,)


def test_an_empty_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = write(tmp_path / "a.parquet", {"ts": pyarrow.array([], pyarrow.int64())})
    assert values_and_notes(path, {"ts": BIGINT}) == ({"EVENTS": (0,)}, ())


def test_not_a_number_is_no_bound(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"ts": [1, 2], "x": [float("inf"), 1.0]})
    assert "RANGE x" not in values_and_notes(path, {"ts": BIGINT, "x": DOUBLE})[0]


def test_a_directory_with_partitions(tmp_path: Path) -> None:
    for day in range(3):
        write(tmp_path / f"day={day}" / "part-0.parquet", {"ts": [10 * day, 10 * day + 4], "id": [day, None]})
    write(tmp_path / "_temporary" / "part-0.parquet", {"ts": [0, 1000]})
    (tmp_path / "_SUCCESS").write_text("")
    script = f"FROM '{tmp_path}' FORMAT parquet"
    found, query = gathered(tmp_path, more=script)
    # The share of a type is in no footer.
    assert found.total(query, "A").origin == "assumed"
    assert found.total(query, "A").value == pytest.approx(0.6)
    whole = {one.measure: one.value for one in found.known if not one.subject}
    assert whole == {"EVENTS": 6, "SPAN": 24}
    assert [one.value for one in found.known if one.measure == "NULLS"] == [0.5]  # nothing of kind and price
    assert found.notes == ()


def test_too_many_files(tmp_path: Path) -> None:
    for part in range(10):
        write(tmp_path / f"{part}.parquet", {"ts": [part, part + 1]})
    found, notes = values_and_notes(tmp_path, {"ts": BIGINT}, unit="SECOND", most=4)
    assert found == {"EVENTS": (20,), "SPAN": (10,), "RANGE ts": (0, 10)}
    assert notes == ("S: 4 of 10 Parquet footers were read, and the number of events extrapolated",)


def test_files_that_tell_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", {"ts": ["x"], "id": [1]})
    assert values_and_notes(path, {"ts": BIGINT})[1] == (
        "S: the Parquet footers do not contain the span of `ts`",
    )
    (tmp_path / "b.parquet").write_text("no Parquet")
    found, [note] = values_and_notes(tmp_path / "b.parquet", {"ts": BIGINT})
    assert found == {} and note.startswith("S: b.parquet: its metadata cannot be read: ")
    assert gathered(tmp_path, more="FROM 'none.parquet'")[0].notes == (
        "Trades: no Parquet files to read metadata from: none.parquet",
    )
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert values_and_notes(path, {"ts": BIGINT}) == (
        {},
        ("S: reading Parquet metadata requires pyarrow: pip install 'neelc[parquet]'",),
    )


def test_streams_given_by_the_caller(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet", {"ts": [0, 5], "kind": ["A", "B"], "id": [1, 2], "price": [1.0, 2.0]}
    )
    found, query = gathered(tmp_path, "--stream", f"Trades={path}", more="WITH STATS (TYPE A SHARE 0.5)")
    assert (found.total(query, "A").value, found.total(query, "A").origin) == (1, "metadata")
    assert found.rate(query, "A").value == 0.2
    csv = tmp_path / "a.csv"
    csv.write_text("ts,kind,id,price\n1,A,1,1\n")
    found, query = gathered(tmp_path, "--stream", f"Trades={csv}")
    assert (found.total(query, "A").value, found.total(query, "A").origin) == (1, "counted")
