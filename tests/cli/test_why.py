"""`neelc why` on the command line: text and JSON, what is wrong with a call, exit codes."""

from __future__ import annotations

import json

import pytest
from command_line import Here

from neelc.cli.why import coloured
from neelc.tools.why import explaining as whole
from neelc.tools.why.model import ReportedEvent, StartExplanation, Why

UP = """\
A a at 1: match
  a  A  1
  b  B  2  +1 second
  holds  WITHIN 10 SECONDS  1 second
  holds  b.price > a.price  b.price = 11.0, a.price = 10.0

1 start event: 1 with a match, 0 without
"""


def test_text(neelc: Here) -> None:
    done = neelc("why", "script.neel", "--query", "up", "--engine", "reference")
    assert (done.status, done.out, done.err) == (0, UP, "")


def test_json(neelc: Here) -> None:
    done = neelc("why", "script.neel", "--query", "UP", "--engine", "reference", "--format", "json")
    found = json.loads(done.out)
    assert (found["starts"], found["matching"]) == (1, 1)
    (one,) = found["explanations"]
    assert (one["start"]["time"], one["matches"], one["reached"], one["steps"]) == ("1", True, 2, 2)
    assert one["held"][1]["values"] == {"b.price": "11.0", "a.price": "10.0"}
    assert one["lines"][0] == "A a at 1: match"


def test_a_file(neelc: Here) -> None:
    done = neelc("why", "script.neel", "--query", "up", "--engine", "reference", "-o", "why.txt")
    assert (done.status, done.out, done.err) == (0, "", "why.txt: written\n")
    assert neelc.read("why.txt") == UP


def test_a_page(neelc: Here) -> None:
    done = neelc("why", "script.neel", "--query", "up", "--engine", "reference", "--report", "why.html")
    assert (done.status, done.out, done.err) == (0, UP, "why.html: written\n")
    page = neelc.read("why.html")
    assert "<!doctype html>" in page and "A a at 1: match\\n  a  A  1\\n" in page


def test_queries_that_others_read(neelc: Here) -> None:
    neelc.write("network.neel", neelc.read("script.neel") + "PATTERN SEQ(up u, C c) WHERE c.price > 20;")
    done = neelc("why", "network.neel", "--engine", "reference")
    assert done.status == 0
    assert done.out.startswith("up u at 1 to 2: no match, 1 of 2 steps\n")
    assert "would match without c.price > 20\n" in done.out


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--key", "7"], 2, "neelc: key 7: the query has no key, as no value is equal in all its events"),
        (["--between", "x", "5"], 2, "neelc: between x: not a time of type BIGINT, such as 42"),
        (["--between", "5", "1"], 2, "neelc: between 5 1: the first time is after the second"),
        (["--query", "down"], 2, "neelc: why --query down: no such query; queries: up"),
        (["--master", "local[1]"], 2, "neelc: why --master: a setting of Spark"),
        (["--keys", "7"], 2, "unrecognized arguments: --keys 7"),
        (["--stream", "trades=no.csv"], 2, "no such file: no.csv"),
    ],
)
def test_calls_that_are_wrong(neelc: Here, options: list[str], status: int, message: str) -> None:
    done = neelc("why", "script.neel", "--engine", "reference", *options)
    assert (done.status, done.out) == (status, "")
    assert message in done.err


def test_queries_that_have_no_starts(neelc: Here) -> None:
    head = neelc.read("script.neel").partition("CREATE QUERY")[0]
    neelc.write("select.neel", head + "SELECT price FROM trades WINDOW(TIME 5 SECONDS);")
    done = neelc("why", "select.neel", "--engine", "reference")
    assert done.status == 1 and "error[NEEL4001]: not possible: why for a SELECT" in done.err


def test_data_that_are_wrong_and_limits_fail_the_run(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "MAX_EVENTS", 3)
    done = neelc("why", "script.neel", "--engine", "reference")
    assert done.status == 3
    assert "error[NEEL5007]: 4 events to explain: the limit MAX_EVENTS is 3" in done.err
    assert "hint: ask for one key, or for less time: --key and --between" in done.err
    neelc.write("trades.csv", "ts,sym,price\nx,A,1\n")
    done = neelc("why", "script.neel", "--engine", "reference")
    assert done.status == 3 and "error[NEEL5003]" in done.err


def test_colours_are_for_terminals() -> None:
    start = ReportedEvent("a", "A", "1", "1", "")
    found = Why("A a", (StartExplanation({"id": "7"}, start, True, 1, 1),))
    assert coloured(found).startswith("\033[1mid = 7\033[0m\n\n\033[32mA a at 1: match\033[0m\n")
    assert "\033" not in found.text
