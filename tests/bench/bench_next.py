"""SKIP TILL NEXT MATCH with Kleene closure, keyed, against the floor.

Falling prices and then a rise: a V, from each event of type A on. The floor reads the same columns, keeps the
same types, brings the events of a key together, sorts them and discards them.
"""

from __future__ import annotations

from typing import Any

from bench.bench_floor import beside_floor
from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import slower
from bench.spark import matches, read

KINDS = tuple("ABCD")
EVENTS = 2_000_000
KEYS = 20_000
GOAL = 1.3
QUERY = """PATTERN SEQ(A a, B+ b[], C c)
WHERE [id] AND b[1].amount < a.amount AND b[i].amount < b[i-1].amount AND c.amount > b[last].amount
WITHIN 10 MINUTES USING SKIP TILL NEXT MATCH RETURN a.id, a.ts AS start, c.ts AS stop, count(b[]) AS falls"""
QUERIES = {"V": QUERY}


def recipe(scale: float) -> Recipe:
    keys = max(round(KEYS * scale), 1)
    return Recipe(round(EVENTS * scale), KINDS, keys, gap=10_000_000 // keys)


def floor(frame: Any) -> Any:
    wanted = frame.where(frame.kind.isin(*"ABC")).select("id", "ts", "kind", "amount")
    return wanted.repartition("id").sortWithinPartitions("id", "ts")


def rows(scale: float) -> list[Row]:
    asked = recipe(scale)
    frame = read(parquet(asked))
    found = matches(QUERY, frame, "kernel")
    measured = beside_floor(found, floor(frame))
    what = f"V under SKIP TILL NEXT MATCH, {asked.events:,} events, {asked.keys:,} keys"
    return [
        slower(what, measured, GOAL, "against the floor", "next match"),
        Row("matches", f"{found.count():,}"),
    ]
