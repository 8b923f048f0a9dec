"""Patterns over streams without end: the same matches as of all events together, each once, as soon as it is
sure; what no later match can need is forgotten."""

from __future__ import annotations

import pytest
from in_kernel import planned_for
from kernel_fuzz import Tally
from pattern_examples import query
from stream_fuzz import check_rows, run_round

from neelc.pattern.plan.blocks import EndlessGroups, UnboundedState
from neelc.pattern.plan.emission import streamed_groups, streamed_pattern


@pytest.mark.parametrize("first", [7_000_000, 7_000_025, 7_000_050])
def test_random_queries_find_the_same_as_the_reference(first: int) -> None:
    tally = run_round(first)
    assert not tally.broken, tally.broken[0]
    assert tally.with_matches > 10


def test_random_rows_that_are_distinct_or_aggregated_are_the_same() -> None:
    tally = Tally()
    for number in range(8_000_000, 8_000_090):
        check_rows(number, tally)
    assert tally.forms["RETURN DISTINCT"] > 10
    assert tally.forms["aggregated"] > 10
    assert tally.forms["aggregated, counted"] > 10


# Queries whose state would have no bound.


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SEQ(A a, B b) WITHIN 9 RETURN DISTINCT a.id", "without a time"),
        ("SEQ(A a, B b) WITHIN 9 RETURN DISTINCT match_start, a.x + b.x AS s", "by `a.x + b.x`"),
        ("SEQ(A a, B b) WITHIN 9 EVENTS RETURN DISTINCT a.ts", "a window of EVENTS"),
        ("SEQ(A a, B+ b[]) WITHIN 9 RETURN DISTINCT a.ts, count(b[]) AS n", "by `count(b[])`"),
        ("OR(A a, B b) WITHIN 9 RETURN DISTINCT a.ts", "without a time"),
    ],
)
def test_distinct_rows_that_could_always_come_again_are_refused(text: str, what: str) -> None:
    with pytest.raises(EndlessGroups, match="RETURN DISTINCT") as refused:
        streamed_pattern(planned_for(query(text)))
    assert what in refused.value.what
    assert "match_start" in str(refused.value.hint)


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b) WITHIN 9 RETURN count(*) AS n",
        "SEQ(A a, B b) WITHIN 9 RETURN a.id, count(*) AS n",
        "OR(A a, B b) WITHIN 9 RETURN a.ts, count(*) AS n",
    ],
)
def test_groups_that_are_never_complete_are_refused(text: str) -> None:
    with pytest.raises(EndlessGroups, match="no row is ever complete"):
        streamed_groups(planned_for(query(text)))


def test_a_pattern_without_a_window_is_refused() -> None:
    with pytest.raises(UnboundedState, match="every event would be kept"):
        streamed_pattern(planned_for(query("SEQ(A a, B b)")))


def test_rows_are_kept_apart_by_those_keys_only_that_they_have() -> None:
    both = "SEQ(A a, B b) WHERE a.id = b.id AND a.user = b.user WITHIN 9 RETURN DISTINCT a.ts, b.user"
    streamed = streamed_pattern(planned_for(query(both)))
    assert streamed.distinct is not None
    assert set(streamed.program.keys) == {"id", "user"}
    assert streamed.distinct.keys == ("user",)
