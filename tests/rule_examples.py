"""Rules over a bank's events, of all kinds, and the table of their rows."""

from __future__ import annotations

BURST = """PATTERN SEQ(Transfer a, Transfer b) WHERE [account] WITHIN 5 MINUTES
  USING SKIP TILL NEXT MATCH RETURN a.account AS account, b.ts AS at"""
LARGE = "PATTERN Transfer t WHERE t.amount > 1000 RETURN t.account AS who, t.amount"
RULES = {
    "burst": BURST,
    "large": LARGE,
    "login": "PATTERN SEQ(Login l, Transfer t) WHERE [device] WITHIN 1 HOUR RETURN l.device",
    "count": "PATTERN Transfer t RETURN count(*) AS n, sum(t.amount) AS total",
    "whos": "PATTERN Transfer t RETURN DISTINCT t.account",
    "rows": """SELECT m.account, m.n FROM Bank MATCH_RECOGNIZE (PARTITION BY account ORDER BY ts
      MEASURES COUNT(*) AS n PATTERN (T T+) DEFINE T AS kind = 'Transfer') AS m""",
    "valid": "SELECT account, amount FROM Bank WHERE amount > 1000",
}
KEYS = {"burst": '{"account":"a"}', "login": '{"device":7}'}
"""The keys of rules that have one; they differ, and so do their types."""

EVENTS = [
    (0, "Login", "a", 7, None),
    (60, "Transfer", "a", 7, 1500.0),
    (70, "Transfer", "a", 8, 10.0),
    (80, "Transfer", "b", 8, None),
]
TABLE = [
    ("burst", KEYS["burst"], 60, 70, '{"account":"a","at":70}'),
    ("count", None, None, None, '{"n":3,"total":1510.0}'),
    ("large", None, 60, 60, '{"t_amount":1500.0,"who":"a"}'),
    ("login", KEYS["login"], 0, 60, '{"l_device":7}'),
    ("rows", None, None, None, '{"account":"a","n":2}'),
    ("valid", None, 60, 61, '{"account":"a","amount":1500.0}'),
    ("whos", None, None, None, '{"t_account":"a"}'),
    ("whos", None, None, None, '{"t_account":"b"}'),
]
