"""What a path holds: `neelc.stream`, FROM and `--stream` take the same files, and say the same about them."""

from __future__ import annotations

import gzip
import json
import os
import warnings
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest
from command_line import Here

import neelc

ROWS = [(1, "a", 1.5), (2, "b", 2.5), (3, "a", 3.5), (4, "b", 4.0)]
QUERY = "PATTERN SEQ(a x, b y) WITHIN 10 SECONDS RETURN x.v AS p, y.v AS q"
FOUND = [(1.5, 2.5), (1.5, 4.0), (3.5, 4.0)]
PATHS = (
    "parts_csv",
    "parts_csv/*.csv",
    "parts_jsonl",
    "parts_jsonl/*.jsonl",
    "parts_{csv,none}/[0-9].csv",
    "days",
    "days/day=*",
    "a.csv",
    "a.tsv",
    "a.csv.gz",
    "a.csv.zst",
    "a.jsonl.gz",
    "a.parquet",
    "*.parquet",
    "a.orc",
    "a.arrow",
    "stream.arrow",
    "without_ending",
)


def csv(rows: list[tuple[int, str, float]], separator: str = ",") -> bytes:
    lines = [("ts", "kind", "v"), *rows]
    return "".join(separator.join(map(str, line)) + "\n" for line in lines).encode()


def jsonl(rows: list[tuple[int, str, float]]) -> bytes:
    return "".join(
        json.dumps(dict(zip(("ts", "kind", "v"), row, strict=True))) + "\n" for row in rows
    ).encode()


