"""Streams, types and named queries: what a type in a pattern stands for."""

from __future__ import annotations

import pytest
from binding import STREAM, match, program

from neelc.ir.program import EventType

TWO = (
    STREAM
    + "CREATE STREAM T (ID INT, ts BIGINT, price DOUBLE) TIMESTAMP BY ts;\n"
    + "CREATE STREAM U (id BIGINT, ts BIGINT, kind STRING, size INT) TIMESTAMP BY ts TYPE BY kind;\n"
    + "CREATE TYPE Computer AS (DELL, INTC); CREATE TYPE Any AS (Computer, T);\n"
)


def members(found: EventType) -> str:
    return ", ".join(m.stream if m.value is None else f"{m.stream}.{m.value}" for m in found.members)


TYPES = [
    # pattern and FROM, the members of its types, the streams read, the attributes of the first type
    ("A a FROM S", "S.A", "S", "id ts kind price pos"),
    ("`a b` a FROM S", "S.`a b`", "S", "id ts kind price pos"),
    ("A a", "S.A, U.A", "S U", "id ts kind price pos size"),
    ("T t", "T", "T", "ID ts price"),
    ("S s", "S", "S", "id ts kind price pos"),
    ("SEQ(T t, s s)", "T; S", "S T", "ID ts price"),
    ("Computer c FROM U", "U.DELL, U.INTC", "U", "id ts kind size"),
    ("any c FROM S, T", "S.DELL, S.INTC, T", "S T", "id ts kind price pos"),
    ("Any c FROM T", "T", "T", "ID ts price"),
    ("A a FROM U, T", "U.A", "U T", "id ts kind size"),
]


@pytest.mark.parametrize("query, types, read, attributes", TYPES)
def test_types(query: str, types: str, read: str, attributes: str) -> None:
    found = match(f"PATTERN {query}", TWO)
    assert "; ".join(members(t) for t in found.types) == types
    assert " ".join(stream.name for stream in found.streams) == read
    assert " ".join(column.name for column in found.types[0].columns) == attributes


def test_attributes_of_a_union_take_the_wider_type() -> None:
    found = match("PATTERN Any c FROM S, T WHERE c.id > 1 RETURN c.id", TWO)
    assert str(found.outputs[0].type) == "BIGINT"


@pytest.mark.parametrize(
    "time, clock",
    [
        ("at INT) TIMESTAMP BY at UNIT SECONDS", "BIGINT in MILLISECONDS"),
        ("at INT) TIMESTAMP BY at", "BIGINT in MILLISECONDS"),
        ("at BIGINT) TIMESTAMP BY at UNIT NANOSECONDS", "BIGINT in NANOSECONDS"),
        ("at DATE) TIMESTAMP BY at", "TIMESTAMP"),
    ],
)
def test_streams_that_count_time_differently(time: str, clock: str) -> None:
    found = match(f"CREATE STREAM T ({time}; PATTERN SEQ(A a, T t) WITHIN 1 SECOND RETURN match_start")
    assert str(found.clock) == clock
    assert found.outputs[0].type == found.clock.type


def test_a_query_is_a_stream_for_those_after_it() -> None:
    found = program("""
        PATTERN SEQ(A a, B b) RETURN a.id, match_end - match_start AS lasted AS Q;
        CREATE QUERY R AS
          PATTERN SEQ(Q q, C c) WHERE q.a_id = c.id AND q.lasted < 5 AND q.match_end > q.ts;
        PATTERN R r RETURN r.q.a_id, r.match_start, r.te
    """)
    first, second, third = found.queries
    assert (first.name, second.name, third.name) == ("Q", "R", None)
    assert str(second.match.pattern) == "SEQ(Q q, C c WHERE q.a_id = c.id AND q.lasted < 5 AND q.te > q.ts)"
    stream = second.match.streams[1]
    assert (stream.query, stream.start, stream.end) == ("Q", "match_start", "match_end")
    assert [column.name for column in stream.columns] == ["a_id", "lasted"]
    assert [str(output.expression) for output in third.match.outputs] == ["r.q.a_id", "r.ts", "r.te"]
    assert [stream.name for stream in found.streams] == ["S"]


def test_imprecise_streams_have_a_confidence() -> None:
    head = "CREATE STREAM I (lo INT, hi INT) TIMESTAMP BETWEEN lo AND hi UNIT SECONDS;"
    found = match("PATTERN I i WITHIN 10 WITH CONFIDENCE > 0.5", head)
    assert [output.name for output in found.outputs] == ["i", "match_start", "match_end", "confidence"]
    assert (str(found.within), str(found.confidence)) == ("10 SECONDS", "WITH CONFIDENCE > 0.5D")
    assert (found.streams[0].start, found.streams[0].latest) == ("lo", "hi")


def test_strategies_take_sequences_and_alternatives_of_them() -> None:
    for query in ("A a", "A+ a[]", "SEQ(A a, B? b, C+ c[], !AND(D d, E e))", "OR(A a, SEQ(B b, C c))",
                  "SEQ(A a, SEQ(B b, C* c[], !D d, E e)+ k[])"):  # fmt: skip
        match(f"PATTERN {query} WITHIN 10 USING SKIP TILL NEXT MATCH")
        match(f"PATTERN {query} WITHIN 10 USING STRICT CONTIGUITY")
