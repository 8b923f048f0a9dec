"""RETURN of a query whose matches are counted: its aggregates as tallies, the rest as what to group by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Aggregate, At, Binary, Cast, Each, Expr, Index, MatchProperty, Variable
from neelc.ir.logical import Match
from neelc.ir.many import is_many
from neelc.ir.node import Node, children, map_children, walk
from neelc.ir.parts import targets
from neelc.ir.typeof import type_of
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    SUMMAND,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    WIDE,
    DataType,
    Decimal,
)  # fmt: skip
from neelc.plan.aggregate_stages import NoChain, Sequence, Stage
from neelc.plan.event_columns import EventColumns
from neelc.plan.kernel_outputs import struct_names
from neelc.plan.list_folds import NUMBERS, NotInKernel, list_fold
from neelc.plan.list_names import CURRENT, element
from neelc.rewrite.keys import Key
from neelc.runtime.kernels.counting_chain import AVERAGE, COUNT, FIRST, LAST, MAX, MIN, SUM, Tally
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context
from neelc.runtime.reference.results import is_over_matches

FUNCTIONS = {"count": COUNT, "sum": SUM, "avg": AVERAGE, "mean": AVERAGE, "min": MIN, "max": MAX}
OF_LISTS = {
    (SUM, "count"), (AVERAGE, "count"), (COUNT, "count"),
    (SUM, "sum"), (AVERAGE, "sum"), (COUNT, "sum"),
    (MIN, "min"), (MAX, "max"), (COUNT, "min"), (COUNT, "max"), (MIN, "count"), (MAX, "count"),
}  # fmt: skip
"""What can be asked over all matches of what is asked of each list."""
COMPARED = (STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN)


@dataclass(frozen=True)
class Tallied:
    """An aggregate of RETURN, and the tally for it; `type` is that of the values of an extreme."""

    node: Expr
    tally: Tally
    type: DataType


def grouping(query: Match, found: Sequence, keys: tuple[Key, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that results are grouped by: those that must be pinned, and those of which only a key
    is asked, which all events have in common; raises `NoChain`."""
    pins, keyed = set[str](), set[str]()
    terms = {term for key in keys for _, term in key.terms}
    for output in query.outputs:
        if is_over_matches(output.expression):
            continue
        _refuse_group(output.expression, found)
        (keyed if output.expression in terms else pins).update(names_in(output.expression))
    return frozenset(pins), frozenset(keyed - pins)


def _refuse_group(expression: Expr, found: Sequence) -> None:
    names = names_in(expression)
    singles = {stage.variable for stage in found.stages if not stage.listed and stage.least == 1}
    special = any(isinstance(node, At | Each | MatchProperty | Aggregate) for node in walk(expression))
    if special or not names or not names <= singles:
        raise NoChain(f"grouping by `{expression}`")


def tallies(query: Match, found: Sequence, columns: EventColumns) -> tuple[Tallied, ...]:
    """The aggregates of RETURN, each once; raises `NoChain`."""
    over = [output.expression for output in query.outputs if is_over_matches(output.expression)]
    nodes = dict.fromkeys(node for expression in over for node in _aggregates(expression))
    if any(_looks_elsewhere(expression) for expression in over):
        raise NoChain("an aggregate beside other values of a match")
    names = {name.casefold() for name in struct_names(targets(query.pattern)).values()}
    prefix = next(
        name
        for name in ("total", "total_of_matches", *(f"total_{n}" for n in range(99)))
        if not any(taken.startswith(f"{name}_") for taken in names)
    )
    stages = {stage.variable: stage for stage in found.stages}
    made = []
    for number, node in enumerate(nodes, 1):
        try:
            made.append(_tallied(node, f"{prefix}_{number}", stages, columns))
        except NotInKernel:
            raise NoChain(f"`{node}`") from None
    return tuple(made)


def _looks_elsewhere(node: Node) -> bool:
    """Whether an expression looks at a match outside of aggregates over all of them."""
    if isinstance(node, Aggregate) and (node.argument is None or not is_many(node.argument)):
        return False
    return isinstance(node, Variable | MatchProperty) or any(map(_looks_elsewhere, children(node)))


