"""Expressions over lists have the type and value of the reference, strict or not, in any time zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from binding import match
from like_spark import like_ours, same, spark_type, widest
from list_matches import HEAD, PATTERN, TYPES, contexts, frame, matches

from neelc.ir.expressions import Expr, conjuncts
from neelc.ir.patterns import all_parts
from neelc.ir.program import Match
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.strategies import refuse_results
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext
from neelc.runtime.reference.question import condition, holds
from neelc.scalar.type_of import type_of

FOUND = contexts(seed=1, number=50)
CHUNK = 60  # a plan of all expressions takes longer to make than several of some

NUMBERS = ("y", "i", "l", "f", "d", "c", "w", "z", "g", "n", "ds")
AGGREGATES = [
    *(f"sum(b[].{name})" for name in NUMBERS),
    *(f"avg(b[].{name})" for name in NUMBERS),
    *(f"sum(DISTINCT b[].{name})" for name in ("i", "d", "c")),
    *(f"mean(DISTINCT o[].{name})" for name in ("l", "f")),
    *(f"{name}(b[].{of})" for name in ("min", "max") for of in TYPES if of != "m"),
    *(f"count(b[].{name})" for name in ("i", "m", "st")),
    *(f"count(DISTINCT b[].{name})" for name in ("i", "f", "d", "s", "arr", "st", "bin")),
    *(f"{name}(b[].{of})" for name in ("first", "last") for of in ("i", "s", "m", "arr", "st", "ts")),
    *(f"collect_list(b[].{name})" for name in ("i", "d", "m", "ts")),
    *(f"collect_set(b[].{name})" for name in ("i", "d", "s", "st", "arr")),
    *(f"{name}(b[].o)" for name in ("any", "some", "bool_or", "bool_and", "every", "count_if")),
    *(
        f"{name}(b[].{of})"
        for name in ("stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance")
        for of in ("d", "i")
    ),
]
# A name stands for each kind of list that may be missing, and each way to name a part of one.
MORE = """
    count(b[])  count(o[])  count(k[])  count(k[].c)  count(k[].d)  count(DISTINCT k[].d.i)
    sum(k[].c.i)  max(k[].c.s)  avg(o[].d)  sum(o[].i)  collect_list(o[].i)  collect_set(k[].c.i)
    count_if(o[].o)  every(o[].o)  stddev(o[].d)  first(k[].c)  last(k[].d.ts)  count(DISTINCT o[].o)
    count(DISTINCT b[].i % 2)  collect_list(DISTINCT b[].i)
    count_if(DISTINCT b[].o)  every(DISTINCT b[].o)  stddev(DISTINCT b[].d)  collect_set(b[].o)
    sum(b[].i * b[].l)  sum(b[].c * b[].i)  sum(b[].d + a.d)  max(b[].i + b[].l)  avg(b[].i / b[].l)
    sum(b[].i - avg(b[].i))  sum(b[].i + count(b[]))  max(b[].s || a.s)  sum(size(b[].arr))  max(b[].arr[1])
    sum(CASE WHEN b[].o THEN b[].i ELSE a.i END)  count_if(b[].i > a.i)  any(b[].s LIKE 'a%')
    sum(k[].c.i + k[].d.i)  max(k[].d.ts - k[].c.ts)  sum(CAST(b[].s AS INT))  max(b[].st.x)  min(b[].ts)
    sum(b[].y * INTERVAL '1' MONTH) DIV INTERVAL '1' MONTH
    avg(o[].y * INTERVAL '7' MONTH) DIV INTERVAL '1' MONTH
    sum(b[].i * INTERVAL '1' MONTH) DIV INTERVAL '1' MONTH  sum(DISTINCT b[].ds)  avg(k[].d.ds)
    sum(CAST(b[].c AS DECIMAL(27, 2)))  avg(CAST(b[].c AS DECIMAL(17, 2)))
    avg(CAST(b[].w AS DECIMAL(38, 18)))
    avg(CAST(b[].z AS DECIMAL(30, 12)))  avg(CAST(b[].i AS DECIMAL(38, 0)))  sum(b[].z * 2)
    avg(-b[].c)  sum(b[].d) / count(b[].d)  max(b[].i) - min(b[].i)  coalesce(sum(o[].i), -1)
    sum(b[..1].i)  sum(b[..last].i)  sum(b[..last-1].i)  count(b[..last-2])  count(o[..2])  sum(k[..2].d.i)
    b[].i  b[].ts  b[].st  b[].st.x  b[].arr  b[].arr[0]  b[].m  b[].m['k']  o[].d  k[].c.i  k[].d.ts
    k[].c.st.y  b[]  o[]  k[]  k[].c  k[].d  b[..2]  b[..last-1].i  o[..1].ts  k[..last].c.s
    b[1].i  b[1].ts  b[1]  b[2].st.x  b[3].arr[0]  b[last].s  b[last-1].d  b[last-4].ts  b[last]  b[last-1]
    o[1].i  o[last].ts  o[last]  k[1].c.i  k[1].c  k[1]  k[last].d.ts  k[last]  k[last-1].d.s  k[2].c
    size(b[].i)  array_contains(b[].i, 2)  b[].s = o[].s  b[].i IS NULL  o[].i IS NULL  element_at(b[].s, 1)
    a.i  a.ts  a  match_start  match_end  a.i + b[1].i  b[last].ts - b[1].ts  b[last].i > b[1].i
    CAST(avg(b[].f) AS STRING)  CAST(sum(b[].f) AS STRING)  count_if(k[].c IS NULL)
    b[3000000000].i  b[last-3000000000].i  count(b[..3000000000])
    k[1].c IS NULL  b[] IS NULL  b[2] IS NOT NULL  b[].te  b[last].te  max(o[].te)
    count(DISTINCT k[].c.s)  o[] IS NULL  k[last].c IS NOT NULL
    k[].h[].i  k[].h[].ts  k[].h[]  k[1].h[]  k[1].h[1].s  k[last].h[last].ts  k[].h[1].i  k[].h[last].ts
    count(k[].h[])  count(k[1].h[])  sum(k[].h[].i)  max(k[].h[].s)  avg(k[last].h[].d)
    collect_list(k[].h[].i)  count(DISTINCT k[].h[].i)  sum(k[].h[].i + k[].d.i)
    k[1].h[] IS NULL  k[].h[].st.x  k[].h[].arr[0]  sum(k[..2].h[].i)  k[2].h[..1].i  max(k[].h[1].i)
    concat(b[].s, o[].s)  b[1].d < b[last].d  greatest(b[1].i, b[last].i)  CAST(b[].i AS ARRAY<STRING>)
