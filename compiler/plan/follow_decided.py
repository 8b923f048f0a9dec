"""When a condition can be judged while a run goes on: "with what is bound so far".

A condition is judged as soon as nothing that it speaks of can change: `b[1]` is known with the first element,
`b[last]` and `b[]` when the list is complete, `b[i]` for each element when it is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from neelc.ir.expr import At, Each, Expr, Index, Variable
from neelc.ir.node import Node, children
from neelc.plan.blocks import Condition
from neelc.plan.follow_components import Branch, Component
from neelc.plan.list_names import BEFORE, CURRENT, FIRST, LAST, list_of, looks_back, ranges
from neelc.plan.unsupported import Unsupported

WHOLE, RUNNING = "all", "before"
"""All elements of a list, and those before `b[i]`."""


@dataclass(frozen=True)
class Position:
    """How far a run is: at a part of a component. Of a closure, whether it is the first iteration, and
    whether there can be no other after it."""

    component: int
    part: int
    is_first: bool = False
    is_full: bool = False


@dataclass(frozen=True)
class Reference:
    """Something that a condition names: a variable; of a list, which of its elements, and what of it."""

    variable: str
    place: str | None = None
    inner: str = ""


@dataclass(frozen=True, eq=False)
class Question:
    """A condition, and the place of the component in whose body it stands, if any."""

    condition: Condition
    body: int | None = None

    @property
    def expression(self) -> Expr:
        return self.condition.expression

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        return tuple(_references(self.expression))

    @cached_property
    def ranged(self) -> str | None:
        """The list that it is about each element of."""
        found = ranges(self.expression)
        if len(found) > 1:
            raise Unsupported(f"the condition `{self.expression}` under this strategy")
        return next(iter(found), None)

    @cached_property
    def looks_back(self) -> bool:
        return looks_back(self.expression)


def _references(node: Node) -> Iterator[Reference]:
    match node:
        case Each(Variable(name), None):
            yield Reference(name, WHOLE)
        case Each(Variable(name), Index("CURRENT", -1)):
            yield Reference(name, RUNNING)
        case At() | Each():
            raise Unsupported(f"`{node}` under this strategy")
        case Variable(name):
            of = list_of(name)
            if of is None:
                yield Reference(name)
            else:
                place, _, inner = name.removeprefix(f"{of}[").partition("]")
                if place not in (CURRENT, BEFORE, FIRST, LAST):
                    raise Unsupported(f"`{name}` under this strategy")
                yield Reference(of, place, inner.removeprefix("."))
        case _:
            for child in children(node):
                yield from _references(child)


def is_decided(question: Question, at: Position, branch: Branch) -> bool:
    """Whether a condition can be judged when a run is there."""
    if (at.component, at.part) < branch.begin(question.condition.home):
        return False  # "a part that was begun, so that its conditions must hold"
    if question.body is not None and at.component < question.body:
        return False
    for mark, _ in question.condition.when:
        if mark in branch.marks:
            place, part = branch.marks[mark]
            if at.component < place or (at.component == place and part is not None and at.part < part):
                return False
    return all(_is_known(reference, at, branch) for reference in question.references)


def _is_known(reference: Reference, at: Position, branch: Branch) -> bool:
    place = branch.places.get(reference.variable)
    if place is None:  # of another branch: NULL from the beginning
        return True
    if place != at.component or reference.place is None:
        return place <= at.component
    component = branch.components[place]
    there = _part_of(reference, component) <= at.part
    known = {
        CURRENT: there,
        FIRST: there or not at.is_first,
        LAST: there and at.is_full,
        WHOLE: at.is_full,
    }
    return known.get(reference.place, True)


def _part_of(reference: Reference, component: Component) -> int:
    """Which part of an iteration a reference is to."""
    if not component.is_composite:
        return 0
    names = [part.item.variable.partition("].")[2] for part in component.parts]
    if reference.place in (WHOLE, RUNNING):
        return 0
    if reference.inner not in names:
        raise Unsupported(f"a whole iteration of {component.item.variable}[] in a condition")
    return names.index(reference.inner)


def check(question: Question, branch: Branch) -> None:
    """Refuse what is not judged here, whenever it could be."""
    for reference in question.references:
        place = branch.places.get(reference.variable)
        component = None if place is None else branch.components[place]
        if component is None or not component.is_list:
            continue
        is_end = reference.place in (LAST, WHOLE)
        what = f"the condition `{question.expression}` under this strategy"
        if component.is_composite and (
            reference.place == RUNNING or (reference.place == WHOLE and component.most is not None)
        ):
            raise Unsupported(what)
        if is_end and component.most is not None and question.ranged == reference.variable:
            raise Unsupported(what)
