"""MATCH_RECOGNIZE_TEMPORAL: against SQL by hand on Spark and on DuckDB, and against an AND of intervals.

By hand, Spark or DuckDB finds the intervals (gaps and islands) and joins them, with the same text of SQL; on
Spark both sides run in one session and read one file, and the floor is to read, shuffle and sort the columns.
For AND, on the local engine, intervals are made by hand too, and are the events of a PATTERN; its floor is
DuckDB's sort. How much earlier a match is there than the ends of all its intervals is said in event time.

The effect of the order in which symbols are joined is that of figure 15.4: the kernel by itself, on sets of x
intervals for each of 8 symbols with 16 relations, in the order of the constraint graph and in random ones.
Intervals are as the text says, but those of one symbol do not overlap. Throughput is that of JEPC's
experiments (15.7.2): random valid patterns of n symbols with m relations, one partition, an event every 1,000
units of time, intervals of at most l, a window of w.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from random import Random
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench import spark
from bench.data import BUILD
from bench.row import Row
from bench.sides import agree, faster, in_turn, of, seconds, slower

import neelc
from neelc import syntax as parse
from neelc.algebra.plan.temporal import temporal_plan
from neelc.ir.algebra import Algebra, TemporalMatcher
from neelc.ir.node import walk
from neelc.program import bind
from neelc.runtime.kernels.temporal.kernel import temporal
from neelc.runtime.kernels.temporal.program import BITS, TIME, TemporalProgram
from neelc.source import Source

EVENTS, SOME_KEYS, MANY_KEYS = 2_000_000, 20, 2_000
GENERATED = 200_000
STEP, WINDOW = 1_000, 175_000
SETTINGS = {
    "15.5, symbols n and relations m": [(n, m, 130_000, WINDOW) for n in (2, 4, 8) for m in (n, 2 * n)],
    "15.6, lengths l and window w": [
        (8, 16, length, window) for length in (70_000, 130_000) for window in (100_000, WINDOW)
    ],
}

SETS, PATTERNS, SYMBOLS, RELATIONS = 30, 10, 8, 16
ORDERS = {25: 2_473 / 805, 30: 6.0}
"""Intervals of each symbol in a set, and how many times faster JEPC's matcher was in the optimised order."""

STREAM = """CREATE STREAM Readings (ts BIGINT, id INT, a BOOLEAN, b BOOLEAN, c BOOLEAN, d BOOLEAN)
TIMESTAMP BY ts;
"""
FOUR = "A DURING B, A BEFORE C, (D CONTAINS C; D OVERLAPS C)"
"""A machine ran hot while pressure was low, and then stopped before cooling ended."""
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
    FOUR: STREAM
    + f"""SELECT * FROM Readings AS r MATCH_RECOGNIZE_TEMPORAL (
  PARTITION BY r.id
  MEASURES START(A).id AS id, START(A).ts AS a, START(C).ts AS c, START(D).ts AS d
  PATTERN {FOUR}
  WITHIN 40
  DEFINE A AS TEMP(r.a), B AS TEMP(r.b), C AS TEMP(r.c), D AS TEMP(r.d))""",
}
OVERLAPS = tuple(name for name in TEMPORAL if name != FOUR)
"""The last interval of their matches is that of the last symbol."""
AND = """PATTERN AND(A a, B b) WHERE [id] AND a OVERLAPS b
WITHIN 200 RETURN a.id AS id, a.s AS a, b.s AS b"""

# Numbers of rows, in all and of those with the condition, differ by the same as long as it holds.
RUNS = """(SELECT id, min(ts) AS s, max(ts) AS e FROM
  (SELECT id, ts, {x}, row_number() OVER (PARTITION BY id ORDER BY ts)
    - row_number() OVER (PARTITION BY id, {x} ORDER BY ts) AS island FROM readings)
  WHERE {x} GROUP BY id, island)"""