"""
RETURNED = [*AGGREGATES, *(text for line in MORE.splitlines() for text in line.strip().split("  ") if text)]

CONDITIONS = """
    b[i].i > 0
    b[i].i > 0 OR b[i].i IS NULL
    b[i].i > b[i-1].i
    b[i].d >= b[i-1].d OR b[i].d IS NULL OR b[i-1].d IS NULL
    b[i].i IS NOT NULL OR b[i-2].i IS NOT NULL
    b[i].ts > b[i-1].ts
    b[i].ts >= b[1].ts
    b[i].i <= b[last].i
    b[i].i > avg(b[..i-1].i)
    b[i].i >= min(b[..i-2].i) OR b[i].i IS NULL
    count(b[..i-1]) < 4
    count(b[..i]) < 4
    sum(b[..i].y) < 200
    b[i-1].i < 2 OR b[i].o
    b[i].i > a.i
    b[i].s <> a.s
    o[i].i > 0
    o[i].i IS NULL OR o[i].i < 3
    o[i].ts > o[i-1].ts
    k[i].d.i > 0
    k[i].c.i > k[i-1].d.i
    k[i].c.i IS NULL
    k[i].c.ts > k[i].d.ts OR k[i].c IS NULL
    k[i].d.ts > k[i-1].d.ts
    k[i].d.i > sum(k[..i-1].c.i)
    k[i].d.y + sum(b[].y) < 100
    sum(b[].i) > 0
    b[last].i > b[1].i
    max(b[].d) > avg(b[].d)
    b[1].i > a.i
    array_contains(b[..i-1].i, b[i].i)
    k[i].c IS NOT NULL
    k[i].h[1].i > 0
    k[i].h[last].ts > k[i-1].h[1].ts OR k[i].h[1] IS NULL
    k[last].h[i].i > 0
    k[1].h[i].i > k[1].h[i-1].i
    sum(k[i].h[].i) > count(k[i].h[])
    count(k[i].h[]) <= count(k[i-1].h[]) + count(k[last].h[])
    k[i].d.i > sum(k[..i-1].h[].i)
    k[i] IS NULL OR a.o
    b[i].i > b[i-1].i OR a.o AND b[i].o
    size(b[..i-1].i) < b[i].i
