"""The local engine: against Spark, against DuckDB's scan and sort alone, and how long a small run takes.

The first query is that of bench_floor, over the same Parquet file. The floor is what no plan can go without:
DuckDB reads the columns, keeps the types of the pattern and sorts by key and time. From the shell, a run is
compared with loading the three libraries that it cannot do without.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from bench.bench_check import ENVIRONMENT
from bench.bench_floor import QUERY
from bench.bench_floor import recipe as keyed
from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import faster, in_turn, slower
from bench.spark import execute, matches, read

import neelc

HOSPITAL = Path(__file__).parents[2] / "docs" / "examples" / "hospital"
RUN = ("-m", "neelc", "run", "hospital.neel", "--engine", "local")
LOAD = ("-c", "import duckdb, pyarrow, numpy")
STARTS = 7

V_ROWS, V_KEYS = 2_000_000, 5_000
V = """SELECT * FROM Events MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY ts
  MEASURES A.ts AS first, LAST(C.ts) AS last, LAST(B.amount) AS lowest
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B+ C)
  DEFINE B AS amount < PREV(amount), C AS amount > PREV(amount))"""


def discard(frame: neelc.LocalFrame) -> int:
    """All rows, one batch after the other."""
    return sum(batch.num_rows for batch in frame)


def keyed_sequence(scale: float) -> list[Row]:
    path = parquet(keyed(scale))
    session = neelc.local()
    stream = neelc.stream(str(path), type="kind")

    def local() -> int:
        return discard(session.sql(QUERY, Events=stream))

    def floor() -> None:
        wanted = f"SELECT id, ts, kind FROM '{path}' WHERE kind IN ('A', 'B', 'C', 'D', 'E', 'F')"
        for _ in duckdb.connect().sql(f"{wanted} ORDER BY id, ts").to_arrow_reader(100_000):
            pass

    found = matches(QUERY, read(path), "kernel")
    sides: dict[str, Callable[[], Any]] = {"local": local, "Spark": partial(execute, found), "floor": floor}
    measured = in_turn(sides, 5, warm=3)
    of_spark = {name: measured[name] for name in ("local", "Spark")}
    of_floor = {name: measured[name] for name in ("local", "floor")}
    assert local() == found.count()
    return [
        faster("keyed SEQ with a nested negation, against Spark", of_spark, 3.5),
        slower("the same, against DuckDB's scan and sort", of_floor, 1.6),
    ]


def v_shape(scale: float) -> list[Row]:
    keys = max(round(V_KEYS * scale), 1)
    path = parquet(Recipe(round(V_ROWS * scale), tuple("ABCDEFGH"), keys, gap=10_000_000 // keys))
    session, frame = neelc.local(), read(path)
    on_spark = neelc.sql(frame.sparkSession, V, Events=frame)
    sides: dict[str, Callable[[], Any]] = {
        "local": lambda: discard(session.sql(V, Events=str(path))),
        "Spark": partial(execute, on_spark),
    }
    assert discard(session.sql(V, Events=str(path))) == on_spark.count()
    return [faster("V shape by MATCH_RECOGNIZE, against Spark", in_turn(sides, 5, warm=2))]


def python(*arguments: str) -> None:
    """A process to its end, in the directory of the example."""
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=HOSPITAL, env=ENVIRONMENT, check=True, capture_output=True)


def start_up() -> Row:
    sides = {"run": partial(python, *RUN), "import duckdb, pyarrow, numpy": partial(python, *LOAD)}
    return slower("neelc run --engine local, from the shell", in_turn(sides, STARTS), 3.5)


def rows(scale: float) -> list[Row]:
    return [*keyed_sequence(scale), *v_shape(scale), start_up()]
