"""A script with PATTERN, SELECT and MATCH_RECOGNIZE: the commands and editors know all three."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neelc.cli import main
from neelc.engines.reference import executable, execute
from neelc.errors import NeelError
from neelc.ir.bound_rows import HostQuery
from neelc.pipeline import bind, compile_program, parse
from neelc.source import Source
from neelc.tools.editors.completing import complete
from neelc.tools.editors.document import Document
from neelc.tools.editors.hovering import hover
from neelc.tools.editors.problems import definition, problems, symbols

TICKS = """\
CREATE STREAM ticks (ts INT, sym STRING, price INT) TIMESTAMP BY ts UNIT SECONDS FROM 'ticks.csv';
"""
FALLS = """\
CREATE QUERY Falls TIMESTAMP BY since UNIT SECONDS END BY until AS
SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts
  MEASURES FIRST(D.ts) AS since, LAST(D.ts) AS until, LAST(D.price) AS bottom
  PATTERN (D+) DEFINE D AS price < PREV(price)
);
"""
PAIRS = """\
CREATE QUERY Pairs AS
PATTERN SEQ(Falls a, Falls b) WHERE a.sym = b.sym WITHIN 9 SECONDS
RETURN a.bottom AS a, b.bottom AS b, match_end;
"""
SCRIPT = f"""{TICKS}{FALLS}{PAIRS}
CREATE QUERY Now AS SELECT count(*) AS n FROM Falls;

SELECT * FROM Pairs MATCH_RECOGNIZE (ORDER BY match_end MEASURES COUNT(*) AS n, LAST(R.b) AS b PATTERN (R+))
"""
ROWS = "ts,sym,price\n1,A,10\n2,A,8\n3,A,11\n4,A,9\n5,A,7\n6,A,8\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "ticks.csv").write_text(ROWS)
    path = tmp_path / "mixed.neel"
    path.write_text(SCRIPT)
    return path


def test_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each query of it; a later one reads the rows, or the events, of those before."""
    for query, out in (
        ("Falls", "sym  since  until  bottom\nA    2      2      8\nA    4      5      7\n"),
        ("Pairs", "a  b  match_end\n8  7  5\n"),
        ("Now", "n  ts  te\n1  2   3\n1  4   6\n"),
    ):
        assert main(["run", "--engine", "reference", str(script), "--query", query]) == 0
        assert capsys.readouterr().out == out
    assert main(["run", "--engine", "reference", str(script)]) == 0
    found = capsys.readouterr()
    assert found.out == "n  b\n1  7\n" and "1 row in" in found.err


def test_check_reports_all_statements_together(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(script)]) == 0
    assert "fine: 4 queries" in capsys.readouterr().err
    script.write_text(
        SCRIPT.replace("a.sym = b.sym", "a.sum = b.sym")
        .replace("LAST(R.b)", "LAST(R.c)")
        .replace("D.price", "D.prise")
    )
    assert main(["check", str(script)]) == 1
    message = capsys.readouterr().err
    # What reads a query that is wrong is not checked.
    assert "`prise`" in message and "R.c" not in message and "a.sum" not in message
    script.write_text(
        SCRIPT.replace("a.sym = b.sym", "a.sum = b.sym").replace("PATTERN (D+)", "PATTERN (D+))")
    )
    assert main(["check", str(script)]) == 1
    assert "NEEL" in capsys.readouterr().err


