"""`neelc run` and `neelc doctor` as processes that start a Spark of their own: slow, so there are few."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import SCRIPT, TRADES, process

pytest.importorskip("pyspark.sql")

ZONED = """CREATE STREAM log (ts TIMESTAMP, kind STRING) TIMESTAMP BY ts TYPE BY kind FROM 'log.csv';
PATTERN A a WHERE hour(a.ts) = 2 RETURN a.ts, hour(a.ts) AS h"""
LOG = "ts,kind\n2024-10-27 02:30:00,A\n2024-10-27T01:30:00Z,A\n2024-10-27 00:30:00+02:00,A\n"

PROGRESS = ("starting Spark", "finding matches", "writing the rows", "stopping Spark")


def test_rows_and_nothing_else_on_standard_output(tmp_path: Path) -> None:
    (tmp_path / "script.neel").write_text(SCRIPT.replace("c.sym AS sym;", "c.ts AS at ORDER BY at DESC;"))
    (tmp_path / "trades.csv").write_text(TRADES.replace("3,B,", "3,C,"))
    done = process("run", "script.neel", "--master", "local[1]", "--format", "csv", directory=tmp_path)
    assert (done.status, done.out) == (0, "a,at\n1,4\n1,3\n"), done.err
    said = [line for line in done.err.splitlines() if not line.startswith(PROGRESS)]
    assert len(said) == 1 and said[0].startswith("2 matches in "), "Spark's own lines are kept away"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.neel", "trades.csv"]


def test_the_time_zone_of_the_session(tmp_path: Path) -> None:
    (tmp_path / "script.neel").write_text(ZONED)
    (tmp_path / "log.csv").write_text(LOG)
    run = ("run", "script.neel", "--timezone", "Europe/Berlin", "--format", "json")
    done = process(*run, "--master", "local[1]", directory=tmp_path)
    reference = process(*run, "--engine", "reference", directory=tmp_path)
    assert done.status == 0, done.err
    assert done.out == reference.out


MIXED = """CREATE STREAM ticks (ts INT, price INT) TIMESTAMP BY ts UNIT SECONDS FROM 'ticks.csv';
CREATE QUERY Falls TIMESTAMP BY at UNIT SECONDS AS
SELECT m.* FROM (SELECT * FROM ticks, range(1)) MATCH_RECOGNIZE (
  ORDER BY ts MEASURES D.ts AS at, D.price AS price PATTERN (D) DEFINE D AS price < PREV(price)) AS m;
CREATE QUERY Pairs AS PATTERN SEQ(Falls a, Falls b) WITHIN 9 SECONDS RETURN a.price AS a, b.price AS b;
SELECT a + b AS total, map(1, a) AS other FROM Pairs MATCH_RECOGNIZE (
  ORDER BY a MEASURES A.a AS a, A.b AS b PATTERN (A)) ORDER BY total DESC"""


def test_what_only_spark_knows_is_asked_when_it_has_started(tmp_path: Path) -> None:
    """The columns of a subquery, of which a PATTERN needs the times."""
    (tmp_path / "script.neel").write_text(MIXED)
    (tmp_path / "ticks.csv").write_text("ts,price\n1,10\n2,8\n3,9\n4,7\n5,6\n")
    run = ("run", "script.neel", "--master", "local[1]", "--format", "csv")
    done = process(*run, directory=tmp_path)
    assert (done.status, done.out.splitlines()[0]) == (0, "total,other"), done.err
    assert [line.split(",")[0] for line in done.out.splitlines()[1:]] == ["15", "14", "13"]
    wrong = process("check", "script.neel", directory=tmp_path)
    assert wrong.status == 1 and "are known only to Spark" in wrong.err


def heard(terminal: int) -> Iterator[str]:
    """What is written to a terminal, until nobody is left to write."""
    with suppress(OSError):
        while piece := os.read(terminal, 1000):
            yield piece.decode(errors="replace")


def test_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    rows = "".join(f"{i},A\n" for i in range(4000))
    (tmp_path / "trades.csv").write_text("ts,sym\n" + rows)
    never = "a.ts + b.ts + c.ts + d.ts + e.ts = -1"  # which takes for ever to find out
    (tmp_path / "script.neel").write_text(
        f"PATTERN SEQ(A a, A b, A c, A d, A e) WHERE {never} RETURN a.ts AS a"
    )
    stream = ("--stream", "trades=trades.csv,type=sym")
    run = (
        "run",
        "script.neel",
        "--engine",
        "spark",
        *stream,
        "--most-rows",
        "1e30",
        "--out",
        "found.parquet",
    )
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "neelc", *run],
        cwd=tmp_path,
        stderr=theirs,
        stdin=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said, stopped = "", False
    try:
        for piece in heard(ours):
            said += piece
            if "stage 2" in said and not stopped:  # the first one reads the header
                stopped = True
                time.sleep(1)
                os.killpg(running.pid, signal.SIGINT)  # as a terminal does: all of its processes get it
        status = running.wait(120)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert status == 130, said
    assert "starting Spark" in said and "finding matches: stage 1" in said
    assert said.rstrip().endswith("neelc: stopped; nothing was written")
    assert "Traceback" not in said and "WARN" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.neel", "trades.csv"]


def test_the_doctor_finds_all_well(tmp_path: Path) -> None:
    done = process("doctor", "--json", directory=tmp_path)
    found = json.loads(done.out)
    assert (done.status, found["fine"], done.err) == (0, True, ""), done.out
    assert [check["name"] for check in found["checks"]][-2:] == ["Spark", "workers"]
    assert list(tmp_path.iterdir()) == []