"""
JUDGED = [line.strip() for line in CONDITIONS.splitlines() if line.strip()]


@pytest.fixture(scope="module", params=["strict, in UTC", "lenient, in New York"])
def asked(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The session, with a view of all matches."""
    lenient = request.param.startswith("lenient")
    spark.conf.set("spark.sql.ansi.enabled", str(not lenient).lower())
    spark.conf.set("spark.sql.session.timeZone", "America/New_York" if lenient else "UTC")
    frame(spark, FOUND).coalesce(1).createOrReplaceTempView("matches")
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.catalog.dropTempView("matches")


def returning(texts: Sequence[str]) -> Match:
    """A query that returns them all."""
    items = ", ".join(f"{text} AS r{number}" for number, text in enumerate(texts))
    return match(f"{PATTERN} RETURN {items}", HEAD)


def columns(spark: Any, texts: Sequence[str]) -> list[tuple[str, list[Any]]]:
    """The type of each text of SQL, and its values."""
    items = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
    table = spark.sql(f"SELECT {items} FROM matches")
    types = [widest(column.dataType.simpleString()) for column in table.schema]
    return list(zip(types, map(list, zip(*table.collect(), strict=True)), strict=True))


def differences(
    spark: Any, query: Match, expressions: Sequence[Expr], found: Sequence[EvaluationContext]
) -> list[str]:
    texts = [matches(query).sql(expression) for expression in expressions]
    wrong = []
    for expression, text, (type, theirs) in zip(expressions, texts, columns(spark, texts), strict=True):
        expected = type_of(expression)
        if type != spark_type(expected):
            wrong.append(f"{expression} is {spark_type(expected)}, but {text} is {type}")
        for context, value in zip(found, theirs, strict=True):
            ours, other = evaluate(expression, context), like_ours(value, expected)
            if not same(ours, other):
                wrong.append(f"{expression} is {ours!r}, but {text} is {other!r}")
                break
    return wrong


@pytest.mark.parametrize("start", range(0, len(RETURNED), CHUNK))
def test_what_is_returned_has_the_values_of_the_reference(asked: Any, start: int) -> None:
    query = returning(RETURNED[start : start + CHUNK])
    assert differences(asked, query, [output.expression for output in query.outputs], FOUND) == []


def judged(text: str) -> tuple[Match, Expr]:
    """A query with that condition, and the condition bound."""
    query = match(f"{PATTERN} WHERE {text}", HEAD)
    (bound,) = (one for part in all_parts(query.pattern) for one in conjuncts(part.where))
    return query, bound


def test_conditions_hold_where_the_reference_says_so(asked: Any) -> None:
    bound = [judged(text) for text in JUDGED]
    texts = [matches(query).sql(expression) for query, expression in bound]
    found = columns(asked, [f"({text}) IS TRUE" for text in texts])
    undecided = []
    for (_, expression), text, (_, theirs) in zip(bound, texts, found, strict=True):
        ours = [holds(condition(expression), context.binding) for context in FOUND]
        assert ours == theirs, f"{expression} is {ours}, but {text} is {theirs}"
        undecided += [str(expression)] if len(set(ours)) == 1 else []
    assert undecided == []


def test_conditions_together_hold_where_each_does(asked: Any) -> None:
    query = match(f"{PATTERN} WHERE b[i].i > b[i-1].i AND b[i].o", HEAD)
    (where,) = (part.where for part in all_parts(query.pattern) if part.where is not None)
    ((_, theirs),) = columns(asked, [f"({matches(query).sql(where)}) IS TRUE"])
    parts = [condition(conjunct) for conjunct in conjuncts(where)]
    assert theirs == [all(holds(part, context.binding) for part in parts) for context in FOUND]


OVER_MATCHES = [
    "count(*)",
    "max(count(b[]))",
    "sum(sum(o[].y))",
    "min(b[1].s)",
    "max(k[last].d.i)",
]


def test_aggregates_over_matches_range_over_matches(asked: Any) -> None:
    query = returning(OVER_MATCHES)
    assert query.aggregated
    every = EvaluationContext({}, matches=FOUND)
    assert differences(asked, query, [output.expression for output in query.outputs], [every]) == []


def test_without_return_there_is_everything(asked: Any) -> None:
    query = match(PATTERN, HEAD)
    assert [output.name for output in query.outputs] == ["a", "b", "k", "o", "match_start", "match_end"]
    assert differences(asked, query, [output.expression for output in query.outputs], FOUND) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("count(DISTINCT b[].m)", "DISTINCT values of a list that hold a MAP"),
        ("avg(CAST(b[].z AS DECIMAL(38, 20)))", "the average of a list of DECIMALs with more than 18 places"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    query = returning([text])
    with pytest.raises(UnsupportedQuery, match=why):
        refuse_results(query, [query.outputs[0].expression])
