"""The order of the batches in pattern/rules/batches.py: each constraint, with a query that shows its use."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pattern_examples import STREAM, query

from neelc.pattern.rules.batches import MEMBERS, NORMALISE, ORDER, SIMPLIFY, UNUSED
from neelc.pattern.rules.driver import rewrite
from neelc.pattern.rules.rule import PatternBatch

HEAD = STREAM + "CREATE TYPE AB AS (A, B);\n"
RUNS: dict[str, tuple[PatternBatch, ...]] = {
    "simplify": (*SIMPLIFY, *UNUSED),
    "normalise": NORMALISE,
    "order": ORDER,
    "members": MEMBERS,
}
BATCHES = {batch.name: batch for run in RUNS.values() for batch in run}


@dataclass(frozen=True)
class Constraint:
    """In a run, the batch `first` comes before `second`: then `text` becomes `pattern`, and not otherwise.
    With `again`, the second one runs before it too."""

    run: str
    first: str
    second: str
    text: str
    pattern: str
    again: bool = False


CONSTRAINTS = [
    Constraint(
        "simplify",
        "the end of the data",
        "place conditions",
        "SEQ(A a, !B b) WITHIN 5 WHEN COMPLETE",
        "SEQ((A a : a.`5 MILLISECONDS before the end`), !B b)",
    ),
    Constraint(
        "simplify",
        "windows",
        "flatten",
        "SEQ(A a, SEQ(B b, C c) WITHIN 10) WITHIN 5",
        "SEQ(A a, B b, C c)",
    ),
    Constraint(
        "simplify",
        "flatten",
        "place conditions",
        "SEQ(A a, OR(SEQ(B b, C c)) WHERE c.x > 1)",
        "SEQ(A a, B b, (C c : c.x > 1))",
    ),
    Constraint(
        "simplify",
        "place conditions",
        "equalities",
        "(AND(C c, D d, B b WHERE c.id = d.id AND d.id = b.id)? : b.ts = c.id)",
        "AND(C c, D d, B b WHERE c.id = d.id AND d.id = b.id AND b.ts = c.id AND b.id = b.ts)?",
    ),
    Constraint(
        "simplify",
        "equalities",
        "keys",
        "SEQ(D d, EXISTS b : (B b : d.id = b.id AND b.id = 1L))",
        "SEQ(D d, EXISTS b : (B b : b.id = 1L AND d.id = 1L) WHERE [id])",
    ),
    Constraint(
        "simplify",
        "equalities",
        "truth",
        "SEQ(OR(A+ a[], D d), SEQ(C c WHERE d.id = c.id AND c.id = 1L))",
        "SEQ(OR((D d : d.id = 1L)), SEQ(C c WHERE d.id = c.id AND c.id = 1L))",
    ),
    Constraint(
        "simplify",
        "truth",
        "flatten",
        "AND(OR(D d, C c), B b) WHERE c.id = 1L",
        "AND((C c : c.id = 1L), B b)",
        again=True,
    ),
    Constraint(
        "simplify",
        "equalities",
        "unused variables",
        "SEQ(A a, B b, C c, D d WHERE c.id = b.id AND b.id = d.id) RETURN DISTINCT a.x, b.x",
        "EXISTS c, d : SEQ(A a, B b, C c, D d WHERE c.id = b.id AND b.id = d.id AND c.id = d.id)",
    ),
    Constraint(
        "simplify",
        "unused variables",
        "flatten",
        "EXISTS b : SEQ(A a, B b, C c) RETURN DISTINCT a.x",
        "EXISTS c, b : SEQ(A a, B b, C c)",
        again=True,
    ),
    Constraint(
        "normalise",
        "push negations down",
        "move OR to the root",
        "SEQ(A a, !AND(OR(B b, C c), D d), E e)",
        "OR(SEQ(A a, !B b, !C c, E e), SEQ(A a, !D d, E e))",
    ),
    Constraint(
        "order",
        "orders of AND",
        "move OR to the root",
        "SEQ(C c, AND(A a, B b))",
        "OR(SEQ(C c, A a, B b), SEQ(C c, B b, A a), SEQ(C c, AND(A a, B b WHERE a.ts = b.ts)))",
    ),
    Constraint(
        "members",
        "members of concepts",
        "move OR to the root",
        "SEQ(AB x, C c)",
        "OR(SEQ(A x, C c), SEQ(B x, C c))",
    ),
]


def changed(text: str, *names: str) -> str:
    return str(rewrite(query(text, HEAD), [BATCHES[name] for name in names]).query.pattern)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: f"{c.first} before {c.second}")
def test_order(constraint: Constraint) -> None:
    names = [batch.name for batch in RUNS[constraint.run]]
    place = names.index(constraint.first)
    assert constraint.second in names[place:]
    assert constraint.again == (constraint.second in names[:place])
    assert changed(constraint.text, constraint.first, constraint.second) == constraint.pattern
    assert changed(constraint.text, constraint.second, constraint.first) != constraint.pattern


def test_every_batch_has_its_place() -> None:
    assert {name for one in CONSTRAINTS for name in (one.first, one.second)} == set(BATCHES)
