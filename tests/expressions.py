"""Expressions in tests: the text, over an event `a` and a list of events `b`, is parsed, resolved and typed.

`a.i` is an INT, `a.s` a STRING and so on (`COLUMNS`); `b[]` has the same attributes.
"""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass, replace

from neelc.errors import Hint
from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children
from neelc.ir.types import DataType
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.values.times import UTC, Months
from neelc.scalar.typing import typed
from neelc.syntax import expression

POINT = t.Struct((t.StructField("x", t.INT), t.StructField("y", t.STRING)))

COLUMNS: dict[str, DataType] = {
    "y": t.TINYINT,
    "h": t.SMALLINT,
    "i": t.INT,
    "l": t.BIGINT,
    "f": t.FLOAT,
    "d": t.DOUBLE,
    "c": t.Decimal(10, 2),
    "s": t.STRING,
    "n": t.STRING,
    "o": t.BOOLEAN,
    "dt": t.DATE,
    "ts": t.TIMESTAMP,
    "ntz": t.TIMESTAMP_NTZ,
    "bin": t.BINARY,
    "arr": t.Array(t.INT),
    "m": t.Map(t.STRING, t.INT),
    "st": POINT,
    "ds": t.DAY_INTERVAL,
    "ym": t.YEAR_INTERVAL,
}

_NOON = datetime.datetime(2020, 2, 29, 12, 34, 56, 789000)
_NIGHT = datetime.datetime(1969, 12, 31, 23, 59, 59, 500000)

# An ordinary event, one with signs and empty strings, and one without anything.
ROWS: tuple[dict[str, object], ...] = (
    {
        "y": 1,
        "h": 2,
        "i": 3,
        "l": 4,
        "f": 1.5,
        "d": 2.5,
        "c": decimal.Decimal("12.34"),
        "s": "abc",
        "n": "42",
        "o": True,
        "dt": datetime.date(2020, 2, 29),
        "ts": _NOON.replace(tzinfo=UTC),
        "ntz": _NOON,
        "bin": b"ab",
        "arr": [1, 2],
        "m": {"k": 1},
        "st": {"x": 1, "y": "z"},
        "ds": datetime.timedelta(days=1),
        "ym": Months(12),
    },
    {
        "y": -8,
        "h": -300,
        "i": -7,
        "l": -5_000_000_000,
        "f": -0.10000000149011612,  # the FLOAT nearest to -0.1
        "d": float("nan"),
        "c": decimal.Decimal("-0.05"),
        "s": "",
        "n": " -7 ",
        "o": False,
        "dt": datetime.date(1969, 12, 31),
        "ts": _NIGHT.replace(tzinfo=UTC),
        "ntz": _NIGHT,
        "bin": b"",
        "arr": [None, -1],
        "m": {},
        "st": {"x": None, "y": "Grüße"},
        "ds": -datetime.timedelta(hours=1, microseconds=1),
        "ym": Months(-14),
    },
    dict.fromkeys(COLUMNS),
)


@dataclass(frozen=True)
class Checked:
    """A typed expression and what was reported."""

    expression: e.Expr
    type: DataType
    reports: tuple[str, ...]


def check(text: str) -> Checked:
    """The expression of a text, with its type and the diagnostics as `CODE message [hint]`."""
    reports: list[str] = []

    def report(code: str, message: str, span: object, hint: Hint | str | None) -> None:
        assert span is not None, f"{code} has no place"
        reports.append(f"{code} {message}" + (f" [{hint}]" if hint else ""))

    found, type = typed(resolve(expression(text)), report)
    return Checked(found, type, tuple(reports))


def event(number: int) -> ReferenceEvent:
    attributes = ROWS[number]
    return ReferenceEvent("S", number, "A", number, number + 5, attributes, (number, number + 5))


def context(number: int = 0) -> EvaluationContext:
    """`a` is the event of that number, `b` all events; `i` stands for the second element."""
    return EvaluationContext({"a": event(number), "b": tuple(map(event, range(len(ROWS))))}, current=1)


def value(text: str, number: int = 0) -> object:
    """The value of an expression that must have no errors."""
    checked = check(text)
    assert checked.reports == (), text
    return evaluate(checked.expression, context(number))


def resolve(node: e.Expr) -> e.Expr:
    """References as the binder makes them, without its checks."""
    return replace(_resolved(node), span=node.span)


def _resolved(node: e.Expr) -> e.Expr:
    match node:
        case e.Name(("match_start" as name,)):
            return e.MatchProperty(name, t.TIMESTAMP)
        case e.Name((variable, "te" as name)):
            return e.EventTime(e.Variable(variable), name, t.BIGINT)
        case e.Name((variable, *path)) if path:
            return _members(e.Variable(variable), path)
        case e.MemberAccess(base, name):
            return _members(_event(base), [name]) if _is_event(base) else _field(resolve(base), name)
        case e.Slice():
            return e.WholeEvent(_event(node), _WHOLE)
        case e.Subscript(base, index):
            return _item(resolve(base), resolve(index))
    found = map_children(node, _child)
    assert isinstance(found, e.Expr)
    return found


_WHOLE = t.Struct(tuple(t.StructField(name, type) for name, type in COLUMNS.items()))


def _child(node: Node) -> Node:
    return resolve(node) if isinstance(node, e.Expr) else map_children(node, _child)


def _is_event(base: e.Expr) -> bool:
    return isinstance(base, e.Slice) or (isinstance(base, e.Subscript) and base.base == e.Name(("b",)))


def _event(base: e.Expr) -> e.EventRef:
    match base:
        case e.Slice(e.Name((name,)), None):
            return e.EveryElement(e.Variable(name))
        case e.Slice(e.Name((name,)), upper) if upper is not None:
            return e.EveryElement(e.Variable(name), _index(upper))
        case e.Subscript(e.Name((name,)), index):
            return e.ListElement(e.Variable(name), _index(index))
    raise AssertionError(base)


def _index(index: e.Expr) -> e.Index:
    match index:
        case e.Literal(int(number)):
            return e.Index("FIRST", number - 1)
        case e.Name((word,)):
            return e.Index({"last": "LAST", "i": "CURRENT"}[word])
        case e.Binary("-", e.Name((word,)), e.Literal(int(number))):
            return e.Index({"last": "LAST", "i": "CURRENT"}[word], -number)
    raise AssertionError(index)


def _members(event: e.EventRef, path: list[str]) -> e.Expr:
    found: e.Expr = e.Attribute(event, path[0], COLUMNS[bare(path[0])])
    for name in path[1:]:
        found = _field(found, name)
    return found


def _field(base: e.Expr, name: str) -> e.Expr:
    field = next(field for field in POINT.fields if field.name == name)
    return e.Field(base, name, field.type)


def _item(base: e.Expr, index: e.Expr) -> e.Expr:
    base, type = typed(base, lambda *_: None)
    inner = type.element if isinstance(type, t.Array) else type.value if isinstance(type, t.Map) else t.VOID
    return e.ElementAccess(base, index, inner)
