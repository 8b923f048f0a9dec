"""Types and values of expressions are Spark's: each line of expressions.txt is asked of both."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from pathlib import Path
from typing import Any

import pytest
from expressions import COLUMNS, ROWS, check, context
from pyspark.errors import PySparkException

from neelc.ir import types as t
from neelc.ir.moments import UTC, Months, timestamp_text
from neelc.ir.names import bare
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.printing import text_of

LINES = [
    line
    for line in (Path(__file__).parent / "expressions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
AGREED = [line.partition(" => ")[::2] for line in LINES if line[0] not in "!?@"]
AGGREGATES = [line[2:].partition(" => ")[::2] for line in LINES if line.startswith("@ ")]
REFUSED_AGGREGATES = [line[3:] for line in LINES if line.startswith("@?")]
FAILING = [line[2:] for line in LINES if line[0] == "!"]
REFUSED = [line[2:] for line in LINES if line[0] == "?"]
CHUNK = 120  # a plan of all expressions takes longer to compile than several of some


def spark_type(type: t.DataType) -> str:
    """The type as Spark's typeof writes it; our intervals are always the widest of their kind."""
    match type:
        case t.Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case t.Array(element):
            return f"array<{spark_type(element)}>"
        case t.Map(key, value):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case t.Struct(fields):
            return "struct<" + ",".join(f"{bare(f.name)}:{spark_type(f.type)}" for f in fields) + ">"
        case t.Simple(name):
            return name.lower()
    raise AssertionError(type)


def widest(name: str) -> str:
    name = re.sub(r"interval (year|month)( to month)?", "interval year to month", name)
    return re.sub(
        r"interval (day|hour|minute|second)( to (hour|minute|second))?", "interval day to second", name
    )


def sql_value(value: object, type: t.DataType) -> str:
    """The value as a constant of Spark SQL."""
    match value:
        case None:
            text = "NULL"
        case bytes():
            text = f"X'{value.hex()}'"
        case list():
            text = "array(" + ", ".join(sql_value(item, t.INT) for item in value) + ")"
        case dict() if isinstance(type, t.Struct):
            text = f"named_struct('x', {sql_value(value['x'], t.INT)}, 'y', '{value['y']}')"
        case dict():
            text = "map(" + ", ".join(f"'{key}', {item}" for key, item in value.items()) + ")"
        case datetime.datetime():
            text = f"'{timestamp_text(value)}'"
        case datetime.timedelta() | Months():
            return text_of(value, type)
        case bool() | int():
            text = str(value)
        case _:
            text = f"'{value}'"
    return f"CAST({text} AS {spark_type(type)})"


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    """The events of tests/expressions.py as the view `a`, in order."""
    spark.conf.set(
        "spark.sql.parser.escapedStringLiterals", "true"
    )  # a backslash is a backslash, as in neelc
    selects = (
        "SELECT " + ", ".join(f"{sql_value(row[name], type)} AS {name}" for name, type in COLUMNS.items())
        for row in ROWS
    )
    rows = spark.sql(" UNION ALL ".join(selects))
    rows.createOrReplaceTempView("a")
    # Where only types are asked for, a table without rows is analysed faster.
    spark.createDataFrame([], rows.schema).createOrReplaceTempView("types")
    yield spark
    spark.catalog.dropTempView("a")
    spark.catalog.dropTempView("types")
    spark.conf.unset("spark.sql.parser.escapedStringLiterals")


def like_ours(value: Any, type: t.DataType) -> object:
    """A value of PySpark as the reference interpreter has it."""
    match type, value:
        case _, None:
            return None
        case t.Array(element), _:
            return [like_ours(item, element) for item in value]
        case t.Struct(fields), _:
            return {bare(f.name): like_ours(item, f.type) for f, item in zip(fields, value, strict=True)}
        case t.Map(_, item_type), _:
            return {key: like_ours(item, item_type) for key, item in value.items()}
        case t.Simple("TIMESTAMP"), _:
            return value.astimezone(UTC)
        case t.Simple("BINARY"), _:
            return bytes(value)
    return value


def same(ours: object, theirs: object) -> bool:
    match ours, theirs:
        case float(), float():
            # Java's StrictMath and C's libm may differ in the last bit.
            return math.isclose(ours, theirs, rel_tol=1e-14) or (math.isnan(ours) and math.isnan(theirs))
        case list(), list():
            return len(ours) == len(theirs) and all(map(same, ours, theirs))
        case dict(), dict():
            return list(ours) == list(theirs) and all(map(same, ours.values(), theirs.values()))
        case decimal.Decimal(), decimal.Decimal():
            return ours == theirs and ours.as_tuple().exponent == theirs.as_tuple().exponent
    return type(ours) is type(theirs) and ours == theirs


def differences(text: str, theirs: list[Any], their_type: str) -> list[str]:
    """What is wrong with an expression, on each of the events that Spark has values for."""
    checked = check(text)
    if checked.reports:
        return [f"{text}: {checked.reports}"]
    if spark_type(checked.type) != widest(their_type):
        return [f"{text}: {spark_type(checked.type)}, but Spark has {their_type}"]
    pairs = [
        (evaluate(checked.expression, context(row)), like_ours(value, checked.type))
        for row, value in enumerate(theirs)
    ]
    return [f"{text}: {one!r}, but Spark has {other!r}" for one, other in pairs if not same(one, other)]


def all_differences(spark: Any, lines: list[tuple[str, str]]) -> list[str]:
    columns = (
        f"{theirs or ours.replace('b[]', 'a')} AS c{number}" for number, (ours, theirs) in enumerate(lines)
    )
    frame = spark.sql(f"SELECT {', '.join(columns)} FROM a")
    values = list(zip(*frame.collect(), strict=True))
    found = (
        differences(text, list(values[number]), frame.schema[number].dataType.simpleString())
        for number, (text, _) in enumerate(lines)
    )
    return [difference for one in found for difference in one]


@pytest.mark.parametrize("start", range(0, len(AGREED), CHUNK))
def test_types_and_values_agree(events: Any, start: int) -> None:
    assert all_differences(events, AGREED[start : start + CHUNK]) == []


def test_aggregates_agree(events: Any) -> None:
    assert all_differences(events, AGGREGATES) == []


@pytest.mark.parametrize("text", FAILING)
def test_what_fails_in_spark_is_null(events: Any, text: str) -> None:
    checked = check(text)
    assert checked.reports == ()
    assert evaluate(checked.expression, context(0)) is None
    frame = events.sql(f"SELECT {text} FROM a WHERE i = 3")
    assert spark_type(checked.type) == widest(frame.schema[0].dataType.simpleString())
    with pytest.raises(PySparkException):
        frame.collect()


@pytest.mark.parametrize("text", REFUSED + REFUSED_AGGREGATES)
def test_what_spark_refuses_is_refused(events: Any, text: str) -> None:
    assert len(check(text).reports) == 1
    with pytest.raises(PySparkException):
        events.sql(f"SELECT {text.replace('b[]', 'a')} FROM types AS a")


SAMPLES = {spark_type(type): f"a.{name}" for name, type in COLUMNS.items() if name != "n"}


def test_the_same_casts_are_possible(events: Any) -> None:
    casts = [f"TRY_CAST({text} AS {target})" for text in SAMPLES.values() for target in SAMPLES]
    possible = [cast for cast in casts if not check(cast).reports]
    events.sql(f"SELECT {', '.join(possible)} FROM types AS a")
    for cast in casts:
        if cast not in possible:
            with pytest.raises(PySparkException):
                events.sql(f"SELECT {cast} FROM types AS a")
