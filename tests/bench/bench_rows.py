"""MATCH_RECOGNIZE: against the floor, against Flink SQL, and patterns that others search for a long time.

The floor reads the same columns, brings the rows of a key together, sorts them and discards them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from bench.bench_floor import beside_floor
from bench.data import Recipe, csv, parquet
from bench.flink import Flink, install
from bench.row import Row
from bench.sides import agree, faster, in_turn, slower
from bench.spark import execute, read, session

KINDS = tuple("ABCDEFGH")
ROWS, KEYS = 5_000_000, 20_000
FLINK_ROWS, FLINK_KEYS = 2_000_000, 5_000
MOST, LEAST, LIMIT = 1.6, 20.0, 300.0

V_SHAPE = """PARTITION BY id ORDER BY {time}
  MEASURES FIRST(A.ts) AS began, LAST(B.amount) AS low, LAST(C.ts) AS ended
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN ({pattern})
  DEFINE {define}"""
FALLS = "B AS B.amount < PREV(B.amount), C AS C.amount > PREV(C.amount)"
# Flink has no PREV, and ends no pattern with a greedy quantifier.
FLINK_FALLS = """B AS (LAST(B.amount, 1) IS NULL AND B.amount < A.amount) OR B.amount < LAST(B.amount, 1),
    C AS C.amount > B.amount"""
FUNNEL = """PARTITION BY id ORDER BY {time}
  MEASURES A.ts AS began, E.ts AS ended
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A X1* B X2* C X3* D X4* E)
  DEFINE A AS kind = 'A', X1 AS kind <> 'B', B AS kind = 'B', X2 AS kind <> 'C', C AS kind = 'C',
    X3 AS kind <> 'D', D AS kind = 'D', X4 AS kind <> 'E', E AS kind = 'E'"""
PATTERNS = {
    "V shape": (V_SHAPE.format(time="ts", pattern="A B+ C+", define=FALLS), ("id", "ts", "amount")),
    "funnel of 5 steps": (FUNNEL.format(time="ts"), ("id", "ts", "kind")),
}
BOTH = {
    "V shape": (
        V_SHAPE.format(time="ts", pattern="A B+ C", define=FALLS),
        V_SHAPE.format(time="happened", pattern="A B+ C", define=FLINK_FALLS),
    ),
    "funnel of 5 steps": (FUNNEL.format(time="ts"), FUNNEL.format(time="happened")),
}
HARD = {"A? 30 times, then B": " ".join(["A?"] * 30) + " B", "A* A* A* B": "A* A* A* B"}


def found(clause: str, frame: Any) -> Any:
    """The result of a clause over the rows of a DataFrame."""
    import neelc

    frame.createOrReplaceTempView("bench_rows")
    return neelc.sql(session(), f"SELECT * FROM bench_rows MATCH_RECOGNIZE ({clause})")


def rows(scale: float) -> list[Row]:
    return [*against_floor(scale), *against_flink(scale), *hard_patterns(scale), *long_matches()]


def against_floor(scale: float) -> list[Row]:
    keys = max(round(KEYS * scale), 1)
    asked = Recipe(round(ROWS * scale), KINDS, keys, gap=10_000_000 // keys)
    frame = read(parquet(asked))
    measured = []
    for name, (clause, columns) in PATTERNS.items():
        floor = frame.select(*columns).repartition("id").sortWithinPartitions("id", "ts")
        ours = found(clause, frame)
        what = f"{name}, {asked.events:,} rows, {asked.keys:,} keys"
        measured.append(slower(what, beside_floor(ours, floor), MOST, "against the floor", name))
        measured.append(Row(f"{name}: matches", f"{ours.count():,}"))
    return measured


def against_flink(scale: float) -> list[Row]:
    """Flink reads CSV files. Spark reads the same files, and the same rows in Parquet files."""
    install()
    keys = max(round(FLINK_KEYS * scale), 1)
    asked = Recipe(round(FLINK_ROWS * scale), tuple("ABCDEF"), keys, gap=10_000_000 // keys)
    files = csv(asked)
    frames = {
        "Parquet": read(parquet(asked)),
        "CSV": session().read.schema("ts BIGINT, kind STRING, id BIGINT, amount INT").csv(str(files)),
    }
    measured = []
    with Flink(files) as flink:
        for name, clauses in BOTH.items():
            what = f"{name}, {asked.events:,} rows"
            measured += beside_flink(name, what, clauses, frames, flink)
    return measured


def beside_flink(
    name: str, what: str, clauses: tuple[str, str], frames: dict[str, Any], flink: Flink
) -> list[Row]:
    ours, theirs = clauses
    counted: list[int] = []

    def ask() -> None:
        counted.append(flink.ask(f"SELECT COUNT(*) FROM events MATCH_RECOGNIZE ({theirs})", LIMIT)[0])

    results = {form: found(ours, frame) for form, frame in frames.items()}
    sides: dict[str, Callable[[], object]] = {form: partial(execute, one) for form, one in results.items()}
    taken = in_turn({**sides, "Flink": ask})
    measured = [
        faster(f"{what}, {form}", {"neelc": taken[form], "Flink": taken["Flink"]}, LEAST, figure, name)
        for form, figure in {"Parquet": "against Flink SQL", "CSV": ""}.items()
    ]
    if counted:
        counts = {form: one.count() for form, one in results.items()}
        measured.append(agree(f"{name}: matches", {**counts, "Flink": counted[-1]}))
    return measured


def hard_patterns(scale: float) -> list[Row]:
    """Nothing but A: no match anywhere, and a search that tries each way never ends."""
    measured = []
    for name, pattern in HARD.items():
        seconds = {count: no_match(pattern, count) for count in (10_000, 20_000, 40_000)}
        shown = ", ".join(f"{count:,} rows {taken * 1000:.0f} ms" for count, taken in seconds.items())
        linear = seconds[40_000] < 10 * max(seconds[10_000], 0.005)
        measured.append(Row(name, shown, "linear in rows", linear, {f"{n}": s for n, s in seconds.items()}))
    return measured


def no_match(pattern: str, count: int) -> float:
    """The seconds that the kernel takes for one partition of rows that are all mapped to A."""
    from neelc.ir.row_patterns import MatchRecognize
    from neelc.rows.plan.plan import machine_of
    from neelc.runtime.kernels.rows.kernel import recognizer
    from neelc.runtime.kernels.rows.program import RowProgram
    from neelc.source import Source, Span
    from neelc.syntax import row_match

    source = Source(f"MATCH_RECOGNIZE (PATTERN ({pattern}))")
    clause = row_match(source, Span(0, len(source.text)))
    assert isinstance(clause, MatchRecognize)
    program = RowProgram(machine_of(clause.pattern, ("A", "B")), ("A", "B"), (), (), flagged=True)
    table = pa.table({"bits": np.full(count, 1, dtype=np.int32)})
    begin = time.perf_counter()
    assert sum(batch.num_rows for batch in recognizer(program)(iter(table.to_batches()))) == 0
    return time.perf_counter() - begin


def long_matches() -> list[Row]:
    """One match of all rows, which asks for an aggregate of its rows at each of them."""
    measured = []
    for name in ("sum", "max", "stddev"):
        seconds = {count: one_match(name, count) for count in (10_000, 20_000, 40_000)}
        shown = ", ".join(f"{count:,} rows {taken:.2f} s" for count, taken in seconds.items())
        linear = seconds[40_000] < 10 * seconds[10_000]
        figures = {f"{n}": s for n, s in seconds.items()}
        measured.append(Row(f"{name} in DEFINE, one match", shown, "linear in rows", linear, figures))
    return measured


def one_match(aggregate: str, count: int) -> float:
    """The seconds that the kernel takes for `A+` where A asks for an aggregate of the rows of A."""
    from neelc.runtime.kernels.rows.kernel import recognizer
    from neelc.runtime.kernels.rows.program import (
        ACCEPT,
        ConditionValue,
        CountOutput,
        Machine,
        RowCondition,
        RowProgram,
    )
    from neelc.runtime.program import Apply, ColumnValue, Constant

    machine = Machine((0,), (False,), (0,), (0,), ((0, ACCEPT),), (True,))
    holds = Apply(
        ">=", (Apply("coalesce", (ColumnValue("a", "value"), Constant(0.0)), "double"), Constant(0.0))
    )
    condition = RowCondition(0, holds, ("value",), (ConditionValue(None, "x", aggregate, 1, "double"),))
    program = RowProgram(machine, ("A",), (), (CountOutput("rows", 1),), conditions=(condition,))
    table = pa.table({"x": np.random.default_rng(1).random(count)})
    begin = time.perf_counter()
    (found,) = recognizer(program)(iter(table.to_batches()))
    assert found.column("rows").to_pylist() == [count]
    return time.perf_counter() - begin
