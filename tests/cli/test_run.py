"""`neelc run` with the reference interpreter; test_run_spark.py runs on Spark."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from command_line import SCRIPT, TRADES, UP, Done, Here

RUN = ("run", "--engine", "reference", "script.neel")


def test_run_prints_the_last_query(neelc: Here) -> None:
    done = neelc(*RUN)
    assert (done.status, done.out) == (0, "a  sym\n1  C\n")
    assert done.err.startswith("1 match in 0.") and done.err.endswith(" s (reference engine)\n")


def test_run_prints_named_queries(neelc: Here) -> None:
    assert neelc(*RUN, "--query", "up").out == UP
    assert neelc(*RUN, "--query", "UP").out == UP
    done = neelc(*RUN, "--query", "down")
    assert done == Done(2, "", "neelc: run --query down: no such query; queries: up\n")


def test_run_at_a_time(neelc: Here) -> None:
    text = SCRIPT.replace("b.price > a.price", "a.ts < unix_seconds(current_timestamp)")
    neelc.write("script.neel", text)
    up = (*RUN, "--query", "up")
    assert neelc(*up).out == UP + "1  3  null\n"
    assert neelc(*up, "--now", "1970-01-01 00:00:01").out == "a  b  price\n"
    wrong = "neelc: --now noon: no time; for example '2024-05-01 12:00:00'\n"
    assert neelc(*RUN, "--now", "noon") == Done(2, "", wrong)
    asked = "neelc: compile: the script uses the current time: pass it with --now TIME\n"
    assert neelc("compile", "script.neel") == Done(2, "", asked)
    assert neelc("compile", "script.neel", "--now", "2024-05-01").status == 0
    neelc.write("script.neel", SCRIPT)
    unused = "neelc: --now: the script does not use the current time; current_timestamp() does\n"
    assert neelc(*RUN, "--now", "2024-05-01") == Done(2, "", unused)


def test_run_formats(neelc: Here) -> None:
    neelc.write("script.neel", SCRIPT.replace("b.price > a.price", "a.price = 10"))
    run = (*RUN, "--query", "up", "--format")
    assert neelc(*run, "table").out == "a  b  price\n1  2  11.0\n1  3  null\n"
    assert neelc(*run, "csv").out == "a,b,price\n1,2,11.0\n1,3,\n"
    assert neelc(*run, "json").out == '{"a": 1, "b": 2, "price": 11.0}\n{"a": 1, "b": 3, "price": null}\n'


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_run_keeps_the_order_of_the_query(neelc: Here, engine: str) -> None:
    neelc.write("script.neel", SCRIPT.replace("b.price AS price", "b.price AS price ORDER BY b.ts DESC"))
    neelc.write("trades.csv", "ts,sym,price\n1,A,1\n2,B,3\n3,B,2\n4,B,9\n")
    run = ("run", "script.neel", "--engine", engine, "--query", "up")
    assert neelc(*run).out == "a  b  price\n1  4  9.0\n1  3  2.0\n1  2  3.0\n"
    assert neelc(*run, "--format", "csv").out == "a,b,price\n1,4,9.0\n1,3,2.0\n1,2,3.0\n"
    texts = neelc(*run, "--format", "json").out.splitlines()
    assert [json.loads(line)["b"] for line in texts] == [4, 3, 2]
    assert neelc(*run, "-o", "out.csv").status == 0
    assert neelc.read("out.csv") == neelc(*run, "--format", "csv").out


def test_run_writes_a_file(neelc: Here) -> None:
    done = neelc(*RUN, "-o", "out.csv")
    assert (done.status, done.out, neelc.read("out.csv")) == (0, "", "a,sym\n1,C\n")
    done = neelc(*RUN, "-o", "out.csv")
    assert done == Done(2, "", "neelc: run --out out.csv: it exists already; --overwrite replaces it\n")
    assert neelc(*RUN, "--out", "-", "--format", "csv").out == neelc.read("out.csv")
    done = neelc(*RUN, "-o", "none/out.csv")
    assert done == Done(2, "", "neelc: none/out.csv: cannot be written: No such file or directory\n")


def test_run_writes_nothing_when_it_fails(neelc: Here) -> None:
    neelc.write("out.csv", "old\n")
    neelc.write("trades.csv", TRADES.replace("13.5", "much"))
    done = neelc(*RUN, "-o", "out.csv", "--overwrite")
    assert (done.status, done.out, neelc.read("out.csv")) == (3, "", "old\n")
    assert "error[NEEL5003]: `much` is not of type DOUBLE (column `price`)\n --> trades.csv:5:5\n" in done.err


def test_run_a_wrong_query(neelc: Here) -> None:
    neelc.write("script.neel", SCRIPT.replace("c.sym", "x.sym"))
    done = neelc(*RUN)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[NEEL2")


def test_run_without_its_data(neelc: Here) -> None:
    (neelc.directory / "trades.csv").unlink()
    done = neelc(*RUN)
    assert (done.status, done.out) == (3, "")
    assert "error[NEEL5001]: no such file: trades.csv\n --> script.neel:2:" in done.err


def test_run_a_script_without_a_query(neelc: Here) -> None:
    neelc.write("script.neel", "CREATE TYPE T AS (A, B);")
    assert neelc(*RUN) == Done(2, "", "neelc: run: the script has no query\n")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (("--master", "local"), "run --master: a setting of Spark, which --engine reference does without"),
        (
            ("--strategy", "join"),
            "run --strategy: a setting of the local engine and Spark, not of --engine reference",
        ),
        (
            ("--most-matches", "3"),
            "run --most-matches: a setting of the local engine and Spark, not of --engine reference",
        ),
        (
            ("-o", "out.parquet"),
            "run --engine reference: Parquet is for the other engines; use csv, json or table",
        ),
    ],
)
def test_what_the_reference_cannot_do(setting: tuple[str, ...], message: str, neelc: Here) -> None:
    assert neelc(*RUN, *setting) == Done(2, "", f"neelc: {message}\n")


def test_run_on_a_stream_from_outside(neelc: Here) -> None:
    neelc.write("script.neel", SCRIPT.split(";", 1)[1])
    neelc.write("other.csv", TRADES.replace(",", ";"))
    stream = "trades=other.csv,type=sym,unit=s,delimiter=;"
    assert neelc(*RUN, "--stream", stream, "--query", "up").out == UP
    neelc.write("script.neel", SCRIPT.replace(" FROM 'trades.csv'", ""))
    assert neelc(*RUN).status == 3
    assert neelc(*RUN, "--stream", "trades=other.csv,delimiter=;").status == 0


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("trades", "--stream trades: not of the form NAME=PATH[,timestamp=COLUMN][,type=COLUMN]"),
        ("trades=none.csv", "--stream trades=none.csv: no such file: none.csv"),
        ("trades=trades.csv,unit=blinks", "no unit blinks; units: NANOSECOND"),
        ("trades=trades.csv,timestmp=ts", "no setting timestmp; did you mean timestamp?"),
        (
            "trades=trades.csv,timestamp=tz",
            "stream trades: no column tz, given as the timestamp; columns: ts, sym",
        ),
        (
            "trades=no_time.csv",
            "stream trades: which column is the timestamp? Say timestamp=COLUMN; columns: t, sym",
        ),
    ],
)
def test_streams_that_are_called_wrongly(stream: str, message: str, neelc: Here) -> None:
    neelc.write("script.neel", "PATTERN SEQ(A a, B b)")
    neelc.write("no_time.csv", TRADES.replace("ts", "t"))
    done = neelc(*RUN, "--stream", stream)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_data_that_cannot_tell_their_columns_fail_the_run(neelc: Here) -> None:
    neelc.write("script.neel", SCRIPT.replace(" (ts BIGINT, sym STRING, price DOUBLE)", ""))
    (neelc.directory / "trades.csv").unlink()
    done = neelc(*RUN)
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("error[NEEL5001]: no such file: trades.csv\n")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("timestamp=price", "the script says TIMESTAMP ts, the call says price"),
        ("unit=ms", "the script says UNIT SECOND, the call says MILLISECOND"),
        ("type=price", "the script says TYPE BY sym, the call says price"),
    ],
)
def test_script_and_call_must_not_contradict_each_other(setting: str, message: str, neelc: Here) -> None:
    done = neelc(*RUN, "--stream", f"trades=trades.csv,{setting}")
    assert done == Done(2, "", f"neelc: stream trades: {message}\n")


def test_run_refuses_what_nothing_uses(neelc: Here) -> None:
    neelc.write("other.csv", "ts,x\n1,2\n")
    done = neelc(*RUN, "--stream", "trdes=other.csv")
    message = "neelc: --stream trdes=...: no query reads it; streams that are read: trades\n"
    assert done == Done(2, "", message)
    done = neelc(*RUN, "--arg", "w=1")
    assert done == Done(2, "", "neelc: --arg w=...: the script has no parameter :w; parameters: none\n")
    twice = ("--stream", "x=other.csv", "--stream", "X=other.csv")
    assert neelc(*RUN, *twice) == Done(2, "", "neelc: --stream X=...: given twice\n")


def test_run_tells_of_types_that_no_event_has(neelc: Here) -> None:
    neelc.write("misspelt.csv", "ts,sym\n1,Login\n2,Payout\n")
    neelc.write("script.neel", "PATTERN SEQ(Lgoin l, Payout p) WITHIN 9 RETURN l.ts AS l")
    done = neelc(*RUN, "--stream", "s=misspelt.csv,type=sym")
    assert (done.status, done.out) == (0, "l\n")
    assert done.err.startswith("note: no event is of type `Lgoin`; did you mean `Login`?\n0 matches in 0.")


def test_run_writes_no_format_that_it_does_not_know(neelc: Here) -> None:
    done = neelc(*RUN, "-o", "out.xlsx")
    assert (done.status, done.out) == (2, "")
    assert "unknown file extension; pass --format, or use .csv, .json, .jsonl, .txt, .parquet" in done.err
    assert not (neelc.directory / "out.xlsx").exists()


WRITING = ("--overwrite", "--format", "csv", "-o")


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("trades.csv", "it is trades.csv, the data of stream trades"),
        ("./parts/../trades.csv", "it is trades.csv, the data of stream trades"),
        ("link.csv", "it is trades.csv, the data of stream trades"),
        ("hard.csv", "it is trades.csv, the data of stream trades"),
        ("parts/more.csv", "it is inside parts, the data of stream Parts"),
        ("script.neel", "it is script.neel, the script"),
    ],
)
def test_run_does_not_write_over_what_it_reads(neelc: Here, output: str, told: str) -> None:
    (neelc.directory / "parts").mkdir()
    neelc.write("parts/1.csv", TRADES)
    (neelc.directory / "link.csv").symlink_to("trades.csv")
    (neelc.directory / "hard.csv").hardlink_to(neelc.directory / "trades.csv")
    neelc.write("script.neel", f"CREATE STREAM Parts FROM 'parts';\n{SCRIPT}")
    for engine in ("reference", "spark"):
        done = neelc("run", "script.neel", "--engine", engine, *WRITING, output)
        assert done == Done(2, "", f"neelc: run -o {output}: {told}\n")
    assert neelc.read("trades.csv") == TRADES


@pytest.mark.parametrize(
    "query", ["PATTERN A a", "SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"]
)
@pytest.mark.parametrize(
    ("output", "told"),
    [
        (".", "it contains script.neel, the script"),
        ("data", "it contains data/parts/1.csv, the data of stream trades"),
        ("data/parts", "it contains data/parts/1.csv, the data of stream trades"),
        ("file://{here}/data", "it contains data/parts/1.csv, the data of stream trades"),
    ],
)
def test_run_does_not_replace_a_directory_with_its_data(
    neelc: Here, query: str, output: str, told: str
) -> None:
    (neelc.directory / "data" / "parts").mkdir(parents=True)
    neelc.write("data/parts/1.csv", TRADES)
    neelc.write("script.neel", f"CREATE STREAM trades TYPE BY sym FROM 'data/parts/1.csv'; {query}")
    output = output.format(here=neelc.directory)
    done = neelc("run", "script.neel", "--format", "parquet", "--overwrite", "-o", output)
    assert done == Done(2, "", f"neelc: run -o {output}: {told}\n")
    assert neelc.read("data/parts/1.csv") == TRADES


def test_outputs_of_other_commands_are_no_inputs_either(neelc: Here) -> None:
    neelc.write("page.html", TRADES)
    neelc.write("given.neel", "PATTERN C a")
    given = ("given.neel", "--stream", "Trades=page.html,format=csv,type=sym")
    for call in (
        ("compile", *given, "-o", "page.html"),
        ("explain", *given, "-o", "page.html"),
        ("run", "--engine", "reference", *given, "--report", "page.html"),
        ("why", "--engine", "reference", *given, "--report", "page.html"),
        ("why", "--engine", "reference", *given, "-o", "page.html"),
    ):
        done = neelc(*call)
        assert done.status == 2 and "it is page.html, the data of stream Trades" in done.err, call
    assert neelc.read("page.html") == TRADES


def test_run_does_not_write_over_code(neelc: Here) -> None:
    neelc.write("code.csv", "@aggregate(returns='INT')\ndef f(values): return 1\n")
    done = neelc(*RUN, "--aggregates", "code.csv", *WRITING, "code.csv")
    assert done == Done(2, "", "neelc: run -o code.csv: it is code.csv, which --aggregates reads\n")


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 10 RETURN a.x, b.x",
        "PATTERN SEQ(A a, B b) WHERE b.x + 1 > a.x AND hour(a.ts) > 3 WITHIN 10 SECONDS RETURN a.x, b.x",
        "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts > 5 AND upper(a.x) = 'X' WITHIN 1 HOUR RETURN a.x, b.x",
    ],
)
def test_run_of_a_file_with_a_header_only(query: str, neelc: Here) -> None:
    """There are no matches, whatever the types would be."""
    neelc.write("empty.csv", "ts,kind,x\n")
    neelc.write("q.neel", query)
    run = ("run", "q.neel", "--engine", "reference", "--stream")
    done = neelc(*run, "E=empty.csv,timestamp=ts,type=kind")
    assert (done.status, done.out) == (0, "a_x  b_x\n")
    neelc.write("q.neel", f"CREATE STREAM E TIMESTAMP BY ts TYPE BY kind FROM 'empty.csv'; {query}")
    assert neelc(*run[:-1])[:2] == done[:2]
    neelc.write("q.neel", query.replace("b.x", "c.x"))
    wrong = neelc(*run, "E=empty.csv,timestamp=ts,type=kind")
    assert wrong.status == 1 and "error[NEEL2001]" in wrong.err and "NEEL21" not in wrong.err


def test_run_on_a_full_disk(neelc: Here) -> None:
    """The call is right: the run fails. test_run_spark.py has the same on Spark."""
    done = neelc(*RUN, "-o", "/dev/full", "--format", "csv")
    assert done == Done(3, "", "neelc: /dev/full: cannot be written: No space left on device\n")


def test_progress_of_a_long_run(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    from neelc.cli import progress
    from neelc.engines import reference as execute

    slow = execute.execute

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.3)
        return slow(*arguments)

    monkeypatch.setattr(progress, "ELSEWHERE", 0.1)
    monkeypatch.setattr(execute, "execute", slowly)
    assert "finding matches among 4 events, 0 s\n" in neelc(*RUN).err


ZONED = """CREATE STREAM log (ts TIMESTAMP, kind STRING) TIMESTAMP BY ts TYPE BY kind FROM 'log.csv';
PATTERN A a WHERE hour(a.ts) = 2 RETURN a.ts, hour(a.ts) AS h"""
LOG = "ts,kind\n2024-10-27 02:30:00,A\n2024-10-27T01:30:00Z,A\n2024-10-27 00:30:00+02:00,A\n"


def test_the_time_zone_of_the_session(neelc: Here) -> None:
    neelc.write("script.neel", ZONED)
    neelc.write("log.csv", LOG)
    run = (*RUN, "--timezone", "Europe/Berlin", "--format")
    shown = "2024-10-27 02:30:00"
    assert neelc(*run, "table").out == f"a_ts                 h\n{shown}  2\n{shown}  2\n"
    # Two instants that one clock shows: files tell them apart.
    assert neelc(*run, "csv").out == f"a_ts,h\n{shown}+02:00,2\n{shown}+01:00,2\n"
    json = "".join(f'{{"a_ts": "2024-10-27T02:30:00{zone}", "h": 2}}\n' for zone in ("+02:00", "+01:00"))
    assert neelc(*run, "json").out == json


def test_without_a_time_zone_it_is_utc(neelc: Here) -> None:
    neelc.write("script.neel", ZONED)
    neelc.write("log.csv", LOG)
    assert neelc(*RUN, "--format", "csv").out == "a_ts,h\n2024-10-27 02:30:00,2\n"
    assert neelc(*RUN, "--format", "json").out == '{"a_ts": "2024-10-27T02:30:00Z", "h": 2}\n'


def test_a_time_zone_that_is_none(neelc: Here) -> None:
    done = neelc(*RUN, "--timezone", "Europe/Bonn")
    assert done.status == 2
    assert (
        "argument --timezone: Europe/Bonn: no time zone has this name; such as Europe/Berlin, UTC" in done.err
    )


@pytest.mark.parametrize(
    ("time", "unit", "short"),
    [
        (1700000000, "SECONDS", "s"),
        (1700000000123456, "MICROSECONDS", "us"),
        (1700000000123456789, "NANOSECONDS", "ns"),
    ],
)
def test_times_that_are_most_likely_of_another_unit(neelc: Here, time: int, unit: str, short: str) -> None:
    neelc.write("log.csv", f"ts,kind\n{time},A\n{time + 5},B\n")
    script = "CREATE STREAM log (ts BIGINT, kind STRING) TIMESTAMP BY ts TYPE BY kind FROM 'log.csv';"
    neelc.write("script.neel", f"{script} PATTERN SEQ(A a, B b) WITHIN 1 MINUTE RETURN a.ts")
    noted = neelc(*RUN).err
    assert "note: `ts` of stream `log` is read in milliseconds: its first time is " in noted
    meant = f"if it counts {unit.lower()} (2023-11-14), say TIMESTAMP BY ts UNIT {unit}, or unit={short}\n"
    assert meant in noted
    said = script.replace("BY ts TYPE", f"BY ts UNIT {unit} TYPE")
    neelc.write("script.neel", f"{said} PATTERN SEQ(A a, B b) WITHIN 1 MINUTE RETURN a.ts")
    assert "note" not in neelc(*RUN).err
    neelc.write("script.neel", "PATTERN SEQ(A a, B b) WITHIN 1 MINUTE RETURN a.ts")
    given = "log=log.csv,timestamp=ts,type=kind"
    assert meant in neelc(*RUN, "--stream", given).err
    assert "note" not in neelc(*RUN, "--stream", f"{given},unit={short}").err


def test_times_that_are_milliseconds_or_count_from_zero_are_not_noted(neelc: Here) -> None:
    neelc.write("script.neel", "PATTERN SEQ(A a, B b) WITHIN 1 MINUTE RETURN a.ts")
    for times in ((1700000000000, 1700000000005), (0, 1700000000), (-1700000000, 5)):
        neelc.write("log.csv", "ts,kind\n" + "".join(f"{time},A\n{time},B\n" for time in times))
        assert "milliseconds" not in neelc(*RUN, "--stream", "log=log.csv,timestamp=ts,type=kind").err


def test_times_that_are_not_iso(neelc: Here) -> None:
    neelc.write("log.csv", "ts;kind\n31/12/2024 23:59;A\n01/01/2025 00:05;B\n")
    neelc.write("script.neel", "PATTERN SEQ(A a, B b) WITHIN 10 MINUTES RETURN a.ts, b.ts")
    given = "log=log.csv,delimiter=;,timestamp=ts,type=kind"
    done = neelc(*RUN, "--stream", f"{given},timestamp_format=dd/MM/yyyy HH:mm", "--format", "csv")
    assert done.out == "a_ts,b_ts\n2024-12-31 23:59:00,2025-01-01 00:05:00\n"
    assert "FORMAT 'dd/MM/yyyy HH:mm'" in neelc(*RUN, "--stream", given).err
    done = neelc(*RUN, "--stream", f"{given},timestamp_format=dd/MM/YYYY")
    assert done.status == 2 and "timestamp_format=dd/MM/YYYY: no letter `Y`; letters: y M d" in done.err
    script = "CREATE STREAM log TIMESTAMP BY ts FORMAT 'MM/dd/yyyy' TYPE BY kind; PATTERN A a"
    neelc.write("script.neel", script)
    done = neelc(*RUN, "--stream", f"{given},timestamp_format=dd/MM/yyyy")
    assert (done.status, done.err) == (
        2,
        "neelc: stream log: the script says FORMAT MM/dd/yyyy, the call says dd/MM/yyyy\n",
    )
