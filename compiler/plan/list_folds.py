"""Aggregates over lists that the kernel computes while it puts lists together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neelc.ir.expr import Aggregate, At, Each, Expr, Index, Inner, Variable, Whole
from neelc.ir.many import lists
from neelc.ir.node import Node, map_children, walk
from neelc.ir.typeof import type_of
from neelc.ir.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, DataType
from neelc.plan.event_columns import EventColumns
from neelc.plan.list_names import CURRENT, element
from neelc.runtime.operation_names import FOLDS
from neelc.runtime.program import Fold
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context

NUMBERS: Mapping[DataType, str] = {
    TINYINT: "tinyint",
    SMALLINT: "smallint",
    INT: "int",
    BIGINT: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
}


class NotInKernel(Exception):
    """An expression that the kernel cannot compute."""


@dataclass(frozen=True)
class ListFold:
    """A fold over the list of `variable`; a `running` one is over the elements before `b[i]`."""

    variable: str
    fold: Fold
    running: bool


def has_lists(expression: Expr) -> bool:
    """Whether an expression looks into a list by more than names of its elements."""
    return any(isinstance(node, At | Each | Aggregate) for node in walk(expression))


def list_fold(node: Aggregate, columns: EventColumns) -> ListFold:
    """The fold for an aggregate; raises `NotInKernel`."""
    found = tuple(dict.fromkeys(lists(node.argument))) if node.argument is not None else ()
    is_known = node.function is not None or node.name in FOLDS
    if len(found) != 1 or node.distinct or not is_known or node.type not in _types(node):
        raise NotInKernel(str(node))
    each = found[0]
    if not isinstance(each.base, Variable) or each.upper not in (None, Index("CURRENT", -1)):
        raise NotInKernel(str(node))
    variable, running = each.base.name, each.upper is not None
    assert node.argument is not None
    if isinstance(node.argument, Whole) and node.function is None:
        return ListFold(variable, Fold(str(node), node.name, variable), running)
    argument, named = _of_one_element(node.argument, each)
    if len(named) != 1 or (node.function is None and type_of(argument) not in NUMBERS):
        raise NotInKernel(str(node))
    (name,) = named
    inner = name.removeprefix(element(variable, CURRENT))
    if node.function is not None and not _is_column(argument, name, may_be_absent=bool(inner)):
        raise NotInKernel(str(node))
    column = columns.column(argument, name).name
    fold = Fold(
        str(node), node.name, variable + inner, column, _types(node)[node.type], node.function is not None
    )
    return ListFold(variable, fold, running)


def _types(node: Aggregate) -> Mapping[DataType, str]:
    """What an aggregate can be for the kernel. Truth values are asked of users' functions only."""
    return NUMBERS if node.function is None else {**NUMBERS, BOOLEAN: "boolean"}


def _is_column(argument: Expr, name: str, may_be_absent: bool) -> bool:
    """Whether what a user's function is given is a column of events: whole events are none; and where an
    iteration has no event, the function is given NULL."""
    if any(isinstance(node, Whole) for node in walk(argument)):
        return False
    return not may_be_absent or evaluate(argument, Context({name: None})) is None


def _of_one_element(argument: Expr, each: Each) -> tuple[Expr, set[str]]:
    """The argument with the name of one element for the list, and this name."""
    assert isinstance(each.base, Variable)
    variable, names = each.base.name, set[str]()

    def change(node: Node) -> Node:
        match node:
            case Inner(base, name) if base == each:
                names.add(element(variable, CURRENT, name))
                return Variable(element(variable, CURRENT, name))
            case Each() if node == each:
                names.add(element(variable, CURRENT))
                return Variable(element(variable, CURRENT))
            case Variable(name):
                names.add(name)
        return map_children(node, change)

    changed = change(argument)
    assert isinstance(changed, Expr)
    return changed, names
