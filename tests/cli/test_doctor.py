"""`neelc doctor`. That all is well is shown in test_run_spark.py, where Spark is started anyway."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import Here, process


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_a_missing_java(neelc: Here, no_java: None) -> None:
    done = neelc("doctor")
    assert (done.status, done.err) == (3, "something is not as it must be: see above\n")
    out = re.sub(r" \([0-9.]+ s\)$", "", done.out, flags=re.MULTILINE)  # where a check took long
    assert "Java      MISSING  none found\n                   install Java 17 or later" in out
    assert done.out.endswith("Spark     SKIPPED  not tried\n                   put the above right first\n")


def test_an_old_java(neelc: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"Java      TOO OLD  1.8.0_392 ({java}) was found, 17 or later is required" in neelc("doctor").out


def test_a_missing_package(neelc: Here, no_java: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    versions = metadata.version

    def version(name: str) -> str:
        if name == "pyarrow":
            raise metadata.PackageNotFoundError
        return "0.1" if name == "numpy" else versions(name)

    monkeypatch.setattr(metadata, "version", version)
    out = neelc("doctor").out
    assert "pyarrow   MISSING  not installed\n                   pip install 'pyarrow>=" in out
    assert "numpy     TOO OLD  0.1 was found, 1.26 or later is required\n" in out and "pyspark   fine" in out


def test_json(neelc: Here, no_java: None) -> None:
    done = neelc("doctor", "--json")
    found = json.loads(done.out)
    assert (done.status, done.err, found["fine"]) == (3, "", False)
    by_name = {check["name"]: check for check in found["checks"]}
    assert by_name["Python"]["fine"] and not by_name["Java"]["fine"]
    assert set(by_name["Java"]) == {"name", "fine", "problem", "found", "advice", "seconds"}
    assert by_name["Java"]["problem"] == "missing" and by_name["Python"]["problem"] is None


def test_run_without_java(neelc: Here, no_java: None) -> None:
    """In a process of its own: another test may have started a Java here."""
    done = process("run", "script.neel", directory=neelc.directory)
    assert (done.status, done.out) == (0, "a  sym\n1  C\n")
    assert done.err.startswith("engine: local (1 file, 41 bytes on this machine)\n1 match in ")
    done = process("run", "script.neel", "--engine", "spark", directory=neelc.directory)
    assert (done.status, done.out) == (3, "")
    assert done.err == (
        "neelc: Spark cannot be started: no Java was found; Spark requires Java 17 or later\n"
        "`neelc doctor` looks for the reason; --engine local does without Spark\n"
    )
