"""Bit-marking: the EMap and the RVI of NEEL, IV-B, and the algorithm of its figure 6 on small streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from pattern_examples import query
from sharing_meaning import found_by

from neelc.ir import patterns as p
from neelc.pattern.rules.driver import rewrite
from neelc.pattern.rules.push_negation_into_sequence import push_negation_into_sequence
from neelc.pattern.rules.rule import PatternBatch
from neelc.runtime.reference.model import Binding, bound_events
from neelc.sharing.expressions import Constraint, Expression, expressions
from neelc.sharing.sharing import RVI, emap_of

Instant = tuple[int, str]
"""The time and the type of an event."""
MILLISECOND = 10**6


def test_all_columns_of_a_row_must_hold() -> None:
    emap = emap_of(expressions(query("SEQ(A, !X, B, !Y, C) OR SEQ(A, B, C)")))
    assert [sorted(row.required) for row in emap.rows] == [[0, 1], []]
    half = RVI().marked(1, True).marked(0, False)
    assert [row.name for row in emap.satisfied(half)] == ["E2"]


def test_lemma_1_gives_up_early() -> None:
    emap = emap_of(expressions(query("SEQ(A, !X, B, !Y, C) OR SEQ(A, !Z, B, !Y, C)")))
    rvi = RVI().marked(1, False)
    assert emap.live(rvi) == () and emap.pending(rvi) == ()


def test_lemma_2_one_result_for_the_same_variables_only() -> None:
    one, two = expressions(query("SEQ(A, !X, B) OR SEQ(A, !Y, B)"))
    both = RVI().marked(0, True).marked(1, True)
    assert len(emap_of([one, two]).results(both)) == 2
    assert len(emap_of([one, replace(two, variables=one.variables)]).results(both)) == 1


def test_one_component_in_two_gaps_is_two_columns() -> None:
    emap = emap_of(expressions(query("SEQ(A, !X, B, C) OR SEQ(A, B, !X, C)")))
    assert emap.titles() == ("!X after A", "!X after B")


def is_there(parts: Sequence[p.Pattern], between: Sequence[Instant]) -> bool:
    """Whether events, none of them with a condition, are what a gap asks for: all choices are tried."""
    absent = set()
    for place, part in enumerate(parts):
        match part:
            case p.Not(p.Event(kind)):
                absent.add(kind)
            case p.Event(kind):
                return any(
                    not any(other in absent for early, other in between if early < time)
                    and is_there(parts[place + 1 :], [event for event in between if event[0] > time])
                    for time, found in between
                    if found == kind
                )
    return not any(kind in absent for _, kind in between)


def holds(column: Constraint, between: Sequence[Instant]) -> bool:
    match column.original:
        case p.Exists(_, p.Seq(parts)):
            return is_there(parts, between)
        case p.Not():
            return is_there([column.original], between)
    raise AssertionError(column.text)


def sequence_compute(
    members: Sequence[Expression], events: Sequence[Instant]
) -> list[tuple[str, tuple[int, ...]]]:
    """Figure 6: construction from the last component backwards, with marking as soon as a gap is known."""
    emap = emap_of(members)
    types = [component.text for component in members[0].components]
    results: list[tuple[str, tuple[int, ...]]] = []

    def construct(place: int, bound: tuple[int, ...], rvi: RVI) -> None:
        if place < 0:
            results.extend((row.name, bound) for row in emap.results(rvi))
            return
        for time, kind in events:
            if kind == types[place] and (not bound or time < bound[0]):
                marked = rvi
                for number in emap.pending(rvi) if bound else ():
                    if emap.columns[number].needs[0] == place:
                        between = [event for event in events if time < event[0] < bound[0]]
                        marked = marked.marked(number, holds(emap.columns[number], between))
                if emap.live(marked):
                    construct(place - 1, (time, *bound), marked)

    construct(len(types) - 1, (), RVI())
    return results


def times_of(binding: Binding) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The variables that are bound and the times of their events."""
    names = tuple(sorted(name for name, event in binding.items() if event is not None))
    return names, tuple(sorted(event.start // MILLISECOND for event in bound_events(binding)))


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A, !C, B) OR EXISTS C : SEQ(A, !D, C, B)",
        "SEQ(A, !C, B, !C, A) OR SEQ(A, !D, B, A) OR SEQ(A, B, !D, A)",
        "SEQ(A, !C, B) OR SEQ(A, EXISTS c : SEQ(!D d, C c, !C e), B) OR SEQ(A, !D, B)",
        "SEQ(A a, !SEQ(C c, D d), B b)",
        "SEQ(A a, !SEQ(C c, D d, C e), B b, !SEQ(D d2, C c2), A f)",
    ],
)
def test_figure_6_finds_what_the_reference_finds(text: str) -> None:
    """The last two are pushed down first, as Q1 of example 11 is: one result, whichever branch holds."""
    original = query(text)
    pushed = original
    for _ in range(2):
        pushed = rewrite(pushed, [PatternBatch("push", "a test", parts=(push_negation_into_sequence,))]).query
    members = expressions(pushed)
    variables = {member.name: tuple(sorted(member.variables)) for member in members}
    chance = Random(text)
    for _ in range(60):
        events = sorted({(chance.randint(0, 9), chance.choice("ABCD")) for _ in range(8)})
        rows = [{"ts": time, "kind": kind, "id": 1, "user": "", "x": 0.0, "n": 0} for time, kind in events]
        found = found_by(original, original.pattern, {"S": rows})
        assert found is not None
        marked = [(variables[row], times) for row, times in sequence_compute(members, events)]
        assert sorted(marked) == sorted(map(times_of, found))
