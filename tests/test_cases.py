"""Every case file: what the reference interpreter finds, and that its query survives formatting."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import ROOT

from neelc.errors import NeelError
from neelc.tools import cases

CASES = ROOT / "tests" / "cases"
PATHS = sorted(path for path in CASES.rglob("*.case") if path.name != "wanted.case")

each_case = pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(CASES)))


@each_case
def test_case(path: Path, update: bool) -> None:
    if update:
        cases.update(path)
    outcome = cases.run_case(cases.load(path))
    assert outcome.passed, f"{path.relative_to(ROOT)}\n{outcome.diff}"


@each_case
def test_the_query_means_the_same_in_canonical_form(path: Path) -> None:
    from neelc.syntax import script
    from neelc.syntax.printer import format_script

    try:
        parsed = script(cases.load(path).query)
    except NeelError:
        return  # the case is about that error
    text = format_script(parsed)
    assert script(text) == parsed
    assert format_script(script(text)) == text


@each_case
def test_a_case_says_what_it_is_about(path: Path) -> None:
    case = cases.load(path)
    assert case.title, "the first line is a comment that says what holds"
    assert all(len(events.table) <= 16 for events in case.events), (
        "a case is small enough to be done in the head"
    )
