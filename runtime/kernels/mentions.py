"""Which variables and marks the parts of a program mention."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from neelc.runtime.program import (
    Absent,
    AnyBound,
    Apply,
    Bounds,
    ColumnValue,
    EachElement,
    EventName,
    FilterStep,
    Fold,
    Follow,
    KernelStep,
    Likely,
    Move,
    Present,
    Rename,
    RepeatStep,
    Take,
    Total,
    Value,
    Weigh,
    walk_steps,
)


def of_value(value: Value) -> Iterator[EventName]:
    match value:
        case ColumnValue(variable):
            yield variable
        case Total(name):
            yield name
        case Apply(operands=operands):
            for operand in operands:
                yield from of_value(operand)


def of_bounds(bounds: Bounds) -> Iterator[EventName]:
    yield from bounds.after
    yield from bounds.before
    for within in bounds.within:
        yield from within.events
    for between in bounds.between:
        yield from between.one
        yield from between.other


@lru_cache(maxsize=4096)
def of_steps(steps: tuple[KernelStep, ...]) -> frozenset[EventName]:
    """What the steps read: variables and marks.

    >>> sorted(of_steps((Take("x", "A", Bounds(after=("a",)), when=(("m", 1),)),)))
    ['a', 'm']
    """
    return frozenset(name for step in steps for name in _of_step(step))


def _of_step(step: KernelStep) -> Iterator[EventName]:
    yield from (mark for mark, _ in step.when)
    match step:
        case Take():
            yield from of_bounds(step.bounds)
            yield from step.differs
            for chain in step.until:
                yield from of_steps(chain)
            for condition in step.where:
                yield from (name for name in of_value(condition) if name != step.variable)
        case Rename(variable):
            yield variable
        case FilterStep(condition):
            yield from of_value(condition)
        case AnyBound(variables):
            yield from variables
        case Absent(steps) | Present(steps):
            yield from of_steps(steps)
        case RepeatStep(first=first, next=following):
            # Of what iterations themselves bind, there is nothing before.
            yield from of_steps(first)
            yield from of_steps(following)
            yield from (name for condition in step.early for name in of_value(condition))
        case Likely(names):
            yield from names
        case Weigh(names):
            yield from names
            for negation in step.negations:
                yield from (mark for mark, _ in negation.when)
                yield from of_steps(negation.steps)
        case EachElement(variable, names, steps):
            yield from (name.events for name in names)
            yield from (fold.list for fold in step.running)
            yield from of_steps(steps)


def of_move(move: Move[Value]) -> Iterator[Value]:
    """The values that a move computes."""
    yield from move.take.where
    yield from (judged.condition for judged in move.judged)


def folds(steps: tuple[KernelStep, ...]) -> Iterator[Fold]:
    """All aggregates over lists."""
    for step in walk_steps(steps):
        match step:
            case RepeatStep(running=running, final=final) | Follow(running=running, final=final):
                yield from (*running, *final)
            case EachElement(running=running):
                yield from running


def registered(steps: tuple[KernelStep, ...]) -> tuple[Fold, ...]:
    """Those of them that are functions of users."""
    return tuple(dict.fromkeys(fold for fold in folds(steps) if fold.registered))
