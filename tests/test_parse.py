"""The parser: spellings that mean the same, spans, and what it says about text it cannot read."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir.expressions import Binary, Conjunction
from neelc.ir.names import RESERVED, Identifier
from neelc.ir.node import Node, walk
from neelc.ir.patterns import And, Event, Exists, Not, Optional, Or, Pattern, Repeat, Seq
from neelc.ir.row_patterns import (
    MatchSequential,
    MatchTemporal,
    RowRepeat,
    RowSequence,
    RowVariable,
    TemporalRelation,
)
from neelc.ir.script import FromStream, PatternQuery, RunQuery, Select
from neelc.ir.types import DataType
from neelc.source import Span
from neelc.syntax.parser import NAME, lexemes


def errors(text: str) -> list[tuple[str, str]]:
    with pytest.raises(NeelError) as caught:
        parse.script(text)
    return [(d.code, d.message) for d in caught.value.diagnostics]


def select(text: str) -> FromStream:
    [statement] = parse.script(text).statements
    assert isinstance(statement, RunQuery) and isinstance(statement.query, Select)
    [source] = statement.query.sources
    assert isinstance(source, FromStream)
    return source


A, B, C = Event("A", "a"), Event("B", "b"), Event("C", "c")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("A", Event("A")),
        ("seq(A a, B b)", Seq((A, B))),
        ("(A a)", A),
        ("SEQ((A a), ! (B b), NOT C c)", Seq((A, Not(B), Not(C)))),
        ("SEQ_NEG(A a, !C c, B b)", Seq((A, Not(C), B))),
        ("A a OR B b OR C c", Or((A, B, C))),
        ("OR(A a, B b, C c)", Or((A, B, C))),
        ("AND(A a, B b OR C c)", And((A, Or((B, C))))),
        ("!!A a", Not(Not(A))),
        ("∃ b, c : SEQ(A a, B b, C c)", Exists(("b", "c"), Seq((A, B, C)))),
        ("B+ b[]", Repeat(Event("B"), 1, None, "b")),
        ("B* b[ ]", Repeat(Event("B"), 0, None, "b")),
        ("B? b", Optional(B)),
        ("B{3} b[]", Repeat(Event("B"), 3, 3, "b")),
        ("B{3,} b[]", Repeat(Event("B"), 3, None, "b")),
        ("B{,3} b[]", Repeat(Event("B"), 0, 3, "b")),
        ("B{2,3} b[]", Repeat(Event("B"), 2, 3, "b")),
        ("SEQ(A a, B b)+ k[]", Repeat(Seq((A, B)), 1, None, "k")),
        ("(A a)+ k[]", Repeat(A, 1, None, "k")),
        ("SEQ(A a, B b)?", Optional(Seq((A, B)))),
    ],
)
def test_patterns(text: str, meant: Pattern) -> None:
    assert parse.pattern(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b WHERE a.id = b.id AND a.x > 1)",
        "SEQ(A a, B b; a.id = b.id, a.x > 1)",
        "SEQ(A a, B b, a.id = b.id, a.x > 1)",
        "(SEQ(A a, B b) : a.id == b.id, a.x > 1)",
    ],
)
def test_four_ways_to_qualify_a_list(text: str) -> None:
    condition = Conjunction((parse.expression("a.id = b.id"), parse.expression("a.x > 1")))
    assert parse.pattern(text) == Seq((A, B), where=condition)


def test_a_window_on_a_part_is_not_the_window_of_the_query() -> None:
    [statement] = parse.script("PATTERN SEQ(A a, SEQ(B b, C c) WITHIN 5 SECONDS) WITHIN 1 MINUTE").statements
    parts = [n for n in walk(statement) if isinstance(n, Pattern | PatternQuery)]
    windows = [str(part.within) for part in parts if part.within is not None]
    assert windows == ["1 MINUTE", "5 SECONDS"]


def test_arithmetic_groups_by_precedence_and_to_the_left() -> None:
    tree = parse.expression("1 - 2 - 3 * 4 | 5 & 6 || 7")
    assert isinstance(tree, Binary) and tree.op == "|"
    assert str(tree.left) == "1 - 2 - 3 * 4" and isinstance(tree.left, Binary)
    assert (tree.left.op, str(tree.left.left)) == ("-", "1 - 2")
    assert isinstance(tree.right, Binary) and tree.right.op == "&"


def test_every_node_knows_where_it_was_written() -> None:
    text = "PATTERN SEQ(A a, !(B b : b.x > 1)) WHERE a.y = 2 WITHIN 5 SECONDS RETURN a.id AS who"
    for node in walk(parse.script(text)):
        assert node.span is not None or isinstance(node, DataType), node
        if isinstance(node, Event) and node.span is not None:
            assert text[node.span.start : node.span.end].startswith(node.type)


def test_symbols_of_jepc_may_stand_packed() -> None:
    matcher = select("SELECT * FROM S MATCH_RECOGNIZE_SEQUENTIAL (PATTERN ab*c DEFINE a AS x > 1)").matcher
    assert isinstance(matcher, MatchSequential)
    a, b, c = (RowVariable(name) for name in "abc")
    assert matcher.pattern == RowSequence((a, RowRepeat(b, 0, None), c))


def temporal(pattern: str) -> MatchTemporal:
    matcher = select(f"SELECT * FROM S MATCH_RECOGNIZE_TEMPORAL (PATTERN {pattern})").matcher
    assert isinstance(matcher, MatchTemporal)
    return matcher


# Table 15.2 of the JEPC thesis.
INTERVALS = "AABB ABBA BBAA A.BAB AA.BB A.BBA BB.AA BAA.B ABAB ABA.B BABA A.BA.B BAAB".split()
POINT_AND_INTERVAL = "A.ABB BB.A.A A.A.BB BBA.A BA.AB".split()
INTERVAL_AND_POINT = "B.BAA AA.B.B B.B.AA AAB.B AB.BA".split()
POINTS = "A.AB.B B.BA.A A.A.B.B".split()
CONSTRAINTS = INTERVALS + POINT_AND_INTERVAL + INTERVAL_AND_POINT + POINTS


def test_all_26_temporal_constraints_parse_and_differ() -> None:
    # Order within an instant does not matter, so constraints are compared as sets of instants.
    seen = set()
    for word in CONSTRAINTS:
        [pattern] = temporal(word).patterns
        [relation] = pattern.parts[0].choices  # type: ignore[union-attr]
        assert str(relation) == word and isinstance(relation, TemporalRelation)
        seen.add(tuple(tuple(sorted(step.symbols)) for step in relation.steps))
    assert len(CONSTRAINTS) == len(seen) == 26


def test_a_query_of_tpstream_is_the_clause_of_jepc_ql() -> None:
    own = """FROM Sensors s, Rooms r PARTITION BY s.id
      DEFINE A AS TEMP(s.t > 5) DO v = START(s).x
             B AS r.heat > v DURATION AT LEAST 5 SECONDS DO w = r.heat, u = heat
      PATTERN (A OVERLAPS B); (AABB) WITHIN 6 HOURS RETURN w, max(A.x) AS top"""
    clause = """SELECT w, top FROM Sensors s MATCH_RECOGNIZE_TEMPORAL (
      FROM Rooms r PARTITION BY s.id
      MEASURES START(A).x AS v, B.heat AS w, B.heat AS u, max(A.x) AS top
      PATTERN (A OVERLAPS B); (AABB) WITHIN 6 HOURS
      DEFINE A AS TEMP(s.t > 5), B AS r.heat > v DURATION AT LEAST 5 SECONDS)"""
    assert parse.script(own) == parse.script(clause)


@pytest.mark.parametrize("word", ["AABBB", "AAB", "AABC", "A.B", "A NEAR B", "A BEFORE A"])
def test_other_words_are_no_constraints(word: str) -> None:
    assert errors(f"SELECT * FROM S MATCH_RECOGNIZE_TEMPORAL (PATTERN {word})")[0][0] == "NEEL1006"


def test_a_script_reports_one_error_for_each_bad_statement() -> None:
    found = errors("PATTERN SEQ(A a; PATTERN A a; PATTERN A+ a; PATTERN B b;")
    assert [code for code, _ in found] == ["NEEL1001", "NEEL1007"]
    found = errors("PATTERN SEQ(A a,); PATTERN A a WITHIN 5 SECNDS; SELCT x FROM y; CREATE TYPE T AS ();")
    assert [code for code, _ in found] == ["NEEL1005", "NEEL1001", "NEEL1001"]


def test_deep_nesting_is_refused_with_a_clear_error() -> None:
    for text in ("SEQ(" * 500 + "A a" + ")" * 500, "!" * 500 + "A a"):
        assert errors("PATTERN " + text) == [("NEEL1003", "nested too deeply: more than 60 levels")]
    assert errors("PATTERN A a WHERE " + "(" * 500 + "1" + ")" * 500)[0][0] == "NEEL1003"
    assert errors("PATTERN A a WHERE a.x = " + "1+" * 4000 + "1")[0][0] == "NEEL1003"
    assert errors("PATTERN A a WHERE " + "NOT " * 500 + "a.x = 1")[0][0] == "NEEL1003"


def test_nesting_up_to_the_limit_works_in_every_stage_before_binding() -> None:
    deep = "SEQ(" * 59 + "A a" + ")" * 59
    assert parse.pattern(str(parse.pattern(deep))) == parse.pattern(deep)
    deep = "(" * 58 + "1" + ")" * 58
    assert str(parse.expression(deep)) == "1"


def test_reserved_words_are_those_of_the_grammar() -> None:
    """A word is reserved exactly when the rule `name` does not accept it."""
    grammar = (Path(__file__).parent.parent / "grammar" / "Neel.g4").read_text()
    soft = set(re.findall(r"[A-Z]+", grammar.split("softWord\n")[1].split(";")[0]))
    words = set(re.findall(r"^([A-Z_]+) : '[A-Z_]{2,}'", grammar, re.MULTILINE))
    assert words - soft == RESERVED
    assert words <= set(NeelParser.symbolicNames)


def identifiers(node: Node) -> list[Identifier]:
    values = (getattr(part, slot.name) for part in walk(node) for slot in fields(part))
    each = (one for value in values for one in (value if isinstance(value, tuple) else (value,)))
    return [one for one in each if isinstance(one, Identifier)]


EVERY_NAME = """
CREATE STREAM s (ts BIGINT, `a b` STRING, x INT) TIMESTAMP BY ts TYPE BY `a b` END BY te FROM 'p' FORMAT csv
  OPTIONS (header 'true') WITH STATS (EVENTS 10, TYPE A DISTINCT x 3);