def test_warnings(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of a PATTERN, in a script whose other queries have none."""
    script.write_text(
        SCRIPT.replace("WITHIN 9 SECONDS", "AND a.bottom < 5 AND a.bottom > 5 WITHIN 9 SECONDS")
    )
    assert main(["check", str(script)]) == 0
    assert "NEEL6" in capsys.readouterr().err


def test_explain(script: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["explain", str(script)]) == 0
    text = capsys.readouterr().out
    titles = ["Falls\n═════", "Pairs\n═════", "Now\n═══", "query 4\n═══════"]
    assert [title in text for title in titles] == [True] * 4 and text.index(titles[0]) < text.index(titles[1])
    assert "take the rows of Falls" in text and "MATCH_RECOGNIZE over Pairs" in text
    assert main(["explain", "--mode", "cost", str(script)]) == 0
    assert "MATCH_RECOGNIZE has one way to run" in capsys.readouterr().out
    assert main(["explain", "--format", "json", str(script)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [[one["name"] for one in record[key]] for key in ("queries", "networks", "rows")] == [
        ["Pairs"],
        ["Now"],
        ["Falls", "query 4"],
    ]
    page = tmp_path / "page.html"
    assert main(["explain", str(script), "-o", str(page)]) == 0
    assert page.read_text().count("<article") == 4


def test_compile(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(script)]) == 0
    source = capsys.readouterr().out
    compile(source, "source", "exec")
    assert source.count("spark.sql(") == 2, "two queries of Spark's"
    assert main(["compile", str(script), "--strategy", "join"]) == 0, "it is for the PATTERN"


def test_why(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--engine", "reference", str(script), "--query", "Pairs"]) == 0
    assert "Falls a at 2: match" in capsys.readouterr().out
    assert main(["why", "--engine", "reference", str(script), "--query", "Falls", "--key", "A"]) == 0
    assert "row" in capsys.readouterr().out
    assert main(["why", "--engine", "reference", str(script), "--query", "Now"]) == 1
    assert "not possible: why for a SELECT" in capsys.readouterr().err


def test_report(script: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    call = ["run", "--engine", "reference", str(script), "--report", str(page)]
    for query in ("Pairs", "Now", "Falls"):
        assert main([*call, "--query", query]) == 0
        assert query in page.read_text()
        page.unlink()
    assert main(call) == 0
    assert "among" in page.read_text()


def test_formatting(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Times are laid out like all clauses, and the statement is read again as it was."""
    assert main(["fmt", str(script)]) == 0
    out = capsys.readouterr().out
    assert "CREATE QUERY Falls TIMESTAMP BY since UNIT SECONDS END BY until AS" in out
    assert [type(s) for s in parse(Source(out)).statements] == [
        type(s) for s in parse(Source(SCRIPT)).statements
    ]


def test_a_query_that_is_not_needed_need_not_be_simple(tmp_path: Path) -> None:
    """The reference executes the requested queries, and refuses what only Spark understands."""
    (tmp_path / "ticks.csv").write_text(ROWS)
    clause = "MATCH_RECOGNIZE (PARTITION BY sym PATTERN (A))"
    other = f"CREATE QUERY Other AS SELECT sym FROM ticks {clause} GROUP BY sym;\n"
    source = Source(TICKS + other + FALLS + "PATTERN Falls a RETURN a.bottom AS b")
    inputs, program = bind(parse(source), source, [], tmp_path)
    tables = {"ticks": [{"ts": 1, "sym": "A", "price": 3}, {"ts": 2, "sym": "A", "price": 2}]}
    [(_, result)] = execute(inputs, program, tables, [2])
    assert result.rows == [(2,)]
    with pytest.raises(NeelError, match="the reference engine does not run GROUP BY"):
        executable(program, [0], source)


def test_a_query_is_written_once_for_each_way_to_read_it(tmp_path: Path) -> None:
    source = Source(
        TICKS
        + "CREATE QUERY P AS PATTERN SEQ(ticks a, ticks b) WITHIN 1 SECOND RETURN a.price AS p, b.ts AS at;\n"
        "CREATE QUERY R TIMESTAMP BY at UNIT SECONDS AS SELECT * FROM P MATCH_RECOGNIZE (\n"
        "  ORDER BY at MEASURES A.at AS at PATTERN (A)) AS m;\nPATTERN SEQ(P p, R r)"
    )
    _, program = bind(parse(source), source, [], tmp_path)
    assert isinstance(program.queries[1].query, HostQuery)
    names = [name for name, _ in compile_program(program).strategies]
    assert names == ["P", "P", "R", ""]


# What editors show; `|` is the cursor.


def written(text: str) -> tuple[Document, int]:
    before, _, after = text.partition("|")
    return Document(before + after), len(before)


def test_completions() -> None:
    def offered(text: str) -> list[str]:
        return [offer.label for offer in complete(*written(text))]

    before = TICKS.replace(" FROM 'ticks.csv'", "") + FALLS
    assert {"Falls", "ticks"} <= set(offered(before + "PATTERN SEQ(|"))
    assert {"since", "until", "bottom", "sym", "ts", "te"} <= set(
        offered(before + "PATTERN Falls f WHERE f.|")
    )
    assert {"a", "b", "match_end"} <= set(
        offered(
            before + PAIRS + "SELECT * FROM Pairs MATCH_RECOGNIZE (ORDER BY a PATTERN (U) DEFINE U AS U.|"
        )
    )
    header = FALLS.replace("TIMESTAMP BY since", "TIMESTAMP BY |")
    assert {"since", "until", "bottom", "sym"} <= set(offered(before.replace(FALLS, header)))
    assert {"AS", "END", "TIMESTAMP", "TYPE", "UNIT"} <= set(offered("CREATE QUERY q |"))


def test_hovering_and_definitions() -> None:
    document, cursor = written(SCRIPT.replace(" FROM 'ticks.csv'", "").replace("SEQ(Falls a", "SEQ(Fa|lls a"))
    found = hover(document, cursor)
    assert found is not None and "time: `since` to `until`" in found.text and "bottom" in found.text
    at = definition(document, cursor)
    assert at is not None and document.text[at.start : at.end] == "Falls"
    reading, here = written(SCRIPT.replace(" FROM 'ticks.csv'", "").replace("FROM Pairs", "FROM Pa|irs"))
    declared = definition(reading, here)
    assert declared is not None and reading.text[declared.start : declared.end] == "Pairs"


def test_problems_and_symbols() -> None:
    text = SCRIPT.replace(" FROM 'ticks.csv'", "")
    assert problems(Document(text)) == ()
    assert [one.name for one in symbols(Document(text))][:4] == ["ticks", "Falls", "Pairs", "Now"]
    wrong = text.replace("TIMESTAMP BY since", "TIMESTAMP BY sinse").replace("FROM Falls", "FROM Fall")
    assert [one.diagnostic.code for one in problems(Document(wrong))] == ["NEEL2204", "NEEL2004"]
    without = text.replace(" TIMESTAMP BY since UNIT SECONDS END BY until", "")
    assert "NEEL2230" in [one.diagnostic.code for one in problems(Document(without))]
