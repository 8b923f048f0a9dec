"""Put measured figures into the table of docs/explanation/benchmarks.md.

    make bench ONLY=bench_local
    PYTHONPATH=tests .venv/bin/python -m bench.page
    .venv/bin/pytest -q tests/test_pictures.py --update

The first command writes build/bench/results.json. The second replaces the rows of the table for which that
file has figures, and keeps the others. The third redraws the chart from the table. A row of the table is one
run: its cells can be compared with each other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.data import BUILD
from bench.sides import Measured, digits

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "benchmarks.md"
ENGINES = ("local engine", "Spark", "stream", "Flink SQL", "SQL on Spark", "SQL on DuckDB")
IDLE = 0.5
"""The load of a machine, in processes, up to which nothing else of weight is running."""


@dataclass(frozen=True)
class Cell:
    """Where a cell's seconds come from: its column, the row of the benchmark, and the side in that row.

    `goal`: how many times faster than this engine neelc should be.
    """

    engine: str
    row: str
    side: str
    goal: float | None = None


@dataclass(frozen=True)
class Workload:
    """A row of the table. The first cell is neelc's; the others are compared with it."""

    title: str
    benchmark: str
    cells: tuple[Cell, ...]


def pair(title: str, benchmark: str, row: str, sides: str, goal: float | None = None) -> Workload:
    """`sides`: neelc's column and the name of its side, then those of what it is compared with."""
    ours, theirs = (side.split(": ") for side in sides.split(", "))
    return Workload(title, benchmark, (Cell(ours[0], row, ours[1]), Cell(theirs[0], row, theirs[1], goal)))


def local(title: str, row: str, spark: float | None = None) -> Workload:
    """The local engine beside Spark and DuckDB's SQL by hand."""
    by_hand = f"{row}, against DuckDB's SQL by hand"
    cells = (
        Cell("local engine", by_hand, "local"),
        Cell("Spark", f"{row}, against Spark", "Spark", spark),
        Cell("SQL on DuckDB", by_hand, "by hand", 1),
    )
    return Workload(title, "bench_local", cells)


LOCAL_FLINK = "local engine: local, Flink SQL: Flink"
SPARK_FLINK = "Spark: neelc, Flink SQL: Flink"
OVERLAPS = "A OVERLAPS B, 2,000,000 events, {} keys, against {}'s SQL by hand"
WORKLOADS = (
    local("`SEQ`, nested negation, 5 million events", "keyed SEQ with a nested negation", 3.5),
    local("V from each row, 2 million rows", "V shape from each row"),
    local("funnel from each row, 2 million rows", "funnel of 5 steps from each row"),
    pair("V, 2 million rows", "bench_local", "V shape, against Flink SQL", LOCAL_FLINK, 30),
    pair("funnel, 2 million rows", "bench_local", "funnel of 5 steps, against Flink SQL", LOCAL_FLINK, 30),
    pair("V, 2 million rows, Spark", "bench_rows", "V shape, 2,000,000 rows, Parquet", SPARK_FLINK, 20),
    pair(
        "funnel, 2 million rows, Spark",
        "bench_rows",
        "funnel of 5 steps, 2,000,000 rows, Parquet",
        SPARK_FLINK,
        20,
    ),
    pair("V as a `PATTERN`, 2 million events", "bench_flink", "V, batch", SPARK_FLINK, 20),
    pair("`SEQ`, 2 million events", "bench_flink", "sequence, batch", SPARK_FLINK, 20),
    pair(
        "`SEQ`, nested negation, 2 million events", "bench_flink", "nested negation, batch", SPARK_FLINK, 20
    ),
    pair(
        "`SEQ` on a stream, per million events",
        "bench_streaming",
        "a million events: Flink SQL",
        "stream: neelc, Flink SQL: Flink",
        3,
    ),
    pair(
        "`SEQ`, two negations, 2,000 events per key",
        "bench_spark_sql",
        "dense, 300 events in a window",
        "Spark: neelc, SQL on Spark: Spark SQL",
        10,
    ),
    pair(
        "`SEQ`, two negations, 10 events per key",
        "bench_spark_sql",
        "sparse, 5 events in a window",
        "Spark: neelc, SQL on Spark: Spark SQL",
        1.5,
    ),
    pair(
        "join of valid times, 1 million events",
        "bench_algebra",
        "correlator, against the range join by hand",
        "Spark: neelc, SQL on Spark: range join",
    ),
    pair(
        "sliding avg and max, 100,000 events",
        "bench_algebra",
        "sliding avg and max, 100,000 events in a window",
        "Spark: neelc, SQL on Spark: RANGE window",
        20,
    ),
    *(
        pair(
            f"`A OVERLAPS B`, 2 million events, {keys} keys",
            "bench_temporal",
            OVERLAPS.format(keys, "DuckDB"),
            "local engine: neelc, SQL on DuckDB: by hand",
            5,
        )
        for keys in ("20", "2,000")
    ),
    *(
        pair(
            f"`A OVERLAPS B`, {keys} keys, Spark",
            "bench_temporal",
            "Spark: " + OVERLAPS.format(keys, "Spark"),
            "Spark: neelc, SQL on Spark: by hand",
            5,
        )
        for keys in ("20", "2,000")
    ),
)


