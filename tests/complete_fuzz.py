"""WHEN COMPLETE of random queries on random streams: the kernel and each form of the query against the
reference, which knows the scopes. A part of `make fuzz`.

    PYTHONPATH=tests .venv/bin/python -m complete_fuzz --queries 1000 --seed 1
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from answers import answer, case_text
from fuzz_runner import fuzz
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from in_kernel import as_bindings, kernel_matches, planned_for

from neelc.ir.expressions import Literal
from neelc.ir.node import walk
from neelc.ir.patterns import Not
from neelc.ir.program import Match
from neelc.ir.script import RunQuery, SelectionStrategy
from neelc.ir.types import INT
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.rules.driver import forms
from neelc.runtime.reference import LimitReached, Tables, matches

MOST_ROWS = (1, 3, 2_000_000)


def drawn(number: int) -> Sample | None:
    """A query with a negation that says WHEN COMPLETE, and streams for it."""
    strategies = [*SelectionStrategy]
    found = sample(number) if number % 2 else kleene_sample(number, strategies[number // 2 % len(strategies)])
    if found is None or found.match.is_imprecise:
        return None
    if not any(isinstance(node, Not) for node in walk(found.query.pattern)):
        return None
    until = Literal(number // 4 % 12, INT) if number % 4 > 1 else None
    asked = RunQuery(replace(found.query, complete=True, complete_until=until))
    script = replace(found.script, statements=(*found.script.statements[:-1], asked))
    return replace(found, script=script)


def differences(found: Sample, number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the answers to one query."""
    for tables in found.tables:
        expected = answer(found.match, tables)
        without = answer(replace(found.match, complete=False), tables)
        if expected is None or without is None:
            seen["too large"] += 1
            continue
        seen["pairs"] += 1
        seen["with matches"] += bool(expected.rows)
        seen["with fewer matches"] += expected.rows != without.rows
        for form in forms(found.match):
            match = form.rewriting.query
            rewritten = answer(match, tables)
            if rewritten is not None and rewritten.rows != expected.rows:
                yield f"{form.name}: {match.pattern}\n{case_text(found, tables, 'WHEN COMPLETE')}"
            elif by_kernel(match, tables, number, seen):
                yield f"{form.name}, the kernel: {match.pattern}\n{case_text(found, tables, 'WHEN COMPLETE')}"


def by_kernel(match: Match, tables: Tables, number: int, seen: Counter[str]) -> bool:
    """Whether the kernel finds something else."""
    try:
        planned = planned_for(match)
        found = as_bindings(kernel_matches(match, tables, MOST_ROWS[number % 3], planned))
        expected = as_bindings(matches(match, tables))
    except (UnsupportedQuery, LimitReached) as refusal:
        seen[f"not by the kernel: {str(refusal).partition('`')[0].strip()[:60]}"] += 1
        return False
    seen["by the kernel"] += 1
    return found != Counter(dict.fromkeys(expected, 1))


def check_query(number: int, seen: Counter[str]) -> Iterator[str]:
    found = drawn(number)
    if found is not None:
        seen["queries"] += 1
        yield from differences(found, number, seen)


if __name__ == "__main__":
    sys.exit(fuzz(check_query, "complete_fuzz", 1000, "queries"))
