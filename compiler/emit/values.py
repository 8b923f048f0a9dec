"""Values as Python source: frozen dataclasses written as the calls that make them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

WIDTH = 100


def source_of(value: object, indent: int = 0) -> str:
    """Python source for a value, what is by default left out; over several lines where it is long.

    >>> from neelc.runtime.program import Take, Bounds
    >>> print(source_of((Take("b", "B", Bounds(after=("a",))),)))
    (Take("b", "B", bounds=Bounds(after=("a",))),)
    """
    flat = _flat(value)
    if len(flat) + indent <= WIDTH or not _is_nested(value):
        return flat
    inner = " " * (indent + 4)
    pieces = [f"{inner}{name}{source_of(part, indent + 4)},\n" for name, part in _parts(value)]
    opening, closing = (f"{type(value).__name__}(", ")") if is_dataclass(value) else ("(", ")")
    return f"{opening}\n{''.join(pieces)}{' ' * indent}{closing}"


def classes_in_source(value: object) -> set[tuple[str, str]]:
    """The classes that the source of a value names, each with its module.

    >>> from neelc.runtime.program import Column
    >>> classes_in_source((Column("a", "x"), Column("b", "x")))
    {('neelc.runtime.program', 'Column')}
    """
    if isinstance(value, tuple):
        return {found for item in value for found in classes_in_source(item)}
    if not is_dataclass(value):
        return set()
    own = (type(value).__module__, type(value).__name__)
    return {own} | {found for _, part in _parts(value) for found in classes_in_source(part)}


def _is_nested(value: object) -> bool:
    return is_dataclass(value) or (isinstance(value, tuple) and bool(value))


def _flat(value: object) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(_flat(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if is_dataclass(value):
        return f"{type(value).__name__}({', '.join(name + _flat(part) for name, part in _parts(value))})"
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f'float("{value}")'
    if isinstance(value, str) and '"' not in value and "'" not in value:
        return f'"{repr(value)[1:-1]}"'
    return repr(value)


def _parts(value: Any) -> Iterator[tuple[str, object]]:
    """What stands between the parentheses: the first fields by place, the others by name."""
    if isinstance(value, tuple):
        yield from (("", item) for item in value)
        return
    by_place = True
    for slot in fields(value):
        part = getattr(value, slot.name)
        if _is_default(slot, part):
            by_place = False
            continue
        by_place = by_place and slot.default is MISSING and slot.default_factory is MISSING
        yield "" if by_place else f"{slot.name}=", part


def _is_default(slot: Field[Any], value: object) -> bool:
    if slot.default_factory is not MISSING:
        return bool(value == slot.default_factory())
    return slot.default is not MISSING and type(value) is type(slot.default) and bool(value == slot.default)
