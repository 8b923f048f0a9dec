"""The table function without a JVM: its handlers are called as Spark's workers call them."""

from __future__ import annotations

import dataclasses
import pickle
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import neelc
from neelc.api import table_function
from neelc.api.table_function import _batches_handler, _rows_handler, analysed, compiled_over
from neelc.ir.program import Column
from neelc.ir.types import BIGINT, STRING, TIMESTAMP

pytest.importorskip("pyspark.sql.udtf")

COLUMNS = (Column("ts", TIMESTAMP), Column("kind", STRING), Column("user", STRING), Column("n", BIGINT))
FIELDS = "ts timestamp, kind string, user string, n bigint"
SETTINGS = {"type": "kind"}
TEXT = "PATTERN SEQ(Go a, !Out x, Go b) WHERE [user] AND b.n > a.n WITHIN 20 SECONDS RETURN a.user, a.ts, b.n"


def rows(seed: int = 7) -> list[tuple[Any, ...]]:
    """Rows as Spark hands them over: times in microseconds."""
    chance = random.Random(seed)
    names = ["a", "b", "c", None]
    return [
        (chance.randrange(300) * 1_000_000, chance.choice(["Go", "Out", "Go"]), chance.choice(names), n)
        for n in range(200)
    ]


def expected(text: str) -> list[tuple[object, ...]]:
    data = [
        {"ts": datetime.fromtimestamp(ts / 1_000_000, UTC), "kind": kind, "user": user, "n": n}
        for ts, kind, user, n in rows()
    ]
    return sorted(neelc.local().sql(text, Events=neelc.stream(data, type="kind")).collect(), key=repr)


def constant(value: object) -> Any:
    return SimpleNamespace(isConstantExpression=True, isTable=False, value=value)


def table() -> Any:
    types = {"timestamp": "timestamp", "string": "string", "bigint": "long"}
    pairs = (field.split() for field in FIELDS.split(", "))
    fields = [{"name": name, "type": types[kind]} for name, kind in pairs]
    schema = SimpleNamespace(jsonValue=lambda: {"fields": fields})
    return SimpleNamespace(isConstantExpression=False, isTable=True, dataType=schema)


def planned(text: str, **options: object) -> Any:
    given = {name: constant(value) for name, value in {**SETTINGS, **options}.items()}
    return analysed(constant(text), table(), given, "UTC", 3)


def parts(result: Any) -> Iterator[list[tuple[Any, ...]]]:
    """The rows that are handed over together, as the result of `analyze` asks for it."""
    if result.withSinglePartition:
        yield rows()
        return
    (hashed,) = result.partitionBy
    assert hashed.name == "pmod(hash(`user`), 3)"
    found = defaultdict(list)
    for row in rows():
        found[hash(row[2]) % 3].append(row)
    yield from found.values()


@pytest.mark.parametrize(
    "text, by_key",
    [
        (TEXT, True),
        ("PATTERN SEQ(Go a, Go+ b[]) WHERE [user] WITHIN 4 SECONDS RETURN a.user, b[].n AS ns", True),
        ("PATTERN SEQ(Go a, Go b) PARTITION BY user WITHIN 4 EVENTS RETURN a.n, b.n AS m", True),
        ("PATTERN SEQ(Go a, Go b) WHERE [user] WITHIN 4 EVENTS RETURN a.n, b.n AS m", False),
        ("PATTERN SEQ(Go a, Go b) WHERE b.n = a.n + 1 WITHIN 20 SECONDS RETURN a.n", False),
        ("PATTERN SEQ(Go a, Go b) WHERE [user] WITHIN 4 SECONDS RETURN DISTINCT a.kind", False),
        ("PATTERN SEQ(Go a, Go b) WHERE [user] WITHIN 4 SECONDS RETURN count(*) AS n", False),
        ("PATTERN SEQ(Go a, Out b) WHERE [user] WITHIN 4 SECONDS WITH PARTIAL MATCHES", False),
        ("PATTERN SEQ(Go a, !Out b) WHERE [user] WITHIN 4 SECONDS WHEN COMPLETE RETURN a.n", False),
        ("PATTERN SEQ(Go a, Go b) WHERE [user] WITHIN 9 SECONDS SUPPRESS 9 SECONDS RETURN a.n", True),
        ("PATTERN SEQ(Go a, Go b) WITHIN 9 SECONDS SUPPRESS 9 SECONDS RETURN a.n", False),
        ("PATTERN SEQ(Go a, Go b) WHERE [user] WITHIN 4 SECONDS RETURN a.n AS n ORDER BY n", False),
        ("CREATE QUERY Q AS PATTERN Go a WHERE a.n > 50 RETURN a.user; PATTERN Q q RETURN q.a_user", False),
        ("SELECT user, count(*) AS n FROM Events WINDOW(TIME 9 SECONDS) GROUP BY user", False),
    ],
)
def test_rows_are_brought_together_as_the_query_needs_it(text: str, by_key: bool) -> None:
    result = planned(text)
    assert result.withSinglePartition != by_key == bool(result.partitionBy)
    found = []
    for part in parts(result):
        sent = pickle.loads(pickle.dumps(result))
        handler: Any = _rows_handler("UTC", 3)(dataclasses.replace(sent))  # as PySpark does
        for row in part:
            handler.eval(text, row, type="kind")
        found += list(handler.terminate())
    assert sorted(found, key=repr) == expected(text) and found


