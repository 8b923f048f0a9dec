"""What window functions need for a query, where they can say it.

- Contiguity: the events of one instant are put into a list, and the lists of the next instants stand beside
it.
- A single event, and others that must or must not lie near it: these are counted in a frame around it.

What is left after that, checks that look further, is done with joins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from neelc.ir.expressions import Expr
from neelc.ir.program import Match
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost.choose import PlanShape
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.join_plan import (
    JoinPlan,
    JoinStep,
    alternatives,
    join_lines,
    joined_steps,
    joins_of,
    refuse_too_many_roles,
    relational_plan,
    single_take,
)
from neelc.pattern.plan.plan import PlanStep
from neelc.runtime.program import Absent, Bounds, EventName, Present, Take
from neelc.scalar.operators import is_orderable

MOST_CHAINED = 80
"""A chain of more events is a plan so deep that Spark's optimiser overflows its stack: it fails at 120."""


@dataclass(frozen=True)
class EventChain:
    """Events of instants that follow one another, and the `rest` that joins do."""

    takes: tuple[Take[Expr], ...]
    rest: tuple[JoinStep, ...]

    @property
    def functions(self) -> int:
        return len(self.takes) - 1

    def lines(self) -> Iterator[str]:
        yield f"{', then '.join(str(take.variable) for take in self.takes)}: one instant after the other"


@dataclass(frozen=True)
class NearbyCount:
    """How many events that can play `role` lie from `low` to `high` around an event, by the difference of
    their times, other than itself if it `differs`: some must, or none if they are `absent`."""

    role: str
    low: int | None
    high: int | None
    differs: bool
    absent: bool
    part: str


@dataclass(frozen=True)
class FramedEvent:
    """A single event with `counts` of others around it, and the `rest` that joins do."""

    take: Take[Expr]
    counts: tuple[NearbyCount, ...]
    rest: tuple[JoinStep, ...]

    @property
    def functions(self) -> int:
        return len(self.counts)

    def lines(self) -> Iterator[str]:
        yield f"begin with {self.take.variable}"
        for one in self.counts:
            kind = "without" if one.absent else "with"
            yield f"{kind} {one.part}: count {one.role} from {_shown(one.low)} to {_shown(one.high)}"


@dataclass(frozen=True)
class WindowPlan:
    """Branches for window functions, over the events of `joined`."""

    joined: JoinPlan
    branches: tuple[EventChain | FramedEvent, ...]

    @property
    def shape(self) -> PlanShape:
        joins = sum(joins_of(branch.rest, begun=True) for branch in self.branches)
        return PlanShape(joins, self.joined.numbers + sum(branch.functions for branch in self.branches))

    def lines(self) -> Iterator[str]:
        """The plan for people, a line for each step."""
        for number, branch in enumerate(self.branches, 1):
            yield f"branch {number}" if len(self.branches) > 1 else "steps"
            yield from (f"  {line}" for line in branch.lines())
            yield from (f"  {line}" for line in join_lines(branch.rest, begun=True))


def window_plan(query: Match, keys: tuple[Key, ...], unit: str) -> WindowPlan:
    """The plan of a query for window functions; raises `UnsupportedQuery`.

    >>> from pattern_examples import query
    >>> def shown(text):
    ...     found = window_plan(query(text), (), "MILLISECOND")
    ...     print(*found.lines(), found.shape, sep="\\n")
    >>> shown("SEQ(A a, B b, C c) USING STRICT CONTIGUITY")
    steps
      a, then b, then c: one instant after the other
    PlanShape(joins=0, functions=2)
    >>> shown("SEQ(A a, !B b) WITHIN 9")
    steps
      begin with a
      without !B b: count B from +1 to +9
    PlanShape(joins=0, functions=1)
    """
    contiguous = query.strategy.is_contiguous
    joined = relational_plan(query, keys, unit, contiguous)
    if joined.plan.lasting:
        raise UnsupportedQuery("window functions over events that last")
    refuse_too_many_roles(joined.plan)
    ways = alternatives(joined.plan.steps)
    if not contiguous:
        return WindowPlan(joined, tuple(_framed(steps, joined) for steps in ways))
    if len(ways) > 1 and any(_checks(steps) for steps in ways):
        # Spark 4.3 prunes fields of structs from a list that a semi join over a union still needs, and fails.
        raise UnsupportedQuery("a negation at the beginning or end of a branch, under contiguity,")
    return WindowPlan(joined, tuple(_chain(steps, joined) for steps in ways))


