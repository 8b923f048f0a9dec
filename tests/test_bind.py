"""The binder: from a query to its bound pattern, both as text."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal

import pytest
from binding import match
from generate import patterns, scripts, streams
from hypothesis import given, settings
from invariants import check

from neelc import syntax as parse
from neelc.ir.patterns import Event, Not, Repeat, Seq
from neelc.ir.program import Column, Stream
from neelc.ir.script import PatternQuery, Script
from neelc.ir.types import BIGINT, STRING
from neelc.program import bind, examine
from neelc.source import Source

# Where each condition goes: the query, and the pattern it becomes.
RELOCATION = [
    ("SEQ(A a, B b) WHERE a.id = b.id", "SEQ(A a, B b WHERE a.id = b.id)"),
    ("SEQ(A a, B b; a.id = b.id) WHERE a.id > 1", "SEQ(A a, B b WHERE a.id = b.id AND a.id > 1)"),
    (
        "SEQ(A a, !B b, C c) WHERE a.id = b.id AND a.id = c.id",
        "SEQ(A a, !(B b : a.id = b.id), C c WHERE a.id = c.id)",
    ),
    ("SEQ(A a, !SEQ(B b, C c), D d) WHERE c.id = d.id", "SEQ(A a, !SEQ(B b, C c WHERE c.id = d.id), D d)"),
    (
        "SEQ(A a, !SEQ(B b, !C c, D d), E e) WHERE b.id = c.id AND b.id = a.id AND c.id = e.id",
        "SEQ(A a, !SEQ(B b, !(C c : b.id = c.id AND c.id = e.id), D d WHERE b.id = a.id), E e)",
    ),
    ("SEQ(A a, !!B b, C c) WHERE a.id = b.id", "SEQ(A a, !!(B b : a.id = b.id), C c)"),
    (
        "OR(SEQ(A a, !B b, C c), D d) WHERE b.id = a.id",
        "OR(SEQ(A a, !(B b : b.id = a.id), C c), D d)",
    ),
    ("SEQ(A a, !B+ b[], C c) WHERE b[i].id = a.id", "SEQ(A a, !(B+ b[] : b[i].id = a.id), C c)"),
    ("SEQ(A a, !B b, C c WHERE [id])", "SEQ(A a, !B b, C c WHERE [id])"),
    ("SEQ(A a, !B b, C c) WHERE a.id = 1 OR b.id = 2", "SEQ(A a, !(B b : a.id = 1 OR b.id = 2), C c)"),
    (
        "SEQ(A a, !EXISTS c : SEQ(B b, C c), D d) WHERE a.id = b.id",
        "SEQ(A a, !(EXISTS c : SEQ(B b, C c) : a.id = b.id), D d)",
    ),
    (
        "SEQ(A a, SEQ(B b, !C c, D d WHERE c.id = b.id)+ k[])",
        "SEQ(A a, SEQ(B b, !(C c : c.id = b.id), D d)+ k[])",
    ),
]


@pytest.mark.parametrize("query, bound", RELOCATION)
def test_conditions_go_where_they_belong(query: str, bound: str) -> None:
    assert str(match(f"PATTERN {query}").pattern) == bound


# NEEL+, chapter 2: Q1 and Q2; Q3 is an error (test_bind_errors.py).
def test_target_variables_of_neel_plus() -> None:
    first = match("PATTERN EXISTS c : SEQ(A a, !(B b : b.id = a.id), C c)")
    assert str(first.pattern) == "EXISTS c : SEQ(A a, !(B b : b.id = a.id), C c)"
    assert [output.name for output in first.outputs] == ["a", "match_start", "match_end"]
    second = match("PATTERN SEQ(A a, !B b, !SEQ(C c, D d), E e)")
    assert [output.name for output in second.outputs] == ["a", "e", "match_start", "match_end"]


NAMES = [
    ("SEQ(A, !B, C; A.id = B.id)", "SEQ(A A, !(B B : A.id = B.id), C C)"),
    ("SEQ(A, A)", "SEQ(A A, A A_2)"),
    ("SEQ(A, B+)", "SEQ(A A, B+ B[])"),
    ("SEQ(A a, SEQ(B b, C c)+)", "SEQ(A a, SEQ(B b, C c)+ closure[])"),
    ("SEQ(A a, (B b : b.id > a.id)+ k[])", "SEQ(A a, (B+ k[] : k[i].id > a.id))"),
    ("SEQ(A a, (B b : b.id > 1)+)", "SEQ(A a, (B+ b[] : b[i].id > 1))"),
    ("SEQ(A a, (B : B.id > 1)* b[])", "SEQ(A a, (B* b[] : b[i].id > 1))"),
    # Conditions on lists that may be empty are checked for each element, so for none.
    ("SEQ(A a, (B b : a.id > 1)* k[])", "SEQ(A a, (B* k[] : k[i] IS NULL OR a.id > 1))"),
    # An unnamed component is called by its type in the part it stands in.
    (
        "OR(SEQ(A, B; A.id = B.id), SEQ(A, C; A.id = C.id))",
        "OR(SEQ(A A, B B WHERE A.id = B.id), SEQ(A A_2, C C WHERE A_2.id = C.id))",
    ),
    ("OR(A, EXISTS A : SEQ(A, B))", "OR(A A, EXISTS A_2 : SEQ(A A_2, B B))"),
    ("SEQ(A a, B B_2, B) WHERE A.ID = b_2.Id", "SEQ(A a, B B_2, B B WHERE a.id = B_2.id)"),
]


@pytest.mark.parametrize("query, bound", NAMES)
def test_every_component_gets_a_name(query: str, bound: str) -> None:
    assert str(match(f"PATTERN {query}").pattern) == bound


REFERENCES = [
    ("a.pos.x > 1", "a.pos.x > 1"),
    ("a.te - a.ts < 5", "a.te - a.ts < 5"),
    ("b[i].price > b[i-1].price", "b[i].price > b[i-1].price"),
    ("b[1].id = b[last - 1].id", "b[1].id = b[last-1].id"),
    ("avg(b[..i-1].price) < b[i].price", "avg(b[..i-1].price) < b[i].price"),
    ("COUNT(b[]) > 2", "count(b[]) > 2"),
    ("k[i].c.id = k[i-1].d.id", "k[i].c.id = k[i-1].d.id"),
    ("sum(k[].c.price) > 1", "sum(k[].c.price) > 1"),
    ("b[first].id = 1", "b[1].id = 1"),
    ("a IS NULL", "a IS NULL"),
]


@pytest.mark.parametrize("condition, bound", REFERENCES)
def test_references(condition: str, bound: str) -> None:
    found = match(f"PATTERN SEQ(A a, B+ b[], SEQ(C c, D d)+ k[]) WHERE {condition}")
    assert str(found.pattern.where) == bound


OUTPUTS = [
    ("a.id, b[last].price, k[].c.id", "a_id BIGINT, b_price DOUBLE, k_c_id ARRAY<BIGINT>"),
    ("a.pos.x, a.price + 1", "a_pos_x INT, (a.price + 1) DOUBLE"),
    ("b[].price AS prices, count(b[])", "prices ARRAY<DOUBLE>, count(b[]) BIGINT"),
    ("match_start, Match_End AS e, confidence", "match_start BIGINT, e BIGINT, confidence DOUBLE"),
    ("a.*", "a_id BIGINT, a_ts BIGINT, a_kind STRING, a_price DOUBLE, a_pos STRUCT<x: INT, y: INT>"),
    ("a.id, max(a.price), count(*)", "a_id BIGINT, max(a.price) DOUBLE, count(1) DECIMAL(38, 0)"),
]


@pytest.mark.parametrize("items, columns", OUTPUTS)
def test_result_columns(items: str, columns: str) -> None:
    found = match(f"PATTERN SEQ(A a, B+ b[], SEQ(C c, D d)+ k[]) RETURN {items}")
    assert ", ".join(f"{output.name} {output.type}" for output in found.outputs) == columns
    assert found.aggregated == ("count(*)" in items)


WINDOWS = [
    ("10 SECONDS", "10 SECONDS"),
    ("100", "100 MILLISECONDS"),
    ("1.5 HOURS", "90 MINUTES"),
    ("50 EVENTS", "50 EVENTS"),
    ("INTERVAL '1' DAY '2' HOUR", "26 HOURS"),
    ("0 SECONDS", "0 SECONDS"),
    (":w", "10 SECONDS"),
    (":n", "5 MILLISECONDS"),
    (":n MINUTES", "5 MINUTES"),
    (":d", "90 SECONDS"),
]


@pytest.mark.parametrize("window, bound", WINDOWS)
def test_windows(window: str, bound: str) -> None:
    given = {"w": "10 SECONDS", "n": 5, "d": datetime.timedelta(seconds=90)}
    assert str(match(f"PATTERN A a WITHIN {window}", arguments=given).within) == bound
    part = match(f"PATTERN SEQ(A a, SEQ(B b, C c) WITHIN {window})", arguments=given).pattern
    assert str(part) == f"SEQ(A a, SEQ(B b, C c) WITHIN {bound})"


def test_parameters() -> None:
    given = {"n": 5, "p": Decimal("1.50"), "s": "x", "d": datetime.date(2024, 5, 1), "t": None}
    text = "PATTERN A a WHERE a.id = :n AND a.price > :p AND a.kind = :s AND a.id IS NOT DISTINCT FROM :t"
    found = match(text, arguments=given)
    assert str(found.pattern) == (
        "(A a : a.id = 5 AND a.price > 1.50 AND a.kind = 'x' AND a.id IS NOT DISTINCT FROM NULL)"
    )


def test_partition() -> None:
    found = match("PATTERN SEQ(A a, !B b, C c) PARTITION BY ID")
    assert (found.partition, str(found.pattern)) == (("id",), "SEQ(A a, !B b, C c WHERE [id])")
    # `[id]` alone makes no partition for windows of events.
    assert match("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 EVENTS").partition == ()


@settings(max_examples=100)
@given(patterns.queries())
def test_queries_that_mean_something_are_bound(query: PatternQuery) -> None:
    bound = examine(streams.script_of(query), Source(""))
    assert bound.diagnostics == ()
    assert bound.program is not None
    for found in bound.program.queries:
        check(found.match)


@settings(max_examples=100)
@given(scripts.scripts())
def test_any_tree_gives_a_program_or_diagnostics(script: Script) -> None:
    bound = examine(script, Source(""))
    assert (bound.program is None) == bool(bound.diagnostics)


BROKEN = [
    (Seq((Event("A", "a"), Event("A"))), "has a variable"),
    (Seq((Event("A", "a"), Event("A", "a"))), "all variables differ"),
    (Repeat(Event("A"), 1, None), "every Repeat has a variable"),
    (Not(Event("A", "a")), "not negative"),
    (Seq((Event("A", "a"),), where=parse.expression("a.id = 1")), "references are Attribute"),
    (Event("A", "a", within=parse.window("5")), "unit of time"),
]


@pytest.mark.parametrize("pattern, promise", BROKEN)
def test_broken_promises_are_named(pattern: Seq, promise: str) -> None:
    whole = match("PATTERN A a")
    broken = replace(whole, pattern=pattern, outputs=())
    with pytest.raises(AssertionError, match=promise):
        check(broken)


def test_streams_from_outside() -> None:
    given = Stream("trades", (Column("at", BIGINT), Column("sym", STRING)), "at", type_column="sym")
    for text in (
        "PATTERN A a",
        "CREATE STREAM Trades; PATTERN A a",
        "CREATE STREAM trades FROM 'x.csv'; PATTERN A a",
    ):
        source = Source(text)
        bound = bind(parse.script(source), source, [given])
        assert [(s.start, s.type_column, len(s.columns)) for s in bound.streams] == [("at", "sym", 2)]
