"""Everything the binder refuses: the code, and the words the caret stands under. One problem, one diagnostic.

The full texts are in tests/cases/errors.
"""

from __future__ import annotations

import pytest
from binding import examined, problems

PROBLEMS = [
    ("NEEL2001", "PATTERN SEQ(A a, B b) WHERE c.price > a.price", "c"),
    ("NEEL2001", "PATTERN A a WHERE price > 1", "price"),
    ("NEEL2001", "PATTERN SEQ(A a, B+ b[]) WHERE b[i].price > i", "i"),
    ("NEEL2001", "PATTERN SEQ(A a, B b)+ k[] WHERE k[i].c.price > 1", "c"),
    ("NEEL2002", "PATTERN SEQ(A, A) WHERE A.price > 1", "A"),
    ("NEEL2002", "PATTERN SEQ(A, B a) WHERE A.price > 1", "A"),
    ("NEEL2003", "PATTERN A a WHERE a.prise > 1", "prise"),
    ("NEEL2003", "PATTERN A a WHERE a.a > 1", "a"),
    ("NEEL2004", "PATTERN A a FROM T", "T"),
    ("NEEL2005", "CREATE STREAM T (ts BIGINT) TIMESTAMP BY ts; PATTERN Q q FROM T", "Q"),
    ("NEEL2006", "PATTERN A a WHERE a.price > :least", ":least"),
    ("NEEL2008", "PATTERN SEQ(A a, B a)", "a"),
    ("NEEL2009", "PATTERN SEQ(A a, B b) RETURN a.id AS x, b.id AS X", "X"),
    ("NEEL2009", "PATTERN SEQ(A a, B+ b[]) RETURN b[1].id, b[last].id", "b[last].id"),
    ("NEEL2010", "PATTERN A a WHERE match_start > 1", "match_start"),
    ("NEEL2010", "PATTERN A a WHERE confidence > 0.5", "confidence"),
    (
        "NEEL2011",
        "CREATE STREAM T (t INT, k STRING, price STRING) TIMESTAMP BY t TYPE BY k; PATTERN A RETURN A.price",
        "price",
    ),
    ("NEEL2012", "CREATE STREAM T (ts BIGINT, kind STRING) TIMESTAMP BY ts; PATTERN T t FROM S", "T"),
    (
        "NEEL2012",
        "CREATE STREAM T (ts BIGINT) TIMESTAMP BY ts; CREATE TYPE C AS (X, Y); PATTERN C c FROM T",
        "C",
    ),
    ("NEEL2013", "PATTERN A a RETURN NULL AS x", "NULL AS x"),
    ("NEEL2014", "PATTERN A a WHERE a.pos.z > 1", "z"),
    ("NEEL2014", "PATTERN A a WHERE a.price.z > 1", "z"),
    ("NEEL2014", "PATTERN A a WHERE a.price[1] > 1", "a.price[1]"),
    ("NEEL2015", "PATTERN SEQ(A a, B b) WHERE [ident]", "ident"),
    ("NEEL2015", "PATTERN SEQ(A a, B b) PARTITION BY ident", "ident"),
    (
        "NEEL2016",
        "CREATE STREAM T (ts BIGINT, id STRING) TIMESTAMP BY ts; PATTERN SEQ(A a, T t) WHERE [id]",
        "id",
    ),
    ("NEEL2103", "PATTERN A a WHERE a.price", "a.price"),
    ("NEEL2201", "CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts", "s"),
    ("NEEL2201", "CREATE TYPE S AS (A, B)", "S"),
    ("NEEL2201", "PATTERN A a AS S", "S"),
    ("NEEL2202", "CREATE STREAM T (ts BIGINT, id INT, ID INT) TIMESTAMP BY ts", "ID"),
    ("NEEL2203", "CREATE STREAM T (id INT, at TIMESTAMP)", "T"),
    ("NEEL2204", "CREATE STREAM T (id INT, at TIMESTAMP) TIMESTAMP BY att", "att"),
    ("NEEL2204", "CREATE STREAM T (id INT, at TIMESTAMP) TIMESTAMP BY at TYPE BY kind", "kind"),
    ("NEEL2205", "CREATE STREAM T (id INT, at STRING) TIMESTAMP BY at", "at"),
    (
        "NEEL2205",
        "CREATE STREAM T (id INT, at TIMESTAMP, until BIGINT) TIMESTAMP BY at END BY until",
        "until",
    ),
    ("NEEL2205", "CREATE STREAM T (id INT, at TIMESTAMP) TIMESTAMP BY at TYPE BY id", "id"),
    ("NEEL2206", "CREATE STREAM T (at TIMESTAMP) TIMESTAMP BY at UNIT SECONDS", "UNIT"),
    ("NEEL2206", "CREATE STREAM T (at BIGINT) TIMESTAMP BY at UNIT MONTHS", "MONTHS"),
    ("NEEL2240", "CREATE STREAM T (at TIMESTAMP) TIMESTAMP BY at WATERMARK 5 EVENTS", "5 EVENTS"),
    ("NEEL2240", "CREATE STREAM T (at TIMESTAMP) TIMESTAMP BY at WATERMARK 5", "5"),
    ("NEEL2240", "CREATE STREAM T (at TIMESTAMP) TIMESTAMP BY at WATERMARK 1 MONTH", "1 MONTH"),
    ("NEEL2240", "CREATE STREAM T (at TIMESTAMP) TIMESTAMP BY at WATERMARK 1 MICROSECOND", "1 MICROSECOND"),
    (
        "NEEL2240",
        "CREATE STREAM T (at TIMESTAMP) TIMESTAMP BY at WATERMARK INTERVAL -1 HOUR",
        "INTERVAL -1 HOUR",
    ),
    ("NEEL2207", "CREATE STREAM T (lo TIMESTAMP, hi TIMESTAMP) TIMESTAMP BETWEEN lo AND hi", "hi"),
    ("NEEL2208", "CREATE TYPE C AS (D, X); CREATE TYPE D AS (C)", "D"),
    ("NEEL2209", "CREATE STREAM T TIMESTAMP BY ts FROM 'x.csv'", "T"),
    ("NEEL2212", "PATTERN A a RETURN count(*) AS n AS Q; PATTERN Q q", "Q"),
    ("NEEL2213", "PATTERN A a RETURN a.id AS match_start AS Q; PATTERN Q q", "Q"),
    ("NEEL2214", "PATTERN A a FROM S, S", "S"),
    (
        "NEEL2215",
        "CREATE STREAM T (lo INT, hi INT, until INT) TIMESTAMP BETWEEN lo AND hi END BY until",
        "until",
    ),
    ("NEEL3001", "PATTERN SEQ(!A a, !B b) WITHIN 10 SECONDS", "SEQ(!A a, !B b)"),
    ("NEEL3002", "PATTERN SEQ((A a : a.id = b.id), !SEQ(B b, C c), D d)", "b"),
    ("NEEL3003", "PATTERN SEQ(A a, !B b, !C c, D d) WHERE b.id = c.id", "c"),
    ("NEEL3003", "PATTERN SEQ(A a, !(B b : b.id = c.id), !C c, D d)", "c"),
    ("NEEL3004", "PATTERN SEQ(!A a, B b)", "!A a"),
    ("NEEL3004", "PATTERN SEQ(A a, !B b)", "!B b"),
    ("NEEL3004", "PATTERN AND(A a, !B b)", "!B b"),
    ("NEEL3004", "PATTERN SEQ(A? a, !B b, C c)", "!B b"),
    ("NEEL3005", "PATTERN !A a", "!A a"),
    ("NEEL3005", "PATTERN OR(A a, !B b)", "!B b"),
    ("NEEL3006", "PATTERN AND_NEG(A a, B b, !C c)", "!C c"),
    ("NEEL3007", "PATTERN EXISTS x : SEQ(A a, B b)", "x"),
    ("NEEL3007", "PATTERN EXISTS b : SEQ(A a, !B b, C c)", "b"),
    ("NEEL3008", "PATTERN EXISTS a, b : SEQ(A a, B b)", "EXISTS a, b : SEQ(A a, B b)"),
    ("NEEL3009", "PATTERN EXISTS b : SEQ(A a, B b) WHERE a.id = b.id", "b"),
    ("NEEL3009", "PATTERN EXISTS b : SEQ(A a, B b) RETURN a.id, b.id", "b"),
    ("NEEL3010", "PATTERN SEQ(A a, SEQ(B b, C c)+ k[]) WHERE b.id = a.id", "b"),
    ("NEEL3010", "PATTERN SEQ(A a, SEQ(B b, C c WHERE k[i].b.id = c.id)+ k[])", "k"),
    ("NEEL3011", "PATTERN SEQ(A a, B+ b[]) WHERE b.price > 1", "b.price"),
    ("NEEL3011", "PATTERN SEQ(A a, B+ b[]) RETURN b", "b"),
    ("NEEL3011", "PATTERN SEQ(A a, B+ b[]) RETURN b.*", "b.*"),
    ("NEEL3011", "PATTERN SEQ(A a, B+ b[]) WHERE sum(b.price) > 1", "b.price"),
    ("NEEL3012", "PATTERN SEQ(A a, B b) WHERE a[i].price > 1", "a[i]"),
    ("NEEL3012", "PATTERN SEQ(A a, B b) RETURN a[].price", "a[]"),
    ("NEEL3013", "PATTERN SEQ(A a, B+ b[]) RETURN b[i].price", "i"),
    ("NEEL3014", "PATTERN SEQ(A+ a[], B+ b[]) WHERE a[i].price < b[i].price", "a[i].price < b[i].price"),
    ("NEEL3015", "PATTERN SEQ(A a, B+ b[]) WHERE b[0].price > 1", "0"),
    ("NEEL3015", "PATTERN SEQ(A a, B+ b[]) WHERE b[i+1].price > 1", "i+1"),
    ("NEEL3016", "PATTERN SEQ(A a, B{0} b[])", "B{0} b[]"),
    ("NEEL3016", "PATTERN SEQ(A a, B{3,2} b[])", "B{3,2} b[]"),
    ("NEEL3017", "PATTERN SEQ(A a, SEQ(B? b, C* c[])+ k[])", "SEQ(B? b, C* c[])"),
    ("NEEL3018", "PATTERN A a WHERE max(a.price) > 1", "max(a.price)"),
    ("NEEL3018", "PATTERN A a WHERE count(*) > 1", "count(*)"),
    ("NEEL3019", "PATTERN SEQ(A a, B+ b[]) RETURN max(count(a.id)) AS m", "count(a.id)"),
    ("NEEL3018", "PATTERN SEQ(A a, B+ b[]) WHERE max(count(b[])) > 1", "max(count(b[]))"),
    ("NEEL3020", "PATTERN A a RETURN a.price / max(a.price) AS share", "a.price / max(a.price) AS share"),
    ("NEEL3021", "PATTERN SEQ(A a, B b) WHERE [id] OR a.price > 1", "[id]"),
    ("NEEL3021", "PATTERN SEQ(A a, B b) WHERE NOT [id]", "[id]"),
    ("NEEL3022", "PATTERN SEQ(A a, AND(B b, C c)) USING SKIP TILL NEXT MATCH", "AND(B b, C c)"),
    ("NEEL3023", "PATTERN SEQ(A a, B b) USING PARTITION CONTIGUITY", "PARTITION"),
    ("NEEL3025", "PATTERN SEQ(A a, SEQ(B b, C c)+ k[]) RETURN COLLAPSED", "COLLAPSED"),
    ("NEEL3026", "PATTERN A a WITHIN INTERVAL '-1' SECOND", "INTERVAL '-1' SECOND"),
    ("NEEL3026", "PATTERN A a WITHIN 1.5 EVENTS", "1.5"),
    ("NEEL3027", "CREATE STREAM T (at TIMESTAMP) TIMESTAMP BY at; PATTERN T t WITHIN 100", "100"),
    (
        "NEEL3027",
        "CREATE STREAM T (at INT) TIMESTAMP BY at UNIT SECONDS; PATTERN SEQ(A a, T t) WITHIN 100",
        "100",
    ),
    ("NEEL3028", "PATTERN A a WITHIN 2 MONTHS", "2 MONTHS"),
    ("NEEL3028", "PATTERN A a WITHIN INTERVAL '1' YEAR", "INTERVAL '1' YEAR"),
    ("NEEL3029", "PATTERN A a WITH CONFIDENCE >= 60", "60"),
    ("NEEL3030", "PATTERN SEQ(A a, !B b, C c) RETURN a.id, b.id", "b"),
    ("NEEL3031", "PATTERN A a WHERE FINAL last(a.price) > 1", "FINAL last(a.price)"),
    ("NEEL3031", "PATTERN A a RETURN upper(a.*)", "a.*"),
    ("NEEL4001", "SELECT * FROM MATCH(x:INT)", "MATCH"),
]


