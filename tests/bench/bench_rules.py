"""Many rules at once: what is shared between them, against each with a plan of its own.

The workloads, and where they come from, are in `rule_workloads.py`. Figure 19.13 of the JEPC thesis has two
curves over the number of matchers, with the extended filter and without it: both sides are one union of all
matchers here, which differ in nothing else. A side that runs longer than 300 seconds is stopped, and its
ratio is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bench.baselines import plan_late
from bench.row import Row
from bench.rule_workloads import PAPER_FACTORS, RuleWorkload, matchers, parquet
from bench.sides import agree, faster, in_turn
from bench.spark import execute, read, session

from neelc import syntax
from neelc.arguments import Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.spark.compiled import CompiledScript, WrittenQuery, write_script
from neelc.engines.spark.relations import Let, Relations, Union
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import Planner, plan_queries
from neelc.program import bind
from neelc.source import Source

QUERIES: dict[str, str] = {}
"""No PATTERN over the stream of the other benchmarks here."""

MATCHERS = (1, 2, 5, 10, 20, 50)
EVENTS = 1_000_000
FIGURE = "matchers that share an extended filter (JEPC, figure 19.13)"


def as_one(workload: RuleWorkload, planner: Planner | None = None) -> CompiledScript:
    """All SELECTs of a workload in one script, whose result is the union of theirs: they have the same
    columns."""
    named = "".join(f"({text}) AS {name};\n" for name, text in workload.texts.items())
    source = Source(workload.events.statement + named, workload.name)
    queries = [(one, False) for one in bind(syntax.read(source), source).queries]
    written = []
    for one in plan_queries(queries, Options(), Statistics(), planner=planner):
        assert not isinstance(one.plan, UnsupportedQuery), one.plan
        written.append(WrittenQuery(one.named, one.plan, as_stream=False))
    found = write_script(written)
    results = tuple(let.name for let in found.relations.lets if let.name in workload.texts)
    # The result of the last query has another name.
    *others, last = found.relations.lets
    union = Let("everything", Union((*results, last.name)), "The matches of all matchers.")
    return replace(found, relations=Relations((*others, last, union)))


def executed(compiled: CompiledScript, streams: Mapping[str, Any]) -> Any:
    """The DataFrame that the source of a script makes."""
    namespace: dict[str, Any] = {}
    exec(compiled.source, namespace)
    return namespace["query"](session(), streams)


def shared_filter(count: int, events: int) -> list[Row]:
    """Figure 19.13: throughput with the filter extracted, by that without."""
    workload = matchers(count, events)
    streams = {"Events": read(parquet(workload.events))}
    ours = executed(as_one(workload), streams)
    theirs = executed(as_one(workload, plan_late), streams)
    # Once to warm up what is short: the other takes minutes, and has no need of it.
    execute(ours)
    sides = {"one filter": partial(execute, ours), "no filter": partial(execute, theirs)}
    measured = in_turn(sides, repetitions=1, warm=0)
    goal = PAPER_FACTORS["matchers"] if count == MATCHERS[-1] else None
    rows = [faster(f"{count} matchers, a pivot in 100 events", measured, goal, FIGURE, str(count))]
    if count == 5:
        rows.append(agree(f"matches of {count} matchers", {"ours": ours.count(), "theirs": theirs.count()}))
    return rows


# Workloads of PATTERN rules: `mqos`, `neel_mixed`, `common_parts`, `unrelated`, `thresholds` and `filters`
# of `rule_workloads`. Each row compares `rules(session(), workload.texts, Events=...)` with the union of what
# the texts give one by one; `of_rules` below is the place for it.


def of_rules(scale: float) -> list[Row]:
    """Rules executed together, against each by itself."""
    return []


def rows(scale: float) -> list[Row]:
    found = [row for count in MATCHERS for row in shared_filter(count, round(EVENTS * scale))]
    return found + of_rules(scale)
