"""Against Spark SQL written by hand: self-joins with time ranges and NOT EXISTS.

The SQL is what a good engineer writes: equal keys first, each range bounded on both sides, each NOT EXISTS
as early as its events are known. Dense: 2,000 events of each key, a few hundred of them in a window.
Sparse: 10 events of each key, 5 in a window.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import agree, faster, in_turn
from bench.spark import execute, matches, read, session

KINDS = tuple("ABCDEFGH")
EVERY = 10
"""Seconds between two events of a key."""
DENSE_GOAL, SPARSE_GOAL = 10.0, 1.5
DENSE_WINDOW, SPARSE_WINDOW = 300, 5
WINDOWS = (25, 50, 100, 200, 400)

QUERY = """PATTERN SEQ(A a, !G g, B b, !C c, F f)
WHERE [id] WITHIN {seconds} SECONDS RETURN a.id, a.ts AS first, b.ts AS second, f.ts AS third"""
QUERIES = {f"window of {events}": QUERY.format(seconds=EVERY * events) for events in WINDOWS}

SQL = """
WITH pairs AS (
  SELECT a.id, a.ts AS first, b.ts AS second
  FROM events a JOIN events b
    ON b.id = a.id AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL {seconds} SECONDS
  WHERE a.kind = 'A' AND b.kind = 'B'
    AND NOT EXISTS (
      SELECT 1 FROM events g WHERE g.kind = 'G' AND g.id = a.id AND g.ts > a.ts AND g.ts < b.ts))
SELECT pairs.id, pairs.first, pairs.second, f.ts AS third
FROM pairs JOIN events f
  ON f.id = pairs.id AND f.ts > pairs.second AND f.ts <= pairs.first + INTERVAL {seconds} SECONDS
WHERE f.kind = 'F'
  AND NOT EXISTS (
    SELECT 1 FROM events c WHERE c.kind = 'C' AND c.id = pairs.id AND c.ts > pairs.second AND c.ts < f.ts)
"""


def recipe(events: int, keys: int) -> Recipe:
    return Recipe(events, KINDS, keys, gap=EVERY * 1_000_000 // keys)


def sides(window: int, frame: Any) -> dict[str, Any]:
    """Both as DataFrames; `window` in events of a key."""
    frame.createOrReplaceTempView("events")
    seconds = EVERY * window
    return {
        "neelc": matches(QUERY.format(seconds=seconds), frame, "kernel"),
        "Spark SQL": session().sql(SQL.format(seconds=seconds)),
    }


def compared(
    what: str,
    window: int,
    asked: Recipe,
    goal: float | None,
    figure: str = "",
    at: str = "",
    warm: int = 1,
) -> Row:
    frames = sides(window, read(parquet(asked)))
    measured = in_turn({name: partial(execute, frame) for name, frame in frames.items()}, warm=warm)
    return faster(what, measured, goal, figure, at)


def rows(scale: float) -> list[Row]:
    dense = recipe(round(1_000_000 * scale), max(round(500 * scale), 1))
    sparse = recipe(round(1_000_000 * scale), max(round(100_000 * scale), 1))
    small = recipe(20_000, 10)
    series = recipe(round(200_000 * scale), max(round(100 * scale), 1))
    counts = {name: frame.count() for name, frame in sides(WINDOWS[2], read(parquet(small))).items()}
    figure = "window, in events of a key"
    return [
        agree("matches in a small stream", counts),
        compared(f"dense, {DENSE_WINDOW} events in a window", DENSE_WINDOW, dense, DENSE_GOAL),
        compared(f"sparse, {SPARSE_WINDOW} events in a window", SPARSE_WINDOW, sparse, SPARSE_GOAL, warm=5),
        *(
            compared(f"series: {window} events in a window", window, series, None, figure, str(window))
            for window in WINDOWS
        ),
    ]
