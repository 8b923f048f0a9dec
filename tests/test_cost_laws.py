"""What holds for all estimates: laws for random queries, and a comparison with the rows that are counted."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import isclose, isfinite
from random import Random

import pytest
from generate.rewritable import sample
from known_statistics import known
from pattern_examples import query

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import patterns as p
from neelc.ir.expressions import Attribute, Binary, Expr, Literal, Variable, conjoin
from neelc.ir.node import walk
from neelc.ir.patterns import may_be_empty, targets
from neelc.ir.program import Match
from neelc.ir.types import INT
from neelc.pattern.cost.choose import choose
from neelc.pattern.cost.estimate import Estimate, estimate
from neelc.pattern.rules.driver import forms
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.worlds import find_matches

NOTHING_KNOWN = Statistics()

HOSTILE = (
    NOTHING_KNOWN,
    known(("EVENTS", 0)),
    known(("EVENTS", 1e15), ("RATE", 1e12)),
    known(
        ("EVENTS", 1e6),
        ("SPAN", 1e-3),
        ("NULLS", 1, "x"),
        ("MOST FREQUENT", 0.9, "id"),
        ("DISTINCT", 1e9, "id"),
    ),
)


def numbers(found: Estimate) -> list[float]:
    counts = [value for step in found.steps for value in (step.tried, step.kept)]
    sizes = [found.rows_scanned, found.bytes_shuffled, found.rows_sorted, found.rows_produced, found.held]
    return [*counts, *sizes, found.partial_matches, found.work, *(item.work for item in found.items)]


@pytest.mark.parametrize("statistics", HOSTILE, ids=["assumed", "no events", "many events", "one instant"])
def test_estimates_are_numbers(statistics: Statistics) -> None:
    for number in range(40):
        match = sample(number).match
        found = choose(match, forms(match), statistics)
        named = [one.estimate for one in found.alternatives] + [one.estimate for one in found.baselines]
        for one in named:
            assert all(isfinite(value) and value >= 0 for value in numbers(one)), number
            assert isclose(one.work, sum(item.work for item in one.items))
            assert len(set(one.facts)) == len(one.facts)
            assert len({item.what for item in one.items}) == len(one.items)


def test_one_more_condition_gives_no_more_rows() -> None:
    for number in range(120):
        match = sample(number).match
        name = targets(match.pattern)[0]
        if any(isinstance(part, p.Repeat) and part.variable == name for part in walk(match.pattern)):
            continue
        stricter = with_condition(match, Binary("=", Attribute(Variable(name), "id", INT), Literal(7, INT)))
        before, after = (estimate(one, NOTHING_KNOWN).rows_produced for one in (match, stricter))
        assert after <= before * (1 + 1e-9), str(match.pattern)


def with_condition(match: Match, condition: Expr) -> Match:
    where = conjoin([match.pattern.where, condition])
    return replace(match, pattern=replace(match.pattern, where=where))


def test_a_wider_window_has_no_fewer_partial_matches() -> None:
    """Negations apart, of which a wider window meets more, and parts that may be empty: they are no match."""
    for number in range(120):
        match = sample(number).match
        parts = [part for part in walk(match.pattern) if isinstance(part, p.Pattern)]
        if match.collapsed or any(isinstance(part, p.Not) or may_be_empty(part) for part in parts):
            continue
        found = [estimate(within(match, width), NOTHING_KNOWN).partial_matches for width in (1, 3, 20, 500)]
        # A part with a window of its own is taken for one event by what stands around it: roughly right.
        assert all(b >= a * (1 - 1e-3) - 1e-6 for a, b in pairwise(found)), number


def within(match: Match, seconds: int) -> Match:
    return replace(match, within=p.Window(Literal(seconds, INT), "SECOND"))


# Against the reference: streams that come at random, as the model assumes


COUNTED = """
    SEQ(A a, B b) WITHIN 5 SECONDS
    SEQ(A a, B b, C c) WITHIN 5 SECONDS
    AND(A a, SEQ(B b, C c)) WITHIN 5 SECONDS
    SEQ(A a, OR(B b, SEQ(C c, D d))) WITHIN 5 SECONDS
    SEQ(A a, B b, C c) WHERE [id] WITHIN 20 SECONDS
    SEQ(A a, B b) WHERE a.x < b.x AND b.id = 1 WITHIN 10 SECONDS
    SEQ(A a, !C c, B b) WITHIN 5 SECONDS
    SEQ(!C c, A a, B b) WITHIN 5 SECONDS
    SEQ(A a, !SEQ(C c, D d), B b) WITHIN 10 SECONDS
    AND(A a, !C c, B b) WITHIN 4 SECONDS
    SEQ(A a, EXISTS c : C c, B b) WITHIN 5 SECONDS
    EXISTS c : SEQ(A a, C c, B b) WITHIN 5 SECONDS
    SEQ(A a, B+ b[], C c) WITHIN 4 SECONDS
    SEQ(A a, B{2} b[]) WITHIN 6 SECONDS
    SEQ(A a, SEQ(B b, C c) WITHIN 1 SECONDS, D d) WITHIN 6 SECONDS
    SEQ(A a, B b, C c) WITHIN 5 SECONDS USING SKIP TILL NEXT MATCH
    SEQ(A a, B b, C c) WITHIN 6 EVENTS
    SEQ(A a, B b) WITHIN 5 SECONDS USING STRICT CONTIGUITY
"""
SECONDS, EVENTS, KINDS, IDS, VALUES = 100, 200, "ABCD", 3, 5


def counted(match: Match, random: Random) -> int:
    table = [
        {
            "ts": random.randrange(SECONDS * 1_000),
            "kind": random.choice(KINDS),
            "id": random.randrange(IDS),
            "x": float(random.randrange(VALUES)),
            "user": "u",
            "n": 1,
        }
        for _ in range(EVENTS)
    ]
    return sum(1 for _ in find_matches(match, list(read_events(match.streams[0], table))))


@pytest.mark.parametrize("text", [line.strip() for line in COUNTED.strip().splitlines()])
def test_rows_are_near_the_counted_ones(text: str) -> None:
    """Within a factor of two, streams of few events being as random as they are."""
    statistics = known(
        ("EVENTS", EVENTS),
        ("SPAN", SECONDS),
        ("DISTINCT", len(KINDS), "kind"),
        ("DISTINCT", IDS, "id"),
        ("DISTINCT", VALUES, "x"),
        ("LEAST", 0, "x"),
        ("GREATEST", VALUES - 1, "x"),
    )
    random = Random(text)
    found = sum(counted(query(text), random) for _ in range(5)) / 5
    assert found / 2 < estimate(query(text), statistics).rows_produced < found * 2
