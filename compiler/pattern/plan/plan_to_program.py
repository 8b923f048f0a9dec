"""Steps for the kernel: conditions as operations on columns, and which columns of which variable come out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neelc.ir.conditions import conjuncts
from neelc.ir.expressions import Expr
from neelc.pattern.plan import steps as s
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.columns import EventColumns, renamed
from neelc.pattern.plan.kernel_values import KernelValues, NotInKernel, groups
from neelc.pattern.plan.lists import BEFORE, CURRENT, FIRST, LAST, element, ranges, without_names
from neelc.pattern.plan.runs.program import absent_in_runs, follow_to_program, with_folds
from neelc.runtime import program as r

# The folds over the elements before `b[i]` that steps of a program ask for.


def running_folds(variable: str, steps: tuple[r.Step, ...], values: KernelValues) -> tuple[r.Fold, ...]:
    """Those over a list that some steps ask for."""
    asked = set(_totals(steps))
    mine = (found for found in values.folds.values() if found.variable == variable and found.running)
    return tuple(found.fold for found in mine if found.fold.name in asked)


def _totals(steps: tuple[r.Step, ...]) -> Iterator[str]:
    for step in steps:
        match step:
            case r.FilterStep(condition):
                yield from _totals_in(condition)
            case r.Take(where=where):
                for condition in where:
                    yield from _totals_in(condition)
            case r.Absent(inner) | r.Present(inner) | r.EachElement(steps=inner):
                yield from _totals(inner)
            case r.RepeatStep(first=first, next=following):
                yield from _totals((*first, *following))


def _totals_in(value: r.Value) -> Iterator[str]:
    match value:
        case r.Total(name):
            yield name
        case r.Apply(operands=operands):
            for operand in operands:
                yield from _totals_in(operand)


@dataclass(frozen=True)
class KernelSteps:
    """The kernel's steps, the columns that are compared by order, and conditions that are left for complete
    matches."""

    steps: tuple[r.Step, ...]
    codings: tuple[tuple[str, ...], ...]
    residual: tuple[Expr, ...]


def plan_to_steps(plan: s.Plan, columns: EventColumns) -> KernelSteps:
    """The plan's steps for the kernel; raises `UnsupportedQuery` if a check needs what the kernel cannot
    compute."""
    values = KernelValues(columns, frozenset(may_be_absent(plan.steps)))
    residual: list[Expr] = []
    steps = tuple(_top(step, values, residual) for step in plan.steps)
    kept = tuple(_with_folds(step, values) for step in steps if step is not None)
    written = (without_names(condition) for condition in residual)
    return KernelSteps(kept, groups(values.coded), tuple(dict.fromkeys(written)))


def may_be_absent(steps: Sequence[s.Step]) -> Iterator[str]:
    for step in steps:
        match step:
            case s.PlannedTake(variable=variable, when=when) if when:
                yield variable
            case s.Rename(variable, new):
                yield from (variable, new)
            case s.PlannedAbsent(inner) | s.PlannedPresent(inner) | s.PlannedEachElement(steps=inner):
                yield from may_be_absent(inner)
            case s.PlannedRepeat(variable, names, first, when=when):
                if when:
                    yield variable
                # The first iteration has none before it, and an empty list has no element.
                inner_names = [name.removeprefix(element(variable, CURRENT)) for name in names]
                for place in (FIRST, LAST, BEFORE, *step.places):
                    yield from (element(variable, place) + rest for rest in inner_names)
                yield from may_be_absent(first)
            case s.PlannedFollow():
                yield from absent_in_runs(step)


def _top(step: s.Step, values: KernelValues, residual: list[Expr]) -> r.Step | None:
    """A step of the match itself: what the kernel cannot compute is judged on complete matches."""
    match step:
        case s.PlannedTake(where=where, when=()):
            return _take(replace(step, where=tuple(_computable(where, values, residual))), values)
        case s.PlannedFilter(condition, ()):
            left = tuple(_computable((condition,), values, residual))
            return r.FilterStep(values.value(left[0])) if left else None
        case s.PlannedRepeat(when=()):
            return _repeat(step, values, residual)
        case s.PlannedEachElement(steps=(s.PlannedFilter(when=()) as inner,), when=()):
            try:
                return _inner_each(step, values)
            except NotInKernel:
                if step.variable not in ranges(inner.condition):
                    raise
                residual.append(inner.condition)
                return None
        case s.PlannedFollow():
            return follow_to_program(step, values, lambda one: _judging(one, values))
    return _inner(step, values)


def _repeat(step: s.PlannedRepeat, values: KernelValues, residual: list[Expr]) -> r.RepeatStep:
    """What the kernel cannot judge of elements is judged on complete lists: those of the first element, as
    they are for it, where they are not for all."""
    later: list[Expr] = []
    following = _body(step.next, values, later)
    early: list[Expr] = []
    first = _body(step.first, values, early)
    residual += later
    for condition in (one for one in early if one not in later):
        for name in step.names:
            begin = element(step.variable, FIRST) + name.removeprefix(element(step.variable, CURRENT))
            condition = renamed(condition, name, begin)
        residual.append(condition)
    return _list(step, first, following, values)


def _list(
    step: s.PlannedRepeat, first: tuple[r.Step, ...], following: tuple[r.Step, ...], values: KernelValues
) -> r.RepeatStep:
    return r.RepeatStep(
        step.variable,
        step.names,
        first,
        following,
        step.least,
        step.most,
        places=tuple(place for place in step.places if not place.startswith(CURRENT)),
        early=tuple(_early(step, values)),
        when=step.when,
    )


def _early(step: s.PlannedRepeat, values: KernelValues) -> Iterator[r.Value]:
    for condition in step.early:
        try:
            yield values.value(condition)
        except NotInKernel:
            continue  # it is judged on complete matches


def _body(steps: tuple[s.Step, ...], values: KernelValues, residual: list[Expr]) -> tuple[r.Step, ...]:
    made = (_top(step, values, residual) for step in steps)
    return tuple(step for step in made if step is not None)


def _with_folds(step: r.Step, values: KernelValues) -> r.Step:
    """The step with the folds that are asked of its list, by itself or by other steps."""
    match step:
        case r.RepeatStep():
            mine = [found for found in values.folds.values() if found.variable == step.variable]
            return replace(
                step,
                running=running_folds(step.variable, (*step.first, *step.next), values),
                final=tuple(found.fold for found in mine if not found.running),
            )
        case r.Follow():
            moves = tuple(
                replace(move, checks=tuple(_with_folds(check, values) for check in move.checks))
                for move in step.moves
            )
            return with_folds(replace(step, moves=moves), values)
        case r.EachElement(variable, steps=inner):
            steps = tuple(_with_folds(one, values) for one in inner)
            return replace(step, steps=steps, running=running_folds(variable, inner, values))
        case r.Absent(inner) | r.Present(inner):
            return replace(step, steps=tuple(_with_folds(one, values) for one in inner))
    return step


def _computable(conditions: Sequence[Expr], values: KernelValues, residual: list[Expr]) -> Iterator[Expr]:
    for condition in (one for whole in conditions for one in conjuncts(whole)):
        try:
            values.value(condition)
            yield condition
        except NotInKernel:
            residual.append(condition)


def _inner(step: s.Step, values: KernelValues) -> r.Step:
    try:
        match step:
            case s.PlannedTake():
                return _take(step, values)
            case s.PlannedFilter(condition, when):
                return r.FilterStep(values.value(condition), when)
            case s.PlannedAbsent(steps, when):
                return r.Absent(tuple(_inner(inner, values) for inner in steps), when)
            case s.PlannedPresent(steps, when):
                return r.Present(tuple(_inner(inner, values) for inner in steps), when)
            case s.PlannedEachElement():
                return _inner_each(step, values)
            case s.PlannedFollow():
                return follow_to_program(step, values, lambda one: _judging(one, values))
            case s.PlannedRepeat():
                first, following = (
                    tuple(_inner(inner, values) for inner in steps) for steps in (step.first, step.next)
                )
                return _list(step, first, following, values)
            case _:
                return step
    except NotInKernel as condition:
        raise UnsupportedQuery(f"the condition `{condition}` in a part that is only looked for") from None


def _inner_each(step: s.PlannedEachElement, values: KernelValues) -> r.EachElement:
    """Raises `NotInKernel`."""
    steps = tuple(_judging(inner, values) for inner in step.steps)
    return r.EachElement(
        step.variable, step.names, steps, step.skipped, step.when, step.marks, unfinished=step.unfinished
    )


def _judging(step: s.Step, values: KernelValues) -> r.Step:
    """Raises `NotInKernel`."""
    match step:
        case s.PlannedFilter(condition, when):
            return r.FilterStep(values.value(condition), when)
        case s.PlannedEachElement():
            return _inner_each(step, values)
    return _inner(step, values)


def _take(step: s.PlannedTake, values: KernelValues) -> r.Take:
    where = tuple(values.value(condition) for condition in step.where)
    return r.Take(step.variable, step.role, step.bounds, step.differs, where, step.pick, step.when)
