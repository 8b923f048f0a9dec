"""What goes wrong on Spark ends with a sentence, and nothing is lost or half-written."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import SCRIPT, TRADES, Here
from faults import FOUND, PAIRS, RETRIED, ROOMS, SCHEMA, killing, python_without_neelc, small_disk
from repository import ROOT

import neelc as library
from neelc.api.query import run_source


@pytest.fixture
def neelc(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neelc.cli.run_on_spark.session", lambda *settings: nullcontext(spark))
    monkeypatch.setattr("neelc.cli.progress.ELSEWHERE", 3600)
    return Here(tmp_path, capsys, "spark")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@contextmanager
def explained(*words: str) -> Iterator[list[library.NeelRunError]]:
    """What happens inside fails, and the explanation has these words in it; it is put into the list."""
    found: list[library.NeelRunError] = []
    with pytest.raises(Exception) as raised:
        yield found
    failure = library.explain_failure(raised.value)
    assert failure is not None, str(raised.value)[:2000]
    assert failure.__cause__ is raised.value
    assert all(word in str(failure) for word in words), str(failure)
    found.append(failure)


def rooms(spark: Any) -> Any:
    return spark.createDataFrame(ROOMS, SCHEMA)


# A worker that is killed -----------------------------------------------------------------------------------


def test_a_killed_worker_writes_nothing(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    # The session of the tests tries a task once.
    def killed(source: str, *given: Any) -> Any:
        return run_source(killing(source), *given)

    monkeypatch.setattr("neelc.cli.run_on_spark.run_source", killed)
    for output in ("up.csv", "up.parquet"):
        run = ("run", "script.neel", "--query", "up", "--strategy", "kernel", "--out", output)
        done = neelc(*run)
        assert (done.status, done.out) == (3, "")
        assert done.err.startswith(
            "error[NEEL5101]: a Python worker of Spark ended in the middle of its work"
        )
        assert names(neelc.directory) == ["script.neel", "trades.csv"]


def test_a_task_that_is_tried_again_finds_all(tmp_path: Path) -> None:
    note = tmp_path / "killed"
    done = subprocess.run(
        [sys.executable, "-c", RETRIED, str(note)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert note.exists(), "no worker was killed"
    assert list(map(tuple, json.loads(done.stdout))) == FOUND


# A disk that is full ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["all.parquet", "all.csv"])
def test_a_full_disk(output: str, neelc: Here) -> None:
    some = random.Random(1)
    rows = "".join(f"{time},A,{some.getrandbits(400):x}\n" for time in range(4000))
    neelc.write("notes.csv", "ts,sym,note\n" + rows)
    neelc.write("all.neel", "PATTERN A a RETURN a.ts, a.note")
    disk = neelc.directory / "disk"
    disk.mkdir()
    with small_disk(disk, "100k"):
        (disk / "old").write_text("old\n")
        run = ("run", "all.neel", "--stream", "notes=notes.csv,type=sym", "--out", f"disk/{output}")
        done = neelc(*run)
        assert (done.status, done.out) == (3, "")
        assert "o space left on" in done.err and len(done.err.splitlines()) == 1
        assert names(disk) == ["old"]


# Data that are not as they should be -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def parquet(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small file of trades."""
    place = tmp_path_factory.mktemp("trades") / "trades.parquet"
    frame = spark.createDataFrame([(1, "A", 10.0), (2, "B", 11.0)], "ts BIGINT, sym STRING, price DOUBLE")
    frame.coalesce(1).write.parquet(str(place))
    (part,) = place.glob("part*")
    return part.read_bytes()


