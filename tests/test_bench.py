"""The benchmarks can be run: their queries are valid, their streams are what they say. Nothing is timed."""

from __future__ import annotations

import doctest
import importlib
import os
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from bench import bench_bounded, chart, data, memory, run, sides
from bench.data import Recipe
from bench.row import Row
from binding import program

from neelc.catalog.statistics.numbers import Statistics
from neelc.pattern.cost.choose import choose
from neelc.pattern.rules.driver import forms

HEAD = """CREATE STREAM Events (ts TIMESTAMP, kind STRING, id BIGINT, amount INT)
  TIMESTAMP BY ts TYPE BY kind;
"""
NAMES = sorted(path.stem for path in Path(run.__file__).parent.glob("bench_*.py"))
ON_STREAMS = [name for name in NAMES if hasattr(importlib.import_module(f"bench.{name}"), "rows")]
QUERIES = [
    pytest.param(text, id=f"{name}-{title}")
    for name in ON_STREAMS
    for title, text in getattr(importlib.import_module(f"bench.{name}"), "QUERIES", {}).items()
]
SMALL = Recipe(5000, ("A", "B", "C"), keys=7, gap=2000, domains=(("B", 10),))


def test_there_is_a_benchmark_for_each_promise() -> None:
    promised = {"bench_floor", "bench_flink", "bench_spark_sql", "bench_nested", "bench_predicates"}
    assert set(ON_STREAMS) >= promised | {"bench_scaling", "bench_kleene"}


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_says_what_it_measures(name: str) -> None:
    module = importlib.import_module(f"bench.{name}")
    assert (module.__doc__ or "").partition("\n")[0].endswith(".")
    assert callable(getattr(module, "rows", None) or module.run)


@pytest.mark.parametrize(
    "module", [bench_bounded, chart, data, run, sides], ids=lambda module: module.__name__
)
def test_docstrings(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("text", QUERIES)
def test_queries_are_valid_and_have_a_plan(text: str) -> None:
    (query,) = program(text, HEAD).queries
    choose(query.match, forms(query.match), Statistics())


def test_streams_are_the_same_every_time() -> None:
    assert data.table(SMALL).equals(data.table(SMALL))
    assert not data.table(SMALL).equals(data.table(Recipe(5000, ("A", "B", "C"), keys=7, gap=2000, seed=2)))


def test_streams_keep_to_their_recipe() -> None:
    table = data.table(SMALL)
    times = table["ts"].cast(pa.int64()).to_pylist()
    kinds, ids, amounts = (table[name].to_pylist() for name in ("kind", "id", "amount"))
    assert all(before < after for before, after in pairwise(times))
    assert abs((times[-1] - times[0]) / len(times) - 2000) < 20
    assert {kinds.count(kind) // 500 for kind in "ABC"} == {3}
    assert set(ids) == set(range(7))
    assert {amount for kind, amount in zip(kinds, amounts, strict=True) if kind == "B"} == set(range(10))
    assert max(amounts) > 900


def test_a_stream_longer_than_a_block_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "BLOCK", 1000)
    table = data.table(SMALL)
    times = table["ts"].cast(pa.int64()).to_pylist()
    assert len(data.blocks(SMALL)) == 5 and table.num_rows == 5000
    assert all(before < after for before, after in pairwise(times))
    assert data.table(Recipe(1500, SMALL.kinds, 7, 2000, SMALL.domains)).equals(table.slice(0, 1500))


def test_files_hold_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "BUILD", tmp_path)
    table = data.table(SMALL)
    path = data.parquet(SMALL)
    assert pa.parquet.read_table(path)["id"].equals(table["id"])
    written = path.stat().st_mtime_ns
    assert data.parquet(SMALL) == path and path.stat().st_mtime_ns == written
    options = pa.csv.ReadOptions(column_names=["ts", "kind", "id", "amount"])
    parts = [pa.csv.read_csv(part, read_options=options) for part in sorted(data.csv(SMALL).iterdir())]
    together = pa.concat_tables(parts)
    assert together["id"].to_pylist() == table["id"].to_pylist()
    assert len(set(together["ts"].to_pylist())) == 5000
    with pytest.raises(ValueError, match="simultaneous"):
        data.csv(Recipe(10, ("A",), gap=100))


def test_sides_are_run_in_turn() -> None:
    order: list[str] = []
    measured = sides.in_turn({"a": lambda: order.append("a"), "b": lambda: order.append("b")})
    assert "".join(order) == "abababab"
    assert all(len(side.runs) == 3 for side in measured.values())


def test_a_side_that_is_stopped_is_a_bound() -> None:
    def endless() -> None:
        raise sides.Aborted

    measured = sides.in_turn({"ours": lambda: None, "theirs": endless})
    assert measured["theirs"].is_bound
    row = sides.faster("x", {"ours": sides.Measured((1.0,)), "theirs": sides.Measured((300.0,), True)}, 20)
    assert row.met and row.measured.startswith("> 300x")
    missed = sides.faster(
        "x", {"ours": sides.Measured((20.0,)), "theirs": sides.Measured((300.0,), True)}, 20
    )
    assert missed.met is None


def test_the_picture_has_what_was_measured() -> None:
    numbers = {"ours": 0.5, "theirs": 50.0, "ratio": 100.0}
    picture = chart.svg([Row("x", "", numbers=numbers, figure="a < b", at="2"), Row("y", "")])
    assert picture.startswith("<svg") and "a &lt; b" in picture and "theirs: 50 s" in picture


def test_results_of_other_benchmarks_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "BUILD", tmp_path)
    run.write({"one": [Row("x", "1")]}, 1.0)
    run.write({"two": [Row("y", "2", "> 1", True)]}, 1.0)
    text = (tmp_path / "results.json").read_text()
    assert '"one"' in text and '"two"' in text
    run.write({"two": [Row("y", "2", "> 1", True)]}, 0.5)
    assert '"one"' not in (tmp_path / "results.json").read_text()


def test_memory_of_this_process_is_seen() -> None:
    assert memory.peak(os.getpid()) >= memory.resident(os.getpid()) > 1_000_000
    assert os.getpid() in memory.descendants(os.getppid())
