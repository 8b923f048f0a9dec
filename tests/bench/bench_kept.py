"""AFTER MATCH SKIP, ONE MATCH PER and SUPPRESS against the same query without them: what choosing costs more.

Sequences of two and of three events, keyed, on the local engine. A key has an event every 10 seconds on
average. In a window of a minute there are few matches for each start, in one of ten minutes many.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.bench_local import discard
from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import in_turn, slower

import neelc

KINDS = tuple("ABCDEFGH")
EVENTS = 2_000_000
KEYS = 20_000
CLAUSES = {
    "skip past last event": "AFTER MATCH SKIP PAST LAST EVENT",
    "one match per c": "ONE MATCH PER c",
    "suppress": "SUPPRESS 1 MINUTE",
}
GOALS = {"skip past last event": 1.2, "one match per c": 1.5, "suppress": 1.5}
"""The others compare more matches: those of one start may all count."""
WINDOWS = ("1 MINUTE", "10 MINUTES")


def query(window: str, clause: str = "") -> str:
    sequence = "SEQ(A a, B b, C c) WHERE [id] AND c.amount > b.amount"
    return (
        f"PATTERN {sequence} WITHIN {window} {clause} RETURN a.id, a.ts AS start, b.amount, match_end AS stop"
    )


def rows(scale: float) -> list[Row]:
    keys = max(round(KEYS * scale), 1)
    recipe = Recipe(round(EVENTS * scale), KINDS, keys, gap=10_000_000 // keys)
    session, data = neelc.local(), neelc.stream(str(parquet(recipe)), type="kind")
    return [
        _compared(f"{name}, {window}", session, data, query(window), query(window, clause), GOALS[name])
        for window in WINDOWS
        for name, clause in CLAUSES.items()
    ]


def _compared(name: str, session: Any, data: Any, every: str, some: str, goal: float) -> Row:
    sides = {
        side: partial(_run, session, text, data) for side, text in (("kept", some), ("all matches", every))
    }
    return slower(name, in_turn(sides), goal, "which matches are kept", name)


def _run(session: Any, text: str, data: Any) -> int:
    return discard(session.sql(text, Events=data))
