"""`[id]`: an event that is bound agrees with those that are bound already."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.bind.coercion import cast_to, common_of
from neelc.ir.expr import Binary, Disjunction, Expr, IsNull
from neelc.ir.names import bare
from neelc.ir.typeof import type_of
from neelc.plan.blocks import Item
from neelc.plan.event_roles import attribute
from neelc.plan.known import Known, see_each_other


def agreements(item: Item, bound: frozenset[str], known: Known) -> Iterator[Expr]:
    """`[id]` between the item and what is bound; one surely bound event is enough, all of them agree."""
    for number, name in item.same:
        if bare(name).casefold() in known.keyed:
            continue
        others = [
            other
            for other in sorted(bound)
            if known.items[other][0].type
            and not known.is_list(other)
            and any((number, name) in one.same and see_each_other(item, one) for one in known.items[other])
        ]
        sure = [other for other in others if known.is_sure(other, item.when)]
        yield from (_agreement(known, item, other, name, bool(sure)) for other in sure[:1] or others)


def _agreement(known: Known, item: Item, other: str, name: str, sure: bool) -> Expr:
    """Equality; of an event that may be absent, only where it is there. Roles have made sure that no value
    is NULL."""
    facts = known.facts
    one = attribute(item.variable, name, facts.type(item.type))
    two = attribute(other, name, facts.type(known.items[other][0].type))
    kind = common_of((type_of(one), type_of(two)), strings=False) or type_of(one)
    equal = Binary("=", cast_to(two, type_of(two), kind), cast_to(one, type_of(one), kind))
    return equal if sure else Disjunction((IsNull(two), equal))
