"""What RETURN, and conditions on complete matches, need that Spark's functions of lists cannot compute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from neelc.ir.expressions import (
    Aggregate,
    Attribute,
    EventTime,
    Expr,
    Index,
    IsNull,
    WholeEvent,
    element,
    is_array_of_path,
    is_many,
    lists,
)
from neelc.ir.names import bare
from neelc.ir.node import Node, children, walk
from neelc.ir.program import Match
from neelc.ir.types import Array, DataType, Decimal, Map, Struct
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import closures_of
from neelc.pattern.plan.lists import variable_of
from neelc.scalar.type_of import type_of

NARROW = 17
"""An average of DECIMALs of so many digits is one quotient, exact enough to be rounded."""
MOST_PLACES = 18
"""An average of DECIMALs of more digits, with more places, cannot be rounded in the right place."""

NESTED = "a closure inside a closure"

Bodies = Mapping[str, tuple[str, ...]]


def refuse_results(query: Match, expressions: Iterable[Expr]) -> None:
    """Raise `UnsupportedQuery` for the first thing that cannot be computed of a match.

    >>> from neelc.pattern.rules.examples import query
    >>> match = query("SEQ(A a, SEQ(B b, C+ c[])+ k[]) RETURN max(k[].c[].x)")
    >>> refuse_results(match, [output.expression for output in match.outputs])
    Traceback (most recent call last):
    neelc.pattern.plan.blocks.UnsupportedQuery: a closure inside a closure
    """
    bodies = closures_of(query.pattern)
    for reason in (reason for one in expressions for reason in _reasons(one, bodies)):
        raise UnsupportedQuery(reason)


def _reasons(node: Node, bodies: Bodies) -> Iterator[str]:
    match node:
        case Expr() if is_array_of_path(node):
            yield from _of_array(node, bodies)
        case Attribute() | EventTime() | IsNull(WholeEvent()):
            return
        case WholeEvent(event, Struct() as type):
            yield from _of_whole(variable_of(event), type, bodies)
        case Aggregate(argument=Expr() as argument) if node.function is not None:
            if any(isinstance(inner, Index) and inner.anchor == "CURRENT" for inner in walk(node)):
                yield f"`{node}` in a condition that is judged on complete matches"
            else:
                yield from _of_array(argument, bodies)
        case Aggregate(argument=Expr() as argument) if is_many(argument):
            is_counted = node.name == "count" and not node.distinct and isinstance(argument, WholeEvent)
            yield from () if is_counted else _of_array(argument, bodies)
            yield from _of_aggregate(node, type_of(argument, inside_aggregate=True))
        case _:
            for child in children(node):
                yield from _reasons(child, bodies)


def _of_array(expression: Expr, bodies: Bodies) -> Iterator[str]:
    """What the expression is for each element of the list that it ranges over."""
    each = next(lists(expression), None)
    if each is None:
        yield from _reasons(expression, bodies)
        return
    one = element(expression, each, 0)
    if is_many(one):
        yield NESTED
    else:
        yield from _reasons(one, bodies)


def _of_whole(variable: str, type: Struct, bodies: Bodies) -> Iterator[str]:
    """One event with all its attributes, or an iteration with all its variables."""
    body = bodies.get(variable)
    for part in type.fields if body is not None else ():
        if isinstance(part.type, Array):
            yield NESTED
        elif isinstance(part.type, Struct):
            inner = next((name for name in body or () if bare(name) == bare(part.name)), None)
            yield from () if inner is None else _of_whole(inner, part.type, bodies)


def _of_aggregate(node: Aggregate, type: DataType) -> Iterator[str]:
    if (node.distinct or node.name == "collect_set") and any(isinstance(part, Map) for part in walk(type)):
        yield "DISTINCT values of a list that hold a MAP"
    is_wide = isinstance(type, Decimal) and type.precision > NARROW and type.scale > MOST_PLACES
    if node.name in ("avg", "mean") and is_wide:
        yield f"the average of a list of DECIMALs with more than {MOST_PLACES} places"
