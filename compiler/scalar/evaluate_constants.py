"""Expressions that speak of no event: what they are worth, and as a literal."""

from __future__ import annotations

import datetime
import decimal

from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.node import Node, children, map_children, remembered
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext
from neelc.runtime.values.functions.space import SPATIAL
from neelc.runtime.values.times import UTC, in_zone, instant_text, timestamp_text
from neelc.scalar.type_of import is_zoned, type_of

TRUE, FALSE = e.Literal(True, t.BOOLEAN), e.Literal(False, t.BOOLEAN)
UNKNOWN = e.Literal(None, t.BOOLEAN)
NOWHERE = EvaluationContext({})
"""What a constant is evaluated in: no variable is bound."""

# What has no value before there are events. An aggregate such as `count(*)` counts matches.
_OPEN = (
    *(e.EventRef, e.MatchProperty, e.Aggregate, e.SameAttributes, e.RowValue),
    *(e.Lambda, e.LambdaParameter),
)
# A few letters can ask these for gigabytes; a compilation must end soon whatever is written.
_GROWING = ("lpad", "repeat", "rpad")


@remembered
def is_constant(expression: e.Expr) -> bool:
    """Whether an expression has the same value for all events, and one that can be computed now.

    Every function that neelc knows is determined by its arguments: there is no `rand()` and no `now()`. But
    what depends on the session's time zone is known only where the query runs.

    >>> from pattern_examples import query
    >>> sides = query("A a WHERE a.x = 1 + 1").pattern.where
    >>> is_constant(sides.left), is_constant(sides.right)
    (False, True)
    >>> is_constant(e.Literal("2024-03-31", t.TIMESTAMP))
    False
    """
    return not is_zoned(expression) and not _is_open(expression)


@remembered
def calls_declared(node: Node) -> bool:
    """Whether a function of users is called: none is while a query is compiled."""
    is_own = isinstance(node, e.Call) and node.declared is not None
    return is_own or any(map(calls_declared, children(node)))


@remembered
def _is_open(node: Node) -> bool:
    if isinstance(node, e.Call) and node.declared is not None:
        return True
    if isinstance(node, e.Call) and node.name in SPATIAL:
        return True  # shapely is not needed to compile a query
    return isinstance(node, _OPEN) or _grows(node) or any(map(_is_open, children(node)))


def nearly(term: e.Expr) -> datetime.datetime | None:
    """The instant of a constant that depends on the session's time zone, as it would be in UTC.

    >>> for text in ("2024-03-31", "2024-03-31 00:00:00Z"):
    ...     print(nearly(e.Literal(text, t.TIMESTAMP)))
    2024-03-31 00:00:00+00:00
    None
    """
    if type_of(term) != t.TIMESTAMP or not is_zoned(term) or _is_open(term):
        return None
    with in_zone(UTC):
        found = evaluate(term, NOWHERE)
    return found if isinstance(found, datetime.datetime) else None


def _grows(node: Node) -> bool:
    return isinstance(node, e.Call) and node.name in _GROWING


def value_of(constant: e.Expr) -> object:
    """The value of a constant.

    >>> value_of(e.Binary("+", e.Literal(1, t.INT), e.Literal(1, t.INT)))
    2
    """
    return evaluate(constant, NOWHERE)


def as_literal(value: object, type: t.DataType) -> e.Literal | None:
    """The literal of a type that has this value; None if there is none, as for intervals and arrays.

    >>> print(as_literal(datetime.date(2020, 1, 31), t.DATE), as_literal([1], t.Array(t.INT)))
    DATE '2020-01-31' None
    """
    match value:
        case datetime.datetime():
            value = instant_text(value) if type == t.TIMESTAMP else timestamp_text(value)
        case datetime.date():
            value = value.isoformat()
    if value is None or isinstance(value, bool | int | float | str | bytes | decimal.Decimal):
        return e.Literal(value, type)
    return None


def folded(expression: e.Expr) -> e.Expr:
    """The expression with its largest constant parts as literals of the same type.

    >>> from pattern_examples import query
    >>> print(folded(query("A a WHERE a.x > 2 * 3 OR upper('x') = a.user").pattern.where))
    a.x > 6.0D OR 'X' = a.user
    """
    changed = _folded(expression)
    assert isinstance(changed, e.Expr)
    return changed


@remembered
def _folded(node: Node) -> Node:
    if isinstance(node, e.Literal | t.DataType):
        return node
    if isinstance(node, e.Expr) and is_constant(node):
        literal = as_literal(value_of(node), type_of(node))
        if literal is not None:
            return literal
    return map_children(node, _folded)