def line(workload: Workload, results: Mapping[str, Any]) -> str | None:
    """A row of the table; None without figures.

    >>> row = {"what": "joins", "measured": "3.00x", "numbers": {"ours": 2.0, "theirs": 6.0}}
    >>> cells = Cell("local engine", "joins", "ours"), Cell("Flink SQL", "joins", "theirs", 5)
    >>> measured = {"at": "2026-11-18T15:00:00+00:00", "load": 0.1, "scale": 1.0, "rows": [row]}
    >>> line(Workload("joins", "bench_x", cells), {"bench_x": measured})
    '| joins | 2.00 s | | | 6.00 s (3.00x, missed) | | | 18 Nov 2026 |'

    Not of a shorter stream:

    >>> line(Workload("joins", "bench_x", cells), {"bench_x": {**measured, "scale": 0.1}}) is None
    True
    """
    found = results.get(workload.benchmark)
    if found is None or found["scale"] != 1:
        return None
    rows = {row["what"]: row for row in found["rows"]}
    known = [cell for cell in workload.cells if cell.side in rows.get(cell.row, {}).get("numbers", ())]
    if len(known) < 2:
        return None
    shown = dict.fromkeys(ENGINES, "")
    for cell in known:
        row, seconds = rows[cell.row], rows[cell.row]["numbers"]
        shown[cell.engine] = str(Measured((seconds[cell.side],) * 3))
        if cell is not known[0]:
            (mine,) = (value for side, value in seconds.items() if side not in (cell.side, "ratio"))
            bound = "> " if row["measured"].startswith(">") else ""
            missed = ", missed" if cell.goal and not bound and seconds[cell.side] < cell.goal * mine else ""
            ratio = f"{bound}{digits(seconds[cell.side] / mine)}x{missed}"
            shown[cell.engine] = f"{bound}{shown[cell.engine]} ({ratio})"
    day = f"{datetime.fromisoformat(found['at']):%-d %b %Y}"
    state = ", machine busy" if found.get("load", 0) > IDLE else ""
    return "|".join(
        ("", *(f" {cell} " if cell else " " for cell in (workload.title, *shown.values(), day + state)), "")
    )


def updated(page: str, results: Mapping[str, Any]) -> str:
    """The page with new figures. A workload that has no row yet gets one below the workload before it."""
    lines = page.split("\n")
    above = next(number for number, text in enumerate(lines) if text.startswith("| workload |")) + 1
    for workload in WORKLOADS:
        is_there = [number for number, text in enumerate(lines) if text.startswith(f"| {workload.title} |")]
        new = line(workload, results)
        if is_there:
            above = is_there[0]
            lines[above] = new or lines[above]
        elif new:
            above += 1
            lines.insert(above, new)
    return "\n".join(lines)


def main() -> int:
    results = json.loads((BUILD / "results.json").read_text())
    PAGE.write_text(updated(PAGE.read_text(), results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
