"""The command line as tests call it, in a directory with a script and its data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from neelc.cli import main

SCRIPT = """\
CREATE STREAM trades (ts BIGINT, sym STRING, price DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY sym FROM 'trades.csv';
CREATE QUERY up AS PATTERN SEQ(A a, B b) WHERE b.price > a.price WITHIN 10 SECONDS
  RETURN a.ts AS a, b.ts AS b, b.price AS price;
PATTERN SEQ(A a, C c) WITHIN 10 SECONDS RETURN a.ts AS a, c.sym AS sym;
"""
PARTIAL = """\
CREATE STREAM trades (ts BIGINT, sym STRING, price DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY sym FROM 'trades.csv';
PATTERN SEQ(B b, C c) WHERE c.price > b.price WITHIN 10 SECONDS WITH PARTIAL MATCHES RETURN b.ts AS b;
"""
TRADES = "ts,sym,price\n1,A,10\n2,B,11\n3,B,\n4,C,13.5\n"
UP = "a  b  price\n1  2  11.0\n"


class Done(NamedTuple):
    status: int
    out: str
    err: str


class Here:
    """A directory with a script and its data, and the command line in it. `engine` runs what does not name
    one."""

    def __init__(
        self, directory: Path, capture: pytest.CaptureFixture[str], engine: str | None = None
    ) -> None:
        self.directory = directory
        self.capture = capture
        self.engine = engine
        self.write("script.neel", SCRIPT)
        self.write("trades.csv", TRADES)

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path

    def read(self, name: str) -> str:
        return (self.directory / name).read_text()

    def __call__(self, *arguments: str) -> Done:
        runs = arguments[:1] in (("run",), ("why",)) or "--analyze" in arguments
        if self.engine is not None and runs and "--engine" not in arguments:
            arguments = (*arguments, "--engine", self.engine)
        try:
            status = main(arguments)
        except SystemExit as end:  # argparse
            status = int(end.code or 0)
        out, err = self.capture.readouterr()
        return Done(status, out, err)


def process(*arguments: str, directory: Path, text: str = "") -> Done:
    command = [sys.executable, "-m", "neelc", *arguments]
    done = subprocess.run(command, cwd=directory, input=text, capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


def break_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("neelc.syntax.read", fail)
