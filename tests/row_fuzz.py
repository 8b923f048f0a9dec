"""MATCH_RECOGNIZE by the kernel compared with the reference, on random clauses and rows: of `make fuzz`.

PYTHONPATH=tests .venv/bin/python -m row_fuzz --pairs 10000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from random import Random
from unittest.mock import patch

from generate.row_patterns import clause, rows
from in_rows import Way, as_bag, bound, recognized_by_kernel

from neelc.catalog.inputs import aligned
from neelc.engines.spark.python_source import python_source
from neelc.engines.spark.relations import Let, Read, Relations
from neelc.engines.spark.rows import row_relations
from neelc.errors import NeelError
from neelc.ir.bound_rows import Recognize
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.rows.plan.plan import RowPlan, row_plan
from neelc.runtime.failures import SKIP, KernelFailure
from neelc.runtime.kernels.rows import automaton, walking
from neelc.runtime.kernels.rows import letters as starting
from neelc.runtime.kernels.rows import walking as windowed
from neelc.runtime.reference import recognize as reference
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import Row

TABLES = 4
ROUND = 100
MAX_CHECKS = 20_000
NO_SKIP: Counter[object] = Counter({"AFTER MATCH SKIP leads nowhere": 1})


class Different(AssertionError):
    """The kernel finds something else."""


def compared(first: int, count: int) -> Counter[str]:
    """What was seen in so many clauses; raises `Different`."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + count):
        chance = Random(seed)
        text = clause(chance)
        try:
            query = bound(text)
            plan = row_plan(query)
        except NeelError as error:
            seen[f"wrong: {error.diagnostics[0].code}"] += 1
            continue
        except UnsupportedQuery as refusal:
            seen[f"not compared: {refusal.what.partition('`')[0].strip()}"] += TABLES
            continue
        compile(source_of(plan), "clause", "exec")
        seen["clauses"] += 1
        for _ in range(TABLES):
            compare(query, plan, rows(chance), chance, seen, f"clause {seed}:\n{text}")
    return seen


def source_of(plan: RowPlan) -> str:
    """What Spark would run."""
    lets = (Let("t", Read("t")), *row_relations(plan, "t", "result", {"t"}))
    return python_source(Relations(lets), "a clause")


def compare(
    query: Recognize, plan: RowPlan, table: Sequence[Row], chance: Random, seen: Counter[str], what: str
) -> None:
    """One clause over one table."""
    way = Way(chance.choice([1, 2, 3, 7]), chance.choice([1, 2, 5, 1000]), chance.choice([None, None, 1, 4]))
    together = chance.choice([0, 1, 3, 100])
    try:
        with patch.object(reference, "MAX_CHECKS", MAX_CHECKS):
            expected = as_bag(reference.recognized(query, table))
    except reference.CannotSkip:
        expected = NO_SKIP
    except LimitReached:
        seen["not compared: too large"] += 1
        return
    try:
        with (
            patch.object(automaton, "FEW", together),
            patch.object(automaton, "LONG", chance.choice([2, 4, 100])),
            patch.object(automaton, "PATIENCE", chance.choice([0, 1, 50])),
            patch.object(windowed, "PIECES", chance.choice([0, 1, 24])),
            patch.object(starting, "LONG", chance.choice([0, 3, 1000])),
            patch.object(walking, "ROWS_AT_ONCE", 1 + 5 * together),
        ):
            found = as_bag(recognized_by_kernel(plan, table, way))
    except KernelFailure as failure:
        if failure.facts.kind != SKIP:
            raise Different(f"{what}\n{table}\n{way}\n{failure}") from failure
        found = NO_SKIP
    seen["pairs"] += 1
    seen["with rows"] += bool(expected)
    seen["skips that lead nowhere"] += expected == NO_SKIP
    seen["with conditions on the path"] += bool(plan.program.conditions)
    seen["with conditions on the first row"] += bool(plan.program.starting)
    if found != expected:
        raise Different(
            f"{what}\n{list(table)}\n{way}, together {together}\n"
            f"lost {dict(expected - found)}\nadded {dict(found - expected)}"
        )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="row_fuzz")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    begin, seen = time.monotonic(), Counter[str]()
    with ProcessPoolExecutor(options.processes) as pool:
        first = options.seed * 1_000_000
        while seen["pairs"] < options.pairs:
            starts = range(first, first + ROUND * options.processes, ROUND)
            for found in pool.map(compared, starts, [ROUND] * options.processes):
                seen += found
            first += ROUND * options.processes
    lines = [(what, f"{count:,}") for what, count in sorted(seen.items())]
    print("\n".join(aligned([*lines, ("seconds", f"{time.monotonic() - begin:.0f}")])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
