"""The automaton of a pattern: which event leads where, and what is checked on the way."""

from __future__ import annotations

from itertools import count
from textwrap import dedent

from hypothesis import given, settings
from hypothesis import strategies as st
from pattern_examples import query

from neelc.explain.automaton import Automaton, automaton
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.model import bound_events
from neelc.runtime.reference.worlds import find_matches


def shown(text: str) -> str:
    return f"\n{automaton(query(text))}\n"


def test_a_sequence_judges_each_condition_as_soon_as_it_can() -> None:
    text = "SEQ(A a, B b, C c) WHERE a.x > 1 AND c.x > a.x AND a.id = b.id AND b.n = c.n AND 1 < 2"
    assert shown(text) == dedent("""
        (0) begin
              A a        -> (1)
                if a.x > 1
                if 1 < 2
        (1) after a
              B b        -> (2)
                if a.id = b.id
              any event  -> (1)  ignored
        (2) after b
              C c        -> (3)
                if c.x > a.x
                if b.n = c.n
              any event  -> (2)  ignored
        (3) after c: match
        """)


def test_it_does_not_matter_where_a_condition_stands() -> None:
    outside = automaton(query("SEQ(A a, B b, C c) WHERE b.x > a.x AND b.x < c.x"))
    assert automaton(query("SEQ((A a : b.x > a.x), (B b : b.x < c.x), C c)")) == outside
    assert automaton(query("SEQ(A a, SEQ(B b, C c WHERE b.x > a.x AND b.x < c.x))")) == outside


def test_a_closure_loops() -> None:
    text = "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x AND b[i].id = a.id AND b[last].x < c.x"
    assert shown(text) == dedent("""
        (0) begin
              A a        -> (1)
        (1) after a
              B b[i]     -> (2)
                if b[i].id = a.id
              any event  -> (1)  ignored
        (2) in b[]
              C c        -> (3)
                if b[last].x < c.x
              B b[i]     -> (2)  again
                if b[i].x > b[i-1].x
                if b[i].id = a.id
              any event  -> (2)  ignored
        (3) after c: match
        """)


def test_a_closure_of_several_events_and_one_with_a_limit() -> None:
    text = "SEQ(SEQ(B b, C c)+ k[], D{2,3} d[]) WHERE k[i].b.x > k[i-1].c.x AND k[i].c.x = 1 AND [id]"
    assert shown(text) == dedent("""
        (0) begin
              B b        -> (1)
        (1) after b and in k[]
              C c        -> (2)
                if k[i].c.x = 1
                if [id]
              any event  -> (1)  ignored
        (2) after c and in k[]
              D d[i]     -> (3)
                if [id]
              B b        -> (1)  again
                if k[i].b.x > k[i-1].c.x
                if [id]
              any event  -> (2)  ignored
        (3) in d[]: match
                if count(d[]) >= 2
              D d[i]     -> (3)  again
                if [id]
                if count(d[]) < 3
              any event  -> (3)  ignored
        """)


def test_optional_parts_are_passed_over() -> None:
    assert shown("SEQ(A a, (B b : b.x < c.x)?, C c) WHERE b.n = a.n") == dedent("""
        (0) begin
              A a             -> (1)
        (1) after a
              B b             -> (2)
                if b.n = a.n
              C c, without b  -> (3)
                if b.n = a.n, where b is NULL
              any event       -> (1)  ignored
        (2) after b
              C c             -> (3)
                if b.x < c.x
              any event       -> (2)  ignored
        (3) after c: match
        """)


def test_branches() -> None:
    assert shown("SEQ(OR((A a : d.x > 1), B b), C c, D d) WHERE b.x = c.x") == dedent("""
        (0) begin
              A a        -> (1)
              B b        -> (2)
        (1) after a
              C c        -> (3)
                if b.x = c.x, where b is NULL
              any event  -> (1)  ignored
        (2) after b
              C c        -> (3)
                if b.x = c.x
              any event  -> (2)  ignored
        (3) after c
              D d        -> (4)
                if d.x > 1, where a is there
              any event  -> (3)  ignored
        (4) after d: match
        """)


def test_any_order_is_a_state_for_each_subset() -> None:
    assert shown("AND(A a, B b, !C c) WHERE a.x = b.x WITHIN 10") == dedent("""
        (0) begin
              A a        -> (1)
              B b        -> (2)
        (1) after a
              B b        -> (3)
                if a.x = b.x
              any event  -> (1)  ignored
        (2) after b
              A a        -> (3)
                if a.x = b.x
              any event  -> (2)  ignored
        (3) after a and after b: match
                if no C c in the same window
        """)
    assert len(automaton(query("AND(A a, B b, C c, D d)")).states) == 16


