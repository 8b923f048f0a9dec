"""Against Flink SQL's MATCH_RECOGNIZE, on the same CSV files, with two cores on both sides.

A pattern of MATCH_RECOGNIZE is contiguous: between the events of a sequence stand quantified symbols for
what is passed over. With `AFTER MATCH SKIP TO NEXT ROW` it finds at most one match for each first event;
neelc finds all matches, which is more work. Both agree on which first events have a match. Flink's window
leaves out its end. The V, falling prices and then a rise, is contiguous for both: they find the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.data import Recipe, csv
from bench.flink import Flink, install
from bench.row import Row
from bench.sides import agree, faster, in_turn
from bench.spark import execute, matches, session

KINDS = tuple("ABCDEFGH")
EVENTS = 2_000_000
KEYS = 5_000
GOAL = 20.0
LIMIT = 300.0
FIGURE = "against Flink SQL"

SQL = """SELECT COUNT(*) FROM events MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY happened
  MEASURES A.ts AS started, F.ts AS ended
  ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
  PATTERN ({pattern}) WITHIN INTERVAL '1' MINUTE
  DEFINE A AS kind = 'A', B AS kind = 'B', F AS kind = 'F', {passed})"""
SCAN = "SELECT COUNT(*), MAX(ts), MAX(id) FROM events"

# The pattern, Flink's pattern, and what Flink's pattern passes over. Where possible there is one way only to
# match an event: Flink follows each.
PATTERNS: dict[str, tuple[str, str, str]] = {
    "sequence": ("SEQ(A a, B b, F f)", "A X* B Y* F", "X AS kind <> 'B', Y AS kind <> 'F'"),
    # The first F after a B has the least between them. A C is passed over once, then a D, then no E.
    "nested negation": (
        "SEQ(A a, B b, !SEQ(C c, D d, E e), F f)",
        "A X*? B Y*? C? Z*? D? W*? F",
        "Y AS kind NOT IN ('C', 'F'), C AS kind = 'C', Z AS C.ts IS NOT NULL AND kind NOT IN ('D', 'F'), "
        "D AS C.ts IS NOT NULL AND kind = 'D', W AS D.ts IS NOT NULL AND kind NOT IN ('E', 'F')",
    ),
}

V = """PATTERN SEQ(Events a, Events+ b[], Events c)
WHERE [id] AND b[1].amount < a.amount AND b[i].amount < b[i-1].amount AND c.amount > b[last].amount
PARTITION BY id USING PARTITION CONTIGUITY
RETURN a.id, a.ts AS first, c.ts AS last, b[last].amount AS lowest"""
V_SQL = """SELECT COUNT(*) FROM everything MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY happened
  MEASURES A.ts AS started, C.ts AS ended, LAST(B.amount) AS lowest
  ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B+ C)
  DEFINE B AS (LAST(B.amount, 1) IS NULL AND B.amount < A.amount) OR B.amount < LAST(B.amount, 1),
         C AS C.amount > LAST(B.amount))"""


def query(name: str, returned: str = "a.id, a.ts AS first, f.ts AS last") -> str:
    return f"PATTERN {PATTERNS[name][0]} WHERE [id] WITHIN 59999 MILLISECONDS RETURN {returned}"


QUERIES = {name: query(name) for name in PATTERNS}


def statement(name: str) -> str:
    _, pattern, passed = PATTERNS[name]
    return SQL.format(pattern=pattern, passed=passed)


def recipe(scale: float) -> Recipe:
    keys = max(round(KEYS * scale), 1)
    return Recipe(round(EVENTS * scale), KINDS, keys, gap=10_000_000 // keys)


def compared(name: str, mode: str, frame: Any, flink: Flink, goal: float | None) -> list[Row]:
    counted: list[int] = []

    def ask() -> None:
        counted.append(flink.ask(statement(name), LIMIT)[0])

    found = matches(query(name), frame, "kernel")
    sides: dict[str, Callable[[], object]] = {"neelc": partial(execute, found), "Flink": ask}
    what = f"{name}, {mode}"
    rows = [faster(what, in_turn(sides), goal, FIGURE, what)]
    if counted:
        ours = found.select("a_id", "first").distinct().count()
        rows.append(agree(f"{what}: first events with a match", {"neelc": ours, "Flink": counted[-1]}))
    return [*rows, Row(f"{what}: matches that neelc finds", f"{found.count():,}")]


def falling(frame: Any, flink: Flink) -> list[Row]:
    """The V, from each event on."""
    counted: list[int] = []
    found = matches(V, frame, "kernel", type=None)
    sides: dict[str, Callable[[], object]] = {
        "neelc": partial(execute, found),
        "Flink": lambda: counted.append(flink.ask(V_SQL, LIMIT)[0]),
    }
    rows = [faster("V, batch", in_turn(sides), GOAL, FIGURE, "V")]
    return [*rows, *(agree("V: matches", {"neelc": found.count(), "Flink": count}) for count in counted[-1:])]


def rows(scale: float) -> list[Row]:
    install()
    asked = recipe(scale)
    found = []
    files = csv(asked)
    frame = session().read.schema("ts BIGINT, kind STRING, id BIGINT, amount INT").csv(str(files))
    with Flink(files) as flink:
        scans = in_turn({"Spark": lambda: execute(frame), "Flink": lambda: flink.ask(SCAN, LIMIT)})
        found.append(faster("reading alone", scans, None, FIGURE, "reading"))
        found += falling(frame, flink)
        for name in PATTERNS:
            found += compared(name, "batch", frame, flink, GOAL)
    # In streaming mode what arrives behind its time is dropped: one file, in the order of time.
    with Flink(csv(asked, files=1), "streaming") as flink:
        found += compared("nested negation", "streaming", frame, flink, GOAL)
    return found
