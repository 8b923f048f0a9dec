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

    >>> from pattern_examples import query
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
