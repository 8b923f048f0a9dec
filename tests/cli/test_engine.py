"""`--engine auto`: which engine runs a script, and what is said about it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from command_line import UP, Here

from neelc.cli.engine import AUTO, SparkNeeded, asks_for_spark, on_local_or_spark, size_here
from neelc.engines.local.tables import DataSize, LocalTable

RUN = ("run", "script.neel", "--query", "up")


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would run on Spark says so."""
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("neelc.cli.run._run_on_spark", lambda *_: 77)
    monkeypatch.setattr("neelc.cli.run_rules._on_spark", lambda *_: 77)


def test_data_on_this_machine_are_read_locally(neelc: Here) -> None:
    done = neelc(*RUN)
    assert (done.status, done.out) == (0, UP)
    engine, summary = done.err.splitlines()
    assert engine == "engine: local (1 file, 41 bytes on this machine)"
    assert summary.startswith("1 match in ") and summary.endswith("(local engine: kernel)")


def test_whoever_names_an_engine_is_told_no_reason(neelc: Here) -> None:
    assert neelc(*RUN, "--engine", "local").err.startswith("1 match in ")


@pytest.mark.parametrize(
    "setting", [("--master", "local[1]"), ("--remote", "sc://x"), ("--conf", "a=b"), ("--ship",)]
)
def test_settings_of_spark_ask_for_spark(neelc: Here, setting: tuple[str, ...]) -> None:
    assert neelc(*RUN, *setting) == (77, "", "")


def test_rows_for_another_machine_ask_for_spark() -> None:
    assert asks_for_spark(Namespace(output="s3://bucket/rows"))
    assert not asks_for_spark(Namespace(output="rows.parquet"))


def test_a_process_of_spark_uses_spark(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    assert neelc(*RUN) == (77, "", "engine: Spark (SPARK_REMOTE is set)\n")


def test_data_on_another_machine_ask_for_spark(neelc: Here) -> None:
    neelc.write("script.neel", neelc.read("script.neel").replace("trades.csv", "s3://bucket/trades.csv"))
    assert neelc(*RUN) == (77, "", "engine: Spark (s3://bucket/trades.csv is not on this machine)\n")


@pytest.mark.parametrize("command", [RUN, ("why", *RUN[1:])])
def test_a_topic_has_no_end(neelc: Here, command: tuple[str, ...]) -> None:
    """No Spark is started to find that out."""
    topic = "kafka://localhost:9092/trades"
    neelc.write("script.neel", neelc.read("script.neel").replace("trades.csv", topic))
    done = neelc(*command)
    assert done.status in (1, 3) and done.out == "", done
    assert f"NEEL5006]: {topic} is a Kafka topic, which has no end" in done.err
    assert "neelc stream reads topics" in done.err and "engine: Spark" not in done.err


def test_a_time_zone_that_duckdb_does_not_know(neelc: Here) -> None:
    done = neelc(*RUN, "--timezone", "+05:30")
    assert done.status == 77 and done.err.startswith("engine: Spark (timezone +05:30: the local engine has ")
    assert neelc(*RUN, "--timezone", "+05:30", "--engine", "local").status == 2
    assert neelc(*RUN, "--timezone", "+05:00").out == UP


AGENT = """CREATE STREAM trades (ts BIGINT, sym STRING, price DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY sym FROM 'trades.csv';
SELECT sym FROM twice(trades)"""
TWICE = """import neelc

twice = neelc.agent(lambda one: one.union(one), columns="sym STRING", inputs=1)
"""


def test_what_only_spark_executes_runs_there(neelc: Here) -> None:
    neelc.write("agent.neel", AGENT)
    neelc.write("twice.py", TWICE)
    done = neelc("run", "agent.neel", "--aggregates", "twice.py")
    assert (done.status, done.out) == (77, "")
    assert done.err.startswith("engine: Spark (not supported by the local engine yet: the agent twice")
    done = neelc("run", "agent.neel", "--aggregates", "twice.py", "--engine", "local")
    assert done.status == 1 and "error[NEEL4150]" in done.err and "--engine spark" in done.err


AROUND = """CREATE STREAM E (ts BIGINT, x INT) TIMESTAMP BY ts UNIT SECONDS FROM 'e.csv';
SELECT {} FROM E MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A));
"""


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ("nosuch", "error[NEEL2003]: unknown column `nosuch`\n --> around.neel:2:8\n"),
        ("x + )", "error[NEEL1001]: this is no SQL of Spark's, at `)`\n --> around.neel:2:12\n"),
        ("x AND x", "error[NEEL2103]: a condition must be BOOLEAN, not INT\n --> around.neel:2:8\n"),
    ],
)
def test_a_mistake_starts_no_spark(neelc: Here, items: str, problem: str) -> None:
    neelc.write("e.csv", "ts,x\n1,2\n")
    neelc.write("around.neel", AROUND.format(items))
    done = neelc("run", "around.neel")
    assert (done.status, done.out) == (1, "")
    assert problem in done.err and "engine:" not in done.err


