"""Conditions about variables that are NULL: those of an OR branch that was not taken."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import At, Attribute, Each, EventTime, Literal, Whole
from neelc.ir.node import Node, transform, walk
from neelc.ir.pattern import Pattern

P = TypeVar("P", bound=Pattern)


def without(part: P, names: Collection[str]) -> P | None:
    """`part` where these variables, none of which it declares, are NULL in all of its conditions.

    None when a condition speaks of their lists: `count(b[])` and `b[i]` are not NULL where there is no list.

    >>> from neelc.rewrite.examples import query
    >>> branch = query("OR((A a : b.x IS NULL OR b.x > a.x), B b)").pattern.parts[0]
    >>> print(without(branch, ["b"]))
    (A a : NULL IS NULL OR NULL > a.x)
    >>> without(query("OR((A a : count(b[]) = 0), B+ b[])").pattern.parts[0], ["b"])
    """

    def change(node: Node) -> Node | None:
        match node:
            case Attribute(event, type=kind) | EventTime(event, type=kind) | Whole(event, type=kind):
                if names_in(event).intersection(names) and not any(map(_ranges, walk(event))):
                    return Literal(None, kind)
        return None

    if not any(names_in(node.where).intersection(names) for node in walk(part) if isinstance(node, Pattern)):
        return part
    changed = transform(part, change)
    return changed if isinstance(changed, type(part)) and not names_in(changed).intersection(names) else None


def _ranges(node: Node) -> bool:
    return isinstance(node, Each) or (isinstance(node, At) and node.index.anchor == "CURRENT")
