"""The cost model: numbers computed by hand, and what is chosen by them."""

from __future__ import annotations

from math import isfinite

import pytest
from known_statistics import known
from pattern_examples import query

from neelc.catalog.statistics.numbers import KnownStatistic, Statistics
from neelc.ir.expressions import conjuncts
from neelc.pattern.cost import choose as compute
from neelc.pattern.cost.choose import choose, nested_estimate, order_conditions, rank
from neelc.pattern.cost.estimate import estimate
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.selectivity import selectivity
from neelc.pattern.cost.setting import ShortcutEffect
from neelc.pattern.rules.driver import forms

NOTHING_KNOWN = Statistics()


# A thousand seconds, ten types, ten events a second: one of each type.
EVEN = known(("EVENTS", 10_000), ("SPAN", 1_000), ("DISTINCT", 10, "kind"), ("DISTINCT", 100, "id"))


def rows(text: str, statistics: Statistics = EVEN) -> float:
    return estimate(query(text), statistics).rows_produced


def share(text: str, statistics: Statistics = NOTHING_KNOWN) -> float:
    match = query(f"SEQ(A a, B b) WHERE {text}")
    assert match.pattern.where is not None
    return selectivity(match.pattern.where, match, statistics).value


# Selectivity


def test_bounds_say_how_many_values_lie_in_a_range() -> None:
    statistics = known(("LEAST", 0, "x"), ("GREATEST", 200, "x"), ("NULLS", 0.5, "x"))
    assert share("a.x < 50", statistics) == pytest.approx(0.125)
    assert share("a.x > 50", statistics) == pytest.approx(0.375)
    assert share("50 > a.x", statistics) == pytest.approx(0.125)
    assert share("NOT a.x < 50", statistics) == pytest.approx(0.375), "UNKNOWN stays UNKNOWN"
    assert share("a.x BETWEEN 50 AND 100", statistics) == pytest.approx(0.125)
    assert share("a.x IS NULL", statistics) == 0.5
    assert share("(a.x < 50) IS UNKNOWN", statistics) == 0.5
    assert 0 < share("a.x > 300", statistics) < 1e-5, "statistics grow old"


def test_whole_numbers_count_both_ends() -> None:
    statistics = known(("LEAST", 1, "n"), ("GREATEST", 4, "n"))
    assert share("a.n <= 3", statistics) == pytest.approx(0.75)
    assert share("a.n < 3", statistics) == pytest.approx(0.5)
    assert share("a.n >= 4", statistics) == pytest.approx(0.25)


def test_what_is_declared_comes_first() -> None:
    declared = Statistics((KnownStatistic("S", "SELECTIVITY", 0.07, "declared", None, "a.x < b.x"),))
    assert share("a.x < b.x", declared) == 0.07


def test_assumptions_are_told() -> None:
    match = query("SEQ(A a, B b) WHERE a.user LIKE '%u' AND a.id = 3")
    assert match.pattern.where is not None
    facts = selectivity(match.pattern.where, match, NOTHING_KNOWN).facts
    assert {(fact.what, fact.origin) for fact in facts} == {
        ("selectivity of a.user LIKE '%u'", "assumed"),
        ("distinct values of id of type A in S", "assumed"),
    }


# Hand-computed numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A a WITHIN 10 SECONDS", 1_000),
        # Each A meets 10 B, but for the last 10 seconds, where it meets half of them.
        ("SEQ(A a, B b) WITHIN 10 SECONDS", 1_000 * 10 - 50),
        ("AND(A a, B b) WITHIN 10 SECONDS", 2 * (1_000 * 10 - 50)),
        # r^3 * (3 d w^2 - 2 w^3) / 3!
        ("SEQ(A a, B b, C c) WITHIN 10 SECONDS", (3 * 1_000 * 100 - 2 * 1_000) / 6),
        ("OR(A a, SEQ(B b, C c)) WITHIN 10 SECONDS", 1_000 + 9_950),
        ("SEQ(A a, B b) WHERE [id] WITHIN 10 SECONDS", 99.5),
        ("SEQ(A a, B b) WHERE a.id = b.id AND b.id = a.id WITHIN 10 SECONDS", 99.5),
        # Closed under transitivity or not, three equal ids are one in 100 twice.
        ("SEQ(A a, B b, C c) WHERE a.id = b.id AND b.id = c.id WITHIN 10 SECONDS", 298_000 / 6 / 10_000),
        (
            "SEQ(A a, B b, C c) WHERE [id] AND a.id = b.id AND a.id = c.id WITHIN 10 SECONDS",
            298_000 / 6 / 10_000,
        ),
        # Pairs of neighbours with nothing between: (1 - e^-10) / 10 of them.
        ("SEQ(A a, !N n, B b) WITHIN 10 SECONDS", 9_950 * 0.0962),
        ("A? a WITHIN 10 SECONDS", 1_100),
    ],
)
def test_rows_by_hand(text: str, expected: float) -> None:
    assert rows(text) == pytest.approx(expected, rel=0.01)


def test_skew_makes_keys_agree() -> None:
    skewed = Statistics((*EVEN.known, KnownStatistic("S", "MOST FREQUENT", 0.5, "declared", None, "id")))
    even, often = (
        rows("SEQ(A a, B b) WHERE [id] WITHIN 10 SECONDS"),
        rows("SEQ(A a, B b) WHERE [id] WITHIN 10 SECONDS", skewed),
    )
    assert often / even == pytest.approx((0.25 + 0.25 / 99) * 100, rel=0.01)


