"""Confidence of matches with imprecise timestamps: dynamic programming against enumerating possible worlds.

Both sides get the same lists of events, `SEQ(A a, B+ b[], C c)`, and say how likely each is a match. Events
are 10 instants wide, as in SASE++'s experiments (6.3); the other side runs through the instants of the events
of each list, as its section 4 describes it: pick, validate, add up, with NumPy as well. It gets few lists and
stops at `LIMIT` seconds for one; then the seconds are those for all worlds at the pace of those it has seen.
"""

from __future__ import annotations

import time
from math import isnan, prod

import numpy as np
from bench.row import Row
from bench.sides import digits

from neelc.runtime.kernels.confidence.absent import SpoilingEvents
from neelc.runtime.kernels.confidence.confidence import can_reach, confidences, quick_bounds, reaches
from neelc.runtime.kernels.confidence.ranges import Chances, PossibleTimes, Sequences
from neelc.runtime.kernels.events import Numbers

UNCERTAINTY = 10
LISTS = 10_000
COUNTS = (2, 3, 4, 5, 6, 8, 12)
UNCERTAINTIES = (10, 100, 1_000, 100_000)
THRESHOLDS = (0.1, 0.5, 0.9)
LIMIT = 5.0
AGREE = 1e-9
SLICE = 1 << 17
"""How many worlds are looked at together."""


def lists(events: int, instants: int, count: int, apart: int = 0) -> tuple[PossibleTimes, Sequences]:
    """Random lists; each event begins up to `apart`, or half its imprecision, after the one before."""
    random = np.random.default_rng(events)
    lo = np.cumsum(random.integers(0, apart or instants // 2, (count, events)), axis=1).ravel()
    return PossibleTimes(lo, lo + instants - 1), firsts(np.arange(count) * events, events)


def firsts(first: Numbers, length: int) -> Sequences:
    """Lists of `length` events each that follow each other from `first` on."""
    events = (first[:, None] + np.arange(length)).ravel()
    return Sequences(events, np.arange(0, len(events) + 1, length))


def enumerated(times: PossibleTimes, row: int, events: int, window: int) -> tuple[float, float]:
    """The confidence of one list, and the seconds that takes, or would take: then the confidence is NaN."""
    members = range(row * events, (row + 1) * events)
    low = [int(times.lo[event]) for event in members]
    count = [int(times.hi[event]) + 1 - lo for event, lo in zip(members, low, strict=True)]
    worlds, good = prod(count), 0
    begin = time.perf_counter()
    for first in range(0, worlds, SLICE):
        beyond = min(first + SLICE, worlds)
        good += matches(np.arange(first, beyond), low, count, window)
        taken = time.perf_counter() - begin
        if taken > LIMIT and beyond < worlds:
            return float("nan"), taken / beyond * worlds
    return good / worlds, time.perf_counter() - begin


def matches(worlds: Numbers, low: list[int], count: list[int], window: int) -> int:
    """In how many of these worlds, by number, the events are in order and fit into the window."""
    worlds, at = worlds // count[0], worlds % count[0] + low[0]
    fine, start = np.ones(len(worlds), bool), at
    for lo, many in zip(low[1:], count[1:], strict=True):
        before = at
        worlds, at = worlds // many, worlds % many + lo
        fine &= at > before
    return int((fine & (at - start <= window)).sum())


def best(
    times: PossibleTimes, sequences: Sequences, window: int, absent: SpoilingEvents | None = None
) -> tuple[Chances, float]:
    """The confidences, and the seconds of the fastest of three runs."""
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        found = confidences(times, sequences, window, absent)
        taken.append(time.perf_counter() - begin)
    return found, min(taken)


def compared(events: int, instants: int, window: int, figure: str, at: str) -> list[Row]:
    """Seconds per list of both sides, and how far they differ on the lists that both have finished."""
    times, sequences = lists(events, instants, LISTS)
    found, ours = best(times, sequences, window)
    theirs: list[float] = []
    differences: list[float] = []
    begin = time.perf_counter()
    while len(theirs) < LISTS and time.perf_counter() - begin < LIMIT / 5:
        confidence, taken = enumerated(times, len(theirs), events, window)
        differences.append(abs(confidence - float(found[len(theirs)])))
        theirs.append(taken)
    mine, other = ours / LISTS, sum(theirs) / len(theirs)
    finished = [difference for difference in differences if not isnan(difference)]
    pace = "" if len(finished) == len(theirs) else " at its pace"
    shown = f"{digits(other / mine)}x: worlds {other:.2g} s{pace}, ours {mine * 1e6:.1f} us a list"
    name = f"{events} events of {instants:,} instants, window {window:,}"
    numbers = {"ours": mine, "worlds": other, "ratio": round(other / mine, 3)}
    # A picture shows what was measured.
    rows = [Row(name, shown, "", None, numbers, "" if pace else figure, at)]
    if finished:
        largest = max(finished)
        shown = f"{largest:.1g} in {len(finished)} lists"
        rows.append(Row(f"{name}: difference", shown, f"<= {AGREE:g}", largest <= AGREE))
    return rows


def negated(instants: int) -> Row:
    """`SEQ(A a, !N n, B b, C c)` with 5 candidates for n: ours alone, worlds have the times of 8 events."""
    count = 100
    times, sequences = lists(3, instants, count)
    row = np.repeat(np.arange(count), 5)
    lo = np.random.default_rng(1).integers(-instants, instants, len(row)) + times.lo[row * 3]
    wider = PossibleTimes(np.append(times.lo, lo), np.append(times.hi, lo + instants - 1))
    absent = SpoilingEvents(row, np.ones(len(row), np.int64), len(times.lo) + np.arange(len(row)))
    _, seconds = best(wider, sequences, 4 * instants, absent)
    name = f"3 events and 5 negated ones, of {instants:,} instants"
    return Row(name, f"{seconds / count * 1e6:.0f} us a list", numbers={"ours": seconds / count})


def pruned(threshold: float) -> Row:
    """Lists of 12 events that grow event by event, while they can reach the threshold."""
    times, whole = lists(12, UNCERTAINTY, LISTS, 3 * UNCERTAINTY)
    window = 18 * UNCERTAINTY
    rows = np.arange(LISTS)
    considered = quick = 0
    begin = time.perf_counter()
    for length in range(2, 13):
        partial = firsts(rows * 12, length)
        considered += len(rows)
        quick += int((~reaches(quick_bounds(times, partial, window), threshold)).sum())
        rows = rows[can_reach(times, partial, threshold, window)]
    seconds = time.perf_counter() - begin
    final = int(reaches(confidences(times, whole, window), threshold).sum())
    assert final == len(rows), "pruning lost a match"
    share = considered / (LISTS * 11)
    shown = f"{share:.0%} of the partial lists, {seconds:.2f} s; {quick:,} fell by pairs; {final:,} matches"
    return Row(f"threshold {threshold}: looked at", shown, numbers={"share": share, "seconds": seconds})


def run() -> list[Row]:
    found = []
    for count in COUNTS:
        window = UNCERTAINTY * count // 3
        found += compared(count, UNCERTAINTY, window, "confidence by events", str(count))
    for instants in UNCERTAINTIES:
        found += compared(3, instants, instants, "confidence by imprecision", f"{instants:,}")
    found += [negated(instants) for instants in (10, 100, 1_000, 10_000)]
    return found + [pruned(threshold) for threshold in THRESHOLDS]
