"""What is known about the variables of all blocks of a query, for those who put them in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

from neelc.ir.expr import Attribute, Cast
from neelc.ir.names import bare
from neelc.plan.blocks import Block, Item, implies
from neelc.plan.list_names import AFTER, element, list_of
from neelc.rewrite.facts import Facts
from neelc.rewrite.keys import Key
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
        return variable in self.sure(when)

    def sure(self, when: When) -> frozenset[str]:
        """The variables that are bound, once they are taken, in every row with these choices."""
        if when not in self._sure:
            found = (names for under, names in self._bound_under.items() if implies(when, under))
            self._sure[when] = frozenset[str]().union(*found)
        return self._sure[when]

    @cached_property
    def _bound_under(self) -> dict[When, list[str]]:
        """For each choices that items are under, the variables that are surely bound then."""
        found: dict[When, list[str]] = {}
        for variable, items in self.items.items():
            for item in items if list_of(variable) is None else ():
                if item.loop is None or item.loop.least > 0:
                    found.setdefault(item.when, []).append(variable)
        return found

    @cached_property
    def _sure(self) -> dict[When, frozenset[str]]:
        return {}

    def is_list(self, variable: str) -> bool:
        return any(item.loop is not None for item in self.items[variable])

    def names_of(self, variable: str) -> tuple[str, ...]:
        """The names of an iteration of a list."""
        loop = self.closure(variable).loop
        return () if loop is None else loop.names

    def closure(self, variable: str) -> Item:
        return next(item for item in self.items[variable] if item.loop is not None)

    def lists(self, variable: str) -> tuple[str, ...]:
        """The lists that a variable consists of; of an event, the variable."""
        return tuple(name for item in self.items[variable] for name in item.lists) or (variable,)

    def can_be_together(self, variable: str, when: When) -> bool:
        """Whether the variable can be bound in a row with these choices."""
        return variable in self.together(when)

    def together(self, when: When) -> frozenset[str]:
        """The variables that can be bound in a row with these choices."""
        if when not in self._together:
            found = (
                names for under, names in self._names_under.items() if not exclude_each_other(under, when)
            )
            self._together[when] = frozenset[str]().union(*found)
        return self._together[when]

    @cached_property
    def _names_under(self) -> dict[When, list[str]]:
        """For each choices that items are under, their variables."""
        found: dict[When, list[str]] = {}
        for variable, items in self.items.items():
            for item in items:
                found.setdefault(item.when, []).append(variable)
        return found

    @cached_property
    def _together(self) -> dict[When, frozenset[str]]:
        return {}

    def is_after(self, later: str, earlier: str) -> bool:
        """Whether the event of `later`, where both are bound, always starts after that of `earlier` ended."""
        return earlier in self.earlier[later]

    @cached_property
    def earlier(self) -> Mapping[str, AbstractSet[str]]:
        """For each variable those whose event, where both are bound, always ended before its event starts.
        All items of one of the two must say so."""
        found = {name: _in_all(item.after for item in items) for name, items in self.items.items()}
        for name, items in self.items.items():
            for later in _in_all(item.before for item in items):
                found.setdefault(later, set()).add(name)
        return found

    @cached_property
    def later(self) -> Mapping[str, AbstractSet[str]]:
        """The same, the other way round."""
        found: dict[str, set[str]] = {name: set() for name in self.items}
        for later, names in self.earlier.items():
            for name in names:
                found.setdefault(name, set()).add(later)
        return found

    def can_be_one_event(self, item: Item, variable: str) -> bool:
        """Whether an event could be bound to both in one row."""
        return any(
            see_each_other(item, other)
            and not exclude_each_other(item.when, other.when)
            and any(self.facts.may_overlap(item.type, type) for type in other.types)
            for other in self.items[variable]
        )


def _in_all(told: Iterable[Iterable[str]]) -> set[str]:
    first, *others = told
    return set(first).intersection(*others) if others else set(first)


def known(block: Block, facts: Facts, keyed: frozenset[str]) -> Known:
    items: dict[str, tuple[Item, ...]] = {}
    for item in block.all_items():
        items[item.variable] = (*items.get(item.variable, ()), item)
        # What a list begins and ends with lies where the list does; an iteration cannot be sure of it.
        next_one = () if item.loop is None else (element(item.variable, AFTER),)
        ends = (name for name in (*item.names, *item.earlier, *next_one) if name != item.variable)
        for name in dict.fromkeys(ends):
            end = replace(item, variable=name, type=_type_of(name, item), loop=None)
            items[name] = (*items.get(name, ()), end)
    lasting = any(facts.may_last(type) for item in block.all_items() for type in item.types)
    return Known(items, facts, keyed, lasting)


def _type_of(name: str, item: Item) -> str:
    """The type of an event of a list; none for one that can be of several."""
    inner = name.partition("].")[2]
    body = item.loop.body.items if item.loop is not None else ()
    found = (one.type for one in body if one.variable.partition("].")[2] == inner)
    return next(found, "")


def see_each_other(one: Item, other: Item) -> bool:
    """What two EXISTS, or two negations, find beside one another may be the same event."""
    shorter, longer = sorted((one.scope, other.scope), key=len)
    return longer[: len(shorter)] == shorter


def exclude_each_other(one: When, other: When) -> bool:
    """
    >>> exclude_each_other((("m", 0),), (("m", 1),)), exclude_each_other((("m", 0),), (("n", 1),))
    (True, False)
    """
    if not one or not other:
        return False
    choices = dict(one)
    return any(choices.get(mark, number) != number for mark, number in other)


def keyed_attributes(keys: tuple[Key, ...]) -> frozenset[str]:
    """The attributes among the keys that are the same attribute for every event."""
    return frozenset(
        bare(key.name).casefold()
        for key in keys
        if all(_is_attribute(term, key.name) for _, term in key.terms)
    )


def _is_attribute(term: object, name: str) -> bool:
    inner = term.operand if isinstance(term, Cast) and term.implicit else term
    return isinstance(inner, Attribute) and bare(inner.name).casefold() == bare(name).casefold()


def in_bound(names: Iterable[str], bound: frozenset[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name in bound))
