"""The event algebra: sliding aggregates and correlators against Spark's own; what each optimisation is worth.

Each optimisation stands beside the figure of the JEPC thesis that measures it (chapter 19): there it is the
throughput of Esper with and without it, here the time of one query. Spark's own RANGE window computes
each frame anew, so its stream is only a little longer than one window.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.baselines import plan_late
from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import agree, faster, in_turn
from bench.spark import execute, matches, read, session

QUERIES: dict[str, str] = {}
"""No PATTERN here."""

WINDOW = 100_000
"""Events in the window of sliding aggregates; they are a millisecond apart."""
SLIDING_GOAL = 20.0
KINDS = tuple("ABCD")

SLIDING = """SELECT avg(amount) AS mean, max(amount) AS most
FROM Events WINDOW(TIME {window} MILLISECONDS)"""
RANGE = """SELECT avg(amount) OVER w AS mean, max(amount) OVER w AS most FROM events
WINDOW w AS (ORDER BY ts RANGE BETWEEN INTERVAL '{seconds}' SECOND PRECEDING AND CURRENT ROW)"""

CORRELATED = """SELECT a.id AS id, a.amount AS first, b.amount AS second
FROM (SELECT id, kind, amount FROM Events WINDOW(TIME 10 SECONDS)) AS a,
     (SELECT id, kind, amount FROM Events WINDOW(TIME 10 SECONDS)) AS b
WHERE a.id = b.id AND a.kind = 'A' AND b.kind = 'B'"""
RANGE_JOIN = """SELECT a.id, a.amount AS first, b.amount AS second, greatest(a.ts, b.ts) AS ts
FROM events a JOIN events b ON a.id = b.id
  AND a.ts < b.ts + INTERVAL 10 SECONDS AND b.ts < a.ts + INTERVAL 10 SECONDS
WHERE a.kind = 'A' AND b.kind = 'B'"""

OPTIMISED = {
    "predicates in order (figure 19.5)": """SELECT id, amount FROM Events
WHERE amount >= 0 AND amount < 1000 AND amount <> 1001 AND kind LIKE '%' AND id = 3""",
    "filters merged (figures 19.6, 19.7)": """SELECT id, amount
FROM (SELECT id, amount FROM Events WHERE amount > 100) AS f WHERE amount < 900""",
    "filter below a correlator (figure 19.8)": """SELECT *
FROM (SELECT a.id AS id, a.amount AS first, b.amount AS second
      FROM (SELECT id, amount FROM Events WINDOW(TIME 5 SECONDS)) AS a,
           (SELECT id, amount FROM Events WINDOW(TIME 5 SECONDS)) AS b WHERE a.id = b.id) AS c
WHERE first < 10""",
    "filter below an aggregator (figure 19.9)": """SELECT *
FROM (SELECT id, max(amount) AS most FROM Events WINDOW(TIME 100 SECONDS) GROUP BY id) AS g WHERE id = 1""",
    "extended filter before a matcher (figure 19.12)": """SELECT *
FROM Events MATCH_RECOGNIZE_SEQUENTIAL (
  MEASURES a.amount AS first, e.amount AS last WITHIN 10 MILLISECONDS PATTERN abcde
  DEFINE a AS amount < 500, b AS amount >= 500, c AS amount = 7, d AS amount < 500, e AS amount >= 500)""",
    "one extended filter before two matchers (19.2.4)": """SELECT m.first AS first, n.last AS last
FROM Events MATCH_RECOGNIZE_SEQUENTIAL (
  MEASURES a.amount AS first WITHIN 10 MILLISECONDS PATTERN abc
  DEFINE a AS amount < 500, b AS amount = 7, c AS amount >= 500) AS m,
Events MATCH_RECOGNIZE_SEQUENTIAL (
  MEASURES c.amount AS last WITHIN 5 MILLISECONDS PATTERN bc
  DEFINE b AS amount = 7, c AS amount >= 500) AS n""",
    "filter into a matcher (19.2.2.4)": """SELECT *
FROM (SELECT first, middle, last FROM Events MATCH_RECOGNIZE_SEQUENTIAL (
  MEASURES a.amount AS first, c.amount AS middle, e.amount AS last WITHIN 10 MILLISECONDS PATTERN abcde
  DEFINE a AS amount < 500, b AS amount >= 500, c AS amount < 500, d AS amount >= 500,
         e AS amount >= 500)) AS m
WHERE middle = 7""",
    "correlators in order (figure 19.11)": """SELECT a.id AS id, c.amount AS amount
FROM (SELECT id, amount FROM Events WINDOW(TIME 3 SECONDS)) AS a,
     (SELECT id, amount FROM Events WINDOW(TIME 3 SECONDS)) AS b,
     (SELECT id, amount FROM Events WINDOW(TIME 3 SECONDS)) AS c
WHERE a.id = b.id AND b.id = c.id AND c.amount = 7 AND a.amount < b.amount""",
}


def sliding(events: int, window: int) -> Row:
    frame = read(parquet(Recipe(events, KINDS, 1, gap=1000)))
    frame.createOrReplaceTempView("events")
    ours = matches(SLIDING.format(window=window), frame, type=None)
    theirs = session().sql(RANGE.format(seconds=f"{(window - 0.001) / 1000:.6f}"))
    execute(ours)  # the RANGE window runs too long to be warmed up as well, and has no need of it
    measured = in_turn({"neelc": partial(execute, ours), "RANGE window": partial(execute, theirs)}, 1, 0)
    return faster(f"sliding avg and max, {window:,} events in a window", measured, SLIDING_GOAL)


def correlated(events: int, keys: int) -> list[Row]:
    frame = read(parquet(Recipe(events, KINDS, keys, gap=1000)))
    frame.createOrReplaceTempView("events")
    ours, theirs = matches(CORRELATED, frame, type=None), session().sql(RANGE_JOIN)
    measured = in_turn({"neelc": partial(execute, ours), "range join": partial(execute, theirs)})
    return [
        agree("pairs of a correlator and of a range join", {"neelc": ours.count(), "join": theirs.count()}),
        faster("correlator, against the range join by hand", measured),
    ]


def optimised(what: str, query: str, events: int) -> Row:
    """The query with and without what the optimiser does."""
    frame = read(parquet(Recipe(events, KINDS, 200, gap=1000)))
    frames: dict[str, Any] = {
        "optimised": matches(query, frame, type=None),
        "as written": matches(query, frame, type=None, planner=plan_late),
    }
    return faster(what, in_turn({name: partial(execute, one) for name, one in frames.items()}))


def rows(scale: float) -> list[Row]:
    window = max(round(WINDOW * min(scale, 1)), 100)
    small = round(200_000 * scale)
    return [
        sliding(window * 6 // 5, window),
        *correlated(round(1_000_000 * scale), max(round(1000 * scale), 10)),
        # A matcher is fast: only on a longer stream it matters what it reads.
        *(
            optimised(what, query, 10 * small if "SEQUENTIAL" in query else small)
            for what, query in OPTIMISED.items()
        ),
    ]
