"""Random matches with lists, for the reference interpreter and as a table of Spark.

The columns have names that a careless lambda would hide, and the fields of each variable names of its own.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from random import Random
from typing import Any

from on_spark import like_spark

from neelc.engines.spark.results import MatchRelation
from neelc.ir.expressions import Attribute, EventTime, Expr, Variable
from neelc.ir.names import bare
from neelc.ir.program import Match
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)
from neelc.pattern.plan.kernel_plan import START
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.values.times import UTC
from neelc.runtime.values.types import fit
from neelc.scalar.spark.trees import spark_type
from neelc.scalar.type_of import value_type

POINT = Struct((StructField("x", INT), StructField("y", STRING)))
NARROW, WIDE, WIDEST, LONG = Decimal(10, 2), Decimal(20, 5), Decimal(38, 18), Decimal(38, 0)
TYPES: dict[str, DataType] = {
    "y": TINYINT, "i": INT, "l": BIGINT, "f": FLOAT, "d": DOUBLE, "c": NARROW, "w": WIDE, "z": WIDEST,
    "g": LONG, "s": STRING, "n": STRING, "o": BOOLEAN, "dt": DATE, "at": TIMESTAMP, "bin": BINARY,
    "arr": Array(INT), "m": Map(STRING, INT), "st": POINT, "ds": DAY_INTERVAL,
}  # fmt: skip
HEAD = (
    "CREATE STREAM S (ts TIMESTAMP, kind STRING, "
    + ", ".join(f"{name} {spark_type(type)}" for name, type in TYPES.items())
    + ") TIMESTAMP BY ts TYPE BY kind;\n"
)
PATTERN = "PATTERN SEQ(A a, B* b[], OR(SEQ(C? c, D d, (F+ h[])?)+ k[], E+ o[]))"
COLUMNS = {"a": "x", "b": "i", "k": "x2", "o": "ok"}
INNER = ("c", "d", "h")

_NAN, _INF = float("nan"), float("inf")
_LARGEST = datetime.timedelta(days=106_751_991)
_DAY = datetime.datetime(2024, 3, 31, 1, 30, tzinfo=UTC)


def _numbers(*texts: str) -> list[decimal.Decimal]:
    return [decimal.Decimal(text) for text in texts]


VALUES: dict[str, list[Any]] = {
    "y": [0, 1, -1, 127, -128],
    "i": [0, 1, 2, 2, -3, 7, 2**31 - 1, -(2**31)],
    "l": [0, 1, 2, -3, 2**62, 2**63 - 1, -(2**63), 2**53 + 1],
    "f": [0.0, -0.0, 1.5, 1.5, -2.25, _NAN, 3.4028234663852886e38],
    "d": [0.0, -0.0, 0.1, 0.2, 1e16, 1.0, -1e16, 1e308, _NAN, _INF, -_INF],
    "c": _numbers("0.00", "0.01", "12.34", "-0.05", "99999999.99", "12.34"),
    "w": _numbers("0.00001", "-3.00000", "999999999999999.99999", "0.33333"),
    "z": _numbers("0.1", "123456789012345.123456789012345678", "-1E-18", "7"),
    "g": _numbers("1", "9" * 38, "5" + "0" * 37),
    "s": ["", "a", "b", "B", "Grüße", "\U0001f600", "\uffff"],
    "n": ["42", " -7 ", "x", ""],
    "o": [True, False],
    "dt": [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)],
    "at": [_DAY, _DAY + datetime.timedelta(microseconds=1), datetime.datetime(1960, 1, 1, tzinfo=UTC)],
    "bin": [b"", b"\x00", b"ab"],
    "arr": [[], [1], [None, 2], [3, 1]],
    "m": [{}, {"k": 1}],
    "st": [{"x": 1, "y": "z"}, {"x": None, "y": "a"}, {"x": 2, "y": None}],
    "ds": [datetime.timedelta(microseconds=1), -datetime.timedelta(hours=5), _LARGEST, -_LARGEST],
}  # fmt: skip


def _value(value: Any, type: DataType) -> Any:
    return fit(value, value_type(type)) if isinstance(type, Decimal) else value


class Making:
    """Makes matches: from small lists to long ones, from many NULLs to few."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.row = 0

    def event(self, kind: str) -> ReferenceEvent:
        random, missing = self.random, self.random.choice((0.0, 0.2, 0.6))
        self.row += 1
        attributes = {
            name: None if random.random() < missing else _value(random.choice(VALUES[name]), type)
            for name, type in TYPES.items()
        }
        moment = _DAY + datetime.timedelta(microseconds=random.randrange(10**9))
        attributes |= {"ts": moment, "kind": kind}
        return ReferenceEvent("S", self.row, kind, 0, 0, attributes, (moment, moment))

    def events(self, kind: str, least: int) -> tuple[ReferenceEvent, ...]:
        return tuple(self.event(kind) for _ in range(self.random.choice((least, 1, 2, 3, 5, 9))))

    def binding(self) -> dict[str, Any]:
        first = self.random.random() < 0.5
        iterations = tuple(
            {
                "c": self.random.choice((None, self.event("C"))),
                "d": d,
                "h": self.random.choice((None, self.events("F", 1))),
            }
            for d in self.events("D", 1)
        )
        return {
            "a": self.event("A"),
            "b": self.events("B", 0),
            "k": iterations if first else None,
            "o": None if first else self.events("E", 1),
        }