@pytest.mark.parametrize("code, text, marked", PROBLEMS)
def test_problem(code: str, text: str, marked: str) -> None:
    assert problems(text) == [(code, marked)]
    assert problems(f"{text};") == [(code, marked)]


def test_unknown_member_of_a_type() -> None:
    head = "CREATE STREAM T (ts BIGINT) TIMESTAMP BY ts; CREATE TYPE C AS (T, DELL);"
    assert problems("PATTERN C c; PATTERN C c", head) == [("NEEL2210", "DELL")]
    assert problems("", head) == []


def test_values_of_parameters() -> None:
    assert problems("PATTERN A a WITHIN :w", arguments={"w": "soon"}) == [("NEEL2007", ":w")]
    assert problems("PATTERN A a WITHIN :w", arguments={"w": None}) == [("NEEL3026", ":w")]
    assert problems("PATTERN A a WHERE a.id = :w", arguments={"w": object()}) == [("NEEL2007", ":w")]
    assert problems("PATTERN A a WITH CONFIDENCE > :w", arguments={"w": 2}) == [("NEEL3029", ":w")]


def test_all_problems_in_one_run() -> None:
    text = """
        CREATE STREAM T (ts STRING) TIMESTAMP BY ts;
        PATTERN SEQ(A a, B+ b[]) WHERE c.id = 1 AND b.id = 2 AND a.prise = 3 AND a.id
          RETURN a.nosuch, upper(d.x);
        PATTERN SEQ(!A a, B b) WHERE foo(a.id)"""
    assert " ".join(code for code, _ in problems(text)) == (
        "NEEL2205 NEEL2001 NEEL3011 NEEL2003 NEEL2103 NEEL2003 NEEL2001 NEEL3004 NEEL2104"
    )


