"""Many rules in one pass: what they share, how events are judged, and that each has the matches that it has
alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from fuzz_runner import checked
from in_bridge import Way
from in_kernel import as_bindings
from in_rules import rule_plans, set_matches
from pattern_examples import query
from rules_fuzz import check_set

from neelc.engines.spark.python_source import classes_in_source, source_of
from neelc.ir import patterns as p
from neelc.ir.node import Node, transform
from neelc.pattern.plan.rule_containment import contained_rules
from neelc.pattern.plan.rule_keys import RulePlan
from neelc.pattern.plan.rule_sets import RuleSetPlan, branches_of, rule_sets
from neelc.runtime.columns import Columns
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels.rules.judging import RoleLookup, role_pairs
from neelc.runtime.kernels.rules.kernel import rules_kernel
from neelc.runtime.kernels.rules.program import (
    JudgedRole,
    RuleEntry,
    RuleSet,
    ValueRange,
    ValueTest,
    walk_nodes,
)
from neelc.runtime.program import PatternProgram, Take, VariableOutput
from neelc.runtime.reference import matches

EVENTS = {
    "S": [
        {"ts": ts, "kind": kind, "id": 1 + ts % 2, "x": float(ts % 5), "n": ts % 3, "user": "u"}
        for ts, kind in enumerate("ABCDEFABDCABCEFDABXYCBADCBA")
    ]
}
PLAIN = Way(7, 1000, None, None, 1)


def one_set(*texts: str) -> RuleSetPlan:
    """The set of some rules, which is one."""
    (made,) = rule_sets(rule_plans([query(text) for text in texts]))
    return made


def taken_by(made: RuleSetPlan) -> list[tuple[str, int]]:
    """The steps of all trees that bind an event: its variable, and how many rules take it together."""
    nodes = [node for tree in made.program.trees for node in walk_nodes(tree.root)]
    return [
        (str(node.step.variable), node.rules.bit_count()) for node in nodes if isinstance(node.step, Take)
    ]


def check_rows(made: RuleSetPlan) -> None:
    """Each rule of a set has the matches that the reference finds for it alone."""
    found = set_matches(made, EVENTS, PLAIN)
    assert any(found.values())
    for rule in made.plans:
        expected = Counter(as_bindings(matches(rule.query, EVENTS)))
        assert as_bindings(found[rule.name]) == expected, rule.name


def test_a_common_beginning_is_taken_once() -> None:
    made = one_set(
        "SEQ(A a, B b, C c) WITHIN 9", "SEQ(A x, B y, D z) WITHIN 9", "SEQ(A p, B q, E r) WITHIN 9"
    )
    assert taken_by(made)[:2] == [("v1", 3), ("v2", 3)]
    check_rows(made)


def test_a_common_end_is_taken_once() -> None:
    made = one_set("SEQ(A a, B b, C c) WITHIN 9", "SEQ(D d, A x, B y, C z) WITHIN 9")
    assert taken_by(made) == [("v1", 2), ("v2", 2), ("v3", 2), ("v4", 1)]
    check_rows(made)


def test_a_common_middle_is_taken_once() -> None:
    made = one_set("SEQ(D d, A a, B b, C c) WITHIN 9", "SEQ(E e, A x, B y, F f) WITHIN 9")
    assert taken_by(made)[:2] == [("v1", 2), ("v2", 2)]
    check_rows(made)


def test_negations_of_some_rules_are_checks_of_some_bits() -> None:
    made = one_set(
        "SEQ(A a, C c) WITHIN 9",
        "SEQ(A a, !B b, C c) WITHIN 9",
        "SEQ(A a, !D d, C c) WITHIN 9",
        "SEQ(A a, !B b, !D d, C c) WITHIN 9",
    )
    assert taken_by(made) == [("v1", 4), ("v2", 4)]
    (tree,) = made.program.trees
    checks = [check for node in walk_nodes(tree.root) for check in node.checks]
    assert sorted(check.rules.bit_count() for check in checks) == [1, 1, 1]
    check_rows(made)


def test_a_sequence_is_found_among_the_rows_of_a_conjunction() -> None:
    made = one_set("AND(A a, B b) WITHIN 9", "SEQ(A x, B y) WITHIN 9", "SEQ(A x, !C c, B y) WITHIN 9")
    assert taken_by(made) == [("v1", 3), ("v2", 3)]
    check_rows(made)


def test_a_narrow_window_is_found_among_the_rows_of_a_wide_one() -> None:
    made = one_set("SEQ(A a, B b) WITHIN 9", "SEQ(A x, B y) WITHIN 3")
    assert taken_by(made) == [("v1", 2), ("v2", 2)]
    check_rows(made)


def test_equal_rules_run_once() -> None:
    made = one_set("SEQ(A a, !SEQ(B b, C c), D d) WITHIN 9", "SEQ(A x, !SEQ(B y, C z), D w) WITHIN 9")
    assert {(rule.program, rule.roles) for rule in made.program.rules} == {(0, (0, 1, 2, 3))}
    assert taken_by(made) == [("v1", 2), ("v2", 2)]
    check_rows(made)


def test_equal_closures_run_once() -> None:
    made = one_set(*["SEQ(A a, B+ b[], C c) WITHIN 9 USING SKIP TILL NEXT MATCH"] * 2)
    assert not made.program.trees
    check_rows(made)


def test_rules_with_nothing_in_common_run_alone() -> None:
    made = one_set("SEQ(A a, B b) WITHIN 9", "SEQ(C c, D d) WITHIN 9")
    assert not made.program.trees
    check_rows(made)


def test_the_plan_finder_groups_the_mixed_workload_as_the_paper_does() -> None:
    """NEEL, VI-F: bit-marking of three, suffix clustering of two, bit-marking of two."""
    text = """SEQ(A, !B, C, D) OR SEQ(A, !E, C, D) OR SEQ(A, !F, C, D)
        OR SEQ(F, X, Y, A, C) OR SEQ(B, X, Y, A, C) OR SEQ(D, !F, B, E)
        OR EXISTS F : SEQ(D, !B, F, B, E) WITHIN 9"""
    branches = branches_of(query(text))
    assert len(branches) == 7
    plans = [
        RulePlan(f"R{n}", plan.query, plan.planned, plan.keys) for n, plan in enumerate(rule_plans(branches))
    ]
    (made,) = rule_sets(plans)
    assert sorted(tree.members for tree in made.program.trees if len(tree.members) > 1)
    groups = {frozenset(tree.members) for tree in made.program.trees}
    assert groups == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5, 6})}
    check_rows(made)


def test_a_concept_with_one_member_is_that_member() -> None:
    one, two = query("SEQ(A a, B b) WITHIN 9"), query("SEQ(A a, B b) WITHIN 9")
    types = tuple(replace(one, name="Single") if one.name == "A" else one for one in two.types)
    pattern = transform(two.pattern, as_single)
    assert isinstance(pattern, p.Pattern)
    renamed = replace(two, types=types, pattern=pattern)
    (made,) = rule_sets(rule_plans([one, renamed]))
    assert len(made.program.roles) == 2
    assert taken_by(made) == [("v1", 2), ("v2", 2)]


def as_single(node: Node) -> Node | None:
    return replace(node, type="Single") if isinstance(node, p.Event) and node.type == "A" else None


def test_a_branch_returns_null_for_the_variables_of_others() -> None:
    one, two = branches_of(query("OR(A a, B b) RETURN a.x, b.x"))
    assert [str(output.expression) for output in one.outputs] == ["a.x", "CAST(NULL AS DOUBLE)"]
    assert [str(output.expression) for output in two.outputs] == ["CAST(NULL AS DOUBLE)", "b.x"]


def test_a_branch_that_names_a_variable_of_another_stays_with_it() -> None:
    """`a` is NULL beside B and C: this branch has no match."""
    made = one_set("OR(A a, SEQ(B b, C c WHERE b.id = a.id)) WITHIN 9", "SEQ(B b, C c) WITHIN 9")
    assert [len(branches_of(rule.query)) for rule in made.plans] == [1, 1]
    check_rows(made)


def test_rules_that_contain_others() -> None:
    texts = [
        "SEQ(A a, B b) WITHIN 9",
        "SEQ(A a, B b, C c) WITHIN 9",
        "SEQ(A a, !D d, B b) WITHIN 9",
        "SEQ(A a, !D d, B b, E e) WITHIN 5",
        "SEQ(C c, D d) WITHIN 9",
    ]
    assert contained_rules(one_set(*texts).program) == {0: (1, 2, 3)}
    same = one_set("SEQ(A a, !D d, B b) WITHIN 9", "SEQ(A x, !D y, B z) WITHIN 9")
    assert contained_rules(same.program) == {0: (1,), 1: (0,)}
    # What a rule only looks for, it requires.
    looking = one_set("SEQ(A a, !!D d, B b) WITHIN 9", "SEQ(A a, B b, C c) WITHIN 9")
    assert contained_rules(looking.program) == {}


# More roles than fit into one number.


def test_many_roles() -> None:
    texts = [f"SEQ((A a : a.x > {n % 5} AND a.n <> {n}), B b) WITHIN 9" for n in range(70)]
    made = one_set(*texts)
    assert made.judged and made.program.words == 2
    check_rows(made)


# Judging: a worker compares as Spark does.

VALUES = [1.5, None, float("nan"), -0.0, 0.0, float("inf"), float("-inf"), 7.0]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (ValueRange(0.0), [0, 2, 3, 4, 5, 7]),
        (ValueRange(0.0, has_low=False), [0, 2, 5, 7]),
        (ValueRange(high=0.0), [3, 4, 6]),
        (ValueRange(high=0.0, has_high=False), [6]),
        (ValueRange(0.0, 0.0), [3, 4]),
        (ValueRange(float("inf"), has_low=False), [2]),
        (ValueRange(7.0, 1.5), []),
    ],
)
@pytest.mark.parametrize("tests", [1, 40])
def test_values(test: ValueRange, expected: list[int], tests: int) -> None:
    """Compared one by one, and by rank where there are many tests. NaN is greater than all; NULL is in no
    range."""
    others = [ValueRange(100.0 + n) for n in range(tests - 1)]
    judged = judged_column(pa.array(VALUES), [test, *others])
    assert judged.numbers(0).tolist() == expected
    pairs = [
        (int(role), int(event))
        for roles, events in role_pairs(judged, (0,))
        for role, event in zip(roles, events, strict=True)
    ]
    assert sorted(pairs) == [(0, event) for event in expected]


@pytest.mark.parametrize("tests", [1, 40])
def test_texts(tests: int) -> None:
    """In the order of their bytes: after z comes é, and after it what UTF-16 would put before it."""
    column = pa.array(["a", "z", "é", "\U0001f600", "\uffee", None, "ab"])
    ranges = [ValueRange("é"), ValueRange("a", "b", has_high=False), ValueRange("\U0001f600", "\U0001f600")]
    judged = judged_column(column, [*ranges, *(ValueRange(f"q{n}", f"q{n}") for n in range(tests - 1))])
    assert [judged.numbers(n).tolist() for n in range(3)] == [[2, 3, 4], [0, 6], [3]]


def test_lists_of_values() -> None:
    test = ValueTest("x", (ValueRange(1, 1), ValueRange(4, 4), ValueRange(9)))
    judged = judged_column(pa.array([4, 2, 1, 9, None, 30]), [], test)
    assert judged.numbers(0).tolist() == [0, 2, 3, 5]


def judged_column(column: pa.Array, ranges: list[ValueRange], test: ValueTest | None = None) -> RoleLookup:
    tests = [ValueTest("x", (one,)) for one in ranges] if test is None else [test]
    roles = tuple(JudgedRole(0, (one,)) for one in tests)
    arrays = {"x": column, "roles": pa.array(np.ones(len(column), np.int64))}
    return RoleLookup(single_set(roles), Columns(arrays, pa.schema([])))


def single_set(roles: tuple[JudgedRole, ...]) -> RuleSet:
    """Rules that ask for one event each."""
    program = PatternProgram((Take("v1", "r1"),), (VariableOutput("v1", "e1", (("x", "x"),)),), ("r1",))
    rules = tuple(RuleEntry(f"R{n}", 0, (n,)) for n in range(len(roles)))
    return RuleSet(PatternProgram((), (), ("events",), keys=("id",)), ("x",), roles, (program,), rules, (0,))


def test_filters_are_looked_up_together() -> None:
    random = np.random.default_rng(3)
    x, count = random.integers(0, 50, 400), 300
    lows = random.integers(0, 50, count)
    roles = tuple(JudgedRole(0, (ValueTest("x", (ValueRange(int(low), int(low) + 2),)),)) for low in lows)
    table = pa.table(
        {"id": np.zeros(400, np.int64), "start": np.arange(400), "roles": np.ones(400, np.int64), "x": x}
    )
    run = rules_kernel(single_set(roles), rows_at_once=64)
    rows = [row for batch in run(iter(table.to_batches(max_chunksize=50))) for row in batch.to_pylist()]
    found = Counter((row["rule"], row["match_start"]) for row in rows)
    assert found == Counter(
        (rule, at) for rule, low in enumerate(lows) for at in range(400) if low <= x[at] <= low + 2
    )


def test_the_limit_of_matches_is_for_each_rule() -> None:
    roles = (
        JudgedRole(0, (ValueTest("x", (ValueRange(0),)),)),
        JudgedRole(0, (ValueTest("x", (ValueRange(9),)),)),
    )
    table = pa.table({"id": [1] * 10, "start": range(10), "roles": [1] * 10, "x": range(10)})
    batches = table.to_batches()
    assert (
        sum(batch.num_rows for batch in rules_kernel(single_set(roles), most_matches=10)(iter(batches))) == 11
    )
    with pytest.raises(KernelFailure, match="rule R0") as failure:
        list(rules_kernel(single_set(roles), most_matches=9)(iter(batches)))
    assert failure.value.facts.kind == "MAX_MATCHES"


def test_a_set_is_data() -> None:
    """The source that is compiled makes the same set again."""
    made = one_set(
        "SEQ(A a, B b) WITHIN 9", "SEQ(A a, !D d, C c) WITHIN 9", "SEQ(A a, B+ b[]) WITHIN 9"
    ).program
    namespace = {name: getattr(import_module(module), name) for module, name in classes_in_source(made)}
    assert made.trees
    assert eval(source_of(made), namespace) == made


@pytest.mark.parametrize("first", [7_000_000, 7_000_025, 7_000_050, 10_003_000])
def test_random_sets(first: int) -> None:
    findings = checked(check_set, first, 12)
    assert findings.broken == []
    assert findings.seen["rules in trees"] > 20 and findings.seen["rules with matches"] > 10
