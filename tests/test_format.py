"""The printer and the parser are each other's inverse, and the text looks as if a person had written it."""

from __future__ import annotations

import pytest
from generate import expressions, patterns, scripts, streams, syntax
from hypothesis import given, settings

from neelc import syntax as parse
from neelc.ir.expressions import Expr
from neelc.ir.patterns import Pattern
from neelc.ir.script import PatternQuery, Script
from neelc.syntax.print_patterns import WIDTH
from neelc.syntax.printer import format_script, show


@settings(max_examples=300)
@given(expressions.expressions())
def test_expressions_are_read_back(tree: Expr) -> None:
    assert parse.expression(show(tree)) == tree


@settings(max_examples=200)
@given(syntax.patterns())
def test_patterns_are_read_back(tree: Pattern) -> None:
    assert parse.pattern(show(tree)) == tree


@pytest.mark.long
@settings(max_examples=200)
@given(scripts.scripts(2))
def test_scripts_are_read_back(tree: Script) -> None:
    """Also: formatting what was formatted changes nothing."""
    text = format_script(tree)
    read = parse.script(text)
    assert read == tree
    assert format_script(read) == text


@settings(max_examples=100)
@given(scripts.scripts(1))
def test_one_line_is_read_back(tree: Script) -> None:
    assert parse.script(show(tree)) == tree


@settings(max_examples=100)
@given(patterns.queries())
def test_meaningful_queries_are_read_back(query: PatternQuery) -> None:
    script = streams.script_of(query)
    assert parse.script(format_script(script)) == script


def formatted(text: str) -> str:
    return format_script(parse.script(text))


def test_a_script_has_a_clause_per_line() -> None:
    text = """
        create stream Trades (ticker string, ts bigint) format parquet type by ticker
          timestamp by ts unit seconds from 'trades.parquet' options (mergeSchema 'true');
        create type Computer as (DELL, INTC);
        pattern (seq(Computer a, !B b) within 5 seconds) where a.x > 1 and a.y = 2 from Trades
          within 10 second partition by id using skip till next match with confidence >= 0.6
          return distinct a.x, a.ts as since as Q
    """
    expected = """\
CREATE STREAM Trades (ticker STRING, ts BIGINT)
  TIMESTAMP BY ts UNIT SECONDS
  TYPE BY ticker
  FROM 'trades.parquet'
  FORMAT parquet
  OPTIONS (mergeSchema 'true');

CREATE TYPE Computer AS (DELL, INTC);

CREATE QUERY Q AS
  PATTERN (SEQ(Computer a, !B b) WITHIN 5 SECONDS)
  FROM Trades
  WHERE a.x > 1 AND a.y = 2
  PARTITION BY id
  WITHIN 10 SECONDS
  USING SKIP TILL NEXT MATCH
  WITH CONFIDENCE >= 0.6
  RETURN DISTINCT a.x, a.ts AS since;
"""
    assert formatted(text) == expected


def test_long_lists_have_a_part_per_line() -> None:
    text = """pattern seq(Recycle r, (Washing w : w.instrument = r.instrument),
        !seq(Sharpening s, Disinfection d, Checking c where s.id = d.id) within 5 minutes,
        (Operating o : o.instrument = r.instrument and o.user <> 'x'))
        where r.instrument = w.instrument and w.instrument = o.instrument
        and (o.a or o.b) and o.room in (1, 2, 3)
        return r.instrument, r.room as first_room_of_the_instrument, o.room as last_room_of_the_instrument,
          o.user"""
    found = formatted(text)
    assert max(map(len, found.splitlines())) <= WIDTH
    expected = """\
PATTERN SEQ(
  Recycle r,
  (Washing w : w.instrument = r.instrument),
  !(SEQ(Sharpening s, Disinfection d, Checking c WHERE s.id = d.id) WITHIN 5 MINUTES),
  (Operating o : o.instrument = r.instrument AND o.user <> 'x')
)
WHERE
  r.instrument = w.instrument
  AND w.instrument = o.instrument
  AND (o.a OR o.b)
  AND o.room IN (1, 2, 3)
RETURN
  r.instrument,
  r.room AS first_room_of_the_instrument,
  o.room AS last_room_of_the_instrument,
  o.user;
"""
    assert found == expected