def table(rows: list[tuple[int, str, float]] = ROWS) -> pa.Table:
    return pa.table(dict(zip(("ts", "kind", "v"), map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same rows in all forms."""
    contents = {
        "parts_csv/1.csv": csv(ROWS[:2]),
        "parts_csv/2.csv": csv(ROWS[2:]),
        "parts_csv/_SUCCESS": b"",
        "parts_jsonl/1.jsonl": jsonl(ROWS[:2]),
        "parts_jsonl/2.jsonl": jsonl(ROWS[2:]),
        "days/day=1/x.csv": csv(ROWS[:2]),
        "days/day=2/x.csv": csv(ROWS[2:]),
        "a.csv": csv(ROWS),
        "a.tsv": csv(ROWS, "\t"),
        "a.csv.gz": gzip.compress(csv(ROWS)),
        "a.jsonl.gz": gzip.compress(jsonl(ROWS)),
        "latin.csv": "ts,kind,v\n1,\xe4,2\n".encode("latin-1"),
        "empty.parquet": b"",
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "nothing").mkdir()
    parquet_bytes = tmp_path / "without_ending"
    pa.parquet.write_table(table(), parquet_bytes)
    (tmp_path / "a.parquet").write_bytes(parquet_bytes.read_bytes())
    (tmp_path / "cut").write_bytes(parquet_bytes.read_bytes()[:200])
    (tmp_path / "empty.parquet").unlink()
    pa.orc.write_table(table(), tmp_path / "a.orc")
    pa.feather.write_feather(table(), tmp_path / "a.arrow", compression="uncompressed")
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table().schema) as writer:
        writer.write_table(table())
    with pa.CompressedOutputStream(str(tmp_path / "a.csv.zst"), "zstd") as out:
        out.write(csv(ROWS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(files: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    here = Here(files, capsys)
    here.write("query.neel", QUERY)
    return here


def rows_of(data: Any, **settings: Any) -> list[tuple[object, ...]]:
    given = neelc.stream(data, timestamp="ts", type="kind", unit="s", **settings)
    return sorted(neelc.local().sql(QUERY, Events=given).rows(), key=str)


def as_csv(rows: list[tuple[float, float]]) -> str:
    return "p,q\n" + "".join(f"{p},{q}\n" for p, q in rows)


# The same files, however they are named.


@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_a_local_session(files: Path, path: str) -> None:
    assert rows_of(path) == FOUND


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_a_call(command: Here, path: str, engine: str) -> None:
    stream = f"Events={path},type=kind,unit=s"
    done = command("run", "query.neel", "--stream", stream, "--engine", engine, "--format", "csv")
    assert (done.status, done.out) == (0, as_csv(FOUND)), done.err


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("columns", ["", "(ts BIGINT, kind STRING, v DOUBLE)"])
@pytest.mark.parametrize("path", [*PATHS, "file://{}/a.csv"])
def test_a_path_of_a_script(command: Here, path: str, columns: str, engine: str) -> None:
    path = path.replace("{}", str(Path.cwd()))
    times = "TIMESTAMP BY ts UNIT SECOND TYPE BY kind"
    command.write("script.neel", f"CREATE STREAM Events {columns} FROM '{path}' {times};\n{QUERY}")
    done = command("run", "script.neel", "--engine", engine, "--format", "csv")
    assert (done.status, done.out) == (0, as_csv(FOUND)), done.err


def test_columns_of_partitions(command: Here) -> None:
    """They stand behind those of files, with the types of their values."""
    query = "PATTERN SEQ(a x, b y) WITHIN 10 SECONDS RETURN x.day + 1 AS p, y.day AS q"
    command.write("query.neel", query)
    for engine in ("local", "reference"):
        stream = "Events=days,type=kind,unit=s"
        done = command("run", "query.neel", "--stream", stream, "--engine", engine, "--format", "csv")
        assert done.out == "p,q\n2,1\n2,2\n3,2\n", done.err


def test_a_value_of_a_partition_that_does_not_fit(command: Here) -> None:
    columns = "(ts BIGINT, kind STRING, v DOUBLE, day DATE)"
    times = "TIMESTAMP BY ts UNIT SECOND TYPE BY kind"
    query = QUERY.replace("x.v", "x.day")
    command.write("script.neel", f"CREATE STREAM E {columns} FROM 'days' {times};\n{query}")
    done = command("run", "script.neel", "--engine", "reference")
    assert done.status == 3
    assert "`1` is not of type DATE (column `day`)" in done.err and "day=1" in done.err


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_columns_that_files_do_not_say_plainly(command: Here, engine: str) -> None:
    """A column of a type that Spark does not have is none; INT96 is an instant."""
    times = pa.array([1000, 2000, 3000, 4000], pa.timestamp("ms"))
    found = table().set_column(0, "ts", times).append_column("day", pa.array([1] * 4, pa.time64("us")))
    pa.parquet.write_table(found, "old.parquet", use_deprecated_int96_timestamps=True)
    command.write("query.neel", QUERY.replace("RETURN", "RETURN x.ts AS t,"))
    call = ("run", "query.neel", "--stream", "Events=old.parquet,type=kind", "--timezone", "+01:00")
    done = command(*call, "--engine", engine, "--format", "csv")
    first, *_ = done.out.splitlines()[1:]
    assert done.status == 0 and first == "1970-01-01 01:00:01+01:00,1.5,2.5", done.err
    with pytest.raises(neelc.NeelError, match="NEEL2003"):
        neelc.local().sql("PATTERN a x RETURN x.day", E=neelc.stream("old.parquet", type="kind"))


def test_paths_and_options_of_python(files: Path) -> None:
    assert rows_of(Path("a.csv")) == rows_of(Path("parts_csv")) == rows_of(files / "a.orc") == FOUND
    assert rows_of("parts_csv", format="csv") == rows_of("parts_csv/*.csv", format="csv") == FOUND
    assert rows_of("a.csv", options={"encoding": "ISO-8859-1", "mode": "FAILFAST"}) == FOUND
    session = neelc.local()
    session.register("Events", Path("a.parquet"), type="kind", unit="s")
    assert sorted(session.sql(QUERY).collect(), key=str) == FOUND


# What is wrong with them.


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("cut.parquet", "cut.parquet: not a Parquet file that can be read"),
        ("empty.parquet", "empty.parquet: not a Parquet file that can be read"),
        ("latin.csv", "latin.csv: not UTF-8 text (byte 13)"),
        ("nothing", "no files in nothing"),
        ("none.csv", "no such file: none.csv"),
        ("none*.csv", "no such file: none*.csv"),
        ("s3://bucket/x.csv", "s3://bucket/x.csv is not on this machine"),
        ("a.csv.bz2", "a.csv.bz2: files of `.bz2` are not read here"),
    ],
)
@pytest.mark.parametrize("columns", ["", "(ts BIGINT, kind STRING, v DOUBLE)"])
def test_what_is_wrong_stands_at_the_path(command: Here, path: str, message: str, columns: str) -> None:
    os.rename("cut", "cut.parquet")
    Path("empty.parquet").touch()
    Path("a.csv.bz2").touch()
    times = "TIMESTAMP BY ts UNIT SECOND TYPE BY kind"
    script = f"CREATE STREAM Events {columns} FROM '{path}' {times};\n{QUERY}"
    command.write("script.neel", script)
    place = f"script.neel:1:{script.index(path) + 1}\n"
    for engine in ("local", "reference"):
        done = command("run", "script.neel", "--engine", engine)
        assert done.status in (1, 3) and message in done.err.splitlines()[0] and place in done.err, done.err
    with pytest.raises(neelc.NeelError) as raised:
        neelc.local().sql(script).collect()
    assert message in str(raised.value) and f":1:{script.index(path) + 1}\n" in str(raised.value)
    with pytest.raises(neelc.NeelError) as raised:
        rows_of(path)
    assert message in str(raised.value) and f" --> stream Events:1:1\n  |\n1 | {path}\n" in str(raised.value)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_damaged_page_names_its_file(files: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neelc.engines.local.tables.MANY_ROWS", 10)
    Path("parts").mkdir()
    for name in ("1.parquet", "2.parquet"):
        many = table([(number, "ab"[number % 2], 0.5) for number in range(1000)])
        pa.parquet.write_table(many, f"parts/{name}", compression="none", use_dictionary=False)
    content = bytearray(Path("parts/2.parquet").read_bytes())
    content[4:12] = b"\xff" * 8
    Path("parts/2.parquet").write_bytes(content)
    keyed = "PATTERN SEQ(a x, b y) WHERE [ts] WITHIN 10 SECONDS RETURN x.v AS p"
    with neelc.local(processes=processes) as session:
        frame = session.sql(keyed, Events=neelc.stream("parts", type="kind", unit="s"))
        with pytest.raises(neelc.NeelError) as raised:
            frame.collect()
    assert str(raised.value).startswith(
        "error[NEEL5001]: parts/2.parquet: not a Parquet file that can be read: "
    )
    assert " --> stream Events:1:1\n" in str(raised.value)


ELSEWHERE = (
    "CREATE STREAM E (ts BIGINT, kind STRING, v DOUBLE) FROM 's3://bucket/x.csv' "
    f"TIMESTAMP BY ts UNIT SECOND TYPE BY kind;\n{QUERY}"
)


@pytest.mark.parametrize(
    "call", [("run",), ("explain",), ("explain", "--analyze"), ("why", "--between", "1", "2")]
)
def test_data_of_another_machine_are_refused_at_their_path(command: Here, call: tuple[str, ...]) -> None:
    command.write("script.neel", ELSEWHERE)
    done = command(call[0], "script.neel", *call[1:], "--engine", "local")
    assert done.status == 1 and done.err.startswith("error[NEEL4150]: s3://bucket/x.csv is not on this m")
    assert f"script.neel:1:{ELSEWHERE.index('s3') + 1}\n" in done.err


def test_data_of_another_machine_are_given_by_a_call(command: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is asked for them, if their columns are declared."""
    monkeypatch.setattr("neelc.cli.run._run_on_spark", lambda *_: 77)
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    command.write("script.neel", ELSEWHERE.replace("FROM 's3://bucket/x.csv' ", ""))
    done = command("run", "script.neel", "--stream", "E=s3://bucket/y.csv")
    assert (done.status, done.err) == (77, "engine: Spark (s3://bucket/y.csv is not on this machine)\n")
    done = command("run", "query.neel", "--stream", "Events=s3://bucket/y.csv,type=kind")
    assert done.status == 3 and "hint: list the columns in CREATE STREAM" in done.err


# Data in memory.


def test_a_lazy_frame_of_polars_is_asked_nothing() -> None:
    polars = pytest.importorskip("polars")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows_of(polars.from_arrow(table()).lazy()) == FOUND


def test_what_no_stream_is_in_a_local_session() -> None:
    pandas = pytest.importorskip("pandas")
    session = neelc.local()
    fits = "a stream is a table of Arrow, pandas, polars or DuckDB, a list of dictionaries or a path"
    with pytest.raises(TypeError) as raised:
        session.sql(QUERY, Events=7)
    assert str(raised.value) == f"{fits}, not an int"
    with pytest.raises(TypeError, match=f"{fits}, not an int"):
        session.register("Events", 7)
    with pytest.raises(TypeError, match="a list of dictionaries, the name of a table or a path, not an int"):
        neelc.stream(7)
    with pytest.raises(TypeError, match="values of a column have several types"):
        session.sql(QUERY, Events=pandas.DataFrame({"ts": [1, 2], "v": [1, "b"]}))


def test_only_spark_replays() -> None:
    for data in ([{"ts": 1}], neelc.stream([{"ts": 1}]), neelc.local().sql("PATTERN A a", A=[{"ts": 1}])):
        with pytest.raises(
            TypeError, match=r"replay takes a DataFrame of Spark, .*; streams without end run"
        ):
            neelc.replay(cast(Any, data))
