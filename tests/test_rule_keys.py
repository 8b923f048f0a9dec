"""Rules of a finer key in the pass of a coarser one: that they have the matches that they have alone, and
when they stay in a pass of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from in_bridge import Way
from in_rules import rule_plans, set_matches
from pattern_examples import STREAM, query

from neelc.explain.rules import choice_line
from neelc.pattern.plan.rule_keys import RulePlan
from neelc.pattern.plan.rule_sets import RuleSetPlan, rule_sets
from neelc.runtime.kernels.rules.program import walk_nodes
from neelc.runtime.program import Take
from neelc.runtime.reference import Tables
from neelc.runtime.reference.model import ReferenceEvent

PLAIN = Way(7, 1000, None, None, 1)


def planned(*texts: str, head: str = STREAM) -> list[RulePlan]:
    return rule_plans([query(text, head) for text in texts])


def joined(*texts: str, head: str = STREAM) -> RuleSetPlan:
    """The pass of rules with several keys, which is one."""
    (made,) = rule_sets(planned(*texts, head=head))
    assert all(choice.joins for choice in made.choices) and made.choices
    return made


def rows(made: RuleSetPlan, tables: Tables) -> dict[str, list[tuple[object, ...]]]:
    """The times of each match of each rule."""
    found = set_matches(made, tables, PLAIN)
    return {name: sorted(tuple(map(times, one.values())) for one in own) for name, own in found.items()}


def times(bound: object) -> object:
    if isinstance(bound, ReferenceEvent):
        return bound.attributes["ts"]
    return tuple(map(times, bound)) if isinstance(bound, tuple) else bound


def events(text: str) -> dict[str, list[dict[str, object]]]:
    """Events of the stream S, one a line: time, type, id and n; `-` is NULL."""
    found = []
    for line in text.strip().splitlines():
        ts, kind, *values = line.split()
        id, n = (None if value == "-" else int(value) for value in values)
        found.append({"ts": int(ts), "kind": kind, "id": id, "n": n, "x": 0.0, "user": "u"})
    return {"S": found}


# Fewer keys.

CARDS = events("""
    1 A 1 1
    2 A 1 2
    3 C 1 2
    4 B 1 1
    5 B 2 1
    6 B 1 -
    7 A - 1
    8 B - 1
    9 B 1 2
""")


def test_one_more_key_is_a_condition() -> None:
    """NULL equals nothing, be it of the key of the pass or of the other."""
    made = joined("SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b) WHERE [id, n] WITHIN 9")
    assert [key.name for key in made.keys] == ["id"]
    assert rows(made, CARDS) == {
        "R0": [(1, 4), (1, 6), (1, 9), (2, 4), (2, 6), (2, 9)],
        "R1": [(1, 4), (2, 9)],
    }


def test_the_finer_rule_finds_the_events_of_its_key_itself() -> None:
    """They have the first step in common. Then an equality is cheaper to look up than to check."""
    made = joined("SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b) WHERE [id, n] WITHIN 9")
    (tree,) = made.program.trees
    taken = [node for node in walk_nodes(tree.root) if isinstance(node.step, Take)]
    assert [node.rules.bit_count() for node in taken] == [2, 1, 1]


def test_a_negation_looks_for_events_of_its_own_key() -> None:
    """The C at 3 has n = 2: it comes between 2 and 9, and not between 1 and 4."""
    made = joined("SEQ(A a, !C c, B b) WHERE [id] WITHIN 9", "SEQ(A a, !C c, B b) WHERE [id, n] WITHIN 9")
    assert rows(made, CARDS) == {"R0": [], "R1": [(1, 4)]}


def test_conjunctions_and_closures() -> None:
    made = joined(
        "AND(A a, B b) WHERE [id] WITHIN 9",
        "AND(B b, A a) WHERE [id, n] WITHIN 9",
        "SEQ(A a, B+ b[]) WHERE [id, n] WITHIN 9",
        "SEQ(A a, B+ b[]) WHERE [id, n] WITHIN 9 USING SKIP TILL NEXT MATCH",
    )
    more = {"S": [*CARDS["S"], {"ts": 10, "kind": "B", "id": 1, "n": 1, "x": 0.0, "user": "u"}]}
    found = rows(made, more)
    assert found["R1"] == [(4, 1), (9, 2), (10, 1)]
    assert found["R2"] == [(1, (4,)), (1, (4, 10)), (1, (10,)), (2, (9,))]
    assert found["R3"] == [(1, (4,)), (1, (4, 10)), (2, (9,))]


def test_a_pass_in_chunks_of_time_takes_finer_rules_too() -> None:
    """Where few keys have most of the events, these are spread by time."""
    texts = ["SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b) WHERE [id, n] WITHIN 9"]
    (made,) = rule_sets([replace(rule, chunked=True) for rule in planned(*texts)])
    assert [choice.joins for choice in made.choices] == [True]
    assert made.program.events.keys == ("id", "chunk")
    in_chunks = set_matches(made, CARDS, replace(PLAIN, chunk=1))
    assert {name: len(own) for name, own in in_chunks.items()} == {"R0": 6, "R1": 2}


def test_a_chain_of_keys_is_one_pass() -> None:
    made = joined(
        "SEQ(A a, B b) WHERE [id, n, user] WITHIN 9",
        "SEQ(A a, B b) WHERE [id, n] WITHIN 9",
        "SEQ(A a, B b) WHERE [id] WITHIN 9",
    )
    assert len(made.choices) == 2
    assert {name: len(found) for name, found in rows(made, CARDS).items()} == {"R0": 2, "R1": 2, "R2": 6}


@pytest.mark.parametrize(
    "texts",
    [
        ("SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b) WHERE [n] WITHIN 9"),
        ("SEQ(A a, B b) WITHIN 9", "SEQ(A a, B b) WHERE [n] WITHIN 9"),
        ("SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b) WHERE [id, n]"),
        ("SEQ(A a, B b) WHERE [id] WITHIN 9", "SEQ(A a, B b) PARTITION BY id, n WITHIN 3 EVENTS"),
    ],
    ids=["other keys", "no key", "no window", "events are counted"],
)
def test_rules_that_stay(texts: Sequence[str]) -> None:
    assert len(rule_sets(planned(*texts))) == 2


# Levels.

PLACES = """CREATE RELATION Places (street STRING, city STRING, country STRING);
CREATE HIERARCHY Place (street, city, country) FROM Places;
CREATE STREAM S (ts BIGINT, kind STRING, street STRING) TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind;
"""
STREETS: Tables = {
    "Places": [
        {"street": "Rue", "city": "Paris", "country": "France"},
        {"street": "Quai", "city": "Paris", "country": None},
        {"street": "Via", "city": None, "country": None},
    ],
    "S": [
        {"ts": ts, "kind": kind, "street": street}
        for ts, kind, street in [
            (1, "A", "Rue"),
            (2, "A", "Quai"),
            (3, "A", "Via"),
            (4, "A", "Gasse"),
            (5, "A", None),
            (6, "C", "Quai"),
            (7, "B", "Rue"),
            (8, "B", "Gasse"),
            (9, "B", "Via"),
            (10, "B", None),
            (11, "B", "Quai"),
        ]
    ],
}


def test_streets_in_the_pass_of_their_cities() -> None:
    """Streets whose city is not known, Via and Gasse, are one partition: each still matches itself only."""
    made = joined(
        "SEQ(A a, B b) WHERE [level(street, Place.city)] WITHIN 20",
        "SEQ(A a, B b) WHERE [street] WITHIN 20",
        "SEQ(A a, !C c, B b) WHERE [street] WITHIN 20",
        head=PLACES,
    )
    assert rows(made, STREETS) == {
        "R0": [(1, 7), (1, 11), (2, 7), (2, 11)],
        "R1": [(1, 7), (2, 11), (3, 9), (4, 8)],
        "R2": [(1, 7), (3, 9), (4, 8)],
    }


def test_a_level_is_no_function_of_another_level() -> None:
    """Paris is in France by Rue, and not known to be by Quai: so cities are not found by their country."""
    sets = rule_sets(
        planned(
            "SEQ(A a, B b) WHERE [level(street, Place.country)] WITHIN 20",
            "SEQ(A a, B b) WHERE [level(street, Place.city)] WITHIN 20",
            head=PLACES,
        )
    )
    found = {name: one for made in sets for name, one in rows(made, STREETS).items()}
    assert len(sets) == 2
    assert found == {"R0": [(1, 7)], "R1": [(1, 7), (1, 11), (2, 7), (2, 11)]}


# What is chosen.

COUNTED = """CREATE STREAM S (ts BIGINT, kind STRING, id BIGINT, n INT)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind
  WITH STATS (RATE 1000 PER SECOND, EVENTS 1000000, DISTINCT id {ids}, DISTINCT n 50{more});
