"""Steps for the kernel: conditions as operations on columns, and which columns of which variable come out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neelc.ir.conjuncts import conjuncts
from neelc.ir.expr import Expr
from neelc.plan import steps as s
from neelc.plan.event_columns import EventColumns
from neelc.plan.kernel_values import KernelValues, NotInKernel, groups
from neelc.plan.unsupported import Unsupported
from neelc.runtime import program as r


@dataclass(frozen=True)
class KernelSteps:
    """The kernel's steps, the columns that are compared by order, and conditions that are left for complete
    matches."""

    steps: tuple[r.Step, ...]
    codings: tuple[tuple[str, ...], ...]
    residual: tuple[Expr, ...]


def plan_to_steps(plan: s.Plan, columns: EventColumns) -> KernelSteps:
    """The plan's steps for the kernel; raises `Unsupported` if a check needs what the kernel cannot
    compute."""
    values = KernelValues(columns, frozenset(may_be_absent(plan.steps)))
    residual: list[Expr] = []
    steps = tuple(_top(step, values, residual) for step in plan.steps)
    kept = tuple(step for step in steps if step is not None)
    return KernelSteps(kept, groups(values.coded), tuple(residual))


def may_be_absent(steps: Sequence[s.Step]) -> Iterator[str]:
    for step in steps:
        match step:
            case s.Take(variable=variable, when=when) if when:
                yield variable
            case s.Rename(variable, new):
                yield from (variable, new)
            case s.Absent(inner) | s.Present(inner):
                yield from may_be_absent(inner)


def _top(step: s.Step, values: KernelValues, residual: list[Expr]) -> r.Step | None:
    """A step of the match itself: what the kernel cannot compute is judged on complete matches."""
    match step:
        case s.Take(where=where, when=()):
            return _take(replace(step, where=tuple(_computable(where, values, residual))), values)
        case s.Filter(condition, ()):
            left = tuple(_computable((condition,), values, residual))
            return r.Filter(values.value(left[0])) if left else None
    return _inner(step, values)


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
            case s.Take():
                return _take(step, values)
            case s.Filter(condition, when):
                return r.Filter(values.value(condition), when)
            case s.Absent(steps, when):
                return r.Absent(tuple(_inner(inner, values) for inner in steps), when)
            case s.Present(steps, when):
                return r.Present(tuple(_inner(inner, values) for inner in steps), when)
            case _:
                return step
    except NotInKernel as condition:
        raise Unsupported(f"the condition `{condition}` in a part that is only looked for") from None


def _take(step: s.Take, values: KernelValues) -> r.Take:
    where = tuple(values.value(condition) for condition in step.where)
    return r.Take(step.variable, step.role, step.bounds, step.differs, where, step.pick, step.when)
