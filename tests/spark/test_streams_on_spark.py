"""Queries over Spark's streams: the rows are those of the reference, each once, however events come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
from kernel_fuzz import Tally
from on_streams import Replay, StreamedFiles
from spark_stream_fuzz import problems, question

import neelc

STREAMS = 6
WAYS = (
    Replay(batches=1),
    Replay(batches=3, delay=0, buckets=1),
    Replay(batches=4, delay=10, buckets=7, restarts=frozenset({1, 3})),
    Replay(batches=4, delay=0, disorder=10, restarts=frozenset({2})),
)


@pytest.mark.parametrize(
    "place", [0, pytest.param(1, marks=pytest.mark.thorough), pytest.param(2, marks=pytest.mark.thorough), 3]
)
def test_random_queries_over_streams(spark: Any, place: int) -> None:
    how, tally = WAYS[place], Tally()
    drawn = (question(number, how, tally, STREAMS) for number in count(1000 * (place + 1)))
    chosen = list(islice((one for one in drawn if one is not None), 2))
    assert [problem for one in chosen for problem in problems(spark, one, how, tally)] == []
    assert tally.with_matches
    assert how.disorder is None or any(one.left_out for one in chosen)


# Clicks of users, in files that become micro-batches one after the other.

CLICKS = """CREATE STREAM Clicks (ts BIGINT, page STRING, user INT)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY page WATERMARK 10 SECONDS;
"""
LEFT = f"{CLICKS}PATTERN SEQ(Home h, !Cart c) WHERE [user] WITHIN 1 MINUTE RETURN h.user, h.ts;"
PAIRS = f"{CLICKS}PATTERN SEQ(Home h, Cart c) WHERE [user] WITHIN 1 MINUTE RETURN h.user, c.ts;"
KEPT = f"""{CLICKS}PATTERN SEQ(Home h, Cart c) WHERE [user] WITHIN 1 MINUTE
AFTER MATCH SKIP PAST LAST EVENT RETURN h.user, h.ts, c.ts AS cart;"""
IMPRECISE = """CREATE STREAM Clicks (ts BIGINT, page STRING, user INT, te BIGINT)
  TIMESTAMP BETWEEN ts AND te UNIT SECONDS TYPE BY page WATERMARK 10 SECONDS;
