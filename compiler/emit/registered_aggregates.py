"""Users' functions of lists, in RETURN and in what is judged on complete matches: a column for each of them.

Spark has no word for them. Their lists are computed as columns, handed to Python, and what comes back are
columns that expressions name. A function of what another one gives is called after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from neelc.emit.list_expressions import registered_in
from neelc.emit.literals import spark_type
from neelc.emit.relations import Call, Called, Extend, Let
from neelc.emit.scans import free
from neelc.ir.expr import Aggregate, Expr

Columns = Mapping[Aggregate, str]
"""For calls of functions: the names of their columns. No variable's column has a name with a blank."""

Values = Callable[[Aggregate, Columns], str]
"""The text of the array that a function is given."""


def called(
    source: str, expressions: Iterable[Expr], values: Values, taken: set[str], known: Columns
) -> tuple[list[Let], Columns]:
    """The relations that add what functions give to matches, which have those that are `known` already; the
    last of them is to be read instead."""
    asked = dict.fromkeys(node for expression in expressions for node in registered_in(expression))
    waiting = [node for node in asked if node not in known]
    columns = dict(known)
    lets: list[Let] = []
    while waiting:
        ready = [node for node in waiting if not any(inner in waiting for inner in _inside(node))]
        calls, items = [], []
        for number, node in enumerate(ready, len(columns) + 1):
            items.append((values(node, columns), f"list {number}"))
            calls.append(Call(node.name, f"list {number}", f"{node.name} {number}", spark_type(node.type)))
        listed, found = free("lists", taken), free("called", taken)
        lets.append(Let(listed, Extend(source, tuple(items)), "What users' functions are given."))
        lets.append(Let(found, Called(listed, tuple(calls)), "What they give."))
        columns |= {node: call.name for node, call in zip(ready, calls, strict=True)}
        waiting = [node for node in waiting if node not in columns]
        source = found
    return lets, columns


def _inside(node: Aggregate) -> Iterator[Aggregate]:
    if node.argument is not None:
        yield from registered_in(node.argument)
