"""When a condition can be judged while a run goes on: "with what is bound so far".

A condition is judged as soon as nothing that it speaks of can change: `b[1]` is known with the first element,
`b[last]` and `b[]` when the list is complete, `b[i]` for each element when it is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from neelc.ir.expr import At, Each, Expr, Index, Inner, Variable
from neelc.ir.node import Node, children, remembered
from neelc.plan.blocks import Condition
from neelc.plan.follow_components import Branch, Component
from neelc.plan.list_names import CURRENT, LAST, inner_of, lag, list_of, place_of, ranges
from neelc.plan.unsupported import Unsupported

WHOLE, RUNNING = "all", "before"
"""All elements of a list, and those before `b[i]`."""


@dataclass(frozen=True)
class Position:
    """How far a run is: at a part of a component; of a closure, in one of the iterations `low` to `high`.
    After one that `is_full` there can be no other."""

    component: int
    part: int
    low: int = 1
    high: int | None = None
    is_full: bool = False

    @property
    def is_first(self) -> bool:
        return self.high == 1


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
    def lag(self) -> int:
        """For so many of the first elements it holds by definition."""
        return 0 if self.ranged is None else lag(self.expression, self.ranged)

    def places_of(self, variable: str) -> frozenset[str]:
        """Which elements of a list it names."""
        return frozenset(one.place for one in self.references if one.variable == variable and one.place)


def _references(node: Node) -> Iterator[Reference]:
    match node:
        case Inner(Each(Variable(name), upper), inner) if upper in (None, Index("CURRENT", -1)):
            yield Reference(name, WHOLE if upper is None else RUNNING, inner)
        case Each(Variable(name), upper) if upper in (None, Index("CURRENT", -1)):
            yield Reference(name, WHOLE if upper is None else RUNNING)
        case At() | Each():
            raise Unsupported(f"`{node}` under this strategy")
        case Variable(name):
            of = list_of(name)
            yield Reference(name) if of is None else Reference(of, place_of(name), inner_of(name) or "")
        case _:
            for child in children(node):
                yield from _references(child)


@remembered
def _begin(question: Question, branch: Branch) -> tuple[int, int]:
    """Where the part begins that a condition stands at."""
    return branch.begin(question.condition.home)


def is_decided(question: Question, at: Position, branch: Branch, of_earlier: bool = False) -> bool:
    """Whether a condition can be judged when a run is there; in a closure, for the iteration that the run is
    in, or `of_earlier` ones."""
    if (at.component, at.part) < _begin(question, branch) and not of_earlier:
        return False  # "a part that was begun, so that its conditions must hold"
    if question.body is not None and at.component < question.body:
        return False
    for mark, _ in question.condition.when:
        if mark in branch.marks:
            place, part = branch.marks[mark]
            is_inside = at.component == place and part is not None and not of_earlier
            if at.component < place or (is_inside and at.part < (part or 0)):
                return False
    return all(_is_known(reference, at, branch, of_earlier) for reference in question.references)


def _is_known(reference: Reference, at: Position, branch: Branch, of_earlier: bool) -> bool:
    place = branch.places.get(reference.variable)
    if place is None:  # of another branch: NULL from the beginning
        return True
    if place != at.component or reference.place is None:
        return place <= at.component
    there = _is_there(reference, at.part, branch.components[place])
    if reference.place == CURRENT:
        return there or of_earlier
    if reference.place in (WHOLE, LAST):
        return there and at.is_full
    if reference.place.isdigit():
        number = int(reference.place)
        return at.low > number or (at.low == number and there) or (at.is_full and at.low < number)
    return at.is_full or not reference.place.startswith(LAST)


def _is_there(reference: Reference, part: int, component: Component) -> bool:
    """Whether an iteration has what a reference is to, once it has come to a part."""
    if not component.is_composite:
        return True
    if not reference.inner:
        return part == len(component.parts) - 1 and not component.ends_open
    names = [one.item.variable.partition("].")[2] for one in component.parts]
    return names.index(reference.inner) <= part
