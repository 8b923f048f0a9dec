"""Patterns of events: what PATTERN describes. The meaning is in docs/reference/patterns.md."""

from __future__ import annotations

from dataclasses import dataclass, field

from neelc.ir.expr import Expr
from neelc.ir.node import Node


@dataclass(frozen=True)
class Window(Node):
    """How far a match may reach: `count` of `unit`.

    `unit` is a unit of time, singular and upper case (`SECOND`), EVENT, or None for the stream's own unit.
    `count` is a number, or a `Parameter` until the binder has its value.
    """

    count: Expr
    unit: str | None = None


@dataclass(frozen=True)
class Pattern(Node):
    """An expression over events, judged inside a scope.

    `where` must hold for each match of this part; `within` bounds this part's own events.
    """

    where: Expr | None = field(default=None, kw_only=True)
    within: Window | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Event(Pattern):
    """`Type var`: one event."""

    type: str
    variable: str | None = None


@dataclass(frozen=True)
class Seq(Pattern):
    """`SEQ(parts)`: each positive part ends strictly before the next one starts."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class And(Pattern):
    """`AND(parts)`: every positive part, in any order."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class AndNeg(Pattern):
    """MQOS's `AND_NEG(parts)`: AND, but a negative part looks only between its two positive neighbours."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Or(Pattern):
    """`OR(parts)`: one of the parts."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Not(Pattern):
    """`!part`: no match of `part` inside the scope. It has no `where` or `within` of its own."""

    part: Pattern


@dataclass(frozen=True)
class Exists(Pattern):
    """`EXISTS variables : part`: the matches of `part` with the variables dropped, each once."""

    variables: tuple[str, ...]
    part: Pattern


@dataclass(frozen=True)
class Repeat(Pattern):
    """`part`, at least `least` and at most `most` times; `most=None` means no limit.

    `variable` names the list of iterations: `B+ b[]` is Repeat(Event("B"), 1, None, "b").
    """

    part: Pattern
    least: int
    most: int | None
    variable: str | None = None


@dataclass(frozen=True)
class Optional(Pattern):
    """`part?`: once or not at all. Its variables are NULL when it is absent."""

    part: Pattern
