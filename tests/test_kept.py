"""Which matches are kept: AFTER MATCH SKIP, ONE MATCH PER and SUPPRESS. What each means is in
`tests/cases/kept`; here all ways to execute it are compared, and what is not executed is refused."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from in_kernel import planned_for
from in_stream import emissions
from kept_fuzz import check_query
from pattern_examples import LASTING, kernel_program, query, stream_plan
from whying import whys

from neelc.explain.streaming import emitted
from neelc.pattern.plan.blocks import EndlessGroups, UnboundedState, UnsupportedQuery
from neelc.pattern.plan.emission import streamed_groups, streamed_pattern, with_group_columns
from neelc.pattern.plan.rule_sets import branches_of, why_alone
from neelc.pattern.plan.strategies import in_chunks
from neelc.runtime.columns import FIRST_TIME, LAST_TIME
from neelc.runtime.kernels import matching
from neelc.runtime.kernels.keeping import chained, ends_after_earlier, following

SKIP = "AFTER MATCH SKIP PAST LAST EVENT"


@pytest.mark.parametrize("part", range(4))
def test_all_ways_agree(part: int) -> None:
    seen = Counter[str]()
    assert [problem for number in range(part, 60, 4) for problem in check_query(number, seen)] == []
    assert seen["with matches"] > 5 and seen["streamed, with matches"] > 1


@pytest.mark.long
@pytest.mark.parametrize("part", range(2))
def test_matches_that_come_in_many_pieces(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are reduced while they come, as large numbers of them are."""
    monkeypatch.setattr(matching, "MANY", 2)
    numbers = range(1_000 + part, 1_040, 2)
    assert [problem for number in numbers for problem in check_query(number, Counter())] == []


# The chain of matches, and those that end after all earlier ones, by their definitions.


def one_by_one(key: list[int], value: list[int], free: list[int], least: list[int]) -> list[int]:
    """The places of what is kept, looking at one match after the other."""
    kept, least = [], list(least)
    for place, (own, at) in enumerate(zip(key, value, strict=True)):
        if at >= least[own]:
            kept.append(place)
            least[own] = free[place]
    return kept


@pytest.mark.parametrize("seed", range(200))
def test_a_chain_is_what_one_match_after_the_other_gives(seed: int) -> None:
    chance = Random(seed)
    pairs = sorted({(chance.randrange(4), chance.randrange(-9, 60)) for _ in range(chance.randrange(40))})
    key, value = [key for key, _ in pairs], [value for _, value in pairs]
    free = [value + chance.choice([1, 1, 2, 5, 30]) for value in value]
    arrays = np.array(key, np.int64), np.array(value, np.int64), np.array(free, np.int64)
    first = np.flatnonzero(chained(*arrays)).tolist()
    assert first == one_by_one(key, value, free, [FIRST_TIME] * 4)
    least = np.array([chance.choice([FIRST_TIME, 0, 10, LAST_TIME]) for _ in range(4)])
    expected = one_by_one(key, value, free, least.tolist())
    state = {key[place]: free[place] for place in expected}
    after = [state.get(number, int(before)) for number, before in enumerate(least)]
    assert following(*arrays, least).tolist() == expected
    assert least.tolist() == after


@pytest.mark.parametrize("seed", range(100))
def test_ends_after_all_earlier_ones(seed: int) -> None:
    chance = Random(seed)
    of_instant = sorted(chance.randrange(3) for _ in range(12))
    instant = [chance.randrange(12) for _ in range(chance.randrange(30))]
    key = [of_instant[one] for one in instant]
    end = [chance.randrange(20) for _ in instant]
    expected = [
        all(
            end[other] < end[one]
            for other in range(len(instant))
            if key[other] == key[one] and instant[other] < instant[one]
        )
        for one in range(len(instant))
    ]
    found = ends_after_earlier(*(np.array(some, np.int64) for some in (key, instant, end)))
    assert found.tolist() == expected


def test_a_long_chain_needs_few_rounds() -> None:
    """A key of a million matches, each of which is kept: a loop over them would take minutes."""
    value = np.arange(1_000_000)
    assert chained(np.zeros(len(value), np.int64), value, value + 1).all()


# What is planned.


def test_time_is_not_cut_where_matches_are_compared() -> None:
    planned = planned_for(query(f"SEQ(A a, B b) WITHIN 9 {SKIP}"))
    assert in_chunks(planned, chunked=True).program.chunk is None
    assert in_chunks(planned_for(query("SEQ(A a, B b) WITHIN 9")), chunked=False).program.chunk is not None


def test_a_key_that_is_no_partition_does_not_keep_matches_apart() -> None:
    assert kernel_program(query(f"SEQ(A a, B b) WHERE a.id = b.id {SKIP}")).keys == ()
    assert kernel_program(query(f"SEQ(A a, B b) WHERE [id] {SKIP}")).keys == ("id",)


