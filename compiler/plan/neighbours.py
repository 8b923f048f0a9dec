"""How the neighbours of a part are called: what a negation says it lies between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neelc.ir import pattern as p
from neelc.ir.parts import inner_parts, may_be_empty, targets


def before(parts: Sequence[p.Pattern], outside: str | None) -> str | None:
    """What ends last before a part that follows `parts`; `outside` is what lies before all of them.

    >>> from neelc.parse import pattern
    >>> before([pattern("A a"), pattern("SEQ(B b, C+ c[])"), pattern("!D d")], None)
    'the last c[]'
    >>> before([pattern("A a"), pattern("B? b")], None)
    'a (or b, if there is one)'
    """
    return _nearest(reversed(parts), "last", outside)


def after(parts: Sequence[p.Pattern], outside: str | None) -> str | None:
    """What starts first after a part that `parts` follow.

    >>> from neelc.parse import pattern
    >>> after([pattern("AND(A a, B b)"), pattern("C c")], None)
    'the first of a and b'
    """
    return _nearest(iter(parts), "first", outside)


def _nearest(parts: Iterator[p.Pattern], side: str, outside: str | None) -> str | None:
    optional: list[str] = []
    for part in parts:
        if name := _name(part, side):
            if not may_be_empty(part):
                return _with_optional(name, optional)
            optional.append(name)
    return _with_optional(outside, optional) if outside or optional else None


def _with_optional(name: str | None, optional: Sequence[str]) -> str:
    if not optional:
        return name or ""
    others = f"{' or '.join(optional)}, if there is one"
    return f"{name} (or {others})" if name else others


def _name(part: p.Pattern, side: str, dropped: frozenset[str] = frozenset()) -> str | None:
    """The event of a part that is the first, or the last; None if it binds none."""
    match part:
        case p.Not():
            return None
        case p.Event(variable=variable):
            return None if variable in dropped else variable
        case p.Repeat(variable=variable):
            return None if variable in dropped else f"the {side} {variable}[]"
        case p.Exists(variables, inner):
            return _name(inner, side, dropped | set(variables))
        case p.Seq(parts):
            ordered = parts if side == "first" else tuple(reversed(parts))
            return next((name for inner in ordered if (name := _name(inner, side, dropped))), None)
        case p.Or(parts):
            return " or ".join(name for inner in parts if (name := _name(inner, side, dropped))) or None
        case p.And() | p.AndNeg():
            names = [name for name in targets(part) if name not in dropped]
            return f"the {side} of {listed(names)}" if len(names) > 1 else names[0] if names else None
    return next((_name(inner, side, dropped) for inner in inner_parts(part)), None)


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def where(left: str | None, right: str | None) -> str:
    """Where something lies that has these neighbours.

    >>> where("a", "b"), where(None, "b"), where("a", None)
    ('between a and b', 'before b, as far as the window reaches', 'after a, as far as the window reaches')
    """
    reach = "as far as the window reaches"
    match left, right:
        case None, None:
            return "in the same window"
        case None, _:
            return f"before {right}, {reach}"
        case _, None:
            return f"after {left}, {reach}"
    return f"between {left} and {right}"
