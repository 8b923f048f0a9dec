"""What is written for Spark has the type and value of the reference, strict or not, in the session's zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from expressions import ROWS, check, context
from generate.typed import typed_expressions
from like_spark import (
    AGREED,
    FAILING,
    GROUPED,
    NAMES,
    TEXTS,
    events_of,
    like_ours,
    over_rows,
    same,
    spark_type,
    widest,
)

from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.names import quote
from neelc.ir.node import walk
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.values.functions.space import SPATIAL
from neelc.runtime.values.times import in_zone
from neelc.scalar.spark.expressions import identifier, literal, sql
from neelc.scalar.spark.expressions import spark_type as ddl
from neelc.scalar.type_of import type_of

CHUNK = 120  # a plan of all expressions takes longer to make than several of some
CORPUS = [text for text, _ in AGREED] + FAILING


def refs(node: e.Expr) -> str | None:
    """The fields of the column `a`."""
    match node:
        case e.Attribute(_, name) | e.EventTime(_, name):
            return f"a.{name}"
        case e.WholeEvent():
            return "a"
    return None


@pytest.fixture(scope="module", params=["strict, in UTC", "lenient, in New York"])
def events(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The events of tests/expressions.py, each a struct `a`."""
    # Constants are read in the time zone of the moment they are analysed in.
    events_of(spark).selectExpr("struct(*) AS a").createOrReplaceTempView("events")
    lenient = request.param.startswith("lenient")
    spark.conf.set("spark.sql.ansi.enabled", str(not lenient).lower())
    spark.conf.set("spark.sql.session.timeZone", "America/New_York" if lenient else "UTC")
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.catalog.dropTempView("events")


def values(spark: Any, expressions: Sequence[e.Expr]) -> list[tuple[str, str, list[object]]]:
    """The text of each expression, its type in Spark and its values."""
    texts = [sql(expression, refs) for expression in expressions]
    frame = spark.sql(f"SELECT {', '.join(f'{text} AS c{n}' for n, text in enumerate(texts))} FROM events")
    columns = zip(*frame.collect(), strict=True)
    types = [widest(field.dataType.simpleString()) for field in frame.schema]
    found = zip(texts, types, columns, expressions, strict=True)
    return [
        (text, type, [like_ours(value, type_of(expression)) for value in column])
        for text, type, column, expression in found
    ]


def differences(spark: Any, expressions: Sequence[e.Expr]) -> list[str]:
    found = []
    for expression, (text, type, theirs) in zip(expressions, values(spark, expressions), strict=True):
        expected = spark_type(type_of(expression))
        if type != expected:
            found.append(f"{expression} is {expected}, but {text} is {type}")
        with in_zone(spark.conf.get("spark.sql.session.timeZone")):
            ours = [evaluate(expression, context(number)) for number in range(len(ROWS))]
        if not all(map(same, ours, theirs)):
            found.append(f"{expression} is {ours!r}, but {text} is {theirs!r}")
    return found


@pytest.mark.parametrize("start", range(0, len(CORPUS), CHUNK))
def test_what_is_written_has_the_values_of_the_reference(events: Any, start: int) -> None:
    checked = [check(text) for text in CORPUS[start : start + CHUNK]]
    assert [one.reports for one in checked if one.reports] == []
    assert differences(events, [one.expression for one in checked]) == []


# Where the reference has not Spark's value, and what is written has.
KNOWN = {
    "array(date_add('2020-02-29', 2147483647))": "Python has no year -5877591",
    "hour(a.h || DATE '2019-12-31')": "Python has no year 22019",
}


def is_spatial(expression: e.Expr) -> bool:
    """Whether it calls a function that Spark knows only when a query brings it."""
    return any(isinstance(node, e.Call) and node.name in SPATIAL for node in walk(expression))


@pytest.mark.parametrize("seed", range(5))
def test_random_expressions_have_the_values_of_the_reference(events: Any, seed: int) -> None:
    drawn = (one for one in typed_expressions(seed, CHUNK) if not is_spatial(one))
    expressions = [one for one in drawn if str(one) not in KNOWN]
    assert differences(events, expressions) == []


def test_aggregates_have_the_values_of_the_reference(events: Any) -> None:
    over_lists = [check(text).expression for text in GROUPED]
    found = values(events, [over_rows(expression) for expression in over_lists])
    other = []
    for expression, (text, type, theirs) in zip(over_lists, found, strict=True):
        with in_zone(events.conf.get("spark.sql.session.timeZone")):
            ours = evaluate(expression, context())
        if text.startswith("collect_set"):
            ours, theirs = sorted(ours), [sorted(theirs[0])]  # type: ignore[call-overload]
        if type != spark_type(type_of(expression)) or not same(ours, theirs[0]):
            other.append(f"{expression} is {ours!r}, but {text} is {theirs[0]!r} of {type}")
    assert other == []


def test_whatever_a_string_holds_stays_in_it(events: Any) -> None:
    assert "${env:HOME}" not in literal("${env:HOME}", t.STRING)
    assert differences(events, [e.Literal(text, t.STRING) for text in TEXTS]) == []
    assert differences(events, [e.Literal(text.encode(), t.BINARY) for text in TEXTS]) == []
    likes = [e.Like(e.Literal(text, t.STRING), e.Literal(text, t.STRING)) for text in TEXTS]
    assert differences(events, likes) == []
    equal = [e.Binary("=", *[e.Literal(text, t.STRING)] * 2) for text in TEXTS]
    assert {value for _, _, column in values(events, equal) for value in column} == {True}


def test_half_a_surrogate_pair_is_no_error(events: Any) -> None:
    """Spark has no such string: it is read as a question mark."""
    assert events.sql(f"SELECT {literal(chr(0xD800), t.STRING)}").collect()[0][0] == "?"


def test_any_name_is_one_name(events: Any) -> None:
    keywords = [row[0].lower() for row in events.sql("SELECT keyword FROM sql_keywords()").collect()]
    names = [*NAMES, *keywords]
    events.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
    try:
        items = ", ".join(f"{number} AS {identifier(name)}" for number, name in enumerate(names))
        table = events.sql(f"SELECT {items}")
        assert table.columns == names
        again = table.selectExpr(*(f"{identifier(name)} + 0" for name in names))
        assert list(again.collect()[0]) == list(range(len(names)))
    finally:
        events.conf.unset("spark.sql.ansi.enforceReservedKeywords")


def test_any_name_is_one_field(events: Any) -> None:
    struct = t.Struct(tuple(t.StructField(quote(name), t.INT) for name in NAMES))
    numbers = ", ".join(map(str, range(len(NAMES))))
    table = events.sql(f"SELECT CAST(struct({numbers}) AS {ddl(struct)}) AS r")
    whole = e.WholeEvent(e.Variable("r"), struct)
    fields = (e.Field(whole, quote(name), t.INT) for name in NAMES)
    texts = [sql(field, lambda node: "r" if isinstance(node, e.WholeEvent) else None) for field in fields]
    assert list(table.selectExpr(*texts).collect()[0]) == list(range(len(NAMES)))