@pytest.mark.parametrize("text", ["WITHIN 5 EVENTS", "USING STRICT CONTIGUITY"])
def test_matches_are_kept_for_each_key_where_events_of_all_keys_count(text: str) -> None:
    asked = query(f"SEQ(A a, B b) WHERE [id] {text} {SKIP}")
    program = kernel_program(asked)
    assert program.keys == () and program.kept is not None and len(program.kept.by) == 1


def test_a_rule_that_compares_its_matches_runs_by_itself() -> None:
    match = query(f"OR(A a, B b) WHERE [id] {SKIP}")
    assert why_alone(planned_for(match)) == f"{SKIP} compares all of its matches"
    assert branches_of(match) == (match,)


def test_why_says_that_a_match_is_found_but_not_kept() -> None:
    found = whys(f"SEQ(A a, B b) WITHIN 3 SECONDS {SKIP}", "A1 A2 B3 A5 B6", between=(2, 5))
    dropped, kept = found.explanations
    note = f"found, but not kept: {SKIP}; the last match kept before it is from 1 to 3"
    assert (dropped.start.time, dropped.matches, dropped.notes) == ("2", True, (note,))
    assert (kept.start.time, kept.matches, kept.notes) == ("5", True, ())


# Over streams without end.


@pytest.mark.parametrize(
    ("text", "batches", "expected"),
    [
        # All matches that start at 1 are known when the watermark is a window later.
        (f"SEQ(A a, B b) WITHIN 9 {SKIP}", ["A1 B5", "@9", "@10"], ["", "", "A1 B5"]),
        (f"SEQ(A a, B b) WITHIN 9 {SKIP}", ["A1 B5", "@2 B3", "@10"], ["", "", "A1 B3"]),
        # The last one kept is remembered: 4 starts before its end, 6 after it.
        (f"SEQ(A a, B b) WITHIN 4 {SKIP}", ["A1 A4 B5", "@5", "A6 B7", "@20"], ["", "A1 B5", "", "A6 B7"]),
        ("SEQ(A a, B b) WITHIN 4 AFTER MATCH SKIP TO NEXT EVENT", ["A1 A4 B5 B6", "@20"],
         ["", "A1 B5 | A4 B5"]),
        # What is suppressed: up to 20 after 2, however many micro-batches later.
        ("SEQ(A a, B b) WITHIN 2 SUPPRESS 20", ["A1 B2", "@9", "A20 B22", "@30", "A31 B32", "@40"],
         ["", "A1 B2", "", "", "", "A31 B32"]),
        # One event alone needs no window.
        ("A a SUPPRESS 5", ["A1 A3", "@3", "A6", "@6 A7", "@9"], ["", "A1", "", "", "A7"]),
        # Each B once, with its first A, though that starts in an earlier micro-batch.
        ("SEQ(A a, B b) WITHIN 9 ONE MATCH PER b", ["A1 A4 B5", "@10", "@13", "@20"], ["", "A1 B5", "", ""]),
    ],
)  # fmt: skip
def test_when_matches_that_are_kept_come(text: str, batches: list[str], expected: list[str]) -> None:
    assert emissions(query(text), *batches) == expected


def test_what_streams_refuse() -> None:
    def refused(text: str, error: type[Exception], what: str, head: str | None = None) -> None:
        match = query(text) if head is None else query(text, head)
        with pytest.raises(error, match=what):
            streamed_pattern(with_group_columns(planned_for(match)))

    refused(f"SEQ(A a, B b) {SKIP}", UnboundedState, "no WITHIN")
    refused(f"SEQ(A a, B b) WITHIN 5 EVENTS {SKIP}", UnsupportedQuery, "a window of EVENTS over a stream")
    refused(f"SEQ(A a, B b) WITHIN 5 {SKIP} RETURN DISTINCT a.ts", UnsupportedQuery, "RETURN DISTINCT over")
    refused("A a SUPPRESS 5", UnsupportedQuery, "events that last, without WITHIN, over", LASTING)
    refused("SEQ(A a, B? b) WITHIN 5 ONE MATCH PER b", EndlessGroups, "remember forever")
    match = query(f"SEQ(A a, B b) WITHIN 5 {SKIP} RETURN a.ts, count(*) AS n")
    with pytest.raises(UnsupportedQuery, match="aggregates over matches over a stream"):
        streamed_groups(with_group_columns(planned_for(match)))


def test_explanations_of_streams() -> None:
    assert emitted(*stream_plan(f"SEQ(A a, B b) WITHIN 1 HOUR {SKIP}")) == (
        "A match is sure when WITHIN has passed: all that start at its time or before are known then."
    )
    assert emitted(*stream_plan("A a SUPPRESS 1 HOUR")) == (
        "A match is sure when the watermark reaches it: all that start at its time or before are known then."
    )
