"""`neelc run` and `neelc doctor` as processes that start a Spark of their own: slow, so there are few."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import SCRIPT, TRADES, process

pytest.importorskip("pyspark.sql")

PROGRESS = ("starting Spark", "finding matches", "writing the rows", "stopping Spark")


def test_rows_and_nothing_else_on_standard_output(tmp_path: Path) -> None:
    (tmp_path / "script.neel").write_text(SCRIPT)
    (tmp_path / "trades.csv").write_text(TRADES)
    done = process("run", "script.neel", "--master", "local[1]", "--format", "csv", directory=tmp_path)
    assert (done.status, done.out) == (0, "a,sym\n1,C\n"), done.err
    said = [line for line in done.err.splitlines() if not line.startswith(PROGRESS)]
    assert len(said) == 1 and said[0].startswith("1 match in "), "Spark's own lines are kept away"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.neel", "trades.csv"]


def test_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    rows = "".join(f"{i},A\n" for i in range(4000))
    (tmp_path / "trades.csv").write_text("ts,sym\n" + rows)
    (tmp_path / "script.neel").write_text("PATTERN SEQ(A a, A b, A c, A d, A e) RETURN a.ts AS a")
    run = ("run", "script.neel", "--stream", "trades=trades.csv,type=sym", "--out", "found.parquet")
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "neelc", *run],
        cwd=tmp_path,
        stderr=theirs,
        stdin=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = ""
    try:
        while "stage 2" not in said and running.poll() is None:  # the first one reads the header
            said += os.read(ours, 1000).decode(errors="replace")
        time.sleep(1)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: all processes of the command get it
        status = running.wait(120)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    said += os.read(ours, 100_000).decode(errors="replace")
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
