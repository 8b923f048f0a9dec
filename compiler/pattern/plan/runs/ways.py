"""The ways of runs: from where to where the next event can take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from neelc.ir.expressions import EveryElement, Expr, Index, InnerVariable, ListElement, Variable
from neelc.ir.node import Node, children, remembered
from neelc.pattern.plan.blocks import BlockCondition, UnsupportedQuery
from neelc.pattern.plan.lists import lag, name_of, ranges
from neelc.pattern.plan.runs.components import ComponentEvent, PatternBranch, RunComponent
from neelc.runtime.program import FIRST, NEXT, SAME, ElementName, EventName, IterationName, State, inner_of

# When a condition can be judged while a run goes on: "with what is bound so far".
#
# A condition is judged as soon as nothing that it speaks of can change: `b[1]` is known with the first
# element, `b[last]` and `b[]` when the list is complete, `b[i]` for each element when it is taken.


class ManyElements(Enum):
    """All elements of a list, or those before `b[i]`."""

    WHOLE = "all"
    RUNNING = "before"


WHOLE, RUNNING = ManyElements


@dataclass(frozen=True)
class RunPosition:
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
    """Something that a condition names: a variable; of a list, one of its elements by its name, or many; and
    what of it."""

    variable: EventName
    element: ElementName | IterationName | ManyElements | None = None
    inner: str | None = None

    @property
    def is_last(self) -> bool:
        """Whether it is the last element, or all elements up to it."""
        return self.element is WHOLE or self.place == -1

    @property
    def place(self) -> int | None:
        """The number of the element, from the beginning or from the end, if it has one."""
        return self.element.place if isinstance(self.element, ElementName) else None


@dataclass(frozen=True, eq=False)
class RunCondition:
    """A condition, and the place of the component in whose body it stands, if any."""

    condition: BlockCondition
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
            raise UnsupportedQuery(f"the condition `{self.expression}` under this strategy")
        return next(iter(found), None)

    @cached_property
    def lag(self) -> int:
        """For so many of the first elements it holds by definition."""
        return 0 if self.ranged is None else lag(self.expression, self.ranged)

    def is_about_whole(self, variable: EventName) -> bool:
        """Whether it is about all elements of a list together."""
        return any(one.element is WHOLE for one in self.references if one.variable == variable)


def _references(node: Node) -> Iterator[Reference]:
    match node:
        case InnerVariable(EveryElement(Variable(name), upper), inner) if upper in (
            None,
            Index("CURRENT", -1),
        ):
            yield Reference(name, WHOLE if upper is None else RUNNING, inner)
        case EveryElement(Variable(name), upper) if upper in (None, Index("CURRENT", -1)):
            yield Reference(name, WHOLE if upper is None else RUNNING)
        case _ if (named := name_of(node)) is not None:
            yield _reference(named)
        case ListElement() | EveryElement():
            raise UnsupportedQuery(f"`{node}` under this strategy")
        case _:
            for child in children(node):
                yield from _references(child)


def _reference(name: EventName) -> Reference:
    if isinstance(name, ElementName | IterationName):
        return Reference(name.list, name, name.inner)
    return Reference(name)


@remembered
def _begin(question: RunCondition, branch: PatternBranch) -> tuple[int, int]:
    """Where the part begins that a condition stands at."""
    return branch.begin(question.condition.home)


def is_decided(
    question: RunCondition, at: RunPosition, branch: PatternBranch, of_earlier: bool = False
) -> bool:
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


def _is_known(reference: Reference, at: RunPosition, branch: PatternBranch, of_earlier: bool) -> bool:
    place = branch.places.get(reference.variable)
    if place is None:  # of another branch: NULL from the beginning
        return True
    if place != at.component or reference.element is None:
        return place <= at.component
    there = _is_there(reference, at.part, branch.components[place])
    if reference.is_last:
        return there and at.is_full
    match reference.element:
        case IterationName(lag=0):
            return there or of_earlier
        case ElementName(place=number) if number > 0:
            return at.low > number or (at.low == number and there) or (at.is_full and at.low < number)
        case ElementName():
            return at.is_full
    return True


def _is_there(reference: Reference, part: int, component: RunComponent) -> bool:
    """Whether an iteration has what a reference is to, once it has come to a part."""
    if not component.is_composite:
        return True
    if not reference.inner:
        return part == len(component.parts) - 1 and not component.ends_open
    names = [inner_of(one.item.variable) for one in component.parts]
    return names.index(reference.inner) <= part


@dataclass(frozen=True)
class RunTransition:
    """From a position (None: from nothing) to another, for lists of `least` to `most` iterations; `left_out`
    are the marks of optional parts that are skipped."""

    source: RunPosition | None
    target: RunPosition
    iteration: str
    least: int = 0
    most: int | None = None
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class RunGraph:
    """The states of one branch, and all ways between them."""

    branch: PatternBranch
    known_numbers: Mapping[EventName, int] = field(default_factory=dict)
    """Up to which number the iterations of a list are told apart, if that is more than 1."""

    @cached_property
    def spots(self) -> list[tuple[int, int]]:
        """The states, each a component and a part of it."""
        return [
            (place, number)
            for place, component in enumerate(self.branch.components)
            for number in range(len(component.parts))
        ]

    def number(self, at: RunPosition) -> int:
        """The number of the state."""
        return self._numbers[at.component, at.part]

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {spot: number for number, spot in enumerate(self.spots)}

    @cached_property
    def states(self) -> tuple[State, ...]:
        return tuple(self._state(*spot) for spot in self.spots)

    def _state(self, place: int, number: int) -> State:
        component = self.branch.components[place]
        rest = self.branch.components[place + 1 :]
        ends = all(part.is_optional for part in component.parts[number + 1 :])
        accepts = component.least if ends and all(one.can_be_skipped for one in rest) else None
        of_list = component.item.list_name if component.is_list else None
        return State(component.parts[number].item.variable, of_list, accepts)

    def accepting(self) -> list[RunPosition]:
        """Where runs can be complete, with as little as can be known there."""
        found = zip(self.spots, self.states, strict=True)
        return [self._weakest(*spot) for spot, state in found if state.accepts is not None]

    def _weakest(self, place: int, number: int) -> RunPosition:
        return RunPosition(place, number)

    def all(self) -> Iterator[RunTransition]:
        yield from self._entering(-1, None, 0, frozenset())
        for place, number in self.spots:
            yield from self._from(place, number)

    def _from(self, place: int, number: int) -> Iterator[RunTransition]:
        component = self.branch.components[place]
        source = self._weakest(place, number)
        yield from self._inside(component, source)
        rest = component.parts[number + 1 :]
        if not all(part.is_optional for part in rest):
            return
        left_out = frozenset(mark for part in rest for mark in part.marks)
        if component.is_list:
            yield from self._again(component, source, left_out)
        yield from self._entering(place, source, component.least if component.is_list else 0, left_out)

    def _entering(
        self, place: int, source: RunPosition | None, least: int, left_out: frozenset[str]
    ) -> Iterator[RunTransition]:
        """The first event of a component that comes later."""
        for later in range(place + 1, len(self.branch.components)):
            component = self.branch.components[later]
            if component.most != 0:
                is_full = component.is_list and component.most == 1
                for number, skipped in _reachable(component.parts, 0):
                    target = RunPosition(later, number, 1, 1, is_full)
                    yield RunTransition(source, target, FIRST, least, None, left_out | skipped)
            if not component.can_be_skipped:
                return
            left_out |= component.marks

    def _inside(self, component: RunComponent, source: RunPosition) -> Iterator[RunTransition]:
        """One more event of the same iteration."""
        for number, left_out in _reachable(component.parts, source.part + 1):
            for low, high in self._classes(component):
                before = _in_iterations(source, low, high, component)
                yield RunTransition(before, replace(before, part=number), SAME, low, high, left_out)

    def _again(
        self, component: RunComponent, source: RunPosition, left_out: frozenset[str]
    ) -> Iterator[RunTransition]:
        """The first event of another iteration."""
        for number, skipped in _reachable(component.parts, 0):
            for low, high in self._classes(component):
                if high != 1:
                    last = None if high is None else high - 1
                    before = _in_iterations(source, low - 1, last, component)
                    target = replace(_in_iterations(source, low, high, component), part=number)
                    yield RunTransition(before, target, NEXT, low - 1, last, left_out | skipped)

    def _classes(self, component: RunComponent) -> list[tuple[int, int | None]]:
        return _classes(component.most, self.known_numbers.get(component.item.variable, 1))

    def renames(self, way: RunTransition) -> Iterator[tuple[EventName, EventName]]:
        """The names that the events of a list get when an iteration is over."""
        if way.source is None or way.iteration == SAME:
            return
        before = self.branch.components[way.source.component]
        if before.item.loop is not None:
            told = self.known_numbers.get(before.item.variable, 1)
            for name in (part.item.variable for part in before.parts):
                assert isinstance(name, IterationName), "an event of an iteration"
                if way.iteration != NEXT:
                    yield name, name.at(-1)
                    continue
                # The oldest first: what was b[i-1] makes room for what was b[i].
                yield from (
                    (replace(name, lag=lag - 1), replace(name, lag=lag)) for lag in range(told, 0, -1)
                )


def _reachable(parts: Sequence[ComponentEvent], first: int) -> Iterator[tuple[int, frozenset[str]]]:
    """The parts from `first` on that can be next, with the marks of those that are left out before each."""
    left_out = frozenset[str]()
    for number in range(first, len(parts)):
        yield number, left_out
        if not parts[number].is_optional:
            return
        left_out |= parts[number].marks


def _in_iterations(at: RunPosition, low: int, high: int | None, component: RunComponent) -> RunPosition:
    return replace(at, low=low, high=high, is_full=low == component.most)


def _classes(most: int | None, told: int = 1) -> list[tuple[int, int | None]]:
    """Numbers of iterations that are alike: the first ones that are `told` apart, those in the middle, the
    last one.

    >>> _classes(None), _classes(1), _classes(2), _classes(5)
    ([(1, 1), (2, None)], [(1, 1)], [(1, 1), (2, 2)], [(1, 1), (2, 4), (5, 5)])
    >>> _classes(None, 2), _classes(2, 3)
    ([(1, 1), (2, 2), (3, None)], [(1, 1), (2, 2)])
    """
    first = [(number, number) for number in range(1, told + 1)]
    if most is None:
        return [*first, (told + 1, None)]
    found = [*first, (told + 1, most - 1), (most, most)]
    return list(dict.fromkeys((low, high) for low, high in found if low <= high <= most))
