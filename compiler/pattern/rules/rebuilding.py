"""A part with more asked of it: conditions and windows of a list that is about to vanish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from neelc.ir.conditions import conjoin
from neelc.ir.expressions import Expr, Literal
from neelc.ir.node import transform
from neelc.ir.patterns import Listing, Not, Optional, Or, Pattern, Window
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.branches import branches, region, too_many
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
