"""All case files on the local engine, without a JVM: what it finds is what they expect."""

from __future__ import annotations

import pytest
from asked_cases import CASES, PATHS, question
from in_local import answer
from on_spark import Asking, Refusal

from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import UnspelledOperation
from neelc.tools import cases
from neelc.tools.cases.run import compare

RECOGNIZE = sorted((CASES / "recognize").glob("*.case"))
PARTS = 12

REFUSED = {
    "algebra/agent.case": "the agent",
}
"""Cases that the local engine does not execute, and why."""


@pytest.mark.parametrize("part", range(PARTS))
def test_cases(part: int) -> None:
    answered = 0
    for path in [*PATHS, *RECOGNIZE][part::PARTS]:
        asked = question(path)
        if asked is None:
            continue
        with in_zone(asked.zone):
            try:
                found = answer(asked, Asking())
            except UnspelledOperation as error:
                assert REFUSED[asked.name] in str(error)
                continue
            if isinstance(found, Refusal):
                continue
            outcome = compare(cases.load(path).expected, found)
        assert outcome.passed, f"{asked.name}\n{outcome.diff}"
        answered += 1
    assert answered > 80
