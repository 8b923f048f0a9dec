"""Aggregates that users register: calls of them get their function and type before anything is bound."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from neelc.arguments import UserAggregate
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir import types as t
from neelc.ir.expressions import Call, Cast, Literal
from neelc.ir.names import RESERVED
from neelc.ir.node import Node, map_children
from neelc.ir.script import Statement
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, SCALAR_SIGNATURES
from neelc.syntax import expression

RETURNED = (
    t.BOOLEAN, t.TINYINT, t.SMALLINT, t.INT, t.BIGINT, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.DATE,
    t.TIMESTAMP, t.TIMESTAMP_NTZ,
)  # fmt: skip
"""What a function can return; also DECIMALs, and arrays of all these."""

Registered = Mapping[str, tuple[str, UserAggregate, t.DataType]]
"""By its name in small letters: the name of an aggregate, the aggregate and its type."""


def registered(aggregates: Mapping[str, UserAggregate]) -> Registered:
    """The aggregates with their types; `CallError` if one cannot be used.

    >>> registered({"Spread": UserAggregate(len, "decimal(10, 2)")})["spread"][2]
    Decimal(precision=10, scale=2)
    >>> registered({"max": UserAggregate(len, "INT")})
    Traceback (most recent call last):
    neelc.files.CallError: aggregate max: neelc has a function of this name; give it another one
    """
    found: dict[str, tuple[str, UserAggregate, t.DataType]] = {}
    for name, aggregate in aggregates.items():
        key = name.lower()
        if not isinstance(aggregate, UserAggregate):
            raise CallError(f"aggregate {name}: not made by neelc.aggregate(function, returns=...)")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.upper() in RESERVED:
            raise CallError(f"aggregate {name}: not a name that a query can call")
        if key in AGGREGATE_SIGNATURES or key in SCALAR_SIGNATURES:
            raise CallError(f"aggregate {name}: neelc has a function of this name; give it another one")
        if key in found:
            raise CallError(f"aggregate {name}: given twice, as {found[key][0]} too; case does not matter")
        found[key] = (name, aggregate, _type(name, aggregate.returns))
    return found


def _type(name: str, text: str) -> t.DataType:
    try:
        parsed = expression(f"CAST(NULL AS {text})")
    except NeelError:
        parsed = None
    match parsed:
        case Cast(Literal(None), type) if _can_be_returned(type):
            return type
    some = "BOOLEAN, a number, DECIMAL(p, s), STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, ARRAY of those"
    raise CallError(f"aggregate {name}: it cannot return {text!r}; types: {some}")


def _can_be_returned(type: t.DataType) -> bool:
    if isinstance(type, t.Array):
        return _can_be_returned(type.element)
    return type in RETURNED or isinstance(type, t.Decimal)


def with_aggregates(statement: Statement, known: Registered) -> Statement:
    """The statement with their functions in the calls of aggregates."""

    def change(node: Node) -> Node:
        node = map_children(node, change)
        if isinstance(node, Call) and node.name.lower() in known:
            name, aggregate, type = known[node.name.lower()]
            return replace(node, name=name, type=type, function=aggregate.function)
        return node

    found = change(statement) if known else statement
    assert isinstance(found, Statement)
    return found
