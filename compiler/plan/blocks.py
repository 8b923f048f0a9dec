"""Blocks: what a match must be, as variables and what relates them, before an order to find them in is
chosen.

SEQ and AND, however nested, come down to relations between pairs of events: before, within, different. So a
block is a set of variables, each with its bounds, conditions between them, and checks: inner blocks that
must, or must not, have a solution. OR and optional parts become *choices*: an item of a block is there
under some choices only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Expr
from neelc.runtime.program import Between, When, Within


@dataclass(frozen=True)
class Item:
    """A variable and where its event may lie, in relation to all other variables that it knows of.

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


@dataclass(frozen=True)
class Condition:
    """A conjunct, under some choices."""

    expression: Expr
    when: When

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

    `wanted` says whether a solution must exist or must not; None is the match itself.
    """

    wanted: bool | None = None
    when: When = ()
    part: str = ""
    items: list[Item] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    bound: list[SomeBound] = field(default_factory=list)
    checks: list[Block] = field(default_factory=list)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.variable for item in self.items))

    def all_items(self) -> Iterator[Item]:
        """The items of this block and of all its checks."""
        yield from self.items
        for check in self.checks:
            yield from check.all_items()

    def all_conditions(self) -> Iterator[Condition]:
        yield from self.conditions
        for check in self.checks:
            yield from check.all_conditions()


def implies(one: When, other: When) -> bool:
    """Whether the choices `one` include the choices `other`.

    >>> implies((("m", 1), ("n", 0)), (("m", 1),)), implies((), (("m", 1),))
    (True, False)
    """
    return set(other) <= set(one)