def test_a_function_that_only_spark_has_runs_there(neelc: Here) -> None:
    neelc.write("e.csv", "ts,x\n1,2\n")
    neelc.write("around.neel", AROUND.format("x, rand() AS r"))
    done = neelc("run", "around.neel")
    assert (
        done.status == 77
        and "engine: Spark (not supported by the local engine yet: the function rand)" in done.err
    )


def test_rules_run_locally(neelc: Here) -> None:
    done = neelc("run", "script.neel", "--all")
    assert done.status == 0 and done.err.startswith("engine: local (1 file, 41 bytes on this machine)\n")
    assert neelc("run", "script.neel", "--all", "--master", "local[1]") == (77, "", "")
    neelc.write("script.neel", neelc.read("script.neel").replace("trades.csv", "s3://bucket/trades.csv"))
    done = neelc("run", "script.neel", "--all")
    assert done == (77, "", "engine: Spark (s3://bucket/trades.csv is not on this machine)\n")


def test_a_rule_that_only_spark_executes_takes_the_others_there(neelc: Here) -> None:
    neelc.write("rules.neel", f"{AGENT};CREATE QUERY up AS PATTERN trades t RETURN t.sym")
    neelc.write("twice.py", TWICE)
    rules = ("run", "rules.neel", "--all", "--aggregates", "twice.py")
    done = neelc(*rules)
    assert (done.status, done.out) == (77, "")
    assert done.err.startswith("engine: Spark (not supported by the local engine yet: the agent twice")
    done = neelc(*rules, "--engine", "local")
    assert done.status == 0 and "error[NEEL4150]" in done.err and "1 of 2 rules is left out" in done.err


def test_a_wrong_query_starts_nothing(neelc: Here) -> None:
    neelc.write("script.neel", neelc.read("script.neel").replace("b.price", "b.prize"))
    done = neelc(*RUN)
    assert done.status == 1 and done.err.startswith("error[NEEL2")


def table(bytes: int, rows: int | None) -> LocalTable:
    return LocalTable(None, {}, DataSize(1, bytes, rows))


def test_the_limits() -> None:
    assert size_here({"a": table(64 * 10**9, None)}) == "1 file, 64.0 GB on this machine"
    for large in (table(64 * 10**9 + 1, None), table(1000, 1_000_000_001)):
        with pytest.raises(SparkNeeded, match=r"the local engine takes up to 64 GB of files and 1,000,000,"):
            size_here({"a": table(0, 0), "b": large})


