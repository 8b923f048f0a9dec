"""`neelc run --report`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PARTIAL, Done, Here
from repository import ROOT

REFERENCE = ("run", "script.neel", "--engine", "reference")
ENGINES = pytest.mark.parametrize("engine", ["reference", "local"])


def reported(neelc: Here, engine: str, *options: str, script: str = "script.neel") -> Done:
    return neelc("run", script, "--engine", engine, "--report", "report.html", *options)


@ENGINES
def test_a_report_beside_the_rows(neelc: Here, engine: str) -> None:
    done = reported(neelc, engine)
    assert done.status == 0
    assert done.out == "a  sym\n1  C\n"
    assert "report.html: written" in done.err
    page = neelc.read("report.html")
    assert page.startswith("<!doctype html>")
    assert "1 match among 4 events." in page
    assert "http" not in page  # it works offline


@ENGINES
def test_a_file_that_is_read_twice(neelc: Here, engine: str) -> None:
    """Once for the matches, and once for the picture: lines of JSON have a function for odd values."""
    neelc.write("e.jsonl", '{"ts": 1, "kind": "A"}\n{"ts": 2, "kind": "B"}\n')
    neelc.write("json.neel", "PATTERN SEQ(A a, B b) WITHIN 9 SECONDS RETURN a.ts AS a, b.ts AS b;")
    stream = "E=e.jsonl,timestamp=ts,type=kind,unit=s"
    done = reported(neelc, engine, "--stream", stream, script="json.neel")
    assert done.status == 0, done.err
    assert done.out == "a  b\n1  2\n"


@ENGINES
def test_several_queries_and_a_key(neelc: Here, engine: str) -> None:
    both = ("--query", "up", "--report-key", "sym")
    assert reported(neelc, engine, *both).status == 0
    assert "by sym: 3, 2 of them with matches" in neelc.read("report.html")
    done = reported(neelc, engine, "--report-key", "symbol")
    assert (done.status, done.err) == (
        2,
        "neelc: report: no stream has the key symbol; columns: ts, sym, price\n",
    )


@ENGINES
def test_strategies_side_by_side(neelc: Here, engine: str) -> None:
    assert reported(neelc, engine, "--compare-strategies").status == 0
    page = neelc.read("report.html")
    assert "The same 4 events under 3 strategies: 0 to 1 match." in page
    assert "it requires a partition: PARTITION BY id, or a condition [id]" in page


@ENGINES
def test_partial_matches_are_starts(neelc: Here, engine: str) -> None:
    """Each row is a start; the picture has those that are complete."""
    neelc.write("partial.neel", PARTIAL)
    done = reported(neelc, engine, script="partial.neel")
    assert len(done.out.splitlines()) == 3
    assert "\n2 starts, 1 complete in " in done.err
    page = neelc.read("report.html")
    assert "1 match among 4 events." in page and "only complete matches are drawn" in page


def test_half_a_pair_of_surrogates(neelc: Here) -> None:
    """The local engine has texts in UTF-8, which has no such thing."""
    neelc.write("trades.jsonl", r"""{"ts": 1, "sym": "A", "price": 1, "id": "\ud800"}""")
    neelc.write(
        "script.neel",
        "CREATE STREAM trades (ts BIGINT, sym STRING, id STRING) TIMESTAMP BY ts UNIT SECONDS TYPE BY sym\n"
        "  FROM 'trades.jsonl';\nPATTERN SEQ(A a, B b) WHERE [id] WITHIN 5;\n",
    )
    assert neelc(*REFERENCE, "--report", "report.html").status == 0
    page = neelc.read("report.html")
    assert '"lanes":["\\ud800"' in page and '"texts":["\\ud800"]' in page


def test_wrong_calls(neelc: Here) -> None:
    assert neelc(*REFERENCE, "--compare-strategies") == (
        2,
        "",
        "neelc: run --compare-strategies requires --report FILE.html\n",
    )
    assert neelc(*REFERENCE, "--report", ".").err == (
        "neelc: run --report .: a page is written to a file that ends in .html\n"
    )
    script = "script.html"
    neelc.write(script, "PATTERN A a")
    for command in (("run", script, "--report"), ("why", script, "--report"), ("explain", script, "-o")):
        assert "that is the script itself, which would be replaced" in neelc(*command, script).err
    assert neelc(*REFERENCE, "--report", "no/such/report.html").err == (
        "neelc: no/such/report.html: cannot be written: No such file or directory\n"
    )


ROWS = (
    "CREATE STREAM trades (ts BIGINT, sym STRING, price DOUBLE)\n"
    "  TIMESTAMP BY ts UNIT SECONDS FROM 'trades.csv';\n"
    "SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY ts MEASURES a.ts AS x PATTERN (a) DEFINE a AS sym = 'A')"
)


@ENGINES
def test_match_recognize(neelc: Here, engine: str) -> None:
    neelc.write("rows.neel", ROWS)
    assert reported(neelc, engine, script="rows.neel").status == 0
    page = neelc.read("report.html")
    assert "by variable: MATCH_RECOGNIZE has no PARTITION BY" in page and "among 4 rows." in page


def test_match_recognize_that_only_spark_understands_is_refused(neelc: Here) -> None:
    """Before anything runs."""
    neelc.write("rows.neel", ROWS + " ORDER BY x")
    done = neelc("run", "rows.neel", "--report", "report.html")
    assert done.status == 1
    assert "error[NEEL4001]: the reference engine does not run ORDER BY" in done.err
    assert "a picture finds the matches again by itself, which requires a simple query" in done.err
    assert not (neelc.directory / "report.html").exists()


def test_a_page_that_cannot_be_drawn_leaves_nothing_behind(neelc: Here) -> None:
    neelc.write("trades.csv", "ts,sym,price\n1,A,ten\n")
    done = reported(neelc, "local", "--out", "rows.csv")
    assert (done.status, done.out) == (3, "")
    assert sorted(path.name for path in neelc.directory.iterdir()) == ["script.neel", "trades.csv"]


@pytest.mark.parametrize("name", ["hospital/hospital.neel", "fraud/fraud.neel", "hadoop/hadoop.neel"])
def test_pages_of_the_examples_are_those_of_the_reference(
    name: str, tmp_path: Path, neelc: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ROOT / "docs" / "examples" / name
    monkeypatch.chdir(script.parent)
    pages = [tmp_path / f"{engine}.html" for engine in ("reference", "local")]
    for page in pages:
        done = neelc("run", script.name, "--engine", page.stem, "--report", str(page))
        assert done.status == 0, done.err
    assert pages[0].read_text() == pages[1].read_text()


@pytest.mark.parametrize("command", ["run", "why"])
def test_the_local_engine_draws_without_spark(command: str, neelc: Here) -> None:
    call = [command, "script.neel", "--engine", "local", "--report", "report.html"]
    program = f"import sys, neelc.cli; neelc.cli.main({call}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=neelc.directory, capture_output=True, text=True, check=True
    )
    assert (neelc.directory / "report.html").exists()
    assert {"pyspark", "py4j"} & set(done.stdout.split()) == set()
