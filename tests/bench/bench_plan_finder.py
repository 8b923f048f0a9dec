"""How good the plans are that the plan finder finds, and how long it takes.

Quality is measured against trying all plans, on random workloads of 8 expressions: the fewer types there are,
the more the expressions share, and the more opportunities exclude each other. Time, of the processor, is
measured on random workloads, and on 200 expressions that all share one thing.
"""

from __future__ import annotations

import time
from random import Random

from bench.row import Row
from generate.workloads import PAPER_GROUPS, best_plan, expression, groups_of, mixed_workloads, workload

from neelc.sharing.cost import CostModel
from neelc.sharing.operators import Workload
from neelc.sharing.plan_finder import cost_of, find_plan

WORKLOADS = 300
WITHIN = 1.05
SECONDS = 2.0
MANY = 200


def quality(types: str) -> list[Row]:
    ratios = []
    for seed in range(WORKLOADS):
        found = workload(Random(seed), 8, types)
        ratios.append(cost_of(found, find_plan(found)) / cost_of(found, best_plan(found)))
    optimal = sum(ratio < 1 + 1e-9 for ratio in ratios) / WORKLOADS
    name = f"{WORKLOADS} workloads of 8 expressions over {len(types)} types"
    return [
        Row(f"{name}: optimum found", f"{optimal:.1%}"),
        Row(f"{name}: worst, by the optimum", f"{max(ratios):.3f}", f"<= {WITHIN}", max(ratios) <= WITHIN),
    ]


def duration(name: str, found: Workload) -> Row:
    start = time.process_time()
    plan = find_plan(found)
    seconds = time.process_time() - start
    saved = 1 - cost_of(found, plan) / sum(found.alone)
    shown = f"{seconds * 1000:.0f} ms, {len(plan)} groups, {saved:.0%} saved"
    return Row(name, shown, f"< {SECONDS:.0f} s", seconds < SECONDS)


def alike(texts: list[str]) -> Workload:
    return Workload(
        [expression(text, number) for number, text in enumerate(texts)], CostModel(lambda component: 10)
    )


def mixed(spread: float) -> Row:
    """How often the paper's groups are found when the rates differ by up to a factor of `spread`."""
    hits = [groups_of(asked, find_plan(asked)) == PAPER_GROUPS for asked in mixed_workloads(spread)]
    share = sum(hits) / len(hits)
    return Row(f"mixed workload, rates differ by {spread:.0f}: the paper's groups", f"{share:.0%}")


def run() -> list[Row]:
    rows = [row for types in ("ABCDE", "ABC", "AB") for row in quality(types)]
    rows += [mixed(spread) for spread in (2.0, 10.0, 1000.0)]
    rows += [
        duration(f"{count} expressions", workload(Random(count), count)) for count in (10, 20, 50, 100, MANY)
    ]
    long = " ".join(f"T{place}" for place in range(29))
    rows.append(duration(f"{MANY} with one positive part", alike([f"A B !X{n} C" for n in range(MANY)])))
    rows.append(duration(f"{MANY} with a prefix of 4", alike([f"A B C D X{n}" for n in range(MANY)])))
    rows.append(duration(f"{MANY} with a prefix of 29", alike([f"{long} X{n}" for n in range(MANY)])))
    return rows