def test_growth_is_the_thesis_formula_for_two_events() -> None:
    """In one window: |S_1| * |S_2| * Pt, with Pt = 1/2, for two components; for three, 1/6, not 1/4."""
    found = estimate(query("SEQ(A a, B b) WITHIN 10 SECONDS"), EVEN)
    assert found.held == pytest.approx(10 + compute.combinations([10, 10]))
    found = estimate(query("SEQ(A a, B b, C c) WITHIN 10 SECONDS"), EVEN)
    assert found.held == pytest.approx(10 + 50 + compute.results([10, 10, 10]) * 4 / 6)


def test_kleene_explodes_but_not_the_estimate() -> None:
    found = estimate(query("SEQ(A a, B+ b[], C c)"), EVEN)
    assert found.explodes and isfinite(found.work)
    linear = estimate(query("SEQ(A a, B+ b[], C c) USING SKIP TILL NEXT MATCH"), EVEN)
    assert not linear.explodes
    collapsed = estimate(query("SEQ(A a, B+ b[], C c) RETURN COLLAPSED"), EVEN)
    assert not collapsed.explodes


def test_conditions_at_the_end_cost_more_and_find_the_same() -> None:
    match = query("SEQ(A a, B b, C c) WHERE a.id = b.id AND a.x < b.x WITHIN 100 SECONDS")
    early, late = estimate(match, EVEN), estimate(match, EVEN, push_in=False)
    assert late.work > early.work and late.partial_matches > 10 * early.partial_matches
    assert late.rows_produced == pytest.approx(early.rows_produced)
    assert nested_estimate(match, EVEN).work > early.work


def test_distinct_limits_rows() -> None:
    assert rows("SEQ(A a, B b) RETURN DISTINCT a.id") == 100
    assert rows("SEQ(A a, B b) RETURN a.id, count(*) AS n") == 100


def test_columns_that_are_not_used_are_not_shuffled() -> None:
    narrow = estimate(query("SEQ(A a, B b) WHERE [id] RETURN a.id"), EVEN)
    wide = estimate(query("SEQ(A a, B b) WHERE [id] RETURN a.id, b.user"), EVEN)
    assert narrow.bytes_shuffled == 2_000 * (8 + 4 + 8)
    assert wide.bytes_shuffled == narrow.bytes_shuffled + 1_000 * 20
    assert narrow.rows_scanned == 10_000, "a stream is read once, types that are not needed too"


# Shortcuts


def test_a_shortcut_drops_work_and_no_rows() -> None:
    match = query("SEQ(A a, SEQ(B b, C c WHERE c.id = a.id), D d) WITHIN 200 SECONDS")
    statistics = Statistics((*EVEN.known, KnownStatistic("S", "DISTINCT", 5, "declared", "C", "id")))
    plain = estimate(match, statistics)
    short = estimate(match, statistics, (ShortcutEffect(("a", "id"), ("c", "id"), 0.05),))
    assert short.rows_produced == pytest.approx(plain.rows_produced)
    before, after = ({item.what: item.work for item in found.items} for found in (plain, short))
    assert after["extend partial matches"] < before["extend partial matches"] * 0.8
    assert after["shuffle"] < before["shuffle"] and after["shortcuts"] > 0


# The order of conditions


def test_the_cheapest_order_is_found() -> None:
    texts = ["a.user RLIKE 'u'", "a.x < b.x", "a.id = b.id", "a.user LIKE '%u%'", "a.n IN (1, 2)", "a.x < 3"]
    match = query(f"SEQ(A a, B b) WHERE {' AND '.join(texts)}")
    ledger = Ledger(match, EVEN)
    ordered = conjuncts(order_conditions(match, EVEN).pattern.where)
    ranks = [rank(condition, ledger) for condition in ordered]
    assert ranks == sorted(ranks) and set(ordered) == set(conjuncts(match.pattern.where))
    best = order_conditions(match, EVEN)
    assert order_conditions(best, EVEN) is best


# Choice


def test_ties_go_to_the_first_form() -> None:
    match = query("SEQ(A a, B b) WITHIN 10 SECONDS")
    found = choose(match, forms(match), EVEN)
    assert found.chosen is found.alternatives[0]
    assert found.reason == "No rule offers another form than the simplified query."


def test_cost_decides_about_the_normal_form() -> None:
    """A negated SEQ whose first event is frequent and whose last is rare: the latest of the rare ones is
    looked up at once, where nested execution tries the frequent ones."""
    match = query("SEQ(A a, !SEQ(B b, C c), D d) WITHIN 1000 SECONDS")
    rare = known(("EVENTS", 100_000), ("SPAN", 10_000), ("SHARE", 0.8, "", "B"), ("SHARE", 0.0001, "", "C"))
    found = choose(match, forms(match), rare)
    assert found.chosen.form.name == "normal form"
    assert "less work than the simplified query, because of" in found.reason
    often = known(("EVENTS", 100_000), ("SPAN", 10_000), ("SHARE", 0.0001, "", "B"), ("SHARE", 0.8, "", "C"))
    assert choose(match, forms(match), often).chosen.form.name == "simplified"
    works = {one.form.name: one.estimate.rows_produced for one in found.alternatives}
    assert len(set(works.values())) == 1, "forms of a query have the same rows"