@pytest.mark.parametrize(
    ("damage", "code", "words"),
    [
        ("tail", "NEEL5001", "not a Parquet file"),
        ("pages", "NEEL5001", "cannot be read"),
        ("all", "NEEL5001", "stream `trades`: Unable to infer schema"),
    ],
)
def test_a_corrupt_file(damage: str, code: str, words: str, parquet: bytes, neelc: Here) -> None:
    pages = parquet[:4] + b"\xff" * 60 + parquet[64:]
    content = {"tail": parquet[:-10], "pages": pages, "all": b""}[damage]
    path = neelc.directory / "corrupt.parquet"
    path.write_bytes(content)
    text = SCRIPT.replace("trades.csv", "corrupt.parquet")
    neelc.write("script.neel", text)
    done = neelc("run", "script.neel", "--query", "up", "--out", "up.csv")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(f"error[{code}]: ") and words in done.err, done.err
    assert "corrupt.parquet" in done.err or "trades" in done.err
    assert len(done.err.splitlines()) == 1 and not (neelc.directory / "up.csv").exists()


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("cut.csv", TRADES[:-8], "NEEL5004", "/cut.csv cannot be read: Malformed CSV record: 4"),
        ("cut.csv", 'ts,sym,price\n1,"A', "NEEL5004", "/cut.csv cannot be read: Malformed CSV record"),
        ("none.csv", "ts,sym\n1,A\n", "NEEL5002", "no column `price` in stream trades"),
        (
            "type.csv",
            TRADES.replace("11", "x"),
            "NEEL5003",
            "`x` is not of type DOUBLE (column `price` of stream `tr",
        ),
        (
            "nan.csv",
            TRADES.replace("1,A", "NaN,A"),
            "NEEL5003",
            "`NaN` is not of type BIGINT (column `ts` of stream",
        ),
        ("cut.json", '{"ts": 1, "sym": "A"}\n{"ts": 2, "sy', "NEEL5004", "/cut.json cannot be read: "),
        (
            "type.json",
            '{"ts": 1, "sym": "A", "price": "x"}',
            "NEEL5003",
            "`x` is not of type DOUBLE (column `price`",
        ),
    ],
)
def test_malformed_data(name: str, content: str, code: str, words: str, neelc: Here, spark: Any) -> None:
    neelc.write(name, content)
    neelc.write("script.neel", SCRIPT.replace("trades.csv", name))
    done = neelc("run", "script.neel", "--query", "up", "--out", "up.parquet")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(f"error[{code}]: ") and words in done.err, done.err
    assert not (neelc.directory / "up.parquet").exists()


def test_what_the_library_says_of_data(spark: Any, tmp_path: Path) -> None:
    declared = "CREATE STREAM T (ts BIGINT, price DOUBLE) TIMESTAMP BY ts; PATTERN T t"
    (tmp_path / "bad.parquet").write_text("PAR1 but no more")
    for given, code, words in (
        (str(tmp_path / "bad.parquet"), "NEEL5001", "stream `T`: "),
        (str(tmp_path / "none.csv"), "NEEL5001", "stream `T`: Path does not exist"),
        ("no_such_table", "NEEL5001", "stream `T`: The table or view `no_such_table` cannot be found"),
        (spark.range(1).selectExpr("id AS ts"), "NEEL5002", "no column `price` in stream T"),
        (
            spark.range(1).selectExpr("id AS ts", "'x' AS price"),
            "NEEL5003",
            "column `price` is of type STRING",
        ),
    ):
        with pytest.raises(library.NeelError) as raised:
            library.sql(spark, declared, T=given)
        assert str(raised.value).startswith(f"error[{code}]: {words}"), str(raised.value)
    (tmp_path / "cut.json").write_text('{"ts": 1, "price": 1}\n{"ts": 2, "pr\n')
    with explained("error[NEEL5004]: ", "/cut.json cannot be read: "):
        library.sql(spark, declared, T=str(tmp_path / "cut.json")).collect()


