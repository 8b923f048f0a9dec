"""Chains for the kernel that counts: states, the moves between them, and what is asked at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from neelc.plan.aggregate_judging import (
    CROSS,
    ELEMENT,
    ENTER,
    INNER,
    LEAVE,
    PINS,
    View,
    When,
    when,
)
from neelc.plan.aggregate_stages import Asked, NoChain, Sequence, Stage
from neelc.plan.list_names import BEFORE, CURRENT, element
from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.counting_chain import SOURCE, TARGET, Chain, ChainMove, ChainState, Ending
from neelc.runtime.program import Absent, Apply, Bounds, Column, Step, Take, Value, Within

Judged = tuple[tuple[Asked, When], ...]


@dataclass(frozen=True)
class Making:
    """What a chain is made of. `absent` has the steps of each negation of the sequence."""

    found: Sequence
    view: View
    judged: Judged
    value: Callable[[Asked], Value]
    absent: tuple[Absent, ...]

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.found.stages

    def at(self, kind: str, number: int, names: Mapping[str, str]) -> tuple[Value, ...]:
        """The conditions of one kind at a stage, with other names."""
        here = (asked for asked, one in self.judged if (one.kind, one.stage) == (kind, number))
        return tuple(renamed(self.value(asked), names) for asked in here)

    def across(self, source: int, target: int, names: Mapping[str, str]) -> tuple[Value, ...]:
        """The conditions that are judged with a step from one stage to another, past those between."""
        stages = [stage.variable for stage in self.stages]
        found = []
        for asked, one in self.judged:
            passed = asked.if_there is not None and source < stages.index(asked.if_there) < target
            if not passed and _is_across(one, source, target):
                found.append(renamed(self.value(asked), names))
        return tuple(found)


def _is_across(one: When, source: int, target: int) -> bool:
    if one.kind == ENTER:
        return source < one.stage <= target
    return one.kind in (LEAVE, CROSS) and source <= one.stage < target


def chain(found: Sequence, view: View, value: Callable[[Asked], Value], absent: tuple[Absent, ...]) -> Chain:
    """The chain of the matches that begin with one stage."""
    judged = tuple(_judged(found, view))
    making = Making(found, view, judged, value, absent)
    numbers = _numbers(making)
    states = tuple(_state(making, stage) for stage, _ in numbers)
    moves = (*_inner_moves(making, numbers), *_outer_moves(making, numbers))
    pins = tuple(_pins(making))
    begin = {found.stages[view.begin].first: TARGET}
    enters = () if view.leads else making.at(ENTER, view.begin, begin)
    return Chain(
        states,
        tuple(sorted(moves, key=lambda move: (move.target, move.source))),
        tuple(_endings(making, numbers)),
        pins,
        view.leads,
        enters if pins else (*enters, *making.at(PINS, -1, {})),
        found.width,
        found.counted,
    )


def _judged(found: Sequence, view: View) -> Iterator[tuple[Asked, When]]:
    stages = [stage.variable for stage in found.stages]
    for asked in found.conditions:
        if asked.if_there is None or stages.index(asked.if_there) >= view.begin:
            one = when(asked, view)
            assert one is not None, "pins were chosen so that all can be judged"
            yield asked, one


Level = tuple[int, int]
"""A stage and a number of elements; the last stands for all greater ones, too, if the list has no end."""


def _numbers(making: Making) -> dict[Level, int]:
    levels = [
        (number, level)
        for number in range(making.view.begin, len(making.stages))
        for level in range(1, making.stages[number].levels + 1)
    ]
    return {level: number for number, level in enumerate(levels)}


def _state(making: Making, number: int) -> ChainState:
    stage = making.stages[number]
    names = {element(stage.variable, CURRENT): TARGET}
    is_pinned = stage.variable in making.view.pins and number > making.view.begin
    where = making.at(ELEMENT, number, names)
    return ChainState(stage.variable, stage.role, where, stage.variable if is_pinned else None)


def _inner_moves(making: Making, numbers: Mapping[Level, int]) -> Iterator[ChainMove]:
    """From one element of a list to the next."""
    for (number, level), state in numbers.items():
        stage = making.stages[number]
        names = {element(stage.variable, BEFORE): SOURCE, element(stage.variable, CURRENT): TARGET}
        where = making.at(INNER, number, names)
        if level < stage.levels:
            yield ChainMove(state, numbers[number, level + 1], where)
        elif stage.most is None:
            yield ChainMove(state, state, where)


def _may_leave(stage: Stage, level: int) -> bool:
    return level >= stage.least


def _outer_moves(making: Making, numbers: Mapping[Level, int]) -> Iterator[ChainMove]:
    """From one component to the next, or past some that need not be there."""
    for (source, level), state in numbers.items():
        if not _may_leave(making.stages[source], level):
            continue
        for target in range(source + 1, len(making.stages)):
            last, first = making.stages[source].last, making.stages[target].first
            names = {last: SOURCE, first: TARGET}
            checks = _checks(making, source, target)
            where = making.across(source, target, _unless_pinned(making, names, target))
            named = tuple(names.items()) if checks else ()
            yield ChainMove(state, numbers[target, 1], where, checks, named)
            if making.stages[target].least > 0:
                break


def _unless_pinned(making: Making, names: dict[str, str], target: int) -> dict[str, str]:
    """A pinned event has its own name in conditions: then they may need only one event of the step."""
    known = {name for name in names if name in making.view.pins}
    if making.view.leads:
        known.add(making.stages[making.view.begin].first)
    return {name: end for name, end in names.items() if name not in known}


def _checks(making: Making, source: int, target: int) -> tuple[Absent, ...]:
    gaps = [before for before, _ in making.found.gaps]
    return tuple(
        _checked(making, step, source, target)
        for step, gap in zip(making.absent, gaps, strict=True)
        if source < gap <= target
    )


def _checked(making: Making, step: Absent, source: int, target: int) -> Absent:
    """A negation for a step from one stage to another: it may look at these two only. What else it comes
    after, or before, lies beyond them; what is passed is not there."""
    ends = {making.stages[source].last, making.stages[target].first}
    kept = tuple(_near(making, one, source, target) for one in step.steps)
    own = {one.variable for one in kept if isinstance(one, Take)}
    for name in mentions.of_steps(kept) - own - ends:
        number = making.found.stage_of(name)
        if number is None or not source < number < target:
            raise NoChain(f"a negation that looks at {name}")
    return Absent(kept)


def _near(making: Making, step: Step, source: int, target: int) -> Step:
    """A step of a negation, without bounds that lie beyond those of the step it is for."""
    if not isinstance(step, Take) or step.when or step.until:
        raise NoChain("a negation of more than a sequence")
    of = making.found.stage_of
    after = tuple(name for name in step.bounds.after if (number := of(name)) is None or number >= source)
    before = tuple(name for name in step.bounds.before if (number := of(name)) is None or number <= target)
    return replace(step, bounds=replace(step.bounds, after=after, before=before))


def _endings(making: Making, numbers: Mapping[Level, int]) -> Iterator[Ending]:
    for (number, level), state in numbers.items():
        stage, later = making.stages[number], making.stages[number + 1 :]
        if _may_leave(stage, level) and all(one.least == 0 for one in later):
            names = _unless_pinned(making, {stage.last: SOURCE}, number)
            yield Ending(state, making.across(number, len(making.stages), names))


def _pins(making: Making) -> Iterator[Take]:
    """Steps that bind what is pinned, each after the one before, all conditions with the last."""
    view, stages = making.view, making.stages
    first = stages[view.begin : view.begin + 1] if view.leads else ()
    all_of_them = (*first, *(stage for stage in stages[view.begin + 1 :] if stage.variable in view.pins))
    where = making.at(PINS, -1, {})
    before: tuple[str, ...] = ()
    for stage in all_of_them:
        window = making.found.width
        within = (Within(before[:1], window, making.found.counted),) if before and window is not None else ()
        bounds = Bounds(after=before[-1:], within=within)
        yield Take(stage.first, stage.role, bounds, where=where if stage is all_of_them[-1] else ())
        before = (*before, stage.first)


def renamed(value: Value, names: Mapping[str, str]) -> Value:
    """The value with other names for variables.

    >>> renamed(Apply(">", (Column("b[i]", "x"), Column("a", "x"))), {"b[i]": TARGET}).operands[0]
    Column(variable='>', name='x')
    """
    match value:
        case Column(variable, name):
            return Column(names.get(variable, variable), name)
        case Apply(operation, operands, type):
            return Apply(operation, tuple(renamed(operand, names) for operand in operands), type)
    return value