PATTERN SEQ(Home h, Cart c) WITHIN 1 MINUTE RETURN h.ts, confidence;"""


@pytest.fixture
def clicks(spark: Any, tmp_path: Path) -> Iterator[StreamedFiles]:
    found = StreamedFiles(spark, tmp_path, "Clicks", "ts BIGINT, page STRING, user INT")
    yield found
    found.stop()


def test_a_negation_is_decided_by_time_alone(clicks: StreamedFiles) -> None:
    """Events of other types and other keys move the watermark; the bucket of user 1 gets none."""
    clicks.start(LEFT)
    assert clicks.come((100, "Home", 1), (105, "Home", 2), (110, "Cart", 2)) == []
    assert clicks.come((169, "Other", 7)) == []
    assert clicks.come((170, "Other", 7)) == [(1, 100)]
    assert clicks.come((1000, "Other", 7)) == []


def test_a_match_leaves_with_its_last_event(clicks: StreamedFiles) -> None:
    clicks.start(PAIRS)
    assert clicks.come((105, "Cart", 1)) == []
    assert clicks.come((100, "Home", 1)) == [(1, 105)]  # out of order, and the watermark has not moved
    assert clicks.come((106, "Cart", 1)) == [(1, 106)]
    assert clicks.metric("matches") == 2


def test_the_last_match_kept_is_remembered(clicks: StreamedFiles) -> None:
    """Also over a restart, until no match can start before it leaves room for one."""
    clicks.start(KEPT)
    assert clicks.come((100, "Home", 1), (110, "Home", 1), (150, "Cart", 1), (155, "Cart", 1)) == []
    assert clicks.come((170, "Other", 7)) == [(1, 100, 150)]
    clicks.query.stop()
    clicks.start(KEPT)
    assert clicks.come((161, "Home", 1), (165, "Cart", 1)) == []
    assert clicks.come((240, "Other", 7)) == [(1, 161, 165)]  # the one from 110 starts before 150
    assert clicks.come((900, "Other", 7)) == []
    assert clicks.last_metric("kept") == 0


def test_matches_of_imprecise_times_have_their_confidence(spark: Any, tmp_path: Path) -> None:
    clicks = StreamedFiles(spark, tmp_path, "Clicks", "ts BIGINT, page STRING, user INT, te BIGINT")
    clicks.start(IMPRECISE)
    try:
        assert clicks.come((100, "Home", 1, 101), (101, "Cart", 0, 101)) == [(100, 0.5)]
        assert clicks.come((102, "Cart", 0, 102)) == [(100, 1.0)]
    finally:
        clicks.stop()


def test_late_events_take_no_part_and_are_counted(clicks: StreamedFiles) -> None:
    clicks.start(PAIRS)
    clicks.come((100, "Home", 1), (200, "Other", 1))
    assert clicks.come((150, "Cart", 1), (190, "Cart", 1), (191, "Home", 2), (191, "Cart", 1)) == []
    assert clicks.metric("late") == 2


def test_keys_that_do_not_come_back_leave_nothing(clicks: StreamedFiles) -> None:
    """Each user has one click. What is kept is that of a minute and the 10 seconds of the watermark, and then
    of none."""
    clicks.start(LEFT)
    found: list[tuple[Any, ...]] = []
    for step in range(8):
        users = range(1000 * step, 1000 * step + 50)
        found += clicks.come(*((100 * step + user % 50, "Home", user) for user in users))
        assert clicks.last_metric("kept") <= 100
    found += clicks.come((10_000, "Other", 1))
    assert sorted(user for user, _ in found) == [1000 * step + n for step in range(8) for n in range(50)]
    (state,) = clicks.query.lastProgress.stateOperators
    assert clicks.last_metric("kept") == state.numRowsTotal == 0


def test_a_query_goes_on_after_a_restart(clicks: StreamedFiles) -> None:
    clicks.start(PAIRS)
    assert clicks.come((100, "Home", 1)) == []
    clicks.query.stop()
    clicks.start(PAIRS)
    assert clicks.come((101, "Cart", 1)) == [(1, 101)]


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        (lambda text: text.replace("1 MINUTE", "2 MINUTES"), "window: was 1 MINUTE, is 2 MINUTES"),
        (lambda text: text.replace("Cart c", "Checkout c"), "pattern: was SEQ"),
    ],
)
def test_another_query_does_not_read_the_state(
    clicks: StreamedFiles, changed: Callable[[str], str], part: str
) -> None:
    clicks.start(PAIRS)
    clicks.come((100, "Home", 1))
    clicks.query.stop()
    clicks.start(changed(PAIRS))
    with pytest.raises(Exception, match="written by another query") as refused:
        clicks.come((101, "Home", 1))
    assert part in str(refused.value)


def test_what_is_returned_may_change_over_a_restart(clicks: StreamedFiles) -> None:
    clicks.start(PAIRS)
    clicks.come((100, "Home", 1))
    clicks.query.stop()
    clicks.start(PAIRS.replace("RETURN h.user, c.ts", "RETURN c.ts, h.user + 1 AS next"))
    assert clicks.come((101, "Cart", 1)) == [(101, 2)]


def test_groups_leave_when_they_are_complete(clicks: StreamedFiles) -> None:
    clicks.start(
        PAIRS.replace("RETURN h.user, c.ts", "RETURN h.user, h.ts, count(*) AS n, max(c.ts) AS last")
    )
    assert clicks.come((100, "Home", 1), (101, "Cart", 1), (102, "Home", 2)) == []
    assert clicks.come((103, "Cart", 1), (160, "Cart", 1), (161, "Cart", 1)) == []
    assert clicks.come((170, "Other", 7)) == [(1, 100, 3, 160)]
    assert clicks.come((999, "Other", 7)) == []


ENUMERATED = f"""{CLICKS}PATTERN SEQ(Home h, Cart+ c[]) WHERE [user] AND size(collect_list(c[].ts)) < 3
  WITHIN 1 MINUTE
  RETURN avg(count(c[])) AS length, h.user, h.ts DIV 100 AS t, c[last].ts % 2 AS odd, count(*) AS n,
    count(DISTINCT c[1].ts) AS firsts, collect_set(h.ts) AS homes, max(match_end - h.ts) AS longest;"""
"""All that Spark does with lists of matches: conditions, groups, aggregates."""


def test_matches_of_a_group_are_enumerated(clicks: StreamedFiles) -> None:
    clicks.start(ENUMERATED)
    assert clicks.come((100, "Home", 1), (101, "Cart", 1), (102, "Home", 2)) == []
    assert clicks.come((103, "Cart", 1), (160, "Cart", 1), (161, "Cart", 2)) == []
    assert clicks.come((268, "Other", 7)) == []  # the watermark is at 258: not yet 199 + 60
    # Of 101, 103 and 160: two alone and one list end in an odd time, one alone and two lists in an even one.
    assert clicks.come((269, "Other", 7)) == [
        (1.0, 2, 1, 1, 1, 1, [102], 59),
        (4 / 3, 1, 1, 1, 3, 2, [100], 3),
        (5 / 3, 1, 1, 0, 3, 3, [100], 60),
    ]
    assert clicks.come((999, "Other", 7)) == []
    assert clicks.last_metric("kept") == 0


HOURS = """CREATE STREAM Clicks (ts TIMESTAMP, page STRING, user INT)
  TIMESTAMP BY ts TYPE BY page WATERMARK 10 SECONDS;
