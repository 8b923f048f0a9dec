"""Queries of Spark's around MATCH_RECOGNIZE, without Spark: what stands where, and the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from neelc.cli import main
from neelc.ir.script import CreateQuery, RunQuery
from neelc.pipeline import compile_program
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import read
from neelc.syntax.host import host_statements
from neelc.syntax.host_tokens import clauses, tokens

CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"
STREAM = "CREATE STREAM ticks (symbol STRING, ts INT, price DOUBLE) TIMESTAMP BY ts FROM 'ticks.csv';\n"


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        (f"SELECT * FROM t {CLAUSE}", ["t"]),
        (f"SELECT * FROM a.b.`c d` AS x {CLAUSE} m", ["a.b.`c d` AS x"]),
        (f"SELECT * FROM a, b {CLAUSE} m, c", ["b"]),
        (f"SELECT * FROM a LEFT JOIN b {CLAUSE} m ON m.x = a.x", ["b"]),
        (f"SELECT * FROM (SELECT 1, 2) AS q {CLAUSE}", ["(SELECT 1, 2) AS q"]),
        (f"SELECT * FROM (SELECT * FROM t {CLAUSE} i) {CLAUSE}", ["t", f"(SELECT * FROM t {CLAUSE} i)"]),
        (f"SELECT * FROM t {CLAUSE} a {CLAUSE} b", ["t", f"t {CLAUSE} a"]),
        (f"SELECT * FROM VALUES (1, 2), (3, 4) AS v(a, b) {CLAUSE}", ["VALUES (1, 2), (3, 4) AS v(a, b)"]),
        (f"SELECT * FROM range(1, 10) {CLAUSE}", ["range(1, 10)"]),
        (f"SELECT 'FROM x {CLAUSE}' /* FROM y {CLAUSE} */ -- FROM z {CLAUSE}\nFROM t {CLAUSE}", ["t"]),
        (f"SELECT `FROM x {CLAUSE}` FROM t {CLAUSE}", ["t"]),
        (f"SELECT 'it\\'s', r'\\' FROM t {CLAUSE}", ["t"]),
        (f"SELECT * FROM t {CLAUSE.lower()}", ["t"]),
    ],
)
def test_what_a_clause_reads(text: str, sources: list[str]) -> None:
    found = [clause.source for clause in clauses(list(tokens(text)))]
    assert [text[span.start : span.end] for span in found if span is not None] == sources


def test_definitions_that_a_clause_sees() -> None:
    text = (
        f"WITH a AS (SELECT * FROM t {CLAUSE}), b(x) AS (SELECT * FROM a {CLAUSE}) "
        f"SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM c {CLAUSE}), b {CLAUSE}"
    )
    assert [clause.defined for clause in clauses(list(tokens(text)))] == [
        (),
        ("a",),
        ("a", "b", "c"),
        ("a", "b"),
    ]


def test_a_script_in_its_parts() -> None:
    named = f"CREATE QUERY v AS SELECT 1 FROM t {CLAUSE}"
    text = f"PATTERN A a; SELECT 'a;b' FROM t {CLAUSE}; {named}; SELECT * FROM v"
    names = [statement.name for statement in host_statements(text)]
    assert names == [None, "v", None]
    statements = [one for one in read(Source(text)).statements if isinstance(one, CreateQuery | RunQuery)]
    kinds = [type(statement.query).__name__ for statement in statements]
    assert kinds == ["PatternQuery", "HostSelect", "HostSelect", "HostSelect"]


def test_what_is_no_host_query() -> None:
    assert host_statements("SELECT * FROM s MATCH_RECOGNIZE_SEQUENTIAL (PATTERN a DEFINE a AS x > 1)") == []
    assert host_statements("SELECT match_recognize FROM s") == []


def test_the_text_for_spark() -> None:
    text = STREAM + f"SELECT '{{x}}' FROM ticks {CLAUSE} m JOIN ticks t ON t.ts = m.n WHERE t.ts > :least"
    script = Source(text.replace("PATTERN", "MEASURES FIRST(ts) AS n PATTERN"))
    program = bind(read(script), script, arguments={"least": 5})
    source = compile_program(program, 0).source
    assert '"WITH ticks AS (SELECT * FROM {ticks})\\n"' in source
    assert "SELECT '{{x}}' FROM {m} m JOIN ticks t ON" in source
    assert 'args={"least": F.expr("5")}' in source


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "ticks.csv").write_text("symbol,ts,price\nA,1,10\nA,2,9\nA,3,12\nB,1,5\nB,2,4\n")
    path = tmp_path / "v.neel"
    path.write_text(
        STREAM + "SELECT symbol, top FROM ticks MATCH_RECOGNIZE (\n"
        "  PARTITION BY symbol ORDER BY ts MEASURES LAST(up.price) AS top\n"
        "  PATTERN (strt down+ up+) DEFINE down AS price < PREV(price), up AS price > PREV(price)\n"
        ") WHERE top > 5;\n"
    )
    return path


def test_commands(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(script)]) == 0
    assert "fine: 1 query" in capsys.readouterr().err
    assert main(["run", "--engine", "reference", str(script)]) == 0
    assert capsys.readouterr().out == "symbol  top\nA       12.0\n"
    assert main(["explain", str(script)]) == 0
    assert "linear: no condition depends on which rows" in capsys.readouterr().out
    assert main(["explain", "--format", "json", str(script)]) == 0
    assert '"pattern": "STRT DOWN+ UP+"' in capsys.readouterr().out
    assert main(["compile", str(script)]) == 0
    assert "SELECT symbol, top FROM {ticks_2} AS ticks WHERE top > 5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "--emit", "sql"], "MATCH_RECOGNIZE runs in Python"),
        (["compile", "--strategy", "join"], "for PATTERN queries"),
        (["explain", "--mode", "cost"], "for PATTERN queries"),
        (["explain", "--format", "dot"], "there are text, json and html"),
        (["check", "--arg", "n=1"], "the script has no parameter :n"),
    ],
)
def test_wrong_calls(
    script: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, str(script)]) == 2
    assert message in capsys.readouterr().err


def test_the_reference_refuses_what_is_spark_s(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(script.read_text().replace(") WHERE top > 5", ") ORDER BY top"))
    assert main(["run", "--engine", "reference", str(script)]) == 1
    assert "the reference engine does not run ORDER BY" in capsys.readouterr().err


def test_formatting(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = script.read_text().replace("SELECT symbol, top", "select symbol, top::INT -- whole\n")
    script.write_text(text)
    assert main(["fmt", str(script)]) == 0
    out = capsys.readouterr().out
    assert "\n  TIMESTAMP BY ts\n" in out
    assert out.endswith(text[len(STREAM) :])


def test_a_pattern_cannot_read_rows_without_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The name is not taken for a type of events, of which there would be none."""
    typed = "CREATE STREAM t (ts INT, kind STRING) TIMESTAMP BY ts TYPE BY kind;\n"
    script = tmp_path / "script.neel"
    script.write_text(
        f"{typed}CREATE QUERY Found AS SELECT * FROM t {CLAUSE};\nPATTERN SEQ(found a, b found)"
    )
    assert main(["check", str(script)]) == 1
    message = capsys.readouterr().err
    assert message.count("its rows have no declared times") == 1 and "script.neel:3:13" in message
