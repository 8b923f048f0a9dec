"""Patterns over streams without end: the same matches as of all events together, each once, as soon as it is
sure; what no later match can need is forgotten."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest
from generate.stream_networks import STREAM, tables
from in_kernel import planned_for
from in_network import bound_script
from in_stream import Arrival, arrival, emissions, event_row, group_sizes, stream_rows
from kernel_fuzz import Tally
from pattern_examples import LASTING, query
from stream_fuzz import (
    check_imprecise,
    check_pair,
    check_partial,
    check_returned,
    check_rows,
    run_round,
)
from sure_fuzz import check_number

from neelc.ir.expressions import Aggregate
from neelc.ir.node import Node, map_children
from neelc.pattern.plan.blocks import EndlessGroups, UnboundedState, UncallableFunction
from neelc.pattern.plan.emission import streamed_groups, streamed_pattern, with_group_columns
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels import grouped_stream
from neelc.runtime.kernels.pattern_stream import PatternStream
from neelc.runtime.reference import Tables
from neelc.runtime.streaming import StreamMemory, StreamProgram, WatermarkMove, called


@pytest.mark.long
@pytest.mark.parametrize("first", [7_000_000, 7_000_025])
def test_random_queries_find_the_same_as_the_reference(first: int) -> None:
    tally = run_round(first)
    assert not tally.broken, tally.broken[0]
    assert tally.with_matches > 10


def test_random_partial_matches_are_the_same() -> None:
    tally = Tally()
    for number in range(9_000_000, 9_000_015):
        check_partial(number, tally)
    assert tally.with_matches > 10


@pytest.mark.long
def test_random_matches_of_imprecise_times_have_the_same_confidence() -> None:
    tally = Tally()
    for number in range(9_000_000, 9_000_060):
        check_imprecise(number, tally)
    assert tally.with_matches > 10


def test_random_rows_that_are_distinct_or_aggregated_are_the_same() -> None:
    tally = Tally()
    for number in range(8_000_000, 8_000_060):
        check_rows(number, tally)
    assert tally.forms["RETURN DISTINCT"] > 10
    assert tally.forms["aggregated"] > 10
    assert tally.forms["aggregated, counted"] > 10


def test_an_event_without_a_time_is_not_taken_for_late() -> None:
    """Rows without a time are filtered before; one that gets here is a bug."""
    rows = pa.RecordBatch.from_pydict({"start": pa.array([1, None], pa.int64())})
    program = StreamProgram(PatternStream(streamed_pattern(planned_for(query("SEQ(A a, B b) WITHIN 9")))))
    with pytest.raises(KernelFailure, match="an event has no start"):
        called(program, StreamMemory(), 0, [rows], 0)


# When matches come: "A1" is an A at 1, "@4" says that all events up to 4 have come.


@pytest.mark.parametrize(
    ("text", "batches", "expected"),
    [
        # Without a negation: with its last event, in whatever order they come, before any watermark.
        ("SEQ(A a, B b) WITHIN 9", ["A1", "B5", "B7", "@99"], ["", "A1 B5", "A1 B7", ""]),
        ("SEQ(A a, B b) WITHIN 9", ["B5", "@2", "A3"], ["", "", "A3 B5"]),
        ("AND(A a, B b) WITHIN 9", ["B5", "A9"], ["", "B5 A9"]),
        ("OR(A a, SEQ(B b, C c)) WITHIN 9", ["A1 B2", "C3"], ["A1", "B2 C3"]),
        ("SEQ(A a, B+ b[], C c) WITHIN 9", ["A1 B2 C5", "B3"], ["A1 B2 C5", "A1 B2 B3 C5 | A1 B3 C5"]),
        ("SEQ(A a, B? b, C c) WITHIN 9", ["A1 C5", "B3"], ["A1 C5", "A1 B3 C5"]),
        ("SEQ(A a, B b) WITHIN 9", ["A1", "@9", "@10", "B10 B11"], ["", "", "", ""]),
        # One event alone needs no window.
        ("A a", ["A1", "@4", "A5 B6"], ["A1", "", "A5"]),
        ("OR(A a, B b)", ["A1", "A1 B2", "@9"], ["A1", "A1 | B2", ""]),
        ("A a WITHIN 3", ["A1", "A5"], ["A1", "A5"]),
        # A negation between two events: when all before the second have come.
        ("SEQ(A a, !X x, B b) WITHIN 9", ["A1 B5", "@3", "@4"], ["", "", "A1 B5"]),
        ("SEQ(A a, !X x, B b) WITHIN 9", ["A1 B5", "@2 X3", "@9"], ["", "", ""]),
        ("SEQ(A a, !X x, B b, C c) WITHIN 9", ["A1 B5", "@4", "C7"], ["", "", "A1 B5 C7"]),
        ("SEQ(A a, !X x, AND(B b, C c)) WITHIN 9", ["A1 C5 B7", "@4"], ["", "A1 C5 B7"]),
        ("SEQ(A a, !SEQ(X x, Y y), B b) WITHIN 9", ["A1 X2 B5", "@4"], ["", "A1 B5"]),
        ("SEQ(A a, !X x, C? c, B b) WITHIN 9", ["A1 C3 B7", "@2", "@6"], ["", "A1 C3 B7", "A1 B7"]),
        # A negation of a branch, or of a part that may be absent, concerns those who have it.
        ("OR(SEQ(A a, !X x), B b) WITHIN 9", ["A1 B2", "@9", "@10"], ["B2", "", "A1"]),
        ("SEQ(OR(SEQ(A a, !X x), B b), C c) WITHIN 9", ["A1 B2 C5", "@3", "@4"], ["B2 C5", "", "A1 C5"]),
        ("SEQ(A a, SEQ(B b, !X x)?) WITHIN 9", ["A1 B2", "@9", "@10"], ["A1", "", "A1 B2"]),
        # What may be absent ends what a negation looks at, if it is there.
        ("SEQ(A a, !X x, C? c) WITHIN 9", ["A1 C5", "@3", "@4", "@10"], ["", "", "A1 C5", "A1"]),
        ("AND_NEG(A a, !X x, B b) WITHIN 9", ["B1 A5", "@3", "@5"], ["", "", "B1 A5"]),
        # One at the beginning looks back; one at the end, or in an AND, as far ahead as the window.
        ("SEQ(!X x, A a) WITHIN 9", ["A5", "@3", "@4"], ["", "", "A5"]),
        ("SEQ(!X x, A a) WITHIN 9", ["X1", "@4 A5 A11", "@20"], ["", "", "A11"]),
        ("SEQ(A a, !X x) WITHIN 9", ["A1", "@9", "@10"], ["", "", "A1"]),
        ("SEQ(A a, !X x) WITHIN 9", ["A1 A5", "X12", "@13", "@14"], ["", "", "A1", ""]),
        ("SEQ(A a, B b, !X x) WITHIN 9", ["A1 B5", "@9", "@10"], ["", "", "A1 B5"]),
        ("AND(A a, !X x) WITHIN 3", ["A5", "@7", "@8"], ["", "", "A5"]),
        ("AND(A a, !X x) WITHIN 3", ["X2", "A5 A6", "@7", "@9"], ["", "", "", "A6"]),
        ("AND(A a, !X x) WITHIN 2 EVENTS", ["X2", "A5", "@5 C6 C7", "@9"], ["", "", "", ""]),
        ("SEQ(!X x, A a) WITHIN 3", ["X2", "@4 A5 A6", "@9"], ["", "", "A6"]),
        ("SEQ(!X x, A a, B b) WITHIN 3", ["X2", "@2 A4", "@4 B5", "@5 B6"], ["", "", "", "A4 B6"]),
        ("SEQ(A a, SEQ(B b, !X x) WITHIN 2) WITHIN 9", ["A1 B3", "@9", "@10"], ["", "", "A1 B3"]),
        # The next event decides what may not be the next one; if none comes, the window does.
        ("SEQ(A a, STRICT !B b) WITHIN 9", ["A1 C4", "@3", "@4", "@10"], ["", "", "A1", ""]),
        ("SEQ(A a, STRICT !B b) WITHIN 9", ["A1 C4", "@1 B2", "@4", "@10"], ["", "", "", ""]),
        ("SEQ(A a, STRICT !B b) WITHIN 9", ["A1", "@9", "@10"], ["", "", "A1"]),
        ("SEQ(A a, STRICT AMONG (B, C) !B b) WITHIN 9", ["A1 D4", "@5", "@10"], ["", "", "A1"]),
        # Other strategies, and windows of EVENTS: when all up to the end have come.
        ("SEQ(A a, B b) WITHIN 9 USING STRICT CONTIGUITY", ["A1 B5", "@4", "@5"], ["", "", "A1 B5"]),
        ("SEQ(A a, B b) WITHIN 9 USING SKIP TILL NEXT MATCH", ["A1 B5", "@2 B3", "@9"], ["", "", "A1 B3"]),
        ("SEQ(A a, B b) WITHIN 2 EVENTS", ["A1 B5", "@2 C3", "@9"], ["", "", ""]),
        ("SEQ(A a, B b) WITHIN 3 EVENTS", ["A1 B5", "@2 C3", "@9"], ["", "", "A1 B5"]),
        ("SEQ(A a, !X x) WITHIN 2 EVENTS", ["A1", "@9", "C12", "@12 X20"], ["", "", "", "A1"]),
        # Lists as a whole: when no element can be added any more.
        ("SEQ(A a, B+ b[], C c) WITHIN 9 RETURN COLLAPSED", ["A1 B2 C5", "@2 B3", "@5"],
         ["", "", "A1 B2 B3 C5"]),
        ("SEQ(A a, B+ b[]) WITHIN 9 RETURN COLLAPSED", ["A1 B2", "B3", "@9", "@10"],
         ["", "", "", "A1 B2 B3"]),
        # What is dropped does not make a match come again.
        ("EXISTS b : SEQ(A a, B b, C c) WITHIN 9", ["A1 C5", "B3", "B4"], ["", "A1 C5", ""]),
        ("EXISTS b : SEQ(A a, B b, C c) WITHIN 9", ["A1 B2 C5", "B3", "@3 C7"], ["A1 C5", "", "A1 C7"]),
    ],
)  # fmt: skip
def test_when_matches_come(text: str, batches: list[str], expected: list[str]) -> None:
    assert emissions(query(text), *batches) == expected


def test_events_that_last_spoil_a_match_while_they_last() -> None:
    match = query("SEQ(A a, !X x, B b) WITHIN 20", LASTING)
    assert emissions(match, "A1-2 B9", "@3 X5-6", "@8") == ["", "", ""]
    assert emissions(match, "A1-2 B9", "@3 X5-9", "@7", "@8") == ["", "", "", "A1-2 B9"]


def test_a_window_of_events_ends_before_the_next_event_starts() -> None:
    """X lasts: whether it lies in the window depends on when the event after the window starts."""
    match = query("SEQ(A a, !X x) WITHIN 2 EVENTS", LASTING)
    assert emissions(match, "A1 X2-9", "@8", "C10", "@10") == ["", "", "", ""]
    assert emissions(match, "A1 X2-9", "@4", "C5", "@5") == ["", "", "", "A1"]


def test_matches_of_keys_come_apart() -> None:
    match = query("SEQ(A a, B b) WHERE [id] WITHIN 9")
    assert planned_for(match).program.keys == ("id",)
    assert emissions(match, "A1", "B2 B3") == ["", "A1 B2 | A1 B3"]


# RETURN DISTINCT, and aggregates over matches.


ONE_BY_ONE = Arrival(size=1, delay=0, slack=0, seed=1)
"""Each event comes alone, and the watermark reaches all before it."""


def events(text: str) -> Tables:
    return {"S": [event_row(word) for word in text.split()]}


def test_a_distinct_row_comes_once_however_late_its_matches_are() -> None:
    match = query("SEQ(A a, B b) WITHIN 9 RETURN DISTINCT a.ts")
    assert stream_rows(match, events("A1 B2 B6 A7 B9 B10 B11"), ONE_BY_ONE).rows == [(1,), (7,)]


def test_groups_have_all_matches_of_their_window() -> None:
    match = query("SEQ(A a, B b) WITHIN 9 RETURN a.ts, count(*) AS n")
    assert stream_rows(match, events("A1 B2 B6 A7 B9 B10 B11"), ONE_BY_ONE).rows == [(1, 4), (7, 3)]
    by_end = query("SEQ(A a, B b) WITHIN 9 RETURN match_end, count(*) AS n")
    assert stream_rows(by_end, events("A1 A2 B6 A7 B10 C13 C14 C15 C17 B30"), ONE_BY_ONE).rows == [
        (6, 2),
        (10, 3),
    ]


@pytest.mark.parametrize(
    ("items", "batches", "expected"),
    [
        # When a window has passed since the last time of the group.
        ("a.ts DIV 10 AS t", ["A1 B2 A9 B11", "@17", "@18", "@99"], [[], [], [2], []]),
        ("match_start DIV 10 AS t", ["A1 B2 A9 B11 A10 B12", "@18", "@27", "@28"], [[], [3], [], [2]]),
        ("match_end DIV 10 AS t", ["A1 B2 A9 B10", "@18", "@28"], [[], [1], [2]]),
        ("b.ts DIV 10 AS t", ["A5 B9 A6", "@8 B10", "@17", "@18", "@28"], [[], [], [], [2], [2]]),
        # An exact time says more than a span of it.
        ("a.ts DIV 10 AS t, a.ts AS own", ["A1 B2 B3", "@9", "@10"], [[], [], [2]]),
        # What came first is needed until then.
        ("a.ts DIV 100 AS t", ["A1 B2", "@50 A51", "@60 B61", "@107", "@108"], [[], [], [], [], [1]]),
        ("a.ts DIV 100 AS t", ["A1", "@8 B9", "@98 A99", "B100", "@108"], [[], [], [], [], [2]]),
    ],
)  # fmt: skip
def test_when_groups_by_a_computed_time_come(
    items: str, batches: list[str], expected: list[list[int]]
) -> None:
    match = query(f"SEQ(A a, B b) WITHIN 9 RETURN {items}, stddev(b.x) AS s")
    assert group_sizes(match, *batches) == expected


def test_groups_come_in_several_batches() -> None:
    match = query("SEQ(A a, B b) WITHIN 9 RETURN a.ts, stddev(b.x) AS s")
    with patch.object(grouped_stream, "ROWS_IN_BATCH", 2):
        found = group_sizes(match, "A1 A2 B3 A4 B5 B6 A7 B8", "@90")
    assert found == [[], [1, 3, 4, 4]]


def test_matches_of_a_group_are_kept_apart_by_what_spark_computes() -> None:
    """`a.x + b.x` belongs to two events: a list has all of a time, and Spark makes several of it."""
    match = query("SEQ(A a, B b) WITHIN 9 RETURN a.ts, a.n + b.ts DIV 5 AS v, count(*) AS n")
    found = stream_rows(match, events("A1 B2 B3 B6"), ONE_BY_ONE).rows
    assert sorted(found, key=str) == [(1, 1, 2), (1, 2, 1)]


def test_conditions_that_spark_checks_come_before_aggregates() -> None:
    match = query("SEQ(A a, B+ b[]) WHERE size(collect_list(b[].ts)) = 2 WITHIN 9 RETURN a.ts, count(*) AS n")
    assert planned_for(match).residual
    found = stream_rows(match, events("A1 B2 B3 A20 B21"), ONE_BY_ONE).rows
    assert [(time, int(str(n))) for time, n in found] == [(1, 1)]


# A match is neither emitted before it is sure nor later: tests/sure_fuzz.py.


def test_random_matches_are_emitted_when_they_are_sure() -> None:
    seen = Counter[str]()
    for number in range(5_000_000, 5_000_012):
        check_number(number, seen)
    assert seen["continuations"] > 500
    assert seen["emitted"] > 2


# Queries whose state would have no bound.


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SEQ(A a, B b) WITHIN 9 RETURN DISTINCT a.id", "it has no time"),
        ("SEQ(A a, B b) WITHIN 9 RETURN DISTINCT match_start, a.x + b.x AS s", "`a.x + b.x` does not"),
        ("SEQ(A a, B b) WITHIN 9 RETURN DISTINCT a.ts % 60 AS s", "`a.ts % 60` does not come again"),
        ("SEQ(A a, B b) WITHIN 9 EVENTS RETURN DISTINCT a.ts", "WITHIN counts EVENTS"),
        ("SEQ(A a, B+ b[]) WITHIN 9 RETURN DISTINCT a.ts, count(b[]) AS n", "`count(b[])` does not"),
        ("OR(A a, B b) WITHIN 9 RETURN DISTINCT a.ts", "not every match has `a`"),
    ],
)
def test_distinct_rows_that_could_always_come_again_are_refused(text: str, what: str) -> None:
    with pytest.raises(EndlessGroups, match="RETURN DISTINCT") as refused:
        streamed_pattern(with_group_columns(planned_for(query(text))))
    assert what in refused.value.what
    assert "match_start" in str(refused.value.hint)


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b) WITHIN 9 RETURN count(*) AS n",
        "SEQ(A a, B b) WITHIN 9 RETURN a.id, count(*) AS n",
        "OR(A a, B b) WITHIN 9 RETURN a.ts, count(*) AS n",
        "OR(A a, B b) WITHIN 9 RETURN a.ts DIV 10, count(*) AS n",
        "SEQ(A a, B b) WITHIN 9 RETURN a.ts % 10 AS t, count(*) AS n",
        "SEQ(A a, B b) WITHIN 9 RETURN a.ts - b.ts AS t, count(*) AS n",
    ],
)
def test_groups_that_are_never_complete_are_refused(text: str) -> None:
    with pytest.raises(EndlessGroups, match="would never be complete"):
        streamed_groups(with_group_columns(planned_for(query(text))))


def test_collapsed_rows_are_grouped_by_single_events() -> None:
    text = "SEQ(A+ a[], B b, C+ c[]) WITHIN 9 RETURN COLLAPSED {} AS t, max(count(c[])) AS n"
    with pytest.raises(EndlessGroups, match="cannot be grouped by the time of the match"):
        streamed_groups(planned_for(query(text.format("match_start"))))
    match = query(text.format("b.ts"))
    for seed in range(40):
        check_returned(match, stream_rows(match, collapsed_events(seed), arrival(seed)), f"{seed}")


def collapsed_events(seed: int) -> Tables:
    chance = Random(seed)
    times = [chance.randrange(30) for _ in range(9)]
    return {"S": [event_row(f"{chance.choice('ABC')}{time}") for time in times]}


def test_a_function_cannot_be_called_for_each_match_of_a_list() -> None:
    match = query("SEQ(A a, B+ b[]) WITHIN 9 RETURN a.ts, max(sum(b[].x)) AS n")

    def registered(node: Node) -> Node:
        if isinstance(node, Aggregate) and node.name == "sum":
            return replace(node, name="mine", function=len)
        return map_children(node, registered)

    outputs = tuple(map(registered, match.outputs))
    planned = replace(planned_for(match), query=replace(match, outputs=outputs))  # type: ignore[arg-type]
    with pytest.raises(UncallableFunction, match="cannot be called for each match of a list"):
        streamed_groups(planned)


def test_collapsed_lists_alone_are_refused() -> None:
    with pytest.raises(EndlessGroups, match="all matches of a key are one row") as refused:
        streamed_pattern(planned_for(query("SEQ(A+ a[], B+ b[]) WITHIN 9 RETURN COLLAPSED count(a[]) AS n")))
    assert "name a single event" in str(refused.value.hint)


def test_a_pattern_without_a_window_is_refused() -> None:
    with pytest.raises(UnboundedState, match="keep every event"):
        streamed_pattern(planned_for(query("SEQ(A a, B b)")))


def test_nothing_is_kept_of_single_events() -> None:
    streamed = streamed_pattern(planned_for(query("OR(A a, B b) RETURN a.ts, b.ts AS t")))
    assert streamed.single
    rows = pa.RecordBatch.from_pylist([{"start": 5, "roles": 1}, {"start": 7, "roles": 2}])
    step = PatternStream(streamed).advance(StreamMemory(), [rows], WatermarkMove(0, 1))
    assert sum(batch.num_rows for batch in step.results) == 2
    assert not any(step.memory.tables.values()) and step.wake is None


def test_rows_are_kept_apart_by_those_keys_only_that_they_have() -> None:
    both = "SEQ(A a, B b) WHERE a.id = b.id AND a.user = b.user WITHIN 9 RETURN DISTINCT a.ts, b.user"
    streamed = streamed_pattern(planned_for(query(both)))
    assert streamed.distinct is not None
    assert set(streamed.program.keys) == {"id", "user"}
    assert streamed.distinct.keys == ("user",)


# RETURN COLLAPSED: lists reach a window back and forth from the single events.


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A+ a[], B b, C+ c[]) WITHIN 5 SECONDS",
        "SEQ(A+ a[], (B b OR D d), C+ c[]) WITHIN 5 SECONDS",
        "AND(A+ a[], B b, C+ c[]) WITHIN 5 SECONDS",
        "SEQ(!D d, A+ a[], B b, C+ c[], !D e) WITHIN 6 SECONDS",
        "SEQ(A+ a[], B b, C+ c[]) WITHIN 6 EVENTS",
    ],
)
def test_lists_on_both_sides_of_a_single_event(text: str) -> None:
    match = bound_script(f"{STREAM}PATTERN {text} RETURN COLLAPSED count(a[]) AS n;").queries[0].match
    planned = planned_for(match)
    found = [check_pair(match, tables(Random(seed)), seed, planned) for seed in range(12)]
    assert any(found)
