"""What holds for every command: help, files that cannot be read, bugs, readers that leave."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Done, Here, break_the_parser

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def test_version(neelc: Here) -> None:
    assert neelc("--version") == Done(0, "neelc 0.1.0\n", "")


@pytest.mark.parametrize("command", ["", "check", "fmt", "test", "run", "explain", "compile", "doctor"])
def test_help_has_examples(command: str, neelc: Here) -> None:
    done = neelc(*([command] if command else []), "--help")
    assert (done.status, done.err) == (0, "")
    assert f"  neelc {command}".rstrip() in done.out


def test_no_command_is_answered_with_the_help(neelc: Here) -> None:
    done = neelc()
    assert (done.status, done.out) == (2, "")
    assert "examples:" in done.err


def test_an_unknown_command(neelc: Here) -> None:
    done = neelc("compute")
    assert (done.status, done.out) == (2, "")
    assert "invalid choice: 'compute'" in done.err


@pytest.mark.parametrize("command", ["check", "fmt", "run", "explain", "compile"])
def test_files_that_cannot_be_read(command: str, neelc: Here) -> None:
    (neelc.directory / "latin.neel").write_bytes(b"-- \xe9\n")
    assert neelc(command, "none.neel") == Done(2, "", "neelc: none.neel: no such file\n")
    assert neelc(command, "latin.neel") == Done(2, "", "neelc: latin.neel: not UTF-8 text (byte 4)\n")


@pytest.mark.parametrize("command", ["check", "run", "explain", "compile"])
def test_directories_without_scripts(command: str, neelc: Here) -> None:
    (neelc.directory / "empty").mkdir()
    assert neelc(command, "empty") == Done(2, "", "neelc: empty: no *.neel files in this directory\n")


def test_only_files_are_formatted(neelc: Here) -> None:
    assert neelc("fmt", ".") == Done(2, "", "neelc: .: a directory, not a file\n")


def test_a_reader_that_leaves_is_no_failure(tmp_path: Path) -> None:
    # More than a pipe holds, so that writing goes on after the reader has left.
    rows = "".join(f"{i},{'x' * 200}\n" for i in range(1000))
    (tmp_path / "notes.csv").write_text("ts,text\n" + rows)
    (tmp_path / "script.neel").write_text("PATTERN notes n RETURN n.ts, n.text")
    run = "run script.neel --engine reference --stream notes=notes.csv --format csv"
    command = f"{sys.executable} -m neelc {run} | head -n 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, "Traceback" in done.stderr, "NEEL9001" in done.stderr) == (
        "n_ts,n_text\n",
        False,
        False,
    )


def test_a_bug_asks_to_be_reported(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    break_the_parser(monkeypatch)
    done = neelc("check", "script.neel")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("error[NEEL9001]: neelc failed where it should not: KeyError: 'x'\n")
    assert "Please report it" in done.err and "Traceback" not in done.err
    monkeypatch.setenv("NEELC_DEBUG", "1")
    assert "Traceback" in neelc("check", "script.neel").err


def loaded_by(*arguments: str, given: str = "", at: Path | None = None) -> tuple[str, set[str]]:
    """What a command writes to standard output in a process of its own, and the modules that it loads."""
    program = (
        "import atexit, sys; from neelc.cli import main; "
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        f"main({arguments!r}, own_process=True)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=at, check=True)
    return done.stdout, set(done.stderr.split())


def test_light_commands_start_without_heavy_packages(tmp_path: Path) -> None:
    text, loaded = loaded_by("fmt", "-", given="PATTERN A a", at=tmp_path)
    assert text == "PATTERN A a;\n"
    assert {"pyspark", "pyarrow", "neelc.runtime.reference", "neelc.pattern", *NOT_NEEDED} & loaded == set()


NOT_NEEDED = {"sqlglot", "html.entities", "importlib.resources", "tempfile", "zipfile"}
"""What takes long to load, and what neither `fmt` nor `check` of a pattern uses."""


def test_checking_a_pattern_loads_no_engine() -> None:
    _, loaded = loaded_by("check", "hospital.neel", at=EXAMPLES / "hospital")
    assert {"pyspark", "pyarrow", "duckdb", "numpy", "sqlglot", "html.entities"} & loaded == set()


def test_the_list_of_commands_loads_none_of_them() -> None:
    text, loaded = loaded_by("--help")
    assert "run a script and print its matches" in text
    assert {name for name in loaded if name.startswith("neelc.cli.")} == {"neelc.cli.internal"}


def test_a_local_run_starts_without_packages_that_are_slow_to_load() -> None:
    text, loaded = loaded_by("run", "hospital.neel", "--engine", "local", at=EXAMPLES / "hospital")
    assert "clamp-3" in text and "duckdb" in loaded
    assert {"pyspark", "pandas", "pyarrow.compute"} & loaded == set()
