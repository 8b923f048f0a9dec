"""Queries over imprecise times: a program that finds what may be a match, and weighs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import Literal
from neelc.ir.patterns import all_parts, inner_parts
from neelc.ir.program import Match
from neelc.pattern.analysis.keys import Key
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import EventColumns, width_of
from neelc.pattern.plan.kernel_plan import KernelPlan, key_column, outputs_of
from neelc.pattern.plan.match_to_plan import drops_early, is_one_sequence, match_to_plan, refuse
from neelc.pattern.plan.plan import Plan, PlanStep, types_of_variables
from neelc.pattern.plan.plan_to_program import plan_to_steps
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ALL,
    TIME_SHAPE,
    TIME_WEIGHTS,
    Absent,
    EachElement,
    EventName,
    FilterStep,
    ImpreciseProgram,
    IterationName,
    KernelStep,
    Likely,
    Present,
    Rename,
    RepeatStep,
    Take,
    Value,
    Weigh,
    WeighedCheck,
    WeighedNegation,
    WeighTimes,
    When,
    takes,
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
    if plan.counted and len(keys) < len(query.partition):
        raise UnsupportedQuery("a window of EVENTS in a partition whose values differ by type")
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    kernel = plan_to_steps(plan, columns)
    if plan.collapsed and kernel.residual:
        conditions = " AND ".join(map(str, kernel.residual))
        raise UnsupportedQuery(f"RETURN COLLAPSED with the condition `{conditions}`")
    outputs = outputs_of(query, plan, kernel.residual, columns)
    shapes = _shapes(query)
    if is_one_sequence(query) and not plan.unique and not shapes:
        steps = weighed(kernel.steps, _sequence(query.pattern), _requirement(query, plan.reach))
    else:
        steps = weighed_by_times(kernel.steps, plan, query)
    program = ImpreciseProgram(
        steps,
        outputs,
        tuple(role.name for role in plan.roles),
        tuple(column.name for column in key_columns),
        kernel.codings,
        lasting=True,
        counted=plan.counted,
        everything=plan.everything,
        # All lists of a choice are needed at once: time is not cut then.
        reach=None if plan.collapsed else plan.reach,
        looks_back=plan.looks_back,
        labels=tuple((role.variable, f"{role.type} {role.variable}") for role in plan.roles),
        shapes=shapes,
    )
    text = str(as_written(query.pattern))
    return KernelPlan(plan, program, tuple(columns.all()), key_columns, kernel.residual, query, text)


def _shapes(query: Match) -> tuple[str, ...]:
    """The columns that say how likely times are, where they are not all equally likely."""
    named = any(stream.shape not in (None, "UNIFORM") or stream.shape_column for stream in query.streams)
    weighted = any(stream.weights for stream in query.streams)
    return (*((TIME_SHAPE,) if named else ()), *((TIME_WEIGHTS,) if weighted else ()))


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
        case Absent(inner) | Present(inner):
            return replace(step, steps=tuple(map(_without_shortcuts, inner)))
        case RepeatStep(first=first, next=following):
            return replace(
                step,
                first=tuple(map(_without_shortcuts, first)),
                next=tuple(map(_without_shortcuts, following)),
                early=(),
            )
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


# Matches whose events have no one order: what may be a match is found, and then weighed at all combinations
# of the times of its events (docs/decisions/0157).


def weighed_by_times(steps: tuple[KernelStep, ...], plan: Plan, query: Match) -> tuple[KernelStep, ...]:
    """The steps that bind events, and one that weighs what they find: it has the checks."""
    required = _requirement(query, None if plan.counted else plan.reach)
    finding = tuple(
        _bounded(step, required.width) for step in steps if not isinstance(step, Absent | Present)
    )
    checks = tuple(_check(step) for step in steps if isinstance(step, Absent | Present))
    counts = query.within is not None and query.within.unit == "EVENT"
    has_windows = any(part.within for part in all_parts(query.pattern))
    last = WeighTimes(
        _bound_names(finding),
        finding,
        checks,
        width_of(query.within, plan.unit)[0] if counts and query.within is not None else None,
        required.least,
        required.strictly,
        united=plan.unique,
        collapsed=plan.collapsed,
        counts=plan.counted and (_counts(checks) or has_windows),
        whole=not has_windows,
        width=required.width,
    )
    return (*finding, last)


def _counts(checks: tuple[WeighedCheck[Value], ...]) -> bool:
    """Whether a check looks as far as a window of EVENTS reaches."""
    bounds = (take.bounds for check in checks for take in takes(check.all_steps))
    return any(window.counted for one in bounds for window in one.within)


def _bounded(step: KernelStep, width: int | None) -> KernelStep:
    """A list whose elements are all different, and can come one after the other."""
    match step:
        case RepeatStep(first=first, next=following):
            return replace(step, first=_iteration(first, width), next=_iteration(following, width))
        case EachElement(steps=inner) if any(not isinstance(one, FilterStep) for one in inner):
            raise UnsupportedQuery("a negation or EXISTS inside of a closure, over imprecise times")
    return step


def _iteration(steps: tuple[KernelStep, ...], width: int | None) -> tuple[KernelStep, ...]:
    changed: list[KernelStep] = []
    for step in steps:
        match step:
            case Take(variable=IterationName() as name) if not step.when:
                changed += [step, Likely((name.events, name), width)]
            case FilterStep():
                changed.append(step)
            case Absent() | Present():
                raise UnsupportedQuery("a negation or EXISTS inside of a closure, over imprecise times")
            case _:
                raise UnsupportedQuery("a closure of a part with a choice, over imprecise times")
    return tuple(changed)


def _check(step: Absent[Value] | Present[Value]) -> WeighedCheck[Value]:
    own = (inner for inner in step.steps if not isinstance(inner, Absent | Present))
    steps = tuple(_without_needless_counts(_bounded(inner, None)) for inner in own)
    checks = tuple(_check(inner) for inner in step.steps if isinstance(inner, Absent | Present))
    return WeighedCheck(steps, tuple(_searches(steps)), isinstance(step, Present), step.when, checks)


def _without_needless_counts(step: KernelStep) -> KernelStep:
    """What lies between events of the match does not make more of them."""
    if not isinstance(step, Take) or not step.bounds.between:
        return step
    within = tuple(window for window in step.bounds.within if not window.counted)
    return replace(step, bounds=replace(step.bounds, within=within))


def _searches(steps: tuple[KernelStep, ...]) -> Iterator[tuple[KernelStep, ...]]:
    """The steps for relaxed times, at which two groups of events have no order: what lies between them lies
    after one and before the other, in one way or in the other way."""
    for place, step in enumerate(steps):
        if isinstance(step, Take) and step.bounds.between:
            bounds = step.bounds
            between, *others = bounds.between
            for one, other in ((between.one, between.other), (between.other, between.one)):
                after, before = (*bounds.after, *one), (*bounds.before, *other)
                changed = replace(bounds, after=after, before=before, between=tuple(others))
                yield from _searches((*steps[:place], replace(step, bounds=changed), *steps[place + 1 :]))
            return
    yield steps


def _bound_names(steps: tuple[KernelStep, ...]) -> tuple[EventName, ...]:
    """What the steps bind, by the names that it has in the end."""
    names: dict[EventName, None] = {}
    for step in steps:
        match step:
            case Take(variable=variable):
                names[variable] = None
            case Rename(new=new):
                names[new] = None
            case RepeatStep(names=iteration):
                names |= dict.fromkeys(name.events for name in iteration)
    return tuple(names)
