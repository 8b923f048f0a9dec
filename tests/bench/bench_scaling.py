"""No key: cores, twice the events, and memory.

A pattern without a key is cut into stretches of time. The same stream on one core and on two, each in a
process of its own; twice the events in the same window; and memory from 1 million to 20 million events:
that of the largest Python worker, and that of the Java virtual machine, which has the same heap in all
runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from statistics import median

from bench.data import Recipe, parquet
from bench.memory import Peaks
from bench.row import Row
from bench.sides import Measured, digits, faster
from bench.spark import execute, matches, read, stop

KINDS = tuple("ABCDEFGH")
GAP = 100_000
"""Microseconds between two events: 24 in the window of the query."""
QUERY = """PATTERN SEQ(A a, B b, !SEQ(C c, D d, E e), F f)
WHERE a.amount < b.amount AND b.amount < f.amount
WITHIN 2400 MILLISECONDS RETURN a.ts AS start, f.ts AS stop"""
QUERIES = {"no key": QUERY}
EVENTS = 2_000_000
MEMORY = (1_000_000, 20_000_000)
CORES_GOAL, TWICE_GOAL, MEMORY_GOAL = 1.6, 2.2, 1.25
LIMIT = 600


def recipe(events: int) -> Recipe:
    return Recipe(events, KINDS, gap=GAP)


def alone(cores: int, events: int, repetitions: int) -> dict[str, list[float]]:
    """The query in a process of its own: the seconds of each run and the peaks of memory, in MB."""
    parquet(recipe(events))
    command = [sys.executable, "-m", "bench.bench_scaling", str(events), str(repetitions)]
    environment = {**os.environ, "NEELC_BENCH_CORES": str(cores)}
    # With one task at a time, Java and Python would still use two cores.
    ended = subprocess.run(
        command,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT,
        preexec_fn=partial(os.sched_setaffinity, 0, range(cores)),
    )
    found: dict[str, list[float]] = json.loads(ended.stdout.splitlines()[-1])
    return found


def main(events: int, repetitions: int) -> None:
    """What `alone` runs. The first two runs of several warm up."""
    found = matches(QUERY, read(parquet(recipe(events))), "kernel")
    seconds = []
    with Peaks() as peaks:
        for _ in range(repetitions):
            begin = time.perf_counter()
            execute(found)
            seconds.append(time.perf_counter() - begin)
    stop()
    print(
        json.dumps(
            {"seconds": seconds[min(2, repetitions - 1) :], "peaks": [peaks.worker / 1e6, peaks.java / 1e6]}
        )
    )


def cores(events: int) -> Row:
    runs: dict[str, list[float]] = {"2 cores": [], "1 core": []}
    for _ in range(2):  # in turn: 2 processes with 3 runs each for both sides
        runs["2 cores"] += alone(2, events, 5)["seconds"]
        runs["1 core"] += alone(1, events, 5)["seconds"]
    measured = {name: Measured(tuple(found)) for name, found in runs.items()}
    return faster("2 cores", measured, CORES_GOAL, "cores", f"{events:,} events")


def twice(events: int) -> Row:
    frames = {size: read(parquet(recipe(size))) for size in (events, 2 * events)}
    runs: dict[int, list[float]] = {size: [] for size in frames}
    for turn in range(4):
        for size, frame in frames.items():
            begin = time.perf_counter()
            execute(matches(QUERY, frame, "kernel"))
            if turn:
                runs[size].append(time.perf_counter() - begin)
    once, more = (median(runs[size]) for size in frames)
    ratio = more / once
    shown = f"{digits(ratio)}x: {2 * events:,} events {more:.2f} s, {events:,} events {once:.2f} s"
    numbers = {"once": once, "twice": more, "ratio": ratio}
    return Row("twice the events", shown, f"<= {TWICE_GOAL:g}x", ratio <= TWICE_GOAL, numbers)


def memory(scale: float) -> list[Row]:
    sizes = [round(size * scale) for size in MEMORY]
    peaks = [alone(2, size, 1)["peaks"] for size in sizes]
    found = []
    for at, what in enumerate(("largest Python worker", "Java virtual machine")):
        few, many = (peak[at] for peak in peaks)
        shown = (
            f"{digits(many / few)}x: {many:,.0f} MB with {sizes[1]:,} events, {few:,.0f} MB with {sizes[0]:,}"
        )
        # The heap grows to its limit before it is cleaned up: only the workers' memory shows what is kept.
        goal = f"<= {MEMORY_GOAL:g}x" if at == 0 else ""
        met = many / few <= MEMORY_GOAL if at == 0 else None
        found.append(Row(f"memory of the {what}", shown, goal, met, {"few": few, "many": many}))
    return found


def rows(scale: float) -> list[Row]:
    found = [twice(round(EVENTS * scale))]
    stop()  # the processes below need its memory and its cores
    return [cores(round(EVENTS * scale)), *found, *memory(scale)]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
