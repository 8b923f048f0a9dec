"""`neelc explain`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SCRIPT, TRADES, Done, Here, process


def test_the_plan_of_every_query(neelc: Here) -> None:
    done = neelc("explain", "script.neel")
    assert (done.status, done.err) == (0, "")
    titles = [line for line in done.out.splitlines() if line in ("up", "query 2")]
    assert titles == ["up", "query 2"]
    assert "read trades once" in done.out and "Why " in done.out and "State " in done.out


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("simple", "Plan ("),
        ("rewrite", "Rewriting ("),
        ("cost", "What the numbers rest on"),
        ("nfa", "(0) begin"),
    ],
)
def test_modes(mode: str, words: str, neelc: Here) -> None:
    done = neelc("explain", "script.neel", "--mode", mode)
    assert done.status == 0 and words in done.out
    assert words in neelc("explain", "script.neel", "--mode", "all").out
    others = {"simple", "rewrite", "cost", "nfa"} - {mode}
    assert not any(words in neelc("explain", "script.neel", "--mode", other).out for other in others)


def test_lines_fit_on_a_page(neelc: Here) -> None:
    out = neelc("explain", "script.neel", "--mode", "all").out
    assert [line for line in out.splitlines() if len(line) > 100] == []


@pytest.mark.parametrize(
    ("kind", "begin"),
    [("json", "{"), ("html", "<!doctype html>"), ("dot", "digraph"), ("mermaid", "flowchart")],
)
def test_formats(kind: str, begin: str, neelc: Here) -> None:
    done = neelc("explain", "script.neel", "--format", kind)
    assert done.status == 0 and done.out.startswith(begin)


def test_one_query(neelc: Here) -> None:
    def names(*arguments: str) -> list[str]:
        done = neelc("explain", "script.neel", "--format", "json", *arguments)
        return [query["name"] for query in json.loads(done.out)["queries"]]

    assert names() == ["up", "query 2"]
    assert names("--query", "UP") == ["up"]
    assert names("--query", "2") == ["query 2"]
    assert names("--query", "2", "--query", "1") == ["up", "query 2"]
    done = neelc("explain", "script.neel", "--query", "down")
    assert done == Done(2, "", "neelc: explain --query down: no such query; queries: up, 2\n")


def test_the_ending_of_a_file_tells_the_format(neelc: Here) -> None:
    assert neelc("explain", "script.neel", "-o", "plan.html") == Done(0, "", "plan.html: written\n")
    assert neelc.read("plan.html").startswith("<!doctype html>")
    neelc("explain", "script.neel", "-o", "plan.json", "--mode", "nfa")
    assert json.loads(neelc.read("plan.json"))["queries"][0]["automaton"]["strategy"] == "SKIP TILL ANY MATCH"
    neelc("explain", "script.neel", "-o", "plan.html", "--format", "dot")
    assert neelc.read("plan.html").startswith("digraph")
    done = neelc("explain", "script.neel", "-o", "plan.pdf")
    assert done.status == 2 and "unknown file extension" in done.err


def test_a_file_that_cannot_be_written_keeps_what_it_holds(neelc: Here) -> None:
    done = neelc("explain", "script.neel", "-o", "none/plan.html")
    assert (done.status, done.out) == (2, "") and "cannot be written" in done.err


def test_a_wrong_query(neelc: Here) -> None:
    neelc.write("bad.neel", SCRIPT.replace("a.price", "x.price"))
    done = neelc("explain", "bad.neel")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[NEEL2001]")


def test_a_script_without_queries(neelc: Here) -> None:
    neelc.write("empty.neel", SCRIPT.split("CREATE QUERY")[0])
    assert neelc("explain", "empty.neel") == Done(2, "", "neelc: explain: the script has no query\n")


def test_arguments_and_streams(neelc: Here) -> None:
    neelc.write("script.neel", "PATTERN SEQ(A a, B b) WITHIN :w")
    given = ("--stream", "trades=trades.csv,type=sym,unit=s", "--arg", "w=10 SECONDS")
    done = neelc("explain", "script.neel", *given)
    assert done.status == 0 and "10 SECONDS" in done.out and "read trades once" in done.out
    done = neelc("explain", "script.neel", *given, "--arg", "v=1")
    assert done.status == 2 and "the script has no parameter :v" in done.err


def test_statistics(neelc: Here) -> None:
    neelc.write("stats.json", json.dumps({"streams": {"trades": {"events": 4321}}}))
    done = neelc("explain", "script.neel", "--mode", "cost", "--stats", "stats.json")
    assert done.status == 0 and "4,32" in done.out and "the file of statistics" in done.out
    counted = neelc("explain", "script.neel", "--mode", "cost").out
    assert "counted in the data files" in counted and "assumed: no statistics" not in counted
    (neelc.directory / "trades.csv").unlink()
    assert "assumed: no statistics" in neelc("explain", "script.neel", "--mode", "cost").out
    done = neelc("explain", "script.neel", "--stats", "none.json")
    assert done == Done(2, "", "neelc: none.json: no such file\n")


def test_defaults_are_marked(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file is counted. What nobody says is a default, and is told as one on the first page."""
    done = neelc("explain", "script.neel", "--query", "2")
    assert "rows     4, counted" in done.out and "row*" not in done.out and "rows*" not in done.out
    monkeypatch.setattr("neelc.catalog.statistics.parquet.MOST_BYTES", 10)
    done = neelc("explain", "script.neel", "--query", "2")
    assert "rows     about 1,000,000, a default" in done.out
    assert (
        "*      rests on 6 defaults, such as 1,000,000 events of trades: --mode cost lists them" in done.out
    )
    expected = [line for line in done.out.splitlines() if "about" in line and " row" in line]
    assert len(expected) >= 5 and all(line.endswith(("rows*", "a default")) for line in expected)
    stars = '"is_assumed": true' in neelc("explain", "script.neel", "--format", "json").out
    assert stars and "rows*" in neelc("explain", "script.neel", "--format", "dot").out


def test_what_is_not_executed_is_no_part_of_the_plan(neelc: Here) -> None:
    head = SCRIPT.partition(";")[0]
    neelc.write(
        "two.neel", f"{head}; PATTERN SEQ(A a, B b, C c) WITHIN 9; PATTERN SEQ(A a, B b, D d) WITHIN 9;"
    )
    (neelc.directory / "trades.csv").unlink()
    assert "less work" not in neelc("explain", "two.neel").out
    cost = neelc("explain", "two.neel", "--mode", "cost").out
    assert "Work that could be shared" in cost and "Queries that run one by one do not share this." in cost


def test_standard_input(tmp_path: Path) -> None:
    (tmp_path / "trades.csv").write_text(TRADES)
    done = process("explain", "-", directory=tmp_path, text=SCRIPT)
    assert (done.status, done.err) == (0, "") and "read trades once" in done.out


def test_no_spark(tmp_path: Path) -> None:
    (tmp_path / "script.neel").write_text(SCRIPT)
    program = (
        "import sys; from neelc.cli import main; main(['explain', 'script.neel', '-o', 'plan.html'])\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "plan.html").exists()
    assert {"pyspark", "pandas"} & set(done.stdout.split()) == set()
