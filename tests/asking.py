"""Questions to the reference interpreter as text: a pattern, and a stream of events such as `A1 B2 B2 C5`.

The references in a pattern's conditions are resolved here, as they stand: the tests of the reference depend
on the parser, not on the binder. So each condition must stand at the part it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from neelc import syntax as parse
from neelc.ir import expressions as x
from neelc.ir import patterns as p
from neelc.ir.names import same
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import Clock, Column, EventType, Match, Member, OutputColumn, Stream
from neelc.ir.script import Confidence, SelectionStrategy
from neelc.ir.types import BIGINT, DOUBLE, STRING, Struct, StructField
from neelc.runtime.reference import ReferenceEvent, matches

COLUMNS = tuple(
    Column(n, t)
    for n, t in (("ts", BIGINT), ("te", BIGINT), ("type", STRING), ("id", BIGINT), ("val", DOUBLE))
)
WHOLE = Struct(tuple(StructField(column.name, column.type) for column in COLUMNS))
STREAM = Stream("S", COLUMNS, "ts", "te", unit="SECOND", type_column="type")
IMPRECISE = Stream("S", COLUMNS, "ts", latest="te", unit="SECOND", type_column="type")

# A type, a time or a span of time, an id (1 by default, `_` for NULL), a value (its time by default).
TOKEN = re.compile(r"(?P<type>[A-Z]+)(?P<ts>\d+)(\.\.(?P<te>\d+))?(:(?P<id>\d+|_))?(=(?P<val>[\d.]+))?\Z")


def table(stream: str) -> list[dict[str, object]]:
    """
    >>> table("A1 B2..5:7=0.5")[1]
    {'ts': 2, 'te': 5, 'type': 'B', 'id': 7, 'val': 0.5}
    """
    found = [TOKEN.match(token) for token in stream.split()]
    assert all(found), f"not a stream: {stream}"
    return [row(token.groupdict()) for token in found if token]


def row(token: Mapping[str, str | None]) -> dict[str, object]:
    start = int(token["ts"] or 0)
    return {
        "ts": start,
        "te": int(token["te"] or start),
        "type": token["type"],
        "id": None if token["id"] == "_" else int(token["id"] or 1),
        "val": float(token["val"] or start),
    }


def bound(node: Node) -> Node:
    """`node` with its references resolved: `b[i-1].val` is an attribute of an element of `b`."""
    match node:
        case x.Name(parts):
            return attribute(x.Variable(parts[0]), parts[1:])
        case x.MemberAccess():
            names = []
            while isinstance(node, x.MemberAccess):
                names.append(node.name)
                node = node.base
            return attribute(element(node), tuple(reversed(names)))
        case x.Subscript() | x.Slice():
            return x.WholeEvent(element(node), WHOLE)
        case x.Call(name, arguments):
            argument = arguments[0] if arguments and not isinstance(arguments[0], x.Star) else None
            inner = bound(argument) if argument else None
            return x.Aggregate(name.lower(), inner, BIGINT if name == "count" else DOUBLE)  # type: ignore[arg-type]
        case p.Window():
            return window(node)
    return map_children(node, bound)


def attribute(event: x.EventRef, names: tuple[str, ...]) -> x.Expr:
    for name in names[:-1]:
        event = x.InnerVariable(event, name)
    if names == ():
        assert isinstance(event, x.Variable)
        if event.name in ("match_start", "match_end", "confidence"):
            return x.MatchProperty(event.name, BIGINT)
        return x.WholeEvent(event, WHOLE)
    kind = next(column.type for column in COLUMNS if same(column.name, names[-1]))
    return x.Attribute(event, names[-1], kind)


def element(node: Node) -> x.EventRef:
    match node:
        case x.Name((name,)):
            return x.Variable(name)
        case x.MemberAccess(base, name):
            return x.InnerVariable(element(base), name)
        case x.Subscript(base, place):
            return x.ListElement(element(base), index(place))
        case x.Slice(base, upper):
            return x.EveryElement(element(base), None if upper is None else index(upper))
    raise AssertionError(node)


def index(place: x.Expr) -> x.Index:
    match place:
        case x.Literal(int() as number):
            return x.Index("FIRST", number - 1)
        case x.Name((name,)):
            return x.Index({"i": "CURRENT", "last": "LAST"}[name.lower()])
        case x.Binary("-", x.Name() as base, x.Literal(int() as number)):
            return x.Index(index(base).anchor, -number)
    raise AssertionError(place)


def ask(
    pattern: str,
    /,
    *,
    within: object = None,
    using: str = "SKIP TILL ANY MATCH",
    returns: str = "",
    confidence: float | None = None,
    imprecise: bool = False,
    **fields: Any,
) -> Match:
    """The bound query; items of RETURN are separated by semicolons, other `fields` are those of `Match`."""
    tree = bound(parse.pattern(pattern))
    assert isinstance(tree, p.Pattern)
    types = sorted({part.type for part in walk(tree) if isinstance(part, p.Event)})
    return Match(
        tree,
        (IMPRECISE if imprecise else STREAM,),
        tuple(EventType(name, (Member("S", name),), COLUMNS) for name in types),
        tuple(output(item) for item in returns.split(";") if item),
        Clock(BIGINT, "SECOND"),
        within=None if within is None else window(parse.window(str(within))),
        strategy=SelectionStrategy(using),
        confidence=None if confidence is None else Confidence(">=", x.Literal(confidence, DOUBLE)),
        **fields,
    )


def window(node: p.Window) -> p.Window:
    """A window without a unit is in that of the stream."""
    return p.Window(node.count, node.unit or "SECOND")


def output(item: str) -> OutputColumn:
    written, _, name = item.strip().partition(" AS ")
    expression = bound(parse.expression(written))
    assert isinstance(expression, x.Expr)
    return OutputColumn(name or written, expression, DOUBLE)


def found(pattern: str, stream: str, /, **options: Any) -> list[str]:
    """The matches as text, sorted: what each variable is bound to, in the order of their names.

    >>> found("SEQ(A a, B+ b[])", "A1 B2 B3")
    ['A1 [B2 B3]', 'A1 [B2]', 'A1 [B3]']
    """
    names = labels(stream)
    return sorted(text(binding, names) for binding in matches(ask(pattern, **options), {"S": table(stream)}))


def labels(stream: str) -> list[str]:
    """A name for each event: its type and time, with a stroke where that was there before."""
    plain = [re.split("[:=]", token)[0] for token in stream.split()]
    return [name + "'" * plain[:place].count(name) for place, name in enumerate(plain)]


def text(value: object, names: list[str]) -> str:
    match value:
        case None:
            return "-"
        case ReferenceEvent():
            return names[value.row]
        case tuple():
            return "[" + " ".join(text(item, names) for item in value) + "]"
        case Mapping():
            return " ".join(text(value[name], names) for name in sorted(value))
    raise AssertionError(value)
