"""Aggregates: over the elements of lists, `sum(b[].price)`, or over all matches, `count(*)`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from neelc.bind.checking import Report, Typed, wrong
from neelc.bind.functions import aggregated
from neelc.bind.signatures import AGGREGATE_SIGNATURES
from neelc.ir.expr import Aggregate, Call, Each, Expr, Star
from neelc.ir.many import is_many, lists
from neelc.ir.node import walk
from neelc.ir.types import BIGINT, YEAR_INTERVAL

# Aggregates that mean something only where the elements have an order.
NEED_ORDER = ("first", "last")


def aggregate(
    node: Expr, name: str, arguments: tuple[Expr, ...], distinct: bool, report: Report, inside: bool,
    typed: Callable[[Expr, Report], Typed],
) -> Typed:  # fmt: skip
    """A call of an aggregate, as an `Aggregate`; `inside` says that it is part of another's argument."""
    if isinstance(node, Aggregate | Call) and node.function is not None:
        return _registered(node, arguments, report, typed)
    name = name.lower()
    if name == "count" and (not arguments or isinstance(arguments[0], Star)) and len(arguments) < 2:
        if distinct:
            message = "DISTINCT is for aggregates of values; `count` of all has none"
            report("NEEL2109", message, node.span, "name an attribute: count(DISTINCT a.x)")
            return wrong(node)
        if _stands_alone(name, (), inside, node, report):
            return Aggregate(name, None, BIGINT, span=node.span), BIGINT
        return wrong(node)
    if distinct and name in NEED_ORDER:
        message = f"DISTINCT is for aggregates of values; `{name}` takes one element"
        report("NEEL2109", message, node.span, "leave it out")
        return wrong(node)
    if len(arguments) != 1:
        form = f"its form is {AGGREGATE_SIGNATURES[name].text}"
        report("NEEL2105", f"`{name}` takes 1 argument, not {len(arguments)}", node.span, form)
        return wrong(node)
    found = tuple(dict.fromkeys(lists(arguments[0])))
    argument = typed(arguments[0], report)
    if not (_stands_alone(name, found, inside, node, report) and _is_one_list(found, node, report)):
        return wrong(node)
    return aggregated(name, argument, node, distinct, report)


def _registered(
    node: Aggregate | Call,
    arguments: tuple[Expr, ...],
    report: Report,
    typed: Callable[[Expr, Report], Typed],
) -> Typed:
    """A call of an aggregate that a user has registered. Nobody knows what it takes: any value, but those
    that Python has no word for."""
    form = f"its form is {node.name}(b[].x)"
    if len(arguments) != 1:
        report("NEEL2105", f"`{node.name}` takes 1 argument, not {len(arguments)}", node.span, form)
        return wrong(node)
    if node.distinct:
        report("NEEL2109", f"DISTINCT is for neelc's own aggregates; `{node.name}` is none", node.span, None)
        return wrong(node)
    found = tuple(dict.fromkeys(lists(arguments[0])))
    argument, type = typed(arguments[0], report)
    if not _is_one_list(found, node, report):
        return wrong(node)
    if any(part == YEAR_INTERVAL for part in walk(type)):
        message = f"the argument of `{node.name}` must be a value that Python has, not {YEAR_INTERVAL}"
        report("NEEL2106", message, argument.span or node.span, None)
        return wrong(node)
    assert node.type is not None
    made = Aggregate(node.name, argument, node.type, function=node.function, span=node.span)
    return made, node.type


def _stands_alone(name: str, found: tuple[Each, ...], inside: bool, node: Expr, report: Report) -> bool:
    if not found and inside:
        report(
            "NEEL2109", f"`{name}` over all matches cannot stand inside another aggregate", node.span, None
        )
        return False
    if not found and name in NEED_ORDER:
        message = f"matches have no order, so there is no {name} of them"
        report("NEEL2109", message, node.span, f"min and max need no order; of a list: {name}(b[].x)")
        return False
    return True


def _is_one_list(found: tuple[Each, ...], node: Expr, report: Report) -> bool:
    """Whether the lists are one inside the other: `k[].c[]` ranges over `k[]` and, in each, over `c[]`."""
    for outer, inner in pairwise(found):
        if outer not in set(walk(inner.base)):
            message = f"an aggregate ranges over one list, but this one names {outer} and {inner}"
            report("NEEL2109", message, node.span, None)
            return False
    return True


def is_over_matches(aggregate: Aggregate) -> bool:
    """Whether an aggregate ranges over all matches, not over the elements of one."""
    return aggregate.argument is None or not is_many(aggregate.argument)
