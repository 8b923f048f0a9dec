"""Parts that do not care how far their scope reaches beyond their own events."""

from __future__ import annotations

from neelc.ir import pattern as p
from neelc.ir.parts import may_be_empty


def is_closed(part: p.Pattern, at_end: bool, dropped: frozenset[str] = frozenset()) -> bool:
    """Whether all that a part asks of events at its end, or else at its start, is asked of bound ones.

    If so, whether it is satisfied does not change when its scope is cut on that side, as long as its own
    events stay inside: no negation looks there, and no event is looked for there that EXISTS drops
    (`dropped`).

    >>> from neelc.parse import pattern
    >>> [is_closed(pattern(text), True) for text in ("A a", "SEQ(A a, !B b)", "SEQ(!B b, A a)", "AND(A, !B)")]
    [True, False, True, False]
    >>> [is_closed(pattern(text), True) for text in ("EXISTS a : SEQ(A a, B b)", "EXISTS b : SEQ(A a, B b)")]
    [True, False]

    What may be absent does not hide what stands before it:

    >>> [is_closed(pattern(text), True) for text in ("SEQ(A a, B? b)", "SEQ(A a, !C c, B? b)")]
    [True, False]
    """
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable) if variable in dropped:
            return False
        case p.Event() | p.Repeat(p.Event()):
            return True
        case p.Not():
            return False
        case p.Optional(inner) | p.Repeat(inner):
            return is_closed(inner, at_end, dropped)
        case p.Exists(variables, inner):
            return is_closed(inner, at_end, dropped.union(variables))
        case p.Seq(parts):
            return _is_edge_closed(parts[::-1] if at_end else parts, at_end, dropped)
        case p.AndNeg(parts):  # its negations look between its events only
            return all(is_closed(inner, at_end, dropped) for inner in parts if not isinstance(inner, p.Not))
        case p.And(parts) | p.Or(parts):
            return all(is_closed(inner, at_end, dropped) for inner in parts)
    return False


def _is_edge_closed(parts: tuple[p.Pattern, ...], at_end: bool, dropped: frozenset[str]) -> bool:
    """The same of a SEQ whose parts are listed from that side: up to the first that is surely there."""
    for part in parts:
        if not is_closed(part, at_end, dropped):
            return False
        if not may_be_empty(part):
            return True
    return True
