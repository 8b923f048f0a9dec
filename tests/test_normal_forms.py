"""NEEL's normalisation (section III-C) on NEEL's own examples, and what it does to others."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from invariants import check
from normal_forms import normal_form
from pattern_examples import query

from neelc.ir import patterns as p
from neelc.ir.patterns import all_parts, targets
from neelc.ir.program import Match
from neelc.pattern.rules.distribute_conjunction import distribute_conjunction
from neelc.pattern.rules.distribute_exists import distribute_exists
from neelc.pattern.rules.distribute_sequence import distribute_sequence
from neelc.pattern.rules.driver import rewrite
from neelc.pattern.rules.drop_duplicate_branch import drop_duplicate_branch
from neelc.pattern.rules.flatten_conjunction import flatten_conjunction
from neelc.pattern.rules.flatten_disjunction import flatten_disjunction
from neelc.pattern.rules.flatten_sequence import flatten_sequence
from neelc.pattern.rules.lift_exists import lift_exists
from neelc.pattern.rules.merge_exists import merge_exists
from neelc.pattern.rules.negated_closure_to_event import negated_closure_to_event
from neelc.pattern.rules.push_negation_into_conjunction import push_negation_into_conjunction
from neelc.pattern.rules.push_negation_into_sequence import push_negation_into_sequence
from neelc.pattern.rules.remove_double_negation import remove_double_negation
from neelc.pattern.rules.rule import PatternBatch
from neelc.pattern.rules.split_negated_disjunction import split_negated_disjunction
from neelc.pattern.rules.unwrap_negated_exists import unwrap_negated_exists
from neelc.pattern.rules.unwrap_negated_optional import unwrap_negated_optional
from neelc.pattern.rules.unwrap_single_part import unwrap_single_part
from neelc.runtime.reference import ReferenceEvent, matches

PUSH = (
    unwrap_negated_optional,
    unwrap_negated_exists,
    negated_closure_to_event,
    remove_double_negation,
    split_negated_disjunction,
    push_negation_into_conjunction,
    push_negation_into_sequence,
)
DISTRIBUTE = (distribute_exists, distribute_sequence, distribute_conjunction)
FLATTEN = (
    flatten_sequence,
    flatten_conjunction,
    flatten_disjunction,
    unwrap_single_part,
    merge_exists,
    drop_duplicate_branch,
)
# The last step has all rules: an OR that leaves a negated SEQ makes negations that can be pushed down.
STEPS = (
    PatternBatch("push negations down", "step 1", parts=PUSH),
    PatternBatch("distribute", "step 2", parts=DISTRIBUTE),
    PatternBatch("flatten", "step 3", parts=(*FLATTEN, *PUSH, *DISTRIBUTE, lift_exists)),
)

Q1 = "SEQ(Recycle r, Washing w, !SEQ(Sharpening s, Disinfection d, Checking c), Operating o)"
Q5 = "SEQ(E1, !SEQ(E2, E3, E4), E5)"
Q6 = "SEQ(E1, !SEQ(E2, E3, E4), SEQ(E5, E6, E7))"


def normalised(text: str, steps: int = len(STEPS)) -> p.Pattern:
    found = rewrite(query(text), STEPS[:steps])
    for step in found.steps:
        check(step.query)
    return found.query.pattern


def published(pattern: p.Pattern) -> list[str]:
    """The branches as NEEL writes them: types only, Proj lists what is kept, and no `!C c_2` after `C c`,
    which marks the latest C."""
    branches = pattern.parts if isinstance(pattern, p.Or) else (pattern,)
    return [_published(branch) for branch in branches]


def _published(branch: p.Pattern) -> str:
    if not isinstance(branch, p.Exists):
        return f"SEQ({', '.join(_components(branch, ()))})"
    kept = [event.type for event in _events(branch.part) if event.variable in targets(branch)]
    return f"Proj {', '.join(kept)} SEQ({', '.join(_components(branch.part, branch.variables))})"


def _components(sequence: p.Pattern, dropped: tuple[str, ...]) -> Iterator[str]:
    latest = None
    for event in _events(sequence):
        negative = p.Not(event) in sequence.parts if isinstance(sequence, p.Seq) else False
        if negative and event.type == latest:
            continue
        latest = event.type if event.variable in dropped and not negative else None
        yield f"!{event.type}" if negative else event.type


def _events(sequence: p.Pattern) -> list[p.Event]:
    assert isinstance(sequence, p.Seq)
    inner = [part.part if isinstance(part, p.Not) else part for part in sequence.parts]
    return [event for event in inner if isinstance(event, p.Event)]


def test_example_7_pushes_the_negation_down() -> None:
    assert str(normalised(Q5, steps=1)) == (
        "OR(SEQ(E1 E1, !E4 E4, E5 E5),"
        " SEQ(E1 E1, EXISTS E4 : SEQ(!E3 E3, E4 E4, !E4 E4_2), E5 E5),"
        " SEQ(E1 E1, EXISTS E3, E4 : SEQ(!E2 E2, E3 E3, !E3 E3_2, E4 E4, !E4 E4_2), E5 E5))"
    )


def test_example_7_in_normal_form() -> None:
    assert published(normalised(Q5)) == [
        "SEQ(E1, !E4, E5)",
        "Proj E1, E5 SEQ(E1, !E3, E4, E5)",
        "Proj E1, E5 SEQ(E1, !E2, E3, E4, E5)",
    ]


def test_example_8() -> None:
    assert published(normalised(Q6)) == [
        "SEQ(E1, !E4, E5, E6, E7)",
        "Proj E1, E5, E6, E7 SEQ(E1, !E3, E4, E5, E6, E7)",
        "Proj E1, E5, E6, E7 SEQ(E1, !E2, E3, E4, E5, E6, E7)",
    ]


@pytest.mark.parametrize("rest", ["", " WHERE [id]", " WHERE [id] AND o.x = 1 WITHIN 1 HOUR"])
def test_example_11_is_figure_7(rest: str) -> None:
    assert published(normalised(Q1 + rest)) == [
        "SEQ(Recycle, Washing, !Checking, Operating)",
        "Proj Recycle, Washing, Operating SEQ(Recycle, Washing, !Disinfection, Checking, Operating)",
        "Proj Recycle, Washing, Operating"
        " SEQ(Recycle, Washing, !Sharpening, Disinfection, Checking, Operating)",
    ]


def test_the_marks_of_the_sound_form() -> None:
    assert str(normalised(Q1 + " WHERE [id]")) == (
        "OR(SEQ(Recycle r, Washing w, !Checking c, Operating o),"
        " EXISTS c : SEQ(Recycle r, Washing w, !Disinfection d, Checking c, !Checking c_2, Operating o),"
        " EXISTS d, c : SEQ(Recycle r, Washing w, !Sharpening s, Disinfection d, !Disinfection d_2,"
        " Checking c, !Checking c_2, Operating o) WHERE [id])"
    )


def test_the_mixed_workload_has_seven_expressions() -> None:
    """Section VI-F, from a query that NEEL's figure 19 could show: the text has no figure."""
    outer = "SEQ(MSFT, !AND(IPIX, QQQ, RIMM), ORCL, INTC)"
    either = "SEQ(OR(RIMM r, IPIX i), DELL, AMAT, MSFT m, ORCL o)"
    inner = "SEQ(CSCO, !SEQ(IPIX i2, RIMM r2), YHOO, QQQ q)"
    assert published(normalised(f"OR({outer}, {either}, {inner})")) == [
        "SEQ(MSFT, !IPIX, ORCL, INTC)",
        "SEQ(MSFT, !QQQ, ORCL, INTC)",
        "SEQ(MSFT, !RIMM, ORCL, INTC)",
        "SEQ(RIMM, DELL, AMAT, MSFT, ORCL)",
        "SEQ(IPIX, DELL, AMAT, MSFT, ORCL)",
        "SEQ(CSCO, !RIMM, YHOO, QQQ)",
        "Proj CSCO, YHOO, QQQ SEQ(CSCO, !IPIX, RIMM, YHOO, QQQ)",
    ]


