"""Texts that nest too deeply, or have numbers that nobody can mean: errors with a name, in a short time."""

from __future__ import annotations

from pathlib import Path

import pytest

from neelc.arguments import argument
from neelc.catalog.readers.text import read_json
from neelc.cli import main
from neelc.errors import Diagnostic, NeelError
from neelc.source import Source, Span

N = 2000
LONG = "9" * 100_000
T = "CREATE STREAM t (ts BIGINT, x INT, xs ARRAY<INT>) TIMESTAMP BY ts; "


def rows(text: str) -> str:
    return f"{T}SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts {text})"


DEEP = {
    "array": f"CREATE STREAM t (ts BIGINT, x {'ARRAY<' * N}INT{'>' * N}) TIMESTAMP BY ts",
    "struct": f"CREATE STREAM t (ts BIGINT, x {'STRUCT<a: ' * N}INT{'>' * N}) TIMESTAMP BY ts",
    "map": f"CREATE STREAM t (ts BIGINT, x {'MAP<INT, ' * N}INT{'>' * N}) TIMESTAMP BY ts",
    "cast": f"{T}PATTERN t a WHERE CAST(a.x AS {'ARRAY<' * N}INT{'>' * N}) IS NULL",
    "condition": f"{T}PATTERN t a WHERE {'(' * N}a.x > 1{')' * N}",
    "pattern": f"{T}PATTERN {'SEQ(' * N}t a{')' * N}",
    "not": f"{T}PATTERN t a WHERE {'NOT ' * N}a.x > 1",
    "calls": f"{T}PATTERN t a RETURN {'abs(' * N}a.x{')' * N} AS y",
    "case": f"{T}PATTERN t a WHERE {'CASE WHEN TRUE THEN ' * N}a.x{' END' * N} > 1",
    "select": f"{T}SELECT {'(' * N}x{')' * N} FROM t",
    "subqueries": f"{T}SELECT x FROM {'(SELECT x FROM ' * N}t{')' * N}",
    "row pattern": rows(f"PATTERN ({'(' * N}A{')' * N})"),
    "definition": rows(f"PATTERN (A) DEFINE A AS {'(' * N}x > 1{')' * N}"),
    "around": f"{T}SELECT {'(' * N}1{')' * N} FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))",
    "around, compared": f"{T}SELECT {'(1 > ' * N}1{')' * N} FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))",
    "source": f"{T}SELECT * FROM {'(SELECT * FROM ' * N}t{')' * N} MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))",
}
NUMBERS = {
    "condition": f"{T}PATTERN t a WHERE a.x > {LONG}",
    "fraction": f"{T}PATTERN t a WHERE a.x > 0.{LONG}",
    "exponent": f"{T}PATTERN t a WHERE a.x > 1e{LONG}",
    "window": f"{T}PATTERN t a WITHIN {LONG} SECONDS",
    "index": f"{T}PATTERN t+ a[] WHERE a[{LONG}].x > 1 WITHIN 5 SECONDS",
    "limit": f"{T}SELECT x FROM t LIMIT {LONG}",
    "window of SELECT": f"{T}SELECT x FROM t WINDOW(TIME {LONG})",
    "type": f"CREATE STREAM t (ts BIGINT, x DECIMAL({LONG}, 2)) TIMESTAMP BY ts",
    "interval": f"{T}PATTERN t a WHERE INTERVAL {LONG} SECONDS > INTERVAL '1' SECOND",
    "definition": rows(f"PATTERN (A) DEFINE A AS x > {LONG}"),
    "offset": rows(f"PATTERN (A) DEFINE A AS x > PREV(x, {LONG})"),
    "measure": rows(f"MEASURES {LONG} AS q PATTERN (A)"),
}


def check_output(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    script = tmp_path / "script.neel"
    script.write_text(text)
    assert main(["check", str(script)]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("what", DEEP)
def test_what_nests_too_deeply(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_output(DEEP[what], tmp_path, capsys).startswith("error[NEEL1003]: nested too deeply")


@pytest.mark.parametrize("what", NUMBERS)
def test_long_numbers(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = check_output(NUMBERS[what], tmp_path, capsys)
    assert found.startswith("error[NEEL1005]: a number of 100,0") and len(found) < 1000


def test_comparisons_are_no_types() -> None:
    from neelc.syntax import script

    script(Source(f"PATTERN A a WHERE {' AND '.join(['array < 5'] * 70)}"))


def test_long_arguments() -> None:
    with pytest.raises(ValueError, match="a number of 100,000 digits"):
        argument(f"n={LONG}")
    assert argument(f"n={LONG} SECONDS") == ("n", f"{LONG} SECONDS")  # in no time


def test_a_long_number_in_json() -> None:
    with pytest.raises(NeelError, match="a number of thousands of digits"):
        read_json(Source(f'{{"ts": {LONG}}}'), {})


def test_long_words_of_a_message_are_cut() -> None:
    message = f"unknown `{'x' * 300}`, or `{'y' * 20}`"
    found = Diagnostic("NEEL1001", message, Span(0, 1)).message
    assert found == f"unknown `{'x' * 59}...`, or `{'y' * 20}`"
