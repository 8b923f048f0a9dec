"""Values and types of Spark beside those of the reference interpreter, and the corpus that both evaluate."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from pathlib import Path
from typing import Any

from expressions import COLUMNS, ROWS

from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children
from neelc.runtime.values.order import comparable
from neelc.runtime.values.times import UTC, Months, timestamp_text
from neelc.runtime.values.types import text_of
from neelc.scalar.type_of import value_type

LINES = [
    line
    for line in (Path(__file__).parent / "spark" / "expressions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
AGREED = [line.partition(" => ")[::2] for line in LINES if line[0] not in "!?@"]
AGGREGATES = [line[2:].partition(" => ")[::2] for line in LINES if line.startswith("@ ")]
REFUSED_AGGREGATES = [line[3:] for line in LINES if line.startswith("@?")]
FAILING = [line[2:] for line in LINES if line[0] == "!"]
REFUSED = [line[2:] for line in LINES if line[0] == "?"]
# Over rows, there is no order to take the first or last of.
NEED_ORDER = ("first", "last", "max_by", "min_by")
GROUPED = [ours for ours, _ in AGGREGATES if not ours.startswith(NEED_ORDER)]

TEXTS = [
    "it's", '"', "a\\b", "\\", "\\'", "' OR '1' = '1", "'; DROP TABLE x; --", "/* */", "new\nline\r\t",
    "\0", "\x0012", "\x1a", "\x7f\x85", "\u2028", "${env:HOME}", "$\\{env:HOME}", "\\${env:HOME}",
    "${spark.app.name}", ":param", "?", "{{x}}", "%_", "\\%\\_", "\\u0041", "\\101",
    "Grüße", "😀", "`", "", " ",
]  # fmt: skip
NAMES = [
    "a` FROM x; --", "`", "``", "Price", "unit price", "a.b", "1st", "_1", "é", "it's", "\\", "${env:HOME}",
    "${spark.app.name}", "--", "/*", "new\nline", ":p", "*", "😀",
]  # fmt: skip


def over_rows(node: e.Expr) -> e.Expr:
    """The aggregates of a list as ones over the rows of a table."""

    def change(part: Node) -> Node:
        return part.base if isinstance(part, e.EveryElement) else map_children(part, change)

    found = change(node)
    assert isinstance(found, e.Expr)
    return found


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
        case t.SimpleType(name):
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
            return text_of(value, value_type(type))
        case bool() | int():
            text = str(value)
        case _:
            text = f"'{value}'"
    return f"CAST({text} AS {spark_type(type)})"


def events_of(spark: Any) -> Any:
    """The events of tests/expressions.py as rows, in order; the session must be in UTC."""
    selects = (
        "SELECT " + ", ".join(f"{sql_value(row[name], type)} AS {name}" for name, type in COLUMNS.items())
        for row in ROWS
    )
    return spark.sql(" UNION ALL ".join(selects))


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
        case t.SimpleType("TIMESTAMP"), _:
            return value.astimezone(UTC)
        case t.SimpleType("BINARY"), _:
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
            # Maps have no order, and the names of structs are compared with their types.
            one, other = ({comparable(key): value for key, value in map.items()} for map in (ours, theirs))
            return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
        case decimal.Decimal(), decimal.Decimal():
            return ours == theirs and ours.as_tuple().exponent == theirs.as_tuple().exponent
    return type(ours) is type(theirs) and ours == theirs
