"""`neelc stream` as a process that starts a Spark of its own: slow, so there are few.
tests/spark/test_stream.py has more."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import process
from kafka_broker import Unavailable, broker, spark_jars
from pyarrow import parquet

pytest.importorskip("pyspark.sql")

SCRIPT = """CREATE STREAM Bank (ts TIMESTAMP, kind STRING, account BIGINT)
  TIMESTAMP BY ts TYPE BY kind WATERMARK 10 SECONDS;
PATTERN SEQ(Login l, Withdraw w) WHERE [account] WITHIN 1 MINUTE RETURN l.account AS account, w.ts AS at;
"""
LIMIT = 120.0


def event(second: int, kind: str, account: int) -> dict[str, Any]:
    return {"ts": f"2024-03-01T10:00:{second:02}Z", "kind": kind, "account": account}


def rows(directory: Path) -> list[Any]:
    found = [line for path in directory.glob("part-*.json") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["account"] for line in found)


def awaited(path: Path, words: str, running: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LIMIT
    while words not in path.read_text():
        assert time.monotonic() < end and running.poll() is None, path.read_text()
        time.sleep(0.2)


@pytest.mark.thorough
def test_ctrl_c_ends_the_run_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """From Kafka, with the jars that a caller names, while events come."""
    try:
        jars = spark_jars("kafka")
        with broker() as kafka:
            _stop_and_go_on(tmp_path, kafka, jars)
    except Unavailable as reason:
        pytest.skip(f"never: {reason}")


def _stop_and_go_on(directory: Path, kafka: Any, jars: str) -> None:
    kafka.create("bank")
    (directory / "bank.neel").write_text(SCRIPT)
    call = ["stream", "bank.neel", "--stream", f"Bank={kafka.url('bank')}", "--checkpoint", "state"]
    call += [
        "--out",
        "alerts",
        "--master",
        "local[1]",
        "--conf",
        f"spark.jars={jars}",
        "--report",
        "page.html",
    ]
    kafka.produce("bank", [event(1, "Login", 7), event(2, "Withdraw", 7), event(3, "Login", 8)])
    said = directory / "said.txt"
    with said.open("wb") as file:
        command = [sys.executable, "-m", "neelc", *call]
        running = subprocess.Popen(command, cwd=directory, stderr=file, stdout=subprocess.PIPE)
        awaited(said, "1 match", running)
        assert 'http-equiv="refresh"' in (directory / "page.html").read_text()
        kafka.produce("bank", [event(4, "Login", 9), event(5, "Withdraw", 9)])
        awaited(said, "2 events", running)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=LIMIT)
    assert (running.returncode, out) == (0, b""), said.read_text()
    assert said.read_text().splitlines()[-1].startswith("stopped: 2 matches in ")
    assert "http-equiv" not in (directory / "page.html").read_text()
    assert rows(directory / "alerts") == [7, 9]
    kafka.produce("bank", [event(9, "Withdraw", 8)])
    done = process(*call, "--once", directory=directory)
    assert done.status == 0, done.err
    assert rows(directory / "alerts") == [7, 8, 9], "what was kept is found again, and nothing twice"


@pytest.mark.thorough
def test_a_delta_table_has_each_match_once(tmp_path: Path) -> None:
    """One micro-batch: there is no Delta for Spark 4.3 yet, and that for 4.2 fails in the second one, when it
    reads its own log."""
    try:
        jars = spark_jars("delta")
    except Unavailable as reason:
        pytest.skip(f"never: {reason}")
    (tmp_path / "bank.neel").write_text(SCRIPT)
    (tmp_path / "in").mkdir()
    events = [event(1, "Login", 7), event(2, "Withdraw", 7), event(3, "Login", 8), event(4, "Withdraw", 8)]
    (tmp_path / "in" / "a.json").write_text("".join(json.dumps(one) + "\n" for one in events))
    call = ["stream", "bank.neel", "--stream", "Bank=in", "--checkpoint", "state", "--once"]
    settings = [f"spark.jars={jars}", "spark.sql.streaming.noDataMicroBatches.enabled=false"]
    call += ["--out", "delta://alerts", "--master", "local[1]", *(w for s in settings for w in ("--conf", s))]
    done = process(*call, directory=tmp_path)
    assert done.status == 0, done.err
    (log,) = (tmp_path / "alerts" / "_delta_log").glob("*.json")
    commit = [json.loads(line) for line in log.read_text().splitlines()]
    added = [tmp_path / "alerts" / one["add"]["path"] for one in commit if "add" in one]
    assert sorted(row["account"] for path in added for row in parquet.read_table(path).to_pylist()) == [7, 8]
    assert [one["txn"]["version"] for one in commit if "txn" in one] == [0], "by it, a retry is recognised"


def test_packages_that_cannot_be_fetched(tmp_path: Path) -> None:
    (tmp_path / "bank.neel").write_text(SCRIPT)
    call = ["stream", "bank.neel", "--stream", "Bank=kafka://127.0.0.1:9/bank", "--master", "local[1]"]
    wrong = "spark.jars.packages=org.example:spark-sql-kafka-0-10_2.13:0.0.1"
    settings = ("spark.jars.ivy=ivy", "spark.jars.ivySettings=ivy.xml", wrong)
    (tmp_path / "ivy.xml").write_text(
        '<ivysettings><settings defaultResolver="none"/><resolvers><filesystem name="none">'
        f'<artifact pattern="{tmp_path}/nowhere/[artifact].jar"/></filesystem></resolvers></ivysettings>'
    )
    done = process(*call, *(word for one in settings for word in ("--conf", one)), directory=tmp_path)
    assert (done.status, done.out) == (3, "")
    assert "[unresolved dependency: org.example#spark-sql-kafka-0-10_2.13;0.0.1: not found]" in done.err
    assert "Spark requires packages for kafka: org.example" in done.err and "\tat " not in done.err
