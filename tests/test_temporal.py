"""MATCH_RECOGNIZE_TEMPORAL: binding, plans, and the kernel against the reference on random clauses."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from in_temporal import bound, by_definition, by_kernel, clause
from temporal_fuzz import pair

from neelc import syntax as parse
from neelc.algebra.plan.temporal import join_order, temporal_plan
from neelc.explain.temporal import graph_lines
from neelc.ir.allen import ALLEN, TEXTS, WORDS, deciding_step, mirrored, relation
from neelc.ir.bound_rows import Temporal
from neelc.ir.script import CreateQuery, RunQuery
from neelc.syntax.printer import format_script


@pytest.mark.parametrize("seed", range(0, 100, 20))
def test_the_kernel_finds_what_the_reference_finds(seed: int) -> None:
    matches = [pair(number) for number in range(seed, seed + 20)]
    assert sum(filter(None, matches)), "some of them find something"


def test_exactly_one_word_holds_of_two_intervals() -> None:
    intervals = [(start, end) for start, end in product(range(4), repeat=2) if start <= end]
    seen = {relation(a, b) for a, b in product(intervals, repeat=2)}
    assert seen == set(WORDS)
    for a, b in product(intervals, repeat=2):
        assert relation(b, a) == mirrored(relation(a, b))


def test_what_decides_a_word_leaves_no_other_outside_of_the_list() -> None:
    for wanted in combinations(WORDS, 3):
        for word in wanted:
            step = deciding_step(word, wanted)
            assert all(one in wanted for one in WORDS if one[:step] == word[:step])
            assert not step or any(one not in wanted for one in WORDS if one[: step - 1] == word[: step - 1])


@pytest.mark.parametrize("name", ALLEN)
def test_a_name_means_its_words(name: str) -> None:
    words = ";".join(TEXTS[word] for word in ALLEN[name])
    definitions = "DEFINE A AS TEMP(x > 0), B AS TEMP(y > 0)"
    found = []
    for pattern in (f"A {name} B", f"({words})"):
        [one] = bound(f"PATTERN {pattern} {definitions}").alternatives[0].relations
        found.append({word if one.left == "A" else mirrored(word) for word in one.words})
    assert found[0] == found[1]


def test_all_words_together_are_every_pair() -> None:
    words = ";".join(TEXTS.values())
    query = bound(f"MEASURES START(A).ts AS a, START(B).ts AS b PATTERN ({words}) "
                  "DEFINE A AS TEMP(x > 0), B AS TEMP(y > 0)")  # fmt: skip
    rows = [
        {"k": 1, "ts": ts, "x": int(x), "y": float(y), "s": None, "n": 1}
        for ts, (x, y) in enumerate(zip("1203010", "0110110", strict=True))
    ]
    found = by_definition(query, rows)
    assert found == by_kernel(query, rows, 1000, 1000)
    assert found.total() == 3 * 2, "each run of A with each of B"


def bound_text(text: str) -> Temporal:
    return bound(f"{text} DEFINE A AS TEMP(x > 0), B AS TEMP(y > 0), C AS TEMP(x < 0)")


@pytest.mark.parametrize(
    "pattern",
    [
        "AABB, BBCC, CCAA",
        "AABB, BB.CC, CCAA",
        "A.BAB, BBCC, (C OVERLAPS A; C DURING A)",
        "AA.BB, BB.CC, A.CAC",
    ],
)
def test_patterns_that_nothing_satisfies(pattern: str) -> None:
    query, problems = clause(f"PATTERN {pattern} DEFINE A AS TEMP(x > 0), B AS TEMP(y > 0), C AS TEMP(x < 0)")
    assert query is None and "NEEL3212" in problems


@pytest.mark.parametrize("pattern", ["AABB, BBCC, (CCAA;AACC)", "AABB, BB.CC", "(AABB, BBCC, AACC); (CCAA)"])
def test_patterns_of_which_some_choice_can_hold(pattern: str) -> None:
    assert bound_text(f"PATTERN {pattern}")


def test_what_others_depend_on_is_joined_before_them() -> None:
    query = bound("MEASURES START(B).x AS v PATTERN A OVERLAPS C, C OVERLAPS B "
                  "DEFINE A AS TEMP(x > 0), B AS TEMP(y > 0), C AS TEMP(x > v)")  # fmt: skip
    symbols = {one.name: one for one in query.symbols}
    order = join_order(query.alternatives[0], symbols)
    assert order.index("B") < order.index("C")
    program = temporal_plan(query, "MILLISECOND").program
    assert [program.symbols[number].name for number in program.alternatives[0].symbols] == list(order)


def test_the_constraint_graph_is_told_in_the_order_of_joins() -> None:
    definitions = "A AS TEMP(x > 0), B AS TEMP(y > v), C AS TEMP(x < 0), D AS TEMP(s = 'p')"
    pattern = "A OVERLAPS B, B MEETS C, A BEFORE C, !D, AADD"
    query = bound(f"MEASURES START(A).x AS v PATTERN {pattern} DEFINE {definitions}")
    assert list(graph_lines(query.alternatives[0], query)) == [
        "1. A",
        "2. B, for each A by A -[ABAB]- B at END(A)",
        "3. C by B -[BB.CC]- C at START(C), A -[AACC; A.ACC; AAC.C; A.AC.C]- C at START(C)",
        "no D by A -[AADD]- D",
    ]


def test_queries_of_tpstream_stand_where_others_do() -> None:
    own = "FROM E DEFINE A AS x > 1 DO v = x, B AS x < 1 PATTERN (A); (A.AB.B) WITHIN 5 RETURN v"
    script = parse.script(f"({own}) AS P; CREATE QUERY Q AS {own}; {own}; SELECT v FROM Q")
    first, second, third, last = script.statements
    assert isinstance(first, CreateQuery) and isinstance(second, CreateQuery) and isinstance(third, RunQuery)
    assert first.query == second.query == third.query and isinstance(last, RunQuery)
    assert parse.script(format_script(script)) == script
