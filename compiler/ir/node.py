"""What every tree of the compiler is made of, and the one place that walks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

N = TypeVar("N", bound="Node")
V = TypeVar("V")
A = TypeVar("A")
P = ParamSpec("P")


@dataclass(frozen=True)
class Node:
    """An immutable value. Children are nodes in fields, or in tuples of nodes; equality ignores the span."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        # A method of the class itself, so that `dataclass` does not put its own in its place.
        cls.__hash__ = Node.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        """The hash of a tree is asked for over and over, and takes a walk over all of it: it is kept."""
        kept: int | None = self.__dict__.get("_hash")
        if kept is None:
            kept = hash((type(self), *(getattr(self, slot) for slot in _compared(type(self)))))
            self.__dict__["_hash"] = kept
        return kept

    def __getstate__(self) -> dict[str, object]:
        """Without the hash: in another process it is another."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def __str__(self) -> str:
        from neelc.syntax.printer import show

        return show(self)


_SLOTS: dict[type[Node], tuple[str, ...]] = {}


def _slots(node: Node) -> tuple[str, ...]:
    """The fields that can hold children. Kept for each kind: walking trees asks for little else."""
    kind = type(node)
    if kind not in _SLOTS:
        _SLOTS[kind] = tuple(slot.name for slot in fields(kind) if slot.name != "span")
    return _SLOTS[kind]


_COMPARED: dict[type[Node], tuple[str, ...]] = {}


def _compared(kind: type[Node]) -> tuple[str, ...]:
    """The fields that tell nodes apart."""
    if kind not in _COMPARED:
        _COMPARED[kind] = tuple(slot.name for slot in fields(kind) if slot.compare)
    return _COMPARED[kind]


def remembered(question: Callable[Concatenate[V, P], A]) -> Callable[Concatenate[V, P], A]:
    """A question about a value that is answered once for the same further arguments: nodes and plans do not
    change, and keep the answer."""
    name = f"{question.__module__}.{question.__qualname__}"

    @wraps(question)
    def answer(value: V, /, *args: P.args, **named: P.kwargs) -> A:
        kept: dict[object, A] = value.__dict__.setdefault(name, {})
        key = (args, *named.items())
        if key not in kept:
            kept[key] = question(value, *args, **named)
        return kept[key]

    return answer


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

    >>> from neelc.ir.patterns import Event, Seq
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
