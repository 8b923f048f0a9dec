"""New names for variables, in patterns and in the conditions about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from neelc.ir.expr import Inner, Variable
from neelc.ir.node import Node, transform
from neelc.ir.pattern import Event, Exists, Repeat

N = TypeVar("N", bound=Node)


def renamed(node: N, names: Mapping[str, str]) -> N:
    """`node` with its variables renamed, where they are declared and where they are named.

    >>> from neelc.rewrite.examples import query
    >>> print(renamed(query("SEQ((A a : a.x > b.x), B b)").pattern, {"a": "a_2"}))
    SEQ((A a_2 : a_2.x > b.x), B b)
    """

    def change(part: Node) -> Node | None:
        match part:
            case Event(variable=str() as name) | Repeat(variable=str() as name) if name in names:
                return replace(part, variable=names[name])
            case Exists(variables):
                return replace(part, variables=tuple(names.get(name, name) for name in variables))
            case Variable(name) if name in names:
                return replace(part, name=names[name])
            case Inner(_, name) if name in names:
                return replace(part, name=names[name])
        return None

    changed = transform(node, change)
    assert isinstance(changed, type(node))
    return changed
