"""Keyed SEQ of 3 with a nested negation, against the floor.

The floor is what no plan can go without: read the columns, keep the types of the pattern, bring the events
of a key together, sort them, discard. 6 of the 8 types are in the pattern, so the filter keeps three
quarters. A key has an event every 10 seconds on average: 6 in a window.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import Measured, in_turn, slower
from bench.spark import execute, matches, read

KINDS = tuple("ABCDEFGH")
QUERY = """PATTERN SEQ(A a, B b, !SEQ(C c, D d, E e), F f)
WHERE [id] WITHIN 1 MINUTE RETURN a.id, a.ts AS start, f.ts AS stop"""
QUERIES = {"nested negation": QUERY}
EVENTS = 5_000_000
KEYS = 20_000
GOAL = 1.25


def recipe(scale: float) -> Recipe:
    keys = max(round(KEYS * scale), 1)
    return Recipe(round(EVENTS * scale), KINDS, keys, gap=10_000_000 // keys)


def floor(frame: Any) -> Any:
    wanted = frame.where(frame.kind.isin(*"ABCDEF")).select("id", "ts", "kind")
    return wanted.repartition("id").sortWithinPartitions("id", "ts")


def beside_floor(found: Any, floor: Any) -> dict[str, Measured]:
    """Both in turn, when Java has compiled what they run."""
    return in_turn({"neelc": partial(execute, found), "floor": partial(execute, floor)}, 5, warm=4)


def rows(scale: float) -> list[Row]:
    asked = recipe(scale)
    frame = read(parquet(asked))
    found = matches(QUERY, frame, "kernel")
    measured = beside_floor(found, floor(frame))
    speed = asked.events / measured["neelc"].seconds / 1e6
    return [
        slower(
            f"{asked.events:,} events, {asked.keys:,} keys", measured, GOAL, "against the floor", "keyed SEQ"
        ),
        Row("matches", f"{found.count():,}"),
        Row("events per second", f"{speed:.2f} million"),
    ]
