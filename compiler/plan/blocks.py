"""Blocks: what a match must be, as variables and what relates them, before an order to find them in is
chosen.

SEQ and AND, however nested, come down to relations between pairs of events: before, within, different. So a
block is a set of variables, each with its bounds, conditions between them, and checks: inner blocks that
must, or must not, have a solution. OR and optional parts become *choices*: an item of a block is there
under some choices only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Expr
from neelc.plan.list_names import BEFORE, CURRENT, FIRST, LAST, element
from neelc.runtime.program import Between, When, Within


@dataclass(frozen=True, eq=False)
class Loop:
    """A closure: `body` is a block for one iteration, which binds `names` (`b[i]`; `k[i].a`, `k[i].b`).
    `places` are those of other elements that conditions name: 2 for `b[2]`."""

    least: int
    most: int | None
    names: tuple[str, ...]
    body: Block
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """A variable and where its event may lie, in relation to all other variables that it knows of; one with a
    `loop` has a list of events, which lies there as a whole.

    `scope` is the chain of EXISTS and negations that it stands in: events of one match differ, but what two
    EXISTS find beside one another may be the same. `same` has the attributes of each `[id]` around it,
    with a number for each `[id]`.
    """

    variable: str
    type: str
    when: When
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    within: tuple[Within, ...] = ()
    between: tuple[Between, ...] = ()
    scope: tuple[int, ...] = ()
    same: tuple[tuple[int, str], ...] = ()
    loop: Loop | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Items are looked up often, and may know of very many variables. Equal ones have the same hash."""
        return hash((self.variable, self.type, self.when, self.scope))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of its events."""
        if self.loop is not None:
            return tuple(item.type for item in self.loop.body.items)
        return (self.type,) if self.type else ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variable, and what is bound beside it: the first and the last element of a list."""
        loop = self.loop
        places = [] if loop is None else [one for one in loop.places if not one.startswith(CURRENT)]
        return tuple(dict.fromkeys((self.variable, *self.lists, *self._elements(FIRST, LAST, *places))))

    @property
    def lists(self) -> tuple[str, ...]:
        """The lists that it consists of: `b`, or `k.a` and `k.b`."""
        return tuple(self.variable + inner for inner in self._inner)

    @property
    def _inner(self) -> tuple[str, ...]:
        names = () if self.loop is None else self.loop.names
        return tuple(name.removeprefix(element(self.variable, CURRENT)) for name in names)

    @property
    def earlier(self) -> tuple[str, ...]:
        """What an iteration of a list sees of those before it."""
        return self._elements(FIRST, LAST, BEFORE)

    def _elements(self, *places: str) -> tuple[str, ...]:
        if self.loop is None:
            return ()
        named = (element(self.variable, place) + rest for rest in ("", *self._inner) for place in places)
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True)
class Condition:
    """A conjunct, under some choices. `home` has the variables of the part that it stands at."""

    expression: Expr
    when: When
    home: tuple[str, ...] = field(default=(), compare=False)

    @property
    def names(self) -> frozenset[str]:
        return names_in(self.expression)


@dataclass(frozen=True)
class Choice:
    """One of `count` branches, under some choices made before."""

    mark: str
    count: int
    when: When


@dataclass(frozen=True)
class SomeBound:
    """One of the variables at least must be bound."""

    variables: tuple[str, ...]
    when: When


@dataclass
class Block:
    """Variables, relations and checks; built by walking over a pattern once, not changed afterwards.

    `wanted` says whether a solution must exist or must not; None is the match itself. `each` is the closure
    whose iterations are asked one by one, for a check of an iteration that is made outside of it.
    """

    wanted: bool | None = None
    when: When = ()
    part: str = ""
    items: list[Item] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    bound: list[SomeBound] = field(default_factory=list)
    checks: list[Block] = field(default_factory=list)
    each: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.variable for item in self.items))

    def all_blocks(self) -> Iterator[Block]:
        """This block, and those of its checks and closures."""
        yield self
        for check in self.checks:
            yield from check.all_blocks()
        for item in self.items:
            if item.loop is not None:
                yield from item.loop.body.all_blocks()

    def all_items(self) -> Iterator[Item]:
        for block in self.all_blocks():
            yield from block.items

    def all_conditions(self) -> Iterator[Condition]:
        for block in self.all_blocks():
            yield from block.conditions


def implies(one: When, other: When) -> bool:
    """Whether the choices `one` include the choices `other`.

    >>> implies((("m", 1), ("n", 0)), (("m", 1),)), implies((), (("m", 1),))
    (True, False)
    """
    return not other or set(other) <= set(one)