def test_one_mistake_gives_one_message() -> None:
    """What depends on something wrong is not checked."""
    broken = "CREATE STREAM T (x INT) TIMESTAMP BY ts; "
    assert problems(broken + "PATTERN T t WHERE t.anything > 1 AND [id] RETURN t.x") == [("NEEL2204", "ts")]
    broken = "CREATE STREAM T (x INT, k STRING) TIMESTAMP BY ts TYPE BY k; "
    assert problems(broken + "PATTERN X x FROM T RETURN x.anything", "") == [("NEEL2204", "ts")]
    assert problems("PATTERN A a FROM nowhere WHERE a.anything WITHIN 10") == [("NEEL2004", "nowhere")]
    assert problems("PATTERN SEQ(A a, B b) WHERE a.id = 1 AND a.id", "") == [("NEEL2005", "A")]
    assert problems("(SELECT y FROM S) AS Q; PATTERN Q q WHERE q.x = 1") == [("NEEL2003", "y")]
    assert problems("PATTERN A a WHERE a.b = 1 AS Q; PATTERN Q q WHERE q.x = 1") == [("NEEL2003", "b")]
    assert problems("PATTERN SEQ(A a, B a) WHERE a.id = 1 RETURN a.id") == [("NEEL2008", "a")]


def test_hints() -> None:
    hints = {
        "PATTERN A a WHERE c.id = 1": "variables in scope: a",
        "PATTERN A a WHERE id = 1": "an attribute is named with its variable: a.id",
        "PATTERN B+ b[] WHERE id = 1": "an attribute is named with its variable: b[i].id",
        "PATTERN A a WHERE a.prize = 1": "did you mean `price`? attributes of a: id, ts, kind, price, pos",
        "PATTERN SEQ(A a, B b)+ k[] RETURN b.id": "write k[].b",
        "PATTERN SEQ(SEQ(A a, B b)+ j[], C c)+ k[] WHERE b.id = 1": "write k[i].j[last].b",
        "PATTERN SEQ(A a, !B b, C c)+ k[] WHERE b.id = 1": "put the condition inside the closure",
        "PATTERN B+ b[] RETURN b.price": "write b[].price, or b[last].price",
        "PATTERN SEQ(A a, !B b)": "add WITHIN, for example WITHIN 10 MINUTES",
        "PATTERN A a WHERE a.id > :x": 'give it a value: args={"x": ...} in Python, '
        "--arg x=... on the command line, a variable `x` for %%neel",
    }
    for text, hint in hints.items():
        bound, _ = examined(text)
        assert [found.hint for found in bound.diagnostics] == [hint]
