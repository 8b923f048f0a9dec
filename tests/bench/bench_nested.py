"""NEEL's experiments: the optimised plan against iterative nested execution.

The queries of figures 10 to 19 of the paper, in the order of its figures 20 to 27: 1 to 3 children,
children of length 2 to 4, nesting of 1 to 3 levels, the mixed workload. The paper gives the sequences of
most queries, but not where the children stand. Its stock trades cannot be had: these are random ones of the
same ten companies, 10,000 events, evenly mixed. The window is the paper's 10 milliseconds; how many events
fall into it is our choice (IN_WINDOW), since the paper does not say.

Both sides are run by the kernel alone, in this process: what is compared are the algorithms, and for so few
events a job of Spark takes longer to start than to run. One line has both on Spark.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.baselines import plan_nested
from bench.data import Recipe, parquet
from bench.in_process import count, events, nested, optimised
from bench.row import Row
from bench.sides import agree, faster, in_turn
from bench.spark import execute, matches, read

TICKERS = ("MSFT", "ORCL", "IPIX", "INTC", "RIMM", "AMAT", "YHOO", "DELL", "CSCO", "QQQ")
EVENTS = 10_000
LIMIT = 120.0
GOAL = 100.0

CHILDREN, LENGTH, LEVELS, MIXED = "children", "length of the child", "levels of children", "mixed workload"

PATTERNS: dict[str, dict[str, str]] = {
    CHILDREN: {
        "1": "SEQ(MSFT m, !SEQ(RIMM r, AMAT t), ORCL o, IPIX p, INTC i)",
        "2": "SEQ(MSFT m, !SEQ(RIMM r, AMAT t), ORCL o, !SEQ(YHOO y, DELL d), IPIX p, INTC i)",
        "3": "SEQ(MSFT m, !SEQ(RIMM r, AMAT t), ORCL o, !SEQ(YHOO y, DELL d), IPIX p, !SEQ(CSCO c, QQQ q),"
        " INTC i)",
    },
    LENGTH: {
        "2": "SEQ(MSFT m, ORCL o, !SEQ(RIMM r, AMAT t), INTC i)",
        "3": "SEQ(MSFT m, ORCL o, !SEQ(RIMM r, AMAT t, YHOO y), INTC i)",
        "4": "SEQ(MSFT m, ORCL o, !SEQ(RIMM r, AMAT t, YHOO y, DELL d), INTC i)",
    },
    LEVELS: {
        "1": "SEQ(MSFT m, ORCL o, !SEQ(IPIX p, QQQ q), INTC i)",
        "2": "SEQ(MSFT m, ORCL o, !SEQ(IPIX p, !SEQ(RIMM r, AMAT t), QQQ q), INTC i)",
        "3": "SEQ(MSFT m, ORCL o, !SEQ(IPIX p, !SEQ(RIMM r, !SEQ(YHOO y, DELL d), AMAT t), QQQ q), INTC i)",
    },
    MIXED: {
        "mixed": "SEQ(MSFT, !IPIX, ORCL, INTC) OR SEQ(MSFT, !QQQ, ORCL, INTC) OR SEQ(MSFT, !RIMM, ORCL, INTC)"
        " OR SEQ(RIMM, DELL, AMAT, MSFT, ORCL) OR SEQ(IPIX, DELL, AMAT, MSFT, ORCL)"
        " OR SEQ(CSCO, !RIMM, YHOO, QQQ) OR EXISTS RIMM : SEQ(CSCO, !IPIX, RIMM, YHOO, QQQ)",
    },
}
# Events in a window.
IN_WINDOW = {CHILDREN: 120, LENGTH: 200, LEVELS: 120, MIXED: 120}


def query(figure: str, at: str) -> str:
    return f"PATTERN {PATTERNS[figure][at]} WITHIN 10 MILLISECONDS"


QUERIES = {f"{figure}: {at}": query(figure, at) for figure, patterns in PATTERNS.items() for at in patterns}


def recipe(figure: str, scale: float) -> Recipe:
    return Recipe(max(round(EVENTS * scale), 1000), TICKERS, gap=10_000 // IN_WINDOW[figure])


def compared(figure: str, at: str, scale: float) -> Iterator[Row]:
    text, asked = query(figure, at), recipe(figure, scale)
    plans = {"optimised": optimised(text), "nested": nested(text)}
    streams = {name: events(asked, planned) for name, planned in plans.items()}
    found: dict[str, int] = {}

    def side(name: str) -> None:
        found[name] = count(plans[name], streams[name])

    measured = in_turn({"optimised": lambda: side("optimised"), "nested": lambda: side("nested")})
    what = f"{figure}: {at}" if figure != at else figure
    yield faster(what, measured, GOAL if (figure, at) == (LENGTH, "4") else None, figure, at)
    yield agree(f"{what}: matches", found)


def on_spark(scale: float) -> Row:
    """The query with the longest child, with all that Spark does."""
    frame, text = read(parquet(recipe(LENGTH, scale))), query(LENGTH, "4")
    ours, theirs = matches(text, frame), matches(text, frame, planner=plan_nested)
    measured = in_turn({"optimised": lambda: execute(ours), "nested": lambda: execute(theirs, LIMIT)})
    return faster("length of the child: 4, on Spark", measured)


def rows(scale: float) -> list[Row]:
    found = [
        row for figure, patterns in PATTERNS.items() for at in patterns for row in compared(figure, at, scale)
    ]
    return [*found, on_spark(scale)]
