"""Groups by a computed time: the last time of each is found, in every time zone; what may come again has
none."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pytest
from pattern_examples import query

from neelc.ir.expressions import Attribute, Expr
from neelc.pattern.plan.time_groups import last_time
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.values.times import UTC, in_zone

INTEGERS = """CREATE STREAM S (ts BIGINT, short INT, kind STRING) TIMESTAMP BY ts UNIT SECONDS TYPE BY kind;
"""
TIMESTAMPS = """CREATE STREAM S (ts TIMESTAMP, day DATE, kind STRING) TIMESTAMP BY ts TYPE BY kind;
"""
MICROSECOND = datetime.timedelta(microseconds=1)


def expression(text: str, head: str) -> Expr:
    return query(f"A a WITHIN 9 SECONDS RETURN {text} AS t, count(*) AS n", head).outputs[0].expression


def value(expression: Expr, time: object) -> object:
    attributes = dict.fromkeys(("ts", "short", "day"), time)
    event = ReferenceEvent("S", 0, "A", 0, 0, attributes, (time, time))
    return evaluate(expression, EvaluationContext({"a": event}))


def last_of(text: str, head: str) -> tuple[Expr, Expr | None]:
    made = expression(text, head)
    return made, last_time(made, lambda node: isinstance(node, Attribute))


@pytest.mark.parametrize(
    "text",
    [
        "a.ts DIV 7",
        "a.ts DIV 7 * 7 + 3",
        "5 + a.short DIV 4",
        "floor(a.ts / 6)",
        "a.ts - a.ts % 5",
        "a.ts - mod(a.ts, 5)",
        "a.ts - pmod(a.ts, 5) - 1",
        "(a.ts - 3) DIV 5 DIV 3",
        "date_trunc('minute', timestamp_seconds(a.ts))",
        "unix_seconds(date_trunc('minute', timestamp_seconds(a.ts * 3))) DIV 90",
        "to_date(timestamp_seconds(a.ts * 7000))",
    ],
)
def test_the_last_number_of_a_group(text: str) -> None:
    """It has the same value, and the next one has another; so have all times before it, back to the first."""
    grouped, last = last_of(text, INTEGERS)
    assert last is not None
    for time in range(-150, 150):
        end = value(last, time)
        assert isinstance(end, int) and end >= time
        assert value(grouped, end) == value(grouped, time) != value(grouped, end + 1)


def hours(zone: str, *days: str) -> Iterator[datetime.datetime]:
    """Some instants of each hour of days, and of those around them."""
    for day in days:
        start = datetime.datetime.fromisoformat(day).replace(tzinfo=UTC) - datetime.timedelta(days=1)
        for minutes in range(0, 3 * 24 * 60, 11):
            yield start + datetime.timedelta(minutes=minutes)


ZONES = {
    "UTC": ("2024-02-29",),
    "Europe/Berlin": ("2024-03-31", "2024-10-27"),
    "Australia/Lord_Howe": ("2024-04-07", "2024-10-06"),
    "America/Sao_Paulo": ("2018-02-18", "2018-11-04"),
    "America/Havana": ("2024-03-10", "2024-11-03"),
}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "text",
    [
        "date_trunc('hour', a.ts)",
        "date_trunc('DAY', a.ts)",
        "date_trunc('week', a.ts)",
        "date_trunc('quarter', a.ts) + INTERVAL '1' HOUR",
        "CAST(a.ts AS DATE)",
        "unix_seconds(a.ts) DIV 600",
        "unix_millis(a.ts)",
    ],
)
def test_the_last_time_of_a_group(text: str, zone: str) -> None:
    """Where the clock is set forward or back, too. In Havana it is set back to midnight, and the day begins
    again: what began before ends when both have."""
    grouped, last = last_of(text, TIMESTAMPS)
    assert last is not None
    with in_zone(zone):
        ends: dict[object, object] = {}
        for time in hours(zone, *ZONES[zone]):
            end, own = value(last, time), value(grouped, time)
            assert isinstance(end, datetime.datetime) and end >= time
            assert ends.setdefault(own, end) == end, "all times of a group have the same"
            assert value(grouped, end + MICROSECOND) != own
            if zone != "America/Havana":
                assert value(grouped, end) == own


def test_dates_are_cut_to_months() -> None:
    _, last = last_of("date_trunc('month', a.day)", TIMESTAMPS)
    assert last is not None
    assert value(last, datetime.date(2024, 2, 3)) == datetime.date(2024, 2, 29)


@pytest.mark.parametrize(
    "text",
    [
        "a.ts % 10",
        "-a.ts",
        "10 - a.ts",
        "a.ts DIV -3",
        "a.ts * -2",
        "abs(a.ts)",
        "a.ts - a.short",
        "hour(timestamp_seconds(a.ts))",
        "date_trunc('fortnight', timestamp_seconds(a.ts))",
        "timestamp_seconds(a.ts) + INTERVAL '1' MONTH",
        "CAST(a.ts AS STRING)",
    ],
)
def test_what_may_come_again_has_no_last_time(text: str) -> None:
    assert last_of(text, INTEGERS)[1] is None


def test_quotients_of_large_numbers_are_not_exact() -> None:
    made = expression("floor(a.ts / 6)", INTEGERS)
    assert last_time(made, lambda node: isinstance(node, Attribute), most=2**63) is None
