"""The local engine: against Spark, Flink SQL, DuckDB's SQL by hand, and DuckDB's scan and sort alone.

The first query is that of bench_floor, over the same Parquet file. The floor is what no plan can go without:
DuckDB reads the columns, keeps the types of the pattern and sorts by key and time. The V and the funnel are
those of bench_rows; SQL by hand finds a match for each first row, which is AFTER MATCH SKIP TO NEXT ROW. From
the shell, a run is compared with loading the three libraries that it cannot do without.

LARGE=1 also finds the matches in 100 million events with 4 GB of memory, which takes a few minutes.
"""

from __future__ import annotations

import os
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
from bench.bench_rows import BOTH, FALLS, FLINK_KEYS, FLINK_ROWS, FUNNEL, LIMIT, V_SHAPE
from bench.data import Recipe, csv, parquet
from bench.flink import Flink, install
from bench.row import Row
from bench.sides import agree, faster, in_turn, of, slower
from bench.spark import execute, matches, read

import neelc

HOSPITAL = Path(__file__).parents[2] / "docs" / "examples" / "hospital"
RUN = ("-m", "neelc", "run", "hospital.neel", "--engine", "local")
LOAD = ("-c", "import duckdb, pyarrow, numpy")
STARTS = 15
REPEATED = 7

# The earliest C, D and E, each after the other, tell from when on it is too late for an F.
BY_HAND = """WITH a AS MATERIALIZED (SELECT id, ts FROM '{path}' WHERE kind = 'A'),
b AS MATERIALIZED (SELECT id, ts FROM '{path}' WHERE kind = 'B'),
c AS MATERIALIZED (SELECT id, ts FROM '{path}' WHERE kind = 'C'),
d AS MATERIALIZED (SELECT id, ts FROM '{path}' WHERE kind = 'D'),
e AS MATERIALIZED (SELECT id, ts FROM '{path}' WHERE kind = 'E'),
f AS MATERIALIZED (SELECT id, ts FROM '{path}' WHERE kind = 'F'),
done AS MATERIALIZED (SELECT b.id, b.ts, e.ts AS late FROM b ASOF LEFT JOIN c ON c.id = b.id AND c.ts > b.ts
  ASOF LEFT JOIN d ON d.id = b.id AND d.ts > c.ts ASOF LEFT JOIN e ON e.id = b.id AND e.ts > d.ts),
pairs AS MATERIALIZED (SELECT a.id, a.ts AS first, done.ts AS second, late FROM a JOIN done
  ON done.id = a.id AND done.ts > a.ts AND done.ts <= a.ts + INTERVAL 1 MINUTE)
SELECT pairs.id, first, f.ts AS third FROM pairs JOIN f ON f.id = pairs.id AND f.ts > second
  AND f.ts <= first + INTERVAL 1 MINUTE AND (late IS NULL OR late >= f.ts)"""

V_BY_HAND = """WITH changes AS (SELECT id, ts, amount, lag(amount) OVER line AS before,
    lead(amount) OVER line AS after FROM '{path}' WINDOW line AS (PARTITION BY id ORDER BY ts)),
ends AS (SELECT *, first_value(CASE WHEN amount >= before THEN struct_pack(t := ts, up := amount > before,
      low := before) END IGNORE NULLS) OVER (PARTITION BY id ORDER BY ts
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS stop FROM changes)
SELECT id, ts AS began, stop.low AS low, stop.t AS ended FROM ends WHERE after < amount AND stop.up"""

FUNNEL_BY_HAND = """WITH events AS (SELECT id, ts, kind FROM '{path}'),
b AS (SELECT a.id, a.ts AS began, x.ts FROM (SELECT * FROM events WHERE kind = 'A') AS a
  ASOF JOIN (SELECT * FROM events WHERE kind = 'B') AS x ON x.id = a.id AND x.ts > a.ts),
c AS (SELECT b.id, b.began, x.ts FROM b ASOF JOIN (SELECT * FROM events WHERE kind = 'C') AS x
  ON x.id = b.id AND x.ts > b.ts),
d AS (SELECT c.id, c.began, x.ts FROM c ASOF JOIN (SELECT * FROM events WHERE kind = 'D') AS x
  ON x.id = c.id AND x.ts > c.ts)
SELECT d.id, d.began, x.ts AS ended FROM d ASOF JOIN (SELECT * FROM events WHERE kind = 'E') AS x
  ON x.id = d.id AND x.ts > d.ts"""

EACH = "AFTER MATCH SKIP TO NEXT ROW"
CLAUSES = {
    "V shape": (V_SHAPE.format(time="ts", pattern="A B+ C", define=FALLS), V_BY_HAND),
    "funnel of 5 steps": (FUNNEL.format(time="ts"), FUNNEL_BY_HAND),
}


def discard(frame: neelc.LocalFrame) -> int:
    """All rows, one batch after the other."""
    return sum(batch.num_rows for batch in frame)


def duck(text: str) -> int:
    """The number of rows of a query, all of which are brought to Python."""
    return sum(batch.num_rows for batch in duckdb.connect().sql(text).to_arrow_reader(100_000))


