"""MATCH_RECOGNIZE over streams compared with the reference, on random clauses, rows, micro-batches and orders
of arrival: of `make fuzz`. What the kernel keeps is written and read between any two micro-batches.

PYTHONPATH=tests .venv/bin/python -m row_stream_fuzz --pairs 10000 --seed 1

A stream has the rows that the reference has, but for those of matches that are not decided; and it has all of
those that are.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from unittest.mock import patch

from fuzz_runner import fuzz
from generate.row_patterns import clause, rows
from in_rows import bound
from in_stream import FAR, Arrival, arrival, arrived

from neelc.errors import NeelError
from neelc.ir.names import bare
from neelc.ir.row_patterns import SortItem
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.rows.plan.plan import RowPlan, row_plan
from neelc.rows.plan.streams import streamed_rows
from neelc.runtime.failures import SKIP, KernelFailure
from neelc.runtime.kernels.rows import automaton, walking
from neelc.runtime.kernels.rows import program as p
from neelc.runtime.kernels.rows.program import StreamedRows
from neelc.runtime.reference import recognize as reference
from neelc.runtime.reference.model import LimitReached, ReferenceEvent
from neelc.runtime.reference.recognize import Row
from neelc.runtime.reference.results import Result
from neelc.runtime.streaming import StreamMemory
from neelc.tools.cases.streaming.arrival import Batches
from neelc.tools.cases.streaming.rows import as_bag, clause_results, decided

TABLES = 4
ROUND = 100
MAX_CHECKS = 20_000


class Different(AssertionError):
    """The stream gives something else."""


# A clause over a stream, in process.


@dataclass(frozen=True)
class RowRun:
    """What a run over a stream gave: rows, for each micro-batch, and what is kept after the last one."""

    results: list[Result]
    memory: StreamMemory

    @property
    def result(self) -> Result:
        return Result(self.results[0].columns, [row for one in self.results for row in one.rows])


def over_stream(plan: RowPlan, streamed: StreamedRows, rows: Sequence[Row], batches: Batches) -> RowRun:
    """The clause over rows that come in these micro-batches."""
    results, bucket = clause_results(plan, streamed, rows, batches)
    return RowRun(results, bucket.memory)


def not_late(rows: Sequence[Row], batches: Batches) -> list[Row]:
    late = {n for batch, now in batches for n in batch if rows[n]["t"] <= now}  # type: ignore[operator]
    return [row for number, row in enumerate(rows) if number not in late]


# Random clauses.


def check_clause(number: int, seen: Counter[str]) -> None:
    """A random clause over some streams; raises `Different`."""
    chance = Random(number)
    text = clause(chance, streaming=True)
    try:
        query = bound(text)
        plan = row_plan(query, streaming=True)
        streamed = streamed_rows(plan, "t")
    except NeelError as error:
        seen[f"wrong: {error.diagnostics[0].code}"] += 1
        return
    except UnsupportedQuery as refusal:
        seen[f"refused: {refusal.code} {refusal.what.partition('`')[0].strip()}"] += 1
        return
    seen["clauses"] += 1
    for place in range(TABLES):
        table = timed(rows(chance), query.order, chance)
        how = arrival(number * TABLES + place)
        if chance.random() < 0.2:
            how = replace(how, delay=6, slack=1)
        compare(plan, streamed, table, how, chance, seen, f"clause {number}:\n{text}")


def timed(table: Sequence[Row], items: Sequence[SortItem], chance: Random) -> list[Row]:
    """Rows that all have a time, of which no two are equal in all that they are sorted by."""
    names = [bare(item.expression.name) for item in items]  # type: ignore[attr-defined]
    instants = chance.choice([3, 8, 20])
    found: dict[object, Row] = {}
    for row in table:
        moment = chance.randrange(instants) if len(names) > 1 and chance.random() < 0.5 else row["t"]
        given = {**row, "t": 0 if moment is None else moment}
        key = tuple(repr(0.0 if given[name] == 0.0 else given[name]) for name in names)
        found.setdefault(key, given)
    return list(found.values())


def compare(
    plan: RowPlan,
    streamed: StreamedRows,
    table: Sequence[Row],
    how: Arrival,
    chance: Random,
    seen: Counter[str],
    what: str,
) -> None:
    """One clause over one stream."""
    query = plan.query
    rows = [row for partition in reference.in_partitions(query, table) for row in partition]
    moments: list[Any] = [row["t"] for row in rows]
    events = [ReferenceEvent("", n, None, at, at, {}, (None, None)) for n, at in enumerate(moments)]
    batches = [*arrived(events, how, 1), ([], FAR)]
    on_time = not_late(rows, batches)
    together = chance.choice([0, 1, 100])
    try:
        with patch.object(reference, "MAX_CHECKS", MAX_CHECKS):
            least = as_bag(decided(query, streamed, on_time))
            most = as_bag(reference.recognized(query, on_time))
    except reference.CannotSkip:
        most = None
    except LimitReached:
        seen["not compared: too large"] += 1
        return
    try:
        with (
            patch.object(automaton, "FEW", together),
            patch.object(automaton, "LONG", chance.choice([2, 4, 100])),
            patch.object(walking, "PIECES", chance.choice([0, 1, 24])),
            patch.object(walking, "ROWS_AT_ONCE", 1 + 5 * together),
        ):
            run = over_stream(plan, streamed, rows, batches)
    except KernelFailure as failure:
        if failure.facts.kind != SKIP or most is not None:
            raise Different(f"{what}\n{rows}\n{how}\n{failure}") from failure
        seen["skips that lead nowhere"] += 1
        return
    if most is None:
        seen["skips that lead nowhere, of undecided matches"] += 1
        return
    found = as_bag(run.result)
    seen["pairs"] += 1
    seen["with rows"] += bool(found)
    seen["with late rows"] += len(on_time) < len(rows)
    seen["all decided"] += least == most
    seen["with conditions on the path"] += bool(plan.program.conditions)
    seen["with a window of time"] += plan.program.reach is not None
    if least - found or found - most:
        raise Different(
            f"{what}\n{rows}\n{how}, together {together}\n"
            f"lost {dict(least - found)}\nadded {dict(found - most)}"
        )
    most_kept = len(reference.in_partitions(query, on_time)) * kept_of_key(streamed)
    if run.memory.rows > most_kept:
        raise Different(f"{what}\n{rows}\n{how}\nkeeps {run.memory.rows} rows, more than {most_kept}")


def kept_of_key(streamed: StreamedRows) -> int:
    """The most rows that are kept of a key when all windows of time have passed, and its own."""
    program = streamed.program
    _, ahead = p.sight(program)
    is_timed = program.reach is not None and not ahead
    longest = 0 if is_timed else program.rows or streamed.longest or ahead + (program.reach or 0) * 1_000
    return streamed.behind + ahead + longest + streamed.remembers_keys


if __name__ == "__main__":
    sys.exit(fuzz(check_clause, "row_stream_fuzz", 10_000))
