"""Queries over imprecise times: a program that finds what may be a match, and weighs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.ir import patterns as p
from neelc.ir.expressions import Literal
from neelc.ir.patterns import inner_parts
from neelc.ir.program import Match
from neelc.pattern.analysis.keys import Key
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import EventColumns
from neelc.pattern.plan.kernel_plan import KernelPlan, key_column, outputs_of
from neelc.pattern.plan.match_to_plan import drops_early, match_to_plan, refuse
from neelc.pattern.plan.plan import Plan, PlanStep, types_of_variables
from neelc.pattern.plan.plan_to_program import plan_to_steps
from neelc.runtime.program import (
    ALL,
    Absent,
    EventName,
    ImpreciseProgram,
    KernelStep,
    Likely,
    RepeatStep,
    Take,
    Value,
    Weigh,
    WeighedNegation,
    When,
)
from neelc.syntax.print_patterns import as_written


def imprecise_plan(query: Match, keys: tuple[Key, ...], unit: str) -> KernelPlan:
    """The plan of a query some of whose events have imprecise times; raises `UnsupportedQuery`.

    >>> from pattern_examples import imprecise_query
    >>> text = "SEQ(A a, !N n, B b) WITHIN 9 WITH CONFIDENCE > 0.5"
    >>> plan = imprecise_plan(imprecise_query(text), (), "MILLISECOND")
    >>> [type(step).__name__ for step in plan.program.steps]
    ['Take', 'Take', 'Likely', 'Weigh']
    >>> last = plan.program.steps[-1]
    >>> last.events, last.least, [(one.variable, one.place) for one in last.negations]
    (('a', 'b'), 0.5, [('n', 1)])
    """
    refuse(query, unit)
    plan = _relaxed(match_to_plan(_precise(query), keys, unit))
    if plan.unique:
        raise UnsupportedQuery(
            "matches that can be found in two ways, over imprecise times", query.pattern.span
        )
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    kernel = plan_to_steps(plan, columns)
    outputs = outputs_of(query, plan, kernel.residual, columns)
    program = ImpreciseProgram(
        weighed(kernel.steps, _sequence(query.pattern), _requirement(query, plan.reach)),
        outputs,
        tuple(role.name for role in plan.roles),
        tuple(column.name for column in key_columns),
        kernel.codings,
        lasting=True,
        reach=plan.reach,
        looks_back=plan.looks_back,
        labels=tuple((role.variable, f"{role.type} {role.variable}") for role in plan.roles),
    )
    text = str(as_written(query.pattern))
    return KernelPlan(plan, program, tuple(columns.all()), key_columns, kernel.residual, query, text)


def _precise(query: Match) -> Match:
    """The same query of events that have one time each: its steps, run on relaxed events, lose no match."""
    streams = tuple(replace(stream, latest=None) for stream in query.streams)
    return replace(query, streams=streams, confidence=None)


def _relaxed(plan: Plan) -> Plan:
    """The plan without what rests on the order of time: that what is as near as possible leaves the most
    room, and that a list of all events that could be elements is a list."""
    steps = tuple(_without_shortcuts(step) for step in plan.steps if not drops_early(step))
    return replace(plan, steps=steps, lasting=True, leader=None)


def _without_shortcuts(step: PlanStep) -> PlanStep:
    match step:
        case Take():
            return replace(step, pick=ALL)
        case Absent(inner):
            return replace(step, steps=tuple(map(_without_shortcuts, inner)))
        case RepeatStep():
            return replace(step, early=())
    return step


@dataclass(frozen=True)
class ConfidenceRequirement:
    """What matches must be: within `width`, and with a confidence of `least`, or `strictly` more."""

    width: int | None
    least: float
    strictly: bool


def _requirement(query: Match, width: int | None) -> ConfidenceRequirement:
    if query.confidence is None:
        return ConfidenceRequirement(width, 0.0, False)
    threshold = query.confidence.threshold
    assert isinstance(threshold, Literal) and isinstance(threshold.value, float), "a bound threshold"
    return ConfidenceRequirement(width, threshold.value, query.confidence.op == ">")


@dataclass(frozen=True)
class SequenceVariable:
    """A variable of a sequence; that of a negative part if it is `negated`."""

    name: str
    negated: bool = False


def _sequence(pattern: p.Pattern) -> tuple[SequenceVariable, ...]:
    """The variables in the order of the text, which is that of time.

    >>> from neelc.syntax import pattern
    >>> [one.name for one in _sequence(pattern("SEQ(A a, !N n, OR(B b, C+ c[]), D? d)")) if not one.negated]
    ['a', 'b', 'c', 'd']
    """
    match pattern:
        case p.Event(variable=variable) | p.Repeat(variable=variable):
            return (SequenceVariable(variable or ""),)
        case p.Not(p.Event(variable=variable)):
            return (SequenceVariable(variable or "", negated=True),)
    return tuple(name for part in inner_parts(pattern) for name in _sequence(part))


def weighed(
    steps: tuple[KernelStep, ...], sequence: tuple[SequenceVariable, ...], required: ConfidenceRequirement
) -> tuple[KernelStep, ...]:
    """The steps with a look at the probability after each event, and negations as part of it."""
    names = tuple(one.name for one in sequence if not one.negated)
    weighing = _Weighing(names, required)
    # One event alone is as likely as can be.
    first = next(place for place, step in enumerate(steps) if isinstance(step, Take | RepeatStep))
    taken_first = steps[: first + 1] if isinstance(steps[first], Take) else steps[:first]
    kept = (*taken_first, *(new for step in steps[len(taken_first) :] for new in weighing.after(step)))
    negations = tuple(_negation(step, sequence) for step in steps if isinstance(step, Absent))
    return (*kept, Weigh(names, required.width, negations, required.least, required.strictly))


@dataclass(frozen=True)
class _Weighing:
    names: tuple[EventName, ...]
    required: ConfidenceRequirement

    def after(self, step: KernelStep) -> Iterator[KernelStep]:
        match step:
            case Absent():
                return
            case Take():
                yield step
                yield self._likely(self.names, step.when)
            case RepeatStep():
                yield replace(
                    step, first=self._iteration(step, step.first), next=self._iteration(step, step.next)
                )
            case _:
                yield step

    def _iteration(self, repeat: RepeatStep[Value], steps: tuple[KernelStep, ...]) -> tuple[KernelStep, ...]:
        """The steps of an iteration: the new element comes after those that the list has."""
        (current,) = repeat.names
        place = self.names.index(repeat.variable) + 1
        names: tuple[EventName, ...] = (*self.names[:place], current, *self.names[place:])
        return tuple(
            new
            for step in steps
            for new in ((step, self._likely(names, step.when)) if isinstance(step, Take) else (step,))
        )

    def _likely(self, names: tuple[EventName, ...], when: When) -> Likely:
        return Likely(names, self.required.width, self.required.least, when)


def _negation(step: Absent[Value], sequence: tuple[SequenceVariable, ...]) -> WeighedNegation[Value]:
    takes = [inner for inner in step.steps if isinstance(inner, Take)]
    assert len(takes) == 1, "a negated event"
    spoiler = SequenceVariable(str(takes[0].variable), negated=True)
    place = sum(not one.negated for one in sequence[: sequence.index(spoiler)])
    return WeighedNegation(step.steps, takes[0].variable, place, step.when)
