"""Sharing: what expressions have in common, and that what is shared keeps its meaning."""

from __future__ import annotations

from collections import defaultdict

import pytest
from generate.alternatives import asked, tables
from pattern_examples import query
from sharing_meaning import by_bit_marking, by_slice, found_by, keys, pattern_of

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import patterns as p
from neelc.sharing.cost import CostModel
from neelc.sharing.expressions import Expression, expressions
from neelc.sharing.operators import shared_slices
from neelc.sharing.sharing import share, share_expressions, share_queries

TEN = CostModel(lambda component: 10)


def sharing(text: str, model: CostModel = TEN) -> list[str]:
    """What the expressions of a query share: operator, members, and what is shared."""
    found = share_expressions(expressions(query(text)), model)
    return [
        f"{group.operator}: {' '.join(member.name for member in group.members)} {group.shared}".rstrip()
        for group in found.groups
    ]


def columns(text: str) -> list[list[str]]:
    return [[column.text for column in found.columns] for found in expressions(query(text))]


# What is an expression, and when are two the same?


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("SEQ(A a, B b)", "SEQ(A x, B y)"),
        ("SEQ((A a : a.x > 1), B b)", "SEQ(A u, B v) WHERE u.x > 1"),
        ("SEQ(A a, B b WHERE a.x = b.x)", "SEQ(A b, B a WHERE b.x = a.x)"),
        ("SEQ(A a, B b) WHERE a.x > 1 AND a.n > 2", "SEQ(A a, B b) WHERE a.n > 2 AND a.x > 1"),
        ("SEQ(A a, B b WHERE a.x = b.x AND a.n < b.n)", "SEQ(A a, B b WHERE b.n > a.n AND b.x = a.x)"),
        ("SEQ(A a, !B b, C c)", "SEQ(A a, !B x, C c)"),
        ("EXISTS b : SEQ(A a, !D d, B b, C c)", "SEQ(A a, EXISTS x : SEQ(!D y, B x), C c)"),
        ("SEQ(A a, B b) WHERE [id]", "SEQ(A a, B b WHERE [id])"),
    ],
)
def test_names_and_places_of_conditions_do_not_matter(one: str, two: str) -> None:
    (left,), (right,) = expressions(query(one)), expressions(query(two))
    assert left.slice(0, 9) == right.slice(0, 9)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("SEQ(A a, B b)", "SEQ(B b, A a)"),
        ("SEQ(A a, B b WHERE a.x > b.x)", "SEQ(A b, B a WHERE a.x > b.x)"),
        ("SEQ(A a, B b) WITHIN 5", "SEQ(A a, B b) WITHIN 6"),
        ("SEQ(A a, B b)", "SEQ(A a, B b) WHERE [id]"),
        ("SEQ(A a, !B b, C c)", "SEQ(A a, !D b, C c)"),
        ("SEQ(A a, !(B b : b.x > a.x), C c)", "SEQ(A a, !(B b : b.x > c.x), C c)"),
        ("SEQ(A a, B b) WITHIN 5 EVENTS", "SEQ(A a, B b) WITHIN 5"),
        ("SEQ(A a, B b)", "SEQ(A a, B b) USING SKIP TILL NEXT MATCH"),
    ],
)
def test_what_differs_in_meaning_differs(one: str, two: str) -> None:
    (left,), (right,) = expressions(query(one)), expressions(query(two))
    assert left.slice(0, 9) != right.slice(0, 9)


def test_the_contents_of_gaps() -> None:
    assert columns("SEQ(A a, !B b, !C c, D d)") == [["!B", "!C"]]
    assert columns("EXISTS c : SEQ(A a, !B b, C c, D d)") == [["(!B, C)"]]
    assert columns("SEQ(A a, !N n, EXISTS c : SEQ(!B b, C c, !C e), D d)") == [["!N", "(!B, C latest)"]]


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B? b, C c)",  # which gap is which?
        "EXISTS b, d : SEQ(A a, B b, C c, D d, E e WHERE b.x = d.x)",  # two gaps tied together
        "EXISTS b : (SEQ(A a, B b, C c) WITHIN 5)",  # a window that counts what is dropped
        "SEQ(A a, AND(B b, !N n), C c)",  # a negation whose scope depends on the neighbours
        "SEQ(A a, AND(B b, D d WHERE b.x > a.x), C c)",  # a condition inside on what is outside
    ],
)
def test_what_cannot_be_taken_apart_is_one_component(text: str) -> None:
    (found,) = expressions(query(text))
    assert len(found.components) == 1 and found.constraints == ()


def test_leaves_of_nested_and_seq_expressions() -> None:
    found = expressions(query("SEQ(X x, AND(SEQ(A a, B b), SEQ(C c, D d)), Y y)"))
    assert [len(one.components) for one in found] == [3, 2, 2]
    # The scope of a negation in the AND is what lies between x and y: such a part is not taken apart.
    found = expressions(query("SEQ(X x, AND(SEQ(A a, !N n, B b, !M m), SEQ(C c, D d)), Y y)"))
    assert [len(one.components) for one in found] == [1, 2, 2]
    assert str(found[1].slice(0, 2)) == "SEQ(A, !N, B)"


