"""SASE++'s microbenchmark: postponing against the cloning of runs.

`SEQ(A a, B+ b[], C c)` under SKIP TILL ANY MATCH, as in figure 4 of the paper. The window is varied, and with
the condition on `c` the selectivity, matches per event. Cloning is SASE's way, done with the same kernel: a
list is put together for every start, event by event, and `c` is looked for when there is one; conditions on
elements are judged on the fly on both sides. Postponing finds `a` and `c` first. One event a millisecond,
three types.

Both sides are run by the kernel alone, in this process.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.data import Recipe
from bench.in_process import bound, count, events
from bench.row import Row
from bench.sides import agree, faster, in_turn

from neelc.pattern.plan.kernel_plan import kernel_plan

EVENTS = 10_000
GOAL = 383.0
WINDOWS = (25, 40, 50, 60)
EXTREME = 60
CONDITIONS = {
    "both-consistent": "b[i].amount > 500",
    "true-value consistent": "b[i].amount > max(b[..i-1].amount)",
    "inconsistent": "b[i].amount > avg(b[..i-1].amount)",
}
SHARES = {"1 %": 10, "10 %": 100, "50 %": 500}
"""Of the events of type C, the share that meets the condition: an amount is one of 1000."""


def query(condition: str, window: int, least: int = 5) -> str:
    return (
        f"PATTERN SEQ(A a, B+ b[], C c) WHERE {condition} AND c.amount < {least} "
        f"WITHIN {window} MILLISECONDS RETURN a.ts AS first, c.ts AS last"
    )


QUERIES = {
    **{
        f"{name}, window {WINDOWS[0]}": query(condition, WINDOWS[0]) for name, condition in CONDITIONS.items()
    },
    **{f"selectivity {share}": query("b[i].amount > 500", 40, least) for share, least in SHARES.items()},
}


def compared(what: str, text: str, goal: float | None, figure: str, at: str, scale: float) -> Iterator[Row]:
    asked = Recipe(max(round(EVENTS * scale), 1000), ("A", "B", "C"), gap=1000)
    plans = {
        "postponing": kernel_plan(bound(text), (), "MICROSECOND"),
        "cloning": kernel_plan(bound(text), (), "MICROSECOND", postpones=False),
    }
    streams = {name: events(asked, planned) for name, planned in plans.items()}
    found: dict[str, int] = {}

    def side(name: str) -> None:
        found[name] = count(plans[name], streams[name])

    measured = in_turn({"postponing": lambda: side("postponing"), "cloning": lambda: side("cloning")})
    yield faster(what, measured, goal, figure, at)
    yield agree(f"{what}: matches", found)


def rows(scale: float) -> list[Row]:
    found: list[Row] = []
    for window in WINDOWS:
        goal = GOAL if window == EXTREME else None
        text = query(CONDITIONS["both-consistent"], window)
        found += compared(f"window {window} ms", text, goal, "postponing by window", str(window), scale)
    for name, condition in CONDITIONS.items():
        text = query(condition, 40)
        found += compared(f"condition {name}", text, None, "postponing by condition", name, scale)
    for share, least in SHARES.items():
        text = query(CONDITIONS["both-consistent"], 40, least)
        found += compared(f"{share} of C fit", text, None, "postponing by selectivity", share, scale)
    return found
