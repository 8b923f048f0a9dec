"""What a rule for networks is: from one operator to an equal one; None when it has nothing to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from neelc.ir import row_patterns as r
from neelc.ir.algebra import Filter, Operator
from neelc.ir.expressions import Attribute, Expr, Variable, conjoin
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children, walk
from neelc.ir.types import DOUBLE, FLOAT, DataType, SimpleType
from neelc.rewriting import Batch
from neelc.runtime.late_dataclass import dataclass

NetworkRule = Callable[[Operator], "Operator | None"]
NetworkBatch = Batch[NetworkRule, None]

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


def has_ambiguous_keys(type: DataType | None) -> bool:
    """Whether some functions distinguish values of a type that are one key: both zeros, all NaNs."""
    return not isinstance(type, SimpleType) or type in (FLOAT, DOUBLE)


def filtered(input: Operator, conditions: Iterable[Expr]) -> Operator:
    """The input under all of these conditions."""
    condition = conjoin(conditions)
    return input if condition is None else Filter(input, condition)


# How often a symbol is in the matches of a pattern.

Often = tuple[int, int | None]
"""The least and the greatest number; None is no limit."""


def occurrences(pattern: r.RowPattern, symbol: str) -> Often:
    """How many events of a match emit the symbol.

    >>> a, b = map(r.RowVariable, "AB")
    >>> occurrences(r.RowSequence((a, r.RowRepeat(b, 1, None), a)), "A")
    (2, 2)
    >>> occurrences(r.RowSequence((a, r.RowRepeat(b, 1, None), a)), "B")
    (1, None)
    >>> occurrences(r.RowAlternation((a, r.RowSequence((a, b)))), "B")
    (0, 1)
    """
    match pattern:
        case r.RowVariable(name):
            return (1, 1) if name == symbol else (0, 0)
        case r.RowSequence(parts) | r.RowConjunction(parts):
            several = [occurrences(part, symbol) for part in parts]
            return sum(least for least, _ in several), _sum([most for _, most in several])
        case r.RowAlternation(parts):
            several = [occurrences(part, symbol) for part in parts]
            mosts = [most for _, most in several]
            limited = [most for most in mosts if most is not None]
            return min(least for least, _ in several), max(limited) if len(limited) == len(mosts) else None
        case r.RowRepeat(part, least, most):
            fewest, many = occurrences(part, symbol)
            if many == 0 or most == 0:
                return 0, 0
            return fewest * least, None if many is None or most is None else many * most
    return 0, 0


def _sum(numbers: list[int | None]) -> int | None:
    limited = [number for number in numbers if number is not None]
    return sum(limited) if len(limited) == len(numbers) else None
