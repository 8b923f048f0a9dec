"""Agents and pattern matchers for random networks: their results have the columns k, x and y."""

from __future__ import annotations

from random import Random
from typing import Any

from neelc.arguments import UserAgent

Rows = list[dict[str, Any]]
COLUMNS = "k STRING, x INT, y DOUBLE"


def _both(left: Any, right: Any) -> Any:
    return left.unionByName(right)


def _later(frame: Any) -> Any:
    return frame.selectExpr("k", "x", "y", "ts + 2 AS ts", "te + 2 AS te")


def _large(frame: Any) -> Any:
    return frame.where("x > 0").selectExpr("k", "x", "y", "ts", "CAST(NULL AS BIGINT) AS te")


def _later_rows(rows: Rows) -> Rows:
    return [{**row, "ts": row["ts"] + 2, "te": None if row["te"] is None else row["te"] + 2} for row in rows]


def _large_rows(rows: Rows) -> Rows:
    return [{**row, "te": None} for row in rows if row["x"] is not None and row["x"] > 0]


AGENTS = {
    "both": UserAgent(_both, COLUMNS, 2, lambda left, right: [*left, *right]),
    "later": UserAgent(_later, COLUMNS, 1, _later_rows),
    "large": UserAgent(_large, COLUMNS, 1, _large_rows),
}

PATTERNS = ("abc", "ab*c", "ab+c", "a(b|c)a", "ab? c", "(a|b)c", "abc|ca", "a(bc)+a", "ab{2}c", "cab")
CONDITIONS = ("x > 0", "x = 1", "y IS NOT NULL", "k = 'a'", "x <> 2 OR y < 1", "x < 3")
COMPARED = ("x >= a.x", "y <> a.y", "k = a.k")


def agent_call(random: Random, one: str, other: str) -> str:
    """An agent over one or two sources."""
    name = random.choice(list(AGENTS))
    return f"both({one} AS q, {other} AS r)" if name == "both" else f"{name}({one} AS q)"


def matched(random: Random, source: str) -> str:
    """The matches of MATCH_RECOGNIZE_SEQUENTIAL over a source."""
    pattern = random.choice(PATTERNS)
    symbols = sorted(set(pattern) & set("abc"))
    measures = ", ".join(f"{random.choice(symbols)}.{name} AS m{name}" for name in "kxy")
    definitions = []
    for symbol in symbols:
        tests = random.sample(CONDITIONS, random.choice((0, 1, 1)))
        tests += (
            [random.choice(COMPARED)] if symbol != "a" and "a" in symbols and random.random() < 0.2 else []
        )
        definitions += [f"{symbol} AS {' AND '.join(f'({one})' for one in tests)}"] if tests else []
    within = random.choice(("", "", " WITHIN 4 SECONDS", " WITHIN 3 EVENTS"))
    by = random.choice(("", " PARTITION BY k"))
    define = f" DEFINE {', '.join(definitions)}" if definitions else ""
    clause = f"MATCH_RECOGNIZE_SEQUENTIAL (MEASURES {measures}{within}{by} PATTERN {pattern}{define})"
    return f"(SELECT mk AS k, mx AS x, my AS y FROM {source} {clause} AS m)"
