"""WITH PARTIAL MATCHES against the same query without it: what the drop-off of a funnel costs more.

Funnels of three and of five steps, keyed. A key has an event every 10 seconds on average. In a window of a
minute most starts drop off, in one of ten minutes there are many ways through the funnel for each start.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import in_turn, slower
from bench.spark import execute, matches, read

KINDS = tuple("ABCDEFGH")
EVENTS = 2_000_000
KEYS = 20_000
GOAL = 3.0
STEPS = {
    "3 steps": "SEQ(A a, B b, C c) WHERE [id]",
    "3 steps, a condition": "SEQ(A a, B b, C c) WHERE [id] AND c.amount > b.amount",
    "5 steps": "SEQ(A a, B b, C c, D d, E e) WHERE [id]",
}
WINDOWS = ("1 MINUTE", "10 MINUTES")


def query(steps: str, window: str, partial: bool) -> str:
    more = " WITH PARTIAL MATCHES" if partial else ""
    return f"PATTERN {steps} WITHIN {window}{more} RETURN a.id, a.ts AS start, match_end AS stop"


ASKED = [
    (name, window) for name in STEPS for window in WINDOWS if (name, window) != ("5 steps", "10 MINUTES")
]
QUERIES = {
    f"{name}, {window}, {'partial' if more else 'complete'}": query(STEPS[name], window, more)
    for name, window in ASKED
    for more in (True, False)
}


def rows(scale: float) -> list[Row]:
    keys = max(round(KEYS * scale), 1)
    recipe = Recipe(round(EVENTS * scale), KINDS, keys, gap=10_000_000 // keys)
    frame = read(parquet(recipe))
    return [_compared(name, window, frame) for name, window in ASKED]


def _compared(name: str, window: str, frame: Any) -> Row:
    sides = {
        side: partial(execute, matches(query(STEPS[name], window, side == "partial"), frame, "kernel"))
        for side in ("partial", "complete")
    }
    return slower(f"{name}, {window}", in_turn(sides), GOAL, "partial matches", name)
