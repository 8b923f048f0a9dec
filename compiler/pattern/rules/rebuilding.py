"""Parts made anew: with the conditions and windows of a list that is about to vanish, without an OR in it,
and how many branches that makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from neelc.ir import patterns as p
from neelc.ir.conditions import conjoin
from neelc.ir.expressions import Expr, Literal
from neelc.ir.node import map_children, transform
from neelc.ir.patterns import Listing, Not, Optional, Or, Pattern, Window, inner_parts
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rule import RefusalReason


def constrained(part: Pattern, where: Expr | None, within: Window | None = None) -> Pattern | None:
    """What `AND(part WHERE where) WITHIN within` means, without the AND; None when there is no other way.

    >>> from pattern_examples import query
    >>> outer = query("AND(SEQ(A a, B b) WITHIN 5 WHERE a.x > 1)").pattern
    >>> print(constrained(query("SEQ(A a, B b WHERE a.x > b.x) WITHIN 5").pattern, outer.where))
    SEQ(A a, B b WHERE a.x > b.x AND a.x > 1)

    A condition on an optional part is not judged when the part is absent; one around it is.

    >>> constrained(query("A? a").pattern, outer.where)

    Of two windows over the same events the shorter one counts. A window of time and one of events are two
    things, and a part has room for one.
    """
    if where is None and within is None:
        return part
    if isinstance(part, Optional | Not):
        return None
    window = shorter(part.within, within) if part.within and within else part.within or within
    if window is None and (part.within or within):
        return None
    return replace(part, where=conjoin([part.where, where]), within=window)


def shorter(left: Window, right: Window) -> Window | None:
    """The window that allows less; None when that depends on the events.

    >>> from neelc.ir.types import INT
    >>> minute, second = (Window(Literal(1, INT), unit) for unit in ("MINUTE", "SECOND"))
    >>> print(shorter(minute, second))
    1 SECOND
    >>> print(shorter(minute, Window(Literal(3, INT), "EVENT")))
    None
    """
    if (left.unit == "EVENT") != (right.unit == "EVENT"):
        return None
    return min(left, right, key=_length)


def _length(window: Window) -> int:
    """How much a bound window allows, comparable among windows of one kind."""
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), "a bound window"
    return window.count.value * LENGTHS.get(window.unit or "", 1)


# One part of a pattern in the place of another.


def replaced(root: Pattern, old: Pattern, new: Pattern) -> Pattern:
    """`root` with `new` wherever the very part `old` stands: equal parts elsewhere stay.

    >>> from neelc.syntax import pattern
    >>> root = pattern("SEQ(A a, AND(B b, C c))")
    >>> print(replaced(root, root.parts[1], pattern("D d")))
    SEQ(A a, D d)
    """
    changed = transform(root, lambda node: new if node is old else None)
    assert isinstance(changed, Pattern)
    return changed


# OR moves out of the list around it: what the distributive rules share (NEEL, table III).


def each_choice(part: Listing, choices: Sequence[Sequence[Pattern]]) -> Or:
    """The list once for each choice of one of the alternatives in every place, as branches of an OR, of which
    is asked what was asked of the list: they have its events."""
    lists = tuple(replace(part, parts=parts, where=None, within=None) for parts in product(*choices))
    return Or(lists, where=part.where, within=part.within, span=part.span)


def distributed(part: Listing, facts: QueryFacts) -> Pattern | RefusalReason | None:
    """The list once for each choice of branches of the ORs directly inside it.

    The number of branches that the pattern has in the end does not depend on the order of such steps; it
    is what the limit is compared with.
    """
    if not facts.any_match or not any(isinstance(inner, Or) for inner in part.parts):
        return None
    choices = [branches_of(inner) for inner in part.parts]
    if not all(choices):
        return None
    reason = too_many(branches(region(facts.query.pattern, part)))
    return RefusalReason(reason) if reason else each_choice(part, choices)


def branches_of(part: Pattern) -> tuple[Pattern, ...]:
    """The branches of an OR, each with what the OR asks for; none when one of them cannot take it. What is
    not an OR is its own only branch."""
    if not isinstance(part, Or):
        return (part,)
    found = tuple(constrained(branch, part.where, part.within) for branch in part.parts)
    return tuple(branch for branch in found if branch is not None) if None not in found else ()


# How many branches a pattern has, or would have with OR distributed and negations pushed down.


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
