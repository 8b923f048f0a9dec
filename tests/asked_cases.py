"""The case files as questions: those that expect matches, and what Spark says to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from on_spark import Asking, Question, Refusal, ask, clock
from repository import ROOT

from neelc.engines.reference import executable
from neelc.runtime.reference import Result
from neelc.runtime.values.times import in_zone
from neelc.tools import cases
from neelc.tools.cases.run import PreparedCase, compare, prepared

CASES = ROOT / "tests" / "cases"
PATHS = sorted(
    path
    for path in CASES.rglob("*.case")
    if path.name != "wanted.case" and path.parent.name != "recognize"  # test_recognize_on_spark asks these
)


@cache
def question(path: Path) -> Question | None:
    """None: the case expects an error, or a limit of the reference."""
    case = cases.load(path)
    with in_zone(case.zone):
        ready = prepared(case)
        if isinstance(case.expected, str) or not isinstance(ready, PreparedCase):
            return None
        program = executable(ready.program, [len(ready.program.queries) - 1], case.query)
    return Question(str(path.relative_to(CASES)), program, ready.tables, case.timezone or "UTC")


@dataclass
class CaseSummary:
    """How many cases were answered, why others were not, and what is wrong."""

    answered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def ask_cases(spark: Any, paths: Iterable[Path], asking: Asking) -> CaseSummary:
    """Compare what the cases expect with what Spark finds."""
    summary = CaseSummary()
    by_zone: dict[str, list[Question]] = {}
    for one in questions(paths):
        by_zone.setdefault(one.zone, []).append(one)
    for zone, some in by_zone.items():
        with clock(spark, zone):
            _compare(summary, ask(spark, some, asking))
    return summary


def _compare(summary: CaseSummary, answers: Iterable[tuple[Question, Result | Refusal | str]]) -> None:
    for one, result in answers:
        match result:
            case Refusal(why):
                summary.refused[why.partition("`")[0].strip()] += 1
            case Result():
                summary.answered += 1
                outcome = compare(cases.load(CASES / one.name).expected, result)
                if not outcome.passed:
                    summary.problems.append(f"{one.name}\n{outcome.diff}")
            case str() if "NEEL5070" in result:
                summary.refused["times too far from 0"] += 1
            case str():
                summary.problems.append(f"{one.name}\n{result}")


def questions(paths: Iterable[Path]) -> Iterator[Question]:
    for path in paths:
        found = question(path)
        if found is not None:
            yield found