FORMS = {
    Q1: "DNF",
    Q5: "DNF",
    Q6: "DNF",
    "SEQ(E1, OR(E2, SEQ(E5, !E6, E7)))": "DNF",
    "SEQ(A a, !SEQ(B b, OR(C c, AND(D d, D d2))), E e)": None,
    "SEQ(A a, !AND(OR(B b, C c), !!D d), E e)": "DNF",
    "AND(SEQ(A a, AND(B b)), SEQ(C c, SEQ(D d, !E e, F f)))": "CNF",
    "AND(A a, !SEQ(B b, C c), D d) WITHIN 4": "nested AND/SEQ",
    "SEQ(A a, OR(B b, AND(C c, SEQ(D d, E e))))": "nested AND/SEQ",
    "SEQ(A a, !SEQ(B b, C c WHERE b.x = c.x), D d)": None,
    # Two gaps in one place: each EXISTS looks at all of it, so neither can be put into the list.
    "SEQ(A a, !SEQ(B b, C c), !SEQ(D d, E e), F f)": None,
}


@pytest.mark.parametrize("text", FORMS)
def test_the_form_that_is_reached(text: str) -> None:
    assert normal_form(normalised(text)) == FORMS[text]


@pytest.mark.parametrize("text", [Q1, Q5, Q6])
def test_the_papers_queries_are_in_none_before(text: str) -> None:
    assert normal_form(query(text).pattern) is None


def found(match: Match, rows: list[dict[str, object]]) -> set[frozenset[tuple[str, int]]]:
    events = [
        [(name, v) for name, v in one.items() if isinstance(v, ReferenceEvent)]
        for one in matches(match, {"S": rows})
    ]
    return {frozenset((name, event.row) for name, event in one) for one in events}


@pytest.mark.parametrize("text", [Q5, Q6, Q1 + " WHERE [id]"])
def test_the_meaning_stays(text: str) -> None:
    """Every step finds what the query finds, on streams of its positive events with others between them."""
    chance = random.Random(7)
    match = query(text)
    steps = [step.query for step in rewrite(match, STEPS).steps]
    counts = set()
    for _ in range(40):
        rows = list(_rows(match, chance))
        expected = found(match, rows)
        counts.add(len(expected))
        assert all(found(step, rows) == expected for step in steps)
    assert 0 in counts and len(counts) > 1


def _rows(match: Match, chance: random.Random) -> Iterator[dict[str, object]]:
    events = [node for node in all_parts(match.pattern) if isinstance(node, p.Event)]
    time = 0
    for event in events:
        noise = [chance.choice(events).type for _ in range(chance.randint(0, 1))]
        for kind in (event.type, *noise) if event.variable in targets(match.pattern) else noise:
            time += chance.choice([0, 1, 1])
            yield {"ts": time, "kind": kind, "id": chance.choice([1, 1, 1, 2]), "user": "", "x": 0.0, "n": 0}