# Contiguity.


def _chain(steps: Sequence[PlanStep], joined: JoinPlan) -> EventChain:
    """Simultaneous events are alternatives (docs/decisions/0011)."""
    takes = tuple(step for step in steps if isinstance(step, Take))
    if any(not is_orderable(column.type) for column in joined.columns):
        raise UnsupportedQuery("a list of events that have maps")
    if len(takes) > MOST_CHAINED:
        raise UnsupportedQuery(f"window functions for a chain of more than {MOST_CHAINED} events")
    rest = [step for step in steps if not isinstance(step, Take) and not _is_vacuous(step, takes)]
    return EventChain(takes, joined_steps(rest, joined, begun=True))


def _checks(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The checks that are more than a look between neighbours."""
    takes = [step for step in steps if isinstance(step, Take)]
    checks = [step for step in steps if isinstance(step, Absent | Present) and step.part]
    return [step for step in checks if not _is_vacuous(step, takes)]


def _is_vacuous(step: PlanStep, takes: Sequence[Take[Expr]]) -> bool:
    """Whether a negation looks between two neighbours: there is no event, they would not be neighbours
    else."""
    if not isinstance(step, Absent):
        return False
    neighbours = [(one.variable, other.variable) for one, other in pairwise(takes)]
    return any(
        one in inner.bounds.after and other in inner.bounds.before
        for inner in step.steps
        if isinstance(inner, Take) and not inner.when
        for one, other in neighbours
    )


# One event, and what lies around it.


def _framed(steps: Sequence[PlanStep], joined: JoinPlan) -> FramedEvent:
    takes = [step for step in steps if isinstance(step, Take)]
    checks = [step for step in steps if isinstance(step, Absent | Present) and step.part]
    if len(takes) != 1 or not checks:
        raise UnsupportedQuery("window functions for a pattern of several events")
    (take,) = takes
    counts = tuple(_count(take, check, joined) for check in checks)
    rest = [step for step in steps if step not in checks and step is not take]
    return FramedEvent(take, counts, joined_steps(rest, joined, begun=True))


def _count(take: Take[Expr], check: Absent[Expr] | Present[Expr], joined: JoinPlan) -> NearbyCount:
    """How many events a check would find, by the frame of time it looks into."""
    sought = single_take(alternatives(check.steps))
    if sought is None or sought.where or sought.bounds.between or joined.plan.counted:
        raise UnsupportedQuery("window functions for a check that is more than one event near in time")
    low, high = _frame(sought.bounds, take.variable)
    is_absent = isinstance(check, Absent)
    return NearbyCount(sought.role, low, high, bool(sought.differs), is_absent, check.part)


def _frame(bounds: Bounds, variable: EventName) -> tuple[int | None, int | None]:
    """From where to where, seen from the event; None is without a limit.

    >>> from neelc.runtime.program import Within
    >>> _frame(Bounds(before=("c",), within=(Within(("c",), 9),)), "c")
    (-9, -1)
    """
    width = min((window.width for window in bounds.within if window.events == (variable,)), default=None)
    low, high = None if width is None else -width, width
    if variable in bounds.after:
        low = 1
    if variable in bounds.before:
        high = -1
    if width == 0 and (variable in bounds.after or variable in bounds.before):
        raise UnsupportedQuery("a frame that no event fits")
    return low, high


def _shown(offset: int | None) -> str:
    return "anywhere" if offset is None else f"{offset:+}"
