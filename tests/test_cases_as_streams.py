"""Case files as streams, in process: however their events come, the matches are those of the case."""

from __future__ import annotations

from pathlib import Path

import pytest

from neelc.tools import cases
from neelc.tools.cases import streaming

CASES = Path(__file__).parent / "cases"
ELSEWHERE = ("algebra", "errors", "lints", "recognize", "sequential")
"""Directories of cases that are no PATTERN queries, or expect an error."""

NEGATION = """\
events trades
t   sym
1   A
2   B
40  A
50  B
55  C

query
CREATE STREAM trades (t BIGINT, sym STRING) TIMESTAMP BY t UNIT SECONDS TYPE BY sym WATERMARK 20 SECONDS;
PATTERN SEQ(A a, B b, !C c) WITHIN 30 SECONDS RETURN a.t AS a, b.t AS b

matches
a  b
1  2
"""


def written(directory: Path, text: str = NEGATION) -> cases.CaseFile:
    path = directory / "negation.case"
    path.write_text(text)
    return cases.load(path)


def test_cases_find_the_same_as_streams() -> None:
    paths = [path for path in sorted(CASES.rglob("*.case")) if path.parent.name not in ELSEWHERE]
    outcomes = {path: cases.run_as_stream(cases.load(path)) for path in paths}
    assert [f"{path}: {one.diff}" for path, one in outcomes.items() if not one.passed] == []
    assert sum(not one.refused for one in outcomes.values()) >= 150


def test_a_difference_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = written(tmp_path)
    assert cases.run_as_stream(case) == cases.StreamOutcome(True)
    both = NEGATION.replace("55  C\n", "") + "40  50\n"
    assert cases.run_as_stream(written(tmp_path, both)) == cases.StreamOutcome(True)
    monkeypatch.setattr(streaming, "LAST", 0)  # the watermark that lets all matches out does not come
    outcome = cases.run_as_stream(written(tmp_path, both))
    assert not outcome.passed
    assert outcome.diff.startswith("as a stream, one event at a time, in order:\n")
    assert "- 40  50" in outcome.diff


def test_what_does_not_run_as_a_stream(tmp_path: Path) -> None:
    without = written(tmp_path, NEGATION.replace(", !C c) WITHIN 30 SECONDS", ")"))
    assert cases.run_as_stream(without).refused.startswith("this query would keep every event of the stream")
    pattern = "PATTERN SEQ(A a, B b, !C c) WITHIN 30 SECONDS RETURN a.t AS a, b.t AS b"
    select = NEGATION.replace(pattern, "SELECT sym FROM trades WINDOW(TIME 5 SECONDS)")
    refused = "only PATTERN queries run as streams without Spark"
    assert cases.run_as_stream(written(tmp_path, select)).refused == refused
