"""Aggregates over all matches: dynamic programming against enumerating the matches, by the length of windows.

Both sides are kernels in this process, over the same events, one kind in four; the other side only counts
what it finds, so neither Spark nor a result of many rows is in its time. It gets windows as long as it can
finish in `LIMIT` seconds; in that time it found the matches that its row tells of.
"""

from __future__ import annotations

import time

import numpy as np
from bench.row import Row
from bench.sides import digits
from pattern_examples import query

from neelc.pattern.plan.counting.plan import aggregate_plan
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.runtime.coding import condition_columns
from neelc.runtime.kernels.counting.counting import counted
from neelc.runtime.kernels.counting.walks import WALK
from neelc.runtime.kernels.events import KernelEvents, NullableArray
from neelc.runtime.kernels.matching import matches

EVENTS = 100_000
KINDS = ("A", "B", "C", "N")
LIMIT = 20.0
WINDOWS = (10, 20, 30, 40, 60, 100, 200, 400)
QUERIES = {
    "B+": "SEQ(A a, B+ b[], C c) WITHIN {} RETURN count(*)",
    "rising B+": "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x WITHIN {} RETURN count(*)",
    "B+, sums and extremes": "SEQ(A a, B+ b[], C c) WITHIN {} RETURN sum(sum(b[].n)), max(max(b[].x))",
    "no list": "SEQ(A a, B b, C c) WITHIN {} RETURN count(*)",
    "no list, by the last event": "SEQ(A a, B b, C c) WITHIN {} RETURN c.n, count(*)",
    "no list, conditions": "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN {} RETURN count(*)",
    "negation": "SEQ(A a, B+ b[], !N n, C c) WITHIN {} RETURN count(*)",
}


def events(planned: KernelPlan) -> KernelEvents:
    """One event in each unit of time."""
    random = np.random.default_rng(1)
    start = np.arange(EVENTS)
    kinds = random.choice(KINDS, EVENTS)
    values = {"x": random.random(EVENTS), "n": random.integers(0, 100, EVENTS)}
    roles = {role.name: np.flatnonzero(kinds == role.type) for role in planned.plan.roles}
    columns = {name: NullableArray(values[name]) for name in condition_columns(planned.program)}
    everything = (np.array([-(2**62)]), np.array([2**62]))
    return KernelEvents(start, start, np.zeros(EVENTS, np.int64), roles, columns, everything)


def enumerated(text: str) -> tuple[int, float, bool]:
    """How many matches there are, the seconds it took to find them, and whether these are all."""
    planned = kernel_plan(query(text), (), "MILLISECOND")
    stream, found = events(planned), 0
    begin = time.perf_counter()
    for piece in matches(planned.program, stream):
        found += min(map(len, piece.values()))
        if time.perf_counter() - begin > LIMIT:
            return found, time.perf_counter() - begin, False
    return found, time.perf_counter() - begin, True


def by_counting(text: str) -> tuple[int, float]:
    planned = aggregate_plan(query(text), (), "MILLISECOND")
    assert planned is not None, f"{text} can be counted"
    stream = events(planned.planned)
    begin = time.perf_counter()
    found = counted(planned.program, stream)
    return sum(int(count) for count in found.channels[WALK]), time.perf_counter() - begin


def compared(name: str, text: str, window: int, goes_on: bool) -> tuple[Row, bool]:
    """Both sides on one window; whether the other side may try the next."""
    count, ours = by_counting(text)
    what, figure = f"{name}, window {window}: {count:.3g} matches", f"counting {name} by window"
    if not goes_on:
        shown = f"{ours:.2f} s, not enumerated"
        return Row(what, shown, numbers={"ours": ours, "matches": float(count)}), False
    other, theirs, all_found = enumerated(text)
    assert other == count or not all_found, "both sides find the same"
    numbers = {"ours": ours, "enumerated": theirs, "matches": float(count)}
    if not all_found:
        shown = f"{ours:.2f} s, enumerated {other:.3g} of them in {theirs:.0f} s"
        return Row(what, shown, numbers=numbers), False
    shown = f"{digits(theirs / ours)}x: enumerated {theirs:.2f} s, counted {ours:.2f} s"
    return Row(what, shown, "", None, numbers, figure, str(window)), theirs < LIMIT / 4


def run() -> list[Row]:
    rows = []
    by_counting(QUERIES["B+"].format(WINDOWS[0]))  # so that nothing is done for the first time
    for name, text in QUERIES.items():
        goes_on = True
        for window in WINDOWS:
            row, goes_on = compared(name, text.format(window), window, goes_on)
            rows.append(row)
    return rows
