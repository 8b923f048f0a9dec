"""Words between parts, against the selection strategies that say the same of a whole query.

A SEQ of single events in which every part has NEXT, or STRICT, has the matches of SKIP TILL NEXT MATCH, or of
PARTITION CONTIGUITY. Of closures, the words have more matches than the strategies: a list may go on where a
run must end it; the goal there is for the time of each match. On the local engine, over one file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bench.bench_local import discard
from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import Measured, agree, in_turn, slower

import neelc

EVENTS = 2_000_000
KEYS = 20_000
GOAL = 1.1
TAIL = "PARTITION BY id WITHIN 10 MINUTES"
RETURN = "RETURN a.id AS id, a.ts AS first, c.ts AS last"

# What words say, what the strategy says, and whether both have the same matches.
PAIRS = {
    "NEXT": (f"SEQ(A a, NEXT B b, NEXT C c) {TAIL}", f"SEQ(A a, B b, C c) {TAIL} USING SKIP TILL NEXT MATCH"),
    "NEXT with a condition": (
        f"SEQ(A a, NEXT B b, NEXT C c) WHERE b.amount > a.amount AND c.amount > b.amount {TAIL}",
        f"SEQ(A a, B b, C c) WHERE b.amount > a.amount AND c.amount > b.amount {TAIL} "
        "USING SKIP TILL NEXT MATCH",
    ),
    "STRICT": (
        f"SEQ(A a, STRICT B b, STRICT C c) {TAIL}",
        f"SEQ(A a, B b, C c) {TAIL} USING PARTITION CONTIGUITY",
    ),
    "STRICT AMONG": (
        f"SEQ(A a, STRICT AMONG (A, B, C) B b, STRICT AMONG (A, B, C) C c) {TAIL}",
        f"SEQ(A a, B b, C c) {TAIL} USING SKIP TILL NEXT MATCH",
    ),
    "EACH NEXT": (
        f"SEQ(A a, NEXT B+ b[] EACH NEXT, NEXT C c) WHERE b[i].amount > b[i-1].amount {TAIL}",
        f"SEQ(A a, B+ b[], C c) WHERE b[i].amount > b[i-1].amount {TAIL} USING SKIP TILL NEXT MATCH",
    ),
    "EACH STRICT": (
        f"SEQ(A a, STRICT B+ b[] EACH STRICT, STRICT C c) {TAIL}",
        f"SEQ(A a, B+ b[], C c) {TAIL} USING PARTITION CONTIGUITY",
    ),
}
SAME = ("NEXT", "NEXT with a condition", "STRICT", "EACH STRICT")


def recipe(scale: float) -> Recipe:
    keys = max(round(KEYS * scale), 1)
    return Recipe(round(EVENTS * scale), tuple("ABCDEF"), keys, gap=10_000_000 // keys)


def found(session: Any, stream: Any, text: str) -> int:
    return discard(session.sql(f"PATTERN {text} {RETURN}", Events=stream))


def rows(scale: float) -> list[Row]:
    session, measured = neelc.local(), []
    stream = neelc.stream(str(parquet(recipe(scale))), type="kind")
    for name, (words, strategy) in PAIRS.items():
        sides: dict[str, Callable[[], Any]] = {
            "words": partial(found, session, stream, words),
            "strategy": partial(found, session, stream, strategy),
        }
        taken = in_turn(sides)
        counts = {side: ask() for side, ask in sides.items()}
        if name in SAME:
            measured.append(slower(f"{name}, against the strategy", taken, GOAL))
            measured.append(agree(f"{name}: matches", counts))
            continue
        more = counts["words"] > counts["strategy"]
        what = f"{name}, against the strategy, which finds {'fewer' if more else 'more'}"
        measured.append(slower(what, taken, None if more else GOAL))
        if more:
            measured.append(slower(f"{name}, for each 100,000 matches", for_each(taken, counts), GOAL))
        shown = ", ".join(f"{side} {count:,}" for side, count in counts.items())
        measured.append(Row(f"{name}: matches", shown))
    return measured


def for_each(taken: Mapping[str, Measured], counts: Mapping[str, int]) -> dict[str, Measured]:
    """The seconds for 100,000 matches."""
    return {
        side: replace(one, runs=tuple(run * 100_000 / max(1, counts[side]) for run in one.runs))
        for side, one in taken.items()
    }