def test_too_many_data_run_on_spark(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neelc.cli.engine.MOST_BYTES", 40)
    done = neelc(*RUN)
    assert done.status == 77 and done.err.startswith("engine: Spark (1 file, 41 bytes; the local engine ")
    explained = neelc("explain", "script.neel").out
    assert "Engine Spark: 1 file, 41 bytes; the local engine takes up to" in explained


def test_explain_names_the_engine_and_its_limits(neelc: Here) -> None:
    text = " ".join(neelc("explain", "script.neel").out.split())
    assert (
        "Engine local: 1 file, 41 bytes on this machine. Up to 64 GB of files and 1,000,000,000 rows" in text
    )
    neelc.write("open.neel", "CREATE STREAM t (ts BIGINT) TIMESTAMP BY ts; PATTERN t a")
    assert "Engine" not in neelc("explain", "open.neel").out


def test_explain_has_the_words_of_the_engine(neelc: Here) -> None:
    def words(*engine: str) -> tuple[bool, ...]:
        text = neelc("explain", "script.neel", "--mode", "all", *engine).out
        known = ("shuffle by chunks of time", "cut into chunks of time", "read trades once, by DuckDB")
        return tuple(one in text for one in (*known, "  shuffled  ", "\nSpark  kernel", "\nLocal  kernel"))

    assert words() == words("--engine", "local") == (False, True, True, False, False, True)
    assert words("--engine", "spark") == (True, False, False, True, True, False)
    neelc.write("open.neel", "CREATE STREAM t (ts BIGINT) TIMESTAMP BY ts; PATTERN t a")
    assert "\nSpark  kernel" in neelc("explain", "open.neel").out  # no data, so no engine is taken yet
    assert "\nLocal  kernel" in neelc("explain", "open.neel", "--engine", "local").out


def test_explain_tells_programs_the_engine(neelc: Here) -> None:
    for engine in ("local", "spark"):
        record = json.loads(neelc("explain", "script.neel", "--format", "json", "--engine", engine).out)
        assert {one["execution"]["engine"] for one in record["queries"]} == {engine}


def test_explain_for_an_engine_that_cannot_run_it(neelc: Here) -> None:
    neelc.write("rules.neel", AGENT)
    neelc.write("twice.py", TWICE)
    explain = ("explain", "rules.neel", "--aggregates", "twice.py")
    assert "Engine Spark: not supported by the local engine yet: the agent" in neelc(*explain).out
    done = neelc(*explain, "--engine", "local")
    assert done.status == 1 and "error[NEEL4150]" in done.err
    done = neelc("explain", "script.neel", "--streaming", "--engine", "local")
    assert (done.status, done.out) == (2, "") and "streams without end run on Spark" in done.err


def test_a_process_of_spark_is_told_by_explain(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    assert "Engine Spark: SPARK_REMOTE is set." in neelc("explain", "script.neel").out
    assert "Engine Spark: SPARK_REMOTE is set." in neelc("explain", "script.neel", "--all").out


KEYED = """CREATE STREAM trades (ts BIGINT, sym STRING, k INT) TIMESTAMP BY ts UNIT SECONDS TYPE BY sym
  FROM 't.parquet' WITH STATS (MOST FREQUENT k 0.01);
PATTERN SEQ(A a, A b) WHERE [k] WITHIN 10 SECONDS RETURN a.ts AS a;
"""


def test_explain_tells_how_many_processes_run(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"ts": list(range(200)), "sym": ["A"] * 200, "k": pa.array(range(200), pa.int32())}
    pa.parquet.write_table(pa.table(rows), neelc.directory / "t.parquet")
    neelc.write("keyed.neel", KEYED)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    text = neelc("explain", "keyed.neel").out
    assert "split" not in text and "Kernels run in one process." in " ".join(text.split())
    monkeypatch.setattr("neelc.engines.local.tables.MANY_ROWS", 100)
    text = neelc("explain", "keyed.neel").out
    assert "split by a hash of k over 3 processes" in text
    assert "read trades once in each process, by DuckDB" in text
    assert "Kernels run in 3 processes, if they have keys or chunks of time." in " ".join(text.split())
    text = neelc("explain", "keyed.neel", "--all").out
    assert "one sort, by DuckDB, in each of 3 processes" in text


def test_rules_are_explained_for_the_engine(neelc: Here) -> None:
    text = neelc("explain", "script.neel", "--all").out
    assert "\n  reads    trades once: one sort, by DuckDB\n" in text and "by Spark" not in text
    assert "\n\nEngine local: 1 file, 41 bytes on this machine." in text
    record = json.loads(neelc("explain", "script.neel", "--all", "--format", "json").out)
    assert record["engine"].startswith("local: 1 file")
    text = neelc("explain", "script.neel", "--all", "--engine", "spark").out
    assert "trades once: one shuffle, one sort\n" in text and "Engine" not in text
    neelc.write("script.neel", neelc.read("script.neel").replace("trades.csv", "s3://bucket/trades.csv"))
    text = neelc("explain", "script.neel", "--all").out
    assert "one shuffle" in text and "Engine Spark: s3://bucket/trades.csv is not on this machine." in text


def test_limits_are_not_for_match_recognize(neelc: Here) -> None:
    rows = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS t PATTERN (A) DEFINE A AS price > 1)"
    neelc.write("rows.neel", neelc.read("script.neel").split(";")[0] + f"; SELECT * FROM trades {rows}")
    assert neelc("run", "rows.neel").status == 0
    done = neelc("run", "rows.neel", "--most-matches", "1")
    assert done.status == 2 and "run --most-matches: for PATTERN queries" in done.err


def test_errors_of_the_local_engine_are_not_tried_again() -> None:
    def fail() -> int:
        raise KeyError("ours")

    with pytest.raises(KeyError):
        on_local_or_spark(Namespace(engine=AUTO), fail, lambda: 0)


def test_several_files(neelc: Here, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for part in "12":
        neelc.write(f"parts/{part}.csv", neelc.read("trades.csv"))
    neelc.write("script.neel", neelc.read("script.neel").replace("trades.csv", "parts"))
    assert neelc(*RUN).err.startswith("engine: local (2 files, 82 bytes on this machine)\n")


def test_why_looks_at_data_on_this_machine(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    why = ("why", "script.neel", "--query", "up")
    done = neelc(*why)
    assert (done.status, done.out) == (0, neelc(*why, "--engine", "reference").out)
    assert done.err == "engine: local (1 file, 41 bytes on this machine)\n"
    monkeypatch.setattr("neelc.cli.why._read_by_spark", lambda *_: None)
    monkeypatch.setattr("neelc.cli.engine.MOST_BYTES", 40)
    done = neelc(*why)
    assert (done.status, done.out) == (3, "") and done.err.startswith("engine: Spark (1 file, 41 bytes; ")


WITHOUT_SPARK = """
import sys
class NoSpark:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ImportError(name)
sys.meta_path.insert(0, NoSpark())
import neelc
from neelc.cli import main
for command in {commands}:
    assert main(command.split()) == 0, command
found = neelc.local().sql("PATTERN SEQ(A a, C c)", trades=neelc.stream("trades.csv", type="sym"))
assert found.count() == 1
"""


def test_commands_need_neither_java_nor_pyspark(neelc: Here) -> None:
    commands = (
        "check script.neel",
        "compile --target duckdb script.neel",
        "compile script.neel",
        "explain script.neel",
        "explain script.neel --analyze",
        "run script.neel --query up --report up.html --stats-out up.json",
        "why script.neel --query up",
        "run script.neel --all",
    )
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK.format(commands=commands)],
        cwd=neelc.directory,
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


NEVER = "a.ts + b.ts + c.ts + d.ts + e.ts = -1"
"""What takes for ever to find out."""


def processes_with(word: str) -> list[int]:
    """The processes whose surroundings contain a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # it has just ended
            continue
    return found


def endless(here: Path, scratch: Path, rows: int) -> subprocess.Popen[str]:
    """A run that looks for matches and never ends; it writes its own files to `scratch`."""
    here.mkdir()
    scratch.mkdir()
    kinds = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), ["A"])
    table = pa.table({"ts": np.arange(rows), "sym": kinds, "k": np.arange(rows) % 2})
    pa.parquet.write_table(table, here / "t.parquet")
    (here / "q.neel").write_text(f"PATTERN SEQ(A a, A b, A c, A d, A e) WHERE [k] AND {NEVER} RETURN a.ts")
    limits = ("--most-rows", "1e30", "--most-matches", str(10**12))
    run = ("run", "q.neel", "--stream", "t=t.parquet,type=sym", *limits, "--out", "found.csv")
    running = subprocess.Popen(
        [sys.executable, "-m", "neelc", *run],
        cwd=here,
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until(lambda: any(scratch.rglob("*")))
    time.sleep(1)
    assert running.poll() is None
    return running


def until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it takes too long")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("rows", [4_000, 2_100_000], ids=["one process", "several processes"])
def test_who_stops_a_run_leaves_nothing(tmp_path: Path, rows: int, end: signal.Signals) -> None:
    here, scratch = tmp_path / "here", tmp_path / "scratch"
    running = endless(here, scratch, rows)
    try:
        os.killpg(running.pid, end) if end == signal.SIGINT else running.terminate()
        said = running.communicate(timeout=60)[1]
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 128 + end, said
    assert said.endswith("neelc: stopped; nothing was written\n")
    assert sorted(path.name for path in here.iterdir()) == ["q.neel", "t.parquet"]
    assert list(scratch.iterdir()) == []


def test_processes_end_with_the_one_that_has_started_them(tmp_path: Path) -> None:
    running = endless(tmp_path / "here", tmp_path / "scratch", 2_100_000)
    assert len(processes_with(str(tmp_path))) > 1
    running.kill()
    running.communicate()
    until(lambda: not processes_with(str(tmp_path)))
