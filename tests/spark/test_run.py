"""`neelc run` on Spark, in the session of the tests; tests/cli/test_run_spark.py starts one of its own."""

from __future__ import annotations

import json
import re
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from command_line import PARTIAL, SCRIPT, TRADES, UP, Done, Here
from pyarrow import parquet

DONE = re.compile(
    r"\d+ match(es)? in \d+\.\d\d s \(spark engine: \w+; \d+\.\d s for starting and stopping Spark\)\n\Z"
)


@pytest.fixture
def neelc(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neelc.cli.run_on_spark.session", lambda *settings: nullcontext(spark))
    monkeypatch.setattr("neelc.cli.progress.ELSEWHERE", 3600)  # a slow machine says no more
    return Here(tmp_path, capsys, "spark")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("kind", ["table", "csv", "json"])
def test_rows_are_printed_as_by_the_reference(kind: str, neelc: Here) -> None:
    neelc.write("script.neel", SCRIPT.replace("b.price > a.price", "a.price = 10"))
    run = ("run", "script.neel", "--query", "up", "--format", kind)
    done = neelc(*run)
    assert (done.status, done.out) == (0, neelc(*run, "--engine", "reference").out)
    assert DONE.search(done.err)


def test_several_queries(neelc: Here) -> None:
    neelc.write(
        "script.neel", SCRIPT.replace("PATTERN SEQ(A a, C c)", "CREATE QUERY ac AS PATTERN SEQ(A a, C c)")
    )
    run = ("run", "script.neel", "--query", "up", "--query", "ac")
    assert neelc(*run).out == neelc(*run, "--engine", "reference").out


def test_parquet(spark: Any, neelc: Here) -> None:
    run = ("run", "script.neel", "--query", "up", "--out", "up.parquet")
    done = neelc(*run)
    assert (done.status, done.out) == (0, "") and done.err.startswith("1 match in ")
    written = str(neelc.directory / "up.parquet")
    assert [tuple(row) for row in spark.read.parquet(written).collect()] == [(1, 2, 11.0)]
    assert names(neelc.directory) == ["script.neel", "trades.csv", "up.parquet"]
    assert neelc(*run) == Done(
        2, "", "neelc: run --out up.parquet: it exists already; --overwrite replaces it\n"
    )
    neelc.write("trades.csv", TRADES.replace("11", "9"))
    assert neelc(*run, "--overwrite").status == 0
    assert spark.read.parquet(written).count() == 0
    assert names(neelc.directory) == ["script.neel", "trades.csv", "up.parquet"]
    assert neelc("run", "script.neel", "--format", "parquet").err == (
        "neelc: run --format parquet requires --out PATH\n"
    )


@pytest.mark.parametrize("where", [(), ("--out", "starts.parquet")])
def test_partial_matches_are_starts(where: tuple[str, ...], neelc: Here) -> None:
    neelc.write("partial.neel", PARTIAL)
    assert neelc("run", "partial.neel", *where).err.startswith("2 starts, 1 complete in ")


def test_a_file(neelc: Here) -> None:
    done = neelc("run", "script.neel", "--query", "up", "-o", "up.csv")
    assert (done.status, done.out, neelc.read("up.csv")) == (0, "", "a,b,price\n1,2,11.0\n")
    assert names(neelc.directory) == ["script.neel", "trades.csv", "up.csv"]


@pytest.mark.parametrize("output", ["up.csv", "up.parquet"])
def test_a_failure_leaves_nothing(output: str, neelc: Here) -> None:
    neelc.write("trades.csv", TRADES.replace("11", "much"))
    done = neelc("run", "script.neel", "--query", "up", "--out", output)
    assert (done.status, done.out) == (3, "")
    assert done.err == "error[NEEL5003]: `much` is not of type DOUBLE (column `price` of stream `trades`)\n"
    assert names(neelc.directory) == ["script.neel", "trades.csv"]


def test_a_failure_leaves_what_was_there(neelc: Here) -> None:
    neelc.write("up.csv", "old\n")
    neelc.write("trades.csv", TRADES.replace("11", "much"))
    assert neelc("run", "script.neel", "--query", "up", "-o", "up.csv", "--overwrite").status == 3
    assert neelc.read("up.csv") == "old\n"
    assert names(neelc.directory) == ["script.neel", "trades.csv", "up.csv"]


@pytest.mark.parametrize("output", ["up.csv", "up.parquet"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(number: int, status: int, output: str, neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr("neelc.cli.run_on_spark.run_source", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    # As a session of its own does: PySpark's handler is for notebooks.
    monkeypatch.setattr("neelc.cli.run_on_spark.frames_of", lambda *_: {})
    handled = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = neelc("run", "script.neel", "-o", output)
    finally:
        signal.signal(signal.SIGINT, handled)
    assert done == Done(status, "", "neelc: stopped; nothing was written\n")
    assert names(neelc.directory) == ["script.neel", "trades.csv"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_full_disk(neelc: Here) -> None:
    done = neelc("run", "script.neel", "--query", "up", "--format", "csv", "-o", "/dev/full")
    assert (done.status, done.out) == (3, "")
    assert done.err == "neelc: cannot write the output: No space left on device\n"


def test_data_from_outside(neelc: Here) -> None:
    neelc.write("script.neel", SCRIPT.split(";", 1)[1])
    # Another order of columns, another delimiter, another case of names.
    neelc.write("other.csv", "PRICE;x;ts;sym\n10;1;1;A\n11;2;2;B\n;3;3;B\n13.5;4;4;C\n")
    neelc.write("other.json", '{"ts": 1, "sym": "A", "price": 10}\n{"ts": 2, "sym": "B", "price": 11.0}\n')
    for data in ("other.csv,delimiter=;", "other.json"):
        stream = f"trades={data},type=sym,unit=s"
        assert neelc("run", "script.neel", "--stream", stream, "--query", "up").out == UP


def test_data_that_do_not_fit(neelc: Here) -> None:
    neelc.write("trades.csv", TRADES.replace("price", "prize"))
    done = neelc("run", "script.neel")
    assert (done.status, done.out) == (3, "") and done.err.startswith("error[NEEL5002]: ")
    neelc.write("trades.csv", TRADES.replace("2,B,11", "2,B"))
    done = neelc("run", "script.neel", "--query", "up")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("error[NEEL5004]: ") and "Traceback" not in done.err
    neelc.write("corrupt.parquet", "PAR1 but no more")
    neelc.write("script.neel", SCRIPT.replace("trades.csv", "corrupt.parquet"))
    done = neelc("run", "script.neel")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("error[NEEL5001]: ") and "corrupt.parquet" in done.err


def test_wrong_calls(neelc: Here) -> None:
    assert neelc("run", "script.neel", "--conf", "x").err == "neelc: --conf x: not of the form KEY=VALUE\n"
    done = neelc("run", "script.neel", "-o", "s3://bucket/x.csv")
    assert done.status == 2 and "only Parquet is written to a URL" in done.err
    neelc.write("script.neel", SCRIPT.replace("c.sym", "x.sym"))
    done = neelc("run", "script.neel")
    assert (done.status, done.out) == (1, "") and done.err.startswith("error[NEEL2")


def test_a_file_with_a_header_only(neelc: Here) -> None:
    neelc.write("empty.csv", "ts,kind,x\n")
    neelc.write("q.neel", "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 10 RETURN a.x, b.x")
    done = neelc("run", "q.neel", "--stream", "E=empty.csv,timestamp=ts,type=kind")
    assert (done.status, done.out) == (0, "a_x  b_x\n")


def test_parquet_files_of_different_integers(neelc: Here) -> None:
    (neelc.directory / "parts").mkdir()
    for name, kind, ts in (("a", pyarrow.int32(), 1), ("b", pyarrow.int64(), 5_000_000_000)):
        schema = pyarrow.schema([("ts", kind), ("x", pyarrow.int32())])
        rows = pyarrow.Table.from_pylist([{"ts": ts, "x": 1}, {"ts": ts + 1, "x": 2}], schema)
        parquet.write_table(rows, neelc.directory / "parts" / f"{name}.parquet")
    neelc.write("q.neel", "PATTERN SEQ(T a, T b) WHERE b.x > a.x WITHIN 10 RETURN a.ts, b.ts")
    run = ("run", "q.neel", "--stream", "T=parts,timestamp=ts,format=parquet", "--format", "csv")
    assert neelc(*run, "--engine", "reference").out == "a_ts,b_ts\n1,2\n5000000000,5000000001\n"
    assert neelc(*run).out == neelc(*run, "--engine", "reference").out


MISSPELT = "PATTERN SEQ(Login l, Tranfser t) WHERE [user] WITHIN 10 SECONDS RETURN l.ts, t.ts"
LOGINS = "ts,kind,user\n1,Login,a\n2,Transfer,a\n3,transfer,a\n4,Logout,a\n"


@pytest.mark.parametrize("out", [(), ("--out", "found.parquet")], ids=["printed", "written"])
@pytest.mark.parametrize("data", ["e.csv", "e.json", "e.parquet", "parts"])
def test_a_type_that_no_event_has(
    out: tuple[str, ...], data: str, neelc: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the reference tells it. In text files that is observed by the scan of the query itself."""
    monkeypatch.setattr("neelc.catalog.statistics.parquet.MOST_BYTES", 0)
    rows = [dict(zip(("ts", "kind", "user"), line.split(","), strict=True)) for line in LOGINS.split()[1:]]
    neelc.write("e.csv", LOGINS)
    neelc.write("e.json", "".join(json.dumps(row | {"ts": int(row["ts"])}) + "\n" for row in rows))
    table = pyarrow.Table.from_pylist([row | {"ts": int(row["ts"])} for row in rows])
    parquet.write_table(table, neelc.directory / "e.parquet")
    (neelc.directory / "parts").mkdir()
    neelc.write("parts/1.csv", LOGINS)
    neelc.write("q.neel", MISSPELT)
    form = ",format=csv" if data == "parts" else ""
    run = ("run", "q.neel", "--stream", f"E={data},timestamp=ts,type=kind,unit=s{form}")
    done = neelc(*run, *out)
    assert done.status == 0, done.err
    notes = [line for line in done.err.splitlines() if line.startswith("note: ")]
    expected = neelc(*run, "--engine", "reference").err.splitlines()[:-1]
    assert notes == ["note: no event is of type `Tranfser`; did you mean `Transfer`?"] == expected


def test_types_that_events_have_are_not_told(neelc: Here) -> None:
    neelc.write("e.csv", LOGINS)
    run = ("run", "q.neel", "--stream", "E=e.csv,timestamp=ts,type=kind,unit=s")
    neelc.write("q.neel", MISSPELT.replace("Tranfser", "TRANSFER"))
    assert "note" not in neelc(*run).err
    neelc.write("q.neel", MISSPELT.replace("Tranfser", "`TRANSFER`"))
    assert "note: no event is of type `TRANSFER`; did you mean `" in neelc(*run).err
    neelc.write("e.csv", LOGINS.partition("\n")[0] + "\n")
    assert "note: stream `E` has no events\n" in neelc(*run).err


def test_a_scan_that_spark_drops(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joined to nothing, it is left out, with what it has observed. Small files tell it anyway."""
    neelc.write("e.csv", LOGINS)
    neelc.write("q.neel", MISSPELT)
    run = ("run", "q.neel", "--stream", "E=e.csv,timestamp=ts,type=kind,unit=s", "--strategy", "join")
    assert "note: no event is of type `Tranfser`; did you mean `Transfer`?" in neelc(*run).err
    monkeypatch.setattr("neelc.catalog.statistics.parquet.MOST_BYTES", 0)
    assert neelc(*run).status == 0


def test_nothing_is_observed_in_source_or_partitions(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark leaves out directories by conditions; an observation would have it read all of them."""
    monkeypatch.setattr("neelc.catalog.statistics.parquet.MOST_BYTES", 0)  # small files tell it without Spark
    for day in (1, 2):
        (neelc.directory / "days" / f"day={day}").mkdir(parents=True)
        neelc.write(f"days/day={day}/1.csv", LOGINS)
    columns = "(ts BIGINT, kind STRING, user STRING)"
    stream = f"CREATE STREAM E {columns} TIMESTAMP BY ts UNIT SECONDS TYPE BY kind FROM 'days' FORMAT csv;"
    neelc.write("q.neel", f"{stream} {MISSPELT}")
    done = neelc("run", "q.neel")
    assert done.status == 0 and "note" not in done.err
    assert "observe" not in neelc("compile", "q.neel").out