def test_too_many_orders_become_one_state() -> None:
    assert shown("SEQ(AND(A a, B b, C c, D d, E e WHERE a.x = e.x), F f)") == dedent("""
        (0) begin
              A a, B b, C c, D d and E e, in any order  -> (1)
                if a.x = e.x
        (1) after a, b, c, d and e
              F f                                       -> (2)
              any event                                 -> (1)  ignored
        (2) after f: match
        """)


def test_what_is_missing_is_told_at_the_edge_that_decides_it() -> None:
    text = "SEQ(!N n, A a, !SEQ(M m, O o), B? b, !P p, C c, !Q q) WHERE n.x = c.x WITHIN 10"
    assert shown(text) == dedent("""
        (0) begin
              A a             -> (1)
                if no (N n : n.x = c.x) before a, as far as the window reaches
        (1) after a
              B b             -> (2)
                if no SEQ(M m, O o) between a and c (or b, if there is one)
              C c, without b  -> (3)
                if no SEQ(M m, O o) between a and c (or b, if there is one)
                if no P p between a (or b, if there is one) and c
              any event       -> (1)  ignored
        (2) after b
              C c             -> (3)
                if no P p between a (or b, if there is one) and c
              any event       -> (2)  ignored
        (3) after c: match
                if no Q q after c, as far as the window reaches
        """)


def test_what_exists() -> None:
    assert shown("SEQ(A a, EXISTS c : SEQ(!B b, C c, !C c_2), EXISTS d : SEQ(D d, E e))") == dedent("""
        (0) begin
              A a        -> (1)
        (1) after a
              D d        -> (2)  dropped
                if some SEQ(!B b, C c, !C c_2) between a and e
              any event  -> (1)  ignored
        (2) after d
              E e        -> (3)
              any event  -> (2)  ignored
        (3) after e: match
        """)


def test_strategies_differ_in_what_they_pass_over() -> None:
    def ignored(strategy: str) -> set[str]:
        found = automaton(query(f"SEQ(A a, B b) PARTITION BY id WITHIN 10 USING {strategy}"))
        return {edge.event for edge in found.edges if edge.kind == "ignore"}

    assert ignored("SKIP TILL ANY MATCH") == {"any event"}
    assert ignored("SKIP TILL NEXT MATCH") == {"an event that fits no edge"}
    assert ignored("PARTITION CONTIGUITY") == {"an event of another partition"}
    assert ignored("STRICT CONTIGUITY") == set()


def test_windows_of_parts() -> None:
    found = automaton(query("SEQ(A a, SEQ(B b, C c) WITHIN 5 SECONDS) WITHIN 10 SECONDS"))
    assert [edge.conditions for edge in found.edges if edge.event == "C c"] == [("b and c within 5 SECONDS",)]
    assert found.window == "10 SECONDS"


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Patterns of which the types of events alone tell whether they match."""
    numbers = count()

    def part(depth: int) -> str:
        kinds = ["event", "event", "event", "closure", "optional"]
        kind = draw(st.sampled_from(kinds + (["SEQ", "SEQ", "AND", "OR", "repeat"] if depth else [])))
        name = f"v{next(numbers)}"
        if kind in ("event", "closure", "optional"):
            type = draw(st.sampled_from("AB"))
            return {"event": f"{type} {name}", "closure": f"{type}+ {name}[]", "optional": f"{type}? {name}"}[
                kind
            ]
        if kind == "repeat":
            return f"SEQ({part(0)}, A {name}x)+ {name}[]"
        # The first of a list is an event, so that the list is not empty.
        rest = [part(depth - 1) for _ in range(draw(st.integers(1, 2)))]
        return f"{kind}(B {name}, {', '.join(rest)})"

    return f"SEQ({part(2)}, A last)"


@settings(max_examples=150)
@given(patterns(), st.lists(st.sampled_from("AB"), min_size=1, max_size=5))
def test_it_accepts_what_the_reference_matches(text: str, word: list[str]) -> None:
    """A stream is accepted as a whole exactly if some match takes all of its events."""
    match = query(text)
    rows = [{"ts": ts, "kind": kind, "id": 1, "user": "u", "x": 0.0, "n": 1} for ts, kind in enumerate(word)]
    found = find_matches(match, list(read_events(match.streams[0], rows)))
    complete = any(len(list(bound_events(one.binding))) == len(word) for one in found)
    assert accepts(automaton(match), word) == complete


def accepts(found: Automaton, word: list[str]) -> bool:
    states = {0}
    for kind in word:
        steps = [edge for edge in found.edges if edge.kind != "ignore" and edge.event.split()[0] == kind]
        states = {edge.target for edge in steps if edge.source in states}
    return any(found.states[state].accepts for state in states)
