"""The normal forms of NEEL (definitions 5 to 7), and which of them a pattern is in."""

from __future__ import annotations

from neelc.ir import patterns as p


def normal_form(pattern: p.Pattern) -> str | None:
    """The normal form a pattern is in: DNF, CNF or nested AND/SEQ; None when it is in none of them.

    DNF (definition 5): an OR of sequences of events and negated events, or one such sequence. Each may have
    a Proj before it, which is EXISTS. A single event is a sequence of one.

    >>> from neelc.syntax import pattern as read
    >>> normal_form(read("OR(SEQ(A a, !C c, D d), EXISTS c : SEQ(A a, !B b, C c, !C c2, D d), E e)"))
    'DNF'

    CNF (definition 6): an AND of such sequences.

    >>> normal_form(read("AND(SEQ(A a, !B b, C c), D d)"))
    'CNF'

    Nested AND/SEQ (definition 7): OR at the root only, `!` before events only, and no SEQ directly in a SEQ,
    no AND directly in an AND. EXISTS between them makes no difference to that.

    >>> normal_form(read("OR(SEQ(A a, AND(B b, SEQ(C c, D d))), AND(A a, !E e))"))
    'nested AND/SEQ'
    >>> [normal_form(read(text)) for text in ("SEQ(A, SEQ(B, C))", "SEQ(A a, EXISTS b : SEQ(B b, C c))")]
    [None, None]
    >>> [normal_form(read(text)) for text in ("SEQ(A a, !SEQ(B b, C c), D d)", "SEQ(A a, OR(B b, C c))")]
    [None, None]

    What NEEL does not have: a repeated or optional event counts as an event, other closures, optional
    composites and AND_NEG are in no normal form. Conditions and windows do not matter.

    >>> [normal_form(read(text)) for text in ("SEQ(A a, B+ b[], C? c)", "SEQ(A a, SEQ(B b, C c)+ k[])")]
    ['DNF', None]
    """
    branches = pattern.parts if isinstance(pattern, p.Or) else (pattern,)
    if all(map(_is_sequence, branches)):
        return "DNF"
    if isinstance(pattern, p.And) and all(map(_is_sequence, pattern.parts)):
        return "CNF"
    return "nested AND/SEQ" if all(_is_nested(branch, None) for branch in branches) else None


def _is_event(part: p.Pattern) -> bool:
    """A primitive event, which may repeat or be optional."""
    return isinstance(part, p.Event) or (isinstance(part, p.Repeat | p.Optional) and _is_event(part.part))


def _is_component(part: p.Pattern) -> bool:
    return _is_event(part.part if isinstance(part, p.Not) else part)


def _is_sequence(part: p.Pattern) -> bool:
    """<E> of definitions 5 and 6: [Proj] SEQ of events and negated events."""
    inner = part.part if isinstance(part, p.Exists) else part
    return _is_event(inner) or (isinstance(inner, p.Seq) and all(map(_is_component, inner.parts)))


def _is_nested(part: p.Pattern, around: type[p.Pattern] | None) -> bool:
    """Whether a part inside an operator `around` is of the form of definition 7, the root's OR apart."""
    match part:
        case p.Seq(parts) | p.And(parts):
            return type(part) is not around and all(_is_nested(inner, type(part)) for inner in parts)
        case p.Exists(_, inner):
            return not isinstance(inner, p.Exists) and _is_nested(inner, around)
    return _is_component(part)
