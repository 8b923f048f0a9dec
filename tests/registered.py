"""Queries whose aggregates over lists are a user's functions: of the order of values, and of NULLs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from generate.following import POINTS, Known, condition, random_tables, sequence
from generate.repeated import ANY, MOST_EVENTS
from generate.witnesses import Tables, tables
from pattern_examples import query

from neelc.errors import NeelError
from neelc.ir.expressions import Aggregate, Expr, is_many
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Pattern
from neelc.ir.program import Match
from neelc.ir.types import BIGINT, DOUBLE, INT, DataType


def winding(values: Sequence[Any]) -> int:
    """Of whole numbers: a small one that depends on their order and on NULLs, to hold often."""
    assert values, "it is not called for an empty list"
    return sum((3 if value is None else int(value)) * (place + 1) for place, value in enumerate(values)) % 3


def mixing(values: Sequence[Any]) -> float | None:
    """Of numbers, now and then NULL."""
    return None if list(values) == [0.5] else float(winding(values))


FUNCTIONS: dict[DataType, Any] = {INT: winding, BIGINT: winding, DOUBLE: mixing}


def with_functions(match: Match) -> Match:
    """The query with functions in the place of neelc's aggregates over lists, where their types allow it."""

    def change(node: Node) -> Node | None:
        match node:
            case Aggregate(name, Expr() as argument, type) if is_many(argument) and name != "count":
                if type in FUNCTIONS:
                    named = f"{name}_{str(type).lower()}"
                    return Aggregate(named, argument, type, function=FUNCTIONS[type], span=node.span)
        return None

    pattern = transform(match.pattern, change)
    assert isinstance(pattern, Pattern)
    return replace(match, pattern=pattern)


FUNCTIONS_OF_USERS = ("max", "last", "avg", "sum")
"""Aggregates of neelc's, in whose place users' functions stand."""


def sample(
    number: int, strategy: str, streams: int = 4, functions: Sequence[str] = FUNCTIONS_OF_USERS
) -> tuple[Match, list[Tables]] | None:
    """The query with this number, with a condition on what a function says of a list, and streams."""
    chance = Random(f"{strategy} {number}")
    pattern, known = sequence(chance, "")
    lists = [one for one in known if one.is_list]
    if not lists:
        return None
    where = [
        _condition(chance, chance.choice(lists), known, functions),
        *(["[id]"] if chance.random() < 0.3 else []),
    ]
    if chance.random() < 0.3:
        where.append(condition(chance, known))
    partition = " PARTITION BY id" if strategy == "PARTITION CONTIGUITY" else ""
    window = f" WITHIN {chance.choice((6, 9, 14))}"
    try:
        found = query(f"{pattern} WHERE {' AND '.join(where)}{partition}{window} USING {strategy}", POINTS)
    except NeelError:
        return None
    asked = with_functions(found) if functions is FUNCTIONS_OF_USERS else found
    return asked, [_stream(chance, found, strategy) for _ in range(streams)]


def _condition(chance: Random, one: Known, known: Sequence[Known], functions: Sequence[str]) -> str:
    inner = f".{chance.choice(one.inner)}" if one.inner else ""
    function, column = chance.choice(functions), chance.choice("xxy")
    compared = chance.choice(("<", "<=", ">=", "=", "<>"))
    if chance.random() < 0.4:
        return f"{function}({one.name}[..i-1]{inner}.{column}) {compared} {one.name}[i]{inner}.x"
    singles = [f"{other.name}.x" for other in known if not other.is_list]
    return f"{function}({one.name}[]{inner}.{column}) {compared} {chance.choice(['1', *singles])}"


def _stream(chance: Random, match: Match, strategy: str) -> Tables:
    if chance.random() < 0.8:
        rows = tables(chance, match.pattern, False)["S"]
    else:
        rows = random_tables(chance, False)["S"]
    most = MOST_EVENTS if strategy == ANY else len(rows)
    return {"S": [{**row, "y": chance.choice((0.5, 1.0, -0.0, 2.25, None))} for row in rows[:most]]}
