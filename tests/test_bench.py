"""The benchmarks can be run: their queries are valid, their streams are what they say. Nothing is timed."""

from __future__ import annotations

import doctest
import importlib
import os
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from bench import bench_bounded, chart, data, memory, page, run, sides
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
CELL = r"(?:> )?([\d.]+) s(?: \((?:> )?([\d.]+)x(, missed)?\))?"
"""Of the table on the page: seconds, the ratio to neelc, and whether it misses its goal."""
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
    "module", [bench_bounded, chart, data, page, run, sides], ids=lambda module: module.__name__
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


def summary() -> list[list[str]]:
    """The rows of the table of docs/explanation/benchmarks.md, as cells."""
    _, _, table = page.PAGE.read_text().partition("| workload |")
    _, _, *rows = table.partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def test_the_table_of_the_page_has_workloads_of_benchmarks() -> None:
    known = [workload.title for workload in page.WORKLOADS]
    shown = [cells[0] for cells in summary()]
    assert shown == [title for title in known if title in shown]


@pytest.mark.parametrize("cells", summary(), ids=lambda cells: cells[0])
def test_ratios_of_the_page_are_those_of_its_seconds(cells: list[str]) -> None:
    (workload,) = (one for one in page.WORKLOADS if one.title == cells[0])
    shown = dict(zip(page.ENGINES, cells[1:], strict=False))
    taken = {engine: re.fullmatch(CELL, text) for engine, text in shown.items() if text}
    ours, *others = workload.cells
    assert set(taken) <= {cell.engine for cell in workload.cells}
    (mine,) = re.findall(r"^([\d.]+) s$", shown[ours.engine])
    for cell in others:
        if match := taken.get(cell.engine):
            seconds, ratio, missed = match.groups()
            assert float(ratio) == pytest.approx(float(seconds) / float(mine), rel=0.05)
            assert bool(missed) == (cell.goal is not None and float(ratio) < cell.goal), cell


def test_new_figures_replace_rows_and_add_them() -> None:
    first, *_, last = page.WORKLOADS
    seconds = {"local": 1.0, "by hand": 2.5, "Spark": 4.0, "neelc": 3.0}
    cells = (*first.cells, *last.cells)
    sides_of: dict[str, dict[str, float]] = {cell.row: {} for cell in cells}
    for cell in cells:
        sides_of[cell.row][cell.side] = seconds[cell.side]
    rows = [
        {"what": what, "measured": "", "numbers": found if len(found) > 1 else {"local": 1.0, **found}}
        for what, found in sides_of.items()
    ]
    about = {"at": "2030-01-02T03:04:05+00:00", "scale": 1.0, "load": 2.0, "rows": rows}
    before = f"| workload |\n|---|\n| {first.title} | old |\n| other |\n"
    after = page.updated(before, {first.benchmark: about, last.benchmark: about}).split("\n")
    assert (
        after[2]
        == f"| {first.title} | 1.00 s | 4.00 s (4.00x) | | | | 2.50 s (2.50x) | 2 Jan 2030, machine busy |"
    )
    assert (
        after[3] == f"| {last.title} | | 3.00 s | | | 2.50 s (0.83x, missed) | | 2 Jan 2030, machine busy |"
    )
    assert after[4] == "| other |"


def test_memory_of_this_process_is_seen() -> None:
    assert memory.peak(os.getpid()) >= memory.resident(os.getpid()) > 1_000_000
    assert os.getpid() in memory.descendants(os.getppid())
