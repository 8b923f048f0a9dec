"""The text of single nodes: no parentheses but those needed, one spelling for each meaning."""

from __future__ import annotations

import pytest

from neelc import syntax as parse
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir import program as logical
from neelc.ir import types as t
from neelc.ir.script import Confidence
from neelc.syntax.printer import show


@pytest.mark.parametrize(
    "text",
    [
        "a + b - c",
        "a - (b - c)",
        "(a + b) * c",
        "a | b ^ c & d + e * f",
        "((a | b) ^ c) & d",
        "-a.x + ~b",
        "-(-5)",
        "NOT a = b AND c",
        "NOT (a AND b)",
        "(a OR b) AND c",
        "a AND (b AND c)",
        "a OR b AND c",
        "(a = b) = c",
        "a + 1 BETWEEN 1 AND 2 AND b",
        "a NOT IN (1, 2) OR a NOT LIKE '!%' ESCAPE '!'",
        "(a IS NULL) IS NOT TRUE",
        "a IS NOT DISTINCT FROM b",
        "CASE WHEN a > 1 THEN 'x' ELSE 'y' END",
        "CASE a WHEN 1 THEN 2 END",
        "CAST(a AS DECIMAL(5, 2)) + TRY_CAST(b AS ARRAY<INT>)[0]",
        "count(*) + count(DISTINCT a.x)",
        "b[i].x > b[i-1].x + 1",
        "b[last-1].x < avg(b[..i-1].x)",
        "k[last].c[1].x = sum(k[].a.x)",
        "START(s).id",
        "(5).x",
        "FINAL LAST(a.x)",
        "[id, day]",
        ":most * 2",
        "EXTRACT(YEAR FROM a.day)",
        "INTERVAL '1' DAY '2' HOUR + INTERVAL '1 10:00' DAY TO MINUTE",
        "a * INTERVAL '1' DAY + 5 * b",
        "DATE '2020-01-01' < TIMESTAMP '2020-01-01 00:00:00'",
    ],
)
def test_canonical_expressions(text: str) -> None:
    assert show(parse.expression(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("5 + 5l + 5s + 5y", "5 + 5L + 5S + 5Y"),
        ("1.50 + 5bd + .5", "1.50 + 5BD + 0.5"),
        ("1.5d + 1e3 + 1e-300 + 0.9f", "1.5D + 1000.0D + 1E-300 + 0.9F"),
        ("\"it's\" || 'it''s'", "'it''s' || 'it''s'"),
        ("x'1f'", "X'1F'"),
        ("a != b or not a == b", "a <> b OR NOT a = b"),
        ("((a and b)) and c", "(a AND b) AND c"),
        ("b[1..i-1]", "b[..i-1]"),
        ("interval 5 minutes", "INTERVAL '5' MINUTE"),
        ("Price.`Unit Price`", "Price.`Unit Price`"),
    ],
)
def test_other_spellings(text: str, canonical: str) -> None:
    assert show(parse.expression(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "A a",
        "(A a : a.x > 1)",
        "SEQ(A a, !B b, C c WHERE a.id = c.id AND [id])",
        "AND_NEG(A a, !C c, B b)",
        "OR(A a, AND(B b, !!D d))",
        "EXISTS x, y : SEQ(A x, B y, C c)",
        "(EXISTS x : SEQ(A x, B b) : b.x > 1)",
        "SEQ(B+ b[], B* c[], B{2} d[], B{2,} e[], B{2,5} f[], B{0,5} g[], B? h)",
        "(B+ b[] : b[i].x > 1) WITHIN 5 SECONDS",
        "SEQ(A a, SEQ(B b, C c) WITHIN 5 SECONDS)",
        "SEQ(A a, !(SEQ(B b, C c) WITHIN 1 SECOND), D d) WITHIN 50 EVENTS",
        "(SEQ(A a) WITHIN 5)+ k[]",
        "(EXISTS x : A x) WITHIN :w SECONDS",
        "(A : x > 1)+ a[]",
        "SEQ(A a, B b)? WITHIN INTERVAL '5' MINUTE",
        "(A+ a[])? WITHIN :w",
        "(A a : a.x > 1)?",
        "SEQ(A, B{3}, SEQ(C, D)+)",
    ],
)
def test_canonical_patterns(text: str) -> None:
    assert show(parse.pattern(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("SEQ_NEG(A a, not B b; a.x = b.x)", "SEQ(A a, !B b WHERE a.x = b.x)"),
        ("seq(A a, B b, a.x = b.x, [id])", "SEQ(A a, B b WHERE a.x = b.x AND [id])"),
        ("A a or B b", "OR(A a, B b)"),
        ("B{,5} b[]", "B{0,5} b[]"),
        ("((A a))", "A a"),
        ("(B b)?", "B? b"),
    ],
)
def test_other_spellings_of_patterns(text: str, canonical: str) -> None:
    assert show(parse.pattern(text)) == canonical


