"""How far the local engine is: a bar on a terminal that moves while a kernel is busy, and nothing of it on a
pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from neelc.engines.local.work import KernelWork, WorkState, together

SCRIPT = """CREATE STREAM E (ts BIGINT, x INT) TIMESTAMP BY ts FROM 'events.parquet' FORMAT parquet;
PATTERN SEQ(E a, E b) WHERE a.x = 3 AND b.x = 999 WITHIN 200000;
"""

WAITING = """
import sys, threading
from neelc.cli import main, progress, run_local
from neelc.engines.local.work import KernelWork
looks = threading.Semaphore(0)
words, reading = run_local.progress_of_work, KernelWork.reading
def looking(state, seconds):
    looks.release() if state.is_searching else None
    return words(state, seconds)
def waiting(self, batches):
    yield from reading(self, batches)
    looks.acquire(), looks.acquire(), looks.acquire()
run_local.progress_of_work, KernelWork.reading = looking, waiting
sys.exit(main(sys.argv[1:]))
"""
"""A command whose kernel searches until somebody has looked at it several times."""
COMMAND = ("run", "--engine", "local", "q.neel", "-o", "out.parquet")


def test_what_goes_through_a_kernel_is_counted() -> None:
    batches = [pa.record_batch({"x": [1, 2]}), pa.record_batch({"x": [3]})]
    work = KernelWork(lambda: 0.5)
    rows = work.reading(batches)
    assert work.state() == WorkState(0.5)
    next(rows)
    assert work.state() == WorkState(0.5, 2, 0, True)
    assert [batch.num_rows for batch in work.finding(rows)] == [1]
    assert work.state() == WorkState(0.5, 3, 1, True)
    assert together([work.state(), WorkState(1.0, 7)]) == WorkState(0.75, 10, 1)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    count = 400_000
    columns = {"ts": list(range(count)), "x": pa.array([at % 1000 for at in range(count)], pa.int32())}
    pa.parquet.write_table(pa.table(columns), tmp_path / "events.parquet")
    (tmp_path / "q.neel").write_text(SCRIPT)
    return tmp_path


def test_a_terminal_shows_what_a_kernel_has_read(script: Path) -> None:
    terminal, error = pty.openpty()
    command = [sys.executable, "-c", WAITING, *COMMAND]
    run = subprocess.Popen(command, cwd=script, stdout=subprocess.DEVNULL, stderr=error)
    os.close(error)
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as output, suppress(OSError):  # it ends with the process
        while part := output.read(4096):
            shown += part
    assert run.wait() == 0
    assert b"1,200 events read" in shown and b"searching" in shown


def test_a_file_has_no_bar(script: Path) -> None:
    with (script / "error.txt").open("wb") as error:
        command = [sys.executable, "-m", "neelc", *COMMAND]
        subprocess.run(command, cwd=script, stdout=subprocess.DEVNULL, stderr=error, check=True)
    assert b"\x1b" not in (script / "error.txt").read_bytes()
