"""Scripts whose streams are counted, and the files that they read."""

from __future__ import annotations

from random import Random

PATTERNS = """CREATE STREAM trades (ts BIGINT, sym STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY sym FROM 'trades.csv';
CREATE QUERY up AS PATTERN SEQ(A a, !`N` n, B+ b[]) WHERE [id] AND a.price > 10 AND b[i].price > 12
  WITHIN 10 SECONDS RETURN a.ts AS a;
PATTERN SEQ(up u, c c) WHERE c.price IS NOT NULL WITHIN 10 SECONDS RETURN u.a AS a;
"""
PAIRS = """CREATE STREAM trades (ts BIGINT, sym STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY sym FROM 'trades.csv';
PATTERN SEQ(A a, B b) WHERE a.id = b.id AND a.price < 5 WITHIN 50 SECONDS RETURN a.ts AS a, b.ts AS b;
"""
LASTING = """CREATE STREAM spans (ts BIGINT, till BIGINT, sym STRING)
  TIMESTAMP BY ts END BY till TYPE BY sym FROM 'spans.csv';
PATTERN SEQ(A a, B b) WHERE a.te - a.ts < 5 WITHIN 50 MILLISECONDS RETURN a.ts AS a, b.ts AS b;
"""
DATED = """CREATE STREAM days (day DATE, kind STRING) TIMESTAMP BY day TYPE BY kind FROM 'days.csv';
PATTERN SEQ(A a, B b) WITHIN 3 DAYS RETURN a.day AS a;
"""
FORMATTED = """CREATE STREAM times (at TIMESTAMP, kind STRING)
  TIMESTAMP BY at FORMAT 'dd/MM/yyyy HH:mm' TYPE BY kind FROM 'times.csv';
PATTERN SEQ(A a, B b) WITHIN 3 DAYS RETURN a.at AS a;
"""
ROWS = """CREATE STREAM trades (ts BIGINT, sym STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts TYPE BY sym FROM 'trades.csv';
SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY ts, sym, id, price MEASURES FIRST(D.ts) AS start
  ONE ROW PER MATCH PATTERN (D U) DEFINE U AS U.price > D.price);
"""
SELECTS = """CREATE STREAM trades (ts BIGINT, sym STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts FROM 'trades.csv';
SELECT t.id FROM trades WINDOW(TIME 5 MILLISECONDS) t WHERE t.price > 20;
"""


PRICES = ("", 7, 9, 15, 25)


def rows(count: int = 400) -> str:
    draw = Random(3)
    lines = (
        (draw.choice(["", *[time] * 20]), draw.choice("AaBBcCNn"), draw.randrange(9), draw.choice(PRICES))
        for time in range(0, 200 * count, 200)
    )
    return "\n".join(["ts,sym,id,price", *(",".join(map(str, line)) for line in lines), ""])


FILES = {
    "trades.csv": rows(),
    "spans.csv": "ts,till,sym\n0,9,A\n1,3,A\n20,20,B\n900,30,B\n40,,A\n,50,A\n",
    "days.csv": "day,kind\n2024-01-01,A\n2024-01-04,B\n2024-02-01,C\n",
    "times.csv": "at,kind\n01/02/2024 10:00,A\n01/02/2024 10:01,b\n,B\n02/02/2024 10:00,B\n",
}
RUNS: list[tuple[str, tuple[str, ...]]] = [
    (PATTERNS, ()),
    (PATTERNS, ("--query", "up")),
    (
        PATTERNS.replace("PATTERN SEQ(up", "CREATE QUERY x AS PATTERN SEQ(up"),
        ("--query", "up", "--query", "x"),
    ),
    (PAIRS, ("--strategy", "join")),
    (PAIRS, ("--strategy", "kernel")),
    (LASTING, ()),
    (DATED, ()),
    (FORMATTED, ()),
    (ROWS, ()),
    (SELECTS, ()),
]
"""Scripts, and more options of their runs."""
