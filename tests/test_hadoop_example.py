"""The Hadoop example: its logs are what its generator makes; its queries find what plain Python finds."""

from __future__ import annotations

import csv
import doctest
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from repository import ROOT

pytestmark = pytest.mark.xdist_group("hadoop")  # one process: what they begin with takes long

HADOOP = ROOT / "docs" / "examples" / "hadoop"
SCRIPT = HADOOP / "hadoop.neel"
EXPECTED = HADOOP / "expected.txt"
PAGE = ROOT / "docs" / "tutorial" / "hadoop.md"
SAMPLE = "--jobs 4 --nodes 4 --mappers 6 --reducers 4 --seed 63 --format csv"
LOGS = ("jobs", "shuffle", "ganglia")
QUERIES = re.findall(r"^CREATE QUERY (\w+)", SCRIPT.read_text(), re.MULTILINE)

ENGINES: dict[str, list[str]] = {"reference": QUERIES, "local": QUERIES, "spark": QUERIES}
"""The queries that each engine runs."""
ASKED = [(engine, query) for engine, queries in ENGINES.items() for query in queries]

Row = dict[str, Any]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_hadoop", HADOOP / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def neelc(*arguments: str) -> str:
    """What the command writes to standard output; it must end well."""
    program = [sys.executable, "-m", "neelc", *arguments]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def answers(engine: str) -> str:
    """The rows of all queries that `engine` runs: in one go, for Spark takes longer to start than to find
    them."""
    queries = (word for query in ENGINES[engine] for word in ("--query", query))
    return neelc("run", str(SCRIPT), "--engine", engine, "--format", "table", *queries)


def tables(text: str) -> dict[str, str]:
    """The table of each query in what `neelc run` prints.

    >>> tables("Q:\\na\\n1\\n\\nR:\\nb\\n")
    {'Q': 'a\\n1\\n', 'R': 'b\\n'}
    """
    parts = (part.partition(":\n") for part in text.strip("\n").split("\n\n"))
    return {name: table.strip("\n") + "\n" for name, _, table in parts}


def rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(re.split(" {2,}", line.strip())) for line in table.splitlines()[1:]]


@cache
def log(name: str, kind: str) -> list[Row]:
    """The lines of a kind, in order of time."""
    with (HADOOP / f"{name}.csv").open() as lines:
        return [numbered(row) for row in csv.DictReader(lines) if row["kind"] == kind]


def numbered(row: dict[str, str]) -> Row:
    return row | {name: float(row[name]) for name in ("period", "size", "val") if row.get(name)}


def of(job: Row, lines: list[Row], key: str = "job_id") -> list[Row]:
    return [line for line in lines if line[key] == job[key]]


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def mapper_times() -> list[tuple[object, ...]]:
    periods = {
        job["job_id"]: [line["period"] for line in of(job, log("jobs", "MapperEnd"))]
        for job in log("jobs", "JobStart")
    }
    return [(job, round(mean(each), 1), max(each)) for job, each in periods.items()]


def reducer_times() -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for workload in {job["workload"] for job in log("jobs", "JobStart")}:
        jobs = [job for job in log("jobs", "JobStart") if job["workload"] == workload]
        periods = [line["period"] for job in jobs for line in of(job, log("jobs", "ReducerEnd"))]
        found.append((workload, len(jobs), len(periods), round(mean(periods), 1), max(periods)))
    return found


def stragglers() -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for job in log("jobs", "JobStart"):
        before: list[float] = []
        for line in of(job, log("jobs", "ReducerEnd")):
            if len(before) >= 2 and line["period"] > 2 * mean(before):
                # Half a tenth goes up in SQL; Python's round looks at the binary digits.
                others = round(mean(before) + 1e-9, 1)
                found.append((line["task_id"], line["node"], line["period"], others))
            before.append(line["period"])
    return found


def queued_data() -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for job in log("jobs", "JobStart"):
        waiting = 0.0
        flow = of(job, log("jobs", "MapperEnd")) + of(job, log("shuffle", "Pull"))
        for line in sorted(flow, key=lambda line: str(line["ts"])):
            waiting += -line["size"] if line["kind"] == "Pull" else line["size"]
            if waiting > 2000:
                found.append((job["job_id"], line["ts"].rstrip("0"), round(waiting, 1)))
    return found


