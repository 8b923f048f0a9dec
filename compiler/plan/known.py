"""What is known about the variables of all blocks of a query, for those who put them in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from neelc.plan.blocks import Block, Item, implies
from neelc.rewrite.facts import Facts
from neelc.runtime.program import When


@dataclass(frozen=True)
class Known:
    """The items of each variable; several where branches of an OR share one."""

    items: Mapping[str, tuple[Item, ...]]
    facts: Facts
    keyed: frozenset[str]
    """Attributes that are equal on all events anyway, since events are partitioned by them; bare names."""
    lasting: bool

    def is_sure(self, variable: str, when: When) -> bool:
        """Whether the variable is bound, once it is taken, in every row with these choices."""
        return any(implies(when, item.when) for item in self.items[variable])

    def can_be_together(self, variable: str, when: When) -> bool:
        """Whether the variable can be bound in a row with these choices."""
        return any(not exclude_each_other(item.when, when) for item in self.items[variable])

    def is_after(self, later: str, earlier: str) -> bool:
        """Whether the event of `later`, where both are bound, always starts after that of `earlier` ended."""
        return all(earlier in item.after for item in self.items[later]) or all(
            later in item.before for item in self.items[earlier]
        )

    def can_be_one_event(self, item: Item, variable: str) -> bool:
        """Whether an event could be bound to both in one row."""
        return any(
            see_each_other(item, other)
            and not exclude_each_other(item.when, other.when)
            and self.facts.may_overlap(item.type, other.type)
            for other in self.items[variable]
        )


def known(block: Block, facts: Facts, keyed: frozenset[str]) -> Known:
    items: dict[str, tuple[Item, ...]] = {}
    for item in block.all_items():
        items[item.variable] = (*items.get(item.variable, ()), item)
    lasting = any(facts.may_last(item.type) for item in block.all_items())
    return Known(items, facts, keyed, lasting)


def see_each_other(one: Item, other: Item) -> bool:
    """What two EXISTS, or two negations, find beside one another may be the same event."""
    shorter, longer = sorted((one.scope, other.scope), key=len)
    return longer[: len(shorter)] == shorter


def exclude_each_other(one: When, other: When) -> bool:
    """
    >>> exclude_each_other((("m", 0),), (("m", 1),)), exclude_each_other((("m", 0),), (("n", 1),))
    (True, False)
    """
    choices = dict(one)
    return any(choices.get(mark, number) != number for mark, number in other)


def in_bound(names: Iterable[str], bound: frozenset[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name in bound))
