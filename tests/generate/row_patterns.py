"""Random MATCH_RECOGNIZE clauses, and rows for them: few values, so that much is equal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

VARIABLES = "ABC"
QUANTIFIERS = (
    "",
    "",
    "",
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "??",
    "{2}",
    "{1,2}",
    "{,2}",
    "{2,}",
    "{0,2}?",
    "{1,}?",
    "{0}",
)
PLAIN = (
    "x > 1", "x = 0", "kind = 'a'", "kind <> 'b'", "x IS NULL", "y < 2.5", "x + 1 > 1", "{v}.x < 2",
    "upper(kind) = 'A'", "y >= 0",
)  # fmt: skip
NEARBY = (
    "x > PREV(x)", "{v}.x < PREV({v}.x)", "NEXT(x) IS NULL", "x <= PREV(x, 2)", "kind = NEXT(kind)",
    "kind <> PREV(kind)", "x - PREV(x) > 0", "coalesce(PREV(x), 1) <= x", "PREV(coalesce(x, 1)) = 1",
    "y > PREV(y)", "x > PREV(x) OR kind = 'a'", "concat(kind, PREV(kind)) = 'ab'",
    "NOT (y = NEXT(y, 1))", "PREV(x, 0) = x",
    "CASE WHEN x > PREV(x) THEN kind = 'a' ELSE x IS NULL END", "PREV({v}.x + 1) BETWEEN x AND 3",
)  # fmt: skip
PATH = (
    "x > A.x", "x < LAST(B.x, 1)", "count(*) < 3", "sum(x) <= 4", "FIRST(x) = x",
    "x >= PREV(LAST({v}.x, 1))", "CLASSIFIER(A) IS NULL", "MATCH_NUMBER() < 3",
    "count(A.*) <= count(B.*)", "avg(B.y) > 1", "min(U.x) = 0", "PREV(FIRST(A.x, 1), 1) = x",
    "LAST(CLASSIFIER(), 1) = 'A'", "RUNNING max(x) < 3", "A.x + B.x > {v}.x",
    "count(DISTINCT kind) < 2", "NEXT(A.x) > 0", "LAST(x, 1) IS NULL OR x > LAST(x, 1)",
    "count(A.kind) = 1", "U.x = x", "PREV(CLASSIFIER()) IS NULL", "x > avg(x)",
    "stddev(y) < 1", "sum(DISTINCT x) < 4", "var_pop(U.x) <= 0.25", "bool_or(A.x > 2) OR count(*) < 3",
    "array_contains(collect_set({v}.x), 1)", "max(U.y) > min(y)", "sum(B.y) < 9", "min(kind) = kind",
    "LAST(concat(kind, CLASSIFIER()), 1) <> 'aA'", "FIRST(x + MATCH_NUMBER()) < 4",
    "PREV(CLASSIFIER() = 'B' OR x > 1) IS NOT NULL", "count(DISTINCT concat(kind, CLASSIFIER())) < 3",
    "sum(x * MATCH_NUMBER()) < 6", "bool_or(CLASSIFIER(U) = 'B' AND U.x > 1) OR count(*) < 2",
    "max(concat(U.kind, lower(CLASSIFIER(U)))) < 'bb'",
    "LAST(CASE WHEN CLASSIFIER(A) = 'A' THEN A.y END) > 0", "sum(x) FILTER (WHERE kind = 'a') < 3",
    "count(*) FILTER (WHERE x > 1) < 2", "count(U.*) FILTER (WHERE CLASSIFIER(U) = 'B' OR U.x = 0) < 2",
    "max_by(kind, x) = 'a'", "min_by(x, y) FILTER (WHERE kind <> 'b') IS NULL", "any_value(A.x) > 0",
    "max_by(A.x, A.y) <= x", "min_by(CLASSIFIER(), x) = 'A'", "size(array_agg(x)) < 3",
    "any_value(kind) FILTER (WHERE x IS NULL) IS NULL",
)  # fmt: skip
STARTING = (
    "FIRST(x) > 1", "upper(FIRST(kind)) = 'A'", "A.x < 2", "FIRST(A.x) = 1", "NEXT(FIRST(x)) >= 1",
    "PREV(FIRST(x), 2) < FIRST(x)", "FIRST(B.y) > 0 OR FIRST(B.x) IS NULL", "FIRST(x) < x",
    "FIRST(U.x) + 1 > x", "LAST(x, 1) < FIRST(x)", "count(*) < FIRST(x)",
)  # fmt: skip
MEASURES = (
    "A.x", "x", "FIRST(x)", "LAST(B.x)", "FINAL LAST(x)", "RUNNING LAST(A.x, 1)",
    "FINAL FIRST(B.kind, 1)", "PREV(x)", "NEXT(x, 2)", "PREV(FIRST(A.x, 1), 2)",
    "NEXT(FINAL LAST(C.x))", "CLASSIFIER()", "CLASSIFIER(U)", "MATCH_NUMBER()", "count(*)",
    "FINAL count(*)", "count(A.*)", "sum(x)", "FINAL sum(B.x)", "avg(U.y)", "max(kind)", "min(C.x)",
    "count(DISTINCT x)", "FINAL count(DISTINCT U.kind)", "PREV(CLASSIFIER())", "FIRST(CLASSIFIER(), 1)",
    "A.x + B.x", "x - FIRST(x)", "concat(CLASSIFIER(), kind)", "LAST(concat(A.kind, CLASSIFIER(A)))",
    "count(B.x)", "sum(A.x + 1)", "count(CLASSIFIER())", "coalesce(B.x, -1)", "stddev(x)",
    "FINAL max(CLASSIFIER())", "NEXT(CLASSIFIER(), 1)", "sum(x * MATCH_NUMBER())", "max(lower(CLASSIFIER()))",
    "count(DISTINCT concat(U.kind, CLASSIFIER(U)))", "sum(MATCH_NUMBER())",
    "FINAL min(concat(kind, CLASSIFIER()))", "LAST(CLASSIFIER() = 'A' OR x > 1)",
    "count(CASE WHEN CLASSIFIER() = 'A' THEN x END)", "sum(x) FILTER (WHERE kind = 'a')",
    "FINAL count(*) FILTER (WHERE x > 1)", "count(A.*) FILTER (WHERE A.y IS NULL)",
    "avg(U.y) FILTER (WHERE CLASSIFIER(U) = 'A')", "count(DISTINCT kind) FILTER (WHERE x < 2)",
    "max_by(kind, x)", "FINAL min_by(x, y)", "max_by(U.x, U.kind) FILTER (WHERE U.x > 0)",
    "min_by(CLASSIFIER(), y)", "any_value(x)", "FINAL any_value(B.kind) FILTER (WHERE B.x > 0)",
    "array_agg(kind)", "FINAL array_agg(A.x) FILTER (WHERE A.x > 0)", "array_agg(concat(kind, CLASSIFIER()))",
)  # fmt: skip
CONSTANTS = ("1", "'m'", "upper('m')", "NULL IS NULL")
"""What needs nothing of the rows."""
ROWS = (
    "", "ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES", "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
)  # fmt: skip
SKIPS = (
    *("", "", "", "PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", "TO NEXT ROW", "TO NEXT ROW"),
    *("TO FIRST A", "TO LAST B", "TO B", "TO LAST U"),
)  # fmt: skip
PARTITIONS = (
    "", "PARTITION BY id", "PARTITION BY id, ward", "PARTITION BY y", "PARTITION BY upper(id)",
    "PARTITION BY ward, y * -2", "PARTITION BY coalesce(id, kind), x % 2", "PARTITION BY kind = 'a'",
)  # fmt: skip
ORDERS = ("t", "t DESC", "t, x", "t NULLS LAST, x DESC", "t, kind DESC NULLS FIRST, x", "x, t", "t + 1, x")
STREAM_ORDERS = ("t", "t", "t, x", "t NULLS LAST, x DESC, kind", "t, kind DESC NULLS FIRST, x", "t, y DESC")
WITHINS = ("", "", "", "", "WITHIN 2 EVENTS", "WITHIN 3 EVENTS", "WITHIN 2 MILLISECONDS")
STREAM_WITHINS = (
    "", "WITHIN 2 EVENTS", "WITHIN 4 EVENTS", "WITHIN 2 MILLISECONDS", "WITHIN 5 MILLISECONDS",
    "WITHIN 0 MILLISECONDS",
)  # fmt: skip


def pattern(chance: Random, depth: int, excluding: bool) -> str:
    """A row pattern of some depth; `excluding`: it may have exclusions."""
    if depth == 0 or chance.random() < 0.25:
        odd = chance.random()
        if odd < 0.06:
            return chance.choice(["^", "$", "()"])
        return chance.choice(VARIABLES) + chance.choice(QUANTIFIERS)
    parts = [pattern(chance, depth - 1, excluding) for _ in range(chance.choice([2, 2, 3]))]
    form = chance.random()
    if form < 0.55:
        return " ".join(parts)
    if form < 0.75:
        return f"({' | '.join(parts)}){chance.choice(QUANTIFIERS)}"
    if form < 0.82:
        variables = chance.sample(VARIABLES, len(VARIABLES))
        return f"PERMUTE({', '.join(chance.choice([parts, variables]))})"
    if form < 0.9 and excluding:
        return f"{{- {parts[0]} -}} {parts[1]}"
    return f"({' '.join(parts)}){chance.choice(QUANTIFIERS)}"


def clause(chance: Random, streaming: bool = False) -> str:
    """What stands between the parentheses of MATCH_RECOGNIZE; most of it can run over a stream, if
    `streaming`."""
    rows = chance.choice(ROWS)
    text = f"A {pattern(chance, 2, 'UNMATCHED' not in rows)} B? C??" if chance.random() < 0.3 else ""
    text = text or pattern(chance, chance.choice([1, 2, 2, 3]), "UNMATCHED" not in rows)
    used = [name for name in VARIABLES if name in text.replace("PERMUTE", "")]
    missing = "".join(f" {name}{{,1}}" for name in VARIABLES if name not in used)
    kinds = chance.choice(
        [(PLAIN,), (PLAIN, NEARBY), (PLAIN, NEARBY), (PLAIN, NEARBY, PATH), (PLAIN, STARTING)]
    )
    defined = [name for name in VARIABLES if chance.random() < 0.7]
    conditions = ", ".join(f"{name} AS {condition(chance, name, kinds)}" for name in defined)
    measures = chance.sample(MEASURES, chance.choice([1, 2, 3]))
    if chance.random() < 0.1:
        measures = chance.sample(CONSTANTS, chance.choice([0, 1, 2]))
    skip = chance.choice(SKIPS)
    within = chance.choice(STREAM_WITHINS if streaming else WITHINS)
    order = chance.choice(STREAM_ORDERS if streaming else ORDERS[:5] if "MILLI" in within else ORDERS)
    lines = [
        chance.choice(PARTITIONS),
        f"ORDER BY {order}",
        "MEASURES " * bool(measures)
        + ", ".join(f"{one} AS m{number}" for number, one in enumerate(measures)),
        rows,
        f"AFTER MATCH SKIP {skip}" if skip else "",
        f"PATTERN ({text}{missing})",
        within,
        "SUBSET U = (A, B)",
        f"DEFINE {conditions}" if conditions else "",
    ]
    return spelled(chance, "\n".join(line for line in lines if line))


def spelled(chance: Random, text: str) -> str:
    """The clause with its variables in any spelling that means the same: A is a and `A`. Some variables have
    a name that must be quoted."""
    quoted = {name: f"`{name.lower()}`" for name in (*VARIABLES, "U") if chance.random() < 0.1}

    def spelling(found: re.Match[str]) -> str:
        name = found[0]
        return quoted.get(name) or chance.choice([name, name, name, name.lower(), f"`{name}`"])

    plain = chance.random() < 0.5
    parts = re.split(r"('[^']*')", text)
    return "".join(
        part if plain or part.startswith("'") else re.sub(r"\b[ABCU]\b", spelling, part) for part in parts
    )


def condition(chance: Random, variable: str, kinds: tuple[tuple[str, ...], ...]) -> str:
    parts = [chance.choice(chance.choice(kinds)) for _ in range(chance.choice([1, 1, 2]))]
    joined = chance.choice([" AND ", " AND ", " OR "]).join(f"({one})" for one in parts)
    return joined.replace("{v}", variable)


def rows(chance: Random) -> list[Mapping[str, object]]:
    """Rows of a few partitions, in any order, of which no two are equal in all that is ordered by."""
    found: list[Mapping[str, object]] = []
    for number in range(chance.choice([0, 1, 2, 3, 5, 8, 12, 20])):
        found.append(
            {
                "id": chance.choice(["p", "q", "é", None]),
                "ward": chance.choice([1, 2]),
                "t": chance.choice([None, *range(8)]) if chance.random() < 0.2 else number,
                "kind": chance.choice(["a", "b", "a", "b", None]),
                "x": chance.choice([0, 1, 2, 3, None]),
                "y": chance.choice([0.0, -0.0, 1.5, 2.5, float("nan"), None]),
            }
        )
    chance.shuffle(found)
    return found
