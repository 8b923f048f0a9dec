"""Names, texts, parameters and paths that would break out of what is emitted, on Spark and in files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import Here
from injecting import BREAKING, keyed
from pyspark.sql.types import LongType, StringType, StructField, StructType

import neelc as library
from neelc.ir.names import quote

ALL_AT_ONCE = "it's a `b\\ \\' \"\"\" ''' # ${env:HOME} $\\{x} %s {} -- /* ; \u2028 \x01 " + BREAKING
ODD = (ALL_AT_ONCE, "\n# coding: utf-7\n", "${env:HOME}", "\\", "`")
OF_FILES = "it's a `b #${env:HOME} %s {x} [y] --"


def typed(odd: str, *names: str) -> list[StructField]:
    return [StructField(f"{name} {odd}", StringType()) for name in names]


def events(spark: Any, odd: str) -> Any:
    """Events for `keyed`: T and V with the same nested value, with and without an U between them."""
    rows = [
        (1, "T", odd, "f"), (2, "V", "q", "f"), (3, "V", odd, "g"), (4, "T", odd, "g"), (5, "U", odd, "g"),
        (6, "V", "z", "g"),
    ]  # fmt: skip
    nested = StructField(f"n {odd}", StructType(typed(odd, "f")))
    schema = StructType([StructField("ts", LongType()), *typed(odd, "k", "p"), nested])
    return spark.createDataFrame([(t, f"{k} {odd}", p, (f + odd,)) for t, k, p, f in rows], schema)


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_what_is_found_is_what_is_meant(odd: str, spark: Any, tmp_path: Path) -> None:
    declared, query = keyed(odd).split(";\n    PATTERN")
    text = f"{declared[: declared.index('FROM ')]}; PATTERN{query}"
    given = {f"S {odd}": events(spark, odd)}
    for strategy in ("kernel", "join"):
        found = library.sql(spark, text, args={"p": odd}, strategy=strategy, **given)
        assert found.columns == [f"{name} {odd}" for name in "oxcy"]
        (row,) = found.collect()
        assert list(row) == [odd, f"f{odd}", (2, f"V {odd}", "q", (f"f{odd}",)), odd], strategy
    assert list(tmp_path.iterdir()) == []


def written(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def test_odd_names_in_files(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neelc.cli.run_on_spark.session", lambda *settings: nullcontext(spark))
    monkeypatch.setattr("neelc.cli.progress.ELSEWHERE", 3600)
    neelc = Here(tmp_path, capsys, "spark")
    odd = OF_FILES
    names = {key: quote(f"{key} {odd}") for key in "STVabkpo"}
    file = f"{odd}.csv".replace(":", "")  # Hadoop takes a colon for the end of a scheme
    path = file.replace("'", "''")
    neelc.write(
        "odd.neel",
        """
        CREATE STREAM {S} (ts BIGINT, {k} STRING, {p} DOUBLE) TIMESTAMP BY ts TYPE BY {k} FROM '{path}';
        PATTERN SEQ({T} {a}, {V} {b}) WITHIN 10 RETURN {a}.{p} AS {o}, {b}.ts AS ts
        """.format(path=path, **names),
    )
    rows = [("ts", f"k {odd}", f"p {odd}"), (1, f"T {odd}", 1.5), (2, f"V {odd}", 2.5)]
    written(tmp_path / file, rows)
    # What the path would mean as a pattern of files.
    written(tmp_path / file.replace("{x}", "x").replace("[y]", "y"), [*rows, (3, f"V {odd}", 3.5)])
    run = ("run", "odd.neel", "--format", "json")
    done = neelc(*run)
    assert done.status == 0, done.err
    assert done.out == neelc(*run, "--engine", "reference").out != ""
    written(tmp_path / file, [*rows[:-1], (2, f"V {odd}", "much")])
    done = neelc(*run)
    assert done.status == 3
    assert done.err == (
        f"error[NEEL5003]: `much` is not of type DOUBLE (column `p {odd}` of stream `S {odd}`)\n"
    )
