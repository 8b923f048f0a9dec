"""What a query asks of single events reaches the reader of Parquet, which can skip blocks of rows by it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import neelc

ROWS = [
    (t, kind, n)
    for t, (kind, n) in enumerate(
        [("Login", 1), ("LOGIN", 9), ("Transfer", 500), ("transfer", 2), ("Other", 7)]
    )
]


@pytest.fixture(scope="module")
def path(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pushed") / "bank"
    spark.createDataFrame(ROWS, "ts BIGINT, kind STRING, n INT").coalesce(1).write.parquet(str(found))
    return found


def asked(spark: Any, path: Path, pattern: str) -> Any:
    stream = neelc.stream(spark.read.parquet(str(path)), timestamp="ts", type="kind")
    return neelc.sql(spark, f"PATTERN {pattern} WITHIN 10 RETURN count(*) AS found", Bank=stream)


def pushed(frame: Any, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    frame.explain("formatted")
    found = re.search(r"PushedFilters: \[(.*)\]", capsys.readouterr().out)
    return "" if found is None else found[1]


@pytest.mark.parametrize(
    ("pattern", "filters", "count"),
    [
        # Any spelling: what it begins with.
        ("SEQ(Login a, Transfer b)", ["StringStartsWith(kind,L)", "StringStartsWith(kind,t)"], 4),
        ("Transfer a", ["StringStartsWith(kind,Tr)", "StringStartsWith(kind,tr)"], 2),
        # One spelling.
        ("SEQ(`Login` a, `Transfer` b)", ["In(kind, [Login,Transfer])"], 1),
        ("`Transfer` a", ["EqualTo(kind,Transfer)"], 1),
        ("SEQ(`Login` a, Transfer b)", ["StringStartsWith(kind,Login)", "StringStartsWith(kind,tR)"], 2),
        # What is said of every event, and what is said of each.
        ("SEQ(Login a, Transfer b) WHERE a.n > 1 AND b.n > 1", ["GreaterThan(n,1)"], 2),
        ("SEQ(Login a, Transfer b) WHERE a.n = 9 AND b.n > 100", ["Or(EqualTo(n,9),GreaterThan(n,100))"], 1),
        (
            "SEQ(Login a, Transfer b) WHERE a.n IN (1, 9) AND b.n <= 2",
            ["In(n, [1,9])", "LessThanOrEqual(n,2)"],
            2,
        ),
    ],
)
def test_filters_reach_parquet(
    spark: Any, path: Path, capsys: pytest.CaptureFixture[str], pattern: str, filters: list[str], count: int
) -> None:
    frame = asked(spark, path, pattern)
    found = pushed(frame, capsys)
    assert [one for one in filters if one not in found] == [], found
    assert [tuple(row) for row in frame.collect()] == [(count,)]


def test_a_condition_of_one_event_alone_drops_no_other(spark: Any, path: Path) -> None:
    frame = asked(spark, path, "SEQ(Login a, Transfer b) WHERE a.n = 9")
    assert [tuple(row) for row in frame.collect()] == [(2,)]
