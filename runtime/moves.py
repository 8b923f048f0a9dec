"""Runs that grow event by event, for a program's `Follow`: their states, and how they go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neelc.runtime.program import Step, Take, Value

LAST = "#last"
"""The event that a run took last. No name of a pattern is like it."""

FIRST, NEXT, SAME = "FIRST", "NEXT", "SAME"
"""Which iteration of a list an event belongs to: the first one, a new one, or that of the event before it."""


@dataclass(frozen=True)
class Judged:
    """A condition that is more than one of a `Take`: asked only where all of `present` have an event; asked
    of `each` element of a list that is complete, as `b[i]`, or if it `looks_back` of each but the first."""

    condition: Value
    present: tuple[str, ...] = ()
    each: str | None = None
    looks_back: bool = False


@dataclass(frozen=True)
class State:
    """A run whose last event is that of `variable`, which belongs to the `list`, if any. It is complete with
    at least `accepts` iterations; never, if that is None."""

    variable: str
    list: str | None = None
    accepts: int | None = None


@dataclass(frozen=True)
class Move:
    """How a run goes on from `source` to `target`, both numbers of states, -1: from nothing. Its list has
    from `least` to `most` iterations before. First, events get other names; then `take` finds the next event,
    which belongs to the FIRST iteration of a list, the NEXT or the SAME. With it, the run must pass
    the `checks`, which see all of it, as if it were a match."""

    source: int
    target: int
    take: Take
    least: int = 0
    most: int | None = None
    iteration: str = FIRST
    renames: tuple[tuple[str, str], ...] = ()
    judged: tuple[Judged, ...] = ()
    checks: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Closure:
    """A list that a run binds, as `Repeat` does. One that is `optional` is absent where it has no element.
    `places` are as those of `Repeat`."""

    variable: str
    names: tuple[str, ...]
    optional: bool = False
    places: tuple[str, ...] = ()
