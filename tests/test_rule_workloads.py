"""The workloads of many rules: all texts compile, and most rules have matches."""

from __future__ import annotations

import doctest
import re

import pyarrow.compute as pc
import pytest
from bench import rule_workloads
from bench.rule_workloads import RuleWorkload, small, table

from neelc import syntax
from neelc.ir.program import Program
from neelc.pipeline import compile_program
from neelc.program import bind
from neelc.runtime.reference import run
from neelc.source import Source

WORKLOADS = small()


def bound(workload: RuleWorkload, text: str) -> Program:
    source = Source(f"{workload.events.statement}{text};", workload.name)
    return bind(syntax.read(source), source)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_texts_compile(workload: RuleWorkload) -> None:
    for text in workload.texts.values():
        assert compile_program(bound(workload, text)).source


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_most_rules_have_matches(workload: RuleWorkload) -> None:
    events = table(workload.events).to_pylist()
    found = {
        name: len(run(bound(workload, text), {"Events": events})[-1][1].rows)
        for name, text in workload.texts.items()
    }
    assert sum(count > 0 for count in found.values()) > 0.8 * len(found), found


def test_texts_differ_and_workloads_have_their_size() -> None:
    whole = [
        rule_workloads.common_parts(2_000_000),
        rule_workloads.unrelated(2_000_000),
        rule_workloads.thresholds(2_000_000),
        rule_workloads.filters(1000, 2000),
        rule_workloads.matchers(50, 1000),
    ]
    assert [len(one.texts) for one in whole] == [50, 50, 1000, 2000, 50]
    for one in (*whole, *WORKLOADS):
        assert len(set(one.texts.values())) > 0.99 * len(one.texts), one.name


def test_about_a_hundredth_meets_a_threshold() -> None:
    workload = rule_workloads.thresholds(200_000, 20)
    events = table(workload.events)
    for text in workload.texts.values():
        (least,) = [int(word) for word in re.findall(r"a.x > (\d+)", text)]
        assert 0.004 < pc.mean(pc.greater(events["x"], least)).as_py() < 0.017


def test_docstrings() -> None:
    assert doctest.testmod(rule_workloads).failed == 0