FLOOR = "SELECT id, ts, a, b FROM readings ORDER BY id, ts"
OVERLAP = "{x}.id = {y}.id AND {x}.s < {y}.s AND {y}.s < {x}.e AND {x}.e < {y}.e"
BY_HAND = {
    "A OVERLAPS B": f"""SELECT a.id, a.s AS a, b.s AS b
FROM {RUNS.format(x="a")} a JOIN {RUNS.format(x="b")} b
ON {OVERLAP.format(x="a", y="b")} WHERE a.e - a.s <= 200""",
    "A OVERLAPS B, B OVERLAPS C": f"""SELECT a.id, a.s AS a, b.s AS b, c.s AS c
FROM {RUNS.format(x="a")} a JOIN {RUNS.format(x="b")} b ON {OVERLAP.format(x="a", y="b")}
JOIN {RUNS.format(x="c")} c ON {OVERLAP.format(x="b", y="c")} WHERE b.e - a.s <= 200""",
    FOUR: f"""SELECT a.id, a.s AS a, c.s AS c, d.s AS d
FROM {RUNS.format(x="a")} a JOIN {RUNS.format(x="b")} b ON a.id = b.id AND b.s < a.s AND a.e < b.e
JOIN {RUNS.format(x="c")} c ON a.id = c.id AND a.e < c.s AND c.s - b.s <= 40
JOIN {RUNS.format(x="d")} d ON c.id = d.id AND d.s < c.s AND c.s < d.e AND c.e <> d.e
WHERE greatest(c.s, least(c.e, d.e)) - least(b.s, d.s) <= 40""",
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
    columns = {x: np.stack([lasting(chance, each, 20) for _ in range(keys)], 1).ravel() for x in "abcd"}
    times, ids = np.repeat(np.arange(each), keys), np.tile(np.arange(keys, dtype=np.int32), each)
    return pa.table({"ts": times, "id": ids, **columns})


def found(query: str, **tables: Any) -> int:
    return sum(batch.num_rows for batch in neelc.local().sql(query, **tables))


def by_hand(query: str, table: pa.Table) -> int:
    session = duckdb.connect()
    session.register("readings", table)
    return sum(batch.num_rows for batch in session.sql(query).to_arrow_reader(100_000))


def on_spark(table: pa.Table, keys: int) -> list[Row]:
    """Both sides are Spark's: what neelc makes of the clause, and the SQL by hand."""
    path = BUILD / f"readings-{table.num_rows}-{keys}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    frame = spark.read(path)
    frame.createOrReplaceTempView("readings")
    measured = []
    for name, query in TEMPORAL.items():
        ours = neelc.Session(spark.session()).compile(query, Readings=frame).to_df()
        sides = {"neelc": ours, "by hand": spark.session().sql(BY_HAND[name])}
        symbols = [x for x in "abcd" if f"r.{x})" in query]
        floor = frame.select("id", "ts", *symbols).repartition("id").sortWithinPartitions("id", "ts")
        what = f"Spark: {name}, {table.num_rows:,} events, {keys:,} keys"
        asks = {side: partial(spark.execute, one) for side, one in {**sides, "floor": floor}.items()}
        taken = in_turn(asks)
        measured.append(faster(f"{what}, against Spark's SQL by hand", of(taken, "neelc", "by hand"), 5))
        measured.append(slower(f"{what}, against the floor", of(taken, "neelc", "floor")))
        measured.append(agree(f"{what}: matches", {side: one.count() for side, one in sides.items()}))
    return measured


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
        measured += on_spark(table, keys)
    return [*measured, *earlier(table), *orders(scale), *throughput(scale)]


def against_and(table: pa.Table, keys: int) -> list[Row]:
    sides = {
        "neelc": partial(found, TEMPORAL["A OVERLAPS B"], Readings=table),
        "AND": partial(by_and, table),
    }
    taken = in_turn({**sides, "floor": partial(by_hand, FLOOR, table)})
    where = f"A OVERLAPS B, {table.num_rows:,} events, {keys:,} keys"
    what = f"{where}, against an AND of intervals made by hand"
    return [
        faster(what, of(taken, "neelc", "AND"), 3),
        slower(f"{where}, against DuckDB's sort", of(taken, "neelc", "floor")),
        agree(f"{what}: matches", {side: ask() for side, ask in sides.items()}),
    ]


def earlier(table: pa.Table) -> list[Row]:
    """By how much the last interval of a match goes on after the match is there."""
    measured = []
    for name in OVERLAPS:
        query = TEMPORAL[name]
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


def pattern(n: int, m: int, seed: str = "") -> str:
    """A valid pattern: of n random intervals, relations that hold, and others beside them, m in all. Every
    symbol has a relation with one before it."""
    chance = Random(f"{n} {m}{seed}")
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


def jepc(n: int, m: int, window: int | None, seed: str = "") -> str:
    columns = ", ".join(f"x{i + 1} BOOLEAN" for i in range(n))
    symbols = "\n  ".join(f"S{i + 1} AS TEMP(e.x{i + 1})" for i in range(n))
    return f"""CREATE STREAM EventStream (ts BIGINT, id INT, {columns}) TIMESTAMP BY ts;
FROM EventStream e PARTITION BY e.id
DEFINE {symbols.replace("TEMP(e.x1)", "TEMP(e.x1) DO out = END(e).id", 1)}
PATTERN {pattern(n, m, seed)}
{"" if window is None else f"WITHIN {window}"}
RETURN out"""


def orders(scale: float) -> list[Row]:
    """All patterns in the order of their constraint graphs, and each in a random order."""
    measured = []
    for count, goal in ORDERS.items():
        sets = max(round(SETS * scale), 10)
        events = intervals(sets, count)
        planned = [_planned(jepc(SYMBOLS, RELATIONS, None, f" {number}")) for number in range(PATTERNS)]
        shuffled = [_shuffled(one, Random(f"{number} {count}")) for number, one in enumerate(planned)]
        sides = {"order of the graph": planned, "random order": shuffled}
        asks = {side: partial(_matches, programs, events) for side, programs in sides.items()}
        what = f"figure 15.4: x = {count}, {sets} sets, {PATTERNS} patterns"
        measured.append(faster(what, in_turn(asks), goal))
        measured.append(agree(f"{what}: matches", {side: ask() for side, ask in asks.items()}))
    return measured


def intervals(sets: int, count: int) -> pa.RecordBatch:
    """Events at which `count` runs of each symbol begin and end, 10 to 100 instants long and apart."""
    chance = np.random.default_rng(count)
    ends = chance.integers(10, 101, (sets, SYMBOLS, 2 * count)).cumsum(axis=2)
    width = int(ends.max()) + 2
    ends += np.arange(sets)[:, None, None] * width
    begun, ended = ends[:, :, ::2], ends[:, :, 1::2]
    instants = np.unique(np.concatenate([begun.ravel(), ended.ravel(), ended.ravel() + 1]))
    bits = np.zeros(len(instants), dtype=np.int64)
    for symbol in range(SYMBOLS):
        begins, last = begun[:, symbol].ravel(), ended[:, symbol].ravel()
        holds = np.searchsorted(begins, instants, side="right") > np.searchsorted(last, instants)
        bits |= holds.astype(np.int64) << symbol
    keys = pa.array(instants // width, type=pa.int32())
    return pa.RecordBatch.from_pydict({"id": keys, TIME: instants % width, BITS: bits})


def _planned(query: str) -> TemporalProgram:
    source = Source(query)
    found = bind(parse.read(source), source, (), {}).queries[0].query
    assert isinstance(found, Algebra)
    [matcher] = (node for node in walk(found.root) if isinstance(node, TemporalMatcher))
    return temporal_plan(matcher.clause, "MILLISECOND").program


def _shuffled(program: TemporalProgram, chance: Random) -> TemporalProgram:
    """The same with its symbols in another order."""
    [alternative] = program.alternatives
    symbols = chance.sample(alternative.symbols, len(alternative.symbols))
    return replace(program, alternatives=(replace(alternative, symbols=tuple(symbols)),))


def _matches(programs: Sequence[TemporalProgram], events: pa.RecordBatch) -> int:
    results = (temporal(program)(iter([events])) for program in programs)
    return sum(batch.num_rows for batches in results for batch in batches)


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
