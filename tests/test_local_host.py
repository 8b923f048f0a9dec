"""Queries around MATCH_RECOGNIZE on the local engine: Spark's meaning, or a refusal that says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp, parse_one

import neelc
from neelc.ir.types import BIGINT, INT, STRING, Array, DataType, Map
from neelc.scalar.duckdb import reading
from neelc.scalar.duckdb.pieces import UnspelledOperation
from neelc.scalar.duckdb.queries import spelled_query
from neelc.scalar.duckdb.spelling import SPELLINGS, SparkCalls

ROWS = [{"ts": at, "k": "ab"[at % 2], "x": at, "z": at % 3, "xs": [at, at + 1]} for at in range(1, 7)]
CLAUSE = """E MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.x AS x, A.z AS z, A.xs AS xs
  AFTER MATCH SKIP PAST LAST ROW PATTERN (A))"""


def result(items: str, rest: str = "") -> Any:
    """The rows of a query around a clause that finds each row."""
    given = neelc.stream(ROWS, timestamp="ts", unit="s")
    return neelc.local(processes=1).sql(f"SELECT {items}\nFROM {CLAUSE}\n{rest}", E=given)


def rows(items: str, rest: str = "") -> list[Any]:
    found: list[Any] = result(items, rest).collect()
    return found


def refusal(items: str, rest: str = "") -> str:
    with pytest.raises(neelc.NeelError) as error:
        result(items, rest).collect()
    return str(error.value)


# Nothing is left out.


@pytest.mark.parametrize(
    ("items", "rest", "what"),
    [
        ("*", "PIVOT (sum(z) FOR k IN ('a', 'b'))", "PIVOT(SUM(z) FOR k IN ('a', 'b'))"),
        ("*", "AS t PIVOT (sum(z) FOR k IN ('a', 'b'))", "PIVOT(SUM(z) FOR k IN ('a', 'b'))"),
        ("*", "UNPIVOT (v FOR n IN (x, z))", "UNPIVOT(v FOR n IN (x, z))"),
        ("*", "TABLESAMPLE (10 PERCENT)", "TABLESAMPLE (10 PERCENT)"),
        ("percentile_approx(x, 0.5)", "", "the function percentile_approx"),
        ("approx_percentile(x, 0.5)", "", "the function approx_percentile"),
    ],
)
def test_what_is_not_executed_is_refused_by_its_name(items: str, rest: str, what: str) -> None:
    found = refusal(items, rest)
    assert "NEEL4150" in found and what in found


NODES = {
    one.__name__: one
    for one in (*vars(exp).values(), *SPELLINGS)
    if isinstance(one, type) and hasattr(one, "arg_types")
}


@pytest.mark.parametrize("name", sorted(reading.READ))
def test_no_argument_of_a_node_is_dropped(name: str) -> None:
    """Each that holds something is read, or means nothing, or its name is in the refusal."""
    kind = NODES[name]
    known = f"{reading.READ[name]} {reading.MEANINGLESS.get(name, '')}".split()
    assert set(known) <= set(kind.arg_types) | {"with_", "from_", "negate", "except_", "by_name"}
    for argument in set(kind.arg_types) - set(known):
        node = kind(**{argument: True})
        with pytest.raises(UnspelledOperation):
            reading.refuse_what_is_not_read(node)


def test_each_node_that_is_spelled_is_read() -> None:
    assert {kind.__name__ for kind in SPELLINGS} <= set(reading.READ)


def test_a_node_that_nobody_knows_is_refused() -> None:
    tree = parse_one("SELECT x FROM t FOR UPDATE", dialect=SparkCalls)
    with pytest.raises(UnspelledOperation):
        reading.refuse_what_is_not_read(tree)


def test_not_before_like_counts() -> None:
    assert rows("count(*)", "WHERE k NOT LIKE 'a%'") == [(3,)]
    assert rows("count(*)", "WHERE k NOT ILIKE 'A' AND k NOT RLIKE 'c'") == [(3,)]
    assert rows("count(*)", "WHERE NOT k LIKE 'a%'") == [(3,)]
    assert rows("count(*)", "WHERE k NOT LIKE 'a!%' ESCAPE '!'") == [(6,)]


# Columns of one name.


def test_columns_may_have_one_name(tmp_path: Path) -> None:
    found = result("x, x, z AS x", "ORDER BY 3 DESC, 1 LIMIT 1")
    assert found.columns == ["x", "x", "x"] and found.collect() == [(2, 2, 2)]
    assert found.arrow().column_names == found.columns == list(found.df().columns)
    for ending in ("parquet", "csv", "jsonl", "arrow"):
        assert found.write(tmp_path / f"rows.{ending}") == 1
    assert (tmp_path / "rows.csv").read_text().splitlines()[0] == "x,x,x"


def test_both_sides_of_a_join_may_have_a_column() -> None:
    found = result("*", "AS m JOIN (SELECT k, x + 1 AS x FROM E) AS y ON y.x = m.x WHERE m.x = 3")
    assert found.columns == ["k", "x", "z", "xs", "k", "x"]
    assert found.collect() == [("b", 3, 0, [3, 4], "a", 3)]
    assert "there are 2 columns `x`" in refusal("x", "AS m JOIN (SELECT x FROM E) AS y ON y.x = m.x")


def test_a_subquery_may_have_twins() -> None:
    given = neelc.stream(ROWS, timestamp="ts", unit="s")
    text = f"SELECT * FROM (SELECT x, x FROM {CLAUSE}) WHERE z = 0"
    with pytest.raises(neelc.NeelError, match=r"NEEL2003.*unknown column `z`"):
        neelc.local(processes=1).sql(text, E=given).collect()
    whole = neelc.local(processes=1).sql(text.replace(" WHERE z = 0", ""), E=given)
    assert whole.columns == ["x", "x"] and whole.count() == 6
    with pytest.raises(neelc.NeelError, match="there are 2 columns `x`"):
        neelc.local(processes=1).sql(text.replace("z = 0", "x = 0"), E=given).collect()


# Mistakes are told where they are.


@pytest.mark.parametrize(
    ("items", "rest", "code", "place"),
    [
        ("nosuch, x", "", "NEEL2003]: unknown column `nosuch`", "1:8"),
        ("x, k.y", "", "NEEL2014]: STRING has no field `y`", "1:11"),
        ("x", "WHERE x > 1 AND wrong = 2", "NEEL2003]: unknown column `wrong`", "5:17"),
        ("x", "ORDER BY wrong", "NEEL2003]: unknown column `wrong`", "5:10"),
        ("x", "AS t WHERE t.wrong = 1", "NEEL2003]: unknown column `t.wrong`", "5:12"),
        ("x", "WHERE x", "NEEL2103]: a condition must be BOOLEAN, not BIGINT", "5:7"),
        ("x", "WHERE x + = 1", "NEEL1001]: this is no SQL of Spark's, at `=`", "5:11"),
        (
            "x, foo(x, 1) AS y",
            "",
            "NEEL4150]: not supported by the local engine yet: the function foo",
            "1:11",
        ),
        ("sum(x) OVER w", "", "NEEL2003]: unknown window `w`", "1:20"),
        ("x", "GROUP BY 3", "NEEL2003]: there is no column 3 of 1", "5:10"),
    ],
)
def test_a_mistake_has_a_place(items: str, rest: str, code: str, place: str) -> None:
    found = refusal(items, rest)
    assert f"error[{code}" in found and f":{place}\n" in found, found


def test_an_unknown_column_comes_with_those_that_there_are() -> None:
    assert "hint: columns: k, x, z, xs" in refusal("nosuch")
    assert "hint: columns: k, x, z, xs" in refusal("t.nosuch", "AS t")


def test_the_whole_call_is_pointed_at() -> None:
    assert "SELECT x, foo(x, 1) AS y" in (found := refusal("x, foo(x, 1) AS y"))
    assert "  |           ^^^^^^^^^ " in found.replace("^\n", "^ ")


# What fails for Spark fails, and what does not, does not.


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("x div nullif(z, 0)", [1, 1, None, 4, 2, None]),
        ("CASE WHEN z <> 0 THEN x div z END", [1, 1, None, 4, 2, None]),
        ("coalesce(x div nullif(z, 0), -1)", [-1, -1, 1, 1, 2, 4]),
        ("try_divide(x, z)", [1.0, 1.0, 2.5, 4.0, None, None]),
        ("try_mod(x, z)", [0, 0, 0, 1, None, None]),
        ("date'2024-01-01' + cast(x as int)", None),
        ("abs(cast('5' as int)) + x", [6, 7, 8, 9, 10, 11]),
        ("try_add(x, try_add(9223372036854775807, z - z + 1))", [None] * 6),
    ],
)
def test_values(items: str, found: list[Any] | None) -> None:
    values = [one for (one,) in rows(items)]
    assert found is None or sorted(values, key=repr) == sorted(found, key=repr)


@pytest.mark.parametrize(
    "items",
    [
        "x div z", "sum(x div z)", "k + 1", "x = 'a'", "k > 1", "sum(k)", "coalesce(x + 0, 'a') + k",
        "CASE WHEN x = 1 THEN 1 ELSE k END", "abs(-2147483648)", "-(cast(-128 as tinyint))",
        "element_at(xs, 3)", "xs[5]", "try_add(x div z, 1)",
    ],
)  # fmt: skip
def test_what_fails(items: str) -> None:
    assert "NEEL5101" in refusal(items)


# More of Spark's SQL.


@pytest.mark.parametrize(
    ("items", "rest", "found"),
    [
        ("k, count(*)", "GROUP BY ROLLUP (k)", [("a", 3), ("b", 3), (None, 6)]),
        ("k, count(*)", "GROUP BY k WITH ROLLUP", [("a", 3), ("b", 3), (None, 6)]),
        ("k, count(*)", "GROUP BY CUBE (k, z) HAVING count(*) > 2", [("a", 3), ("b", 3), (None, 6)]),
        ("k, grouping(k)", "GROUP BY GROUPING SETS ((k), ())", [("a", 0), ("b", 0), (None, 1)]),
        ("z % 2 AS b, grouping_id()", "GROUP BY CUBE (b) HAVING b = 0 OR b IS NULL", [(0, 0), (None, 1)]),
        ("* EXCEPT (xs, k)", "WHERE x = 1", [(1, 1)]),
        ("x AS a, a + 1 AS b", "WHERE x = 1", [(1, 2)]),
        ("sum(x) OVER w AS s", "WHERE k = 'b' WINDOW w AS (PARTITION BY k)", [(9,)] * 3),
        ("last(nullif(z, 0)) IGNORE NULLS IS NULL", "", [(False,)]),
        ("x", "WHERE k LIKE ANY ('c', 'b') AND k LIKE ALL ('b', '%') LIMIT ALL", [(1,), (3,), (5,)]),
        ("k, x, z2", "AS m JOIN (SELECT k, x, z AS z2 FROM E) y USING (k, x) WHERE x = 2", [("a", 2, 2)]),
        ("x, e", "LATERAL VIEW explode(xs) AS e WHERE x = 1", [(1, 1), (1, 2)]),
        ("x, p, e", "LATERAL VIEW posexplode(xs) t AS p, e WHERE x = 1", [(1, 0, 1), (1, 1, 2)]),
        ("x, e", "LATERAL VIEW OUTER explode(filter(xs, y -> y > 6)) AS e WHERE x > 4", [(5, None), (6, 7)]),
        ("x", "WHERE (k, x) IN (('a', 2), ('b', 4), (NULL, 6L))", [(2,)]),
        ("now() > timestamp'2020-01-01' AND current_date > date'2020-01-01'", "WHERE x = 1", [(True,)]),
        ("posexplode(xs)", "WHERE x = 1", [(0, 1), (1, 2)]),
        ("(x << 1) + (x >> 1)", "WHERE x = 2", [(5,)]),
        ("s.*, z", "AS m JOIN (SELECT x AS y, struct(k, x) AS s FROM E) ON x = y WHERE x = 1", [("b", 1, 1)]),
        ("timestampdiff(hour, dateadd(day, x, date'2024-01-01'), date'2024-01-05')", "WHERE x = 2", [(48,)]),
        ("timestampdiff(day, date'2024-01-31', dateadd(month, 1, '2024-01-31'))", "WHERE x = 2", [(29,)]),
        ("interval '1 02:03:04' day to second = interval '93784' second", "WHERE x = 2", [(True,)]),
        ("+'1' + x", "WHERE x = 2", [(3.0,)]),
    ],
)  # fmt: skip
def test_more_of_sql(items: str, rest: str, found: list[Any]) -> None:
    assert sorted(rows(items, rest), key=repr) == sorted(found, key=repr)


def test_a_column_of_an_inner_query_hides_that_of_the_outer_one() -> None:
    tables: dict[str, dict[str, DataType]] = {
        "t": {"x": INT},
        "u": {"x": STRING, "m": Map(STRING, INT), "xs": Array(BIGINT)},
    }
    found = spelled_query("SELECT (SELECT max(x) FROM u) AS y FROM t", tables, {}, {})
    assert found.types == {"y": STRING}


def test_explain_tells_what_the_runtime_evaluates() -> None:
    """In all modes: where rows go through Python, nobody sees it in the plan."""
    given = neelc.stream(ROWS, timestamp="ts", unit="s")
    text = "PATTERN SEQ(E a, E b) WHERE hex(a.x) = '1' WITHIN 9 SECONDS RETURN format_number(a.x, 2) AS f"
    session = neelc.local(processes=1)
    plain = "PATTERN SEQ(E a, E b) WHERE a.x = 1 WITHIN 9 SECONDS"
    assert "evaluates" not in session.explain(plain, E=given)
    for mode in ("simple", "cost", "all"):
        words = " ".join(session.explain(text, mode=mode, E=given).split())
        assert "evaluates hex, format_number for DuckDB" in words
    record = json.loads(session.compile(text, E=given).explain(format="json"))
    assert record["evaluated"] == ["hex", "format_number"]


def test_explain_tells_it_of_rules_too() -> None:
    given = neelc.stream(ROWS, timestamp="ts", unit="s")
    rules = {"one": "PATTERN E a WHERE hex(a.x) = '1'", "two": "PATTERN E a WHERE a.x = 1"}
    text = neelc.local(processes=1).rules(rules, E=given).explain()
    assert "evaluates hex for DuckDB" in " ".join(text.split())


def test_a_window_of_what_can_fail_is_refused() -> None:
    assert "a window that is made of what can fail" in refusal("sum(x) OVER (ORDER BY x div z)")
