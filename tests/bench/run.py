"""Run the benchmarks and print a table: `make bench`, or `make bench ONLY=bench_check`.

A benchmark is a file `bench_*.py` beside this one with a function `run() -> list[Row]`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

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


def main(wanted: list[str]) -> None:
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        if not wanted or path.stem in wanted:
            module = importlib.import_module(f"bench.{path.stem}")
            title = (module.__doc__ or "").partition("\n")[0]
            print(f"\n{path.stem}: {title}", flush=True)
            print(table(module.run()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
