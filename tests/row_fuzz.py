"""MATCH_RECOGNIZE by the kernel compared with the reference, on random clauses and rows: of `make fuzz`.

PYTHONPATH=tests .venv/bin/python -m row_fuzz --pairs 10000 --seed 1
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from random import Random
from unittest.mock import patch

from fuzz_runner import fuzz
from generate.row_patterns import clause, rows
from in_rows import Way, bound, recognized_by_kernel

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
from neelc.tools.cases.streaming.rows import as_bag

TABLES = 4
ROUND = 100
MAX_CHECKS = 20_000
NO_SKIP: Counter[object] = Counter({"AFTER MATCH SKIP leads nowhere": 1})


class Different(AssertionError):
    """The kernel finds something else."""


def check_clause(number: int, seen: Counter[str]) -> None:
    """A random clause over some tables; raises `Different`."""
    chance = Random(number)
    text = clause(chance)
    try:
        query = bound(text)
        plan = row_plan(query)
    except NeelError as error:
        seen[f"wrong: {error.diagnostics[0].code}"] += 1
        return
    except UnsupportedQuery as refusal:
        seen[f"not compared: {refusal.what.partition('`')[0].strip()}"] += TABLES
        return
    compile(source_of(plan), "clause", "exec")
    seen["clauses"] += 1
    for _ in range(TABLES):
        compare(query, plan, rows(chance), chance, seen, f"clause {number}:\n{text}")


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


if __name__ == "__main__":
    sys.exit(fuzz(check_clause, "row_fuzz", 10_000))