# Rows without a time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "pattern"),
    [
        ("kernel", "SEQ(A a, !C c, B b)"),
        ("join", "SEQ(A a, !C c, B b)"),
        ("window", "SEQ(A a, !C c)"),
    ],
)
def test_a_row_without_a_time_is_no_event(strategy: str, pattern: str, spark: Any) -> None:
    rows = [(1, "A", 1), (None, "A", 1), (None, "C", 1), (3, "B", 1), (None, "B", 1)]
    given = library.stream(spark.createDataFrame(rows, SCHEMA), type="sym", unit="s")
    text = f"PATTERN {pattern} WITHIN 20 SECONDS RETURN a.ts AS a"
    found = library.sql(spark, text, strategy=strategy, Rooms=given)
    assert [tuple(row) for row in found.collect()] == [(1,)]


def test_a_time_that_may_be_not_a_number(spark: Any) -> None:
    frame = spark.createDataFrame([(float("nan"), "A", 1)], "ts DOUBLE, sym STRING, room INT")
    with pytest.raises(library.NeelQueryError) as raised:
        library.sql(spark, PAIRS, Rooms=library.stream(frame, type="sym"))
    assert str(raised.value).startswith(
        "error[NEEL2205]: stream `Rooms`: column `ts` is of type DOUBLE; a time is a TIMESTAMP"
    )


# Results that are too large --------------------------------------------------------------------------------


def test_more_matches_than_a_task_may_find(spark: Any, neelc: Here) -> None:
    neel = library.Session(spark)
    neel.register("Rooms", rooms(spark), type="sym", unit="s")
    with explained("more than 50 matches in one task", "most_matches (--most-matches) allows more") as found:
        neel.sql(PAIRS, strategy="kernel", most_matches=50).collect()
    (failure,) = found
    assert (failure.kind, failure.part) == ("MAX_MATCHES", "A a, B b")
    assert list(failure.key) == ["room"] and failure.key["room"] in list("01234")
    assert failure.limit == 50 < (failure.number or 0) and (failure.window or "").startswith("of 20 ")
    known = {"message", "kind", "part", "key", "window", "number", "limit"}
    assert set(failure.getMessageParameters()) == known
    assert neel.sql(PAIRS, strategy="kernel", most_matches=5000).count() == len(FOUND)
    run = ("run", "script.neel", "--query", "up", "--strategy", "kernel", "--out", "up.csv")
    neelc.write("trades.csv", TRADES.replace("3,B,", "3,B,12"))
    done = neelc(*run, "--most-matches", "1")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("error[NEEL5101]: more than 1 matches in one task (2 so far): ")
    assert "= part: A a, B b\n" in done.err and not (neelc.directory / "up.csv").exists()
    assert neelc(*run, "--most-matches", "2").status == 0


def test_more_rows_than_are_allowed_by_estimate(spark: Any) -> None:
    stats = "EVENTS 1000000, RATE 1000 PER SECOND, TYPE A SHARE 0.5, TYPE B SHARE 0.5"
    text = f"CREATE STREAM Rooms TIMESTAMP BY ts UNIT SECONDS TYPE BY sym WITH STATS ({stats}); {PAIRS}"
    text = text.replace("a.room = b.room", "a.room <= b.room")
    with pytest.raises(library.NeelQueryError) as raised:
        library.sql(spark, text, most_rows=1000, Rooms=rooms(spark))
    said = str(raised.value)
    assert said.startswith("error[NEEL4002]: about ") and "rows are expected, more than 1e+03" in said
    assert "= hint: " in said and "most_rows" in said
    assert library.sql(spark, text, most_rows=1e12, Rooms=rooms(spark)).columns == ["a", "b"]


# Workers that are not as they should be --------------------------------------------------------------------


def test_workers_without_neelc(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neel = library.Session(spark)
    neel.register("Rooms", rooms(spark), type="sym", unit="s")
    none = tmp_path / "no_such_python"
    for python, code in ((python_without_neelc(tmp_path / "python"), "NEEL5102"), (none, "NEEL5101")):
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
        with explained(f"error[{code}]: the Python of Spark's workers", "install neelc", "PYSPARK_PYTHON"):
            neel.sql(PAIRS, strategy="kernel").collect()
    # Where no kernel is needed, nor is neelc.
    assert neel.sql(PAIRS, strategy="join").count() == len(FOUND)
