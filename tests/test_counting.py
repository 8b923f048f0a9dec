"""Aggregates over matches that are counted are those over the matches that the reference enumerates."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from generate.counted import events, query_text
from in_bridge import Way, way
from in_counting import Row, bound, counted_rows, differing_rows, is_same, planned
from pattern_examples import LASTING, query

from neelc.ir.program import Match
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels.counting import counting as kernel
from neelc.runtime.kernels.counting import walks as counting_lanes
from neelc.runtime.reference import LimitReached, Tables

QUERIES = 150
PARTS = 2
STREAMS = 4
PLAIN = Way(1000, 100_000, None, None, 0)


def agreed(match: Match, tables: Tables, how: Way) -> bool:
    """Whether a query that can be counted has a match; fails if its rows are others than expected."""
    has_matches, difference = differing_rows(match, tables, how)
    assert not difference, f"{match.pattern} {how}\n{tables}\n{difference}"
    return has_matches


def compared(first: int, count: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in range(first, first + count):
        chance = Random(seed)
        match = bound(query_text(chance))
        if match is None or planned(match) is None:
            seen["enumerated"] += match is not None
            continue
        for number in range(STREAMS):
            tables = {"S": events(chance)}
            with suppress(LimitReached):
                seen["with matches"] += agreed(match, tables, way(seed * STREAMS + number))
                seen["pairs"] += 1
    return seen


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries(part: int) -> None:
    with patch.object(kernel, "PAIRS", 50):
        seen = compared(part * QUERIES, QUERIES)
    assert seen["pairs"] >= 2.4 * QUERIES, seen
    assert seen["with matches"] >= 0.6 * QUERIES, seen
    assert seen["enumerated"] <= 0.3 * QUERIES, seen


def test_random_queries_in_other_blocks_and_with_other_numbers() -> None:
    """Lanes one by one, and numbers of any length where 64 bits would do."""
    with patch.object(kernel, "SURE", -1000.0), patch.object(kernel.counted, "__defaults__", (1,)):
        assert compared(10_000, 60)["pairs"] >= 150


def test_a_wrong_order_of_simultaneous_events_is_noticed() -> None:
    unordered = patch.object(counting_lanes, "first_of_each_time", lambda time: np.arange(len(time)))
    with unordered, pytest.raises(AssertionError, match="expected"):
        compared(0, 100)


def stream(kinds: str) -> Tables:
    """One event for each letter, one after the other."""
    return {
        "S": [
            {"ts": time, "kind": kind, "id": 1, "user": "u", "x": float(time), "n": time}
            for time, kind in enumerate(kinds)
        ]
    }


def counted(text: str, kinds: str) -> list[Row]:
    found = counted_rows(query(text), stream(kinds), PLAIN)
    assert found is not None
    return found


SUBSETS = "SEQ(A a, B+ b[], C c) WITHIN 10000 RETURN"


def test_as_many_matches_as_sublists() -> None:
    for length in (1, 30, 61, 62, 63, 64, 100, 126):
        assert counted(f"{SUBSETS} count(*)", "A" + "B" * length + "C") == [(2**length - 1,)]


def test_sums_over_more_matches_than_fit_into_64_bits() -> None:
    kinds = "A" + "B" * 80 + "C"
    total = sum(2**79 * time for time in range(1, 81))
    assert counted(f"{SUBSETS} sum(count(b[])), sum(sum(b[].n))", kinds) == [(80 * 2**79, total)]


def test_an_average_over_many_matches() -> None:
    ((average, least, greatest, last),) = counted(
        f"{SUBSETS} avg(count(b[])), min(min(b[].x)), max(max(b[].n)), avg(c.x)", "A" + "B" * 100 + "C"
    )
    assert is_same(average, 50.0) and (least, greatest, last) == (1.0, 100, 101.0)


def test_rising_lists_are_all_lists_where_all_values_rise() -> None:
    text = "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x AND b[1].x > a.x AND b[last].x < c.x"
    kinds = "A" + "B" * 100 + "C"
    ((average,),) = counted(f"{text} WITHIN 500 RETURN avg(count(b[]))", kinds)
    assert is_same(average, 50.0)
    falling = text.replace("> b[i-1]", "< b[i-1]")
    assert counted(f"{falling} WITHIN 500 RETURN count(*)", kinds) == [(100,)]


def test_binomials() -> None:
    kinds = "A" + "B" * 50 + "C"
    counts = [math.comb(50, number) for number in (3, 4, 5)]
    found = counted("SEQ(A a, B{3,5} b[], C c) RETURN count(*)", kinds)
    assert found == [(sum(counts),)]
    assert counted("SEQ(A a, B b, B c, B d, B e) RETURN count(*)", kinds) == [(math.comb(50, 4),)]


@pytest.mark.parametrize("length", [127, 2000])
def test_too_many_to_count(length: int) -> None:
    with pytest.raises(KernelFailure) as failure:
        counted(f"{SUBSETS} count(*)", "A" + "B" * length + "C")
    assert failure.value.facts.kind == "COUNT_OVERFLOW"
    assert "are more than a DECIMAL(38, 0) can count" in failure.value.facts.message


def test_without_a_list_a_count_is_a_bigint() -> None:
    """Whatever the data: the type of a column follows from the text of the query."""
    singles = "SEQ(A a, B b, C c) RETURN count(*), sum(b.n)"
    lists = f"{SUBSETS} count(*), sum(c.n), count(c.x), sum(count(b[])), avg(count(b[])), max(c.n), sum(c.x)"
    assert [str(one.type) for one in query(singles).outputs] == ["BIGINT", "BIGINT"]
    wide = ["DECIMAL(38, 0)"] * 4
    assert [str(one.type) for one in query(lists).outputs] == [*wide, "DOUBLE", "INT", "DOUBLE"]
    next_match = lists.replace("RETURN", "USING SKIP TILL NEXT MATCH RETURN")
    assert str(query(next_match).outputs[0].type) == "BIGINT"
    inside_a_negation = query("SEQ(A a, !(B+ b[]), C c) RETURN count(*)")
    assert str(inside_a_negation.outputs[0].type) == "BIGINT"


def test_many_matches_and_the_ends_of_their_lists() -> None:
    items = "max(b[last].n), min(b[1].n), sum(b[1].n), avg(b[last].x), max(count(b[])), min(count(b[]))"
    ((last, first, total, average, most, least),) = counted(f"{SUBSETS} {items}", "A" + "B" * 100 + "C")
    assert (last, first, most, least) == (100, 1, 100, 1)
    assert total == sum(time * 2 ** (100 - time) for time in range(1, 101))
    assert is_same(average, sum(time * 2 ** (time - 1) for time in range(1, 101)) / (2**100 - 1))


@pytest.mark.parametrize("length", [127, 2000])
def test_a_sum_that_is_too_large(length: int) -> None:
    for item in ("sum(count(b[]))", "sum(c.n)"):
        with pytest.raises(KernelFailure) as failure:
            counted(f"{SUBSETS} {item}", "A" + "B" * length + "C")
        assert failure.value.facts.kind == "SUM_OVERFLOW"


def test_no_match_is_none_however_many_nearly_are() -> None:
    assert counted(f"{SUBSETS} count(*), sum(c.n)", "A" + "B" * 2000) == [(0, None)]
    with pytest.raises(KernelFailure, match="SUM_OVERFLOW"):
        counted(f"{SUBSETS} sum(sum(b[].x))", "A" + "B" * 2000 + "C")


def test_nothing_and_no_match() -> None:
    text = "SEQ(A a, B+ b[], C c) WITHIN 9 RETURN count(*), sum(c.n), avg(c.x), max(max(b[].x)), count(c.x)"
    assert counted(text, "") == counted(text, "CBA") == [(0, None, None, None, 0)]
    assert counted(text.replace("RETURN", "RETURN a.id,"), "CBA") == []


APPLIES = """
    SEQ(A a, B b, C c) RETURN count(*)
    SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 9 RETURN a.id, count(*)
    SEQ(A a, B* b[], !N n, C? c, D d) WITHIN 9 RETURN count(c.user)
    SEQ(A a, B b, !N n, C c) WHERE n.x > b.x AND n.x < c.x RETURN count(*)
    SEQ(A a, B+ b[], C c) WHERE b[i].x > a.x AND b[i].x < c.x RETURN count(*) + 1
    SEQ(A a, B+ b[], C c) WITHIN 9 RETURN a.x + c.x, avg(sum(b[].x)) / count(*)
    B{2,9} b[] WHERE b[i].x > b[1].x RETURN max(max(b[].x))
    SEQ(A a, B b, C c) PARTITION BY id WITHIN 5 EVENTS RETURN c.user, min(b.n)
    SEQ(A a, B+ b[]) RETURN max(count(b[])), max(b[last].x), min(b[1].x + 1), count(b[last].user)
