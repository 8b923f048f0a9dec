"""All case files on the local engine, without a JVM: what it finds is what they expect."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from asked_cases import CASES

from neelc.tools import cases
from neelc.tools.cases.local import LocalTally, run_locally

PATHS = sorted(path for path in CASES.rglob("*.case") if path.name != "wanted.case")
PARTS = 48

REFUSED = {
    "algebra/agent.case": "the agent",
    "errors/agent-without-rows.case": "the agent",
    "errors/data-limit.case": "NEEL5007",
}
"""Cases that the local engine does not execute, and why. What no engine has a plan for is not listed."""

AGREE = """\
# Two in a row.
events trades
t  sym
1  A
2  B

query
PATTERN SEQ(A a, B b) RETURN a.t AS a, b.t AS b

matches
a  b
1  2
"""


@pytest.mark.parametrize("part", range(PARTS))
def test_cases(part: int) -> None:
    tally, unplanned = LocalTally(), Counter[str]()
    for path in PATHS[part::PARTS]:
        name, outcome = str(path.relative_to(CASES)), run_locally(cases.load(path))
        assert outcome.passed, f"{name}\n{outcome.diff}"
        tally.add(outcome)
        if outcome.refusal.startswith("NEEL4001"):
            unplanned[path.parent.name] += 1
        elif outcome.refusal:
            assert REFUSED[name] in outcome.refusal
    assert tally.counts["agree"] > 20 and tally.counts["with the expected error"] > 5
    assert unplanned.keys() <= {"confidence", "kleene", "rewrite", "strategies"}


def one_case(directory: Path, text: str) -> cases.CaseFile:
    path = directory / "one.case"
    path.write_text(text)
    return cases.load(path)


def test_a_difference_is_shown(tmp_path: Path) -> None:
    outcome = run_locally(one_case(tmp_path, AGREE.replace("1  2\n", "1  3\n")))
    assert outcome.diff == "on the local engine:\n  a  b\n- 1  3\n+ 1  2"


def test_an_error_that_does_not_come_is_a_difference(tmp_path: Path) -> None:
    matches = "matches\na  b\n1  2\n"
    expects = AGREE.replace(matches, "error\nerror[NEEL5009]: AFTER MATCH SKIP leads nowhere\n")
    outcome = run_locally(one_case(tmp_path, expects))
    assert not outcome.passed and "an error was expected, but there was none:\na  b\n1  2" in outcome.diff


def test_files_of_a_case_are_read_by_the_engine(tmp_path: Path) -> None:
    (tmp_path / "trades.csv").write_text('t,sym,tags\n1,A,"[1, 2]"\n2,B,[3]\n')
    stream = "CREATE STREAM trades (t INT, sym STRING) TIMESTAMP BY t TYPE BY sym FROM 'trades.csv';\nPATTERN"
    events = "events trades\nt  sym\n1  A\n2  B\n\n"
    case = one_case(tmp_path, AGREE.replace(events, "").replace("PATTERN", stream))
    assert run_locally(case) == run_locally(one_case(tmp_path, AGREE))
    (tmp_path / "trades.csv").write_text("t,sym\n1,A\nsoon,B\n")
    assert run_locally(case).has_error, "the compiler reads it, too"


def test_the_time_zone_of_a_case(tmp_path: Path) -> None:
    text = AGREE.replace("a.t AS a, b.t AS b", "hour(TIMESTAMP '2024-05-01 10:00:00+00:00') AS h")
    case = one_case(tmp_path, text.replace("a  b\n1  2\n", "h\n12\n"))
    assert run_locally(case, "Europe/Berlin").passed and not run_locally(case, "UTC").passed
    case = one_case(tmp_path, text.replace("a  b\n1  2\n", "h\n12\n\ntimezone Europe/Berlin\n"))
    assert run_locally(case, "UTC").passed
