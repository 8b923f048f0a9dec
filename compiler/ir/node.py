"""What every tree of the compiler is made of, and the one place that walks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from neelc.source import Span

N = TypeVar("N", bound="Node")


@dataclass(frozen=True)
class Node:
    """An immutable value. Children are nodes in fields, or in tuples of nodes; equality ignores the span."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        from neelc.ir.show import show  # the printer knows every node, so it is imported last

        return show(self)


_SLOTS: dict[type[Node], tuple[str, ...]] = {}


def _slots(node: Node) -> tuple[str, ...]:
    """The fields that can hold children. Kept for each kind: walking trees asks for little else."""
    kind = type(node)
    if kind not in _SLOTS:
        _SLOTS[kind] = tuple(slot.name for slot in fields(kind) if slot.name != "span")
    return _SLOTS[kind]


def children(node: Node) -> Iterator[Node]:
    """The direct children of `node`, in the order of its fields."""
    for slot in _slots(node):
        value = getattr(node, slot)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Node))


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it, parents first.

    >>> from neelc.ir.pattern import Event, Seq
    >>> [type(n).__name__ for n in walk(Seq((Event("A"), Event("B"))))]
    ['Seq', 'Event', 'Event']
    """
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def map_children(node: N, change: Callable[[Node], Node]) -> N:
    """`node` with `change` applied to each child; the same object when no child changed."""
    changed: dict[str, Any] = {}
    for slot in _slots(node):
        value = getattr(node, slot)
        if isinstance(value, Node):
            new: Any = change(value)
        elif isinstance(value, tuple) and any(isinstance(item, Node) for item in value):
            new = tuple(change(item) if isinstance(item, Node) else item for item in value)
            if all(a is b for a, b in zip(new, value, strict=True)):
                continue
        else:
            continue
        if new is not value:
            changed[slot] = new
    return replace(node, **changed) if changed else node


def transform(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """Apply `change` bottom-up; `None` keeps a node. An unchanged tree comes back as the same object."""
    with_children = map_children(node, lambda child: transform(child, change))
    changed = change(with_children)
    return with_children if changed is None else changed
