"""`neelc run --report`."""

from __future__ import annotations

from command_line import PARTIAL, Here

REFERENCE = ("run", "script.neel", "--engine", "reference")


def test_a_report_beside_the_rows(neelc: Here) -> None:
    done = neelc(*REFERENCE, "--report", "report.html")
    assert done.status == 0
    assert done.out == "a  sym\n1  C\n"
    assert "report.html: written" in done.err
    page = neelc.read("report.html")
    assert page.startswith("<!doctype html>")
    assert "1 match among 4 events." in page
    assert "http" not in page  # it works offline


def test_several_queries_and_a_key(neelc: Here) -> None:
    both = ("--query", "up", "--report", "report.html", "--report-key", "sym")
    assert neelc(*REFERENCE, *both).status == 0
    assert "by sym: 3, 2 of them with matches" in neelc.read("report.html")
    done = neelc(*REFERENCE, "--report", "report.html", "--report-key", "symbol")
    assert (done.status, done.err) == (
        2,
        "neelc: report: no stream has the key symbol; columns: ts, sym, price\n",
    )


def test_strategies_side_by_side(neelc: Here) -> None:
    assert neelc(*REFERENCE, "--report", "report.html", "--compare-strategies").status == 0
    page = neelc.read("report.html")
    assert "The same 4 events under 3 strategies: 0 to 1 match." in page
    assert "it requires a partition: PARTITION BY id, or a condition [id]" in page


def test_partial_matches_are_starts(neelc: Here) -> None:
    """Each row is a start; the picture has those that are complete."""
    neelc.write("partial.neel", PARTIAL)
    done = neelc("run", "partial.neel", "--engine", "reference", "--report", "report.html")
    assert len(done.out.splitlines()) == 3
    assert "\n2 starts, 1 complete in " in done.err
    page = neelc.read("report.html")
    assert "1 match among 4 events." in page and "only complete matches are drawn" in page


def test_half_a_pair_of_surrogates(neelc: Here) -> None:
    neelc.write("trades.jsonl", r"""{"ts": 1, "sym": "A", "price": 1, "id": "\ud800"}""")
    neelc.write(
        "script.neel",
        "CREATE STREAM trades (ts BIGINT, sym STRING, id STRING) TIMESTAMP BY ts UNIT SECONDS TYPE BY sym\n"
        "  FROM 'trades.jsonl';\nPATTERN SEQ(A a, B b) WHERE [id] WITHIN 5;\n",
    )
    assert neelc(*REFERENCE, "--report", "report.html").status == 0
    assert '["1","A","\\ud800"]' in neelc.read("report.html")


def test_wrong_calls(neelc: Here) -> None:
    assert neelc(*REFERENCE, "--compare-strategies") == (
        2,
        "",
        "neelc: run --compare-strategies: say where the picture goes: --report FILE.html\n",
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


def test_match_recognize(neelc: Here) -> None:
    neelc.write("rows.neel", ROWS)
    assert neelc("run", "rows.neel", "--engine", "reference", "--report", "report.html").status == 0
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
