"""`neelc test`."""

from __future__ import annotations

import pytest
from command_line import Done, Here, break_the_parser

CASE = """\
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


def test_cases_are_found_and_counted(neelc: Here) -> None:
    (neelc.directory / "deep").mkdir()
    neelc.write("deep/good.case", CASE)
    neelc.write("bad.case", CASE.replace("1  2\n", "1  3\n"))
    neelc.write("broken.case", CASE.replace("query", "question"))
    done = neelc("test", ".")
    assert (done.status, done.err) == (1, "")
    assert "bad.case: failed\n    a  b\n  - 1  3\n  + 1  2\n" in done.out
    assert "broken.case:7: cells in this row: 1, in the header: 2" in done.out
    assert done.out.endswith("\n1 passed, 2 failed\n")
    assert neelc("test", "deep") == Done(0, "1 passed, 0 failed\n", "")


def test_cases_are_updated(neelc: Here) -> None:
    neelc.write("bad.case", CASE.replace("1  2\n", "1  3\n"))
    assert neelc("test", "--update", "bad.case") == Done(0, "1 passed, 0 failed, 1 updated\n", "")
    assert neelc.read("bad.case") == CASE


def test_cases_as_streams(neelc: Here) -> None:
    neelc.write("bounded.case", CASE.replace("RETURN", "WITHIN 5 RETURN"))
    neelc.write("endless.case", CASE)
    done = neelc("test", "--streaming", ".")
    why = "this query would keep every event of the stream: the pattern has no WITHIN"
    out = f"not over streams: NEEL4131: {why}\n  endless.case\n\n2 passed, 0 failed\n"
    assert done == Done(0, f"{out}2 cases as streams: 1 agrees, 1 not over streams (NEEL4131: 1)\n", "")
    done = neelc("test", "--streaming", "--update", ".")
    assert done.status == 2 and "leave --update out" in done.err


def test_no_cases(neelc: Here) -> None:
    assert neelc("test", "none") == Done(2, "", "neelc: none: no such file or directory\n")
    assert neelc("test", ".") == Done(2, "", "neelc: .: no *.case files in this directory\n")


def test_a_bug_in_one_case_does_not_hide_the_others(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    neelc.write("one.case", CASE)
    break_the_parser(monkeypatch)
    done = neelc("test", ".")
    assert (done.status, done.err) == (1, "")
    assert done.out.startswith("one.case: failed\n  error[NEEL9001]: ")
    assert done.out.endswith("\n0 passed, 1 failed\n")


def test_cases_on_the_local_engine(neelc: Here) -> None:
    neelc.write("one.case", CASE)
    neelc.write("two.case", CASE.replace("matches\na  b\n1  2\n", "error\nan error\n"))
    done = neelc("test", "--engine", "local", "one.case")
    assert done == Done(0, "1 passed, 0 failed\n1 case on the local engine: 1 agrees\n", "")
    done = neelc("test", "--engine", "local", "two.case")
    assert done.status == 1 and "on the local engine: 0 agree" in done.out, "what fails is not run again"
    done = neelc("test", "--engine", "local", "--update", "one.case")
    assert done.status == 2 and "test --engine local" in done.err and "leave --update out" in done.err


def test_what_the_local_engine_finds_must_agree(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    from neelc.tools.cases import local

    neelc.write("one.case", CASE)
    monkeypatch.setattr(local, "local_rows", lambda *_: [(1, 3)])
    done = neelc("test", "--engine", "local", ".")
    assert done.out.startswith("one.case: failed\n  on the local engine:\n    a  b\n  - 1  2\n  + 1  3\n")
    assert done.status == 1 and done.out.endswith("1 case on the local engine: 0 agree, 1 differs\n")


def test_what_the_local_engine_refuses_is_listed(neelc: Here) -> None:
    late = "PATTERN SEQ(A a, SEQ(B b, !A x)+ k[]) WITHIN 9 WHEN COMPLETE RETURN a.t AS a, a.t AS b"
    case = CASE.replace("PATTERN SEQ(A a, B b) RETURN a.t AS a, b.t AS b", late).replace("1  2\n", "")
    neelc.write("one.case", case)
    done = neelc("test", "--engine", "local", ".")
    assert (
        done.out.startswith("not on the local engine: NEEL4001: ") and "\n  one.case\n\n1 passed" in done.out
    )
    assert done.out.endswith("1 case on the local engine: 0 agree, 1 not run\n") and done.status == 0
