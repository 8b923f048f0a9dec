"""Runs for the kernel: the conditions of their moves as operations on columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir.expr import Expr
from neelc.plan import steps as s
from neelc.plan.kernel_values import KernelValues
from neelc.plan.list_folds import NotInKernel
from neelc.plan.list_names import BEFORE, CURRENT, FIRST, LAST, element, without_names
from neelc.plan.unsupported import Unsupported
from neelc.runtime import program as r
from neelc.runtime.moves import SAME


def follow_to_program(step: s.Follow, values: KernelValues) -> r.Follow:
    """What the kernel cannot judge while a run goes on cannot be judged later: another event would have been
    taken. Raises `Unsupported`."""
    moves = tuple(_move(move, values) for move in step.moves)
    return r.Follow(step.states, moves, step.closures, step.contiguous, marks=step.marks, when=step.when)


def _move(move: s.Move, values: KernelValues) -> r.Move:
    take = move.take
    where = tuple(_value(condition, values) for condition in take.where)
    judged = tuple(
        r.Judged(_value(one.condition, values), one.present, one.each, one.looks_back) for one in move.judged
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
    )


def _value(condition: Expr, values: KernelValues) -> r.Value:
    try:
        return values.value(condition)
    except NotInKernel:
        written = without_names(condition)
        raise Unsupported(f"the condition `{written}` while a run is looking for its next event") from None


def with_folds(step: r.Follow, values: KernelValues) -> r.Follow:
    """With the folds that are asked of its lists."""
    lists = {closure.variable for closure in step.closures}
    mine = [found for found in values.folds.values() if found.variable in lists]
    skipped = {name for closure in step.closures for name in _may_be_skipped(step, closure)}
    for fold in (found.fold for found in mine if found.fold.registered and found.fold.list in skipped):
        raise Unsupported(f"`{fold.name}` of a part that iterations may leave out, under this strategy")
    return replace(
        step,
        running=tuple(found.fold for found in mine if found.running),
        final=tuple(found.fold for found in mine if not found.running),
    )


def _may_be_skipped(step: r.Follow, closure: r.Closure) -> Iterator[str]:
    """The lists of the variables that an iteration may be without: a run that grows does not know of them."""
    places = {
        number: closure.names.index(state.variable)
        for number, state in enumerate(step.states)
        if state.list == closure.variable
    }
    gaps: list[tuple[int, int | None]] = [
        (places[number], None) for number in places if step.states[number].accepts is not None
    ]
    for move in step.moves:
        begin, end = places.get(move.source), places.get(move.target)
        if move.iteration == SAME:
            gaps.append((begin if begin is not None else -1, end))
        else:
            gaps += [(begin, None)] if begin is not None else []
            gaps += [(-1, end)] if end is not None else []
    for place, name in enumerate(closure.names):
        if any(begin < place and (end is None or place < end) for begin, end in gaps):
            yield closure.variable + name.removeprefix(element(closure.variable, CURRENT))


def absent_in_runs(step: s.Follow) -> Iterator[str]:
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
            yield from (element(closure.variable, place) + inner for place in (FIRST, LAST, BEFORE))
            if inner:
                yield name
