"""Runs for the kernel: the conditions of their moves as operations on columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from neelc.ir.expressions import Expr
from neelc.pattern.plan import steps as s
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_values import KernelValues, NotInKernel
from neelc.pattern.plan.lists import BEFORE, CURRENT, FIRST, LAST, element, without_names
from neelc.runtime import program as r


def follow_to_program(
    step: s.PlannedFollow, values: KernelValues, inner: Callable[[s.Step], r.Step]
) -> r.Follow:
    """What the kernel cannot judge while a run goes on cannot be judged later: another event would have been
    taken. Raises `UnsupportedQuery`. `inner` translates other steps."""
    moves = tuple(_move(move, values, inner) for move in step.moves)
    closures = tuple(
        replace(one, places=tuple(place for place in one.places if not place.startswith(CURRENT)))
        for one in step.closures
    )
    return r.Follow(step.states, moves, closures, step.contiguous, marks=step.marks, when=step.when)


def _move(move: s.PlannedMove, values: KernelValues, inner: Callable[[s.Step], r.Step]) -> r.Move:
    take = move.take
    where = tuple(_value(condition, values) for condition in take.where)
    judged = tuple(
        r.MoveCondition(_value(one.condition, values), one.present, one.each, one.looks_back)
        for one in move.judged
    )
    return r.Move(
        move.source,
        move.target,
        r.Take(take.variable, take.role, take.bounds, where=where),
        move.least,
        move.most,
        move.iteration,
        move.renames,
        judged,
        tuple(_check(check, inner) for check in move.checks),
    )


def _check(check: s.Step, inner: Callable[[s.Step], r.Step]) -> r.Step:
    try:
        return inner(check)
    except NotInKernel as condition:
        raise UnsupportedQuery(
            f"the condition `{condition}` while a run is looking for its next event"
        ) from None


def _value(condition: Expr, values: KernelValues) -> r.Value:
    try:
        return values.value(condition)
    except NotInKernel:
        what = f"the condition `{without_names(condition)}` while a run is looking for its next event"
        raise UnsupportedQuery(what, condition.span) from None


def with_folds(step: r.Follow, values: KernelValues) -> r.Follow:
    """With the folds that are asked of its lists."""
    lists = {closure.variable for closure in step.closures}
    mine = [found for found in values.folds.values() if found.variable in lists]
    return replace(
        step,
        running=tuple(found.fold for found in mine if found.running),
        final=tuple(found.fold for found in mine if not found.running),
    )


def absent_in_runs(step: s.PlannedFollow) -> Iterator[str]:
    """The names that may have no event in a run."""
    optional = {variable for _, variable in step.marks}
    for state in step.states:
        if state.list is None and (step.when or state.variable in optional):
            yield state.variable
    for closure in step.closures:
        if step.when or closure.optional:
            yield closure.variable
        for name in closure.names:
            inner = name.removeprefix(element(closure.variable, CURRENT))
            places = (FIRST, LAST, BEFORE, *closure.places)
            yield from (element(closure.variable, place) + inner for place in places)
            if inner:
                yield name