def test_bound_references_look_like_source() -> None:
    b, k = e.Variable("b"), e.Variable("k")
    last, before = e.Index("LAST", -1), e.Index("CURRENT", -1)
    shown = {
        "a.price": e.Attribute(e.Variable("a"), "price", t.INT),
        "b[1].x": e.Attribute(e.ListElement(b, e.Index("FIRST")), "x", t.INT),
        "b[i-1].x": e.Attribute(e.ListElement(b, before), "x", t.INT),
        "b[last-1].x": e.Attribute(e.ListElement(b, last), "x", t.INT),
        "sum(b[..i-1].x)": e.Aggregate("sum", e.Attribute(e.EveryElement(b, before), "x", t.INT), t.BIGINT),
        "k[i].a.x": e.Attribute(e.InnerVariable(e.ListElement(k, e.Index("CURRENT")), "a"), "x", t.INT),
        "count(b[])": e.Aggregate("count", e.WholeEvent(e.EveryElement(b), t.VOID), t.BIGINT),
        "count(*)": e.Aggregate("count", None, t.BIGINT),
        "a.ts": e.EventTime(e.Variable("a"), "ts", t.BIGINT),
        "(a.x + 1) * 2": e.Binary(
            "*",
            e.Cast(
                e.Binary("+", e.Attribute(e.Variable("a"), "x", t.INT), e.Literal(1, t.INT)),
                t.DOUBLE,
                implicit=True,
            ),
            e.Literal(2, t.INT),
        ),
        "-(-5)": e.Unary("-", e.Literal(-5, t.INT)),
    }
    assert [show(node) for node in shown.values()] == list(shown)


def test_a_bound_pattern_looks_like_source() -> None:
    condition = e.Binary(">", e.Attribute(e.Variable("b"), "x", t.INT), e.Literal(1, t.INT))
    pattern = p.Seq(
        (p.Event("A", "a"), p.Not(p.Event("B", "b", where=condition))), where=e.SameAttributes(("id",))
    )
    assert str(pattern) == "SEQ(A a, !(B b : b.x > 1) WHERE [id])"


def test_a_plan_is_indented() -> None:
    columns = (logical.Column("kind", t.STRING), logical.Column("unit price", t.INT))
    stream = logical.Stream("S", columns, "lo", latest="hi", type_column="kind", path="s.csv", format="csv")
    kinds = (
        logical.EventType("A", (logical.Member("S", "A"),), columns),
        logical.EventType("S", (logical.Member("S"),), columns),
    )
    price = logical.OutputColumn("price", e.Attribute(e.Variable("a"), "`unit price`", t.INT), t.INT)
    match = logical.Match(
        p.Seq((p.Event("A", "a"), p.Event("S", "b"))),
        (stream,),
        kinds,
        (price,),
        logical.Clock(t.BIGINT, "MILLISECOND"),
        within=p.Window(e.Literal(5, t.INT), "SECOND"),
        partition=("id",),
        confidence=Confidence(">=", e.Literal(0.5, t.DOUBLE)),
        distinct=True,
    )
    expected = """\
STREAM S (kind STRING, `unit price` INT)
  TIMESTAMP BETWEEN lo AND hi UNIT MILLISECONDS
  TYPE BY kind
  FROM 's.csv'
  FORMAT csv
QUERY
  MATCH SEQ(A a, S b)
    FROM S
    TYPES A = S[A], S = S
    PARTITION BY id
    WITHIN 5 SECONDS
    USING SKIP TILL ANY MATCH
    WITH CONFIDENCE >= 0.5D
    RETURN DISTINCT
      price INT = a.`unit price`"""
    assert str(logical.Program((stream,), (logical.NamedQuery(None, match),))) == expected
