"""MATCH_RECOGNIZE_TEMPORAL on the local engine: against SQL by hand, and against an AND of intervals.

By hand, DuckDB finds the intervals (gaps and islands) and joins them. For AND, they are made so too, and are
the events of a PATTERN. How much earlier a match is there than the ends of all its intervals is said in event
time. The effect of the order of relations (15.4) is not measured: that order cannot be chosen. Throughput is
that of JEPC's experiments (15.7.2): random valid patterns of n symbols with m relations, one partition, an
event every 1,000 units of time, intervals of at most l, a window of w.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from random import Random
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from bench.row import Row
from bench.sides import agree, faster, in_turn, seconds

import neelc

EVENTS, SOME_KEYS, MANY_KEYS = 2_000_000, 20, 2_000
GENERATED = 200_000
STEP, WINDOW = 1_000, 175_000
SETTINGS = {
    "15.5, symbols n and relations m": [(n, m, 130_000, WINDOW) for n in (2, 4, 8) for m in (n, 2 * n)],
    "15.6, lengths l and window w": [
        (8, 16, length, window) for length in (70_000, 130_000) for window in (100_000, WINDOW)
    ],
}

STREAM = "CREATE STREAM Readings (ts BIGINT, id INT, a BOOLEAN, b BOOLEAN, c BOOLEAN) TIMESTAMP BY ts;\n"
TEMPORAL = {
    "A OVERLAPS B": STREAM
    + """SELECT * FROM Readings AS r MATCH_RECOGNIZE_TEMPORAL (
  PARTITION BY r.id
  MEASURES START(A).id AS id, START(A).ts AS a, START(B).ts AS b
  PATTERN A OVERLAPS B
  WITHIN 200
  DEFINE A AS TEMP(r.a), B AS TEMP(r.b))""",
    "A OVERLAPS B, B OVERLAPS C": STREAM
    + """SELECT * FROM Readings AS r MATCH_RECOGNIZE_TEMPORAL (
  PARTITION BY r.id
  MEASURES START(A).id AS id, START(A).ts AS a, START(B).ts AS b, START(C).ts AS c
  PATTERN A OVERLAPS B, B OVERLAPS C
  WITHIN 200
  DEFINE A AS TEMP(r.a), B AS TEMP(r.b), C AS TEMP(r.c))""",
}
AND = """PATTERN AND(A a, B b) WHERE [id] AND a OVERLAPS b
WITHIN 200 RETURN a.id AS id, a.s AS a, b.s AS b"""

# Numbers of rows, in all and of those with the condition, differ by the same as long as it holds.
RUNS = """(SELECT id, min(ts) AS s, max(ts) AS e FROM
  (SELECT id, ts, {x}, row_number() OVER (PARTITION BY id ORDER BY ts)
    - row_number() OVER (PARTITION BY id, {x} ORDER BY ts) AS island FROM readings)
  WHERE {x} GROUP BY id, island)"""
OVERLAP = "{x}.id = {y}.id AND {x}.s < {y}.s AND {y}.s < {x}.e AND {x}.e < {y}.e"
BY_HAND = {
    "A OVERLAPS B": f"""SELECT a.id, a.s AS a, b.s AS b
FROM {RUNS.format(x="a")} a JOIN {RUNS.format(x="b")} b
ON {OVERLAP.format(x="a", y="b")} WHERE a.e - a.s <= 200""",
    "A OVERLAPS B, B OVERLAPS C": f"""SELECT a.id, a.s AS a, b.s AS b, c.s AS c
