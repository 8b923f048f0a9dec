"""Queries with functions of users: comparisons of several events become functions of texts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

from neelc.ir.expressions import Binary, Call, Cast, DeclaredFunction, is_many
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Pattern
from neelc.ir.program import Match
from neelc.ir.types import BOOLEAN, INT, STRING
from neelc.pattern.plan.blocks import event_names
from neelc.runtime.vector_functions import Array
from neelc.scalar.type_of import type_of

COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


def _of_texts(compare: Callable[[int, int], bool]) -> Callable[[Array, Array], list[bool]]:
    return lambda left, right: [compare(int(x), int(y)) for x, y in zip(left, right, strict=True)]


FUNCTIONS = {
    op: DeclaredFunction(f"compared_{number}", (STRING, STRING), BOOLEAN, _of_texts(compare))
    for number, (op, compare) in enumerate(COMPARED.items())
}


def with_functions(match: Match) -> Match:
    """The query with functions of texts in the place of comparisons of several events."""

    def change(node: Node) -> Node | None:
        match node:
            case Binary(op, left, right) if op in FUNCTIONS and type_of(left) == type_of(right) == INT:
                if len(event_names(node)) > 1 and not is_many(left) and not is_many(right):
                    texts = (Cast(left, STRING), Cast(right, STRING))
                    return Call(FUNCTIONS[op].name, texts, type=BOOLEAN, declared=FUNCTIONS[op])
        return None

    pattern = transform(match.pattern, change)
    assert isinstance(pattern, Pattern)
    return replace(match, pattern=pattern)