def contexts(seed: int, number: int) -> list[EvaluationContext]:
    making = Making(seed)
    properties = {"match_start": _DAY, "match_end": _DAY + datetime.timedelta(hours=1)}
    return [EvaluationContext(making.binding(), properties=properties) for _ in range(number)]


def field(reference: Expr, variable: str) -> str:
    """A name that shows whether the right variable was requested."""
    assert isinstance(reference, Attribute | EventTime) and reference.event == Variable(variable), reference
    name = bare(reference.name)
    return START if name in ("ts", "te") else f"{variable}_{name}"


def inner(closure: str, name: str) -> str:
    return f"{closure}_{name}"


def matches(query: Match) -> MatchRelation:
    """The report about the table of `frame`."""
    absent = frozenset(("k", "o"))
    return MatchRelation("matches", query, "MICROSECOND", COLUMNS.__getitem__, field, absent, inner)


def frame(spark: Any, found: list[EvaluationContext]) -> Any:
    """The matches as the kernel gives them."""
    one = {name: _struct_type(name) for name in ("a", "b", "c", "d", "h", "o")}
    iteration = f"STRUCT<k_c: {one['c']}, k_d: {one['d']}, k_h: ARRAY<{one['h']}>>"
    types = {"a": one["a"], "b": f"ARRAY<{one['b']}>", "k": f"ARRAY<{iteration}>", "o": f"ARRAY<{one['o']}>"}
    schema = ", ".join(f"{COLUMNS[name]} {type}" for name, type in types.items())
    rows = [
        (*(_cell(context.binding[name]) for name in types), *map(_microseconds, context.properties.values()))
        for context in found
    ]
    return spark.createDataFrame(rows, f"{schema}, match_start BIGINT, match_end BIGINT")


def _struct_type(variable: str) -> str:
    fields = [f"{variable}_{name}: {spark_type(type)}" for name, type in (TYPES | {"kind": STRING}).items()]
    return f"STRUCT<{START}: BIGINT, {', '.join(fields)}>"


def _cell(value: Any) -> Any:
    match value:
        case ReferenceEvent(attributes=attributes):
            values = (like_spark(attributes[name], type) for name, type in (TYPES | {"kind": STRING}).items())
            return (_microseconds(attributes["ts"]), *values)
        case tuple():
            return [_cell(item) for item in value]
        case Mapping():
            return tuple(_cell(value[name]) for name in INNER)
    return None


def _microseconds(moment: Any) -> Any:
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)
