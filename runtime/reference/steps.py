"""What a run can do next: the steps of a pattern that is read event by event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.ir import pattern as p
from neelc.ir.node import walk
from neelc.runtime.reference.model import Event, bound_events
from neelc.runtime.reference.partial import Partial
from neelc.runtime.reference.question import ELEMENT, Question, element


@dataclass(frozen=True)
class Loop:
    """Still to do: leave the closure, or begin one more element."""

    repeat: p.Repeat


@dataclass(frozen=True)
class Finish:
    """Still to do: the element of the closure is over."""

    repeat: p.Repeat


Todo = tuple[p.Pattern | Loop | Finish, ...]


@dataclass(frozen=True)
class Run:
    """What is bound, what is still to do, and the event taken last."""

    partial: Partial
    todo: Todo
    last: Event | None = None


@dataclass(frozen=True)
class Step:
    """A component that can take the next event, or None when the run is complete as it is; and the run
    before it."""

    component: p.Event | None
    before: Run


def steps(question: Question, run: Run) -> Iterator[Step]:
    """ "The run's next step (one more element of the current Kleene, or the next component)": with every
    way to skip optional parts before it."""
    if not run.todo:
        yield Step(None, run)
        return
    head, rest = run.todo[0], run.todo[1:]
    match head:
        case p.Not():
            yield from steps(question, replace(run, todo=rest))
        case p.Event():
            yield Step(head, Run(run.partial.begin(question, head), rest, run.last))
        case p.Seq():
            yield from steps(question, Run(run.partial.begin(question, head), (*head.parts, *rest), run.last))
        case p.Or():
            begun = run.partial.begin(question, head)
            for branch in head.parts:
                names = question.facts(head).variables - question.facts(branch).variables
                yield from steps(question, Run(begun.leave_out(names), (branch, *rest), run.last))
        case p.Optional():
            absent = run.partial.leave_out(question.facts(head).variables)
            yield from steps(question, Run(run.partial.begin(question, head), (head.part, *rest), run.last))
            yield from steps(question, Run(absent, rest, run.last))
        case p.Repeat():
            begun = run.partial.begin(question, head).bind(head.variable or ELEMENT, (), grows=True)
            yield from steps(question, Run(begun, (Loop(head), *rest), run.last))
        case Loop(repeat):
            yield from steps_of_loop(question, repeat, run, rest)
        case Finish(repeat):
            if finished := finish(question, repeat, run.partial):
                yield from steps(question, Run(finished, (Loop(repeat), *rest), run.last))
        case _:
            raise TypeError(f"{type(head).__name__} has no meaning under {question.match.strategy}")


def steps_of_loop(question: Question, repeat: p.Repeat, run: Run, rest: Todo) -> Iterator[Step]:
    """One more element, below the maximum; or what comes after the closure, once the minimum is met."""
    name = repeat.variable or ELEMENT
    elements = run.partial.binding[name]
    assert isinstance(elements, tuple), "a closure binds a list"
    if repeat.most is None or len(elements) < repeat.most:
        partial = run.partial if isinstance(repeat.part, p.Event) else begin_iteration(repeat, run.partial)
        yield from steps(question, Run(partial, (repeat.part, Finish(repeat), *rest), run.last))
    if len(elements) >= repeat.least:
        yield from steps(question, Run(run.partial.bind(name, elements), rest, run.last))


def begin_iteration(repeat: p.Repeat, partial: Partial) -> Partial:
    """With an iteration of a composite that is not over."""
    name = repeat.variable or ELEMENT
    elements = partial.binding[name]
    assert isinstance(elements, tuple), "a closure binds a list"
    return replace(partial.bind(name, elements, may_grow(repeat, elements)), begun=repeat)


def may_grow(repeat: p.Repeat, elements: tuple[object, ...]) -> bool:
    """Whether the list may become longer by more than one element."""
    return repeat.most is None or len(elements) + 1 < repeat.most


def finish(question: Question, repeat: p.Repeat, partial: Partial) -> Partial | None:
    """The element of a closure, whose variables are all decided, put into its list; None when it binds no
    event.

    What is still to be judged of this element keeps the values of its variables.
    """
    name = repeat.variable or ELEMENT
    value = element(repeat, partial.binding)
    elements = partial.binding[name]
    if not any(bound_events(value)):
        return None
    assert isinstance(elements, tuple), "a closure binds a list"
    inner = question.facts(repeat.part).names
    local = {key: partial.binding[key] for key in inner if key in partial.binding}
    outer = {key: bound for key, bound in partial.binding.items() if key not in inner}
    inside = {id(part) for part in walk(repeat.part)}
    duties = tuple(
        replace(duty, local={**local, **duty.local}) if id(duty.part) in inside else duty
        for duty in partial.duties
    )
    over = replace(
        partial, binding=outer, duties=duties, begun=None if repeat is partial.begun else partial.begun
    )
    return over.bind(name, (*elements, value), may_grow(repeat, elements))
