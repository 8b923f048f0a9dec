"""When each condition of a chain is judged: with which of the steps from one event to the next.

A step goes from an event of stage i to one of stage k, past the stages between them, which then have no
event. Every match has exactly one step into stage k or past it (*enter*), one out of stage i or past it
(*leave*), and one across the boundary after a stage (*cross*). A condition on one stage is judged with the
first or the second of these, one on two stages with the third; so the two must be neighbours. What is
pinned is known all the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from neelc.ir.conjuncts import names_in
from neelc.plan.aggregate_stages import Asked, NoChain, Sequence, Stage
from neelc.plan.list_names import BEFORE, CURRENT, element

PINS, ELEMENT, INNER, ENTER, LEAVE, CROSS = "pins", "element", "inner", "enter", "leave", "cross"

LEADER = "^"
"""Stands for the first event of a match, whichever variable it has."""


@dataclass(frozen=True)
class When:
    """How a condition is judged, and at which stage; CROSS: at the boundary after it."""

    kind: str
    stage: int = -1


@dataclass(frozen=True)
class View:
    """A chain that begins at the stage `begin`: the stages before it have no events. `pins` are variables
    that are pinned; LEADER, if the first event is."""

    stages: tuple[Stage, ...]
    begin: int
    pins: frozenset[str]

    @property
    def leads(self) -> bool:
        return LEADER in self.pins

    def is_known(self, name: str, stage: int) -> bool:
        """Whether it is known which event has a name, or that none has, before a walk begins."""
        if stage < self.begin or name in self.pins:
            return True
        return self.leads and stage == self.begin and name == self.stages[stage].first


def when(asked: Asked, view: View) -> When | None:
    """How a condition is judged; None if it cannot be.

    >>> from neelc.plan.aggregate_stages import sequence
    >>> from neelc.rewrite.examples import query
    >>> text = "SEQ(A a, B+ b[], C c) WHERE a.x < b[1].x AND b[i].x > b[i-1].x AND a.x < c.x RETURN count(*)"
    >>> found = sequence(query(text), (), "SECOND")
    >>> [when(asked, View(found.stages, 0, frozenset())) for asked in found.conditions]
    [None, When(kind='cross', stage=0), When(kind='inner', stage=1)]
    >>> [when(asked, View(found.stages, 0, frozenset([LEADER]))).kind for asked in found.conditions]
    ['enter', 'enter', 'inner']
    """
    numbered = [(name, _stage_of(name, view)) for name in sorted(names_in(asked.expression))]
    unknown: dict[int, set[str]] = {}
    for name, stage in numbered:
        if stage is None:
            return None
        if not view.is_known(name, stage):
            unknown.setdefault(stage, set()).add(name)
    if asked.of_list is not None:
        return _when_of_list(asked.of_list, unknown, view)
    match sorted(unknown):
        case []:
            return When(PINS)
        case [stage]:
            return _when_of_stage(view.stages[stage], unknown[stage], stage)
        case [stage, other] if other == stage + 1:
            ends = unknown[stage] <= {view.stages[stage].last}
            return When(CROSS, stage) if ends and unknown[other] <= {view.stages[other].first} else None
    return None


def _stage_of(name: str, view: View) -> int | None:
    for number, stage in enumerate(view.stages):
        if name == stage.variable or (stage.listed and name.startswith(f"{stage.variable}[")):
            return number
    return None


def _when_of_list(variable: str, unknown: dict[int, set[str]], view: View) -> When | None:
    number = next(n for n, stage in enumerate(view.stages) if stage.variable == variable)
    if number < view.begin:
        return When(PINS, number)  # an empty list has no element to be judged
    names = unknown.get(number, set())
    current, earlier = element(variable, CURRENT), element(variable, BEFORE)
    if set(unknown) - {number} or names - {current, earlier}:
        return None
    return When(INNER if earlier in names else ELEMENT, number)


def _when_of_stage(stage: Stage, names: set[str], number: int) -> When | None:
    if names <= {stage.first}:
        return When(ENTER, number)
    return When(LEAVE, number) if names <= {stage.last} else None


def begins(stages: tuple[Stage, ...]) -> Iterator[int]:
    """The stages that a match can begin with: all before them may be empty."""
    for number, stage in enumerate(stages):
        yield number
        if stage.least > 0:
            return


def pinned(found: Sequence, wanted: frozenset[str]) -> frozenset[str]:
    """What must be pinned so that all conditions can be judged, beside `wanted`; raises `NoChain`.

    >>> from neelc.plan.aggregate_stages import sequence
    >>> from neelc.rewrite.examples import query
    >>> text = "SEQ(A a, B+ b[], C c, D d) WHERE b[i].x < c.x AND c.x < d.x RETURN count(*)"
    >>> sorted(pinned(sequence(query(text), (), "SECOND"), frozenset()))
    ['c']
    """
    pins = wanted
    for asked in found.conditions:
        options = _options(asked, found)
        choices = (frozenset(some) for size in range(3) for some in combinations(options, size))
        enough = next((pins | more for more in choices if _is_judged(asked, found, pins | more)), None)
        if enough is None:
            raise NoChain(f"the condition `{asked.expression}`")
        pins = enough
    return pins


def _options(asked: Asked, found: Sequence) -> list[str]:
    """What could be pinned for a condition: events that are in every match."""
    singles = [stage.variable for stage in found.stages if not stage.listed and stage.least == 1]
    return [LEADER, *(name for name in singles if name in names_in(asked.expression))]


def _is_judged(asked: Asked, found: Sequence, pins: frozenset[str]) -> bool:
    return all(when(asked, View(found.stages, begin, pins)) for begin in begins(found.stages))