"""
DOES_NOT = """
    SEQ(A a, B b) RETURN a.x
    SEQ(A a, B b) RETURN DISTINCT count(*)
    SEQ(A a, B b) RETURN count(DISTINCT a.x)
    SEQ(A a, B b) RETURN sum(b.x - a.x)
    SEQ(A a, B b) RETURN match_start, count(*)
    SEQ(A a, B? b) RETURN b.x, count(*)
    SEQ(A a, B+ b[]) RETURN b[1].x, count(*)
    SEQ(A a, B+ b[]) RETURN sum(b[last].x - b[1].x)
    SEQ(A a, B+ b[]) RETURN max(b[2].x)
    SEQ(A a, B+ b[]) RETURN avg(avg(b[].x))
    SEQ(A a, B+ b[]) WHERE count(b[]) > 3 RETURN count(*)
    SEQ(A a, B+ b[]) WHERE b[i].x > max(b[..i-1].x) RETURN count(*)
    SEQ(A a, B+ b[], C+ c[], D d) WHERE b[last].x < d.x AND b[1].x < c[last].x RETURN count(*)
    SEQ(!N n, A a, B b) WITHIN 9 RETURN count(*)
    SEQ(A a, B b, !N n) WITHIN 9 RETURN count(*)
    SEQ(A a, B b, !N n, C c, D d) WHERE n.x > d.x RETURN count(*)
    SEQ(A a, SEQ(B b, C c)+ k[]) RETURN count(*)
    SEQ(A a, B{2,99} b[]) RETURN count(*)
    SEQ(A a, B+ b[] WITHIN 3, C c) RETURN count(*)
    AND(A a, B b) RETURN count(*)
    SEQ(A a, OR(B b, C c)) RETURN count(*)
    SEQ(A a, B+ b[]) USING SKIP TILL NEXT MATCH RETURN count(*)
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("text", lines(APPLIES))
def test_it_applies(text: str) -> None:
    assert planned(query(text)) is not None


@pytest.mark.parametrize("text", lines(DOES_NOT))
def test_it_does_not_apply(text: str) -> None:
    assert planned(query(text)) is None


def test_it_does_not_apply_to_events_that_last() -> None:
    assert planned(query("SEQ(A a, B b) RETURN count(*)", LASTING)) is None