def _aggregates(node: Node) -> Iterator[Expr]:
    """Aggregates over all matches; a count that is WIDE with its cast."""
    whole = node.operand if isinstance(node, Cast) and node.implicit and node.type == WIDE else node
    if isinstance(whole, Aggregate) and (whole.argument is None or not is_many(whole.argument)):
        assert isinstance(node, Expr)
        yield node
    else:
        for child in children(node):
            yield from _aggregates(child)


def _tallied(whole: Expr, name: str, stages: dict[str, Stage], columns: EventColumns) -> Tallied:
    node = whole.operand if isinstance(whole, Cast) else whole
    assert isinstance(node, Aggregate)
    function = FUNCTIONS.get(node.name)
    if function is None or node.distinct:
        raise NotInKernel(str(node))
    wide, argument = type_of(whole) == WIDE, node.argument
    if function == SUM and wide:
        if not (isinstance(argument, Cast) and argument.implicit and argument.type == SUMMAND):
            raise NotInKernel(str(node))
        argument = argument.operand
    elif function in (SUM, AVERAGE) and node.type not in (BIGINT, DOUBLE):
        raise NotInKernel(str(node))
    if argument is None:
        return Tallied(whole, Tally(name, COUNT, wide=wide), BIGINT)
    inner = argument
    while isinstance(inner, Cast) and inner.implicit and function in (SUM, AVERAGE):
        inner = inner.operand
    if isinstance(inner, Aggregate):
        found = _of_list(node, inner, function, name, stages, columns)
    else:
        found = _of_event(node, argument, function, name, stages, columns)
    return replace(found, node=whole, tally=replace(found.tally, wide=wide))


def _of_list(
    node: Aggregate,
    inner: Aggregate,
    function: str,
    name: str,
    stages: dict[str, Stage],
    columns: EventColumns,
) -> Tallied:
    found = list_fold(inner, columns)
    if (function, inner.name) not in OF_LISTS or found.running or found.variable not in stages:
        raise NotInKernel(str(node))
    counts = inner.name == "count"
    tally = Tally(name, function, found.variable, found.fold.column, counts, listed=True)
    return Tallied(node, tally, inner.type or BIGINT)


def _of_event(
    node: Aggregate, argument: Expr, function: str, name: str, stages: dict[str, Stage], columns: EventColumns
) -> Tallied:
    argument, picks = _picked(argument)
    names, kind = names_in(argument), type_of(argument)
    if len(names) != 1 or any(isinstance(one, At | Each | MatchProperty) for one in walk(argument)):
        raise NotInKernel(str(node))
    (event,) = names
    variable = event if picks is None else event.removesuffix(f"[{CURRENT}]")
    stage = stages.get(variable)
    if stage is None or stage.listed is (picks is None):
        raise NotInKernel(str(node))
    if stage.least == 0 and evaluate(argument, Context({event: None})) is not None:
        raise NotInKernel(str(node))
    if kind not in NUMBERS:
        if function != COUNT or not (kind in COMPARED or isinstance(kind, Decimal)):
            raise NotInKernel(str(node))
        argument = Binary("=", argument, argument)  # NULL where the argument is, and a truth value elsewhere
    column = columns.column(argument, event).name
    return Tallied(node, Tally(name, function, variable, column, picks=picks), kind)


def _picked(argument: Expr) -> tuple[Expr, str | None]:
    """An argument about the first event of a list, or its last one, as one about any of its events; and which
    it is. None if it is about no list, or about more than one event of it."""
    found = {node for node in walk(argument) if isinstance(node, At)}
    if len(found) != 1:
        return argument, None
    (at,) = found
    picks = {Index("FIRST", 0): FIRST, Index("LAST", 0): LAST}.get(at.index)
    if picks is None or not isinstance(at.base, Variable):
        return argument, None
    event = Variable(element(at.base.name, CURRENT))

    def change(node: Node) -> Node:
        return event if node == at else map_children(node, change)

    changed = change(argument)
    assert isinstance(changed, Expr)
    return changed, picks