FROM {RUNS.format(x="a")} a JOIN {RUNS.format(x="b")} b ON {OVERLAP.format(x="a", y="b")}
JOIN {RUNS.format(x="c")} c ON {OVERLAP.format(x="b", y="c")} WHERE b.e - a.s <= 200""",
}


def lasting(chance: np.random.Generator, count: int, longest: int) -> Any:
    """Whether a condition holds at each of `count` events: by turns it does, and does not."""
    lengths = chance.integers(1, longest + 1, 2 * count // longest + 16)
    held = np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)
    return held[:count] if len(held) >= count else np.resize(held, count)


def readings(count: int, keys: int) -> pa.Table:
    """Events of `keys` machines in turn, one at each instant for all."""
    chance = np.random.default_rng(keys)
    each = count // keys
    columns = {x: np.stack([lasting(chance, each, 20) for _ in range(keys)], 1).ravel() for x in "abc"}
    times, ids = np.repeat(np.arange(each), keys), np.tile(np.arange(keys, dtype=np.int32), each)
    return pa.table({"ts": times, "id": ids, **columns})


def found(query: str, **tables: Any) -> int:
    return sum(batch.num_rows for batch in neelc.local().sql(query, **tables))


def by_hand(query: str, table: pa.Table) -> int:
    session = duckdb.connect()
    session.register("readings", table)
    return sum(batch.num_rows for batch in session.sql(query).to_arrow_reader(100_000))


def by_and(table: pa.Table) -> int:
    session = duckdb.connect()
    session.register("readings", table)
    made = "SELECT id, s, e FROM {} WHERE s < e"  # no point overlaps
    runs = {x.upper(): session.sql(made.format(RUNS.format(x=x))).to_arrow_table() for x in "ab"}
    streams = {name: neelc.stream(one, timestamp="s", end="e") for name, one in runs.items()}
    return found(AND, **streams)


def rows(scale: float) -> list[Row]:
    measured = []
    for keys in (SOME_KEYS, MANY_KEYS):
        table = readings(max(round(EVENTS * scale), 100 * keys), keys)
        for name, query in TEMPORAL.items():
            sides = {
                "neelc": partial(found, query, Readings=table),
                "by hand": partial(by_hand, BY_HAND[name], table),
            }
            what = f"{name}, {table.num_rows:,} events, {keys:,} keys"
            measured.append(faster(f"{what}, against DuckDB's SQL by hand", in_turn(sides), 5))
            measured.append(agree(f"{what}: matches", {side: ask() for side, ask in sides.items()}))
        measured += against_and(table, keys)
    return [*measured, *earlier(table), *throughput(scale)]


def against_and(table: pa.Table, keys: int) -> list[Row]:
    sides = {
        "neelc": partial(found, TEMPORAL["A OVERLAPS B"], Readings=table),
        "AND": partial(by_and, table),
    }
    what = f"A OVERLAPS B, {table.num_rows:,} events, {keys:,} keys, against an AND of intervals made by hand"
    return [
        faster(what, in_turn(sides), 3),
        agree(f"{what}: matches", {side: ask() for side, ask in sides.items()}),
    ]


def earlier(table: pa.Table) -> list[Row]:
    """By how much the last interval of a match goes on after the match is there."""
    measured = []
    for name, query in TEMPORAL.items():
        last = name[-1]
        ends = query.replace("MEASURES ", f"MEASURES END({last}).ts AS ended, ")
        tables = [pa.Table.from_batches(neelc.local().sql(text, Readings=table)) for text in (query, ends)]
        session = duckdb.connect()
        for side, one in zip(("early", "late"), tables, strict=True):
            session.register(side, one)
        same = " AND ".join(
            f"early.{x} = late.{x}" for x in ("id", "a", "b", "c") if x in tables[0].column_names
        )
        waits = session.sql(f"SELECT ended - early.ts FROM early JOIN late ON {same}").fetchnumpy()
        (values,) = waits.values()
        shown = f"{median(values.tolist()):g} instants (median), {max(values.tolist(), default=0):g} at most"
        measured.append(Row(f"{name}: a match is there before its last interval ends, by", shown))
    return measured


# JEPC's experiments.


def generated(n: int, longest: int, count: int) -> pa.Table:
    chance = np.random.default_rng(n)
    columns = {f"x{i + 1}": lasting(chance, count, longest // STEP + 1) for i in range(n)}
    times = np.arange(count) * STEP
    return pa.table({"ts": times, "id": np.zeros(count, np.int32), **columns})


def pattern(n: int, m: int) -> str:
    """A valid pattern: of n random intervals, relations that hold, and others beside them, m in all. Every
    symbol has a relation with one before it."""
    chance = Random(f"{n} {m}")
    ends = [sorted(chance.sample(range(20), 2)) for _ in range(n)]
    pairs = [(chance.randrange(i), i) for i in range(1, n)]
    free = [pair for pair in combinations(range(n), 2) if pair not in pairs]
    pairs += chance.sample(free, min(len(free), max(0, m // 2 - len(pairs))))
    lists = {pair: [word(*(ends[i] for i in pair))] for pair in pairs}
    while sum(map(len, lists.values())) < m:
        pair = chance.choice(pairs)
        other = word(*(sorted(chance.sample(range(20), 2)) for _ in pair))
        if other not in lists[pair]:
            lists[pair].append(other)
    return ", ".join(
        f"({'; '.join(one.format(f'S{i + 1}', f'S{j + 1}') for one in words)})"
        for (i, j), words in lists.items()
    )


NAMES = ("BEFORE", "MEETS", "OVERLAPS", "STARTS", "DURING", "FINISHES", "EQUALS")
INVERSE = ("AFTER", "MET BY", "OVERLAPPED BY", "STARTED BY", "CONTAINS", "FINISHED BY", "EQUALS")


def word(one: Sequence[int], other: Sequence[int]) -> str:
    """The name of Allen's relation of two intervals, as a form for two symbols.

    >>> word((1, 5), (3, 8)), word((3, 4), (1, 8)), word((5, 9), (1, 5))
    ('{} OVERLAPS {}', '{} DURING {}', '{} MET BY {}')
    """
    for names, (a, b), (c, d) in ((NAMES, one, other), (INVERSE, other, one)):
        holds = (b < c, b == c, a < c < b < d, a == c and b < d, c < a and b < d, c < a and b == d)
        for name, is_so in zip(names, (*holds, (a, b) == (c, d)), strict=True):
            if is_so:
                return f"{{}} {name} {{}}"
    raise AssertionError(f"{one} and {other} have no relation")


def jepc(n: int, m: int, window: int) -> str:
    columns = ", ".join(f"x{i + 1} BOOLEAN" for i in range(n))
    symbols = "\n  ".join(f"S{i + 1} AS TEMP(e.x{i + 1})" for i in range(n))
    return f"""CREATE STREAM EventStream (ts BIGINT, id INT, {columns}) TIMESTAMP BY ts;
FROM EventStream e PARTITION BY e.id
DEFINE {symbols.replace("TEMP(e.x1)", "TEMP(e.x1) DO out = END(e).id", 1)}
PATTERN {pattern(n, m)}
WITHIN {window}
RETURN out"""


def throughput(scale: float) -> list[Row]:
    measured = []
    count = max(round(GENERATED * scale), 1_000)
    for figure, settings in SETTINGS.items():
        for n, m, longest, window in settings:
            table, counts = generated(n, longest, count), list[int]()
            ask = partial(found, jepc(n, m, window), EventStream=table)
            taken, _ = seconds(partial(_keep, counts, ask))
            at = f"n = {n}, m = {m}, l = {longest:,}, w = {window:,}"
            what = f"figure {figure}: {at}, {count:,} events, {counts[-1]:,} matches"
            measured.append(Row(what, f"{count / taken:,.0f} events/s", numbers={"seconds": taken}))
    return measured


def _keep(counts: list[int], ask: Callable[[], int]) -> None:
    counts.append(ask())
