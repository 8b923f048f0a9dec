"""How components and gaps are written: by their types, as the papers do, where no condition is lost."""

from __future__ import annotations

from neelc.ir import pattern as p
from neelc.rewrite.names import renamed


def component_text(part: p.Pattern) -> str:
    """
    >>> from neelc.rewrite.examples import query
    >>> [component_text(part) for part in query("SEQ(A a, (B b : b.x > 1))").pattern.parts]
    ['A', '(B b : b.x > 1)']
    """
    return part.type if isinstance(part, p.Event) and part.where is None else str(part)


def gap_text(part: p.Pattern) -> str:
    """`!B`, or `(!B, C latest)` for a C with no other C after it and no B before it.

    >>> from neelc.rewrite.examples import query
    >>> gap_text(query("SEQ(A a, EXISTS c : SEQ(!B b, C c, !C c_2), D d)").pattern.parts[1])
    '(!B, C latest)'
    >>> gap_text(query("SEQ(A a, !(B b : b.x > a.x), D d)").pattern.parts[1])
    '!(B b : b.x > a.x)'
    """
    match part:
        case p.Not(inner):
            return f"!{component_text(inner)}"
        case p.Exists(_, p.Seq(parts, where=None, within=None), where=None, within=None):
            return f"({', '.join(_words(parts))})"
    return str(part)


def _words(parts: tuple[p.Pattern, ...]) -> list[str]:
    words: list[str] = []
    for place, part in enumerate(parts):
        if place and _is_another(part, parts[place - 1]):
            words[-1] += " latest"
        else:
            words.append(gap_text(part) if isinstance(part, p.Not | p.Exists) else component_text(part))
    return words


def _is_another(part: p.Pattern, before: p.Pattern) -> bool:
    """Whether `part` asks that there is no further event like the one before it."""
    match part, before:
        case p.Not(p.Event(variable=str() as second) as other), p.Event(variable=str() as first):
            return renamed(other, {second: first}) == before
    return False