def keyed_sequence(scale: float) -> list[Row]:
    path = parquet(keyed(scale))
    session = neelc.local()
    stream = neelc.stream(str(path), type="kind")
    floor = f"SELECT id, ts, kind FROM '{path}' WHERE kind IN ('A', 'B', 'C', 'D', 'E', 'F') ORDER BY id, ts"
    found = matches(QUERY, read(path), "kernel")
    sides: dict[str, Callable[[], Any]] = {
        "local": lambda: discard(session.sql(QUERY, Events=stream)),
        "Spark": partial(execute, found),
        "floor": partial(duck, floor),
        "by hand": partial(duck, BY_HAND.format(path=path)),
    }
    taken = in_turn(sides, REPEATED, warm=3)
    counts = {"local": sides["local"](), "Spark": found.count(), "by hand": sides["by hand"]()}
    what = "keyed SEQ with a nested negation"
    return [
        faster(f"{what}, against Spark", of(taken, "local", "Spark"), 3.5),
        slower(f"{what}, against DuckDB's scan and sort", of(taken, "local", "floor"), 1.6),
        faster(f"{what}, against DuckDB's SQL by hand", of(taken, "local", "by hand"), 1.0),
        agree(f"{what}: matches", counts),
    ]


def recipe(scale: float) -> Recipe:
    """The rows that bench_rows gives to Flink."""
    keys = max(round(FLINK_KEYS * scale), 1)
    return Recipe(round(FLINK_ROWS * scale), tuple("ABCDEF"), keys, gap=10_000_000 // keys)


def recognized(session: Any, clause: str, data: Any) -> int:
    return discard(session.sql(f"SELECT * FROM Events MATCH_RECOGNIZE ({clause})", Events=data))


def against_flink(scale: float) -> list[Row]:
    """Flink reads CSV files, the local engine the same rows in a Parquet file."""
    install()
    files, session, measured = csv(recipe(scale)), neelc.local(), []
    data = str(parquet(recipe(scale)))
    with Flink(files) as flink:
        for name, (ours, theirs) in BOTH.items():
            statement = f"SELECT COUNT(*) FROM events MATCH_RECOGNIZE ({theirs})"
            sides: dict[str, Callable[[], Any]] = {
                "local": partial(recognized, session, ours, data),
                "Flink": lambda statement=statement: flink.ask(statement, LIMIT)[0],  # type: ignore[misc]
            }
            measured += [
                faster(f"{name}, against Flink SQL", in_turn(sides), 30),
                agree(f"{name}: matches", {side: ask() for side, ask in sides.items()}),
            ]
    return measured


def against_sql(scale: float) -> list[Row]:
    """The same rows: DuckDB's SQL by hand, and neelc on Spark."""
    data, session = str(parquet(recipe(scale))), neelc.local()
    frame, measured = read(Path(data)), []
    for name, (clause, by_hand) in CLAUSES.items():
        each = clause.replace("AFTER MATCH SKIP PAST LAST ROW", EACH)
        on_spark = neelc.sql(
            frame.sparkSession, f"SELECT * FROM Events MATCH_RECOGNIZE ({each})", Events=frame
        )
        sides: dict[str, Callable[[], Any]] = {
            "local": partial(recognized, session, each, data),
            "by hand": partial(duck, by_hand.format(path=data)),
            "Spark": partial(execute, on_spark),
        }
        taken = in_turn(sides, REPEATED, warm=2)
        counts = {"local": sides["local"](), "by hand": sides["by hand"](), "Spark": on_spark.count()}
        measured += [
            faster(f"{name} from each row, against DuckDB's SQL by hand", of(taken, "local", "by hand"), 1.0),
            faster(f"{name} from each row, against Spark", of(taken, "local", "Spark")),
            agree(f"{name} from each row: matches", counts),
        ]
    return measured


def python(*arguments: str) -> None:
    """A process to its end, in the directory of the example."""
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=HOSPITAL, env=ENVIRONMENT, check=True, capture_output=True)


def start_up() -> Row:
    sides = {"run": partial(python, *RUN), "import duckdb, pyarrow, numpy": partial(python, *LOAD)}
    return slower("neelc run --engine local, from the shell", in_turn(sides, STARTS), 3.5)


MEMORY = """import resource, sys, time
import neelc
begin = time.perf_counter()
session = neelc.local(memory="4GB")
stream = neelc.stream(sys.argv[1], type="kind")
count = sum(batch.num_rows for batch in session.sql(sys.argv[2], Events=stream))
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
each = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
session.close()
each = max(each, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(count, time.perf_counter() - begin, own, each)
"""


def larger_than_memory(scale: float) -> list[Row]:
    """100 million events with 4 GB; the greatest resident sets of the process and of its largest helper."""
    path = parquet(keyed(20 * scale))
    command = [sys.executable, "-c", MEMORY, str(path), QUERY]
    done = subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    count, seconds, own, each = done.stdout.split()
    shown = f"{float(seconds):.1f} s, {int(count):,} matches"
    sets = f"{int(own) / 2**20:.2f} GiB, each helper {int(each) / 2**20:.2f} GiB"
    return [Row("100 million events, 4 GB of memory", shown), Row("the same: greatest resident sets", sets)]


def rows(scale: float) -> list[Row]:
    measured = [*keyed_sequence(scale), *against_flink(scale), *against_sql(scale), start_up()]
    return [*measured, *larger_than_memory(scale)] if os.environ.get("LARGE") else measured
