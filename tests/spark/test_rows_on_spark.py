"""Random MATCH_RECOGNIZE clauses: Spark finds the rows that the reference finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal as D
from functools import reduce
from random import Random
from types import SimpleNamespace
from typing import Any

from generate.row_patterns import clause, rows
from in_rows import bound
from like_spark import like_ours
from on_spark import Asking, check_columns, configured

from neelc.api.query import run_source
from neelc.engines.spark.python_source import python_source
from neelc.engines.spark.relations import Let, Read, Relations
from neelc.engines.spark.rows import row_relations
from neelc.errors import NeelError
from neelc.ir.bound_rows import Recognize
from neelc.ir.program import Column
from neelc.ir.types import BIGINT, DATE, INT, SMALLINT, STRING, TIMESTAMP, TIMESTAMP_NTZ, Array, Decimal
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.rows.plan.plan import row_plan
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip, recognized
from neelc.runtime.reference.results import Result
from neelc.scalar.spark.trees import identifier, spark_type
from neelc.tools.cases.streaming.rows import as_bag

FIRST, CLAUSES, TABLES = 700_000, 12, 3

Sample = tuple[str, Recognize, list[Mapping[str, object]]]


def samples(seed: int = FIRST, clauses: int = CLAUSES, windows: bool = False) -> Iterator[Sample]:
    """Clauses with an answer, each with rows whose order is certain; only those for which Spark has `windows`
    of rows, if requested."""
    for _ in range(clauses):
        while True:
            seed += 1
            chance = Random(seed)
            text = clause(chance)
            table = [row for _ in range(TABLES) for row in rows(chance)]
            table = [{**row, "t": number} for number, row in enumerate(table)]
            chance.shuffle(table)
            try:
                query = bound(text)
                if windows and " OVER (" not in source_of(query):
                    continue
                row_plan(query)
                recognized(query, table)
            except (NeelError, CannotSkip, LimitReached, UnsupportedQuery):
                continue
            yield text, query, table
            break


def source_of(query: Recognize, streaming: bool = False) -> str:
    """What Spark runs, planned for batches or for streams."""
    lets = (Let("t", Read("t")), *row_relations(row_plan(query, streaming), "t", "result", {"t"}))
    return python_source(Relations(lets), "a clause")


def frame_of(spark: Any, query: Recognize, table: list[Mapping[str, object]], streaming: bool = False) -> Any:
    """The DataFrame of a clause over a table."""
    schema = ", ".join(f"{identifier(column.name)} {spark_type(column.type)}" for column in query.columns)
    values = [tuple(row[column.name] for column in query.columns) for row in table]
    source = source_of(query, streaming)
    return run_source(source, spark, {"t": spark.createDataFrame(values, schema).repartition(3)}, {})


def check(spark: Any, asked: Sequence[Sample], streaming: bool = False) -> None:
    """All clauses in one job: each has a column of structs, its rows."""
    frames = []
    for _, query, table in asked:
        frame = frame_of(spark, query, table, streaming)
        check_columns(SimpleNamespace(columns=query.output), frame)  # type: ignore[arg-type]
        frames.append(frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))))
    kinds = [frame.selectExpr("struct(*) AS row").schema[0].dataType.simpleString() for frame in frames]
    selected = []
    for number, frame in enumerate(frames):
        columns = [f"CAST(NULL AS {kind}) AS q{place}" for place, kind in enumerate(kinds)]
        columns[number] = f"struct(*) AS q{number}"
        selected.append(frame.selectExpr(f"{number} AS clause", *columns))
    rows: list[list[tuple[object, ...]]] = [[] for _ in asked]
    for row in reduce(lambda one, other: one.unionAll(other), selected).collect():
        types = [column.type for column in asked[row.clause][1].output]
        values = zip(row[row.clause + 1], types, strict=True)
        rows[row.clause].append(tuple(like_ours(value, type) for value, type in values))
    for (text, query, table), found in zip(asked, rows, strict=True):
        expected = as_bag(recognized(query, table))
        assert as_bag(Result(query.output, found)) == expected, f"{text}\n{table}"


def test_random_clauses(spark: Any) -> None:
    with configured(spark, Asking(shuffled=3, batch=4)):
        check(spark, list(samples()))


def test_plans_for_streams(spark: Any) -> None:
    """They need no windows over rows, which streams do not have, and find the same."""
    asked = list(samples(FIRST + 50_000, clauses=8, windows=True))
    assert not any(" OVER (" in source_of(query, streaming=True) for _, query, _ in asked)
    with configured(spark, Asking(shuffled=3, batch=4)):
        check(spark, asked, streaming=True)


COLUMNS = (
    Column("room", STRING), Column("at", TIMESTAMP), Column("day", DATE), Column("price", Decimal(8, 2)),
    Column("tags", Array(INT)),
)  # fmt: skip
OTHER_TYPES = (
    "FIRST(at) AS m, LAST(price) AS p PATTERN (A B+) DEFINE B AS at - PREV(at) < INTERVAL '2' HOUR",
    "LAST(day) AS m, count(*) AS c PATTERN (A+) WITHIN INTERVAL '3' HOUR DEFINE A AS price > 1",
    "sum(price) AS m ALL ROWS PER MATCH PATTERN (A B*) DEFINE B AS price > PREV(price)",
    "max(A.price) AS m PATTERN (A+ B) DEFINE A AS sum(A.price) < 6.5, B AS price >= FIRST(A.price)",
    "A.tags AS m PATTERN (A B) DEFINE B AS size(tags) > PREV(size(tags)) AND day = PREV(day)",
    "LAST(at) AS m PATTERN (A B*) DEFINE B AS at <= FIRST(at) + INTERVAL '3' HOUR AND B.day >= A.day",
    "B.tags[0] AS m, CLASSIFIER() AS v PATTERN (A | B) DEFINE A AS tags = PREV(tags)",
    "sum(price * MATCH_NUMBER()) AS m, max(CASE WHEN CLASSIFIER() = 'A' THEN at END) AS a PATTERN (A B*) "
    "DEFINE B AS LAST(CASE WHEN CLASSIFIER() = 'A' THEN at END, 1) > at - INTERVAL '1' HOUR "
    "OR sum(CASE WHEN CLASSIFIER() <> 'A' THEN price END) < 2.5",
)


def test_other_types(spark: Any) -> None:
    chance = Random(3)
    begin = datetime(2026, 1, 1, 20, tzinfo=UTC)
    table: list[Mapping[str, object]] = [
        {
            "room": chance.choice(["x", "y", None]),
            "at": begin + timedelta(minutes=40 * number),
            "day": (begin + timedelta(minutes=40 * number)).date(),
            "price": chance.choice([None, *(D(text) for text in ("0.50", "1.25", "2.00", "3.75"))]),
            "tags": chance.choice([None, [], [1], [1, 2]]),
        }
        for number in range(40)
    ]
    with configured(spark, Asking(shuffled=2, batch=3)):
        texts = [f"PARTITION BY room ORDER BY at MEASURES {text}" for text in OTHER_TYPES]
        check(spark, [(text, bound(text, COLUMNS), table) for text in texts])


ORDERS = (
    Column("room", STRING), Column("x", INT), Column("small", SMALLINT), Column("number", INT),
    Column("large", BIGINT), Column("day", DATE), Column("at", TIMESTAMP), Column("local", TIMESTAMP_NTZ),
)  # fmt: skip
DIRECTIONS = ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")


def test_orders(spark: Any) -> None:
    """Rows are sorted by one number: one made of any type, in both directions, NULL at either end."""
    chance = Random(5)
    begin = datetime(1969, 12, 1)
    table: list[Mapping[str, object]] = []
    for number, room in enumerate([*"abcabcaabbcc", None, None, None] * 4):
        day = begin + timedelta(days=number)
        times = (number - 30, (number - 30) * 10_000_019, (number - 30) * (1 << 57), day.date())
        moments = (day.replace(tzinfo=UTC) + timedelta(microseconds=number), day)
        named = zip([column.name for column in ORDERS[2:]], [*times, *moments], strict=True)
        table.append({"room": room, "x": chance.randint(0, 9), **dict(named)})
    for room in ("a", None):  # one in each partition: with two, their order would be anyone's
        table.append({**dict.fromkeys(table[0]), "room": room, "x": 5})
    chance.shuffle(table)
    asked: list[Sample] = []
    for place, column in enumerate(ORDERS[2:]):
        text = f"PARTITION BY room ORDER BY {column.name}{DIRECTIONS[place % 4]}"
        text += " MEASURES FIRST(x) AS b, LAST(x) AS e PATTERN (A B*) DEFINE B AS x >= PREV(x)"
        asked.append((text, bound(text, ORDERS), table))
    with configured(spark, Asking(shuffled=2, batch=7)):
        check(spark, asked)
