"""The least that a part binds: how many events, and how many one after the other."""

from __future__ import annotations

from neelc.ir import pattern as p

NOTHING: frozenset[str] = frozenset()


def least_events(part: p.Pattern, dropped: frozenset[str] = NOTHING) -> int:
    """How many events a part binds at least. Those of `dropped` variables do not count.

    >>> from neelc.parse import pattern
    >>> texts = ("SEQ(A a, !B b, C c)", "AND(A a, OR(B b, SEQ(C c, D d)), E? e)", "SEQ(A a, B b){2} k[]")
    >>> [least_events(pattern(text)) for text in texts]
    [2, 2, 4]
    >>> least_events(pattern("EXISTS b : SEQ(A a, B b)"))
    1
    """
    return _least(part, dropped, sequence=False)


def least_sequence(part: p.Pattern, dropped: frozenset[str] = NOTHING) -> int:
    """How many events that follow each other a part binds at least. The parts of an AND may be simultaneous.

    >>> from neelc.parse import pattern
    >>> [least_sequence(pattern(text)) for text in ("SEQ(A a, AND(B b, C c), D d)", "AND(A a, B b)")]
    [3, 1]
    """
    return _least(part, dropped, sequence=True)


def _least(part: p.Pattern, dropped: frozenset[str], sequence: bool) -> int:
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable) if variable in dropped:
            return 0
        case p.Event():
            return 1
        case p.Repeat(inner, least):
            return least * max(1, _least(inner, dropped, sequence))  # each iteration binds an event
        case p.Exists(variables, inner):
            return _least(inner, dropped.union(variables), sequence)
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts):
            counts = [_least(inner, dropped, sequence) for inner in parts]
            return max(counts) if sequence and not isinstance(part, p.Seq) else sum(counts)
        case p.Or(parts):
            return min(_least(inner, dropped, sequence) for inner in parts)
    return 0
