"""Run the benchmarks and print a table: `make bench`, or `make bench ONLY=bench_check`.

A benchmark is a file `bench_*.py` beside this one with a function `run() -> list[Row]`, or, if it measures on
streams of events, `rows(scale) -> list[Row]`: `SCALE=0.1 make bench` makes the streams a tenth as long. All
rows are written to build/bench/results.json, and those that belong to figures to build/bench/results.svg.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from bench import chart, spark
from bench.data import BUILD
from bench.row import Row

VERDICT = {None: "", True: "met", False: "missed"}


def table(rows: list[Row]) -> str:
    """
    >>> print(table([Row("start-up", "1.20", "< 3", True)]))
    what      measured  goal
    start-up  1.20      < 3   met
    """
    cells = [("what", "measured", "goal", "")]
    cells += [(row.what, row.measured, row.goal, VERDICT[row.met]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)
    return "\n".join(line.rstrip() for line in lines)


def measure(name: str, scale: float) -> list[Row]:
    """The rows of one benchmark. One that fails does not take the others with it."""
    try:
        module = importlib.import_module(f"bench.{name}")
        title = (module.__doc__ or "").partition("\n")[0]
        print(f"\n{name}: {title}", flush=True)
        rows: list[Row] = module.rows(scale) if hasattr(module, "rows") else module.run()
    except Exception as problem:
        traceback.print_exc()
        return [Row(name, f"failed: {type(problem).__name__}", "", False)]
    return rows


def write(results: Mapping[str, list[Row]], scale: float, load: float = 0.0) -> None:
    """Results of other benchmarks at the same scale are kept, with when and where they were measured.

    `load`: how many processes were running before, on average over a minute.
    """
    path = BUILD / "results.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    kept = {name: found for name, found in known.items() if found["scale"] == scale}
    about = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "scale": scale,
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "load": round(load, 2),
        "python": platform.python_version(),
    }
    new = {name: {**about, "rows": [asdict(row) for row in rows]} for name, rows in results.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept | new, indent=1) + "\n")
    rows = [Row(**row) for found in (kept | new).values() for row in found["rows"]]
    (BUILD / "results.svg").write_text(chart.svg(rows))


def main(wanted: list[str]) -> int:
    scale = float(os.environ.get("SCALE") or 1)
    begin, load = time.perf_counter(), os.getloadavg()[0]
    results: dict[str, list[Row]] = {}
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        if not wanted or path.stem in wanted:
            results[path.stem] = measure(path.stem, scale)
            print(table(results[path.stem]), flush=True)
    spark.stop()
    write(results, scale, load)
    with_goals = [row for rows in results.values() for row in rows if row.met is not None]
    if len(results) > 1:
        print("\nall goals")
        print(table([row for row in with_goals if row.goal != "equal" or not row.met]))
    minutes = (time.perf_counter() - begin) / 60
    print(f"\n{minutes:.0f} minutes; written to {BUILD / 'results.json'} and results.svg", flush=True)
    return int(any(row.measured.startswith("failed:") for row in with_goals))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
