"""The kernel finds what the reference finds: in random queries, in case files, directly and through the
bridge."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from unittest.mock import patch

import pytest
from asked_cases import CASES, PATHS, question
from generate.rewritable import sample
from in_bridge import run, way
from kernel_fuzz import FAMILIES, Different, Tally, check_sample, run_round

from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime import columns as segments
from neelc.runtime.values.times import in_zone
from neelc.tools import cases
from neelc.tools.cases.run import compare

QUERIES = 48
PARTS = 4
PAIRS = 120
"""Least number of pairs in a part: a query that the kernel does not support compares nothing."""
CLAIMED = 390
"""Least number of cases that the kernel executes."""


@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries(part: int) -> None:
    seen = run_round(part * QUERIES, QUERIES)
    assert seen.broken == []
    assert seen.pairs >= PAIRS
    assert seen.with_matches >= PAIRS // 3
    assert seen.chunked >= PAIRS // 20
    assert len(seen.forms) >= 2


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "all"])
def test_random_queries_of_a_family(family: str) -> None:
    seen = run_round(1, 14, FAMILIES[family])
    assert seen.broken == []
    assert seen.with_matches >= 4


def everything(low: segments.Ints, high: segments.Ints, *_: object) -> tuple[segments.Ints, segments.Ints]:
    return low, high


def test_a_match_that_two_chunks_report_is_noticed() -> None:
    unlimited = patch.object(segments, "in_chunks", everything)
    with unlimited, pytest.raises(Different, match=r"the bridge.* added"):
        for number in range(20):
            check_sample(sample(number), Tally(), number)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(CASES)))
def test_case(path: Path) -> None:
    case_question = question(path)
    if case_question is None or len(case_question.program.pattern_queries) < len(
        case_question.program.queries
    ):
        return  # the case is about an error, or about SELECT
    for seed in range(3):
        try:
            with in_zone(case_question.zone):
                found = run(case_question.program, case_question.tables, way(seed))
                outcome = compare(cases.load(path).expected, found)
        except UnsupportedQuery as refusal:
            pytest.skip(f"notimpl: {refusal.what.partition('`')[0].strip()}")
        assert outcome.passed, f"{way(seed)}\n{outcome.diff}"


@pytest.mark.long
def test_most_cases_are_claimed() -> None:
    claimed: Counter[str] = Counter()
    for path in PATHS:
        case_question = question(path)
        if case_question is not None:
            try:
                run(case_question.program, {name: [] for name in case_question.tables}, way(0))
                claimed["executed"] += 1
            except UnsupportedQuery as refusal:
                claimed[refusal.what] += 1
    assert claimed["executed"] >= CLAIMED, claimed