# NEEL, IV: what can be shared, and how.


def test_prefix_caching_of_example_9() -> None:
    found = sharing(
        "SEQ(Recycle, Washing, Sharpening, Disinfection, Checking)"
        " OR SEQ(Recycle, Washing, Sharpening, Disinfection, Operating)"
    )
    assert found == ["prefix caching: E1 E2 SEQ(Recycle, Washing, Sharpening, Disinfection)"]


def test_suffix_clustering_of_example_10() -> None:
    found = sharing(
        "AND(SEQ(Recycle, Washing, Sharpening, Disinfection, Checking),"
        " SEQ(Operating, Washing, Sharpening, Disinfection, Checking))"
    )
    assert found == ["suffix clustering: E1 E2 SEQ(Washing, Sharpening, Disinfection, Checking)"]


def test_shared_middle_and_what_prevents_it() -> None:
    assert sharing("SEQ(X, A, B, C, Y) OR SEQ(A, B, C, Z)") == ["shared middle: E1 E2 SEQ(A, B, C)"]
    assert sharing("SEQ(X, A, !N, B, Y) OR SEQ(A, B, Z)") == ["single: E1", "single: E2"]
    assert sharing("SEQ(X, A, !N, B, Y) OR SEQ(A, !N, B, Z)") == ["shared middle: E1 E2 SEQ(A, !N, B)"]


def test_what_lies_before_and_after_is_judged_on_the_whole_match() -> None:
    assert sharing("SEQ(!N, A, B, C) OR SEQ(!N, A, B, D) WITHIN 9") == ["prefix caching: E1 E2 SEQ(A, B)"]
    assert sharing("SEQ(C, A, B, !N) OR SEQ(D, A, B, !M) WITHIN 9") == ["suffix clustering: E1 E2 SEQ(A, B)"]


def test_bit_marking_asks_for_the_same_conditions() -> None:
    alike = "SEQ(A a, !X x, B b WHERE a.x = b.x) OR SEQ(A c, !Y y, B d WHERE c.x = d.x)"
    assert sharing(alike) == ["bit-marking: E1 E2 SEQ(A, B WHERE a.x = b.x)"]
    assert sharing("SEQ(A a, !X x, B b WHERE a.x = b.x) OR SEQ(A c, !Y y, B d)") == [
        "single: E1",
        "single: E2",
    ]


def test_a_prefix_is_not_cached_where_the_end_is_rare() -> None:
    rare = CostModel(lambda component: 0.01 if component.text in "XY" else 100)
    assert sharing("SEQ(A, B, C, X) OR SEQ(A, B, C, Y)", rare) == ["single: E1", "single: E2"]


def test_where_order_decides_only_prefixes_are_shared() -> None:
    order = "USING SKIP TILL NEXT MATCH"
    assert sharing(f"SEQ(A, B, C) OR SEQ(A, B, D) {order}") == ["prefix caching: E1 E2 SEQ(A, B)"]
    assert sharing(f"SEQ(A, B, C) OR SEQ(D, B, C) {order}") == ["single: E1", "single: E2"]
    assert sharing(f"SEQ(A, B+ b[], C) OR SEQ(A, B+ d[], D) {order}") == ["single: E1", "single: E2"]


def test_queries_share_if_windows_and_keys_agree() -> None:
    texts = ["SEQ(A a, B b, C c) WHERE [id] WITHIN 9", "SEQ(A x, B y, D z) WHERE [id] WITHIN 9"]
    assert len(share_queries([query(text) for text in texts], Statistics()).shared) == 1
    for other in ("SEQ(A a, B b, D d) WHERE [id] WITHIN 8", "SEQ(A a, B b, D d) WITHIN 9"):
        assert share_queries([query(texts[0]), query(other)], Statistics()).shared == ()


def test_a_query_without_sequences_shares_nothing() -> None:
    assert share(query("AND(A a, B b) WITHIN 5"), Statistics()).groups == ()


# What is shared means the same to all who share it.


def alike(found: tuple[Expression, ...]) -> list[list[Expression]]:
    """The expressions by their positive part."""
    groups = defaultdict(list)
    for one in found:
        groups[one.positive].append(one)
    return list(groups.values())


@pytest.mark.parametrize("number", range(40))
def test_expressions_slices_and_maps_keep_the_meaning(number: int) -> None:
    match, chance = asked(number)
    found = expressions(match)
    for _ in range(3):
        stream = tables(chance)
        whole = found_by(match, match.pattern, stream)
        again = found_by(match, p.Or(tuple(map(pattern_of, found))), stream)
        assert whole is None or again is None or keys(whole) == keys(again)
        for group in alike(found):
            apart = [found_by(match, pattern_of(one), stream) for one in group]
            marked = by_bit_marking(match, group, stream)
            if marked is not None and None not in apart:
                expected = {key for bindings in apart for key in keys(bindings or [])}
                assert len(marked) == len(expected) and keys(marked) == expected
        for shared in shared_slices(found):
            first, *others = by_slice(match, found, shared, stream)
            assert all(other == first for other in others)
