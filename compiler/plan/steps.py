"""Steps: a query as a list of things to do, whoever does them: a kernel, or joins.

They are those of `neelc.runtime.program`, with conditions that are still expressions of the language.
"""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.expr import Expr
from neelc.runtime.elements import Marks
from neelc.runtime.moves import Closure, State
from neelc.runtime.program import ALL, EVERYWHERE, AnyBound, Between, Bounds, Choose, Rename, When, Within

__all__ = [
    "Absent", "AnyBound", "Between", "Bounds", "Choose", "Closure", "EachElement", "Filter", "Follow",
    "Judged", "Move", "Plan", "Present", "Rename", "Repeat", "Role", "State", "Step", "Take", "When",
    "Within",
]  # fmt: skip


@dataclass(frozen=True)
class Role:
    """Events that can stand for a variable: those of `type` that meet `conditions`, which name them
    `variable`.

    Variables with the same conditions share a role, under the name of the first of them.
    """

    name: str
    type: str
    variable: str
    conditions: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Take:
    """Bind `variable` to each event of `role` that lies within `bounds`, differs from `differs` and meets
    `where`."""

    variable: str
    role: str
    bounds: Bounds = EVERYWHERE
    differs: tuple[str, ...] = ()
    where: tuple[Expr, ...] = ()
    pick: str = ALL
    when: When = ()


@dataclass(frozen=True)
class Filter:
    """Keep the rows for which the condition is true."""

    condition: Expr
    when: When = ()


@dataclass(frozen=True)
class Absent:
    """Keep the rows that `steps` cannot extend. `part` is the negative part, as written."""

    steps: tuple[Step, ...]
    when: When = ()
    part: str = ""


@dataclass(frozen=True)
class Present:
    """Keep the rows that `steps` can extend, each once. Without a `part` it is not asked for by the
    pattern: it drops early what cannot become a match."""

    steps: tuple[Step, ...]
    when: When = ()
    part: str = ""


@dataclass(frozen=True)
class Repeat:
    """Bind a list: see `runtime.program.Repeat`."""

    variable: str
    names: tuple[str, ...]
    first: tuple[Step, ...]
    next: tuple[Step, ...]
    least: int
    most: int | None
    early: tuple[Expr, ...] = ()
    when: When = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class EachElement:
    """Judge each element of a list: see `runtime.elements.EachElement`."""

    variable: str
    names: tuple[str, ...]
    steps: tuple[Step, ...]
    skipped: int = 0
    when: When = ()
    marks: Marks = ()
    unfinished: bool = False


@dataclass(frozen=True)
class Judged:
    """A condition of a move: see `runtime.moves.Judged`."""

    condition: Expr
    present: tuple[str, ...] = ()
    each: str | None = None
    looks_back: bool = False


@dataclass(frozen=True)
class Move:
    """How a run goes on: see `runtime.moves.Move`."""

    source: int
    target: int
    take: Take
    least: int = 0
    most: int | None = None
    iteration: str = "FIRST"
    renames: tuple[tuple[str, str], ...] = ()
    judged: tuple[Judged, ...] = ()
    checks: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Follow:
    """Bind all variables of a SEQ, event by event: see `runtime.program.Follow`."""

    states: tuple[State, ...]
    moves: tuple[Move, ...]
    closures: tuple[Closure, ...] = ()
    contiguous: bool = False
    marks: tuple[tuple[str, str], ...] = ()
    when: When = ()


Step = Choose | Take | Rename | Filter | AnyBound | Absent | Present | Repeat | EachElement | Follow


@dataclass(frozen=True)
class Plan:
    """How the matches of a query are found.

    `variables` are those of a match. `unit` is the unit that times are counted in. `everything`, `reach`,
    `looks_back`, `leader`, `unique` and `collapsed` are explained at `runtime.program.Program`."""

    steps: tuple[Step, ...]
    roles: tuple[Role, ...]
    variables: tuple[str, ...]
    unit: str
    reach: int | None = None
    counted: bool = False
    everything: bool = False
    lasting: bool = False
    looks_back: bool = True
    leader: str | None = None
    unique: bool = False
    collapsed: bool = False
