"""WHEN COMPLETE: the forms and the kernel against the reference, and what engines make of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from command_line import Here
from complete_fuzz import check_query
from pattern_examples import query

from neelc.arguments import Options
from neelc.ir.program import CompleteColumn, NamedQuery, Program
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import compile_program

TEXT = "SEQ(A a, !B b) WHERE [id] WITHIN 9 WHEN COMPLETE"


def program(text: str) -> Program:
    match = query(text)
    return Program(match.streams, (NamedQuery(None, match),))


def test_random_queries() -> None:
    seen = Counter[str]()
    broken = [found for number in range(40) for found in check_query(number, seen)]
    assert broken == []
    assert seen["with fewer matches"] > 5 and seen["by the kernel"] > 20


def test_the_end_is_looked_for_once_and_only_where_it_is_asked_for() -> None:
    source = compile_program(program(TEXT)).source
    assert source.count("max(last)") == 2 and source.count("crossJoin") == 1  # tested, and subtracted from
    assert "crossJoin" not in compile_program(program("SEQ(A a, !B b, C c) WITHIN 9 WHEN COMPLETE")).source


def test_over_streams_a_match_is_sure_anyway() -> None:
    assert "crossJoin" not in compile_program(program(TEXT), options=Options(streaming=True)).source


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SEQ(A a, !B b) WITHIN 9 EVENTS WHEN COMPLETE", "counts EVENTS"),
        ("SEQ(A a, !B b)+ k[] WITHIN 9 WHEN COMPLETE", "last iteration"),
    ],
)
def test_what_no_condition_says_is_refused(text: str, why: str) -> None:
    with pytest.raises(UnsupportedQuery, match=why):
        compile_program(program(text))


def test_the_data_of_a_query_have_no_such_column() -> None:
    (stream,) = query(TEXT).streams
    assert not any(isinstance(one, CompleteColumn) for one in stream.derived)


BEATS = "t,kind,machine\n2,Beat,1\n7,Beat,1\n9,Beat,2\n10,Stop,3\n"
SILENT = "PATTERN SEQ(Beat b, !Beat next) WHERE [machine] WITHIN 3 SECONDS"


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_matches_that_the_end_decides_are_noted(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Here(tmp_path, capsys, engine)
    path = here.write("beats.csv", BEATS)

    def noted(query: str) -> str:
        script = here.write("query.neel", query)
        return here("run", str(script), "--stream", f"beats={path},timestamp=t,unit=s,type=kind").err

    assert "note: 1 of 3 matches is decided by the end of the data" in noted(SILENT)
    for other in ("WHEN COMPLETE", "WHEN COMPLETE UNTIL 99", "RETURN DISTINCT b.machine"):
        assert "the end of the data" not in noted(f"{SILENT} {other}")
    between = "PATTERN SEQ(Beat b, !Beat next, Stop s) WITHIN 3 SECONDS"
    assert "the end of the data" not in noted(between)
