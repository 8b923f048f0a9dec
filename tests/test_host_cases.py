"""MATCH_RECOGNIZE of case files: the kernel, in process, finds what the reference finds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from in_rows import Way, recognized_by_kernel
from repository import ROOT

from neelc.engines.reference import Tables, executable
from neelc.ir.bound_rows import HostQuery, SimpleQuery
from neelc.ir.program import Program
from neelc.rows.plan.plan import host_plan
from neelc.runtime.reference import rows_read_by
from neelc.runtime.reference.recognize import recognized
from neelc.runtime.reference.results import Result
from neelc.runtime.reference.rows import rows_read
from neelc.runtime.values.order import comparable
from neelc.runtime.values.times import in_zone
from neelc.tools import cases
from neelc.tools.cases.run import PreparedCase, prepared

CASES = ROOT / "tests" / "cases" / "recognize"
PATHS = sorted(CASES.glob("*.case"))

LEAST = 150
"""How many cases there are, at least: one for each clause, option and interplay."""


def test_there_are_cases() -> None:
    assert len(PATHS) >= LEAST


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_kernel_finds_the_same(path: Path) -> None:
    case = cases.load(path)
    with in_zone(case.zone):
        check_kernel(case)


def check_kernel(case: cases.CaseFile) -> None:
    program, place, tables = understood(case)
    host = program.queries[place].query
    assert isinstance(host, HostQuery) and host.simple is not None
    query = innermost(host.simple)
    plan = host_plan(host).clauses[0].plan
    rows = rows_read(query, rows_read_by(program, place, tables)) if query.recognize == plan.query else []
    for way in (Way(), Way(batch=2, rows_at_once=1)):
        assert as_rows(recognized_by_kernel(plan, rows, way)) == as_rows(recognized(plan.query, rows))


def understood(case: cases.CaseFile) -> tuple[Program, int, Tables]:
    """The program of a case, the place of its last query, and its events."""
    ready = prepared(case)
    assert isinstance(ready, PreparedCase)
    place = len(ready.program.queries) - 1
    return executable(ready.program, [place], case.query), place, ready.tables


def innermost(query: SimpleQuery) -> SimpleQuery:
    return query if isinstance(query.reads, str) else innermost(query.reads)


def as_rows(result: Result) -> Counter[object]:
    """Rows as a multiset."""
    return Counter(tuple(comparable(value) for value in row) for row in result.rows)


@pytest.mark.parametrize(
    ("name", "strategy"), [("v-shape", "linear"), ("define-sum", "backtracking"), ("within", "backtracking")]
)
def test_how_it_runs(name: str, strategy: str) -> None:
    program, place, _ = understood(cases.load(CASES / f"{name}.case"))
    host = program.queries[place].query
    assert isinstance(host, HostQuery)
    assert host_plan(host).clauses[0].strategy == strategy
