"""What a rule for networks is: from one operator to an equal one; None when it has nothing to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from neelc.ir.algebra import Filter, Operator
from neelc.ir.conjuncts import conjoin
from neelc.ir.expr import Attribute, Expr, Variable
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children, walk
from neelc.ir.types import DOUBLE, FLOAT, DataType, Simple

NetworkRule = Callable[[Operator], "Operator | None"]

Place = tuple[str, str]
"""A variable and the bare name of an attribute."""


@dataclass(frozen=True)
class NetworkStep:
    """A rule that fired, what it changed, and the whole network after it."""

    rule: str
    before: Operator
    after: Operator
    root: Operator


def place_of(attribute: Attribute) -> Place:
    assert isinstance(attribute.event, Variable), "an attribute of a payload"
    return attribute.event.name, bare(attribute.name)


def places_in(expression: Node) -> frozenset[Place]:
    """The attributes that an expression names."""
    return frozenset(place_of(node) for node in walk(expression) if isinstance(node, Attribute))


def substituted(expression: Expr, values: Mapping[Place, Expr]) -> Expr:
    """The expression with attributes replaced by what they stand for."""

    def change(node: Node) -> Node:
        if isinstance(node, Attribute) and isinstance(node.event, Variable) and place_of(node) in values:
            return values[place_of(node)]
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def are_told_apart(type: DataType | None) -> bool:
    """Whether some functions tell values of a type apart that are one key: both zeros, all NaNs."""
    return not isinstance(type, Simple) or type in (FLOAT, DOUBLE)


def filtered(input: Operator, conditions: Iterable[Expr]) -> Operator:
    """The input under all of these conditions."""
    condition = conjoin(conditions)
    return input if condition is None else Filter(input, condition)
