"""The rule `drop_impossible_part`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import patterns as p
from neelc.pattern.analysis.absent import impossible, is_impossible
from neelc.pattern.analysis.regions import QueryFacts


def drop_impossible_part(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """What needs an impossible part is impossible, and what must not have one goes.

    A list needs all its positive parts, an OR one of its branches, an EXISTS its body, and a repetition its
    body unless it may be empty. A negation of what cannot be says nothing. At the root, the condition FALSE
    is the empty plan.

    >>> from pattern_examples import after
    >>> print(after(drop_impossible_part, "SEQ(A a, AND((B b : FALSE), C c))"))
    SEQ(A a, AND((B b : FALSE), C c WHERE FALSE) WHERE FALSE)
    >>> print(after(drop_impossible_part, "SEQ(A a, !(B b : FALSE), C c)"))
    SEQ(A a, C c)
    >>> print(after(drop_impossible_part, "SEQ(A a, SEQ(B b, (C c : FALSE))+ k[])"))
    SEQ(A a, (SEQ(B b, (C c : FALSE) WHERE FALSE)+ k[] : FALSE) WHERE FALSE)

    An optional part may be absent, and a repetition may be empty:

    >>> after(drop_impossible_part, "SEQ(A a, (B b : FALSE)?, SEQ((C c : FALSE), D d WHERE FALSE)* k[])")

    A branch of an OR, or an optional part, takes its variables with it when it goes: that is
    `drop_impossible_choice`.

    >>> after(drop_impossible_part, "OR(A a, (B b : FALSE))")
    """
    match part:
        case p.Joint(parts):
            if any(map(_is_missing, parts)):
                return impossible(part, facts)
            kept = tuple(inner for inner in parts if not _is_idle(inner))
            return replace(part, parts=kept) if len(kept) < len(parts) else None
        case p.Or(parts) if all(map(_is_missing, parts)):
            return impossible(part, facts)
        case p.Exists(_, inner) if _is_missing(inner):
            return impossible(part, facts)
        case p.Repeat(inner, least) if least > 0 and _is_missing(inner):
            return impossible(part, facts)
    return None


def _is_missing(part: p.Pattern) -> bool:
    """Whether a part that must be satisfied cannot be. `!!q` requires q."""
    match part:
        case p.Not(p.Not(inner)):
            return _is_never(inner)
    return is_impossible(part) and not isinstance(part, p.Optional)


def _is_idle(part: p.Pattern) -> bool:
    """Whether a part is a negation that rejects nothing."""
    return isinstance(part, p.Not) and _is_never(part.part)


def _is_never(part: p.Pattern) -> bool:
    """Whether no event can satisfy a part; a part that is absent binds none."""
    return is_impossible(part) or (isinstance(part, p.Optional) and _is_never(part.part))
