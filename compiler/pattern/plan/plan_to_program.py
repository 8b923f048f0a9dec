"""Plans for the kernel: the same steps, with conditions as operations on columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from neelc.ir.expressions import Expr, conjuncts
from neelc.pattern.plan.blocks import UnsupportedQuery, ranges, renamed
from neelc.pattern.plan.columns import EventColumns
from neelc.pattern.plan.kernel_values import KernelValues, NotInKernel, groups
from neelc.pattern.plan.plan import Plan, PlanStep, other_elements
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    Apply,
    Closure,
    EachElement,
    ElementName,
    EventName,
    FilterStep,
    Fold,
    Follow,
    InnerList,
    IterationName,
    KernelStep,
    ListName,
    Move,
    MoveCondition,
    OneByOne,
    Present,
    Rename,
    RepeatStep,
    Take,
    Total,
    Value,
    Weigh,
    WeighTimes,
    conditions,
    iteration_of,
    list_of,
    names_of_step,
    names_of_value,
    walk_steps,
    with_inner,
)


@dataclass(frozen=True)
class KernelSteps:
    """The kernel's steps, the columns that are compared by order, and conditions that are left for complete
    matches."""

    steps: tuple[KernelStep, ...]
    codings: tuple[tuple[str, ...], ...]
    residual: tuple[Expr, ...]


def plan_to_steps(plan: Plan, columns: EventColumns, all_here: bool = False) -> KernelSteps:
    """The plan's steps for the kernel; raises `UnsupportedQuery` if a check needs what the kernel cannot
    compute. With `all_here`, as few conditions as possible are left for complete matches."""
    values = KernelValues(columns, frozenset(may_be_absent(plan.steps)), all_here=all_here)
    residual: list[Expr] = []
    steps = _of_match(plan.steps, values, residual)
    for condition in (one for one in residual if len(ranges(one)) > 1):
        raise UnsupportedQuery(
            f"the condition `{condition}` in a closure inside of a closure", condition.span
        )
    kept = tuple(_with_folds(step, values) for step in steps)
    kept = tuple(_with_elements(step, frozenset(_named_in_lists(kept))) for step in kept)
    return KernelSteps(kept, groups(values.coded), tuple(dict.fromkeys(residual)))


# The names that may have no event.


def may_be_absent(steps: Sequence[PlanStep]) -> Iterator[EventName]:
    for step in walk_steps(steps):
        match step:
            case Take(variable=variable, when=when) if when:
                yield variable
            case Rename(variable, new):
                yield from (variable, new)
            case RepeatStep(variable, when=when):
                if when:
                    yield variable
                yield from _absent_elements(step)
            case Follow():
                yield from _absent_in_runs(step)


def _absent_elements(one: RepeatStep[Expr] | Closure) -> Iterator[EventName]:
    """The first iteration has none before it, and an empty list has no element."""
    for name in (name for name in one.names if name.list == one.variable):
        yield from other_elements(name, one.places, one.lags)


def _absent_in_runs(step: Follow[Expr]) -> Iterator[EventName]:
    optional = {variable for _, variable in step.marks}
    for state in step.states:
        if state.list is None and (step.when or state.variable in optional):
            yield state.variable
    for closure in step.closures:
        if step.when or closure.optional:
            yield closure.variable
        yield from _absent_elements(closure)
        yield from (name for name in closure.names if name.inner)


# Steps of the match itself: what the kernel cannot compute is left for complete matches.


def _of_match(
    steps: Sequence[PlanStep], values: KernelValues, residual: list[Expr]
) -> tuple[KernelStep, ...]:
    translated = (_step_of_match(step, values, residual) for step in steps)
    return tuple(step for step in translated if step is not None)


def _step_of_match(step: PlanStep, values: KernelValues, residual: list[Expr]) -> KernelStep | None:
    match step:
        case Take(where=where, when=()):
            return _take(replace(step, where=tuple(_computable(where, values, residual))), values.of_match)
        case FilterStep(condition, ()):
            left = tuple(_computable((condition,), values, residual))
            return FilterStep(values.of_match(left[0])) if left else None
        case RepeatStep(when=()):
            return _repeat_of_match(step, values, residual)
        case EachElement(steps=(FilterStep(condition, ()),), when=()):
            try:
                return _translated(step, values.of_match)
            except NotInKernel:
                if step.variable in ranges(condition):
                    residual.append(condition)
                    return None
        case Follow():
            return _translated(step, lambda condition: _value_in_run(condition, values))
    return _step_of_check(step, values)


def _computable(conditions: Sequence[Expr], values: KernelValues, residual: list[Expr]) -> Iterator[Expr]:
    for condition in (one for whole in conditions for one in conjuncts(whole)):
        if _is_computable(condition, values):
            yield condition
        else:
            residual.append(condition)


def _is_computable(condition: Expr, values: KernelValues) -> bool:
    try:
        values.of_match(condition)
    except NotInKernel:
        return False
    return True


def _repeat_of_match(step: RepeatStep[Expr], values: KernelValues, residual: list[Expr]) -> RepeatStep[Value]:
    """Conditions on the first element that the kernel cannot compute are left as they are for it, where they
    are not conditions on all elements."""
    later: list[Expr] = []
    following = _of_match(step.next, values, later)
    early: list[Expr] = []
    first = _of_match(step.first, values, early)
    residual += later
    iteration = dict.fromkeys(iteration_of(name, step.variable) for name in step.names)
    only_first = [one for one in early if one not in later]
    for condition in (*only_first, *(one for one in later if step.variable not in ranges(one))):
        if step.least == 0:  # of a complete match, it would have to hold for an empty list, too
            what = f"the condition `{condition}` of a list that may be empty"
            raise UnsupportedQuery(what, condition.span)
    for condition in only_first:
        for name in iteration:
            assert isinstance(name, IterationName), "what an iteration binds"
            condition = renamed(condition, name, name.at(1))
        residual.append(condition)
    return _repeat(_with_computable_early(step, values), first, following, values.of_match)


def _with_computable_early(step: RepeatStep[Expr], values: KernelValues) -> RepeatStep[Expr]:
    """The others are conditions of complete matches as well."""
    return replace(step, early=tuple(one for one in step.early if _is_computable(one, values)))


# Steps of checks and of runs: a condition that the kernel cannot compute cannot be checked later.


def _step_of_check(step: PlanStep, values: KernelValues) -> KernelStep:
    def prepared(one: PlanStep) -> PlanStep:
        inner = with_inner(one, prepared)
        return _with_computable_early(inner, values) if isinstance(inner, RepeatStep) else inner

    try:
        return _translated(prepared(step), values.judged_here)
    except NotInKernel as condition:
        raise UnsupportedQuery(f"the condition `{condition}` in a part that is only looked for") from None


def _value_in_run(condition: Expr, values: KernelValues) -> Value:
    """The condition cannot be checked later: the run would have taken another event."""
    try:
        return values.judged_here(condition)
    except NotInKernel:
        what = f"the condition `{condition}` while a run is looking for its next event"
        raise UnsupportedQuery(what, condition.span) from None


# A step with each condition translated. What only the compiler needs to know of it is left behind.

Translate = Callable[[Expr], Value]


def _translated(step: PlanStep, value: Translate) -> KernelStep:
    match step:
        case Take():
            return _take(step, value)
        case FilterStep(condition, when):
            return FilterStep(value(condition), when)
        case Absent(steps, when):
            return Absent(_all_translated(steps, value), when)
        case Present(steps, when):
            return Present(_all_translated(steps, value), when)
        case EachElement(variable, names, steps, skipped, when, marks):
            inner = _all_translated(steps, value)
            return EachElement(variable, names, inner, skipped, when, marks, unfinished=step.unfinished)
        case RepeatStep(first=first, next=following):
            return _repeat(step, _all_translated(first, value), _all_translated(following, value), value)
        case Follow(states, moves, closures, contiguous):
            kept = tuple(replace(one, lags=()) for one in closures)
            made = tuple(_move(move, value) for move in moves)
            return Follow(states, made, kept, contiguous, marks=step.marks, when=step.when)
        case Weigh() | WeighTimes():
            raise AssertionError("no step of a plan")
    return step


def _all_translated(steps: Sequence[PlanStep], value: Translate) -> tuple[KernelStep, ...]:
    return tuple(_translated(step, value) for step in steps)


def _take(step: Take[Expr], value: Translate) -> Take[Value]:
    where = tuple(map(value, step.where))
    return Take(step.variable, step.role, step.bounds, step.differs, where, step.pick, step.when)


def _repeat(
    step: RepeatStep[Expr],
    first: tuple[KernelStep, ...],
    following: tuple[KernelStep, ...],
    value: Translate,
) -> RepeatStep[Value]:
    return RepeatStep(
        step.variable,
        step.names,
        first,
        following,
        step.least,
        step.most,
        early=tuple(map(value, step.early)),
        when=step.when,
        places=step.places,
    )


def _move(move: Move[Expr], value: Translate) -> Move[Value]:
    take = _take(move.take, value)
    checked = tuple(
        MoveCondition(value(one.condition), one.present, one.each, one.looks_back) for one in move.judged
    )
    return Move(
        move.source,
        move.target,
        take,
        move.least,
        move.most,
        move.iteration,
        move.renames,
        checked,
        _all_translated(move.checks, value),
        move.inner,
        move.left,
    )


# The folds over lists that steps need.


def _with_folds(step: KernelStep, values: KernelValues) -> KernelStep:
    """The step with the folds over its list that it needs itself, or that other steps do."""
    step = with_inner(step, lambda inner: _with_folds(inner, values))
    match step:
        case RepeatStep(variable, first=first, next=following):
            running = _running_folds(variable, (*first, *following), values)
            before = _folds_named(_folds_inside(variable, values, _is_before), (*first, *following))
            final = _folds((variable,), values, running=False)
            placed = _folds_inside(variable, values, lambda name: isinstance(name, ElementName))
            return replace(step, running=(*running, *before), final=(*final, *placed))
        case Follow(closures=closures):
            lists = tuple(closure.variable for closure in closures)
            running, final = (_folds(lists, values, running) for running in (True, False))
            inside = (_folds_inside(name, values, lambda one: isinstance(one, ElementName)) for name in lists)
            return replace(step, running=running, final=(*final, *chain.from_iterable(inside)))
        case EachElement(variable, steps=inner):
            own = _folds_inside(variable, values, lambda name: isinstance(name, IterationName))
            return replace(
                step, running=_running_folds(variable, inner, values), inner=_folds_named(own, inner)
            )
    return step


def _folds(lists: Sequence[ListName], values: KernelValues, running: bool) -> tuple[Fold, ...]:
    """Those over some lists; `running` ones are over the elements before `b[i]`."""
    folds = values.folds.values()
    return tuple(one.fold for one in folds if one.variable in lists and one.running == running)


def _running_folds(variable: ListName, steps: Sequence[KernelStep], values: KernelValues) -> tuple[Fold, ...]:
    """Those over a list whose values some steps look at."""
    return _folds_named(_folds((variable,), values, running=True), steps)


def _folds_inside(
    of: ListName, values: KernelValues, is_meant: Callable[[ElementName | IterationName], bool]
) -> tuple[Fold, ...]:
    """Those over the lists that some iterations of a list have."""
    return tuple(
        one.fold
        for one in values.folds.values()
        if isinstance(one.variable, ElementName | IterationName)
        and one.variable.list == of
        and not one.running
        and is_meant(one.variable)
    )


def _is_before(name: ElementName | IterationName) -> bool:
    """Whether the next iteration knows it: the one before, or the first."""
    return name.lag == 1 if isinstance(name, IterationName) else name.place == 1


def _folds_named(folds: Iterable[Fold], steps: Sequence[KernelStep]) -> tuple[Fold, ...]:
    """Those of some folds whose values some steps look at."""
    named = {name for condition in conditions(steps) for name in _totals(condition)}
    return tuple(fold for fold in folds if fold.name in named)


# The events in lists of iterations that other steps than those of the iteration name.


def _named_in_lists(steps: Sequence[KernelStep]) -> Iterator[EventName]:
    """All names of elements of lists that other lists have in an iteration."""
    for step in walk_steps(steps):
        for name in names_of_step(step, names_of_value):
            if not isinstance(name, str | InnerList) and not isinstance(name.list, str):
                yield name


def _with_elements(step: KernelStep, named: frozenset[EventName]) -> KernelStep:
    step = with_inner(step, lambda inner: _with_elements(inner, named))
    match step:
        case RepeatStep():
            return replace(step, elements=_elements_inside(step, named))
        case Follow(closures=closures):
            kept = (replace(one, elements=_elements_inside(one, named)) for one in closures)
            return replace(step, closures=tuple(kept))
    return step


def _elements_inside(step: RepeatStep[Value] | Closure, named: frozenset[EventName]) -> tuple[EventName, ...]:
    """Those of some names that are in lists of certain iterations of a list."""
    if not any(name.list != step.variable for name in step.names):
        return ()
    inside = (name for name in named if list_of(name) != step.variable)
    own = (name for name in inside if isinstance(iteration_of(name, step.variable), ElementName))
    return tuple(sorted(own, key=str))


def _totals(value: Value) -> Iterator[str]:
    match value:
        case Total(name):
            yield name
        case Apply(operands=operands):
            for operand in operands:
                yield from _totals(operand)
        case OneByOne(single):
            yield from _totals(single)
