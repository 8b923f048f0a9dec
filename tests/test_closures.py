"""Closures in plans: how lists are put together, and what is decided before any is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from generate.bodies import DrawnClosure, beside_negations, with_bodies
from generate.inner_closures import with_inner_closures
from in_kernel import as_bindings, kernel_matches, planned_for
from kernel_fuzz import Different, Tally, check_pair
from pattern_examples import query

from neelc.errors import NeelError
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.pattern.plan.plan import PlanStep
from neelc.runtime.failures import KernelError
from neelc.runtime.kernels import running as repeating
from neelc.runtime.program import Absent, FilterStep, KernelStep, RepeatStep, Take
from neelc.runtime.reference import matches


def planned(text: str) -> KernelPlan:
    return kernel_plan(query(text), (), "MILLISECOND")


def shape(steps: Iterable[KernelStep | PlanStep]) -> str:
    """The steps by what they bind."""

    def name(step: KernelStep | PlanStep) -> str:
        match step:
            case Take(variable=variable):
                return str(variable)
            case RepeatStep(variable=variable):
                return f"{variable}[]"
            case Absent(inner):
                return f"!({shape(inner)})"
        return type(step).__name__.removesuffix("Step").lower()

    return " ".join(map(name, steps))


def stream(kinds: str, gap: int = 1) -> dict[str, list[dict[str, object]]]:
    """One event after the other; the x of the events are 0, 1, 2, ..."""
    rows: list[dict[str, object]] = [
        {"ts": n * gap, "kind": kind, "id": 1, "user": "u", "x": float(n), "n": n % 5}
        for n, kind in enumerate(kinds)
    ]
    return {"S": rows}


def test_lists_come_last() -> None:
    found = planned("SEQ(A a, B+ b[], C c, D+ d[], E e) WITHIN 9")
    assert shape(found.program.steps) == "a present c e b[] d[]"


def test_a_list_that_only_must_exist_is_one_event() -> None:
    found = planned("SEQ(A a, !SEQ(B+ b[], C c WHERE b[i].x > 1), D d) WITHIN 9")
    assert shape(found.program.steps) == "a d"  # the check is a bound of d
    kept = planned("SEQ(A a, !SEQ(B+ b[], C c WHERE b[i].x > b[i-1].x AND count(b[]) > 2), D d) WITHIN 9")
    assert shape(kept.program.steps) == "a d !(c b[] filter)"


@pytest.mark.parametrize(
    ("negated", "steps"),
    [
        # The element at one end of a list has the same gap there as the list.
        ("SEQ(A a, B+ b[], !C c, D d)", "a b d !(c)"),
        ("SEQ(A a, !C c, B+ b[], D d)", "a b !(c) d"),
        ("(SEQ(B+ b[], D d, !C c) WITHIN 5)", "b d !(c)"),
        ("AND(B+ b[], SEQ(A a, !C c, D d))", "b a d !(c)"),
        # None has what the list has at both ends.
        ("SEQ(A a, !X x, B+ b[], !C c, D d)", "a d b[] !(x) !(c)"),
        ("(AND(B+ b[], !C c) WITHIN 5)", "b[] !(c)"),
        ("AND_NEG(B+ b[], !C c, D d)", "d b[] !(c)"),
        # The longer a list is, the fewer events differ from its elements.
        ("AND(B+ b[], !B x)", "b[] !(x)"),
        ("AND(B+ b[], SEQ(A a, !B x, D d))", "a d b[] !(x)"),
        ("AND(B+ b[], !SEQ(C c, !B x, D d))", "b[] !(c d !(x))"),
    ],
)
def test_one_element_is_enough_unless_negations_look_at_more(negated: str, steps: str) -> None:
    negation = planned(f"AND(E e, !{negated}) WITHIN 9").plan.steps[-1]
    assert isinstance(negation, Absent)
    assert shape(negation.steps) == steps


@pytest.mark.parametrize(
    ("condition", "early"),
    [
        ("count(b[]) > 2", 1),
        ("max(b[].x) > c.x", 1),
        ("max(b[].x) < c.x", 0),
        ("avg(b[].x) > 2", 0),
        ("count(b[]) > 2 AND b[1].x > 3", 0),
    ],
)
def test_what_fails_for_all_elements_fails_for_each_list(condition: str, early: int) -> None:
    found = planned(f"SEQ(A a, B+ b[], C c) WHERE {condition} WITHIN 9")
    (repeat,) = (step for step in found.program.steps if isinstance(step, RepeatStep))
    assert len(repeat.early) == early
    assert any(isinstance(step, FilterStep) for step in found.program.steps)


def test_rows_without_enough_elements_try_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeating, "MOST_LISTS", 0)
    few = query("SEQ(A a, B+ b[], C c) WHERE count(b[]) > 9 WITHIN 50")
    assert kernel_matches(few, stream("ABBBBC")) == []
    enough = query("SEQ(A a, B+ b[], C c) WHERE count(b[]) > 3 WITHIN 50")
    with pytest.raises(KernelError, match="4 lists were tried"):
        kernel_matches(enough, stream("ABBBBC"))


def test_every_part_of_a_list_is_a_list() -> None:
    found = kernel_matches(query("SEQ(A a, B+ b[], C c) WITHIN 50"), stream("A" + 12 * "B" + "C"))
    assert len(found) == 2**12 - 1


def test_collapsed_needs_no_enumeration() -> None:
    match = query("SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x WITHIN 500 RETURN COLLAPSED a.ts, b[].ts")
    (found,) = kernel_matches(match, stream("A" + 200 * "B" + "C"))
    events = found["b"]
    assert isinstance(events, tuple)
    assert len(events) == 200


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B+ b[], C c) WHERE count(b[]) > 2 AND b[last].x > b[1].x + 2 WITHIN 9",
        "SEQ(A a, SEQ(B b, C c)+ k[], D d) WHERE k[i].b.x > k[i-1].c.x WITHIN 9",
        "SEQ(A a, OR(B b, C c){1,2} k[], D d) WITHIN 9",
        "AND(A+ a[], B b) WHERE a[i].x < b.x WITHIN 6",
        "OR(SEQ(A a, B+ b[]), SEQ(C c, D{2} d[])) WHERE d[2].x > c.x WITHIN 6",
        "SEQ(A a, B* b[], C c) WHERE sum(b[].x) < 20 WITHIN 8",
        "SEQ(A a, !SEQ(B+ b[], C c WHERE sum(b[].x) > 12), D d) WITHIN 9",
        "AND(A a, !AND(B{1,2} b[], !B x, !SEQ(C c, !B y, D d))) WITHIN 9",
        "EXISTS b : AND(A a, B+ b[], !SEQ(C c, !B x)) WITHIN 9",
        "SEQ(A a, B+ b[], C c) WHERE stddev(b[].x) > 1.5 AND b[i].x > avg(b[..i-1].x) WITHIN 9",
        "SEQ(A a, B+ b[], C c) WHERE b[2].x > 4 WITHIN 9 RETURN a.ts",
        "SEQ(A a, B+ b[] WHERE concat(max(b[].user), b[i].user) > a.user)+ k[] WITHIN 9",
    ],
)
def test_the_kernel_finds_what_the_reference_finds(text: str) -> None:
    match = query(text)
    for kinds in ("ABCBCDABBCD", "AABBBCCDD", "BABABCBCDD", "CDDDABBBC"):
        tables = stream(kinds)
        expected = as_bindings(matches(match, tables))
        assert as_bindings(kernel_matches(match, tables)) == expected


@pytest.mark.parametrize("drawn", [with_bodies, beside_negations, with_inner_closures])
@pytest.mark.parametrize("part", range(3))
def test_closures_of_every_kind(part: int, drawn: Callable[[int], DrawnClosure]) -> None:
    """Negations, EXISTS, branches and closures in iterations, and negations beside lists that need only
    exist: kernel and bridge find what the reference finds."""
    tally = Tally()
    for number in range(part * 60, (part + 1) * 60):
        text, head, streams = drawn(number)
        try:
            closure_query = query(text, head)
            plan = planned_for(closure_query)
        except (NeelError, UnsupportedQuery):
            continue
        for tables in streams:
            try:
                check_pair(closure_query, {**tables}, tally, number + tally.pairs, plan)
            except Different as different:
                raise Different(f"{number}: {text}\n{tables}\n{different}") from None
    assert tally.pairs >= 80
    assert tally.with_matches >= 20
