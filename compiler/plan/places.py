"""Where a part of a pattern stands: what lies around it, and which blocks take what it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from neelc.plan.blocks import Block
from neelc.runtime.program import Between, When, Within


@dataclass(frozen=True)
class Window:
    """A window around a part that binds `variables`."""

    variables: tuple[str, ...]
    width: int
    counted: bool

    def around(self, variable: str) -> Within:
        if variable not in self.variables:
            return Within(self.variables, self.width, self.counted)
        place = self.variables.index(variable)
        others = self.variables[:place] + self.variables[place + 1 :]
        return Within(others, self.width, self.counted, member=True)


Scope = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Where a part stands. `block` takes what a match binds; `dropped` are variables of an EXISTS, which go
    to `hidden`, as do negations there: they may look at what is dropped. `inner` has the variables of each
    EXISTS around it that are in no scope but its own. `in_loop`: it is a part of a closure's iterations."""

    block: Block
    when: When = ()
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    between: tuple[Between, ...] = ()
    scope: Scope = ()
    inner: tuple[tuple[frozenset[str], Scope], ...] = ()
    same: tuple[tuple[int, str], ...] = ()
    dropped: frozenset[str] = frozenset()
    hidden: Block | None = None
    in_loop: bool = False

    @property
    def checks(self) -> Block:
        """The block that negations go to."""
        return self.hidden or self.block

    def block_of(self, variables: Sequence[str]) -> Block:
        """The block for what these variables decide."""
        if self.hidden is not None and set(variables) <= self.dropped:
            return self.hidden
        return self.block

    def block_of_condition(self, names: frozenset[str]) -> Block:
        """A condition about what is hidden, or under a choice that is, is judged there."""
        if self.hidden is None:
            return self.block
        marks = {choice.mark for choice in self.hidden.choices}
        hidden = names & self.dropped or any(mark in marks for mark, _ in self.when)
        return self.hidden if hidden else self.block

    def scope_of(self, variable: str) -> Scope:
        return next((scope for names, scope in self.inner if variable in names), self.scope)

    @property
    def innermost(self) -> Scope:
        return self.inner[-1][1] if self.inner else self.scope


@dataclass
class Walk:
    """One walk over a pattern: it numbers marks and scopes. `repeats` is set where two ways through the
    choices can find the same match."""

    unit: str
    numbers: count[int]
    repeats: bool = False

    def mark(self) -> str:
        return f"choice_{next(self.numbers)}"
