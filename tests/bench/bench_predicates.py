"""NEEL+'s experiments: conditions judged early against late, and shortcuts on against off.

Push-in by the position of the condition (figure 6.2) and by the window (6.4): off, conditions are judged on
complete bindings. Shortcuts of inter-query predicates by the size of the inner attribute's domain (6.8).
Figures 6.2 and 6.8 are pictures of which the text gives the parts: these queries are built from them. The
constant of figure 6.4, 100, keeps nearly all amounts here; 900, which keeps a tenth, is our choice.
"""

from __future__ import annotations

from typing import Any

from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import agree, faster, in_turn
from bench.spark import execute, matches, read

TICKERS = ("DELL", "MSFT", "IPIX", "INTC", "RIMM", "AMAT", "YHOO", "CSCO", "ORCL", "QQQ")
EVENTS = 10_000
EVERY = 1_000_000
"""Microseconds between two events: the thesis' window, 100 seconds, holds 10 events of each company."""
LIMIT = 120.0
OUTER_DOMAIN = 1000

POSITION = {
    "INTC i": "SEQ(DELL d, MSFT s, IPIX p, (INTC i : i.amount < 50))",
    "MSFT s": "SEQ(DELL d, (MSFT s : s.amount < 50), IPIX p, INTC i)",
    "DELL d": "SEQ((DELL d : d.amount < 50), MSFT s, IPIX p, INTC i)",
}
WINDOWS = (50, 100, 500)
BY_WINDOW = "SEQ(DELL d, MSFT s, (IPIX p : p.amount > i.amount), (INTC i : i.amount > 900))"
SHORTCUT = "SEQ(DELL d, MSFT s, SEQ(YHOO y, IPIX p, CSCO c, (RIMM r : r.amount = i.amount)), INTC i)"
DOMAINS = {"10%": 0.1, "50%": 0.5, "80%": 0.8}
PAPER = {"INTC i": "7x", "MSFT s": "3x", "DELL d": "1.8x", 50: "4x", 100: "21x", 500: "60x"}
PAPER_SHORTCUTS = {"10%": "4x", "50%": "2x", "80%": "1.25x"}


def query(pattern: str, window: int = 100) -> str:
    return f"PATTERN {pattern} WITHIN {window} SECONDS RETURN d.ts AS first, i.ts AS last, i.amount"


QUERIES = {
    **{f"condition at {at}": query(pattern) for at, pattern in POSITION.items()},
    **{f"window {window}": query(BY_WINDOW, window) for window in WINDOWS},
    "shortcut": query(SHORTCUT),
}


def compared(what: str, text: str, frame: Any, switch: str, figure: str, at: str) -> list[Row]:
    """The optimisation on and off; all else alike."""
    on = matches(text, frame, "kernel", {switch: True})
    off = matches(text, frame, "kernel", {switch: False})
    measured = in_turn({"on": lambda: execute(on, LIMIT), "off": lambda: execute(off, LIMIT)})
    found = [faster(what, measured, None, figure, at)]
    if not any(side.is_bound for side in measured.values()):
        found.append(agree(f"{what}: matches", {"on": on.count(), "off": off.count()}))
    return found


def rows(scale: float) -> list[Row]:
    events = max(round(EVENTS * scale), 1000)
    frame = read(parquet(Recipe(events, TICKERS, gap=EVERY)))
    found = []
    for at, pattern in POSITION.items():
        what = f"push-in, condition at {at} (thesis: {PAPER[at]})"
        found += compared(what, query(pattern), frame, "push_in", "push-in by position", at)
    for window in WINDOWS:
        what = f"push-in, window {window} s (thesis: {PAPER[window]})"
        text = query(BY_WINDOW, window)
        found += compared(what, text, frame, "push_in", "push-in by window", f"{window} s")
    for at, share in DOMAINS.items():
        domains = (("INTC", OUTER_DOMAIN), ("RIMM", round(OUTER_DOMAIN * share)))
        what = f"shortcut, inner domain {at} of the outer (thesis: {PAPER_SHORTCUTS[at]})"
        inner = read(parquet(Recipe(events, TICKERS, gap=EVERY, domains=domains)))
        found += compared(what, query(SHORTCUT), inner, "shortcuts", "shortcuts by domain", at)
    return found
