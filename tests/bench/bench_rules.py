"""Many rules at once: what is shared between them, against each with a plan of its own.

The workloads, and where they come from, are in `rule_workloads.py`. Figure 19.13 of the JEPC thesis has two
curves over the number of matchers, with the extended filter and without it. Here both sides are the table
that `neelc.rules` makes of all matchers: with what rules share, that is one filter, one kernel and one
reading of its rows; without, each matcher reads, shuffles and searches all events, and the table is the union
of their rows. So all that sharing does is compared, not the filter by itself. A side that runs longer than
300 seconds is stopped, and its ratio is a lower bound.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from bench.row import Row
from bench.rule_workloads import (
    PAPER_FACTORS,
    RuleWorkload,
    common_parts,
    filters,
    matchers,
    mqos,
    neel_mixed,
    parquet,
    table,
    thresholds,
    unrelated,
    with_whole_events,
)
from bench.sides import Measured, agree, faster, in_turn, slower
from bench.spark import execute, read, session

import neelc
from neelc.runtime.kernels.rules.kernel import rules_kernel
from neelc.runtime.kernels.rules.program import JudgedRole, RuleEntry, RuleSet, ValueRange, ValueTest
from neelc.runtime.program import PatternProgram, Take, VariableOutput

QUERIES: dict[str, str] = {}
"""No PATTERN over the stream of the other benchmarks here."""

MATCHERS = (1, 2, 5, 10, 20, 50)
EVENTS = 1_000_000
FIGURE = "matchers that share an extended filter (JEPC, figure 19.13)"


def shared_filter(count: int, events: int) -> list[Row]:
    """Figure 19.13: throughput with the filter extracted, by that without.

    Neither includes the time to compile rules, and to build the DataFrame. What is short is warmed up. For
    many matchers the side without a filter takes minutes: Java compiles what it runs within the first of
    them, and it runs once.
    """
    workload = matchers(count, events)
    ours, theirs = rows_of(workload), rows_of(workload, share=False)
    for _ in range(3):
        execute(ours)
    sides = {"one filter": partial(execute, ours), "no filter": partial(execute, theirs)}
    measured = in_turn(sides, warm=0)
    goal = PAPER_FACTORS["matchers"] if count == MATCHERS[-1] else None
    rows = [faster(f"{count} matchers, a pivot in 100 events", measured, goal, FIGURE, str(count))]
    if count == 5:
        rows.append(agree(f"matches of {count} matchers", {"ours": ours.count(), "theirs": theirs.count()}))
    return rows


# Workloads of PATTERN rules.

RULES = 2_000_000
"""Events of the rules that are compared with one rule."""

TYPED = "a thousand rules in one pass"


def rows_of(workload: RuleWorkload, names: Iterable[str] | None = None, share: bool = True) -> Any:
    """The rows of all rules of a workload, or of some, as one DataFrame."""
    chosen = workload.texts if names is None else {name: workload.texts[name] for name in names}
    texts = {"events": workload.events.statement, **chosen}
    stream = read(parquet(workload.events))
    return neelc.rules(session(), texts, share=share, strict=True, Events=stream).df


COMPARED = 5
"""Rules of a workload that are executed alone: their mean is what one rule takes."""


def against_one(workload: RuleWorkload, goal: float | None) -> Row:
    """All rules of a workload in one pass, against the mean of some of them alone: both as rules."""
    names = list(workload.texts)
    chosen = names[:: len(names) // COMPARED][:COMPARED]
    alone = [rows_of(workload, [name]) for name in chosen]
    everything = rows_of(workload)
    sides = {name: partial(execute, one) for name, one in zip(chosen, alone, strict=True)}
    measured = in_turn({**sides, "all": partial(execute, everything)})
    runs = zip(*(measured[name].runs for name in chosen), strict=False)
    mean = Measured(tuple(sum(run) / len(run) for run in runs))
    what = f"{len(names):,} rules, {workload.name}, against one of them"
    return slower(what, {"all": measured["all"], "one": mean}, goal, TYPED)


def with_many_matches(events: int) -> RuleWorkload:
    """Rules with common parts that return more rows than there are events."""
    found = common_parts(events, share=1)
    return replace(found, name=f"{found.name}, many matches")


FOUND = ("rule", "match_start", "match_end")


def against_apart(workload: RuleWorkload, goal: float | None, what: str = "") -> list[Row]:
    """Rules in one pass with what they share, against the union of each by itself, and against one pass in
    which each takes all its steps. The papers count results: matches are found, with their times, and the
    events of each are not written out."""
    together, unshared = (rows_of(workload, share=shares).select(*FOUND) for shares in (True, False))
    each = (rows_of(workload, [name]).select(*FOUND) for name in workload.texts)
    apart = reduce(lambda one, other: one.unionByName(other), each)
    measured = in_turn(
        {
            "shared": partial(execute, together),
            "apart": partial(execute, apart),
            "unshared": partial(execute, unshared),
        }
    )
    name = what or workload.name
    by_itself = {"shared": measured["shared"], "apart": measured["apart"]}
    in_one_pass = {"shared": measured["shared"], "unshared": measured["unshared"]}
    return [
        faster(f"{name}: each rule by itself", by_itself, goal, TYPED),
        faster(f"{name}: one pass, nothing shared", in_one_pass, None, TYPED),
        agree(f"{name}: matches", {"shared": together.count(), "apart": apart.count()}),
    ]


def compiling(counts: Sequence[int] = (250, 500, 1000)) -> list[Row]:
    """Seconds to compile threshold rules: linear."""
    workload = thresholds(1000, max(counts))
    rows = []
    for count in counts:
        begin = time.perf_counter()
        rows_of(workload, list(workload.texts)[:count])
        taken = time.perf_counter() - begin
        goal, met = ("< 30 s", taken < 30) if count == 1000 else ("", None)
        rows.append(Row(f"compiling {count:,} rules", f"{taken:.1f} s", goal, met, {"seconds": taken}))
    return rows


def filtering(counts: Sequence[int] = (10, 100, 1000, 10_000, 50_000)) -> list[Row]:
    """JEPC, figure 11.34: events a second by the number of filters, in the worker, for one batch. The filters
    are given to the worker as it gets them; to compile 50,000 of them takes minutes."""
    workload = filters(2_000, max(counts))  # each of them meets one event in a hundred or so
    events = table(workload.events).drop_columns(["kind"])
    size = events.num_rows
    columns = {"roles": np.ones(size, np.int64), "start": np.arange(size), "id": np.zeros(size, np.int64)}
    for name, values in columns.items():
        if name in events.column_names:
            events = events.drop_columns([name])
        events = events.append_column(name, pa.array(values))
    rows, rates = [], []
    for count in counts:
        run = rules_kernel(filter_set(list(workload.texts.values())[:count], events.column_names))
        batches = events.to_batches(max_chunksize=10_000)
        deque(run(iter(batches)), maxlen=0)
        begin = time.process_time()
        found = sum(batch.num_rows for batch in run(iter(batches)))
        rates.append(size / (time.process_time() - begin))
        shown = f"{rates[-1]:,.0f} events/s, {found:,} matches"
        numbers = {"events a second": rates[-1], "matches": float(found)}
        rows.append(
            Row(f"{count:,} filters (JEPC 11.34)", shown, numbers=numbers, figure="filters", at=str(count))
        )
    loss, more = rates[1] / rates[-1], counts[-1] / counts[1]
    shown = f"{loss:.1f}x slower"
    return [*rows, Row(f"{more:,.0f}x as many filters", shown, "sublinear", loss < more)]


def filter_set(texts: Sequence[str], columns: Sequence[str]) -> RuleSet:
    """Filters as a worker gets them."""
    program = PatternProgram(
        (Take("v1", "r1"),), (VariableOutput("v1", "e1", (("start", "start"),)),), ("r1",)
    )
    roles = tuple(JudgedRole(0, tuple(tests_in(text))) for text in texts)
    rules = tuple(RuleEntry(f"filter_{n}", 0, (n,)) for n in range(len(roles)))
    events = PatternProgram((), (), ("events",), keys=("id",))
    return RuleSet(events, tuple(columns), roles, (program,), rules, (0,))


def tests_in(text: str) -> Iterator[ValueTest]:
    for name, low, high in re.findall(r"a\.(\w+) BETWEEN (-?\d+) AND (-?\d+)", text):
        yield ValueTest(name, (ValueRange(int(low), int(high)),))
    for name, value in re.findall(r"a\.(\w+) = (-?\d+)", text):
        yield ValueTest(name, (ValueRange(int(value), int(value)),))


def of_rules(scale: float) -> list[Row]:
    """Rules executed together, against one of them, and against each by itself."""
    many, few = round(RULES * scale), round(RULES * scale / 2)
    found = [
        against_one(common_parts(many), 3.0),
        against_one(with_many_matches(many), None),
        against_one(with_whole_events(with_many_matches(many)), None),
        against_one(unrelated(many), 8.0),
        against_one(thresholds(many), 25.0),
    ]
    for number in (1, 2, 3):
        found += against_apart(mqos(number, few), 1.0)
    found += against_apart(mqos(1, few, window=20.0), 1.0, "mqos-1, window of 20 s")
    found += against_apart(mqos(1, few, rate=0.4), 1.0, "mqos-1, twice the rate")
    found += against_apart(neel_mixed(few), 1.0)
    return [*found, *compiling(), *filtering()]


def rows(scale: float) -> list[Row]:
    found = of_rules(scale)
    return found + [row for count in MATCHERS for row in shared_filter(count, round(EVENTS * scale))]