def climbs(loads: list[float], chain: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The places of three or more loads, each at least twice the one before."""
    if len(chain) >= 3:
        yield chain
    for place in range(chain[-1] + 1 if chain else 0, len(loads)):
        if not chain or loads[place] >= 2 * loads[chain[-1]]:
            yield from climbs(loads, (*chain, place))


def hot_nodes() -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for start in log("jobs", "ReducerStart"):
        (end,) = of(start, log("jobs", "ReducerEnd"), "task_id")
        readings = of(start, log("ganglia", "Load"), "node")
        loads = [line["val"] for line in readings if start["ts"] < line["ts"] < end["ts"]]
        if taken := [loads[place] for place in {place for chain in climbs(loads) for place in chain}]:
            found.append((start["task_id"], start["node"], len(taken), min(taken), max(taken)))
    return found


def growing_imbalance() -> list[tuple[object, ...]]:
    lives = {
        start["task_id"]: [line["val"] for line in of(start, log("ganglia", "LoadStd"), "task_id")]
        for start in log("jobs", "ReducerStart")
    }
    return [
        (task, len(each), each[0], each[-1])
        for task, each in lives.items()
        if all(before <= after for before, after in pairwise(each))
    ]


IN_PYTHON: dict[str, Callable[[], list[tuple[object, ...]]]] = {
    "MapperTimes": mapper_times,
    "ReducerTimes": reducer_times,
    "Stragglers": stragglers,
    "QueuedData": queued_data,
    "HotNodes": hot_nodes,
    "GrowingImbalance": growing_imbalance,
}


def test_the_sample_is_what_the_generator_makes(generate: ModuleType, tmp_path: Path, update: bool) -> None:
    generate.main([str(HADOOP if update else tmp_path), *SAMPLE.split()])
    if not update:
        made = {name: (tmp_path / f"{name}.csv").read_text() for name in LOGS}
        assert made == {name: (HADOOP / f"{name}.csv").read_text() for name in LOGS}


def test_parquet_holds_the_same(generate: ModuleType, tmp_path: Path) -> None:
    generate.main([str(tmp_path), *SAMPLE.replace("csv", "parquet").split()])
    made = {name: pa.parquet.read_table(tmp_path / f"{name}.parquet") for name in LOGS}
    assert {name: table.column_names for name, table in made.items()} == {
        name: (HADOOP / f"{name}.csv").read_text().partition("\n")[0].split(",") for name in LOGS
    }
    assert [line["period"] for line in log("jobs", "JobEnd")] == [
        row["period"] for row in made["jobs"].to_pylist() if row["kind"] == "JobEnd"
    ]


def test_no_two_events_are_simultaneous(generate: ModuleType) -> None:
    logs = generate.cluster(generate.Size(60), seed=5).values()
    times = [time for log in logs for time in log["ts"].to_pylist()]
    assert len(times) > 10_000
    assert len(set(times)) == len(times)
    assert all(log["ts"].to_pylist() == sorted(log["ts"].to_pylist()) for log in logs)


def test_docstrings_of_the_generator(generate: ModuleType) -> None:
    assert doctest.testmod(generate).failed == 0


def test_fmt_has_nothing_to_change() -> None:
    assert neelc("fmt", str(SCRIPT)) == SCRIPT.read_text()


def test_every_query_has_an_expectation(update: bool) -> None:
    if update:
        EXPECTED.write_text(answers("reference"))
    assert list(tables(EXPECTED.read_text())) == QUERIES == list(IN_PYTHON)


@pytest.mark.parametrize(("engine", "query"), ASKED)
def test_query(engine: str, query: str) -> None:
    assert tables(answers(engine))[query] == tables(EXPECTED.read_text())[query]


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_expected_is_right(query: str) -> None:
    found = rows(tables(EXPECTED.read_text())[query])
    assert found, "each query should find something"
    assert sorted(found) == sorted(tuple(map(str, row)) for row in IN_PYTHON[query]())


@pytest.mark.parametrize("query", QUERIES)
def test_the_page_shows_query_and_rows(query: str) -> None:
    (statement,) = re.findall(rf"^CREATE QUERY {query} .*?;$", SCRIPT.read_text(), re.MULTILINE | re.DOTALL)
    page = PAGE.read_text()
    assert statement in page
    assert tables(EXPECTED.read_text())[query] in page


def test_the_page_says_how_the_sample_was_made() -> None:
    assert SAMPLE in PAGE.read_text()