def test_jepc_queries() -> None:
    text = """
      (SELECT * FROM Servers AS servers,
         (SELECT AVG(memory) AS avgMemory
          FROM Servers WINDOW(COUNT 5 EVENTS JUMP 1 EVENT PARTITION BY serverID)
          GROUP BY serverID) AS averages
       WHERE servers.serverID = averages.serverID) AS IncreasedMemory;
      (SELECT * FROM Servers MATCH_RECOGNIZE_SEQUENTIAL (
         MEASURES a.disk AS peak WITHIN 1 MINUTE PARTITION BY serverID PATTERN ab*c
         DEFINE a AS disk > 0.9f, b AS disk <= peak, c AS disk < 0.8f)) AS DiskCleaned;
      SELECT * FROM SnowStorms s MATCH_RECOGNIZE_TEMPORAL (
         PATTERN AABB, (CAAC;CAA.C), !D DEFINE A AS TEMP(s.speed > 80)) m WHERE m.x = 1;
      SELECT x FROM MATCH(mid:SHORT {(StaticValue,42)}, t:FLOAT) WINDOW(TIME 10 MINUTES)
      ORDER BY x DESC LIMIT 5
    """
    expected = """\
CREATE QUERY IncreasedMemory AS
  SELECT *
  FROM
    Servers AS servers,
    (
      SELECT AVG(memory) AS avgMemory
      FROM Servers WINDOW(COUNT 5 EVENTS JUMP 1 EVENT PARTITION BY serverID)
      GROUP BY serverID
    ) AS averages
  WHERE servers.serverID = averages.serverID;

CREATE QUERY DiskCleaned AS
  SELECT *
  FROM Servers MATCH_RECOGNIZE_SEQUENTIAL (
    PARTITION BY serverID
    MEASURES a.disk AS peak
    PATTERN a b* c
    WITHIN 1 MINUTE
    DEFINE a AS disk > 0.9F, b AS disk <= peak, c AS disk < 0.8F
  );

SELECT *
FROM SnowStorms AS s MATCH_RECOGNIZE_TEMPORAL (
  PATTERN AABB, (CAAC;CAA.C), !D
  DEFINE A AS TEMP(s.speed > 80)
) AS m
WHERE m.x = 1;

SELECT x
FROM MATCH(mid:SMALLINT {(StaticValue, 42)}, t:FLOAT) WINDOW(TIME 10 MINUTES)
ORDER BY x DESC
LIMIT 5;
"""
    assert formatted(text) == expected


def test_match_recognize() -> None:
    text = """SELECT * FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts DESC NULLS LAST
        MEASURES FINAL LAST(UP.price) AS top
        ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO LAST UP
        PATTERN (^ STRT DOWN+? (UP | FLAT){2,3} {- X* -} PERMUTE(A, B) () $) SUBSET STDN = (STRT, DOWN)
        DEFINE DOWN AS price < PREV(price)) AS m"""
    expected = """\
SELECT *
FROM Ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts DESC NULLS LAST
  MEASURES FINAL LAST(UP.price) AS top
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP TO LAST UP
  PATTERN (^ STRT DOWN+? (UP | FLAT){2,3} {- X* -} PERMUTE(A, B) () $)
  SUBSET STDN = (STRT, DOWN)
  DEFINE DOWN AS price < PREV(price)
) AS m;
"""
    assert formatted(text) == expected


def test_newlines_in_strings_stay() -> None:
    text = "CREATE QUERY Q AS\n  PATTERN A a\n  WHERE a.x = 'two\nlines; -- of text';\n"
    assert formatted(text) == text