"""


def chosen(ids: int, window: int, more: str = "") -> str:
    """What `explain` says about a rule with one more key."""
    texts = (f"SEQ(A a, B b) WHERE [{keys}] WITHIN {window} SECONDS" for keys in ("id", "id, n"))
    sets = rule_sets(planned(*texts, head=COUNTED.format(ids=ids, more=more)))
    (choice,) = (choice for made in sets for choice in made.choices)
    assert len(sets) == (1 if choice.joins else 2)
    return choice_line(choice).strip()


def test_a_pass_is_saved_where_matches_are_few() -> None:
    """An event meets one of the other type and of its id in a window: to read events is most of the work."""
    assert chosen(1000, 10) == (
        "joins    R1 with [id, n], partitioned by [id]: 1.8x less work is expected than in two passes"
    )


def test_a_rule_stays_where_matches_are_many() -> None:
    """A thousand of each type and id are in a window."""
    assert chosen(100, 1000).startswith("stays    R1 with [id, n]: in the pass of [id] 1.")


def test_a_rule_stays_where_one_key_has_many_events() -> None:
    assert chosen(1000, 10, ", MOST FREQUENT id 0.1") == (
        "stays    R1 with [id, n]: in the pass of [id] one key has 10 % of the events"
    )


@pytest.mark.parametrize(("stats", "share"), [("", 1000**-0.5), (" WITH STATS (DISTINCT city 50)", 1 / 50)])
def test_how_many_values_a_level_has(stats: str, share: float) -> None:
    """What the relation says, or else the square root of those of the attribute."""
    head = PLACES.replace("country STRING)", f"country STRING){stats}")
    keys = ("level(street, Place.city)", "street")
    (made,) = rule_sets(planned(*(f"SEQ(A a, B b) WHERE [{key}] WITHIN 9" for key in keys), head=head))
    assert made.choices[0].share == pytest.approx(share)


def test_a_level_keeps_events_apart() -> None:
    """Of a thousand B in a window, one is of the same city."""
    head = PLACES.replace("country STRING)", "country STRING) WITH STATS (DISTINCT city 1000)").replace(
        "TYPE BY kind",
        "TYPE BY kind WITH STATS (RATE 1000 PER SECOND, EVENTS 1000000, DISTINCT street 20000)",
    )
    keys = ("level(street, Place.city)", "street")
    made = joined(*(f"SEQ(A a, B b) WHERE [{key}] WITHIN 10 SECONDS" for key in keys), head=head)
    assert [choice_line(choice).split(": ")[1] for choice in made.choices] == [
        "1.8x less work is expected than in two passes"
    ]
