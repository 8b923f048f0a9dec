"""`neelc check`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread

import pytest
from command_line import SCRIPT, Done, Here, process

from neelc.files import MAX_SCRIPT


def test_check_a_good_script(neelc: Here) -> None:
    assert neelc("check", "script.neel") == Done(0, "", "script.neel: fine: 2 queries\n")


def test_check_tells_all_errors(neelc: Here) -> None:
    neelc.write("bad.neel", SCRIPT.replace("a.price", "x.price").replace("c.sym", "y.sym"))
    done = neelc("check", "bad.neel", "script.neel")
    assert (done.status, done.out) == (1, "")
    assert " --> bad.neel:3:58" in done.err and " --> bad.neel:5:59" in done.err
    assert done.err.endswith("script.neel: fine: 2 queries\n")


def test_check_as_json(neelc: Here) -> None:
    neelc.write("bad.neel", SCRIPT.replace("a.price", "x.price"))
    done = neelc("check", "--format", "json", "script.neel", "bad.neel")
    (record,) = json.loads(done.out)
    assert (done.status, record["file"], record["line"], record["column"]) == (1, "bad.neel", 3, 58)
    assert json.loads(neelc("check", "--format", "json", "script.neel").out) == []


def test_settings_of_the_call_have_their_places(neelc: Here) -> None:
    neelc.write("a.dat", "ts,k\n1,A\n")
    neelc.write("q.neel", "PATTERN A a FROM s WITHIN 5")
    error = neelc("check", "q.neel", "--stream", "s=a.dat,timestamp=ts,format=xyz").err
    assert "`xyz` is not a format\n --> --stream:1:29\n" in error
    error = neelc("check", "q.neel", "--stream", "s=a.dat,timestamp=ts,format=json,header=true").err
    assert "`header` is not an option of json files\n --> --stream:1:34\n" in error


def test_json_has_the_changes_that_a_hint_proposes(neelc: Here) -> None:
    neelc.write("bad.neel", SCRIPT.replace("a.price", "a.prise"))
    (record,) = json.loads(neelc("check", "--format", "json", "bad.neel").out)
    fix = {"title": "write price", "line": 3, "column": 60, "length": 5, "text": "price"}
    assert record["fixes"] == [fix] and record["hint"].startswith("did you mean `price`?")


def test_check_goes_on_after_a_file_it_cannot_read(neelc: Here) -> None:
    done = neelc("check", "none.neel", "script.neel")
    assert done == Done(2, "", "neelc: none.neel: no such file\nscript.neel: fine: 2 queries\n")


def test_check_standard_input(tmp_path: Path) -> None:
    assert process("check", "-", directory=tmp_path, text=SCRIPT) == Done(0, "", "<stdin>: fine: 2 queries\n")
    done = process("check", "-", directory=tmp_path, text="PATTERN SEQ(")
    assert (done.status, done.out) == (1, "")
    assert " --> <stdin>:1:" in done.err


def test_check_reads_no_data_when_columns_are_declared(neelc: Here) -> None:
    (neelc.directory / "trades.csv").unlink()
    assert neelc("check", "script.neel").status == 0


def test_check_takes_columns_from_the_data(neelc: Here) -> None:
    columns = " (ts BIGINT, sym STRING, price DOUBLE)"
    neelc.write("script.neel", SCRIPT.replace(columns, ""))
    assert neelc("check", "script.neel").status == 0
    neelc.write("script.neel", SCRIPT.replace(columns, "").replace("b.price", "b.prise"))
    assert "did you mean `price`?" in neelc("check", "script.neel").err
    (neelc.directory / "trades.csv").unlink()
    assert "error[NEEL5001]: no such file: trades.csv" in neelc("check", "script.neel").err


def test_arguments(neelc: Here) -> None:
    neelc.write("script.neel", SCRIPT.replace("WITHIN 10 SECONDS", "WITHIN :w"))
    assert neelc("check", "script.neel").status == 1
    assert neelc("check", "script.neel", "--arg", "w=10 SECONDS").status == 0
    done = neelc("check", "script.neel", "--arg", "10 SECONDS")
    assert done == Done(2, "", "neelc: --arg: '10 SECONDS' is not of the form name=value\n")


COMMANDS = (("check",), ("compile",), ("explain",), ("run", "--engine", "reference"), ("run",), ("why",))


@pytest.mark.parametrize("columns", ["", "(ts BIGINT) TIMESTAMP BY ts"])
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/dev/zero", "/dev/zero is a device"),
        ("pipe", "pipe is a pipe"),
        ("link", "link is a pipe"),
    ],
)
def test_no_command_reads_a_pipe_or_a_device(neelc: Here, path: str, told: str, columns: str) -> None:
    os.mkfifo(neelc.directory / "pipe")
    (neelc.directory / "link").symlink_to("pipe")
    neelc.write("script.neel", f"CREATE STREAM S {columns} FROM '{path}' FORMAT csv; PATTERN S a")
    for command, *more in COMMANDS:
        done = neelc(command, "script.neel", *more)
        assert done.status == (3 if command in ("run", "why") else 1)
        assert f"error[NEEL5001]: {told}, not a file" in done.err
        given = neelc(command, "script.neel", *more, "--stream", f"S={path},format=csv")
        assert given == Done(2, "", f"neelc: --stream S={path},format=csv: {told}, not a file\n")


def test_a_pipe_in_a_directory_is_not_read_either(neelc: Here) -> None:
    (neelc.directory / "data").mkdir()
    os.mkfifo(neelc.directory / "data" / "b.csv")
    neelc.write("data/a.csv", "ts\n1\n")
    neelc.write("script.neel", "CREATE STREAM S (ts BIGINT) TIMESTAMP BY ts FROM 'data'; PATTERN S a")
    for engine in ("spark", "reference"):
        done = neelc("run", "script.neel", "--engine", engine)
        assert done.status == 3 and "data/b.csv is a pipe, not a file" in done.err


def test_a_script_may_come_through_a_pipe(neelc: Here) -> None:
    pipe = neelc.directory / "pipe.neel"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_text(SCRIPT))
    writer.start()
    assert neelc("check", "pipe.neel").err == "pipe.neel: fine: 2 queries\n"
    writer.join()


@pytest.mark.parametrize("command", ["check", "fmt", "run", "explain"])
def test_a_script_that_never_ends(neelc: Here, command: str) -> None:
    with open(neelc.directory / "huge.neel", "wb") as file:
        file.truncate(MAX_SCRIPT + 1)
    for name in ("huge.neel", "/dev/zero"):
        done = neelc(command, name)
        assert (done.status, done.out) == (2, "")
        assert done.err == f"neelc: {name}: larger than MAX_SCRIPT, 16,777,216 bytes\n"