def test_what_a_call_is_given_and_gives() -> None:
    result = planned(TEXT)
    assert result.schema.simpleString() == "struct<a_user:string,a_ts:timestamp,b_n:bigint>"
    assert [(one.name, one.alias) for one in result.select] == [
        ("unix_micros(`ts`)", "ts"),
        ("`kind`", "kind"),
        ("`user`", "user"),
        ("`n`", "n"),
    ]
    own = planned(TEXT, partitioned=True)
    assert not own.withSinglePartition and not own.partitionBy and own.partitioned


class Divided:
    """What stands for PySpark's object that divides rows by a PARTITION BY."""

    def __init__(self, create: Any) -> None:
        self._create_udtf = create
        self.made = create()


def test_arbitrary_parts_of_a_table_are_refused() -> None:
    query, columns = compiled_over(TEXT, COLUMNS, SETTINGS, "UTC")
    assert query.name == "Events" and [one.name for one in columns] == ["a_user", "a_ts", "b_n"]
    handler = _batches_handler(query)
    with pytest.raises(ValueError, match="requires PARTITION BY behind TABLE"):
        handler()
    made = Divided(handler).made
    batch = query.table(rows()).to_batches()[0]
    for start in range(0, batch.num_rows, 70):
        assert list(made.eval(batch.slice(start, 70))) == []
    (found,) = made.terminate()
    assert sorted(map(tuple, (row.values() for row in found.to_pylist())), key=repr) == expected(TEXT)


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("PATTERN SEQ(Go a, Go b) WHERE c.n > 1", {}, "unknown pattern variable `c`"),
        ("PATTERN SEQ(Go a, Out b)", {"type": None}, "say which is the table"),
        ("PATTERN Go a", {"tipe": "kind"}, "unknown argument tipe"),
        ("no-such-file.neel", {}, "no-such-file.neel"),
        (7, {}, "the query is a text or the path"),
    ],
)
def test_wrong_calls(text: Any, options: dict[str, object], message: str) -> None:
    with pytest.raises((neelc.NeelQueryError, ValueError, TypeError), match=message):
        planned(text, **options)


def test_arguments_are_constants() -> None:
    column = SimpleNamespace(isConstantExpression=False, isTable=False, value=None)
    with pytest.raises(ValueError, match="query is a constant"):
        analysed(column, table(), {}, "UTC", 3)
    with pytest.raises(ValueError, match="the second argument is a table"):
        analysed(constant(TEXT), constant(7), {}, "UTC", 3)


def test_values_of_all_types() -> None:
    """What Python is given for each type that a table function takes."""
    from decimal import Decimal

    from neelc.ir import types as t

    day, clock = datetime(2024, 5, 1).date(), datetime(2024, 5, 1, 12)
    values: dict[Any, Any] = {
        t.BOOLEAN: True,
        t.TINYINT: 1,
        t.SMALLINT: 2,
        t.INT: 3,
        t.BIGINT: 4,
        t.FLOAT: 0.5,
        t.DOUBLE: 0.25,
        t.Decimal(10, 2): Decimal("1.50"),
        t.STRING: "a",
        t.BINARY: bytearray(b"x"),
        t.DATE: day,
        t.TIMESTAMP_NTZ: clock,
    }
    columns = [Column("ts", TIMESTAMP), *(Column(f"c{n}", kind) for n, kind in enumerate(values))]
    names = ", ".join(f"e.{one.name} AS {one.name}" for one in columns)
    query, _ = compiled_over(f"PATTERN Events e RETURN {names}", columns, {}, "UTC")
    found = list(query.over(query.table([(1_000_000, *values.values()), (2_000_000, *[None] * 12)])).rows())
    assert found[0][1:] == tuple(bytes(v) if isinstance(v, bytearray) else v for v in values.values())
    assert found[0][0] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC) and set(found[1][1:]) == {None}
    assert (
        isinstance(query.table(()), pa.Table) and set(values) - {t.Decimal(10, 2)} <= table_function.CARRIED
    )
