"""How many branches a pattern has, or would have with OR distributed and negations pushed down."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from neelc.ir import patterns as p
from neelc.ir.node import map_children
from neelc.ir.patterns import inner_parts

# How large a rewrite may make a query. A rule that would go beyond refuses, and says so.

MAX_BRANCHES = 256
"""How many branches an OR may have that rules make: by distribution, push-down or expansion."""

Count = Callable[[p.Not], int]


def branches(part: p.Pattern, of_negation: Count = lambda negative: 1) -> int:
    """The number of branches with every OR moved to the root. Distribution does not change it.

    What repeats, is optional or negative keeps its ORs to itself; a negation counts as what `of_negation`
    says.

    >>> from neelc.pattern.rules.examples import query
    >>> branches(query("SEQ(OR(A a, B b), C c, OR(D d, AND(E e, OR(F f, G g))), !OR(H h, I i), J j)").pattern)
    6
    """
    match part:
        case p.Or(parts):
            return sum(branches(inner, of_negation) for inner in parts)
        case p.Joint(parts):
            return prod(branches(inner, of_negation) for inner in parts)
        case p.Exists(_, inner):
            return branches(inner, of_negation)
        case p.Not():
            return of_negation(part)
    return 1


def too_many(number: int) -> str | None:
    """Why no more than MAX_BRANCHES branches are made."""
    if number <= MAX_BRANCHES:
        return None
    shown = f"{number}" if number < 10**15 else "more than 10^15"
    return f"it would have {shown} branches, and the limit MAX_BRANCHES is {MAX_BRANCHES}"


def region(root: p.Pattern, part: p.Pattern) -> p.Pattern:
    """The part around `part` up to which its ORs can move: the body of a negation, of a repetition or of an
    optional part, or the whole pattern `root`."""
    return _region(root, part, root) or part


def _region(node: p.Pattern, part: p.Pattern, found: p.Pattern) -> p.Pattern | None:
    if node is part:
        return found
    if isinstance(node, p.Event):
        return None
    ends = isinstance(node, p.Not | p.Repeat | p.Optional)
    inside = (_region(inner, part, inner if ends else found) for inner in inner_parts(node))
    return next((place for place in inside if place is not None), None)


def put(outer: p.Pattern, old: p.Pattern, new: p.Pattern) -> p.Pattern:
    """`outer` with `new` in the place of `old`, which is told by identity."""
    if outer is old:
        return new
    return map_children(outer, lambda child: put(child, old, new) if isinstance(child, p.Pattern) else child)


# The normal forms of NEEL (definitions 5 to 7), and which of them a pattern is in.


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
