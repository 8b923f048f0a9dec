"""Many rules over streams, in process: one kernel, one state, each rule by its own timing."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from in_rule_streams import stream_set
from in_rules import rule_plans
from in_stream import Arrival
from pattern_examples import query
from rules_stream_fuzz import check, check_set

from neelc.pattern.plan.rule_sets import RuleSetPlan, streamed_rule_set

IN_ORDER = Arrival(1, 0, 0, 1)
"""One event at a time; the watermark is right behind."""


def made(*texts: str) -> RuleSetPlan:
    return streamed_rule_set(rule_plans([query(text) for text in texts]))


def event(kind: str, ts: int, id: int = 1) -> dict[str, object]:
    return {"ts": ts, "te": ts, "kind": kind, "id": id, "x": 1.0, "n": 1, "user": "u"}


@pytest.mark.long
def test_random_sets_over_streams() -> None:
    """`make fuzz` compares more of them."""
    seen = Counter[str]()
    for number in range(40):
        assert list(check_set(number, seen)) == []
    assert seen["sets"] > 30 and seen["matches"] > 100
    for what in ("sets with several keys", "rules in trees", "tests of values", "sets with late events"):
        assert seen[what], what


@pytest.mark.parametrize(
    "texts",
    [
        # What was no match becomes one by an event that is not part of it.
        ("EXISTS b : SEQ(A a, B b, C c) WITHIN 9", "SEQ(A a, C c) WITHIN 9"),
        # A single event is emitted once, though it is kept for the other rule.
        ("A a WHERE [id]", "SEQ(A a, B b) WHERE [id] WITHIN 9"),
        # The same roles, by different keys.
        ("SEQ(A a, B b) WITHIN 9", "SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b, C c) WITHIN 9"),
        # A window of EVENTS counts all events of its streams, one of time those that have a role.
        ("SEQ(A a, B b) WITHIN 3 EVENTS", "SEQ(A a, C c) WITHIN 9"),
        # One rule looks back further than the other; what it finds again, the other has given long ago.
        ("EXISTS b : SEQ(A a, B b) WITHIN 7", "EXISTS b : SEQ(A a, B b) WITHIN 2"),
        (
            "EXISTS a : SEQ(A a, !AND(C c, D d), B b) WITHIN 3",
            "EXISTS a : SEQ(A a, !AND(C c, D d), B b) WITHIN 7",
        ),
    ],
    ids=["exists", "single", "keys", "counted", "windows", "hidden"],
)
def test_sets_in_any_order_of_arrival(texts: tuple[str, ...]) -> None:
    rules = rule_plans([query(text) for text in texts])
    plan, seen, chance = streamed_rule_set(rules), Counter[str](), Random(1)
    for seed in range(12):
        rows = [event(chance.choice("ABCD"), ts, chance.randrange(2)) for ts in range(12)]
        assert list(check(plan, rules, {"S": rows}, seed, seen)) == []
    assert seen["rules with matches"] > 12


def test_each_rule_has_its_own_timing() -> None:
    """A pair is sure at once; that nothing came between is sure when the second has passed, and that nothing
    follows when the window has."""
    plan = made(
        "SEQ(A a, C c) WHERE [id] WITHIN 9",
        "SEQ(A a, !B b, C c) WHERE [id] WITHIN 9",
        "SEQ(A a, !B b) WHERE [id] WITHIN 9",
    )
    assert len(plan.parts) == 1
    found = stream_set(plan, {"S": [event("A", 1), event("C", 3), event("D", 5), event("A", 30)]}, IN_ORDER)
    first = [next(n for n, call in enumerate(found.calls) if call[name]) for name in ("R0", "R1", "R2")]
    assert first == sorted(first) and len({*first}) == 3, first


def test_an_event_is_kept_once_for_all_rules() -> None:
    windows = range(5, 30)
    plan = made(*(f"SEQ(A a, B b) WHERE [id] AND a.x < {n} WITHIN {n}" for n in windows))
    rows = [event("AB"[n % 2], n) for n in range(20)]
    kept = stream_set(plan, {"S": rows}, Arrival(1000, 0, 0, 1)).kept
    assert max(kept) == len(rows)


def test_an_event_is_kept_for_the_rules_that_read_it() -> None:
    """The window of one rule does not make the events of another last longer."""
    plan = made("SEQ(A a, B b) WITHIN 3", "SEQ(C c, D d) WITHIN 1000")
    rows = [event("A", n) for n in range(40)] + [event("C", 1)]
    kept = stream_set(plan, {"S": rows}, Arrival(1, 0, 0, 1)).kept
    assert max(kept) <= 6


def test_rules_with_other_keys_do_not_meet() -> None:
    plan = made("SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b) WITHIN 9")
    assert [[key.name for key in part.keys] for part in plan.parts] == [["id"], []]
    found = stream_set(plan, {"S": [event("A", 1, 1), event("B", 2, 2), event("B", 3, 1)]}, IN_ORDER)
    assert [len(found.matches(name)) for name in ("R0", "R1")] == [1, 2]
