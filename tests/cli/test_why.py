"""`neelc why` on the command line: text and JSON, what is wrong with a call, exit codes."""

from __future__ import annotations

import json

import pytest
from command_line import Here

from neelc.cli.why import coloured
from neelc.tools.why.model import ReportedEvent, StartExplanation, Why

ENGINES = pytest.mark.parametrize("engine", ["reference", "local"])

UP = """\
A a at 1: match
  a  A  1
  b  B  2  +1 second
  holds  WITHIN 10 SECONDS  1 second
  holds  b.price > a.price  b.price = 11.0, a.price = 10.0

1 start event: 1 with a match, 0 without
"""


@ENGINES
def test_text(neelc: Here, engine: str) -> None:
    done = neelc("why", "script.neel", "--query", "up", "--engine", engine)
    assert (done.status, done.out, done.err) == (0, UP, "")


@ENGINES
def test_json(neelc: Here, engine: str) -> None:
    done = neelc("why", "script.neel", "--query", "UP", "--engine", engine, "--format", "json")
    found = json.loads(done.out)
    assert (found["starts"], found["matching"]) == (1, 1)
    (one,) = found["explanations"]
    assert (one["start"]["time"], one["matches"], one["reached"], one["steps"]) == ("1", True, 2, 2)
    assert one["held"][1]["values"] == {"b.price": "11.0", "a.price": "10.0"}
    assert one["lines"][0] == "A a at 1: match"


@ENGINES
def test_a_file(neelc: Here, engine: str) -> None:
    done = neelc("why", "script.neel", "--query", "up", "--engine", engine, "-o", "why.txt")
    assert (done.status, done.out, done.err) == (0, "", "why.txt: written\n")
    assert neelc.read("why.txt") == UP


@ENGINES
def test_a_page(neelc: Here, engine: str) -> None:
    done = neelc("why", "script.neel", "--query", "up", "--engine", engine, "--report", "why.html")
    assert (done.status, done.out, done.err) == (0, UP, "why.html: written\n")
    page = neelc.read("why.html")
    assert "<!doctype html>" in page and "A a at 1: match\\n  a  A  1\\n" in page


@ENGINES
def test_queries_that_others_read(neelc: Here, engine: str) -> None:
    neelc.write("network.neel", neelc.read("script.neel") + "PATTERN SEQ(up u, C c) WHERE c.price > 20;")
    done = neelc("why", "network.neel", "--engine", engine)
    assert done.status == 0
    assert done.out.startswith("up u at 1 to 2: no match, 1 of 2 steps\n")
    assert "would match without c.price > 20\n" in done.out


@ENGINES
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
def test_calls_that_are_wrong(
    neelc: Here, engine: str, options: list[str], status: int, message: str
) -> None:
    done = neelc("why", "script.neel", "--engine", engine, *options)
    assert (done.status, done.out) == (status, "")
    assert message in done.err


@ENGINES
def test_queries_that_have_no_starts(neelc: Here, engine: str) -> None:
    head = neelc.read("script.neel").partition("CREATE QUERY")[0]
    neelc.write("select.neel", head + "SELECT price FROM trades WINDOW(TIME 5 SECONDS);")
    done = neelc("why", "select.neel", "--engine", engine)
    assert done.status == 1 and "error[NEEL4001]: not possible: why for a SELECT" in done.err


@ENGINES
def test_data_that_are_wrong_and_limits_fail_the_run(
    neelc: Here, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("neelc.api.why", "neelc.tools.why.explaining"):
        monkeypatch.setattr(f"{module}.MAX_EVENTS", 1)
    done = neelc("why", "script.neel", "--engine", engine)
    assert done.status == 3
    # The reference has read all events, an engine reads no more than it needs to say so.
    count = "4" if engine == "reference" else "too many"
    assert f"error[NEEL5007]: {count} events to explain: the limit MAX_EVENTS is 1" in done.err
    assert "hint: ask for one key, or for less time: --key and --between" in done.err
    neelc.write("trades.csv", "ts,sym,price\nx,A,1\n")
    done = neelc("why", "script.neel", "--engine", engine)
    assert done.status == 3 and "error[NEEL5003]" in done.err


KEYED = """\
CREATE STREAM trades (ts BIGINT, sym STRING, price DOUBLE) TIMESTAMP BY ts UNIT SECONDS FROM 'trades.csv';
PATTERN SEQ(trades a, trades b) WHERE [sym];
"""


@ENGINES
def test_keys(neelc: Here, engine: str) -> None:
    neelc.write("keyed.neel", KEYED)
    done = neelc("why", "keyed.neel", "--engine", engine, "--key", "B")
    assert (done.status, done.out.splitlines()[-1]) == (0, "2 start events: 1 with a match, 1 without")
    done = neelc("why", "keyed.neel", "--engine", engine, "--key", "b")
    assert (done.status, done.err) == (2, "neelc: key: no event has sym = b; there are: A, B, C\n")


@ENGINES
def test_match_recognize(neelc: Here, engine: str) -> None:
    head = neelc.read("script.neel").partition("CREATE QUERY")[0].replace("TYPE BY sym ", "")
    clause = "PARTITION BY sym ORDER BY ts PATTERN (a b) DEFINE b AS price IS NULL"
    neelc.write("rows.neel", f"{head}SELECT * FROM trades MATCH_RECOGNIZE ({clause})")
    done = neelc("why", "rows.neel", "--engine", engine, "--key", "B", "--report", "why.html")
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "2 start events: 1 with a match, 1 without"
    assert "<!doctype html>" in neelc.read("why.html")


def test_colours_are_for_terminals() -> None:
    start = ReportedEvent("a", "A", "1", "1", "")
    found = Why("A a", (StartExplanation({"id": "7"}, start, True, 1, 1),))
    assert coloured(found).startswith("\033[1mid = 7\033[0m\n\n\033[32mA a at 1: match\033[0m\n")
    assert "\033" not in found.text