PATTERN SEQ(Home h, Cart c) WHERE [user] WITHIN 1 MINUTE
RETURN date_trunc('hour', h.ts) AS hour, count(*) AS n, min(c.ts) AS first;"""


def test_groups_of_an_hour_leave_when_it_has_passed(spark: Any, tmp_path: Path) -> None:
    clicks = StreamedFiles(spark, tmp_path, "Clicks", "ts TIMESTAMP, page STRING, user INT")
    hour, later = (datetime.fromisoformat(f"2024-03-31T{n:02}:00:00") for n in (0, 1))

    def at(time: str, page: str, user: int) -> tuple[str, str, int]:
        return f"2024-03-31T{time}Z", page, user

    clicks.start(HOURS)
    try:
        assert clicks.come(at("00:00:00", "Home", 1), at("00:00:09", "Cart", 1)) == []
        assert clicks.come(at("00:59:59.999999", "Home", 2), at("01:00:00", "Home", 3)) == []
        clicks.query.stop()
        clicks.start(HOURS)
        assert clicks.come(at("01:00:30", "Cart", 2), at("01:00:31", "Cart", 3)) == []
        assert clicks.come(at("01:01:09", "Other", 7)) == []
        found = clicks.come(at("01:01:10", "Other", 7))
        assert found == [(hour, 2, hour + timedelta(seconds=9))]
        assert clicks.come(at("03:00:00", "Other", 7)) == [(later, 1, later + timedelta(seconds=31))]
    finally:
        clicks.stop()


def test_distinct_rows_leave_once(clicks: StreamedFiles) -> None:
    clicks.start(PAIRS.replace("RETURN h.user, c.ts", "RETURN DISTINCT h.user, h.ts"))
    assert clicks.come((100, "Home", 1), (101, "Cart", 1)) == [(1, 100)]
    assert clicks.come((100, "Home", 1), (102, "Cart", 1), (103, "Home", 1)) == []
    assert clicks.come((104, "Cart", 1)) == [(1, 103)]


TWO = """CREATE STREAM Logins (ts TIMESTAMP, user INT) TIMESTAMP BY ts WATERMARK 1 SECOND;
CREATE STREAM Payments (ts TIMESTAMP, user INT) TIMESTAMP BY ts WATERMARK 20 SECONDS;
PATTERN SEQ(Logins l, !Payments p) WHERE [user] WITHIN 10 SECONDS RETURN l.user;
"""


def test_the_slowest_of_two_streams_has_the_time(spark: Any, tmp_path: Path) -> None:
    """Spark's watermark of a query is the earliest of those of its streams."""
    numbers, rows = count(), list[Any]()

    def come(name: str, second: int, user: int) -> list[Any]:
        line = json.dumps({"ts": f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z", "user": user})
        hidden = tmp_path / name / f".{next(numbers)}"
        hidden.write_text(line)
        hidden.rename(hidden.with_name(f"{hidden.name[1:]}.json"))
        rows.clear()
        query.processAllAvailable()
        return sorted(row.l_user for row in rows)

    for name in ("Logins", "Payments"):
        (tmp_path / name).mkdir()
    streams = {
        name: spark.readStream.schema("ts TIMESTAMP, user INT").json(str(tmp_path / name))
        for name in ("Logins", "Payments")
    }
    writer = neelc.sql(spark, TWO, **streams).writeStream
    writer = writer.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        assert come("Logins", 10, 1) == []
        assert come("Logins", 60, 2) == []  # no payment has come: nothing is known of that stream
        assert come("Payments", 39, 9) == []  # the watermark is at 19
        assert come("Payments", 15, 1) == []  # late
        assert come("Payments", 40, 9) == [1]
        assert come("Payments", 61, 2) == []
        assert come("Payments", 200, 9) == []
    finally:
        query.stop()
