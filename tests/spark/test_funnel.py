"""`neelc.funnel`: from partial matches to a table of steps."""

from __future__ import annotations

from typing import Any

import pytest

import neelc

ROWS = [
    ("ann", "web", 0, "view"), ("ann", "web", 1, "cart"), ("ann", "web", 2, "buy"),
    ("bob", "web", 0, "view"), ("bob", "web", 4, "cart"), ("bob", "web", 15, "buy"),
    ("cem", "app", 3, "view"), ("dan", "app", 5, "view"), ("dan", "app", 20, "cart"),
]  # fmt: skip
QUERY = """PATTERN SEQ(view v, cart c, buy b) WHERE [user] WITHIN 10 MINUTES WITH PARTIAL MATCHES
RETURN v.user, v.device AS device"""


@pytest.fixture(scope="module")
def partial(spark: Any) -> Any:
    clicks = spark.createDataFrame(ROWS, "user STRING, device STRING, t BIGINT, page STRING")
    stream = neelc.stream(clicks, timestamp="t", type="page", unit="MINUTES")
    return neelc.sql(spark, QUERY, Clicks=stream).localCheckpoint()


def table(frame: Any) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_a_row_for_each_step(partial: Any) -> None:
    found = neelc.funnel(partial)
    assert found.columns == [
        "number", "step", "reached", "share", "dropped", "no_event", "window", "condition", "negation",
    ]  # fmt: skip
    assert table(found) == [
        (1, "v", 4, 1.0, 2, 1, 1, 0, 0),
        (2, "c", 2, 0.5, 1, 0, 1, 0, 0),
        (3, "b", 1, 0.25, 0, 0, 0, 0, 0),
    ]


def test_groups_and_steps_that_none_reached(partial: Any) -> None:
    found = neelc.funnel(partial.where("device = 'app'"), by="device", steps=["view", "cart", "buy"])
    assert [row[:6] for row in table(found)] == [
        ("app", 1, "view", 2, 1.0, 2),
        ("app", 2, "cart", 0, 0.0, 0),
        ("app", 3, "buy", 0, 0.0, 0),
    ]


def test_what_is_no_funnel_is_refused(partial: Any) -> None:
    with pytest.raises(ValueError, match="there is no column stopped"):
        neelc.funnel(partial.drop("stopped"))
    with pytest.raises(ValueError, match="already has columns called share"):
        neelc.funnel(partial.withColumnRenamed("device", "share"), by=["share"])