CREATE TYPE T AS (A, B);
PATTERN EXISTS b : SEQ(A a, T b, C+ c[] WHERE a.x = c[i].y.z AND [x]) FROM s, r PARTITION BY x WITHIN 5 HOURS
  RETURN a.x AS out, a.* AS Q;
SELECT q.x AS out FROM s AS q WINDOW(COUNT 5 EVENTS PARTITION BY x) MATCH_RECOGNIZE (PARTITION BY x
  ORDER BY ts MEASURES LAST(V.x) AS m AFTER MATCH SKIP TO LAST V PATTERN (V W) SUBSET U = (V, W)
  DEFINE V AS U.x > :p) AS after;
"""


def test_names_know_where_they_stand() -> None:
    found = {name.span: name for name in identifiers(parse.script(EVERY_NAME))}
    assert all(EVERY_NAME[place.start : place.end] == name for place, name in found.items())
    # Names of types and units are kept in capitals; variables of row patterns are nodes, with their places.
    left = [one.text for one in lexemes(EVERY_NAME) if one.kind == NAME and one.span not in found]
    assert left == ["BIGINT", "STRING", "INT", "HOURS", "V", "W"]


def test_the_place_of_a_name_is_no_part_of_it() -> None:
    name = Identifier("price", Span(8, 13))
    assert name == "price" and hash(name) == hash("price") and name == Identifier("price", Span(0, 5))
    assert Event("A", name) == Event("A", "price") and repr(name) == "'price'"
    kept = replace(Event("A", name), type="B").variable
    assert isinstance(kept, Identifier) and kept.span == name.span
    assert copy.copy(name) is name and copy.deepcopy((name,))[0] is name
    # Workers have no class for it, and no text.
    assert pickle.loads(pickle.dumps(name)) == "price" and type(pickle.loads(pickle.dumps(name))) is str
