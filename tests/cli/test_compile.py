"""`neelc compile`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SCRIPT, TRADES, Done, Here, process


def test_the_source_of_the_last_query(neelc: Here) -> None:
    done = neelc("compile", "script.neel")
    assert (done.status, done.err) == (0, "")
    assert "def query(spark: SparkSession, streams: Mapping[str, DataFrame]) -> DataFrame:\n" in done.out
    assert "SEQ(A a, C c)" in done.out
    compile(done.out, "query.py", "exec")


def test_a_named_query(neelc: Here) -> None:
    assert "SEQ(A a, B b" in neelc("compile", "script.neel", "--query", "UP").out
    done = neelc("compile", "script.neel", "--query", "down")
    assert done == Done(2, "", "neelc: compile --query down: no such query; queries: up\n")


def test_a_file(neelc: Here) -> None:
    printed = neelc("compile", "script.neel").out
    assert neelc("compile", "script.neel", "-o", "query.py") == Done(0, "", "query.py: written\n")
    assert neelc.read("query.py") == printed
    assert neelc("compile", "script.neel", "-o", "-").out == printed


def test_standard_input_and_streams(tmp_path: Path) -> None:
    (tmp_path / "trades.csv").write_text(TRADES)
    given = ("--stream", "trades=trades.csv,type=sym,unit=s", "--arg", "w=10 SECONDS")
    text = "PATTERN SEQ(A a, C c) WITHIN :w"
    done = process("compile", "-", *given, directory=tmp_path, text=text)
    assert done.status == 0 and "streams['trades']" in done.out.replace('"', "'")


def test_the_plan(neelc: Here) -> None:
    assert "trades" in neelc("compile", "script.neel", "--emit", "plan").out
    json.loads(neelc("compile", "script.neel", "--emit", "json").out)


def test_paths_are_relative_to_the_script(neelc: Here) -> None:
    (neelc.directory / "below").mkdir()
    neelc.write("below/script.neel", SCRIPT)
    assert "'below/trades.csv'" in neelc("compile", "below/script.neel").out.replace('"', "'")


def test_what_spark_cannot_do_yet(neelc: Here) -> None:
    hidden = "EXISTS c : SEQ(A a, SEQ(A b, !C n)+ k[], C c)"
    neelc.write("script.neel", SCRIPT.replace("SEQ(A a, C c)", hidden).replace("c.sym", "a.sym"))
    done = neelc("compile", "script.neel")
    assert (done.status, done.out) == (1, "")
    message = "not supported yet: EXISTS of an event that a negation inside of a closure could find"
    assert f"error[NEEL4001]: {message}\n --> script.neel:5:" in done.err
    assert "= hint: neelc run --engine reference runs it, on small data" in done.err


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (SCRIPT.replace("c.sym", "x.sym"), 1, "error[NEEL2001]"),
        ("CREATE TYPE T AS (A, B);", 2, "neelc: compile: the script has no query\n"),
    ],
)
def test_wrong_scripts(text: str, status: int, message: str, neelc: Here) -> None:
    neelc.write("script.neel", text)
    done = neelc("compile", "script.neel")
    assert (done.status, done.out) == (status, "") and done.err.startswith(message)


def test_no_spark(tmp_path: Path) -> None:
    (tmp_path / "script.neel").write_text(SCRIPT)
    program = (
        "import sys; from neelc.cli import main; main(['compile', 'script.neel', '-o', 'query.py'])\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "query.py").exists()
    assert {"pyspark", "pandas", "numpy", "pyarrow"} & set(done.stdout.split()) == set()


def test_sql(neelc: Here) -> None:
    done = neelc("compile", "script.neel", "--emit", "sql", "--strategy", "join")
    assert done.status == 0 and done.out.startswith("WITH "), done.err
    done = neelc("compile", "script.neel", "--emit", "sql", "--strategy", "kernel")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(
        "error[NEEL4001]: not possible: SQL for a plan with a kernel\n --> script.neel:5:"
    )


def test_a_result_that_is_too_large(neelc: Here) -> None:
    # The size is judged only if somebody says how many events there are of each type.
    known = "EVENTS 1000000, RATE 1000 PER SECOND, TYPE A SHARE 0.5, TYPE C SHARE 0.5"
    known = SCRIPT.replace("'trades.csv'", f"'trades.csv' WITH STATS ({known})")
    neelc.write("script.neel", known)
    done = neelc("compile", "script.neel", "--most-rows", "10")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[NEEL4002]: ") and "most_rows (--most-rows) allows more" in done.err
    assert neelc("compile", "script.neel", "--most-rows", "1e30").status == 0


def test_streams_without_end(neelc: Here) -> None:
    done = neelc("compile", "script.neel", "--streaming", "--buckets", "3", "--query", "up")
    assert (done.status, done.err) == (0, "")
    assert ".applyInPandasWithState(" in done.out
    assert neelc("explain", "script.neel", "--streaming").status == 0
    neelc.write("endless.neel", SCRIPT.replace(" WITHIN 10 SECONDS", ""))
    done = neelc("compile", "endless.neel", "--streaming")
    assert done.status == 1 and "error[NEEL4131]" in done.err
    for options, why in (
        (("--buckets", "3"), "--buckets: a number of at least 1, for --streaming"),
        (("--streaming", "--buckets", "0"), "--buckets: a number of at least 1, for --streaming"),
        (("--streaming", "--strategy", "join"), "--strategy join: with --streaming, the kernel runs"),
    ):
        assert neelc("compile", "script.neel", *options) == Done(2, "", f"neelc: compile {why}\n")


def test_a_stream_without_end_is_read_as_files_are_added(neelc: Here) -> None:
    columns = "(ts TIMESTAMP, kind STRING)"
    text = f"CREATE STREAM S {columns} FROM '%s' TIMESTAMP BY ts TYPE BY kind WATERMARK 9 SECONDS;\n"
    text += "PATTERN SEQ(A a, B b) WITHIN 10 SECONDS RETURN a.ts"
    for path, schema, loaded in (
        ("in.csv", "`ts` STRING, `kind` STRING", "{in.csv}"),
        ("in", "`ts` TIMESTAMP, `kind` STRING", "in"),
        ("in/*.json", "`ts` TIMESTAMP, `kind` STRING", "in/*.json"),
    ):
        neelc.write("query.neel", text % path)
        done = neelc("compile", "query.neel", "--streaming")
        assert done.status == 0 and "spark.read." not in done.out
        assert f'.schema("{schema}")' in done.out and f'.load("{loaded}")' in done.out
        assert "readStream" not in neelc("compile", "query.neel").out


def test_watermarks_of_streams(neelc: Here) -> None:
    given = ("--stream", "trades=trades.csv,type=sym,unit=s,watermark=")
    text = "PATTERN SEQ(A a, C c) WITHIN 10 SECONDS"
    neelc.write("query.neel", text)
    assert neelc("compile", "query.neel", given[0], given[1] + "5 seconds").status == 0
    done = neelc("compile", "query.neel", given[0], given[1] + "5 rows")
    assert (
        done.status == 2 and "watermark: `5 rows` is not a length of time; for example 10 seconds" in done.err
    )
