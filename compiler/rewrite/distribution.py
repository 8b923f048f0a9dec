"""OR moves out of the list around it: what the distributive rules share (NEEL, table III)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from neelc.ir.parts import Listing
from neelc.ir.pattern import Or, Pattern
from neelc.rewrite.branches import branches, region, too_many
from neelc.rewrite.constrained import constrained
from neelc.rewrite.facts import Facts
from neelc.rewrite.rule import Refused


def each_choice(part: Listing, choices: Sequence[Sequence[Pattern]]) -> Or:
    """The list once for each choice of one of the alternatives in every place, as branches of an OR, of which
    is asked what was asked of the list: they have its events."""
    lists = tuple(replace(part, parts=parts, where=None, within=None) for parts in product(*choices))
    return Or(lists, where=part.where, within=part.within, span=part.span)


def distributed(part: Listing, facts: Facts) -> Pattern | Refused | None:
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
    return Refused(reason) if reason else each_choice(part, choices)


def branches_of(part: Pattern) -> tuple[Pattern, ...]:
    """The branches of an OR, each with what the OR asks for; none when one of them cannot take it. What is
    not an OR is its own only branch."""
    if not isinstance(part, Or):
        return (part,)
    found = tuple(constrained(branch, part.where, part.within) for branch in part.parts)
    return tuple(branch for branch in found if branch is not None) if None not in found else ()
